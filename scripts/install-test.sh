#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Installing, in minimal Debians that are thrown away afterwards.
set -euo pipefail

me=install-test
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

suites=(bookworm trixie) # their kernels: 6.1 and 6.12
tests=(make dkms setup deb piuparts)
tools="gcc libc6-dev make kmod linux-headers-$(dpkg --print-architecture) dkms openssl"

usage()
{
	cat <<EOF
usage: install-test.sh [-h] [TEST[:SUITE]...]

Runs tests/install/TEST.sh (default: ${tests[*]}) in a minimal Debian SUITE
(default: each of ${suites[*]}), with the headers of its kernel, or with piuparts; see
debian-chroot.sh.
EOF
}

for arg; do
	case $arg in
	-h | --help) usage; exit 0 ;;
	esac
	[[ " ${tests[*]} " == *" ${arg%%:*} "* ]] || die "'${arg%%:*}' is no test: type one of ${tests[*]}"
	[[ $arg != *:* || " ${suites[*]} " == *" ${arg#*:} "* ]] ||
		die "'${arg#*:}' is no suite here: type one of ${suites[*]}"
done
[[ $# -gt 0 ]] || set -- "${tests[@]}"

failures=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for arg; do
	name=${arg%%:*}
	for suite in "${suites[@]}"; do
		[[ $arg == "$name" || $arg == "$name:$suite" ]] || continue
		echo "# $name in $suite"
		there=$tools dir=$work/$suite
		[[ $name != piuparts ]] || there="piuparts debootstrap"
		# Packages are built where there are compilers, and installed where there are headers.
		if [[ $name == @(deb|piuparts) && ! -d $dir ]]; then
			mkdir "$dir"
			"$repo/scripts/debian-chroot.sh" -b "$work" \
				-p "build-essential debhelper dh-dkms lintian clang-19 libbpf-dev" "$suite" \
				tests/install/deb-build.sh "$dir" || failures=$((failures + 1))
		fi
		"$repo/scripts/debian-chroot.sh" -b "$work" -p "$there" \
			"$suite" "tests/install/$name.sh" "$dir" || failures=$((failures + 1))
	done
done
exit $((failures > 0))
