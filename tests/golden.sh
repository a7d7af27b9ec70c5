#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Eight short runs of one seed, and a hash of what each of them measured. A change that is to change no
# behaviour leaves all eight as they are.
set -euo pipefail

me=golden
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"

expected=$repo/tests/golden.txt

# Each: its experiment, and what makes it short.
declare -A runs=(
	[demo]="demo"
	[cell]="cell duration_s=100 flows.cdg1.cc=dalbe_cdg flows.cdg1.g_ms=3
		flows.cdg2.cc=dalbe_cdg flows.cdg2.g_ms=3"
	[tradeoff]="scavenger duration_s=100 flows.cubic1.start_s=40 flows.cubic2.start_s=40"
	[dynamics]="dynamics duration_s=90 flows.cubic.start_s=20 flows.cubic.duration_s=30"
	[short-flows]="short_flows duration_s=75 short_flows.stop_s=60 short_flows.load=0.4"
	# eta = 0.3, at a tenth of all times
	[framework]="framework contenders=none duration_s=200 flows.ours.start_s=40 flows.ours.link_s=39
		flows.ours.goal.deadline_s=130 flows.tcp1.duration_s=60 flows.tcp2.start_s=20
		flows.tcp2.duration_s=80 flows.tcp3.start_s=80 flows.tcp3.duration_s=20
		flows.tcp4.start_s=101 flows.tcp4.duration_s=59 flows.tcp5.start_s=120
		flows.tcp5.duration_s=80 flows.tcp6.start_s=140 flows.tcp6.duration_s=40"
	# from 20 s on the base RTT is 50 ms longer; the CUBIC flow comes when that is known
	[longer-path]="dynamics duration_s=110 flows.cubic.start_s=75 flows.cubic.duration_s=20
		link.detour={extra_ms=50,from_s=20}"
	# a goal with net.dalbe.effect = 0
	[effect0]="demo duration_s=105 limit_s=150 flows.file.bytes=40_000_000
		flows.file.goal.deadline_s=100 flows.cubic1.start_s=25 flows.cubic1.duration_s=35
		flows.cubic2.start_s=25 flows.cubic2.duration_s=35 flows.cubic3.start_s=70
		flows.cubic3.duration_s=25 flows.cubic4.start_s=70 flows.cubic4.duration_s=25"
)
mapfile -t all < <(printf '%s\n' "${!runs[@]}" | sort)

usage()
{
	cat <<EOF
usage: golden.sh [-h] [--record] [--jobs N] [--keep DIR] [RUN...]

Makes eight short runs, or those named, in virtual time in the plain guest kernel, and compares
a hash of each run's tables and traces with tests/golden.txt. Says which differ; the exit status
is 1 then. For developers who move code. No part of 'make check': another guest kernel, iperf or
rsync gives other packets.

  --record    write the hashes into tests/golden.txt instead
  --jobs N    guests at once (default: one per core)
  --keep DIR  leave the runs in DIR, with their tables as DIR/RUN/*.csv

Runs: ${all[*]}
EOF
}

# make_run RUN. The machine and the module are named in manifest.json, not in the tables.
make_run()
{
	local tool=$repo/tools/dalbectl words sets
	[[ $1 != effect0 ]] || tool=$out/effect0.sh
	read -r -d '' -a words <<<"${runs[$1]}" || :
	sets=("${words[@]:1}")
	rm -rf "${out:?}/$1"
	dalbe-testbed run "$repo/testbed/experiments/${words[0]}.toml" --out "$out/$1" --seed 1 \
		--kernel "$kernel" --module "$module" --dalbectl "$tool" \
		"${sets[@]/#/--set=}" >"$out/$1.log" 2>&1 && return
	rm -rf "${out:?}/$1"
	say "$1 has failed:"
	tail -n 5 "$out/$1.log" >&2
}

# hashes RUN...: a line "HASH RUN" for each. A table is hashed as text: Parquet's bytes are those of
# the library's version. Six digits of a target count: in a guest, to read the clock takes some
# nanoseconds of virtual time, and one reading more while a goal is set would show in the ninth.
hashes()
{
	python3 - "$out" "$@" <<'EOF'
import hashlib
import pathlib
import sys

import polars as pl

for run in sys.argv[2:]:
    directory = pathlib.Path(sys.argv[1], run)
    digest = hashlib.sha256((directory / "link.json").read_bytes())
    for table in sorted(directory.glob("*.parquet")):
        rows = pl.read_parquet(table)
        if "target_Bps" in rows.columns:
            rows = rows.with_columns(pl.col("target_Bps").cast(pl.Float64).round_sig_figs(6))
        text = rows.write_csv()
        table.with_suffix(".csv").write_text(text)
        digest.update(f"{table.stem}\n{text}".encode())
    print(digest.hexdigest()[:32], run)
EOF
}

record='' jobs=$(nproc) out='' names=()
value() { [[ $# -ge 2 ]] || die "$1 needs a value: type 'tests/golden.sh -h'"; }
while [[ $# -gt 0 ]]; do
	case $1 in
	-h | --help) usage; exit 0 ;;
	--record) record=1 ;;
	--jobs) value "$@"; jobs=$2; shift ;;
	--keep) value "$@"; mkdir -p "$2"; out=$(realpath "$2"); shift ;;
	-*) die "unknown option '$1': type 'tests/golden.sh -h'" ;;
	*) [[ -n ${runs[$1]:-} ]] || die "no run '$1': say some of ${all[*]}"; names+=("$1") ;;
	esac
	shift
done
[[ ${#names[@]} -gt 0 ]] || names=("${all[@]}")
if [[ -z $out ]]; then
	out=$(mktemp -d)
	trap 'rm -rf "$out"' EXIT
fi

[[ -n $record || -e $expected ]] || die "no tests/golden.txt: type 'tests/golden.sh --record'"
enter_venv
kernel=$("$repo/testbed/guest/build-kernel.sh" plain)
module=$("$repo/scripts/guest-module.sh" "$kernel")
make -s -C "$repo/tools" dalbectl
cat >"$out/effect0.sh" <<EOF
#!/bin/sh
echo 0 >/proc/sys/net/dalbe/effect
exec '$repo/tools/dalbectl' "\$@"
EOF
chmod +x "$out/effect0.sh"

for name in "${names[@]}"; do
	while mapfile -t running < <(jobs -rp) && [[ ${#running[@]} -ge $jobs ]]; do wait -n || :; done
	make_run "$name" &
done
wait
for name in "${names[@]}"; do [[ -e $out/$name ]] || die "nothing is compared"; done
hashes "${names[@]}" >"$out/golden.txt"

if [[ -n $record ]]; then
	touch "$expected"
	sort -u -k 2,2 "$out/golden.txt" <(grep -vwFf <(printf ' %s\n' "${names[@]}") "$expected") \
		>"$out/all.txt"
	cp "$out/all.txt" "$expected"
	exit
fi
while read -r hash name; do
	if grep -qx "$hash $name" "$expected"; then
		echo "same $name"
	else
		echo "DIFFERS $name"
		differ=1
	fi
done <"$out/golden.txt"
[[ -z ${differ:-} ]]
