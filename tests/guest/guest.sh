#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs in the guest, started by run.sh through boot.sh: everything from the
# first insmod to the last look at the kernel's log. Reports in TAP.
#
# shellcheck disable=SC2317  # functions that check() calls
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/guest/report.sh
. "$here/report.sh"
# shellcheck source=tests/guest/network.sh
. "$here/network.sh"

usage()
{
	cat <<USAGE
usage: guest.sh plain|debug|gcov TEST_PROGRAM MODULE FAULTY_MODULE CDG_MODULE VEGAS_MODULE [TEXT]

For use inside a guest only; see run.sh -h. CDG_MODULE, VEGAS_MODULE: the kernel's own,
congestion controls that are neither ours nor built in. TEXT: only tests whose name
contains it, and no others.
USAGE
}

[[ ${1:-} != -h ]] || { usage; exit 0; }
[[ $# -ge 6 && $# -le 7 && -n ${OUT:-} ]] || { usage >&2; exit 2; }
variant=$1 only=${7:-}
# The guest's own copies, in its memory: what the host knows of a file, its
# inode number and times, would differ from run to run.
cp "$2" "$3" "$4" "$5" "$6" .
program=$PWD/${2##*/} module=$PWD/${3##*/} faulty=$PWD/${4##*/} cdg=$PWD/${5##*/} vegas=$PWD/${6##*/}
name=$(basename "$module" .ko)
faulty_name=$(basename "$faulty" .ko)
debugfs=/sys/kernel/debug
failures=0

ok() { echo "ok - $*"; }
not_ok()
{
	echo "not ok - $*"
	failures=$((failures + 1))
}

# check NAME COMMAND...: a test that is one command; what it says is a comment.
check()
{
	local what=$1 said
	shift
	if said=$("$@" 2>&1); then
		ok "$what"
	else
		[[ -z $said ]] || printf '# %s\n' "${said//$'\n'/$'\n# '}"
		not_ok "$what"
	fi
}

# The kernel's ring buffer is small: it is moved to a file now and then.
rm -f "$OUT"/dmesg*.log	# of an earlier run
keep_log() { dmesg --read-clear >>"$OUT/dmesg.log"; }

# A sanitizer that is not there finds nothing.
sanitizers_present()
{
	local what
	for what in kasan_report lockdep_init __ubsan_handle_shift_out_of_bounds; do
		grep -qw "$what" /proc/kallsyms || { echo "no $what in this kernel"; return 1; }
	done
	# Without it the shadow of an unloaded module is left to the next one.
	grep -qw kasan_populate_vmalloc /proc/kallsyms || { echo "no CONFIG_KASAN_VMALLOC"; return 1; }
	for what in kmemleak failslab; do
		[[ -e $debugfs/$what ]] || { echo "no $debugfs/$what"; return 1; }
	done
}

# An object younger than 5 s is not reported; nor is one that a first scan saw
# referenced from memory that is freed meanwhile.
scan_for_leaks()
{
	sleep 6
	echo scan >"$debugfs/kmemleak"
	sleep 6
	echo scan >"$debugfs/kmemleak"
	cat "$debugfs/kmemleak"
}

# The last connections may linger, as orphans, for minutes.
remove_module()
{
	local _
	for _ in {1..300}; do
		[[ $(<"/sys/module/$name/refcnt") != 0 ]] || break
		sleep 1
	done
	rmmod "$name"
}

# keep_counts: copies gcov's counts out of the guest, and fails where there are none. The kernel keeps
# them beyond rmmod; without the copy they end with the guest.
keep_counts()
{
	local file to
	find "$debugfs/gcov" -path '*/module/*.gcda' | while read -r file; do
		to=$OUT/gcov/${file#*/module/}
		mkdir -p "${to%/*}"
		cat "$file" >"$to"
	done
	[[ -e $OUT/gcov/kernel/hooks.gcda ]]
}

no_complaints()
{
	keep_log
	[[ -s $OUT/dmesg.log ]] || { echo "the kernel's log is empty"; return 1; }
	! complaints "$OUT/dmesg.log"
}

# The kernel's own, from booting.
forget_old_leaks()
{
	scan_for_leaks >"$OUT/kmemleak-boot.log"
	echo clear >"$debugfs/kmemleak"
}

no_leaks()
{
	scan_for_leaks >"$OUT/kmemleak.log"
	! head -n 60 "$OUT/kmemleak.log" | grep .
}

# ss asks every socket while connections come and go; ours is not to pose as another.
ss_under_load()
{
	local churn seen=0 out
	"$program" -m "$module" -t 'connections come and go' &
	churn=$!
	while kill -0 "$churn" 2>/dev/null; do
		out=$(ip netns exec tx ss -tin)
		[[ $out != *bbr:* ]] || { echo "ss takes it for BBR"; kill "$churn"; return 1; }
		[[ $out != *dalbe_cdg* ]] || seen=$((seen + 1))
		sleep 0.1
	done
	wait "$churn" || return 1
	echo "ss showed dalbe_cdg $seen times"
	((seen > 3))
}

# The faults below prove that this very boot would have noticed them. They come
# last: lockdep and KASAN report once.
fault_is_noticed()
{
	local fault=$1
	keep_log
	mv "$OUT/dmesg.log" "$OUT/dmesg-before-$fault.log"
	insmod "$faulty" "fault=$fault"
	rmmod "$faulty_name"
	keep_log
	case $fault in
	leak) scan_for_leaks >"$OUT/dmesg.log" ;;
	esac
	complaints "$OUT/dmesg.log"
}

build_network
[[ $variant != debug ]] || forget_old_leaks
dmesg --clear
[[ $variant != debug ]] || check "the debug guest has its sanitizers" sanitizers_present

check "insmod" insmod "$module"
check "the kernel's own CDG" insmod "$cdg"
check "the kernel's own Vegas" insmod "$vegas"
status=0
if [[ -n $only ]]; then
	"$program" -m "$module" -t "$only" || status=1
else
	"$program" -m "$module" || status=1
	keep_log
	check "ss -i while connections come and go" ss_under_load
fi
((status == 0)) || failures=$((failures + 1))
keep_log
check "rmmod" remove_module
sleep 2
check "kernel log clean" no_complaints
[[ $variant != gcov ]] || check "gcov has counted" keep_counts
if [[ $variant == debug ]]; then
	check "no memory leak" no_leaks
	if [[ -z $only ]]; then
		for fault in leak warn lock out_of_bounds; do
			check "a deliberate fault is noticed: $fault" fault_is_noticed "$fault"
		done
	fi
fi
exit "$((failures > 0))"
