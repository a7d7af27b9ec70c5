# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Functions that the tests of this directory share. Sourced, in the sources' top directory of
# a Debian that has the headers of one kernel.

# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
cd "${repo:?}" || exit

kdir=$(echo /lib/modules/*/build)
kver=$(basename "$(dirname "$kdir")")
# shellcheck disable=SC2034 # for those who source this
version=$(dalbe_version)

# All files, but lists that depmod and apt make for themselves, and dkms's key.
list()
{
	find / -xdev \( -path /proc -o -path /dev -o -path /tmp -o -path "$repo" \) -prune -o \
		! -type d ! -path '*/lib/modules/*/modules.*' \
		! -path '/var/lib/dkms/mok.*' ! -path '/var/cache/apt/*.bin' -print | sort
}

fails() { ! "$@"; }
says() { [[ $("${@:2}") == "$1" ]] || { "${@:2}"; false; }; }
finds() { modprobe -S "$kver" --show-depends tcp_dalbe_cdg | grep "$1"; }
unfound() { fails modprobe -S "$kver" --show-depends tcp_dalbe_cdg; }
signed() { modinfo -k "$kver" -F signer tcp_dalbe_cdg | grep .; }
