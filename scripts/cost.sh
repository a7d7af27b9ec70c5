#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What the module costs, beside other congestion controls: instructions per ACK, goodput per CPU.
set -euo pipefail

me=cost
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=scripts/vng.sh
. "$(dirname "${BASH_SOURCE[0]}")/vng.sh"

who=${WHO:-cubic w0.01 goal dalbe_cdg cdg bbr bpf_w0.01 bpf_goal}
flows=${FLOWS:-1 10 1000}

usage()
{
	cat <<EOF
usage: cost.sh [-h] [DIR]

Boots the distribution's kernel in QEMU with one emulated processor that counts instructions, 1 ns
each, and measures dalbe_cdg, the kernel's own cubic, cdg and bbr in it (tests/cost/guest.sh):
instructions of their hooks per ACK, on 20 Mbit/s and 20 ms, alone and beside two Reno flows; and
what 1, 10 and 1,000 flows carry over an unshaped veth per second of the processor, 10^9
instructions of both ends. Writes DIR/acks.csv, DIR/goodput.csv and DIR/sizes.txt, the layout of
what a flow and a path have (default: docs/results/cost).

  WHO          of what, cubic first (default: $who;
               w0.01, a scavenger, and goal are dalbe_cdg; bpf_... the BPF edition's)
  FLOWS        of goodput (default: $flows)
  RUNS         how often (default: 1)
  ACKS_S       seconds of each connection whose ACKs count (default: 4)
  GOODPUT_S    likewise, of goodput (default: 1)
  VNG_KERNEL   as in vng-test.sh
  VNG_TIMEOUT  seconds the guest may take (default: 2700)
EOF
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
-*) die "unknown argument '$1': type a directory, or -h" ;;
esac

need qemu-system-x86_64 qemu-system-x86
need iperf iperf
need pahole dwarves
enter_venv
kernel=$(find_kernel "${VNG_KERNEL:-}")
out=${1:-$repo/docs/results/cost}
mkdir -p "$out"
work=$(mktemp -d "${TMPDIR:-/tmp}/dalbe-cost.XXXXXX")
trap 'rm -rf "$work"' EXIT
image=$(kernel_image "$kernel" "$work")
commit=$(git -C "$repo" describe --always --dirty --abbrev=7 --exclude '*')

say "building for $kernel"
mkdir -p "$work/tree" "$work/hook_cost" "$work/bin" "$work/lib/dalbe"
copy_module "$work/tree"
cp -r "$repo"/{bpf,port,tools} "$work/tree"
cp "$repo"/tests/cost/{Makefile,hook_cost.c} "$work/hook_cost"
{
	make -j2 -C "/lib/modules/$kernel/build" M="$work/tree" modules &&
		make -C "/lib/modules/$kernel/build" M="$work/hook_cost" modules &&
		make -C "$work/tree/tools" clean dalbectl &&
		make -C "$work/tree/bpf" clean all
} >"$work/build.log" 2>&1 || {
	tail -n 20 "$work/build.log"
	die "the module, dalbectl, the BPF edition or hook_cost does not build for $kernel"
}
cp "$work/tree/dalbe.ko" "$work/hook_cost/hook_cost.ko" "$work"
cp "$work/tree/tools/dalbectl" "$work/bin"
cp "$work"/tree/bpf/{dalbe-load,dalbe.bpf.o,attach.bpf.o} "$work/lib/dalbe"
cp "$repo/tests/vng/life.sh" "$repo/tests/cost/guest.sh" "$work"
{
	echo "# module $commit, kernel $kernel"
	pahole -C dalbe_flow,dalbe_sock,dalbe_path,sender "$work/tree/kernel/paths.o"
} >"$out/sizes.txt"

say "booting $kernel, emulated"
vng_command "$image" "$work" 1G
vng_emulated
vng_words+=(--cpus 1)
vng_run "${VNG_TIMEOUT:-2700}" "$work" \
	"WHO='$who' FLOWS='$flows' RUNS=${RUNS:-1} ACKS_S=${ACKS_S:-4} GOODPUT_S=${GOODPUT_S:-1} \
bash ./guest.sh"

# Nine hooks, as hook_cost.c numbers them: the first is called at each ACK.
awk -F , -v provenance="$commit,$kernel" '
	function per(x) { return sprintf("%.1f", x / acks) }
	BEGIN {
		print "who,beside,run,acks,instructions_per_ack,of_cubic,in_ack_event,pkts_acked," \
			"cong_avoid,cong_control,min_tso_segs,other,module,kernel"
	}
	$1 == "acks" {
		acks = $5
		sum = 0
		for (i = 14; i <= 22; i++)
			sum += $i
		if ($2 == "cubic")
			cubic[$3, $4] = sum / acks
		print $2, $3, $4, acks, per(sum), sprintf("%.2f", sum / acks / cubic[$3, $4]), \
			per($14), per($15), per($16), per($17), per($18), \
			per($19 + $20 + $21 + $22), provenance
	}' OFS=, "$work/guest.log" >"$out/acks.csv"
awk -F , -v provenance="$commit,$kernel" '
	BEGIN { print "who,flows,run,gbit_per_cpu_s,of_cubic,busy_s,module,kernel" }
	$1 == "goodput" {
		gbit = $5 * 8 / 1e9 / $6
		if ($2 == "cubic")
			cubic[$3, $4] = gbit
		print $2, $3, $4, sprintf("%.2f", gbit), sprintf("%.3f", gbit / cubic[$3, $4]), $6, \
			provenance
	}' OFS=, "$work/guest.log" >"$out/goodput.csv"
! grep -q '^not ok' "$work/guest.log"
