# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Sourced by what boots a guest (guest/boot.sh, qemu/boot.sh): a directory for it,
# and nothing left of it however it, or we, end.
#
#	supervise_in TEMPLATE
#	setsid GUEST... &			# a process group, to be killed as a whole
#	await_guest $! WHO NAME WALL_S STATUS_FILE

supervisor=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
guest='' watchdog=''

# supervise_in TEMPLATE: makes the directory $work, which lives as long as we do. A child has our
# traps until it runs its command: a watchdog that is killed before that is not our end.
supervise_in()
{
	work=$(mktemp -d "$1")
	trap '[[ $BASHPID == "$$" ]] || exit
		[[ -z $guest ]] || kill -KILL -- "-$guest" 2>/dev/null || :
		[[ -z $watchdog ]] || kill "$watchdog" 2>/dev/null || :
		rm -rf "$work"' EXIT
	trap 'exit 143' TERM
	trap 'exit 130' INT
}

# await_guest PID WHO NAME WALL_S STATUS_FILE: until the guest has ended. Status
# 124 if that took more than WALL_S, 125 if the guest left no status.
await_guest()
{
	guest=$1
	setsid "$supervisor/watchdog.sh" $$ "$guest" "$4" "$work/timeout" </dev/null >/dev/null 2>&1 8>&- &
	watchdog=$!
	wait "$guest" || true
	kill -KILL -- "-$guest" 2>/dev/null || true
	guest=''
	kill "$watchdog" 2>/dev/null || true
	watchdog=''

	if [[ -e $work/timeout ]]; then
		echo "$2: run '$3' hung: killed after $4 s of wall-clock time" >&2
		return 124
	fi
	[[ ! -s $5 ]] || return 0
	grep -v -e setup_one_line -e 'channel type' "$work/stderr" | tail -n 5 >&2 || true
	echo "$2: run '$3': the guest died before its script ended; see its console" >&2
	return 125
}
