#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Plays ten jobs on one line in a guest: which fit by dalbectl plan, and which were in time?
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage()
{
	cat <<EOF
usage: jobs.sh INPUT_DIR SEED

Run by boot.sh in a guest, for scripts/programs.sh, whose INPUT_DIR it is. Draws from SEED when
each job begins (within 300 s), the time that it has (60 to 300 s), and of what the line carries
in that time the part that it sends (2 to 150 %, log-uniform). Those that by plan do not fit are not
begun. \$OUT/jobs receives a line of CSV for each:

  seed,job,from_s,deadline_s,bytes,verdict,rc,late_s

late_s is below 0 before the deadline.
EOF
}

[[ ${1:-} != -h ]] || { usage; exit 0; }
[[ $# -eq 2 && -n ${OUT:-} ]] || { usage >&2; exit 2; }
input=$1 seed=$2
export XDG_STATE_HOME=$OUT/state

# shellcheck source=/dev/null
source "$input/link"
"$here/dumbbell.sh" "$input/link" >"$OUT/dumbbell.log" 2>&1
insmod "$input/dalbe.ko"
sleep 2	# until the bridges have seen that their ports are up
ip netns exec receiver iperf -s >"$OUT/iperf.log" 2>&1 &
sleep 1

# The line as an earlier run found it: TCP's payload, and a tenth less over a whole run.
most_Bps=$((RATE_BPS * 1448 / 1514 / 8)) low_Bps=$((RATE_BPS * 1303 / 1514 / 8))
mkdir -p "$XDG_STATE_HOME/dalbe"
printf '{"start": 1, "end": 2, "bytes": %d, "rate": %d, "most": %d, "status": 0, "to": "10.0.2.1"}\n' \
	$((most_Bps * 600)) $low_Bps $most_Bps >"$XDG_STATE_HOME/dalbe/line.jsonl"

awk -v seed="$seed" -v most="$most_Bps" 'BEGIN {
	srand(seed)
	for (n = 0; n < 10; n++) {
		from = int(1 + rand() * 300); has = int(60 + rand() * 240)
		printf "job%d %d %d %d\n", n, from, from + has, most * has * 0.02 * exp(rand() * log(75))
	}
}' >drawn
mapfile -t plan < <(awk '{ printf "%s=%d@+%ds-+%ds\n", $1, $4, $2, $3 }' drawn)
"$input/dalbectl" plan --json "${plan[@]}" >"$OUT/plan.json" || true

while read -r name from_s deadline_s bytes; do
	verdict=$(grep -o "{\"name\": \"$name\"[^}]*}" "$OUT/plan.json" | sed 's/.*"verdict": "\([a-z]*\)".*/\1/')
	(
		rc='' late_s=''
		if [[ $verdict != not ]]; then
			rc=0
			ip netns exec sender "$input/dalbectl" run --quiet --json-file "$OUT/$name.json" \
				--not-before "+${from_s}s" --size "$bytes" --deadline "+${deadline_s}s" -- \
				iperf -c 10.0.2.1 -n "$bytes" >"$OUT/$name.log" 2>&1 || rc=$?
			late_s=$(sed 's/.*"late_s": \([-0-9.]*\).*/\1/' "$OUT/$name.json")
		fi
		echo "$seed,$name,$from_s,$deadline_s,$bytes,$verdict,$rc,$late_s" >"$OUT/$name.csv"
	) &
	jobs+=($!)
done <drawn
wait "${jobs[@]}"
cat "$OUT"/job*.csv >"$OUT/jobs"
