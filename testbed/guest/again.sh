#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# One transfer after another.
set -euo pipefail

usage()
{
	cat <<EOF
usage: again.sh PAUSE_S LAST_S COMMAND [WORD...]

Runs COMMAND, and again PAUSE_S seconds after each of its ends, as long as that is not more than
LAST_S seconds after the first beginning. Both are whole seconds or have a fraction. Ends PAUSE_S
after the last, as programs end before the kernel has sent all of their bytes; or at once, with its
status, when one fails.
EOF
}

[[ ${1:-} != -h ]] || { usage; exit 0; }
[[ $# -ge 3 ]] || { usage >&2; exit 2; }

# us SECONDS: sets us, without a fork. Up to six digits behind the point count.
us()
{
	local whole=${1%%.*} part=
	[[ $1 != *.* ]] || part=${1#*.}
	part=${part}000000
	us=$((10#${whole:-0} * 1000000 + 10#${part:0:6}))
}

us "$1"; pause_us=$us
us "$2"; last_us=$((${EPOCHREALTIME/./} + us))
shift 2
printf -v pause '%d.%06d' $((pause_us / 1000000)) $((pause_us % 1000000))
while :; do
	"$@"
	sleep "$pause"
	((${EPOCHREALTIME/./} <= last_us)) || break
done
