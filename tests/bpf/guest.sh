#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In the guest of any stock kernel: the BPF edition is loaded, serves an ordinary user, and goes.
#
# scripts/bpf-test.sh starts it in a directory with life.sh, goals.py, sink, bin/dalbectl and lib/dalbe.
# With VIRTUAL=1 the clock counts instructions, and rates are judged as well.
# Prints TAP, and "guest done" when it got to its end.
set -uo pipefail # not -e: what fails is reported, and the rest still runs

# shellcheck source=tests/vng/life.sh
. ./life.sh

most=500000 # instructions for the verifier, of its million

step "kernel $(uname -r), lockdown $(cat /sys/kernel/security/lockdown)"
check "the kernel is locked down as by Secure Boot" grep -q '\[integrity\]' /sys/kernel/security/lockdown
dmesg --clear
mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
cgroup=$(mktemp -d)
mount -t cgroup2 cgroup2 "$cgroup"

step "dalbe-load"
if ./lib/dalbe/dalbe-load -v load "$cgroup" >programs 2>&1; then ok "it is loaded"; else not_ok "it is loaded"; fi
sed 's/^/#   /' programs
read -r count worst < <(awk '/the verifier looks at/ { n++; if ($NF > m) m = $NF } END { print n + 0, m + 0 }' programs)
check "the verifier looks at $worst instructions for the largest of $count programs" \
	test "$count" -ge 12 -a "$worst" -gt 1000 -a "$worst" -lt "$most"
./lib/dalbe/dalbe-load load "$cgroup" >twice 2>&1
check "and not twice" grep 'it is loaded' twice
check "congestion control dalbe_cdg is there, for ordinary users" \
	grep -qw dalbe_cdg /proc/sys/net/ipv4/tcp_allowed_congestion_control

link
near sysctl -q -w net.ipv4.tcp_ecn=1
far sysctl -q -w net.ipv4.tcp_ecn=1
far ./sink 5001 &
server=$!
for ((i = 0; i < 50; i++)); do far ss -tln | grep -q :5001 && break; sleep 0.1; done
near python3 ./goals.py 10.9.0.2 "${VIRTUAL:-0}"

step "dalbectl run"
check "dalbectl run" near ./bin/dalbectl run --size 2M --deadline +30s --json-file run.json -- \
	bash -c 'head -c 2000000 /dev/zero | busybox nc 10.9.0.2 5001'
check "it had the goal" grep -q '"had_goal": true' run.json
check "all of its bytes were delivered" grep -q '"complete": true' run.json
check "it was on time" grep -q '"on_time": true' run.json

# a queue of 2 ms is marked, behind the delay, where TCP does not count it as its own any more
near tc qdisc replace dev veth0 root handle 1: netem delay 10ms limit 1000
near tc qdisc add dev veth0 parent 1:1 handle 2: tbf rate 20mbit burst 4k limit 200k
near tc qdisc add dev veth0 parent 2:1 handle 3: codel ce_threshold 2ms
near python3 ./goals.py 10.9.0.2 marks
marks=$(near tc -s qdisc show dev veth0 | sed -n 's/.*ce_mark \([0-9]*\).*/\1/p')
check "packets were marked ($marks)" test "$marks" -ge 1

kill "$server" && wait "$server" 2>/dev/null
check "it is unloaded" ./lib/dalbe/dalbe-load unload
check "nothing is pinned any more" test ! -e /sys/fs/bpf/dalbe
check "dalbe_cdg is gone" grep -vw dalbe_cdg /proc/sys/net/ipv4/tcp_available_congestion_control
check "dalbectl loads it again" ./bin/dalbectl load "$cgroup"
check "and unloads it" ./bin/dalbectl unload
dmesg >dmesg.log
echo "# no module of dalbe here" >>dmesg.log # what judge_log looks for
judge_log dmesg.log
echo "guest done"
