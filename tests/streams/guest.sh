#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs in the guest, started by record.sh through boot.sh.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/guest/network.sh
. "$here/../guest/network.sh"

usage()
{
	echo "usage: guest.sh TRAFFIC_PROGRAM VEGAS_MODULE RECORDER_MODULE"
	echo "For use inside a guest only; see record.sh -h."
}

[[ ${1:-} != -h ]] || { usage; exit 0; }
[[ $# -eq 3 && -n ${OUT:-} ]] || { usage >&2; exit 2; }
cp "$@" .	# what the host knows of a file differs from run to run
build_network
insmod "./${2##*/}"
insmod "./${3##*/}"
"./${1##*/}"
