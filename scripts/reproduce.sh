#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `make reproduce`: the CDG paper's Figures 2 and 3 and Table I, from nothing to the report.
set -euo pipefail

me=reproduce
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

reduced=(figure3 figure2 table1:3) # the last is part of the first
full=(figure3-full figure2 table1 ablation-hz ablation-kernel ablation-background
	ablation-delay ablation-buffer backend)

usage()
{
	cat <<EOF2
usage: reproduce.sh [-h] [--full | --quoted] [--sweep NAME]... [--peers DIR] [--jobs N]
       [--profile DIR] [--dry-run] [--publish] [--check] OUT

Installs what is missing, makes the runs that OUT lacks and writes
OUT/report/index.html. After an interruption the same command goes on. Makes
  ${reduced[*]}
on two cores within half an hour, or with --full
  ${full[*]}

  --quoted       all sweeps whose tables README and docs quote, with --publish
  --sweep NAME   this sweep instead: one of testbed/sweeps, or a TOML file
  --peers DIR    others' congestion controls, each in a directory of its own:
                 LEDBAT, LEDBAT-Plus-Plus, FlexiS; without it they are left out
  --jobs N       guests at once (default: one per core)
  --profile DIR  a Snakemake profile: testbed/workflow/slurm for a cluster
  --dry-run      only list the runs that OUT lacks, and how long they take
  --publish      copy the tables and pictures that docs/results keeps of them there
  --check        exit with 1 if a requirement is not met
EOF2
}

sweeps=() run_options=() report_options=() out='' quoted=''
value() { [[ $# -ge 2 ]] || die "$1 needs a value: type 'scripts/reproduce.sh -h'"; }
while [[ $# -gt 0 ]]; do
	case $1 in
	-h | --help) usage; exit 0 ;;
	--full) sweeps+=("${full[@]}") ;;
	--quoted) quoted=1; report_options+=(--publish) ;;
	--dry-run) run_options+=("$1") ;;
	--sweep) value "$@"; sweeps+=("$2"); shift ;;
	--peers) value "$@"; DALBE_PEERS=$(realpath -e "$2") || die "no directory '$2'"; export DALBE_PEERS; shift ;;
	--jobs | --profile) value "$@"; run_options+=("$1" "$2"); shift ;;
	--check | --publish) report_options+=("$1") ;;
	-*) die "unknown option '$1': type 'scripts/reproduce.sh -h'" ;;
	*) [[ -z $out ]] || die "two output directories, '$out' and '$1': name one"; out=$1 ;;
	esac
	shift
done
[[ -n $out ]] || die "say where to: 'make reproduce OUT=dir'"
[[ -n $quoted || ${#sweeps[@]} -gt 0 ]] || sweeps=("${reduced[@]}")

# The stock kernel of the backend sweep, and what other series' sources come with,
# are among what the tests need; so they may be for a sweep of somebody's own.
what=demo
[[ " ${sweeps[*]} " != *@(backend|ablation-kernel|.toml)* ]] || what=check
"$repo/scripts/setup.sh" "$what"
enter_venv
if [[ -n $quoted ]]; then
	mapfile -t named < <(dalbe-testbed quoted)
	sweeps+=("${named[@]}")
fi
if [[ " ${run_options[*]} " == *" --dry-run "* ]]; then
	dalbe-testbed sweep run "${sweeps[@]}" --out "$out" "${run_options[@]}"
	[[ -z $quoted ]] || { echo "By other commands:"; dalbe-testbed quoted --by-hand; }
	exit
fi

# bash runs a trap when its child has ended, or while it waits.
trap 'kill -TERM "$sweep" 2>/dev/null || :; wait "$sweep" || :; exit 130' INT TERM
status=0
dalbe-testbed sweep run "${sweeps[@]}" --out "$out" "${run_options[@]}" &
sweep=$!
wait "$sweep" || status=$?
trap - INT TERM
dalbe-testbed sweep report "${sweeps[@]}" --out "$out" "${report_options[@]}" || status=$?
exit "$status"
