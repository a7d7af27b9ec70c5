#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Compiles what guests run besides a distribution's programs; prints where it is.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${DALBE_CACHE:-$HOME/.cache/dalbe}/helpers

usage()
{
	cat <<EOT
usage: build-helpers.sh [-h]

Prints a directory in the cache that holds, compiled from the sources beside
this script,

  seedrand.so   preloaded into the guest kernel: random numbers from a seed
  xstate.so     preloaded into the guest kernel: vector registers where there is AMX
  quiet.so      preloaded into traffic generators: fewer wake-ups of a process
  tcpsample     samples the state of all TCP connections of a namespace
  shortflows    makes short TCP transfers at given times, and receives them
EOT
}

[[ ${1:-} != -h ]] || { usage; exit 0; }

cc=${CC:-gcc}
command -v "$cc" >/dev/null || {
	echo "build-helpers: $cc is missing: apt-get install gcc libc6-dev" >&2
	exit 1
}
sources=("$here"/{seedrand,xstate,quiet,tcpsample,shortflows}.c)
key=$(cat "${BASH_SOURCE[0]}" "${sources[@]}" <("$cc" --version) | sha256sum)
dir=$cache/${key:0:12}
if [[ ! -e $dir ]]; then
	mkdir -p "$cache"
	new=$(mktemp -d "$cache/new.XXXXXX")
	flags=(-O2 -Wall -Wextra -Werror)
	for name in seedrand xstate quiet; do
		"$cc" "${flags[@]}" -shared -fPIC -o "$new/$name.so" "$here/$name.c"
	done
	for name in tcpsample shortflows; do
		"$cc" "${flags[@]}" -o "$new/$name" "$here/$name.c"
	done
	# another guest may have been quicker: its result is as good
	mv -T "$new" "$dir" 2>/dev/null || rm -rf "$new"
fi
echo "$dir"
