#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In the guest of a distribution's kernel: plays a run and hands its files over.
set -euo pipefail

usage()
{
	cat <<EOT
usage: guest.sh

Started by boot.sh in a directory that guest and host share, with the file
"request": NUL-terminated, the run's name, its limit in seconds, the directory of
the helper programs, the input directory and the path of host/run.sh. Leaves
"begun", out/, run.err and, last of all, status there.
EOT
}

[[ ${1:-} != -h ]] || { usage; exit 0; }
[[ $# -eq 0 && -r request ]] || { usage >&2; exit 2; }
: >begun
mapfile -d '' -t request <request
name=${request[0]} limit_s=${request[1]} input=${request[3]} run=${request[4]}
export HELPERS=${request[2]}

# In memory while the run lasts: the host's answer to a write takes no virtual
# time to compute and lets the clock run away.
out=/dev/shm/out
status=0
"$run" -n "$name" -t "$limit_s" -o "$out" "$input" 2>run.err || status=$?
cat run.err
mkdir out
[[ ! -d $out ]] || cp -r "$out/." out
echo "$status" >status.new
mv status.new status
