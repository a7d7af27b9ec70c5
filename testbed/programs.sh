#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Plays one backup by a real program beside two CUBIC flows, in a guest.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage()
{
	cat <<EOF
usage: programs.sh INPUT_DIR PROGRAM HOW DEADLINE_S SEED

Run by boot.sh in a guest, for scripts/programs.sh, which describes PROGRAM and HOW.
INPUT_DIR holds

  data/      what is to be sent
  restic/    an empty repository of restic's: to make one, restic measures how fast
             the machine is, by a clock that stands still here
  link       what dumbbell.sh needs, and OTHERS, when the CUBIC flows send: "20-60 80-120"
  dalbe.ko, dalbectl

\$OUT receives

  result     KEY=VALUE a line: rc and done_s of the program; others_bps, what arrived
             for the CUBIC flows while they ran, and windows_bps, in each of their windows;
             same, whether what arrived is what was sent
  program.log, job.json    what the program and dalbectl said
EOF
}

[[ ${1:-} != -h ]] || { usage; exit 0; }
[[ $# -eq 5 && -n ${OUT:-} ]] || { usage >&2; exit 2; }
input=$1 program=$2 how=$3 deadline_s=$4 RANDOM=$5

in_sender() { ip netns exec sender "$@"; }
in_receiver() { ip netns exec receiver "$@"; }

# Sleeps until T=$1 s without a fork: a read that nobody answers.
exec {never}<> <(:)
t0_us=0
sleep_until()
{
	local left=$(($1 * 1000000 - (${EPOCHREALTIME/./} - t0_us)))
	((left > 0)) || return 0
	printf -v left '%d.%06d' $((left / 1000000)) $((left % 1000000))
	read -r -t "$left" -u "$never" || true
}

# shellcheck source=/dev/null
source "$input/link"
"$here/dumbbell.sh" "$input/link" >"$OUT/dumbbell.log" 2>&1
insmod "$input/dalbe.ko"
sleep 2	# until the bridges have seen that their ports are up

bytes=$(find "$input/data" -type f -printf '%s\n' | paste -sd+ | bc)
rate_Bps=$((bytes / deadline_s))
work=$PWD
mkdir -p "$work/in" /run/sshd

serve_ssh()
{
	ssh-keygen -q -t ed25519 -N '' -f host
	ssh-keygen -q -t ed25519 -N '' -f user
	printf '%s\n' "HostKey $work/host" "AuthorizedKeysFile $work/user.pub" 'PidFile none' \
		'UsePAM no' 'StrictModes no' "SetEnv BORG_BASE_DIR=$work/borg-server TMPDIR=$work" >sshd.conf
	printf '%s\n' "IdentityFile $work/user" 'UserKnownHostsFile /dev/null' \
		'StrictHostKeyChecking no' 'LogLevel ERROR' >ssh.conf
	in_receiver /usr/sbin/sshd -D -e -f "$work/sshd.conf" >"$OUT/server.log" 2>&1 &
}

limit=()
case $program in
rsync)
	serve_ssh
	[[ $how != cap ]] || limit=(--bwlimit $((rate_Bps / 1024)))
	command=(rsync -a "${limit[@]}" -e "ssh -F $work/ssh.conf" "$input/data" "10.0.2.1:$work/in")
	;;
borg)
	serve_ssh
	export BORG_RSH="ssh -F $work/ssh.conf" BORG_BASE_DIR=$work/borg
	export BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes BORG_RELOCATED_REPO_ACCESS_IS_OK=yes
	borg init -e none "$work/in/repo"
	[[ $how != cap ]] || limit=(--upload-ratelimit $((rate_Bps / 1024)))
	command=(borg create -C none "${limit[@]}" "ssh://10.0.2.1$work/in/repo::night" "$input/data")
	;;
restic)
	cp -r "$input/restic" "$work/in/repo"
	in_receiver rclone serve restic --addr 10.0.2.1:8080 "$work/in/repo" >"$OUT/server.log" 2>&1 &
	export RESTIC_PASSWORD=x
	[[ $how != cap ]] || limit=(--limit-upload $((rate_Bps / 1024)))
	command=(restic -r rest:http://10.0.2.1:8080/ --no-cache "${limit[@]}" backup "$input/data")
	;;
rclone | rclone1)
	in_receiver rclone serve webdav --addr 10.0.2.1:8080 "$work/in" >"$OUT/server.log" 2>&1 &
	transfers=8
	[[ $program != rclone1 ]] || transfers=1
	[[ $how != cap ]] || limit=(--bwlimit "${rate_Bps}B")
	command=(rclone copy --transfers "$transfers" --webdav-url http://10.0.2.1:8080
		"${limit[@]}" "$input/data" :webdav:data)
	;;
none) command=(sleep 130) ;;
*) usage >&2; exit 2 ;;
esac
sleep 3	# until the server is there

# $bytes times $1.
times() { bc <<<"($bytes * $1 + 0.5) / 1"; }

run=("$input/dalbectl" run --json-file "$OUT/job.json")
case $how in
plain | cap) run=() ;;
goal) run+=(--size "$bytes" --deadline "+${deadline_s}s" --) ;;
goal-x*) run+=(--size "$(times "${how#goal-x}")" --deadline "+${deadline_s}s" --) ;;
guess-x* | auto)
	size=(--size auto --name night)
	[[ $how == auto ]] || size=(--size "$(times "${how#guess-x}")")
	run+=("${size[@]}" --progress --deadline "+${deadline_s}s" --)
	export XDG_STATE_HOME=$work
	case $program in
	rsync) command+=(--info=progress2 --no-inc-recursive) ;;
	restic) command+=(--json) ;;
	rclone*) command+=(--use-json-log --stats 1s --stats-log-level NOTICE) ;;
	*) usage >&2; exit 2 ;;
	esac
	;;
goal-le) run+=(--dscp le --size "$bytes" --deadline "+${deadline_s}s" --) ;;
scavenger) run+=(--scavenger --) ;;
scavenger-le) run+=(--dscp le --scavenger --) ;;
*) usage >&2; exit 2 ;;
esac

ip netns exec xreceiver iperf -s >"$OUT/iperf.log" 2>&1 &

received() { ip netns exec xreceiver cat /sys/class/net/eth0/statistics/rx_bytes; }

# others FROM TO: two CUBIC flows; what arrives meanwhile is added up.
others_bytes=0 others_s=0 windows=
others()
{
	local before after wait
	sleep_until "$1"
	before=$(received)
	# Each begins within a second, by the seed.
	for _ in 1 2; do
		printf -v wait '0.%03d' $((RANDOM % 1000))
		(read -r -t "$wait" -u "$never" || true
		 exec ip netns exec xsender iperf -Z cubic -c 10.0.2.2 -t $(($2 - $1))) \
			>>"$OUT/iperf.log" 2>&1 &
	done
	sleep_until "$2"
	after=$(received)
	others_bytes=$((others_bytes + after - before)) others_s=$((others_s + $2 - $1))
	windows+=" $(((after - before) * 8 / ($2 - $1)))"
}

t0_us=${EPOCHREALTIME/./}
(
	rc=0
	in_sender "${run[@]}" timeout 400 "${command[@]}" >"$OUT/program.log" 2>&1 || rc=$?
	took=$((${EPOCHREALTIME/./} - t0_us))
	printf 'rc=%d\ndone_s=%d.%d\n' $rc $((took / 1000000)) $((took / 100000 % 10)) >"$OUT/program"
) &
program_pid=$!
for window in $OTHERS; do
	others "${window%-*}" "${window#*-}"
done
wait $program_pid

{
	cat "$OUT/program"
	echo "others_bps=$((others_bytes * 8 / others_s))"
	echo "windows_bps=\"$windows\""
} >"$OUT/result"
# rsync's and rclone's tree has to be what was sent, the others' repositories to be whole.
case $program in
rsync | rclone | rclone1) diff -r "$input/data" "$work/in/data" >"$OUT/diff" && echo same=1 ;;
restic) restic -q -r "$work/in/repo" --no-cache check >"$OUT/diff" 2>&1 && echo same=1 ;;
borg) borg extract --dry-run "$work/in/repo::night" >"$OUT/diff" 2>&1 && echo same=1 ;;
esac >>"$OUT/result"
