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

# A kernel's headers are configured, as when they are installed: DKMS and we build for it.
# A source that does not build must not let that fail.
configure_headers() { "/var/lib/dpkg/info/linux-headers-$kver.postinst" configure; }
says_to_try_again() { configure_headers 2>&1 | grep "^dalbe: Linux $kver goes without the module.* dkms install dalbe/"; }
builds_for_new_kernels()
{
	local source=$1 hook
	dkms uninstall "dalbe/${source#/usr/src/dalbe-}" -k "$kver" >/dev/null
	dkms unbuild "dalbe/${source#/usr/src/dalbe-}" -k "$kver" >/dev/null
	echo '#error broken' >>"$source/core/sender.h"
	report "$kver: headers are configured, though the module cannot be built" configure_headers
	report "$kver: which is said, and what to type" says_to_try_again
	report "$kver: there is no module" unfound
	for hook in /etc/kernel/*postinst.d/dalbe; do mv "$hook" "/tmp/${hook//\//_}"; done
	report "$kver: without our hook the headers cannot be configured" fails configure_headers
	for hook in /etc/kernel/*postinst.d; do mv "/tmp/${hook//\//_}_dalbe" "$hook/dalbe"; done
	sed -i '$d' "$source/core/sender.h"
	report "$kver: headers are configured once more" configure_headers
	report "$kver: now there is a module" finds updates/dkms/dalbe.ko
}

finds() { modprobe -S "$kver" --show-depends tcp_dalbe_cdg | grep "$1"; }
unfound() { fails modprobe -S "$kver" --show-depends tcp_dalbe_cdg; }
signed() { modinfo -k "$kver" -F signer tcp_dalbe_cdg | grep .; }
