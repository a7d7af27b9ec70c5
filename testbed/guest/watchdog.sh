#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Kills a guest that takes too long, or whose boot.sh was killed.
set -euo pipefail

usage()
{
	cat <<EOF
usage: watchdog.sh BOOT_PID GUEST_PID SECONDS FLAG_FILE

Started by boot.sh in a session of its own, so that it outlives whoever kills
that one. Once SECONDS of wall-clock time are over it creates FLAG_FILE and
kills the process group GUEST_PID; if BOOT_PID is gone it does so at once, and
removes the directory of FLAG_FILE, which nobody else will. A guest that ends by
itself ends the watchdog.
EOF
}

[[ ${1:-} != -h ]] || { usage; exit 0; }
[[ $# -eq 4 ]] || { usage >&2; exit 2; }
boot=$1 guest=$2 end_s=$((SECONDS + $3)) flag=$4

while kill -0 "$boot" 2>/dev/null && ((SECONDS < end_s)); do
	kill -0 "$guest" 2>/dev/null || exit 0
	sleep 0.5
done
! kill -0 "$boot" 2>/dev/null || : >"$flag"
# The processes that UML traces are members of its group and survive it.
kill -KILL -- "-$guest" 2>/dev/null || true
kill -0 "$boot" 2>/dev/null || rm -rf "$(dirname "$flag")"
