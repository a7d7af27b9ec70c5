#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Boots a User Mode Linux guest, runs one script in it and waits for its end.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=testbed/guest/supervise.sh
. "$here/supervise.sh"

usage()
{
	cat <<EOF
usage: boot.sh [options] -k KERNEL_BUILD -o OUT_DIR SCRIPT [ARG...]
       boot.sh -k KERNEL_BUILD -p

Boots the User Mode Linux kernel of KERNEL_BUILD in time-travel mode, runs
SCRIPT in it as root and exits with SCRIPT's status. The guest sees the host's
file system read-only; what it writes to \$OUT (OUT_DIR here) stays, everything
else it writes is in its own memory. Its console goes to stdout.

  -k DIR   build directory of the guest kernel (see build-kernel.sh)
  -o DIR   where the guest leaves its results; created if need be
  -s N     seed of the guest's random numbers and of its clock (default 1)
  -n NAME  name of the run in messages (default: name of OUT_DIR)
  -m SIZE  the guest's memory (default 512M)
  -w SEC   wall-clock limit: kill a guest that takes longer (default 600, and ten times
           what -b needs on a loaded machine)
  -b BITS  that the guest has to carry through a bottleneck (default 0)
  -t SEC   virtual-time limit: end a guest whose clock gets there (default 3600)
  -r       the guest's clock is the real one: computing takes time, and what else
           the host does shows; no two runs are the same
  -p       only print release=, sha256= and directory= of the kernel, and clock=
  -h       this text

Runs as root and as an ordinary user, who is then root in the guest.
Without -r the same kernel, SCRIPT, ARGs and seed give the same run, bit for bit.
Exit status: SCRIPT's; 124 if a limit was hit; 125 if the guest died otherwise.
EOF
}

die() { echo "boot.sh: $*" >&2; exit 2; }

kernel='' out='' name='' seed=1 mem=512M wall_s='' bits=0 virtual_s=3600 real=false
only_print=false
while getopts hprk:o:s:n:m:w:b:t: opt; do
	case $opt in
	h) usage; exit 0 ;;
	p) only_print=true ;;
	k) kernel=$OPTARG ;;
	o) out=$OPTARG ;;
	s) seed=$OPTARG ;;
	n) name=$OPTARG ;;
	m) mem=$OPTARG ;;
	w) wall_s=$OPTARG ;;
	b) bits=$OPTARG ;;
	t) virtual_s=$OPTARG ;;
	r) real=true ;;
	*) die "see boot.sh -h" ;;
	esac
done
shift $((OPTIND - 1))

if $only_print; then
	release=include/config/kernel.release
	for part in linux $release; do
		[[ -f $kernel/$part ]] ||
			die "--kernel $kernel: no $part in there; give what testbed/guest/build-kernel.sh prints, or nothing"
	done
	printf '%s\n' "release=$(<"$kernel/$release")" "sha256=$(sha256sum <"$kernel/linux" | cut -d ' ' -f 1)" \
		"directory=$(realpath "$kernel")" clock=virtual
	exit 0
fi

[[ -n $kernel && -n $out && $# -ge 1 ]] || die "say -k KERNEL_BUILD -o OUT_DIR SCRIPT; see boot.sh -h"
[[ -x $kernel/linux ]] || die "$kernel holds no kernel: build one with build-kernel.sh"
[[ -r $1 ]] || die "cannot read $1: give the path of a bash script"
[[ $seed =~ ^[0-9]{1,8}$ ]] || die "seed '$seed': give a whole number below 100000000"
[[ $virtual_s$bits$wall_s =~ ^[0-9]+$ ]] || die "-w and -t take whole seconds, -b whole bits"
wall_s=${wall_s:-$((600 + bits / 10000000))}

mkdir -p "$out"
out=$(realpath "$out")
kernel=$(realpath "$kernel")
script=$(realpath "$1")
shift
helpers=$("$here/build-helpers.sh")
name=${name:-${out##*/}}

rm -f "$out/.status"

# The guest's memory is a sparse file that it maps; in memory if there is room.
tmp=${TMPDIR:-/tmp}
shm_kb=$(df --output=avail /dev/shm 2>/dev/null | tail -n 1 || echo 0)
if [[ -w /dev/shm ]] && ((shm_kb > 2 * 1024 * 1024)); then
	tmp=/dev/shm
fi
supervise_in "$tmp/dalbe-guest.XXXXXX"

# The file that init.sh finds beside itself. The kernel's command line could not hold a
# space, and is mixed into the kernel's random numbers: it must not name $work.
printf '%s\0' "$out" "$virtual_s" "$helpers" "$script" "$@" >"$work/request"
cp "$here/init.sh" "$work/init.sh"

# claim_cpu: sets cpu to a processor that no other guest of this user has, and
# holds it until boot.sh ends; to all we may use if there is none.
#
# UML and the processes that it traces take turns. Across two processors every
# turn wakes up the other one, which costs three times what the guest computes.
claim_cpu()
{
	local part locks="${TMPDIR:-/tmp}/dalbe-cpus.$UID" allowed
	allowed=$(sed -n 's/^Cpus_allowed_list:\s*//p' /proc/self/status)
	mkdir -p "$locks"
	for part in ${allowed//,/ }; do
		for ((cpu = ${part%-*}; cpu <= ${part#*-}; cpu++)); do
			exec 8>"$locks/$cpu"
			! flock -n 8 || return 0
		done
	done
	exec 8>&-
	cpu=$allowed
}
claim_cpu

time_travel=(time-travel=inf-cpu "time-travel-start=$(((1700000000 + seed * 1000) * 1000000000))")
clock="virtual time"
! $real || time_travel=() clock="its clock"

# Nothing that differs between two hosts or two runs may reach the guest:
#   init=              the working directory, seen through the host's /proc
#   setarch -R         no address randomisation
#   env -i, seedrand   no environment, no entropy
#   xstate             processors with AMX are no exception
#   time-travel-start  the clock (ns); the clocks of two seeds are 1000 s apart
#   stdin closed, no ubd, no live console: no asynchronous input
# UML and the processes it traces are one session, hence one process group,
# which can be killed as a whole.
cd "$work"
setsid taskset -c "$cpu" env -i LD_PRELOAD="$helpers/seedrand.so:$helpers/xstate.so" \
	GUEST_SEED="$seed" TMPDIR="$work" HOME="$work" PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	setarch "$(uname -m)" -R "$kernel/linux" "mem=$mem" quiet panic=-1 \
	con=null con0=null,fd:1 root=/dev/root rootfstype=hostfs rootflags=/ ro \
	"${time_travel[@]}" init=/proc/self/cwd/init.sh </dev/null 2>"$work/stderr" 8>&- &
await_guest $! boot.sh "$name" "$wall_s" "$out/.status"
status=$(<"$out/.status")
rm -f "$out/.status"
if [[ $status == timeout ]]; then
	echo "boot.sh: run '$name' did not end within $virtual_s s of $clock" >&2
	exit 124
fi
exit "$status"
