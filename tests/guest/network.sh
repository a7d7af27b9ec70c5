# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The network of the tests in a guest. Sourced.
#
#	tx ----------------- router ----------------- rx
#	10.0.1.1       netem: RTT  netem: rate,       10.0.2.1
#	fd00:1::1       (for ACKs) queue, loss        fd00:2::1
#
# The shaping itself is done, and changed, by the test program (net.c).

link()
{
	local ns dev
	ip link add "$2" netns "$1" type veth peer name "$4" netns "$3"
	for ns in "$1:$2" "$3:$4"; do
		dev=${ns#*:} ns=${ns%:*}
		ip netns exec "$ns" ethtool -K "$dev" tso off gso off gro off >/dev/null
		ip -n "$ns" link set dev "$dev" up
	done
}

build_network()
{
	local ns
	for ns in tx router rx; do
		ip netns add "$ns"
		ip -n "$ns" link set dev lo up
	done
	link tx to_router router to_tx
	link rx to_router router to_rx
	ip -n tx address add 10.0.1.1/24 dev to_router
	ip -n rx address add 10.0.2.1/24 dev to_router
	ip -n router address add 10.0.1.254/24 dev to_tx
	ip -n router address add 10.0.2.254/24 dev to_rx
	ip -n tx address add fd00:1::1/64 dev to_router nodad
	ip -n rx address add fd00:2::1/64 dev to_router nodad
	ip -n router address add fd00:1::fe/64 dev to_tx nodad
	ip -n router address add fd00:2::fe/64 dev to_rx nodad
	for ns in tx rx; do
		ip -n "$ns" route add default via "$([[ $ns == tx ]] && echo 10.0.1.254 || echo 10.0.2.254)"
		ip -n "$ns" route add default via "$([[ $ns == tx ]] && echo fd00:1::fe || echo fd00:2::fe)"
		# Every connection is to start alike.
		ip netns exec "$ns" sh -c 'echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save'
	done
	ip netns exec router sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward
		echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'
}
