#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In the stock kernel's guest: the module's life, from insmod to rmmod.
#
# scripts/vng-test.sh starts it in a directory with life.sh, the module, dalbectl, stress, accept
# and sink, settings, which are commands of docs/operate.md, and old and new, in which make
# install has put this version and the next. Prints TAP, and "guest done" when it got to its end.
set -uo pipefail # not -e: what fails is reported, and the rest still runs

# shellcheck source=tests/vng/life.sh
. ./life.sh

step "kernel $(uname -r), $(nproc) processors"
check "two processors" test "$(nproc)" -ge 2
dmesg --clear

link
load

far ./sink 5001 >server.log 2>&1 &
server=$!
sleep 1

# --- one transfer under a goal, by an unmodified program ------------------------
step "one transfer: 4 MB in 60 s"
# Not iperf: it does not wait for its last bytes, and where few are wanted of us
# they take longer than dalbectl waits for a program that has gone.
# The second half waits until rmmod was tried: with the link its own, all of it
# would take less than a slow host needs from one of the checks to the next.
near ./dalbectl run --size 4M --deadline +60s --json -- \
	bash -c '{
			head -c 2000000 /dev/zero
			until [[ -e rmmod_tried ]]; do sleep 0.1; done
			head -c 2000000 /dev/zero
		} | busybox nc 10.9.0.2 5001' >transfer.log 2>&1 &
transfer=$!
seen=''
for ((i = 0; i < 100; i++)); do
	sockets=$(near ss -tinH dport = :5001)
	if grep -qw dalbe_cdg <<<"$sockets"; then seen=yes; break; fi
	sleep 0.1
done
check "the connection uses dalbe_cdg" test -n "$seen"
# $transfer is dalbectl's; nc, a child of its child, has the socket.
check "a PID stands for its descendants" near ./dalbectl get "$transfer"
# Sooner than run's own deadline, by more than has passed: where a busy host makes delays pass for
# a competitor's, the transfer takes all of its time.
check "an update for a PID finds the goal" near ./dalbectl set --update --size 4M \
	--deadline +40s "$transfer"
# In a time namespace, as of a container that was restored, CLOCK_BOOTTIME is another.
elsewhen() { near unshare --time --boottime "$1" --fork ./dalbectl "${@:2}" "$transfer"; }
check "an update from a time namespace" elsewhen 86400 set --update --size 4M --deadline +40s
state=$(elsewhen 86400 get --json)
# shellcheck disable=SC2016 # $i is awk's
check "its deadline is on the clock of that namespace" awk '{
		for (i = 1; i < NF; i++) { gsub(/[",:{]/, "", $i); value[$i] = $(i + 1) + 0 }
		left_s = value["deadline_ns"] / 1e9 - value["boottime_s"]
		off_s = left_s - value["time_left_ns"] / 1e9
		print "left", left_s, "off", off_s
		exit !(0 < left_s && left_s <= 40 && -1 < off_s && off_s < 1)
	}' <<<"$state"
# The last moments of that clock are beyond the end of the machine's.
until up_s=$(cut -d. -f1 /proc/uptime) && ((up_s >= 10)); do sleep 1; done
elsewhen "-$up_s" set --update --size 4M --deadline "+$((9223372036 - up_s / 2))s" 2>beyond.log || :
check "a deadline beyond the machine's clock is refused" grep -q 'exceeds 2^63 - 1' beyond.log
if [[ $(cat /sys/module/dalbe/refcnt) -gt 0 ]]; then
	if rmmod dalbe 2>rmmod.log; then
		not_ok "rmmod is refused during the transfer"
	else
		check "rmmod is refused during the transfer" grep -qi 'in use' rmmod.log
	fi
else
	not_ok "rmmod is refused during the transfer: nothing uses the module"
fi
: >rmmod_tried
if wait "$transfer"; then ok "the transfer ends"; else not_ok "the transfer ends"; fi
check "it had the goal" grep -q '"had_goal": true' transfer.log
check "all of its bytes were delivered" grep -q '"complete": true' transfer.log
check "it was on time" grep -q '"on_time": true' transfer.log
sed 's/^/#   /' transfer.log

# --- the same without a goal ------------------------------------------------------
step "a scavenger: 2 MB, no deadline"
netem_drops() { near tc -s qdisc show dev veth0 | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p'; }
drops=$(netem_drops)
check "netem's drops can be counted" test -n "$drops"
near ./dalbectl run --scavenger --json -- \
	bash -c '{
			head -c 1000000 /dev/zero
			until [[ -e looked_at ]]; do sleep 0.1; done
			head -c 1000000 /dev/zero
		} | busybox nc 10.9.0.2 5001' >scavenger.log 2>&1 &
scavenger=$!
seen=''
for ((i = 0; i < 100; i++)); do
	seen=$(near ./dalbectl get "$scavenger" 2>/dev/null)
	if grep -qw scavenger <<<"$seen"; then break; fi
	sleep 0.1
done
check "get shows a scavenger" grep -qw scavenger <<<"$seen"
check "another controller for a PID" near ./dalbectl set --controller mbc "$scavenger"
check "ends it" grep -qw "no goal" <<<"$(near ./dalbectl get "$scavenger")"
check "a scavenger again" near ./dalbectl set --scavenger "$scavenger"
check "get shows it again" grep -qw scavenger <<<"$(near ./dalbectl get "$scavenger")"
: >looked_at
if wait "$scavenger"; then ok "the scavenger ends"; else not_ok "the scavenger ends"; fi
check "it had no goal" grep -q '"had_goal": false' scavenger.log
# Up to two more, but only where netem, in the sender itself, has dropped a packet: see
# payload_acked() in tools/tally.c.
counted=2000000
[[ $(netem_drops) == "$drops" ]] || counted='200000[0-2]'
check "all of its bytes were counted" \
	grep -q "\"bytes_done\": $counted, .*\"end\": \"done\"" scavenger.log
sed 's/^/#   /' scavenger.log

# --- docs/operate.md -----------------------------------------------------------------
step "the settings of docs/operate.md, as they stand there, in a namespace of their own"
ip netns add other
ip link add veth1 netns other type veth peer name veth1 netns far
for side in other far; do
	ip -n "$side" addr add "192.0.2.$([[ $side == other ]] && echo 2 || echo 1)/24" dev veth1
	ip -n "$side" link set veth1 up
done
ip -n far addr add 198.51.100.1/32 dev lo
check "there are some" test -s settings
while read -r line; do
	# shellcheck disable=SC2016 # to be expanded there
	check "$line" ip netns exec other bash -c 'sudo() { "$@"; }; '"$line"
done <settings
# by the route, then, and no more by default
ip netns exec other sysctl -q net.ipv4.tcp_congestion_control=cubic
ip netns exec other busybox nc 198.51.100.1 5001 < <(sleep 300) >/dev/null 2>&1 &
routed=$!
seen=''
for ((i = 0; i < 100; i++)); do
	seen=$(ip netns exec other ./dalbectl get "$routed" 2>&1)
	if grep -qw scavenger <<<"$seen"; then break; fi
	sleep 0.1
done
check "a connection along that route is a scavenger" grep -w scavenger <<<"$seen"
kill "$routed" && wait "$routed" 2>/dev/null

# --- several processors at once -----------------------------------------------
step "stress: goals set, changed and cleared while connections come and go"
# One connection stays: there are moments when all of the others are between two
# connections or use another congestion control, and then rmmod may succeed.
ip netns exec near iperf -c 10.9.0.2 -Z dalbe_cdg -b 100k -l 1000 -t 600 >holder.log 2>&1 &
holder=$!
for ((i = 0; i < 100; i++)); do	# refcnt may still count the transfer's connection
	near ss -tinH state established dport = :5001 | grep -qw dalbe_cdg && break
	sleep 0.1
done
near ./stress 10.9.0.2 5001 "${STRESS_S:-15}" >stress.log 2>&1 &
stress=$!
attempts=0 taken=0
while kill -0 "$stress" 2>/dev/null; do
	attempts=$((attempts + 1))
	if rmmod dalbe 2>/dev/null; then
		taken=$((taken + 1))
		insmod ./dalbe.ko
	fi
	near ss -tinH >/dev/null # get_info, without the socket lock
	sleep 0.05
done
check "the sink still runs" kill -0 "$server"
sed 's/^/#   /' server.log
if wait "$stress"; then ok "stress: $(tail -n 1 stress.log)"; else
	not_ok "stress"
	sed 's/^/#   /' stress.log
fi
check "a connection held the module all the time" kill -0 "$holder"
sed 's/^/#   /' holder.log
check "rmmod is refused under stress ($attempts attempts)" \
	test "$attempts" -gt 0 -a "$taken" -eq 0
# Told to end, iperf may go on to the end of its 600 s.
kill -KILL "$holder" && wait "$holder" 2>/dev/null

step "goals copied from a listener while they are written"
if near ./accept 5 >accept.log 2>&1; then ok "accept: $(tail -n 1 accept.log)"; else
	not_ok "accept"
	sed 's/^/#   /' accept.log
fi

# --- unload -------------------------------------------------------------------
step "rmmod"
kill "$server" && wait "$server" 2>/dev/null
unused
check "rmmod when nothing uses it" rmmod dalbe
check "/dev/dalbe is gone" test ! -e /dev/dalbe
out=$(near ./dalbectl run --size 4M --deadline +60s --or-plain -q -- echo started 2>&1)
check "without the module, --or-plain starts the program" test "$out" = "dalbectl: \
warning: the program runs without a goal: cannot open /dev/dalbe: the module is not \
loaded: sudo modprobe tcp_dalbe_cdg
started"
check "it loads again" insmod ./dalbe.ko
check "and unloads again" rmmod dalbe

# --- as it is installed, and upgraded -----------------------------------------------
step "modprobe what make install has installed; upgrade it while a connection has a goal"
# install_version DIR: its /lib/modules, in place of another version's
install_version() { mount --bind "$1/lib/modules/$(uname -r)" "/lib/modules/$(uname -r)"; }
loaded() { cat /sys/module/*dalbe*/version; }
old=$(near ./dalbectl --version | cut -d ' ' -f 2)
check "install" install_version old
check "modprobe" modprobe tcp_dalbe_cdg
check "it is version $old" test "$(loaded)" = "$old"

head -c 1000000 /dev/urandom >to_send
# nc ends a connection when its own input ends
far busybox nc -l -p 5002 < <(sleep 300) >received 2>nc.log &
receiver=$!
for ((i = 0; i < 100; i++)); do
	far ss -tlnH sport = :5002 | grep -q . && break
	sleep 0.1
done
near ./dalbectl run --size 1M --deadline +60s --json -- bash -c '{
		head -c 500000 to_send
		until [[ -e upgraded ]]; do sleep 0.1; done
		tail -c 500000 to_send
	} | busybox nc 10.9.0.2 5002' >upgrade.log 2>&1 &
transfer=$!
for ((i = 0; i < 100; i++)); do
	near ./dalbectl get "$transfer" 2>/dev/null | grep -q 'on track' && break
	sleep 0.1
done
new=new/usr/local/bin/dalbectl
check "the next version, during a transfer" install_version new
check "modprobe finds it installed" modprobe tcp_dalbe_cdg
check "the version that is loaded stays" test "$(loaded)" = "$old"
check "dalbectl is the next" test "$(near $new --version)" = "dalbectl $old.1"
check "it shows the goal" grep -q 'on track' <<<"$(near $new get "$transfer")"
check "it changes the goal" near $new set --update --size 1M --deadline +50s "$transfer"
: >upgraded
if wait "$transfer"; then ok "the transfer ends"; else not_ok "the transfer ends"; fi
check "its goal is met" grep -q '"complete": true, .*"on_time": true' upgrade.log
# it ends when it has written all, unless nobody has called it
for ((i = 0; i < 300; i++)); do kill -0 "$receiver" 2>/dev/null || break; sleep 0.1; done
kill "$receiver" 2>/dev/null && wait "$receiver" 2>/dev/null
check "no byte is lost" cmp to_send received
sed 's/^/#   /' upgrade.log
unused
check "modprobe -r" modprobe -r tcp_dalbe_cdg
check "modprobe again" modprobe tcp_dalbe_cdg
check "it is the next version" test "$(loaded)" = "$old.1"
check "modprobe -r again" modprobe -r tcp_dalbe_cdg

# --- Secure Boot ----------------------------------------------------------------------
# Either cannot be taken back before the next boot.
step "where only signed modules are loaded"
refused()
{
	local reason=$1 line=$2 out
	dmesg --clear
	! out=$(modprobe tcp_dalbe_cdg 2>&1) || return
	out+=$'\n'$(dmesg)
	echo "$out"
	[[ $out == *"$reason"*"$line"* ]]
}
# in the first namespace: `ip netns exec` hides /sys/kernel/security
tells() { [[ $(./dalbectl get 2>&1) == *"/dev/dalbe: the module is not loaded: sudo modprobe \
tcp_dalbe_cdg; if that is refused, Secure Boot is on: "*"sudo mokutil --import "* ]]; }
dmesg >dmesg.log
mountpoint -q /sys/kernel/security || mount -t securityfs none /sys/kernel/security
echo integrity >/sys/kernel/security/lockdown
check "a locked down kernel refuses" refused "Operation not permitted" "unsigned module loading is restricted"
check "dalbectl says what to do" tells
echo 1 >/sys/module/module/parameters/sig_enforce
check "one that enforces signatures refuses" refused "Key was rejected by service" \
	"Loading of unsigned module is rejected"
check "dalbectl still says what to do" tells

# --- what the kernel thought of it ----------------------------------------------
judge_log dmesg.log
echo "guest done"
