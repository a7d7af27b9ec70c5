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
usage: guest-module.sh [-h] KERNEL_BUILD [DIR]

Builds dalbe.ko, or the one module that the Makefile in DIR names, against
KERNEL_BUILD (which testbed/guest/build-kernel.sh prints, or a distribution's
headers: /lib/modules/RELEASE/build) and prints its path.
It is built in the cache, so that several kernels can be built for at a time.
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

peer=${2:-}
if [[ -n $peer ]]; then
	if [[ ! -e $peer/Makefile ]] || ! compgen -G "$peer/tcp_*.c" >/dev/null; then
		die "'$peer': no tcp_*.c with a Makefile in there"
	fi
	sources=("$peer"/Makefile "$peer"/*.[ch])
else
	sources=("$repo"/Kbuild "$repo"/{,core/,kernel/}*.[ch])
fi
key=$({ echo "$kernel"; cat "${sources[@]}"; } | sha256sum | cut -c 1-12)
dir=$cache/module/$key
mkdir -p "$cache/module"
exec 9>"$cache/module/lock"
flock 9
if [[ ! -e $dir/.complete ]]; then
	find "$cache/module" -mindepth 1 -maxdepth 1 -type d -mtime +30 -exec rm -rf {} +
	rm -rf "$dir"
	mkdir -p "$dir"
	if [[ -n $peer ]]; then
		cp "${sources[@]}" "$dir"
	else
		copy_module "$dir"
	fi
	make -j2 -C "$kernel" "${arch[@]}" M="$dir" modules >"$dir/build.log" 2>&1 || {
		tail -n 20 "$dir/build.log" >&2
		die "the module does not build for the guest: see $dir/build.log"
	}
	touch "$dir/.complete"
fi
touch "$dir" # what is used is not old
echo "$dir"/*.ko
