#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The commands of README and docs/operate.md as somebody types them who has just installed Debian.
set -euo pipefail

me=fresh
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

suites=(bookworm trixie)

usage()
{
	cat <<EOF
usage: fresh.sh [-h] [--demo] [SUITE...]

Takes the command lines out of README.md and docs/operate.md and types them, as they
are, into a minimal Debian of each SUITE (default: ${suites[*]}), which has git, make,
sudo and what every kernel's package brings (kmod) beforehand, and nothing else. One
line of TAP per command. The module is built, installed and found, but not loaded: the
kernel is this machine's. tests/vng has the commands that need it.

  --demo  'make demo' as well, which takes ten minutes and needs PyPI
EOF
}

demo=()
while [[ ${1:-} == -* ]]; do
	case $1 in
	-h | --help) usage; exit 0 ;;
	--demo) demo=(--demo) ;;
	*) die "unknown option '$1': type 'scripts/fresh.sh -h'" ;;
	esac
	shift
done
[[ $# -gt 0 ]] || set -- "${suites[@]}"

failures=0
for suite; do
	"$repo/scripts/debian-chroot.sh" -p "git kmod make sudo" "$suite" tests/install/readme.sh "${demo[@]}" |
		sed -E "s/^(ok|not ok) - /&$suite: /" || failures=$((failures + 1))
done
exit $((failures > 0))
