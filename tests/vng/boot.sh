#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In the guest of any stock kernel: the module is loaded, carries a transfer under a goal, and goes.
#
# scripts/kernel-matrix.sh starts it in a directory with life.sh, the module, dalbectl and sink. GOAL_S
# is how long a transfer may take.
# With ACCECN=1 there is one transfer more, with Accurate ECN (RFC 9768), past a queue that marks.
# Prints TAP, and "guest done" when it got to its end.
set -uo pipefail # not -e: what fails is reported, and the rest still runs

# shellcheck source=tests/vng/life.sh
. ./life.sh

# transfer NAME: under a goal; NAME.log is what dalbectl says of it
transfer()
{
	step "$1: 4 MB in $GOAL_S s"
	if near ./dalbectl run --size 4M --deadline "+${GOAL_S}s" --json -- \
		bash -c 'head -c 4000000 /dev/zero | busybox nc 10.9.0.2 5001' >"$1.log" 2>&1; then
		ok "$1: it ends"
	else
		not_ok "$1: it ends"
	fi
	check "$1: it had the goal" grep -q '"had_goal": true' "$1.log"
	check "$1: all of its bytes were delivered" grep -q '"complete": true' "$1.log"
	check "$1: it was on time" grep -q '"on_time": true' "$1.log"
	sed 's/^/#   /' "$1.log"
}

marks() { near tc -s qdisc show dev veth0 | sed -n 's/.*ce_mark \([0-9]*\).*/\1/p'; }
answers() { sed -n 's/.*"loss_answers": \([0-9]*\).*/\1/p' accecn.log; }

# Both sides speak Accurate ECN, and a queue of 2 ms is marked. It stands behind the delay, where
# TCP does not count it as its own any more, and so lets it grow.
accecn()
{
	local side dump i
	for side in near far; do
		check "accecn: $side speaks it" ip netns exec "$side" sysctl -q -w net.ipv4.tcp_ecn=3
	done
	near tc qdisc replace dev veth0 root handle 1: netem delay 10ms limit 1000
	near tc qdisc add dev veth0 parent 1:1 handle 2: tbf rate 20mbit burst 4k limit 200k
	near tc qdisc add dev veth0 parent 2:1 handle 3: codel ce_threshold 2ms
	# The answer to a SYN has CWR without ECE only where both have agreed on it.
	near tcpdump -c 1 -n -i veth0 'tcp[13] & 0xd2 == 0x92' >syn.log 2>&1 &
	dump=$!
	for ((i = 0; i < 100; i++)); do grep -q 'listening on' syn.log && break; sleep 0.1; done
	transfer accecn
	for ((i = 0; i < 20; i++)); do grep -q '1 packet captured' syn.log && break; sleep 0.1; done
	kill "$dump" 2>/dev/null
	check "accecn: both sides agree on it" grep '1 packet captured' syn.log
	check "accecn: packets were marked ($(marks))" test "$(marks)" -ge 1
	check "accecn: marks were answered ($(answers) times)" test "$(answers)" -ge 1
}

step "kernel $(uname -r), $(nproc) processors"
dmesg --clear
link
load
far ./sink 5001 >server.log 2>&1 &
server=$!
sleep 1
transfer drops
[[ ${ACCECN:-0} != 1 ]] || accecn

step "rmmod"
kill "$server" && wait "$server" 2>/dev/null
unused
check "rmmod when nothing uses it" rmmod dalbe
check "/dev/dalbe is gone" test ! -e /dev/dalbe
dmesg >dmesg.log
judge_log dmesg.log
echo "guest done"
