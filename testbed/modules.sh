#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Prepares a kernel for a scenario: what holds for all its network namespaces.
set -euo pipefail

usage()
{
	cat <<EOT
usage: modules.sh FILE

Loads the kernel modules that FILE lists, one a line, as

  NAME|PATH.ko [PARAMETER=VALUE...]

A name is a module that the kernel came with, found by modprobe; a path is
inserted as it is. Then every congestion control is allowed as the default of a
namespace, which only a restricted few are. Run by a backend, as root, in the
kernel's first network namespace.
EOT
}

die() { echo "modules: $*" >&2; exit 1; }

# load NAME|PATH.ko [PARAMETER=VALUE...]
load()
{
	local name
	name=$(basename "$1" .ko)
	if [[ $1 == */* || $# -gt 1 ]]; then
		# neither our build nor parameters can be had from a module that is there
		[[ ! -e /sys/module/$name ]] ||
			die "$name is in the kernel already, perhaps with other parameters: type 'rmmod $name' first"
	fi
	case $1 in
	*/*) insmod "$@" ;;
	*) modprobe "$@" ;;
	esac || die "$name cannot be loaded into kernel $(uname -r): see above, and dmesg"
}

[[ ${1:-} != -h ]] || { usage; exit 0; }
[[ $# -eq 1 && -r $1 ]] || { usage >&2; exit 2; }

while read -ra module; do
	load "${module[@]}"
done <"$1"

ccs=/proc/sys/net/ipv4
cat $ccs/tcp_available_congestion_control >$ccs/tcp_allowed_congestion_control
