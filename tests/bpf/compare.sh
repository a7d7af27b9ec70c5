#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In the guest of a stock kernel: the module and the BPF edition on the same paths.
#
# scripts/bpf-compare.sh starts it in a directory with life.sh, the module, sink, bin/dalbectl,
# lib/dalbe, the same in renamed/lib/dalbe, whose congestion control is dalbe_bpf, and the Python
# files of this one. SEEDS says how many, CELLS which of bdp, eighth and goal.
# Prints TAP, "guest done" at its end, and the lines of compare.py.
set -uo pipefail # not -e: what fails is reported, and the rest still runs

# shellcheck source=tests/vng/life.sh
. ./life.sh

#	near                      mid                            far
#	10.9.0.1 ---- veth ---- router, 10 Mbit/s ---- veth ---- 10.9.1.2  sink 5001
#	                          50 ms back
#
# The router drops at its end of the queue: no socket is known to a packet there any more.
# path BUFFER: of so many bytes
path()
{
	local side ends
	for side in near mid far; do
		ip netns del $side 2>/dev/null
		ip netns add $side
		ip -n $side link set lo up
	done
	ip link add to_mid netns near type veth peer name to_near netns mid
	ip link add to_far netns mid type veth peer name to_mid netns far
	ends="near,to_mid,10.9.0.1 mid,to_near,10.9.0.254 mid,to_far,10.9.1.254 far,to_mid,10.9.1.2"
	for side in $ends; do
		IFS=, read -r ns dev address <<<"$side"
		ip -n "$ns" addr add "$address/24" dev "$dev"
		ip -n "$ns" link set "$dev" up
		ip netns exec "$ns" ethtool -K "$dev" tso off gso off gro off
	done
	ip netns exec mid sysctl -q -w net.ipv4.ip_forward=1
	near ip route add default via 10.9.0.254
	far ip route add default via 10.9.1.254
	ip netns exec mid tc qdisc add dev to_far root handle 1: tbf rate 10mbit burst 1600 limit "$1"
	ip netns exec mid tc qdisc add dev to_near root netem delay 50ms limit 1000
	[[ ! -e /sys/module/dalbe ]] || near sysctl -q -w net.dalbe.scavenger=1
	ip netns exec far ./sink 5001 & # not by far(), which would be a process of its own
	sink=$!
	for ((i = 0; i < 50; i++)); do far ss -tln | grep -q :5001 && break; sleep 0.1; done
}

# run EDITION CELL SEED: and how many packets the router dropped, without which none was contended
run()
{
	local buffer=62500 line
	[[ $2 != eighth ]] || buffer=7812
	path $buffer
	line=$(near timeout 200 python3 ./compare.py "$@") || { not_ok "run $*, status $?"; echo "# $line"; }
	echo "$line,$(ip netns exec mid tc -s qdisc show dev to_far |
		sed -n 's/.*dropped \([0-9]*\).*/\1/p')"
	kill $sink && wait $sink 2>/dev/null
}

# runs EDITION SEED
runs()
{
	local cell
	for cell in $CELLS; do
		[[ $1 != both || $cell != goal ]] || continue
		run "$1" "$cell" "$2"
	done
}

step "kernel $(uname -r)"
dmesg --clear
modprobe sch_netem
mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
cgroup=/sys/fs/cgroup
mountpoint -q $cgroup || mount -t cgroup2 cgroup2 $cgroup
dalbectl=$PWD/bin/dalbectl

load
step "dalbectl attach, of the module"
# attached: as a process of a service
attached() { (echo "$BASHPID" >$cgroup/job/cgroup.procs && near python3 ./attached.py 10.9.1.2); }
# polls WHY OPTION...: attach says why BPF cannot, and looks for connections itself, until it is ended
polls()
{
	says "$1" timeout 5 "$dalbectl" attach --cgroup $cgroup/job "${@:2}" &&
		grep "attached by polling" said.all
}
mkdir $cgroup/job
path 62500
sysctl -q -w net.dalbe.scavenger=0
check "attach: no program of BPF could make it a scavenger" polls "sysctl net.dalbe.scavenger=1" --scavenger
sysctl -q -w net.dalbe.scavenger=1
check "attach: nor give it a goal" polls "can choose dalbe_cdg and no more" --size 3M --deadline +40s
check "before: cubic" says "connect cubic" attached
check "attach" "$dalbectl" attach --cgroup $cgroup/job --scavenger
check "its new connections have the module's dalbe_cdg" says "connect dalbe_cdg" attached
check "also those that it accepts" says "accept dalbe_cdg" attached
check "not those of others" says "connect cubic" near python3 ./attached.py 10.9.1.2
check "the BPF edition is not loaded beside it" says "is the module loaded?" "$dalbectl" load
check "and leaves nothing of it" test ! -e /sys/fs/bpf/dalbe/maps
check "the service is attached as before" says "connect dalbe_cdg" attached
check "detach" "$dalbectl" detach --cgroup $cgroup/job
check "cubic again" says "connect cubic" attached
kill $sink && wait $sink 2>/dev/null

gone()
{
	for side in near mid far; do ip netns del $side; done
	unused
	rmmod dalbe
}

# of each seed all together: a run that is stopped has pairs
for ((seed = 1; seed <= SEEDS; seed++)); do
	step "seed $seed"
	[[ -e /sys/module/dalbe ]] || check "insmod" insmod ./dalbe.ko
	sysctl -q -w net.dalbe.scavenger=1
	runs module $seed
	if [[ $seed -eq 1 ]]; then
		check "the renamed edition is loaded beside the module" ./renamed/lib/dalbe/dalbe-load load
		runs both $seed
		check "it is unloaded" ./renamed/lib/dalbe/dalbe-load unload
	fi
	check "rmmod" gone
	check "the BPF edition is loaded" "$dalbectl" load
	[[ -e /sys/module/dalbe ]] || runs bpf $seed # else they would be the module's
	check "it is unloaded" "$dalbectl" unload
done
dmesg >dmesg.log
judge_log dmesg.log
echo "guest done"
