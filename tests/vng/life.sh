# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Sourced by what is run in a guest of virtme-ng: what all of them do with the module.
#
#	near                                 far
#	10.9.0.1 ---- veth, 20 Mbit/s ---- 10.9.0.2  sink 5001
#	              10 ms each way

ok() { echo "ok - $*"; }
not_ok() { echo "not ok - $*"; }
step() { echo "# $*"; }

# check NAME COMMAND...: one line of TAP; what the command said if it failed
check()
{
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		ok "$name"
	else
		not_ok "$name"
		# shellcheck disable=SC2001  # a prefix on every line
		sed 's/^/#   /' <<<"$out"
	fi
}

# says PATTERN COMMAND...: whether or not that succeeds
says()
{
	"${@:2}" >said.all 2>&1
	grep -e "$1" said.all || { cat said.all; false; }
}

near() { ip netns exec near "$@"; }
far() { ip netns exec far "$@"; }

# link: the two namespaces, and what is between them
link()
{
	ip netns add near
	ip netns add far
	ip link add veth0 netns near type veth peer name veth0 netns far
	for side in near far; do
		ip -n "$side" link set lo up
		ip -n "$side" link set veth0 up
		ip -n "$side" addr add "10.9.0.$([[ $side == near ]] && echo 1 || echo 2)/24" dev veth0
		ip netns exec "$side" ethtool -K veth0 tso off gso off gro off
	done
	# netem would be wrong on a sender of measurements (see the testbed); here it
	# only makes windows, queues and losses that the module has to live with.
	modprobe sch_netem 2>/dev/null # built in, in some
	near tc qdisc add dev veth0 root netem delay 10ms rate 20mbit limit 60
	far tc qdisc add dev veth0 root netem delay 10ms
	check "link is up" near ping -q -c 2 -i 0.3 10.9.0.2
}

load()
{
	step "insmod"
	check "insmod" insmod ./dalbe.ko
	check "congestion control dalbe_cdg is there" \
		grep -qw dalbe_cdg /proc/sys/net/ipv4/tcp_available_congestion_control
	check "ordinary users may select it" \
		grep -qw dalbe_cdg /proc/sys/net/ipv4/tcp_allowed_congestion_control
	for ((i = 0; i < 50; i++)); do [[ -e /dev/dalbe ]] && break; sleep 0.1; done
	check "/dev/dalbe is a character device" test -c /dev/dalbe
	check "/dev/dalbe is open to all" test "$(stat -c %a /dev/dalbe)" = 666
}

# unused: waits until nothing uses the module. Connections that nobody owns any more still hold it
# for a while.
unused()
{
	for ((i = 0; i < 150; i++)); do
		[[ $(cat /sys/module/*dalbe*/refcnt) -eq 0 ]] && break
		sleep 0.1
	done
}

# judge_log FILE: what the kernel, whose log it is, thought of it
judge_log()
{
	local bad='BUG|WARNING|Oops|lockdep|possible circular|general protection|unable to handle'
	bad+='|refcount_t|KASAN|UBSAN|rcu.*stall|soft lockup|hung task|scheduling while atomic'
	check "the kernel log is readable and has our module in it" grep -q dalbe "$1"
	if grep -E "$bad" "$1"; then
		not_ok "the kernel log has no warning"
		sed 's/^/#   /' "$1"
	else
		ok "the kernel log has no warning"
	fi
}
