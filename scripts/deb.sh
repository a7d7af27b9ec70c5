#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `make deb`: Debian packages of the module, the tool and the library.
set -euo pipefail

me=deb
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage()
{
	cat <<EOF
usage: deb.sh [-h] [OUT]

Builds dalbe-dkms, dalbectl, dalbe-bpf, libdalbe0 and libdalbe-dev into OUT (default:
build/deb), from a copy, so that nothing here changes. dalbe-bpf needs clang-19 and libbpf-dev, and
is left out where they are missing. lintian has its say, if it is installed.
Install them with 'sudo apt-get install OUT/*.deb'.
EOF
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
-*) die "unknown option '$1': type 'scripts/deb.sh -h'" ;;
esac
out=${1:-$repo/build/deb}
need dpkg-buildpackage dpkg-dev
profiles=''
(cd "$repo" && dpkg-checkbuilddeps 2>/dev/null) || profiles=pkg.dalbe.nobpf
(cd "$repo" && dpkg-checkbuilddeps -P "$profiles") ||
	die "what is missing can be had: type 'sudo apt-get install build-essential debhelper dh-dkms'"
[[ -z $profiles ]] || say "without dalbe-bpf: that needs 'sudo apt-get install clang-19 libbpf-dev'"
export DEB_BUILD_OPTIONS="noautodbgsym ${DEB_BUILD_OPTIONS:-}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/dalbe" "$work/dalbe/docs"
(
	cd "$repo"
	copy_module "$work/dalbe"
	cp -r Makefile LICENSES README.md bpf dkms.conf debian packaging tools "$work/dalbe"
	cp -r --parents port/bpf port/names.h "$work/dalbe"
	cp docs/operate.md "$work/dalbe/docs"
)
(cd "$work/dalbe" && dpkg-buildpackage -us -uc -b -P"$profiles") >"$work/log" 2>&1 ||
	{ tail -n 40 "$work/log" >&2; die "the packages do not build"; }
if command -v lintian >/dev/null; then
	as=()
	[[ $(id -u) != 0 ]] || as=(--allow-root)
	lintian "${as[@]}" --fail-on "error,warning" "$work"/*.changes
else
	say "lintian is not installed: the packages are not checked"
fi
mkdir -p "$out"
for package in "$work"/*.deb; do
	name=$(basename "$package")
	rm -f "$out/${name%%_*}"_*.deb # of an earlier version
	mv "$package" "$out"
	echo "$out/$name"
done
