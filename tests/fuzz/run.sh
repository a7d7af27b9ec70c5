#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Fuzzes the whole sender: builds the target, runs it on the kept corpus, and then for so long.
set -euo pipefail

me=fuzz
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"

usage()
{
	cat <<EOF
usage: run.sh [-h] [--keep] [SECONDS]

Runs the fuzz target of core/ (sender_fuzz.c says what it checks) for so many seconds, 300
unless given, in build/fuzz, or OUT. It begins with the kept corpus, and with what earlier runs
have found there. An input for which a promise does not hold is left there as crash-*:

    SAY=1 build/fuzz/sender_fuzz build/fuzz/crash-...      shows it, event by event

  --keep  afterwards make the kept corpus, tests/fuzz/corpus.tar.xz, anew of the fewest inputs
          that reach all that was reached
EOF
}

keep=
case ${1:-} in
-h | --help) usage; exit 0 ;;
--keep) keep=1; shift ;;
esac
seconds=${1:-300}
[[ $seconds =~ ^[0-9]+$ ]] || die "say how many seconds: '$seconds' is no number"

need clang clang
out=${OUT:-$repo/build/fuzz} corpus=$repo/tests/fuzz/corpus.tar.xz
rm -rf "$out/kept"
mkdir -p "$out/kept" "$out/found"
make -s -C "$repo/tests/fuzz" OUT="$out"
[[ ! -e $corpus ]] || tar -xf "$corpus" -C "$out/kept"

fuzz() { "$out/sender_fuzz" -max_len=8192 -len_control=0 -artifact_prefix="$out/" -print_final_stats=1 "$@"; }

fuzz -runs=0 "$out/kept"
[[ $seconds -eq 0 ]] || fuzz -use_value_profile=1 -max_total_time="$seconds" "$out/found" "$out/kept"
if [[ $keep ]]; then
	rm -rf "$out/merged"
	mkdir "$out/merged"
	fuzz -merge=1 "$out/merged" "$out/kept" "$out/found"
	number=0
	for input in "$out/merged"/*; do	# names of hashes would be most of the file
		mv "$input" "$out/merged/$((number++))"
	done
	tar -cJf "$corpus" -C "$out/merged" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 .
fi
