#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Plays one run's traffic on the dumbbell, in a guest, and records it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage()
{
	cat <<EOF
usage: scenario.sh INPUT_DIR

Run by boot.sh in a guest. INPUT_DIR, written by dalbe_testbed/run/scenario.py, holds

  link       SNAPLEN, FLOOD_PPS, TRACE_KB, IMPAIRMENT, ACK_IMPAIRMENT, STALLED,
             BOTH_WAYS, NO_CAPTURES and what dumbbell.sh needs, one KEY=VALUE a line
  setup      shell commands to run before the traffic, one a line
  schedule   what happens when, tab-separated, in order of time:
               T  start  NAME  NAMESPACE  COMMAND
               T  stop   NAME
               T  await  NAME  LIMIT   (until it ended, or T=LIMIT; "-": nothing)
               T  impair -     WORDS   (of netem, from now on)
               T  rate   -     BITS    (per second, of the bottleneck, from now on)
               T  stall  HOST  block|release_indefinite
             T in microseconds, LIMIT in seconds
  requests, web, web_back
             what shortflows is to send, where the schedule has it
  NAME.bin   what rsync is to send

\$HELPERS holds what testbed/guest/build-helpers.sh compiled, and \$OUT receives

  sender.pcap, xsender.pcap, out.pcap
                      data packets as they leave a sender, and the bottleneck;
                      missing with NO_CAPTURES
  clock               the wall clock of T=0, in microseconds
  ends                NAME, T in microseconds and exit status of each command
  NAME.log            what each command printed
  NAME.cmp            whether what rsync brought is what was sent: same or differs
  tcp.sender, tcp.xsender   tcpsample's lines: the state of every connection
  tcp.receiver, tcp.xreceiver   likewise, of the other end; missing without BOTH_WAYS
  ping.sender, ping.xsender   a ping each before T=0
  qdisc.json          the state of the bottleneck at the end
  reverse.json        of the bottleneck for what comes back; missing if there is none
  impairment.json     of what impairs packets behind it, or ACKs; missing if nothing does
  trace               dalbe's tracepoints, on the clock of T=0 as marked in it

T=0 is when the schedule starts; the proof of the link comes before.
EOF
}

[[ ${1:-} != -h ]] || { usage; exit 0; }
[[ $# -eq 1 && -n ${OUT:-} && -n ${HELPERS:-} ]] || { usage >&2; exit 2; }
input=$1
# shellcheck source=/dev/null
source "$input/link"

export QUIET=$HELPERS/quiet.so	# preloaded by commands of the schedule
export AGAIN=$here/guest/again.sh	# runs some of them
tracing=/sys/kernel/tracing
sample_ms=500
t0_us=0
declare -A running=()		# NAME -> process id of its keeper

now_us() { now=$((${EPOCHREALTIME/./} - t0_us)); }

# Sleeps until T=$1 us without a fork: a read that nobody answers.
exec {never}<> <(:)
sleep_until()
{
	now_us
	if (($1 > now)); then
		local left=$(($1 - now))
		printf -v left '%d.%06d' $((left / 1000000)) $((left % 1000000))
		read -r -t "$left" -u "$never" || true
	fi
}

# The same, telling the host every five virtual seconds where we are.
marked_sleep_until()
{
	local mark
	now_us
	while mark=$(((now / 5000000 + 1) * 5000000)); ((mark < $1)); do
		sleep_until "$mark"
		echo "T=$((mark / 1000000))"
		now_us
	done
	sleep_until "$1"
}

# start NAME NAMESPACE COMMAND: in the background, under a keeper that passes
# SIGTERM on and writes down when and how the command ended.
start()
{
	(
		ip netns exec "$2" bash -c "exec $3" >"$OUT/$1.log" 2>&1 &
		child=$!
		trap 'kill -TERM $child' TERM
		status=0
		wait $child || status=$?
		if kill -0 $child 2>/dev/null; then	# the signal ended the wait
			status=0
			wait $child || status=$?
		fi
		now_us
		printf '%s\t%d\t%d\n' "$1" "$now" "$status" >>"$OUT/ends"
	) &
	running[$1]=$!
}

stop() { kill -TERM "${running[$1]}" 2>/dev/null || true; }

# await NAME LIMIT_S: until the command has ended or T=LIMIT_S.
await()
{
	local limit_us=$(($2 * 1000000))
	now_us
	while kill -0 "${running[$1]}" 2>/dev/null && ((now < limit_us)); do
		marked_sleep_until $((now + 500000))
		now_us
	done
}

play()
{
	local at what name where command
	while IFS=$'\t' read -r at what name where command; do
		marked_sleep_until "$at"
		case $what in
		start) start "$name" "$where" "$command" ;;
		stop) stop "$name" ;;
		await) [[ $name == - ]] || await "$name" "$where" ;;
		impair) impair "port1 port2" "$where" ;;
		rate) set_rate "$where" ;;
		stall) stall "$name" change "$where" ;;
		*) echo "scenario: unknown verb '$what' in the schedule"; return 1 ;;
		esac
	done <"$input/schedule"
}

# capture NAMESPACE DEVICE FILE: tcpdump wakes up once a second or per 256 KiB,
# not per packet. Only data packets: what comes from the left. Each is known by
# its headers.
capture()
{
	ip netns exec "$1" stdbuf -o 256K tcpdump -Z root -i "$2" -s "$SNAPLEN" -B 16384 \
		-w - 'src net 10.0.1.0/24 or src net fd00:1::/64' >"$OUT/$3" 2>"$OUT/$3.log" &
	captures+=($!)
}

# The proof of the link: a ping from each sender shows the base RTT, a CBR flood
# of a quarter more than the bottleneck carries its rate: two seconds of it, or
# 2000 packets on a faster link. Above 5000 packets per second a sleeper's 50 us of
# timer slack would eat up that quarter.
prove_link()
{
	ip netns exec sender ping -n -c 1 10.0.2.1 >"$OUT/ping.sender"
	ip netns exec xsender ping -n -c 1 10.0.2.2 >"$OUT/ping.xsender"
	local ms=$((FLOOD_PPS <= 1000 ? 2000 : 2000000 / FLOOD_PPS))
	local under=()
	((FLOOD_PPS <= 5000)) ||
		under=(bash -c 'echo 1 >/proc/self/timerslack_ns && exec "$@"' bash)
	"${under[@]}" timeout 30 ip netns exec sender env LD_PRELOAD="$QUIET" ITGSend -a 10.0.2.1 -T UDP \
		-rp 9900 -C "$FLOOD_PPS" -c 1470 -t "$((ms < 200 ? 200 : ms))" >"$OUT/flood.log" 2>&1
	sleep 2
}

# impair PORTS NETEM_WORDS: what becomes of packets that leave by these ports of the
# bridge behind the bottleneck. There netem runs on no host that sends TCP
# (dumbbell.sh). After the proof, whose own packets would be lost.
impair()
{
	local port words
	read -ra words <<<"$2"
	for port in $1; do
		tc -n bridge_b qdisc replace dev "$port" root netem "${words[@]}" limit 100000
	done
}

# set_rate BITS_PER_S: of the bottleneck, whose queue stays as it is.
set_rate()
{
	local burst=${BURST_BYTES:-1600}
	tc -n router class change dev right parent 1: classid 1:10 \
		htb rate "${1}bit" ceil "${1}bit" burst "$burst" cburst "$burst"
}

# stall HOST add|change WORDS: what arrives for HOST waits, or no longer does. Its timers
# go on: a host that stands still for less than TCP's least timeout would not miss them.
declare -A way_to=(
	[sender]="bridge_a qdisc VERB dev port1 root"
	[xsender]="bridge_a qdisc VERB dev port2 root"
	[receiver]="bridge_b qdisc VERB dev port1 root"
	[xreceiver]="bridge_b qdisc VERB dev port2 root"
	[router]="bridge_a qdisc VERB dev uplink parent 1:1"	# within its delay line
)
stall()
{
	# shellcheck disable=SC2086  # several words
	tc -n ${way_to[$1]/VERB/$2} plug $3
}

"$here/dumbbell.sh" "$input/link" >"$OUT/dumbbell.log" 2>&1 || {
	tail -n 3 "$OUT/dumbbell.log"
	exit 1
}
while read -r command; do
	eval "$command"
done <"$input/setup"

captures=() samplers=()
if [[ -z ${NO_CAPTURES:-} ]]; then
	capture sender eth0 sender.pcap
	capture xsender eth0 xsender.pcap
	capture router right out.pcap
fi

receivers=()
for ns in receiver xreceiver; do
	ip netns exec "$ns" env LD_PRELOAD="$QUIET" ITGRecv >/dev/null 2>&1 &
	receivers+=($!)
done
sleep 2	# until the bridges have seen that their ports are up
prove_link
[[ -z ${IMPAIRMENT:-} ]] || impair "port1 port2" "$IMPAIRMENT"
[[ -z ${ACK_IMPAIRMENT:-} ]] || impair uplink "$ACK_IMPAIRMENT"
if [[ -n ${STALLED:-} ]]; then
	stall "$STALLED" add "limit 1000000000"
	stall "$STALLED" change release_indefinite
fi

events=$tracing/events/dalbe
if [[ -d $events ]]; then
	echo mono >$tracing/trace_clock
	echo "$TRACE_KB" >$tracing/buffer_size_kb
	echo 1 >$events/enable
fi
for ns in sender xsender ${BOTH_WAYS:+receiver xreceiver}; do
	ip netns exec "$ns" "$HELPERS/tcpsample" "$sample_ms" >"$OUT/tcp.$ns" 2>"$OUT/tcp.$ns.log" &
	samplers+=($!)
done

# T=0 is a whole second of the guest's clock.
t0_us=$(((${EPOCHREALTIME%.*} + 1) * 1000000))
sleep_until 0
[[ ! -d $events ]] || echo "T=0" >$tracing/trace_marker
echo "$t0_us" >"$OUT/clock"
: >"$OUT/ends"
echo "T=0"
play

# Receivers first: an ITGRecv spins when its sender goes away before it. Bytes
# left in the buffers of closed sockets are sent no more (taps come after the
# qdisc). The captures a second later, when they have seen all that was sent.
disown -a
kill -KILL "${receivers[@]}"
kill -TERM "${samplers[@]}"
for ns in sender xsender; do tc -n "$ns" qdisc replace dev eth0 root netem loss 100%; done
sleep 1.5
if [[ -z ${NO_CAPTURES:-} ]]; then
	kill -INT "${captures[@]}"
	while kill -0 "${captures[@]}" 2>/dev/null; do sleep 0.1; done
fi
tc -n router -j -s qdisc show dev right >"$OUT/qdisc.json"
[[ -z ${REVERSE_QDISC:-} ]] || tc -n router -j -s qdisc show dev left >"$OUT/reverse.json"
[[ -z ${IMPAIRMENT:-}${ACK_IMPAIRMENT:-} ]] || tc -n bridge_b -j -s qdisc show >"$OUT/impairment.json"
[[ ! -d $events ]] || cat $tracing/trace >"$OUT/trace"
for sent in "$input"/*.bin; do
	[[ -e $sent ]] || continue	# no flow is rsync's
	name=${sent##*/} name=${name%.bin}
	if cmp -s "$sent" "$TMPDIR/$name/in/$name.bin"; then echo same; else echo differs; fi >"$OUT/$name.cmp"
done

# As process 1 of a machine's run: connections end before their namespaces do. A
# sender that is killed with data to send, and finds its peer's namespace gone,
# would keep the congestion control's module for minutes.
if [[ $$ -eq 1 ]]; then
	pkill -KILL -x 'iperf|rsync|shortflows' || true
	sleep 2
fi
