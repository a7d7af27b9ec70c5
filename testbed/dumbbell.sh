#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The dumbbell, one network namespace per box, one veth pair per line:
#
#   sender ----+                                              +---- receiver
#   10.0.1.1   |                                              |     10.0.2.1
#              +-- bridge_a ------- router ------- bridge_b --+
#   xsender ---+  delay of  10.0.1.254 | 10.0.2.254  delay of +---- xreceiver
#   10.0.1.2      data                 |             ACKs           10.0.2.2
#                                      |
#              bottleneck: htb at RATE_BPS over QDISC, on the router's
#              egress towards bridge_b; with REVERSE_QDISC another, of the same
#              rate, towards bridge_a
#
#   IPv6: fd00:1::1, ::2 and ::fe on the left, fd00:2::1, ::2 and ::fe on the right.
#
# QDISC may be a prio of two bands: then the TCP connections that sender opens have
# the low one, and everything else the high one.
#
# As in the CDG paper two bridges delay the packets: netem never runs on a host
# that sends TCP, where it would hide packets from that host's small-queue
# accounting (TSQ). The RTT that a pair of hosts has more than the other is added
# where bridge_a sends back to its sender.
#
# The bottleneck is the egress of a router, behind ip_rcv(), because forwarding
# orphans a packet from its socket. In front of it TSQ would see the queue, no
# flow would ever fill it, and all would share alike.
#
# One super-packet would count as one packet in the queue and in the captures. So
# offloads are off on every host; or, with OFFLOADS, TCP hands over up to 64 KB that
# the host's own interface cuts into packets, and merges packets that arrive. Nobody
# else makes any: veth does not merge packets unless asked to. The captures prove it
# (proof.py).
#
# A guest pays more for a process than for a second of traffic: hence one shell
# per box, and batches. A process also draws from the guest's random numbers: one
# more, and a seed gives another run.
set -euo pipefail

usage()
{
	cat <<EOT
usage: dumbbell.sh LINK

Builds the dumbbell in namespaces, as root; every step is echoed. LINK is a file
of KEY=VALUE lines, as dalbe_testbed/run/scenario.py writes it:

  RATE_BPS          rate of the bottleneck, bits per second
  BURST_BYTES       that may leave it at once; missing: one full packet
  QDISC             its queue, as words for tc: 'pfifo limit 41'
  BAND_QDISC        the queue of each of QDISC's two bands; missing: it has none
  REVERSE_QDISC     the queue of a bottleneck of the same rate for what comes back;
                    missing: there is none
  ECN               1: hosts negotiate ECN
  SOCKET_BUFFER_BYTES  what socket buffers must be able to hold; missing: what they
                    are by default (6 MiB for receiving, 4 for sending) is enough
  OFFLOADS          1: hosts have GSO, which is TSO by their kernel, and GRO
  ACCESS_BPS        rate of the hosts' own links; 0: unlimited
  SENDER_QDISC      what sender's own interface has: fq, fq_codel, cake, pfifo_fast;
                    missing: what the kernel gives a virtual one, nothing
  DELAY_DATA_US     delay of data before the bottleneck
  DELAY_ACKS_US     delay of ACKs on their way to the router
  DELAY_SENDER_US   further delay of what returns to sender
  DELAY_XSENDER_US  ... and to xsender
EOT
}

[[ ${1:-} != -h ]] || { usage; exit 0; }
[[ $# -eq 1 ]] || { usage >&2; exit 2; }
# shellcheck source=/dev/null
source "$1"

# box NAME COMMAND...: runs shell commands in a namespace; in them `ip` and `tc`
# read batches. Everything is echoed, with the box's name. nsenter, as `ip netns
# exec` would also mount a sysfs, which nobody here looks at.
box()
{
	local name=$1
	shift
	echo "--- $name"
	printf '%s\n' "$*"
	nsenter --net="/run/netns/$name" bash -euc "$*"
}

mac() { printf '02:00:00:00:%02x:%02x' "$1" "$2"; }

# 254 is ::fe in IPv6.
ipv6() { printf 'fd00:%d::%x' "$1" "$2"; }

# Lines for `ip -batch`. address DEV SIDE HOST: HOST is the last part of the
# address on SIDE, 1 for the left and 2 for the right. IPv6 without duplicate
# address detection, which would leave it unusable for a random second.
address()
{
	echo "link set dev $1 address $(mac "$2" "$3") up"
	echo "address add 10.0.$2.$3/24 dev $1"
	echo "address add $(ipv6 "$2" "$3")/64 dev $1 nodad"
}

# neighbours DEV SIDE HOST...: resolved once and for all. An ARP exchange would
# cross the delay line, and the packets that wait for it would be overtaken by
# others: the bottleneck would no longer be a FIFO.
neighbours()
{
	local dev=$1 side=$2 host
	shift 2
	for host; do
		echo "neigh add 10.0.$side.$host lladdr $(mac "$side" "$host") dev $dev nud permanent"
		echo "neigh add $(ipv6 "$side" "$host") lladdr $(mac "$side" "$host") dev $dev nud permanent"
	done
}

# Lines for `tc -batch`. The limit must hold the whole delay line: 100,000
# packets are 24 Gbit/s over a twentieth of a second.
delay()
{
	[[ $2 -eq 0 ]] || echo "qdisc add dev $1 root handle 1: netem delay ${2}us limit 100000"
}

# access DEV HOST: a link of its own rate, whose burst is one full packet, or a queue
# that never fills.
access()
{
	[[ ${ACCESS_BPS:-0} -eq 0 ]] ||
		echo "qdisc add dev $1 root tbf rate ${ACCESS_BPS}bit burst 1600 limit 1000000"
	[[ $2 != sender || -z ${SENDER_QDISC:-} ]] || echo "qdisc add dev $1 root $SENDER_QDISC"
}

# Lines for `tc -batch`. Low are packets of sender's TCP with an ephemeral port (from
# 32768) on its side: connections that it accepted are others' traffic. So is
# D-ITG's, with its signalling connection.
bands()
{
	local parent="dev $1 parent 10:" ditg_signalling=9000 tcp=6 ephemeral='0x8000 0x8000'
	echo "qdisc add ${parent}1 handle 11: $BAND_QDISC
qdisc add ${parent}2 handle 12: $BAND_QDISC
filter add $parent protocol ip prio 1 u32 match ip dport $ditg_signalling 0xffff flowid 10:1
filter add $parent protocol ip prio 2 u32 match ip src 10.0.1.1 match ip protocol $tcp 0xff \
	match ip sport $ephemeral flowid 10:2
filter add $parent protocol ipv6 prio 3 u32 match ip6 src $(ipv6 1 1) match ip6 protocol $tcp 0xff \
	match ip6 sport $ephemeral flowid 10:2"
}

batch() { printf '%s -batch - <<"END"\n%s\nEND\n' "$1" "$2"; }

# host NAME SIDE HOST: the buffer limits of a machine with ample memory, and no
# memory of one connection's ssthresh for the next.
host()
{
	local gateway=254
	box "$1" "$(batch ip "link set dev lo up
$(address eth0 "$2" "$3")
$(neighbours eth0 "$2" $gateway)
route add default via 10.0.$2.$gateway
route add default via inet6 $(ipv6 "$2" $gateway)")
ethtool -K eth0 tso off gso $offloads gro $offloads
$(batch tc "$(access eth0 "$1")")
cd /proc/sys/net/ipv4
echo 4096 131072 $((socket_bytes > 6291456 ? socket_bytes : 6291456)) >tcp_rmem
echo 4096 16384 $((socket_bytes > 4194304 ? socket_bytes : 4194304)) >tcp_wmem
echo 1 >tcp_no_metrics_save
[[ $ECN -eq 0 ]] || echo 1 >tcp_ecn"
}

# bridge NAME UPLINK_DELAY_US PORT1_DELAY_US PORT2_DELAY_US ACCESS
bridge()
{
	local port1 port2
	port1=$(delay port1 "$3")
	port2=$(delay port2 "$4")
	box "$1" "$(batch ip "link set dev lo up
link add name bridge0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0
link set dev bridge0 up
link set dev port1 master bridge0 up
link set dev port2 master bridge0 up
link set dev uplink master bridge0 up")
$(batch tc "$(delay uplink "$2")
$port1
$port2")"
}

# all_sockets BYTES: lets the connections of all boxes hold that much together. By
# default the kernel grants them a few percent of its memory, beyond which their
# windows shrink to nothing. Only a kernel's first namespace can say so; a guest's
# is ours, a host's is not.
all_sockets()
{
	local pages=$(($1 / $(getconf PAGE_SIZE))) tcp_mem=/proc/sys/net/ipv4/tcp_mem least
	[[ -w $tcp_mem ]] || return 0
	read -r least _ <"$tcp_mem"
	((pages <= least)) || echo "$pages $pages $pages" >"$tcp_mem"
}

offloads=${OFFLOADS:+on}
offloads=${offloads:-off}
socket_bytes=${SOCKET_BUFFER_BYTES:-0}
# Both ends may hold what is in flight while a loss is repaired.
((socket_bytes == 0)) || all_sockets $((2 * socket_bytes))

echo "--- boxes and wires"
boxes="$(printf 'netns add %s\n' sender xsender bridge_a router bridge_b receiver xreceiver)
link add eth0 netns sender type veth peer name port1 netns bridge_a
link add eth0 netns xsender type veth peer name port2 netns bridge_a
link add left netns router type veth peer name uplink netns bridge_a
link add right netns router type veth peer name uplink netns bridge_b
link add eth0 netns receiver type veth peer name port1 netns bridge_b
link add eth0 netns xreceiver type veth peer name port2 netns bridge_b"
echo "$boxes"
ip -batch - <<<"$boxes"

host sender 1 1
host xsender 1 2
host receiver 2 1
host xreceiver 2 2
bridge bridge_a "$DELAY_DATA_US" "$DELAY_SENDER_US" "$DELAY_XSENDER_US"
bridge bridge_b "$DELAY_ACKS_US" 0 0

# A bottleneck at DEV, before the words of its queue. The burst is one full packet:
# more would let a train pass at line rate. On a real clock, whose timers are late, it
# has to be what the link carries meanwhile.
burst=${BURST_BYTES:-1600}
bottleneck="qdisc add dev DEV root handle 1: htb default 10
class add dev DEV parent 1: classid 1:10 htb rate ${RATE_BPS}bit ceil ${RATE_BPS}bit burst $burst cburst $burst
qdisc add dev DEV parent 1:10 handle 10:"

box router "$(batch ip "link set dev lo up
$(address left 1 254)
$(address right 2 254)
$(neighbours left 1 1 2)
$(neighbours right 2 1 2)")
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
$(batch tc "${bottleneck//DEV/right} $QDISC
${BAND_QDISC:+$(bands right)}
${REVERSE_QDISC:+${bottleneck//DEV/left} $REVERSE_QDISC}")"
