#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In a Debian that has just been installed, booted as with Secure Boot: its user takes two commands
# to a first scavenger transfer, and puts nginx and sshd under a policy.
#
# scripts/bpf-fresh.sh has made the disk: packages of ours in /srv/deb, those that they depend on
# in apt's cache, this file and life.sh in /srv. A unit starts it at each boot: after the second it
# looks only whether the edition is back.
# Prints TAP, and "guest done" at its end.
set -uo pipefail # not -e: what fails is reported, and the rest still runs

cd /srv || exit
# shellcheck source=tests/vng/life.sh
. ./life.sh
export DEBIAN_FRONTEND=noninteractive

# until_says PATTERN COMMAND...: within ten seconds
until_says()
{
	local i
	for ((i = 0; i < 50; i++)); do
		says "$1" "${@:2}" >said.last && break
		sleep 0.2
	done
	cat said.last
	grep -qe "$1" said.last
}
user() { runuser -u somebody -- "$@"; }
# of whom a user waits for an answer: it is part of the evidence
typed() { echo "# \$ $*"; "$@" 2>&1 | sed 's/^/#   /'; return "${PIPESTATUS[0]}"; }
locked() { grep '\[integrity\]' /sys/kernel/security/lockdown; }
available() { grep -w dalbe_cdg /proc/sys/net/ipv4/tcp_available_congestion_control; }

step "boot of $(uname -r), $(. /etc/os-release && echo "$PRETTY_NAME")"
check "the kernel is locked down" locked
if [[ -e second ]]; then
	check "after a reboot the edition is back" until_says dalbe_cdg available
	check "its unit is active" says '^active' systemctl is-active dalbe-bpf
	echo "guest done"
	systemctl poweroff
	exit
fi

compiler()
{
	command -v gcc cc clang make dkms || compgen -G "/lib/modules/*/build" ||
		compgen -G "/usr/src/linux*"
}
check "no compiler, no headers" bash -c "$(declare -f compiler); ! compiler"
ip netns add far
ip link add veth0 type veth peer name veth0 netns far
ip addr add 10.9.0.1/24 dev veth0
ip link set veth0 up
ip -n far link set lo up
ip -n far addr add 10.9.0.2/24 dev veth0
ip -n far link set veth0 up
tc qdisc add dev veth0 root netem delay 10ms rate 20mbit limit 60
far nc -lk 5001 >/dev/null &
useradd -m somebody
head -c 4000000 /dev/urandom >/home/somebody/file
cat >/home/somebody/send <<'EOF'
#!/bin/sh
exec nc -N 10.9.0.2 5001 </home/somebody/file
EOF
chmod 755 /home/somebody /home/somebody/send

step "what its user is told beforehand"
dpkg --unpack deb/dalbectl_*.deb >/dev/null 2>&1
typed dalbectl run --scavenger -- /home/somebody/send
check "no edition is there: it names the remedy" \
	says 'dalbe-bpf\|dalbectl load' dalbectl run --scavenger -- true
dpkg --purge dalbectl >/dev/null 2>&1

step "the first command"
check "apt-get install" typed apt-get -y install ./deb/dalbectl_*.deb ./deb/dalbe-bpf_*.deb
check "dalbe_cdg is there" says dalbe_cdg available
step "the second command, of an ordinary user"
user dalbectl run --scavenger --json-file /home/somebody/run.json -- /home/somebody/send >ran 2>&1 &
runs=$!
check "its connection has dalbe_cdg" until_says dalbe_cdg ss -tinH state established 'dport = :5001'
wait $runs
check "it ends well" test $? -eq 0
sed 's/^/#   /' ran
check "all of it was sent" says '"bytes_done": 4[0-9]\{6\}' cat /home/somebody/run.json
check "with a deadline" user dalbectl run --size 4M --deadline +20s -- /home/somebody/send

# silent PORT: a client connects and sends nothing; what of it is known on our side
silent()
{
	far bash -c "exec 3<>/dev/tcp/10.9.0.1/$1; sleep 3" &
	for ((i = 0; i < 50; i++)); do
		ss -tinH state established "sport = :$1" | tr '\n' ' ' | grep . && break
		sleep 0.1
	done
	kill $! && wait $! 2>/dev/null
}
# before_data CC PORT: a new connection has it, and we have not sent a byte of data
before_data()
{
	silent "$2" >said
	cat said
	grep -qw "$1" said && ! grep -qE 'bytes_sent|data_segs_out' said
}

step "nginx"
head -c 3000000 /dev/urandom >/var/www/html/file
fetch() { far curl -s http://10.9.0.1/file | cmp - /var/www/html/file; }
fetch_under() # CC: and meanwhile it has that
{
	fetch &
	until_says "$1" ss -tinH state established 'sport = :80'
	wait $!
}
check "before: cubic" before_data cubic 80
check "attach" typed dalbectl attach --unit nginx --scavenger
check "its new connection has dalbe_cdg before its first data packet" before_data dalbe_cdg 80
check "a download comes whole, by it" fetch_under dalbe_cdg
check "nginx is started again" systemctl restart nginx
check "and keeps it" before_data dalbe_cdg 80
check "a download" fetch_under dalbe_cdg
check "nginx is reloaded" systemctl reload nginx
check "and keeps it as well" before_data dalbe_cdg 80
check "detach" dalbectl detach --unit nginx
check "cubic again" before_data cubic 80

step "sshd"
# sshd sends first: it sleeps while the kernel accepts for it
before_banner()
{
	local status
	systemctl kill -s STOP ssh
	before_data "$1" 22
	status=$?
	systemctl kill -s CONT ssh
	return $status
}
ssh-keygen -q -t ed25519 -N '' -f key
install -d -m 700 ~root/.ssh
cp key.pub ~root/.ssh/authorized_keys
login()
{
	far ssh -i key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
		-o LogLevel=ERROR root@10.9.0.1 "$@"
}
login_under()
{
	login 'head -c 2000000 /dev/zero' | wc -c >got &
	until_says "$1" ss -tinH state established 'sport = :22'
	wait $! && [[ $(<got) -eq 2000000 ]]
}
systemctl start ssh
check "before: cubic" before_banner cubic
check "attach, with a goal" typed dalbectl attach --unit ssh --size 2M --deadline +20s
check "its new connection has dalbe_cdg before its first data packet" before_banner dalbe_cdg
check "2 MB come, by it" login_under dalbe_cdg
check "sshd is started again" systemctl restart ssh
check "and keeps it" before_banner dalbe_cdg
check "2 MB come again" login_under dalbe_cdg
typed dalbectl attach
check "detach" dalbectl detach --unit ssh
check "cubic again" before_banner cubic

step "upgrade, unload, load, of the units"
check "the package can be installed again, which upgrades" \
	typed apt-get -y --reinstall install ./deb/dalbe-bpf_*.deb
check "it is there" says dalbe_cdg available
check "unload" dalbectl unload
check "gone" bash -c '! grep -w dalbe_cdg /proc/sys/net/ipv4/tcp_available_congestion_control'
check "load, by hand" dalbectl load
dmesg >dmesg.log
echo "# no module of dalbe here" >>dmesg.log # what judge_log looks for
judge_log dmesg.log
touch second
systemctl reboot
