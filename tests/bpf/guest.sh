#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In the guest of any stock kernel: the BPF edition is loaded, serves an ordinary user, and goes.
#
# scripts/bpf-test.sh starts it in a directory with life.sh, the Python files of this one, sink,
# bin/dalbectl and lib/dalbe.
# With VIRTUAL=1 the clock counts instructions, and rates are judged as well. With LOAD_ONLY=1 the
# edition serves nobody.
# Prints TAP, and "guest done" when it got to its end.
set -uo pipefail # not -e: what fails is reported, and the rest still runs

# shellcheck source=tests/vng/life.sh
. ./life.sh

refuses()
{
	"${@:2}" >said.all 2>&1 && { echo "it succeeds"; return 1; }
	grep -e "$1" said.all || { cat said.all; false; }
}

unload()
{
	check "it is unloaded" "$dalbectl" unload
	check "nothing is pinned any more" test ! -e /sys/fs/bpf/dalbe
	check "dalbe_cdg is gone" grep -vw dalbe_cdg /proc/sys/net/ipv4/tcp_available_congestion_control
	dmesg >dmesg.log
	echo "# no module of dalbe here" >>dmesg.log # what judge_log looks for
	judge_log dmesg.log
	echo "guest done"
}

most=500000 # instructions for the verifier, of its million

step "kernel $(uname -r), lockdown $(cat /sys/kernel/security/lockdown)"
check "the kernel is locked down as by Secure Boot" grep -q '\[integrity\]' /sys/kernel/security/lockdown
dmesg --clear
mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
cgroup=/sys/fs/cgroup
mountpoint -q $cgroup || mount -t cgroup2 cgroup2 $cgroup
dalbectl=$PWD/bin/dalbectl

step "dalbe-load"
if ./lib/dalbe/dalbe-load -v load "$cgroup" >programs 2>&1; then ok "it is loaded"; else not_ok "it is loaded"; fi
sed 's/^/#   /' programs
read -r count worst < <(awk '/the verifier looks at/ { n++; if ($NF > m) m = $NF } END { print n + 0, m + 0 }' programs)
check "the verifier looks at $worst instructions for the largest of $count programs" \
	test "$count" -ge 11 -a "$worst" -gt 1000 -a "$worst" -lt "$most"
./lib/dalbe/dalbe-load load "$cgroup" >twice 2>&1
check "and not twice" grep 'it is loaded' twice
check "congestion control dalbe_cdg is there, for ordinary users" \
	grep -qw dalbe_cdg /proc/sys/net/ipv4/tcp_allowed_congestion_control
[[ ${LOAD_ONLY:-0} == 0 ]] || { unload; exit; }

link
near sysctl -q -w net.ipv4.tcp_ecn=1
far sysctl -q -w net.ipv4.tcp_ecn=1
far ./sink 5001 &
server=$!
for ((i = 0; i < 50; i++)); do far ss -tln | grep -q :5001 && break; sleep 0.1; done
near python3 ./goals.py 10.9.0.2 "${VIRTUAL:-0}"

step "settings, by sysctl's names"
check "get" says "net.dalbe.wmin_ppm = 10000" "$dalbectl" get net.dalbe.wmin_ppm
check "set two" "$dalbectl" set net.dalbe.wmin_ppm=30000 net.dalbe.tw_ms=3000
check "both are set" says "net.dalbe.tw_ms = 3000" "$dalbectl" get net.dalbe.wmin_ppm net.dalbe.tw_ms
check "a connection has them" says "connect dalbe_cdg .*tw_ms=3000 .*wmin=0.03 " \
	near python3 ./attached.py 10.9.0.2 own
check "refused: out of range" refuses "out of range" "$dalbectl" set net.dalbe.tw_ms=99
check "refused: another's" refuses "the BPF edition has no net.dalbe.g_us" "$dalbectl" set net.dalbe.g_us=5000
check "refused: an ordinary user" refuses "not permitted" su -s /bin/sh nobody -c "$dalbectl set net.dalbe.tw_ms=0"
check "set back" "$dalbectl" set net.dalbe.wmin_ppm=10000 net.dalbe.tw_ms=0

step "dalbectl run"
check "dalbectl run" near ./bin/dalbectl run --size 2M --deadline +30s --json-file run.json -- \
	bash -c 'head -c 2000000 /dev/zero | busybox nc 10.9.0.2 5001'
check "it had the goal" grep -q '"had_goal": true' run.json
check "all of its bytes were delivered" grep -q '"complete": true' run.json
check "it was on time" grep -q '"on_time": true' run.json

step "packages of languages"
cat >package.py <<EOF
import socket, dalbe
sock = socket.create_connection(("10.9.0.2", 5001))
dalbe.set_goal(sock, 300_000, 90)
print(dalbe.state(sock))
dalbe.scavenger(sock, 0.3)
dalbe.clear(sock)
print(dalbe.state(sock))
EOF
check "Python: a goal" says "status='on track', goal_bytes=300000" near python3 ./package.py
check "Python: a scavenger" grep "status='scavenger', goal_bytes=0" said.all
[[ ! -x go.test ]] || check "Go" says "PASS: TestConnection" \
	env DALBE_TEST_SINK=10.9.0.2:5001 ip netns exec near ./go.test -test.v -test.run Connection

step "dalbectl upgrade"
links=(/sys/fs/bpf/dalbe/links/dalbe_{cdg,setsockopt,getsockopt})
if [[ -e ${links[0]} ]]; then
	coproc live { near python3 ./goals.py 10.9.0.2 live; }
	exec 5<&"${live[0]}" 6>&"${live[1]}"
	while read -r -u 5 line && [[ $line != *"half way" ]]; do echo "$line"; done
	python3 ./pinned.py "${links[@]}" >before
	check "upgrade, during a transfer ($line)" "$dalbectl" upgrade
	python3 ./pinned.py "${links[@]}" >after
	check "all three links have other programs" test "$(grep -vcxFf before after)" -eq 3
	echo >&6
	cat <&5
	exec 5<&- 6>&-
	check "new connections have it" says "connect dalbe_cdg status=2 goal=5000" \
		near python3 ./attached.py 10.9.0.2 own
else
	check "upgrade: refused, as this kernel cannot" refuses "before Linux 6.4" "$dalbectl" upgrade
fi

step "dalbectl attach"
# attached [own]: as a process of a service
attached() { (echo "$BASHPID" >$cgroup/job/cgroup.procs && near python3 ./attached.py 10.9.0.2 "$@"); }
mkdir $cgroup/job
scavenger='dalbe_cdg status=0 goal=0 done=0 controller=3 .*wmin=0.07 '
a_goal='dalbe_cdg status=2 goal=3000000 done=0 controller=2 tw_ms=2000 group=5 .*left_s=40'
goal=(--size 3M --deadline +40s --tw 2s --group 5)
check "before: cubic" says "connect cubic" attached
check "attach a scavenger" "$dalbectl" attach --cgroup $cgroup/job --scavenger --wmin 0.07
check "its new connections are scavengers" says "connect $scavenger" attached
check "also those that it accepts" says "accept $scavenger" attached
check "a goal of the program's own stays" says "connect dalbe_cdg status=2 goal=5000 " attached own
check "not those of others" says "connect cubic" near python3 ./attached.py 10.9.0.2
check "attach a goal in its place" "$dalbectl" attach --cgroup $cgroup/job "${goal[@]}"
check "its new connections have it" says "connect $a_goal" attached
check "also those that it accepts" says "accept $a_goal" attached
check "all users can see it" says "dalbectl attach --cgroup $cgroup/job --size 3M" \
	su -s /bin/sh nobody -c "$dalbectl attach"
check "and get tells" says "attached: --cgroup $cgroup/job --size 3M" "$dalbectl" get
check "unload is refused meanwhile" refuses "detach first" "$dalbectl" unload
check "refused: no goal" refuses "the goal is missing" "$dalbectl" attach --cgroup $cgroup/job
check "refused: a time of day" refuses "from each connection's beginning" \
	"$dalbectl" attach --cgroup $cgroup/job --size 3M --deadline 06:00
check "refused: no cgroup" refuses "no cgroup of version 2" "$dalbectl" attach --cgroup /tmp --scavenger
check "refused: an ordinary user" refuses "not permitted: type sudo" \
	su -s /bin/sh nobody -c "$dalbectl attach --cgroup $cgroup/job --scavenger"
check "detach" "$dalbectl" detach --cgroup $cgroup/job
check "cubic again" says "connect cubic" attached
check "detach: it is not attached" refuses "not attached" "$dalbectl" detach --cgroup $cgroup/job

step "dalbectl policy"
# under USER GROUP [WORD...]: as a process of that user in that cgroup
under()
{
	(echo "$BASHPID" >"$cgroup/$2/cgroup.procs" &&
		near setpriv --reuid "$1" --clear-groups python3 ./attached.py 10.9.0.2 "${@:3}")
}
mkdir $cgroup/job/inner $cgroup/else
cat >policy.conf <<EOF
# the first that holds decides
plain        user nobody
goal 3M within 40s user daemon port 5001
scavenger    cgroup /job/inner
weight 0.07  cgroup /job
weight 0.2   to ::1
weight 0.4   to 127.0.0.0/8 own-port 7000-7009
weight 0.3   to 10.9.0.0/24 port 5000-5002
EOF
check "refused: an ordinary user" refuses "not permitted: type sudo" \
	su -s /bin/sh nobody -c "$dalbectl policy apply $PWD/policy.conf"
check "before: cubic" says "connect cubic" under root else
check "apply" says "7 rules in force, by BPF" "$dalbectl" policy apply policy.conf
check "by prefix and port" says "connect dalbe_cdg status=0 .*controller=3 .*wmin=0.3 " under root else
check "no rule holds: as it was" says "accept cubic" under root else
check "by our own port" says "accept dalbe_cdg .*wmin=0.4 " under root else 7003
check "by IPv6 address" says "accept dalbe_cdg .*wmin=0.2 " under root else six
check "by cgroup" says "accept dalbe_cdg .*wmin=0.07 " under root job
check "by one below it" says "accept dalbe_cdg .*controller=3 .*wmin=0.01 " under root job/inner
check "by user: a goal" says "connect dalbe_cdg status=2 goal=3000000 .*left_s=40" under daemon else
check "by user: plain" says "connect cubic" under nobody job
check "a goal of the program's own stays" says "connect dalbe_cdg status=2 goal=5000 " under root job own
rmdir $cgroup/job/inner && mkdir $cgroup/job/inner
check "a cgroup that is made anew" says "accept dalbe_cdg .*wmin=0.01 " under root job/inner
check "attach to a cgroup" "$dalbectl" attach --cgroup $cgroup/job --scavenger --wmin 0.6
check "goes before the policy" says "connect dalbe_cdg .*wmin=0.6 " under root job
check "detach" "$dalbectl" detach --cgroup $cgroup/job
printf 'weight 0.5\nscavenger prot 1\n' >wrong.conf
check "a wrong file is refused" refuses "wrong.conf:2: 'prot': unknown word" \
	"$dalbectl" policy apply wrong.conf
check "and what was in force is" says "accept dalbe_cdg .*wmin=0.07 " under root job
for ((i = 0; i < 63; i++)); do
	echo "scavenger port $((6000 + i)) user nobody cgroup /a/b/c/d/e/f/g"
done >most.conf
echo "weight 0.5" >>most.conf
check "another in its place, of 64 rules" says "64 rules in force" "$dalbectl" policy apply most.conf
check "the last one decides" says "connect dalbe_cdg .*wmin=0.5 " under root job
check "all users can see it" says "dalbectl policy apply $PWD/most.conf" \
	su -s /bin/sh nobody -c "$dalbectl attach"
check "remove" "$dalbectl" policy remove
check "cubic again" says "connect cubic" under root job
check "remove: there is none" refuses "no policy is in force" "$dalbectl" policy remove

# A systemd of its own: of the host's units it sees none.
mkdir units
printf '[Unit]\nDefaultDependencies=no\n' >units/test.target
cat >units/job.service <<EOF
[Unit]
DefaultDependencies=no
[Service]
WorkingDirectory=$PWD
Type=oneshot
RemainAfterExit=yes
ExecStart=ip netns exec near python3 ./attached.py 10.9.0.2
StandardOutput=truncate:$PWD/said
EOF
cat >units/rsyncd.service <<EOF
[Unit]
DefaultDependencies=no
[Service]
ExecStart=ip netns exec near rsync --daemon --no-detach --port=8730 --config=$PWD/rsyncd.conf
EOF
printf '[files]\npath = %s\nuid = root\nuse chroot = no\n' "$PWD" >rsyncd.conf
head -c 4000000 /dev/urandom >file
cat >systemd.sh <<EOF
mount -t tmpfs -o mode=755 tmpfs /run/systemd && mkdir /run/systemd/system &&
	cp $PWD/units/* /run/systemd/system &&
	exec env SYSTEMD_UNIT_PATH=/run/systemd/system container=other /lib/systemd/systemd --unit=test.target
EOF
script -qfc "unshare --pid --fork --mount --mount-proc sh ./systemd.sh" /dev/null >systemd.log 2>&1 </dev/null &
inside() { nsenter -t "$(pgrep -x systemd | head -n 1)" -m -p "$@"; }
for ((i = 0; i < 100; i++)); do
	[[ $(inside systemctl is-system-running 2>&1) != running ]] || break
	sleep 0.1
done
check "attach --unit: one that does not run" says "attached when it starts" \
	inside "$dalbectl" attach --unit job --scavenger --wmin 0.07
check "it starts" inside systemctl start job
check "its new connections are scavengers" says "connect $scavenger" cat said
check "with a goal in its place" inside "$dalbectl" attach --unit job "${goal[@]}"
check "it is started again" inside systemctl restart job
check "and has the goal" says "accept $a_goal" cat said
inside systemctl start rsyncd
check "attach --unit: one that runs" inside "$dalbectl" attach --unit rsyncd.service --scavenger
# fetch: what a daemon's connection is while a client of it reads
fetch()
{
	for ((i = 0; i < 100; i++)); do near ss -tln | grep -q :8730 && break; sleep 0.1; done
	far rsync --bwlimit=800 rsync://10.9.0.1:8730/files/file fetched &
	for ((i = 0; i < 100; i++)); do
		near ss -tinH state established 'sport = :8730' | grep . && break
		sleep 0.1
	done
	kill $! && wait $! 2>/dev/null
}
check "a daemon's connection" says "dalbe_cdg" fetch
check "it is started again" inside systemctl restart rsyncd
check "and keeps it" says "dalbe_cdg" fetch
check "both can be seen" test "$("$dalbectl" attach | wc -l)" -eq 2
check "no such unit" refuses "knows no such unit" inside "$dalbectl" attach --unit nosuch --scavenger
check "detach --unit" inside "$dalbectl" detach --unit rsyncd
check "detach --unit, the other" inside "$dalbectl" detach --unit job
check "it is started again" inside systemctl restart job
check "and has cubic" says "connect cubic" cat said
inside systemctl stop rsyncd job

# a queue of 2 ms is marked, behind the delay, where TCP does not count it as its own any more
near tc qdisc replace dev veth0 root handle 1: netem delay 10ms limit 1000
near tc qdisc add dev veth0 parent 1:1 handle 2: tbf rate 20mbit burst 4k limit 200k
near tc qdisc add dev veth0 parent 2:1 handle 3: codel ce_threshold 2ms
near python3 ./goals.py 10.9.0.2 marks
marks=$(near tc -s qdisc show dev veth0 | sed -n 's/.*ce_mark \([0-9]*\).*/\1/p')
check "packets were marked ($marks)" test "$marks" -ge 1

kill "$server" && wait "$server" 2>/dev/null
unload
