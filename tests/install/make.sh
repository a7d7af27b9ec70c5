#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In a minimal Debian with the headers of one kernel, another than the one that runs:
# `make install` and `make uninstall`. scripts/install-test.sh starts it.
set -euo pipefail

# shellcheck source=tests/install/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

module=/lib/modules/$kver/updates/dalbe.ko # or .ko.xz, as the kernel has it

# A kernel without its image has none of the lists that depmod asks for.
quiet() { ! grep -v '^depmod: WARNING: could not open modules' "$1" | grep -iE 'ssl|sign-file|no such file|error'; }
sections()
{
	local file
	file=$(echo "$1"*)
	[[ $file != *.xz ]] || { xz -dc "$file" >/tmp/plain.ko && file=/tmp/plain.ko; }
	readelf -SW "$file"
}
stripped() { sections "$module" | grep -F .text && ! sections "$module" | grep -F .debug_; }

list >/tmp/before
report "$kver: make" make -j2 KDIR="$kdir"
report "$kver: make install" bash -c "make install KDIR=$kdir >/tmp/log 2>&1 || { cat /tmp/log; false; }"
report "$kver: it does not complain of a key that is not there" quiet /tmp/log
report "$kver: modprobe finds the module" finds "$module"
report "$kver: the module is stripped" stripped
report "$kver: modinfo says the version" says "$version" modinfo -k "$kver" -F version tcp_dalbe_cdg
report "$kver: dalbectl says the same" says "dalbectl $version" /usr/local/bin/dalbectl --version
report "$kver: make uninstall, without headers of the kernel that runs" make uninstall
report "$kver: modprobe does not find the module any more" unfound
list >/tmp/after
report "$kver: uninstall leaves nothing" diff /tmp/before /tmp/after

report "$kver: make install DESTDIR=..." make install KDIR="$kdir" DESTDIR=/tmp/dest PREFIX=/usr
report "$kver: the module is there" ls "/tmp/dest$module"*
report "$kver: dalbectl is there" test -x /tmp/dest/usr/bin/dalbectl
report "$kver: make uninstall DESTDIR=..." make uninstall DESTDIR=/tmp/dest PREFIX=/usr
find /tmp/dest ! -type d ! -name 'modules.*' >/tmp/left
report "$kver: nothing is left there" diff /dev/null /tmp/left
list >/tmp/after
report "$kver: neither changes anything else" diff /tmp/before /tmp/after
[[ ${failures:-0} -eq 0 ]]
