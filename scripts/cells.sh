#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `make cells`: the CDG paper's four-flow cell, dalbe_cdg beside the in-tree cdg.
set -euo pipefail

me=cells
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage()
{
	cat <<EOF
usage: cells.sh [-h] OUT [SEEDS]

Runs the cell at the paper's G in {0.1, 2, 6, 120} ms and RTT in {20, 50, 100} ms
with dalbe_cdg and with the kernel's own cdg, SEEDS times each (default 5). The
latter has integer backoff factors only: both run at the G of the nearest one.
Leaves OUT/CC-G-RTT/cell.json and OUT/cells.csv. About half an hour on two cores.
EOF
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
'') die "say where to: 'make cells OUT=dir'" ;;
esac
out=$1 seeds=${2:-5}

"$repo/scripts/setup.sh" demo
enter_venv
kernel=$("$repo/testbed/guest/build-kernel.sh" plain)
module=$("$repo/scripts/guest-module.sh" "$kernel")
# G of the paper, and of the nearest factor: 1000/(8 G) = 1250, 62, 21, 1
for pair in 0.1:0.1 2:2.016 6:5.952 120:125; do
	g_ms=${pair#*:}
	for rtt_ms in 20 50 100; do
		for cc in dalbe_cdg cdg; do
			say "$cc, G=$g_ms ms, RTT=$rtt_ms ms, $seeds seeds"
			dalbe-testbed cell --kernel "$kernel" --module "$module" --cc "$cc" \
				--g-ms "$g_ms" --rtt-ms "$rtt_ms" --seeds "$seeds" \
				--out "$out/$cc-${pair%:*}-$rtt_ms"
		done
	done
done
dalbe-testbed cells-table "$out"
