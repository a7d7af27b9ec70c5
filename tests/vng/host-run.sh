#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In the stock kernel's guest: what testbed/host/run.sh leaves behind, and what
# becomes of a run whose run.sh is killed.
#
# Started by tests/python/test_backends.py with the path of run.sh and two inputs of
# scenario.sh that load the in-tree CDG: what the second's connections have sent is
# still on its way when the run is killed, at T=5. Prints TAP, and "guest done" at its
# end.
set -uo pipefail # not -e: what fails is reported, and the rest still runs

run=$1 input=$2 far=$3 out=/dev/shm/out
allowed=/proc/sys/net/ipv4/tcp_allowed_congestion_control

ok() { echo "ok - $*"; }
not_ok() { echo "not ok - $*"; }
check() { if "${@:2}"; then ok "$1"; else not_ok "$1"; fi; }

# Traces that a run could leave: CDG, an allowed congestion control, a trace instance,
# namespaces, devices, mounts, processes.
state()
{
	grep -oE '^(tcp_cdg|dalbe) ' /proc/modules
	cat $allowed
	ls /sys/kernel/tracing/instances /run/netns 2>/dev/null
	lsns -n -o TYPE,NPROCS | awk '$1 == "net" || $1 == "pid" { print $1 }' | sort
	ip -o link | cut -d : -f 2
	cut -d ' ' -f 2 /proc/self/mounts
	# shellcheck disable=SC2009 # a pattern too long for pgrep
	ps -e -o comm= | grep -Ex 'iperf|ITGRecv|ITGSend|tcpdump|tcpsample|keep.sh' | sort
}

# as_before NAME: within half a minute, which an emulated guest may need
as_before()
{
	local until=$((SECONDS + 30))
	while ((SECONDS < until)); do
		[[ $(state) != "$before" ]] || { ok "$1: all is as before"; return; }
		sleep 0.1
	done
	not_ok "$1: all is as before"
	diff <(echo "$before") <(state) | sed 's/^/#   /'
}

# seen NAME FILE: within a minute NAME stands in FILE
seen()
{
	local tries
	for ((tries = 0; tries < 600; tries++)); do
		! grep -qs -- "$1" "$2" || return 0
		sleep 0.1
	done
	return 1
}

before=$(state)

"$run" -t 100 -o $out "$input" >/dev/shm/log 2>&1
check "a run ends with status 0" test $? -eq 0
check "it left a capture" test -s $out/out.pcap
check "it left the kernel's log of the run" grep -q 'promiscuous mode' $out/kernel.log
as_before "after a run"

"$run" -t 4 -n short -o $out "$input" >/dev/shm/log 2>&1
check "a run beyond its limit ends with status 124" test $? -eq 124
check "and is named" grep -q "^host: run 'short' did not end within 4 s" /dev/shm/log
as_before "after the limit"

for signal in TERM KILL; do
	"$run" -t 100 -o $out "$far" >/dev/shm/log 2>&1 &
	victim=$!
	check "a run under way" seen T=5 /dev/shm/log
	check "can be told from none" test "$(state)" != "$before"
	check "uses CDG" grep -q '^tcp_cdg' /proc/modules
	kill "-$signal" "$victim"
	wait "$victim" 2>/dev/null
	as_before "after SIG$signal"
done

modprobe tcp_cdg
"$run" -t 100 -o $out "$input" >/dev/shm/log 2>&1
check "CDG with parameters of somebody else is refused" \
	grep -q "tcp_cdg is in the kernel already" /dev/shm/log
check "and not unloaded" rmmod tcp_cdg
as_before "after a refusal"
echo "guest done"
