#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In the guest of a stock kernel, which counts instructions: what congestion controls cost.
#
# scripts/cost.sh starts it in a directory with life.sh, the module, bin/dalbectl, lib/dalbe and
# hook_cost.ko. WHO is a congestion control, or w0.01 or goal, which are dalbe_cdg under control, or
# bpf_w0.01 or bpf_goal, which are the same of the BPF edition, with what the kernel takes to call
# it; the variables WHO and FLOWS have several. RUNS, ACKS_S and GOODPUT_S say how often, and for how many seconds.
# Prints TAP, "guest done" at its end, and:
#
#	acks,WHO,BESIDE,RUN,CALLS...,INSTRUCTIONS...	of each hook, as hook_cost.c numbers them
#	goodput,WHO,FLOWS,RUN,BYTES,BUSY_S		BUSY_S: seconds that the processor was busy
set -uo pipefail # not -e: what fails is reported, and the rest still runs

# shellcheck source=tests/vng/life.sh
. ./life.sh

hooks=/sys/module/hook_cost/parameters
none=0,0,0,0,0,0,0,0,0
warm_s=4 # slow start, and until w has been set

# edition module|bpf: is the one that is loaded
edition()
{
	[[ $edition != "$1" ]] || return 0
	edition=$1
	case $1 in
	module) ./bin/dalbectl unload && insmod ./dalbe.ko ;;
	bpf) unused && rmmod dalbe && ./bin/dalbectl load ;;
	esac
}

# set_up WHO: the settings for it; cc is its congestion control
set_up()
{
	local scavenger=0
	cc=$1
	case $1 in
	*w0.01) cc=dalbe_cdg scavenger=1 ;;
	*goal) cc=dalbe_cdg ;;
	esac
	case $1 in
	bpf_*) edition bpf; return ;; # without a goal it is a scavenger
	*) edition module ;;
	esac
	near sysctl -q -w "net.dalbe.scavenger=$scavenger"
}

connections() { near ss -tnH "$@" dport = :5001 | grep -c .; }

# send FLOWS CC: begin to; senders are the processes
send()
{
	ip netns exec near iperf -c 10.9.0.2 -P "$1" -Z "$2" -t 100000 >/dev/null 2>&1 &
	senders+=($!)
	for ((i = 0; i < 600; i++)); do
		[[ $(connections state established) -lt $1 ]] || return 0
		sleep 0.1
	done
	return 1
}

stop()
{
	kill -KILL "${senders[@]}"
	wait "${senders[@]}" 2>/dev/null
	senders=()
	for ((i = 0; i < 600; i++)); do
		[[ $(connections) -gt 0 ]] || return 0
		sleep 0.1
	done
	return 1
}

# acks WHO BESIDE RUN: one connection, beside nobody or two of reno
acks()
{
	set_up "$1" || return
	insmod ./hook_cost.ko "cc=$cc" && send 1 "$cc" || return
	[[ $2 == nobody ]] || send 2 "$2" || return
	# a quarter of the link, for as long as we look
	[[ $1 != *goal ]] ||
		near ./bin/dalbectl set --size 20M --deadline +32s "${senders[0]}" >/dev/null || return
	sleep $warm_s
	echo $none >$hooks/calls
	echo $none >$hooks/instructions
	sleep "$ACKS_S"
	echo "acks,$1,$2,$3,$(paste -d , $hooks/calls $hooks/instructions)"
	stop && rmmod hook_cost
}

# of the one processor, hundredths of a second
idle_cs() { awk '/^cpu / { print $5 + $6 }' /proc/stat; }
received() { far cat /sys/class/net/veth0/statistics/rx_bytes; }
now_s() { cut -d ' ' -f 1 /proc/uptime; }

# goodput WHO FLOWS RUN
goodput()
{
	local bytes idle begin
	set_up "$1" || return
	send "$2" "$cc" || return
	sleep 1
	begin=$(now_s) idle=$(idle_cs) bytes=$(received)
	sleep "$GOODPUT_S"
	echo "goodput,$1,$2,$3,$(awk "BEGIN {
		print $(received) - $bytes \",\" $(now_s) - $begin - ($(idle_cs) - $idle) / 100 }")"
	stop
}

step "kernel $(uname -r), $(nproc) processors"
dmesg --clear
ulimit -n 8192
mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
mountpoint -q /sys/fs/cgroup || mount -t cgroup2 cgroup2 /sys/fs/cgroup
link
load
edition=module
modprobe tcp_bbr
modprobe tcp_cdg
far sysctl -q -w net.ipv4.tcp_congestion_control=reno # what receives is to count for nothing
near sysctl -q -w net.ipv4.tcp_no_metrics_save=1
ip netns exec far iperf -s >/dev/null 2>&1 &
for ((run = 1; run <= RUNS; run++)); do
	for who in $WHO; do
		for beside in nobody reno; do
			acks "$who" $beside $run || not_ok "ACKs of $who beside $beside"
		done
	done
done

near tc qdisc del dev veth0 root
far tc qdisc del dev veth0 root
for side in near far; do ip netns exec $side ethtool -K veth0 tso on gso on gro on; done
for ((run = 1; run <= RUNS; run++)); do
	for n in $FLOWS; do
		for who in $WHO; do
			[[ $who != *goal ]] || continue
			goodput "$who" "$n" $run || not_ok "goodput of $n flows of $who"
		done
	done
done
dmesg >dmesg.log
grep -m 1 'hook_cost: an empty' dmesg.log | sed 's/^/# /'
judge_log dmesg.log
echo "guest done"
