#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `make check`: every test there is, in stages, on two cores.
#
#	lane 1   guest kernels (plain, debug) -> KUnit -> guest tests -> stock kernel -> demo
#	lane 2   lint -> kernel matrix -> BPF edition -> installation -> README
#
# The lanes run side by side after set-up and the tests of the tools, which run in real time and are
# the only ones that a busy machine disturbs. The Python tests follow, on both processors: they need
# the plain guest kernel.
#
# A stage is a command that prints "ok - NAME" or "not ok - NAME" per test. A
# stage that fails does not stop the others. One without a test is a failure.
set -euo pipefail

me=check
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

quick=(tools changes arithmetic testbed)
stages=(setup tools kernels kunit guest lint matrix bpf install fresh vng python demo)

usage()
{
	cat <<EOF
usage: check.sh [-h] [--quick] [STAGE...]

Runs all stages, or only those named: ${stages[*]}.
--quick runs ${quick[*]}, in two minutes: the tests of the tools, lint of
what differs from the last commit but one, the tests of the module's arithmetic,
compiled for user space, and those of the testbed, but for tests that are marked as slow
or need a guest. It installs nothing and needs what setup has installed.
Logs go to results/check/STAGE.log; a stage that failed is also shown.
The last line is "N passed, N failed"; the exit status is 0 if none failed.

  STAGE_TIMEOUT  seconds after which a stage is stopped (default: 3000)
EOF
}

# --- the stages ------------------------------------------------------------------

stage_setup()
{
	"$repo/scripts/setup.sh" check
	ok "all packages and the Python environment are there"
}

stage_kernels()
{
	local variant
	for variant in plain debug; do
		if nice "$repo/testbed/guest/build-kernel.sh" "$variant"; then
			ok "$variant guest kernel"
		else
			not_ok "$variant guest kernel"
		fi
	done
	[[ ${failures:-0} -eq 0 ]]
}

stage_kunit() { "$repo/tests/kunit/run.sh"; }
stage_guest()
{
	local status=0
	"$repo/tests/guest/run.sh" || status=1
	"$repo/tests/guest/run.sh" -p -t horizon || status=1
	return $status
}
stage_lint() { "$repo/scripts/lint.sh"; }
stage_changes() { "$repo/scripts/lint.sh" --since HEAD~1; }
# Of the Python tests those that need no guest, and find most faults in their time:
# docs/notebook.md, "Which tests find faults". $1 says which files: grep -l, or -L, the others.
quick_python()
{
	local -a files
	mapfile -t files < <(cd "$repo" && grep "$1" 'pure: Any' tests/python/test_*.py)
	"$repo/scripts/pytest.sh" -m 'not guest and not slow' "${files[@]}"
}
stage_arithmetic() { quick_python -l; }
stage_testbed() { quick_python -L; }
# 6.12 is booted by the stage vng.
stage_matrix() { BOOT='6.1 7.2' "$repo/scripts/kernel-matrix.sh"; }
# Of `make test-install` and `make fresh` each test in one of the two Debians: both take twice as long.
stage_install() { "$repo/scripts/install-test.sh" make:trixie dkms:bookworm setup:bookworm deb:trixie; }
stage_fresh() { "$repo/scripts/fresh.sh" bookworm; }
stage_tools() { make -C "$repo/tools" test; }
# Each verifier refuses something else: the others' are asked, too.
stage_bpf()
{
	local status=0
	"$repo/scripts/bpf-test.sh" 6.12 || status=1
	"$repo/scripts/bpf-test.sh" -l 6.1 7.2 || status=1
	return $status
}
stage_vng() { "$repo/scripts/vng-test.sh"; }
stage_python() { "$repo/scripts/pytest.sh" -n 2 --dist worksteal; }

# One seed of the demo: what it has to show, a test each.
stage_demo()
{
	local dir=$repo/results/check/demo
	"$repo/scripts/reproduce.sh" --sweep demo:1 "$dir"
	enter_venv
	python - "$dir/report/verdicts.csv" <<'EOP'
import csv
import sys

verdicts = list(csv.DictReader(open(sys.argv[1])))
for verdict in verdicts:
    print(f"{'ok' if verdict['met'] == 'true' else 'not ok'} - {verdict['requirement']}")
sys.exit(any(verdict["met"] != "true" for verdict in verdicts))
EOP
}

# --- running them ------------------------------------------------------------------

# Lanes print whole paragraphs, one at a time.
print() { flock "$out/print.lock" cat; }

clock() { printf '[%2d:%02d]' $((SECONDS / 60)) $((SECONDS % 60)); }

# run STAGE: leaves STAGE.log and STAGE.count, "PASSED FAILED".
run()
{
	local stage=$1 begin=$SECONDS status=0 passed failed log=$out/$1.log
	echo "$(clock) $stage ..." | print
	timeout -k 10 "${STAGE_TIMEOUT:-3000}" "${BASH_SOURCE[0]}" --stage "$stage" \
		</dev/null >"$log" 2>&1 || status=$?
	passed=$(grep -E '^ok( [0-9]+)?( -)? ' "$log" | grep -vc '# SKIP' || true)
	failed=$(grep -Ec '^not ok( [0-9]+)?( -)? ' "$log" || true)
	case $status in
	124 | 137) echo "not ok - $stage: stopped after ${STAGE_TIMEOUT:-3000} s" >>"$log" ;;
	0) [[ $((passed + failed)) -gt 0 ]] || echo "not ok - $stage: no test ran" >>"$log" ;;
	*) [[ $failed -gt 0 ]] || echo "not ok - $stage: exit status $status" >>"$log" ;;
	esac
	failed=$(grep -Ec '^not ok( [0-9]+)?( -)? ' "$log" || true)
	echo "$passed $failed" >"$out/$stage.count"
	{
		if [[ $failed -gt 0 ]]; then
			echo "--- $stage: the end of $log"
			tail -n 60 "$log"
			echo "--- $stage: what failed"
			grep -E '^not ok' "$log"
			echo "---"
		fi
		echo "$(clock) $stage: $passed passed, $failed failed ($((SECONDS - begin)) s)"
	} | print
}

wanted() { [[ " ${chosen[*]} " == *" $1 "* ]]; }

lane()
{
	local stage
	for stage; do
		! wanted "$stage" || run "$stage"
	done
}

# together STAGES...: a lane for each argument, side by side
together()
{
	local stages
	set -m # a process group for each lane
	for stages; do
		# shellcheck disable=SC2086 # names of stages
		lane $stages &
		lanes+=($!)
	done
	set +m
	wait "${lanes[@]}" || true
}

# Stopped by a signal: nothing that was started stays. Each lane leads a process
# group, and so does each stage in it (timeout makes one).
stop()
{
	local lane
	trap - INT TERM EXIT
	for lane in "${lanes[@]}"; do
		pkill -TERM -P "$lane" 2>/dev/null || true # timeout hands it on
		kill -TERM -- "-$lane" 2>/dev/null || true
	done
	wait
	die "stopped"
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
--stage) "stage_$2"; exit ;;
--quick) stages=("${quick[@]}"); shift ;;
esac
chosen=("${@:-${stages[@]}}")
[[ $# -gt 0 ]] || chosen=("${stages[@]}")
for stage in "${chosen[@]}"; do
	[[ " ${stages[*]} " == *" $stage "* ]] ||
		die "'$stage' is no stage: type one of ${stages[*]}, or nothing for all"
done

out=$repo/results/check
rm -rf "$out"
mkdir -p "$out"

lanes=()
trap stop INT TERM
together setup
if [[ -e $out/setup.count && $(<"$out/setup.count") != *" 0" ]]; then
	echo "$(cut -d ' ' -f 1 "$out/setup.count") passed, $(cut -d ' ' -f 2 "$out/setup.count") failed"
	exit 1
fi
if [[ ${stages[*]} == "${quick[*]}" ]]; then
	together tools "changes arithmetic" testbed # the tools' tests wait, most of the time
else
	together tools
	together "kernels kunit guest vng demo" "lint matrix bpf install fresh"
	together python
fi

passed=0 failed=0
for stage in "${chosen[@]}"; do
	read -r p f <"$out/$stage.count" || { p=0 f=1; say "$stage did not finish"; }
	passed=$((passed + p)) failed=$((failed + f))
done
echo "$passed passed, $failed failed"
[[ $failed -eq 0 && $passed -gt 0 ]]
