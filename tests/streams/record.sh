#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Makes the streams of tests/python/test_streams.py again.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../.." && pwd)

usage()
{
	cat <<USAGE
usage: record.sh [-h] [DIR]

Boots the plain guest of Linux 6.12, records how its TCP calls the kernel's own
CUBIC and Vegas, and stores a stream per connection in DIR (default: beside this
script). The test holds for any recording of them.

  DALBE_CACHE  where guest kernels and builds are (default: ~/.cache/dalbe)
USAGE
}

[[ ${1:-} != -h ]] || { usage; exit 0; }
[[ $# -le 1 ]] || { usage >&2; exit 2; }
to=${1:-$here}

# Always the same directory: paths are part of a guest's arguments and of a module's code.
work=${DALBE_CACHE:-$HOME/.cache/dalbe}/guest-tests/streams
rm -rf "$work"
mkdir -p "$work/out" "$to"
kernel=$("$repo/testbed/guest/build-kernel.sh" plain)
cp -r "$here/recorder" "$work"
make -s -C "$kernel" ARCH=um M="$work/recorder" modules
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Werror -I"$repo" -o "$work/traffic" \
	"$here/traffic.c" "$repo"/tests/guest/{harness,net,sysctl}.c

"$repo/testbed/guest/boot.sh" -k "$kernel" -o "$work/out" -n streams -w 1200 \
	"$here/guest.sh" "$work/traffic" "$kernel/net/ipv4/tcp_vegas.ko" "$work/recorder/dalbe_recorder.ko"
xz -T1 -9e "$work"/out/*.csv
mv "$work"/out/*.csv.xz "$to"
