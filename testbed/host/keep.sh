#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Owns what a run changes in the kernel of this machine, and undoes it, whatever
# becomes of the run and of who started it.
set -euo pipefail

testbed=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage()
{
	cat <<EOT
usage: keep.sh NAME LIMIT_S OUT_DIR HELPERS_DIR INPUT_DIR <PIPE

Started by run.sh in a mount namespace of its own. Plays the scenario until it
ends, until LIMIT_S seconds are over or until PIPE is closed. Then it kills what
is left, restores the allowed congestion controls, unloads dalbe and every tcp_*
module that was not loaded before, and writes OUT_DIR/kernel.log. Modules of devices and
queue disciplines that the kernel loaded by itself stay.
EOT
}

[[ ${1:-} != -h ]] || { usage; exit 0; }
[[ $# -eq 5 ]] || { usage >&2; exit 2; }
name=$1 limit_s=$2 out=$3 helpers=$4 input=$5

allowed=/proc/sys/net/ipv4/tcp_allowed_congestion_control
scenario='' watch=''

# Ours, and those that are called as the kernel's are: a peer's file may have capitals.
our_modules() { sed -nE 's/^(dalbe|tcp_[A-Za-z0-9_]*) .*/\1/p' /proc/modules | sort; }

# shellcheck disable=SC2016 # for the shell in the scenario's place
# End the scenario: its process 1, since that one is gone only when all others of
# its process namespace are, and unshare waits for it. Before there is one, unshare.
# A connection that is killed with data to send finds no path to its peer, whose
# namespace went with it, and would keep its module for the minute and a half of its
# retransmissions. So a shell in the scenario's place keeps the namespaces until all
# processes are gone, and ends what connections they left.
kill_scenario()
{
	local first
	if first=$(pgrep -P "$scenario"); then
		nsenter --target "$first" --mount bash -c 'kill -KILL "$1"
			while kill -0 "$1"; do sleep 0.01; done
			for box in /run/netns/*; do
				nsenter --net="$box" ss --tcp --kill
			done' bash "$first" >/dev/null 2>&1 ||
			kill -KILL "$first" 2>/dev/null || :	# there may be no box yet
	else
		kill -KILL "$scenario"
	fi
}

# shellcheck disable=SC2317 # called from clean_up, and that by a trap
# unload NAME: sockets of a namespace that just went need a moment to go, too, and
# two minutes where the kernel cannot end them (INET_DIAG_DESTROY).
unload()
{
	local tries
	for ((tries = 0; tries < 1200; tries++)); do
		! rmmod "$1" 2>/dev/null || return 0
		sleep 0.1
	done
	echo "host: $1 is still in use: type 'rmmod $1' when it is not" >&2
	return 1
}

# shellcheck disable=SC2317 # called by a trap
clean_up()
{
	local status=$? module
	[[ $BASHPID == "$$" ]] || exit # a child that is killed early still has our traps
	trap '' TERM INT HUP
	set +e # whatever fails, go on
	[[ -z $watch ]] || kill "$watch" 2>/dev/null
	if [[ -n $scenario ]]; then
		kill_scenario
		wait "$scenario"
	fi 2>/dev/null
	echo "$allowed_before" >"$allowed"
	for module in $(comm -13 <(echo "$modules_before") <(our_modules)); do
		unload "$module" || status=1
	done
	rmdir "$instance" || status=1
	# all of the log, should the mark have left the kernel's buffer
	dmesg | awk -v mark="$mark" '{ line[n++] = $0 } index($0, mark) { n = 0 }
		END { for (i = 0; i < n; i++) print line[i] }' >"$out/kernel.log" || status=1
	if [[ -e /run/late ]]; then # last, so that it is the line that a caller shows
		echo "host: run '$name' did not end within $limit_s s" >&2
		status=124
	fi
	exec 2>&- # bash may still have a job that was killed to tell about
	exit "$status"
}

modules_before=$(our_modules)
allowed_before=$(<$allowed)
mark="dalbe-testbed: run $$ begins"
echo "$mark" >/dev/kmsg

# /run/netns, and a place to work, that nobody else sees.
mount -t tmpfs run /run
mkdir /run/netns /run/lock /run/home /run/work /run/tracing
# A trace buffer, clock and set of events of its own, where the scenario expects
# the machine's.
mount -t tracefs trace /run/tracing
instance=/run/tracing/instances/dalbe-testbed.$$
mkdir "$instance"
trap clean_up EXIT
trap 'exit 143' TERM INT HUP
mount --bind "$instance" /sys/kernel/tracing
"$testbed/modules.sh" "$input/modules"

exec {caller}<&0 </dev/null
cd /run/work
# Should unshare be killed, by whomever, it takes process 1 with it.
unshare --net --pid --fork --kill-child --mount-proc \
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run/home TMPDIR=/run/work LC_ALL=C.UTF-8 \
	OUT="$out" HELPERS="$helpers" bash "$testbed/scenario.sh" "$input" 9>&- {caller}<&- &
scenario=$!
{
	ended=0
	read -r -t "$limit_s" -u "$caller" || ended=$?
	((ended <= 128)) || : >/run/late
	kill_scenario
} 9>&- &
watch=$!

status=0
wait "$scenario" || status=$?
scenario=''
exit "$status"
