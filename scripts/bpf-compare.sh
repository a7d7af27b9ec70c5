#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The BPF edition beside the module: the same kernel, the same paths, the same seeds.
set -euo pipefail

me=bpf-compare
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=scripts/vng.sh
. "$(dirname "${BASH_SOURCE[0]}")/vng.sh"

usage()
{
	cat <<EOF
usage: bpf-compare.sh [-h] [FILE]

Boots the distribution's kernel in QEMU with one emulated processor in virtual time, and runs a
scavenger of the module, then one of the BPF edition, and once both together (tests/bpf/compare.sh):
alone and beside two CUBIC flows, on 10 Mbit/s and 50 ms, with a buffer of a BDP and of an eighth;
and a goal beside two CUBIC flows. Writes FILE (default: docs/results/bpf/compare.csv), and prints
a table. Checks dalbectl attach with the module as well.

  SEEDS        of each (default: 5)
  CELLS        which (default: bdp eighth goal)
  VNG_KERNEL   as in vng-test.sh
  VNG_TIMEOUT  seconds the guest may take (default: 2700); the pairs until then are kept
EOF
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
-*) die "unknown argument '$1': type a file, or -h" ;;
esac

need qemu-system-x86_64 qemu-system-x86
need ethtool ethtool
enter_venv
kernel=$(find_kernel "${VNG_KERNEL:-}")
out=${1:-$repo/docs/results/bpf/compare.csv}
mkdir -p "$(dirname "$out")"
work=$(mktemp -d "${TMPDIR:-/tmp}/dalbe-compare.XXXXXX")
trap 'rm -rf "$work"' EXIT
image=$(kernel_image "$kernel" "$work")
commit=$(git -C "$repo" describe --always --dirty --abbrev=7 --exclude '*')

say "building for $kernel"
mkdir "$work"/{tree,bin,renamed}
copy_module "$work/tree"
cp -r "$repo"/{bpf,port,tools} "$work/tree"
# edition DIR: puts it into DIR/lib/dalbe, as installed
edition()
{
	make -C "$work/tree/bpf" clean all &&
		mkdir -p "$1/lib/dalbe" &&
		cp "$work"/tree/bpf/{dalbe-load,dalbe.bpf.o,attach.bpf.o} "$1/lib/dalbe"
}
{
	make -j2 -C "/lib/modules/$kernel/build" M="$work/tree" modules &&
		make -C "$work/tree/tools" clean dalbectl &&
		edition "$work" &&
		sed -i 's/"dalbe_cdg"/"dalbe_bpf"/' "$work/tree/dalbe_ctl.h" &&
		edition "$work/renamed" &&
		"${CC:-gcc}" -O2 -Wall -Wextra -Werror -o "$work/sink" "$repo/tests/vng/sink.c"
} >"$work/build.log" 2>&1 || {
	tail -n 20 "$work/build.log"
	die "the module, dalbectl or the BPF edition does not build for $kernel"
}
cp "$work/tree/dalbe.ko" "$work"
cp "$work/tree/tools/dalbectl" "$work/bin"
cp "$repo/tests/vng/life.sh" "$repo"/tests/bpf/{compare.sh,compare.py,goals.py,attached.py} "$work"

say "booting $kernel, emulated"
vng_command "$image" "$work" 1G
vng_emulated
vng_words+=(--cpus 1)
status=0
vng_run "${VNG_TIMEOUT:-2700}" "$work" \
	"SEEDS=${SEEDS:-5} CELLS='${CELLS:-bdp eighth goal}' bash ./compare.sh" || status=1
"$repo/tests/bpf/compare_table.py" "$commit,$kernel" "$out" <"$work/guest.log"
[[ $status -eq 0 ]] && ! grep -q '^not ok' "$work/guest.log"
