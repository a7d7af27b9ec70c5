#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The dumbbell, one network namespace per box, one veth pair per line:
#
#   sender ----+                                              +---- receiver
#   10.0.1.1   |                                              |     10.0.2.1
#              +-- bridge_a ------- router ------- bridge_b --+
#   xsender ---+  RTT/2 delay  10.0.1.254 | 10.0.2.254  RTT/2 +---- xreceiver
#   10.0.1.2      for data                |         for ACKs        10.0.2.2
#                                         |
#              bottleneck: htb at RATE over a FIFO of QUEUE packets, on the
#              router's egress towards bridge_b
#
#   IPv6: fd00:1::1, ::2 and ::fe on the left, fd00:2::1, ::2 and ::fe on the right.
#
# As in the CDG paper two bridges delay the packets, each those that travel
# towards the router: netem never runs on a host that sends TCP, where it would
# hide packets from that host's small-queue accounting (TSQ).
#
# The bottleneck is the egress of a router, behind ip_rcv(), because forwarding
# orphans a packet from its socket. In front of it TSQ would see the queue, no
# flow would ever fill it, and all would share alike.
#
# Offloads are off on every veth: one super-packet would count as one packet in
# the queue and in the captures.
set -euo pipefail

usage()
{
	cat <<EOF
usage: dumbbell.sh RATE_BPS RTT_US QUEUE_PACKETS

Builds the dumbbell in namespaces: a bottleneck of RATE_BPS bits per second
with a tail-drop queue of QUEUE_PACKETS packets, and a base round-trip time of
RTT_US microseconds. Run it as root in a guest; every step is echoed.
EOF
}

[[ ${1:-} != -h ]] || { usage; exit 0; }
[[ $# -eq 3 ]] || { usage >&2; exit 2; }
rate_bps=$1 rtt_us=$2 queue_packets=$3

step() { echo "+ $*"; "$@"; }

# sysctl NS KEY=VALUE...: without procps; KEY is a path below /proc/sys/net.
sysctl()
{
	local ns=$1 setting
	shift
	for setting; do
		echo "+ $ns: $setting"
		echo "${setting#*=}" | ip netns exec "$ns" tee "/proc/sys/net/${setting%%=*}" >/dev/null
	done
}

# link NS DEV NS DEV: a veth pair, up, offloads off.
link()
{
	step ip link add "$2" netns "$1" type veth peer name "$4" netns "$3"
	local ns_dev ns dev
	for ns_dev in "$1 $2" "$3 $4"; do
		read -r ns dev <<<"$ns_dev"
		step ip netns exec "$ns" ethtool -K "$dev" tso off gso off gro off >/dev/null
		step ip -n "$ns" link set dev "$dev" up
	done
}

# address NS DEV SIDE HOST: HOST is the last part of the address on SIDE, 1 for
# the left and 2 for the right. IPv6 without duplicate address detection, which
# would leave the address unusable for a random second.
address()
{
	step ip -n "$1" link set dev "$2" address "$(mac "$3" "$4")"
	step ip -n "$1" address add "10.0.$3.$4/24" dev "$2"
	step ip -n "$1" address add "$(ipv6 "$3" "$4")/64" dev "$2" nodad
}

mac() { printf '02:00:00:00:%02x:%02x' "$1" "$2"; }

# 254 is ::fe in IPv6.
ipv6() { printf 'fd00:%d::%x' "$1" "$2"; }

# neighbours NS DEV SIDE HOST...: resolved once and for all. An ARP exchange
# would cross the delay line, and the packets that wait for it would be
# overtaken by others: the bottleneck would no longer be a FIFO.
neighbours()
{
	local ns=$1 dev=$2 side=$3 host
	shift 3
	for host; do
		step ip -n "$ns" neigh add "10.0.$side.$host" lladdr "$(mac "$side" "$host")" \
			dev "$dev" nud permanent
		step ip -n "$ns" neigh add "$(ipv6 "$side" "$host")" lladdr "$(mac "$side" "$host")" \
			dev "$dev" nud permanent
	done
}

# Delays what leaves NS through DEV. The limit must hold the whole delay line:
# 100,000 packets are 24 Gbit/s over a tenth of a second's RTT.
delay()
{
	step tc -n "$1" qdisc add dev "$2" root netem delay "$((rtt_us / 2))us" limit 100000
}

for ns in sender xsender bridge_a router bridge_b receiver xreceiver; do
	step ip netns add "$ns"
	step ip -n "$ns" link set dev lo up
done

for side in a b; do
	bridge=bridge_$side
	step ip -n "$bridge" link add name bridge0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0
	step ip -n "$bridge" link set dev bridge0 up
done

link sender eth0 bridge_a port1
link xsender eth0 bridge_a port2
link router left bridge_a uplink
link router right bridge_b uplink
link receiver eth0 bridge_b port1
link xreceiver eth0 bridge_b port2
for port in port1 port2 uplink; do
	step ip -n bridge_a link set dev "$port" master bridge0
	step ip -n bridge_b link set dev "$port" master bridge0
done

address sender eth0 1 1
address xsender eth0 1 2
address router left 1 254
address router right 2 254
address receiver eth0 2 1
address xreceiver eth0 2 2
neighbours router left 1 1 2
neighbours router right 2 1 2
for ns_side in "sender 1" "xsender 1" "receiver 2" "xreceiver 2"; do
	read -r ns side <<<"$ns_side"
	neighbours "$ns" eth0 "$side" 254
	step ip -n "$ns" route add default via "10.0.$side.254"
	step ip -n "$ns" -6 route add default via "$(ipv6 "$side" 254)"
done
sysctl router ipv4/ip_forward=1 ipv6/conf/all/forwarding=1

# Hosts: the buffer limits of a machine with ample memory, and no memory of one
# connection's ssthresh for the next.
for ns in sender xsender receiver xreceiver; do
	sysctl "$ns" "ipv4/tcp_rmem=4096 131072 6291456" "ipv4/tcp_wmem=4096 16384 4194304" \
		ipv4/tcp_no_metrics_save=1
done

delay bridge_a uplink
delay bridge_b uplink

# The burst is one full packet: more would let a train pass at line rate.
step tc -n router qdisc add dev right root handle 1: htb default 10
step tc -n router class add dev right parent 1: classid 1:10 htb \
	rate "${rate_bps}bit" ceil "${rate_bps}bit" burst 1600 cburst 1600
step tc -n router qdisc add dev right parent 1:10 handle 10: pfifo limit "$queue_packets"
