#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In the guest for races: everything at once on four processors, and nothing of it left at the end.
#
# scripts/races.sh starts it, with SECONDS_OF of stress, in a directory with life.sh, the module,
# stress, accept, hammer and sink. Prints TAP, and "guest done" when it got to its end. With REPORT
# the module has a defect, and the hammer works until the kernel's log shows this expression.
set -uo pipefail # not -e: what fails is reported, and the rest still runs

# shellcheck source=tests/vng/life.sh
. ./life.sh

step() { echo "# $(cut -d ' ' -f 1 /proc/uptime) s: $*"; }
debug=/sys/kernel/debug

traces() { cat $debug/slab/kmalloc*-{512,1k}/alloc_traces 2>/dev/null; }

# How many pieces of memory live that a function of ours has allocated whose name begins with $1:
# the first of ours in a trace.
live()
{
	traces | awk -v who=" $1" '
		/^ *[0-9]+ / { pieces = $1; ours = 0 }
		/\[dalbe\]/ && !ours++ && index($0, who) { sum += pieces }
		END { print sum + 0 }'
}

# gone FUNCTION: nothing of its lives, if need be when RCU has freed it
gone()
{
	local i left
	for ((i = 0; i < 20; i++)); do
		left=$(live "$1")
		[[ $left -ne 0 ]] || return 0
		sleep 1
	done
	echo "$left pieces"
	traces | grep '\[dalbe\]' | sort | uniq -c
	return 1
}

# No memory whose code has gone is left, whose addresses have no names, if need be when RCU has
# freed it: it takes its time for a sysctl table.
no_nameless()
{
	local i left
	for ((i = 0; i < 20; i++)); do
		left=$(traces | grep -E -B 4 '^ +0x') || return 0
		sleep 1
	done
	echo "$left"
	return 1
}

# So many times KCSAN has looked whether another processor comes to the same memory.
watched() { sed -n 's/^setup_watchpoints: //p' $debug/kcsan; }

mount -t debugfs none $debug
mount -t tracefs none /sys/kernel/tracing
step "kernel $(uname -r), $(nproc) processors"
check "four processors" test "$(nproc)" -eq 4
echo "races: begin" >/dev/kmsg
cat /dev/kmsg >kmsg.log &
log=$!
check "KCSAN is on" bash -c "echo on >$debug/kcsan"
link
# thousands of addresses, more than the table of paths has entries
far ip route add local 10.9.128.0/17 dev lo
near ip route add 10.9.128.0/17 via 10.9.0.2
load
echo 1 >/sys/kernel/tracing/events/dalbe/enable
# not by near or far: $! is to be the program
ip netns exec far ./sink 5001 >server.log 2>&1 &
server=$!
sleep 1

# A defect: no more than what it takes to see it, whatever happens to the machine.
if [[ ${REPORT:-} ]]; then
	near ./hammer 10.9.0.2 5001 600 >hammer.log 2>&1 &
	SECONDS=0
	while ((SECONDS < SECONDS_OF)); do
		sleep 1
		! grep -E "$REPORT" kmsg.log || break
	done
	step "$SECONDS s; KCSAN looked $(watched) times"
	cat hammer.log
	exit
fi

step "$SECONDS_OF s of the hammer, and of stress"
if near ./hammer 10.9.0.2 5001 "$SECONDS_OF" >hammer.log 2>&1; then
	ok "hammer: $(cat hammer.log)"
else
	not_ok "hammer"
	sed 's/^/#   /' hammer.log
fi
# One connection stays, so that the module is in use all the time.
near ip route replace 10.9.0.2 dev veth0 congctl dalbe_cdg
ip netns exec near busybox nc 10.9.0.2 5001 < <(while sleep 0.5; do echo; done) >/dev/null &
holder=$!
near ip route flush cache
for ((i = 0; i < 100; i++)); do
	near ss -tinH state established dst 10.9.0.2 | grep -qw dalbe_cdg && break
	sleep 0.1
done
ip netns exec near ./stress 10.9.128.1 5001 "$SECONDS_OF" 6000 >stress.log 2>&1 &
stress=$!
ip netns exec near ./accept "$SECONDS_OF" >accept.log 2>&1 &
accept=$!
# sock_diag looks at all of them, without their locks, and ends some
while near ss -tieamH >diag.log; do
	! grep -q dalbe_cdg diag.log || : >diag_seen
	near ss -KtH dst 10.9.128.0/20 >/dev/null
done &
diag=$!
attempts=0 taken=0 paths=0 flows=0
while kill -0 "$stress" 2>/dev/null; do
	attempts=$((attempts + 1))
	! rmmod dalbe 2>/dev/null || taken=$((taken + 1))
	if ((attempts % 4 == 0)); then
		now=$(live dalbe_path_) paths=$((now > paths ? now : paths))
		now=$(live dalbe_alloc_flow) flows=$((now > flows ? now : flows))
	fi
	sleep 0.2
done
kill "$diag"
if wait "$stress"; then ok "stress: $(tail -n 1 stress.log)"; else not_ok "stress"; fi
sed 's/^/#   /' stress.log
if wait "$accept"; then ok "accept: $(tail -n 1 accept.log)"; else not_ok "accept"; fi
sed 's/^/#   /' accept.log
check "sock_diag has seen our connections" test -e diag_seen
check "the sink still runs" kill -0 "$server"
check "rmmod was refused all the time ($attempts attempts)" test "$attempts" -gt 0 -a "$taken" -eq 0
check "flows were there ($flows), and paths ($paths)" test "$flows" -gt 0 -a "$paths" -gt 0
# twice, as RCU frees in its own time what has made place
check "no more paths than the table holds" test "$paths" -le $((2 * 4096))

step "the end of it all"
kill "$holder"
wait "$holder" 2>/dev/null
unused
check "nothing uses the module" test "$(cat /sys/module/dalbe/refcnt)" = 0
check "no connection's memory is left" gone dalbe_alloc_flow
check "rmmod" rmmod dalbe

step "rmmod as soon as its user is killed"
for round in 1 2 3 4; do
	insmod ./dalbe.ko
	ip netns exec near ./stress 10.9.128.1 5001 600 6000 >killed.log 2>&1 &
	stress=$!
	sleep $((4 + round % 2))
	kill -KILL "$stress"
	tries=0
	until rmmod dalbe 2>/dev/null; do ((++tries < 1000)) || break; done
	check "round $round: rmmod, after $tries refusals" test ! -e /sys/module/dalbe
	wait "$stress" 2>/dev/null
done
check "load again" insmod ./dalbe.ko
ip netns del near
ip netns del far
kill "$server"
wait "$server" 2>/dev/null
check "no memory of a path is left" gone dalbe_path_
check "rmmod" rmmod dalbe
check "no memory is left of a module that is gone" no_nameless
kill "$log"

# KCSAN's reports are all of our code: the kernel itself has none.
check "KCSAN has looked $(watched) times" test "$(watched)" -gt 100
sed '1,/races: begin/d' kmsg.log >dmesg.log
judge_log dmesg.log
echo "guest done"
