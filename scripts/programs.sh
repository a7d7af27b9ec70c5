#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Backups by real programs, restic, rclone, borg and rsync, beside CUBIC flows in a guest.
set -euo pipefail

me=programs
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage()
{
	cat <<EOF
usage: programs.sh [-h] [-b MBIT] [-q QDISC] [-s BYTES] [-w TIMES] [-o DIR]
                   PROGRAM:HOW:DEADLINE_S:SEED...

Each PROGRAM sends a hundred files over MBIT Mbit/s and 50 ms, and two CUBIC flows from
another host send from 20 to 60 s and from 80 to 120 s. Prints a line of CSV for each.

PROGRAM  rsync   over ssh, one connection
         borg    over ssh, one connection
         restic  to a REST server, five connections
         rclone  by WebDAV, eight connections at a time and two hundred in all; rclone1: one
         none    what the CUBIC flows have without it
         jobs    ten jobs with drawn windows and no CUBIC flow (jobs:plan:0:SEED); testbed/jobs.sh
                 says what its lines of CSV have, and the last column is the module
HOW      goal, scavenger     under dalbectl run; goal-le, scavenger-le: with --dscp le
         goal-xF             with a size that is F times the right one: goal-x20, goal-x0.05
         guess-xF            the same with --progress, which corrects it (not borg)
         auto                --size auto --progress, and no earlier run (not borg)
         plain, cap          without; cap: by the program's own option, to size/deadline

  -b MBIT   of the bottleneck (default 20), whose queue is one bandwidth-delay product
  -q QDISC  is its queue instead, in words of tc: 'cake bandwidth 19500kbit diffserv3'
  -s BYTES  of each file (default 1500000); with less than 1000000 restic's packs are small, too
  -w TIMES  when the CUBIC flows send, in seconds (default '20-60 80-120')
  -o DIR    where runs leave what they say (default: a temporary directory)

A run takes a minute of a processor at 20 Mbit/s. The programs are those of this machine.
EOF
}

mbit=20 qdisc='' size=1500000 others='20-60 80-120' out=''
while getopts :hb:q:s:w:o: option; do
	case $option in
	h) usage; exit 0 ;;
	b) mbit=$OPTARG ;;
	q) qdisc=$OPTARG ;;
	s) size=$OPTARG ;;
	w) others=$OPTARG ;;
	o) out=$OPTARG ;;
	*) die "what is -$OPTARG? Type 'scripts/programs.sh -h'" ;;
	esac
done
shift $((OPTIND - 1))
[[ $# -gt 0 ]] || { usage >&2; exit 2; }
for program in rsync borg restic rclone sshd; do
	need $program "rsync borgbackup restic rclone openssh-server"
done

kernel=$("$repo/testbed/guest/build-kernel.sh")
module=$("$repo/scripts/guest-module.sh" "$kernel")
make -s -C "$repo/tools" dalbectl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=${out:-$work/out}
mkdir -p "$work/in/data" "$out"
cp "$module" "$work/in/dalbe.ko"
cp "$repo/tools/dalbectl" "$work/in"
for ((i = 0; i < 100; i++)); do # the same bytes each time, and nothing to compress
	openssl enc -aes-128-ctr -pass "pass:$i" -nosalt -pbkdf2 </dev/zero 2>/dev/null |
		head -c "$size" >"$work/in/data/$i" || true
done
RESTIC_PASSWORD=x restic init -q -r "$work/in/restic"
cat >"$work/in/link" <<EOF
RATE_BPS=$((mbit * 1000000))
QDISC="${qdisc:-pfifo limit $((mbit * 50000 / 8 / 1500))}"
ECN=0
DELAY_DATA_US=25000
DELAY_ACKS_US=25000
DELAY_SENDER_US=0
DELAY_XSENDER_US=0
OTHERS="$others"
export RESTIC_PACK_SIZE=$((size < 1000000 ? 4 : 16))
EOF

commit=$(git -C "$repo" describe --always --dirty)
echo "program,how,deadline_s,seed,mbit,qdisc,rc,done_s,others_bps,module"
rc='' done_s='' others_bps='' same=''
for run; do
	IFS=: read -r program how deadline_s seed <<<"$run"
	dir=$out/${run//:/-}
	play=("$repo/testbed/programs.sh" "$work/in" "$program" "$how" "$deadline_s" "$seed")
	[[ $program != jobs ]] || play=("$repo/testbed/jobs.sh" "$work/in" "$seed")
	"$repo/testbed/guest/boot.sh" -k "$kernel" -o "$dir" -m 1G -s "$seed" -w 1800 \
		"${play[@]}" >"$dir.log" || { tail -n 3 "$dir.log" >&2; die "$run failed"; }
	[[ $program != jobs ]] || { sed "s/$/,$commit/" "$dir/jobs"; continue; }
	# shellcheck source=/dev/null
	. "$dir/result"
	[[ $program == none || $same == 1 ]] || die "$run: what arrived is not what was sent"
	same=''
	echo "$program,$how,$deadline_s,$seed,$mbit,${qdisc:-pfifo},$rc,$done_s,$others_bps,$commit"
done
