#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Tests of the real module in a guest.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
me=run
# shellcheck source=scripts/common.sh
. "$here/../../scripts/common.sh"
# shellcheck source=tests/guest/report.sh
. "$here/report.sh"

usage()
{
	cat <<USAGE
usage: run.sh [-h] [-p|-c] [-k N] [-o DIR] [-s SEED] [-t TEXT]

Builds the module and the test program, boots a guest under KASAN, lockdep,
UBSAN and kmemleak, runs all tests in one boot and reports them in TAP.

  -p       in the plain guest: faster, no sanitizers, no failing allocations
  -c       in a guest that counts which lines of the module run, and tell that at the end; fails
           where all tests run less than 95 % of the lines, or take less than 85 % of the branches
  -k N     on a kernel of series N, 6.1 or 7.2, instead of 6.12
  -o DIR   where logs go (default: into the cache, until the next run)
  -s SEED  of the guest's random numbers and clock (default 1)
  -t TEXT  only the tests whose name contains TEXT, or A or B of A|B; "horizon" names tests of wraps, days
           and very many connections, for the plain guest, which are run by this alone

  DALBE_CACHE  where guest kernels, builds and logs are (default: ~/.cache/dalbe)

Exit status: 0 if all tests passed, 1 if not, 2 if they could not be run.
USAGE
}

die() { echo "run.sh: $*" >&2; exit 2; }

variant=debug out='' seed=1 series=() only=() virtual_s=10800
while getopts hpck:o:s:t: opt; do
	case $opt in
	h) usage; exit 0 ;;
	p) variant=plain ;;
	c) variant=gcov ;;
	k) series=(--series "$OPTARG") ;;
	o) out=$OPTARG ;;
	s) seed=$OPTARG ;;
	t) only=("$OPTARG") virtual_s=200000 ;; # "horizon" has days
	*) die "see run.sh -h" ;;
	esac
done
shift $((OPTIND - 1))
[[ $# -eq 0 ]] || die "unexpected '$1': see run.sh -h"

# Always the same directory: paths are part of a guest's arguments and of a
# module's code, and the same seed is to give the same run.
work=$cache/guest-tests/$variant
mkdir -p "$work"
exec 8>"$work/lock"
flock -n 8 || { echo "# waiting for another run.sh" >&2; flock 8; }
rm -rf "$work/out" "$work/module" "$work/faulty"
out=${out:-$work/out}
mkdir -p "$out"

# build_module KERNEL DIR: in a copy, so that the source tree stays clean and
# nothing of another kernel is linked. Only the gcov guest's kernel knows GCOV_PROFILE.
build_module()
{
	make -s -C "$1" ARCH=um M="$2" GCOV_PROFILE=y modules >"$2/build.log" 2>&1 || {
		tail -n 20 "$2/build.log" >&2
		die "the module does not build in $2"
	}
}

kernel=$("$repo/testbed/guest/build-kernel.sh" "${series[@]}" "$variant")
mkdir "$work/module" "$work/faulty"
copy_module "$work/module"
cp "$here"/faulty/* "$work/faulty"
build_module "$kernel" "$work/module"
build_module "$kernel" "$work/faulty"
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Werror -I"$repo" \
	-o "$work/dalbe_guest_test" "$here"/*.c

# The filter that judges the log, on a log with and one without a complaint.
failures=0
self_test()
{
	local wanted=$1 file=$2 got=clean
	! complaints "$here/samples/$file" >/dev/null || got=dirty
	if [[ $got == "$wanted" ]]; then
		echo "ok - the log filter finds $file $wanted"
	else
		echo "not ok - the log filter finds $file $wanted"
		failures=$((failures + 1))
	fi
}
for sample in "$here"/samples/*; do
	case ${sample##*/} in
	clean-*) self_test clean "${sample##*/}" ;;
	*) self_test dirty "${sample##*/}" ;;
	esac
done

status=0
# 2700 s: five minutes with KASAN, times eight on a busy machine, and before check.sh ends the stage
"$repo/testbed/guest/boot.sh" -k "$kernel" -o "$out" -n "guest tests" -s "$seed" -w 2700 -t "$virtual_s" \
	"$here/guest.sh" "$variant" "$work/dalbe_guest_test" \
	"$work/module/dalbe.ko" "$work/faulty/dalbe_faulty.ko" \
	"$kernel/net/ipv4/tcp_cdg.ko" "$kernel/net/ipv4/tcp_vegas.ko" "${only[@]}" |
	tee "$out/report.tap" || status=$?

passed=$(grep -c '^ok - ' "$out/report.tap" || true)
failed=$(grep -c '^not ok - ' "$out/report.tap" || true)
skipped=$(grep -c '^ok - .* # SKIP ' "$out/report.tap" || true)
failures=$((failures + failed))
echo "# $variant guest: $((passed - skipped)) passed, $failed failed, $skipped skipped"
if ((passed == 0)); then
	echo "not ok - a test ran"
	failures=$((failures + 1))
fi
if [[ $variant == debug ]] && ((skipped > 0)); then
	echo "not ok - the debug guest has what every test needs"
	failures=$((failures + 1))
fi
if ((status != 0 && failed == 0)); then
	echo "not ok - the guest ran to its end (status $status)"
	failures=$((failures + 1))
fi
# Of each file: lines, then branches taken either way. Macros of tracepoints are the kernel's.
if [[ $variant == gcov ]]; then
	need gcovr gcovr
	cp -r "$out/gcov/." "$work/module"
	least=(95 85)
	[[ ${#only[@]} -eq 0 ]] || least=(0 0)
	counted() { gcovr --root "$work/module" --exclude '.*\.mod\.c' --exclude '.*trace\.h' "$@"; }
	rm -f "$out/coverage.txt"
	for part in "--fail-under-line=${least[0]}" "--branches --fail-under-branch=${least[1]}"; do
		# shellcheck disable=SC2086 # one option, or two
		if ! counted $part | tee -a "$out/coverage.txt"; then
			echo "not ok - gcovr ${part##*--}"
			failures=$((failures + 1))
		fi
	done
fi
if ((failures > 0)); then
	echo "# logs: $out"
	exit 1
fi
