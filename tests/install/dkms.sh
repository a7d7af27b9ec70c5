#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In a minimal Debian with dkms and the headers of one kernel, another than the one
# that runs: `make dkms-install` and `make dkms-remove`. scripts/install-test.sh starts it.
set -euo pipefail

# shellcheck source=tests/install/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

installed() { dkms status dalbe -k "$kver" | grep "^dalbe/$version, .*: installed"; }
dkms_install() { make dkms-install KDIR="$kdir"; }

# Kernels that we do not support are left out, in place of a build that fails.
excludes_old()
{
	local BUILD_EXCLUSIVE_KERNEL kernel
	eval "$(grep ^BUILD_EXCLUSIVE_KERNEL= dkms.conf)"
	for kernel in 4.19.0-27-amd64 5.10.0-30-amd64 5.15.0-91-generic 5.61.0 6.0.0-6-amd64; do
		[[ ! $kernel =~ $BUILD_EXCLUSIVE_KERNEL ]] || return 1
	done
	for kernel in "$kver" 6.1.0-18-amd64 6.12.117+deb12-amd64 7.2.0 10.0.1; do
		[[ $kernel =~ $BUILD_EXCLUSIVE_KERNEL ]] || return 1
	done
}
report "dkms.conf: kernels from 6.1 on" excludes_old

list >/tmp/before
# Then the same version of the module is there, in another directory.
report "$kver: make install" make install KDIR="$kdir"
report "$kver: make dkms-install" dkms_install
report "$kver: dkms says that it is installed" installed
report "$kver: modprobe finds the module" finds updates/dkms/dalbe.ko
report "$kver: modinfo says the version" says "$version" modinfo -k "$kver" -F version tcp_dalbe_cdg
report "$kver: DKMS has signed it" signed
report "$kver: with the key that is to be enrolled" test -s /var/lib/dkms/mok.pub
report "$kver: it installs dalbectl" says "dalbectl $version" /usr/local/bin/dalbectl --version
report "$kver: it installs the manual page" test -s /usr/local/share/man/man1/dalbectl.1
report "$kver: make dkms-install a second time" dkms_install
report "$kver: dkms still says that it is installed" installed

builds_for_new_kernels "/usr/src/dalbe-$version"

# A failure in the middle, of two kinds: the build, and dkms's own record.
echo '#error broken' >>core/sender.h
report "$kver: make dkms-install of a broken source fails" fails dkms_install
sed -i '$d' core/sender.h
report "$kver: and can be repeated" dkms_install
report "$kver: the module is there" installed
rm -rf /usr/src/dalbe-*
report "$kver: make dkms-install after the sources were lost" dkms_install
report "$kver: the module is there again" installed

report "$kver: make dkms-remove" make dkms-remove
report "$kver: modprobe does not find the module any more" unfound
list >/tmp/after
report "$kver: dkms-remove leaves nothing" diff /tmp/before /tmp/after
report "$kver: make dkms-remove a second time" make dkms-remove
report "$kver: make dkms-install once more" dkms_install
rm -rf /usr/src/dalbe-*
report "$kver: make dkms-remove after the sources were lost" make dkms-remove
list >/tmp/after
report "$kver: leaves nothing, either" diff /tmp/before /tmp/after
[[ ${failures:-0} -eq 0 ]]
