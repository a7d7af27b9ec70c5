#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A module for the kernel of a backend, ours or a peer's; prints its path.
set -euo pipefail

me=guest-module
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage()
{
	cat <<EOF
usage: guest-module.sh [-h] KERNEL_BUILD [DIR [NUMBER]]

Builds dalbe.ko, or the one module that the Makefile in DIR names, against
KERNEL_BUILD (which testbed/guest/build-kernel.sh prints, or a distribution's
headers: /lib/modules/RELEASE/build) and prints its path.
With NUMBER DIR's tcp_NAME is called tcp_NAMEn: a kernel can have it several
times then, each with its own parameters.
It is built in the cache, so that several kernels can be built for at a time.
Beside it, in the file "commit", is the commit of its sources.
EOF
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
esac
[[ -e ${1:-}/Module.symvers ]] ||
	die "'${1:-}' is no kernel build: type 'guest-module.sh \$(testbed/guest/build-kernel.sh)'"
kernel=$(realpath "$1")
arch=()
[[ ! -e $kernel/linux ]] || arch=(ARCH=um)

# copy_peer DIR: the peer's sources, under its name and number. A hook that runs per
# ACK must not wait for memory; published modules do, in kernels that do not notice.
copy_peer()
{
	local source name
	cp "${sources[@]}" "$1"
	sed -i 's/\bGFP_KERNEL\b/GFP_ATOMIC/g' "$1"/*.[ch]
	[[ -n $number ]] || return 0
	for source in "$1"/tcp_*.c; do
		name=$(basename "$source" .c)
		sed -i "s/\"${name#tcp_}\"/\"${name#tcp_}$number\"/" "$source"
		sed -i "s/\b$name\b/$name$number/g" "$1/Makefile"
		mv "$source" "$1/$name$number.c"
	done
}

peer=${2:-} number=${3:-}
if [[ -n $peer ]]; then
	if [[ ! -e $peer/Makefile ]] || ! compgen -G "$peer/tcp_*.c" >/dev/null; then
		die "'$peer': no tcp_*.c with a Makefile in there"
	fi
	sources=("$peer"/Makefile "$peer"/*.[ch])
else
	mapfile -t sources < <(module_sources | sed "s|^|$repo/|")
fi
key=$({ echo "$kernel${peer:+ peer $number}"; cat "${sources[@]}"; } | sha256sum | cut -c 1-12)
dir=$cache/module/$key
mkdir -p "$cache/module"
exec 9>"$cache/module/lock"
flock 9
if [[ ! -e $dir/.complete ]]; then
	find "$cache/module" -mindepth 1 -maxdepth 1 -type d -mtime +30 -exec rm -rf {} +
	rm -rf "$dir"
	mkdir -p "$dir"
	if [[ -n $peer ]]; then
		copy_peer "$dir"
	else
		copy_module "$dir"
	fi
	make -j2 -C "$kernel" "${arch[@]}" M="$dir" modules >"$dir/build.log" 2>&1 || {
		tail -n 20 "$dir/build.log" >&2
		die "${peer:-the module} does not build for the guest: see $dir/build.log"
	}
	touch "$dir/.complete"
fi
[[ -n $peer ]] || module_commit >"$dir/commit"
touch "$dir" # what is used is not old
echo "$dir"/*.ko
