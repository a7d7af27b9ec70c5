#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In a minimal Debian with dkms and the headers of one kernel: packages from DIR/old
# are installed, upgraded to those of DIR/new, removed and purged.
# scripts/install-test.sh starts it.
set -euo pipefail

# shellcheck source=tests/install/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
dir=$1

apt() { apt-get -qq -y --no-install-recommends "$@"; }
installed() { dkms status dalbe -k "$kver" | grep "^dalbe/$1, .*: installed"; }
one_version() { [[ $(dkms status dalbe | wc -l) -eq 1 && $(echo /usr/src/dalbe-*) == "/usr/src/dalbe-$1" ]]; }
known() { dpkg-query -W '*dalbe*' 2>/dev/null | grep .; }
owns() { dpkg -L "$1" | grep -E "$2"; }

# A program of one's own, linked to the shared and to the static library.
cat >/tmp/own.c <<'EOF2'
#include <libdalbe.h>
#include <stdio.h>

int main(void)
{
	return puts(dalbe_status_name(DALBE_STATUS_LATE)) < 0;
}
EOF2
links()
{
	gcc -Wall -Werror -o /tmp/own /tmp/own.c -ldalbe && readelf -d /tmp/own | grep -F libdalbe.so.0 &&
		[[ $(/tmp/own) == late ]] && gcc -static -o /tmp/own /tmp/own.c -ldalbe && [[ $(/tmp/own) == late ]]
}

there()
{
	report "$kver: dkms has installed $1" installed "$1"
	report "$kver: of $1 only" one_version "$1"
	report "$kver: modprobe finds the module" finds updates/dkms/dalbe.ko
	report "$kver: DKMS has signed it" signed
	report "$kver: modinfo says $1" says "$1" modinfo -k "$kver" -F version tcp_dalbe_cdg
	report "$kver: dalbectl says $1" says "dalbectl $1" dalbectl --version
}

# Nobody is to unload the module, which connections may use.
: >/tmp/unloads
cat >/usr/local/sbin/rmmod <<'EOF2'
#!/bin/sh
case "$(basename "$0") $*" in
rmmod* | *" -r"* | *" --remove"*) echo "$0 $*" >>/tmp/unloads ;;
esac
exec "/sbin/$(basename "$0")" "$@"
EOF2
chmod +x /usr/local/sbin/rmmod
cp /usr/local/sbin/rmmod /usr/local/sbin/modprobe

list >/tmp/before
# A user had typed this first: the same version of the module is there.
report "$kver: make install" make install KDIR="$kdir"
report "$kver: the packages can be installed" apt install "$dir"/old/*.deb
there "$version"
report "$kver: make uninstall leaves the packages alone" make uninstall
there "$version"
report "$kver: the module is to be loaded at boot" owns dalbe-dkms /modules-load.d/dalbe.conf
report "$kver: a udev rule" owns dalbe-dkms '/rules.d/.*dalbe.*\.rules'
report "$kver: the BPF edition, and a unit that loads it" test "$(dpkg -L dalbe-bpf |
	grep -cE '/(dalbe-load|dalbe.bpf.o|attach.bpf.o|system/dalbe-bpf.service)$')" -eq 4
report "$kver: the unit is enabled" test -L /etc/systemd/system/multi-user.target.wants/dalbe-bpf.service
report "$kver: it needs no compiler" bash -c "! dpkg-query -W -f '\${Depends}' dalbe-bpf | grep -E 'gcc|clang|headers|make'"
report "$kver: its loader finds its libraries" says "usage: dalbe-load [-v] load [CGROUP] | upgrade | unload" \
	bash -c "/usr/lib/dalbe/dalbe-load 2>&1"
report "$kver: an example of settings" owns dalbe-dkms /examples/90-dalbe.conf
report "$kver: completion for bash" owns dalbectl /bash-completion/completions/dalbectl
report "$kver: completion for zsh" owns dalbectl /zsh/vendor-completions/_dalbectl
report "$kver: completion for fish" owns dalbectl /vendor_completions.d/dalbectl.fish
report "$kver: its manual page" owns dalbectl /man1/dalbectl.1
report "$kver: the library's manual page" owns libdalbe-dev /man3/libdalbe.3
report "$kver: the library's .pc file" owns libdalbe-dev /pkgconfig/libdalbe.pc
report "$kver: a program can link the library" links
builds_for_new_kernels "/usr/src/dalbe-$version"
report "$kver: make dkms-install leaves the package alone" fails make dkms-install KDIR="$kdir"
report "$kver: the packages can be upgraded" apt install "$dir"/new/*.deb
there "$version.1"
report "$kver: the packages can be removed" apt remove dalbe-dkms dalbe-bpf dalbectl libdalbe0 libdalbe-dev
report "$kver: modprobe does not find the module any more" unfound
report "$kver: and installed again" apt install "$dir"/new/*.deb
report "$kver: and purged" apt purge dalbe-dkms dalbe-bpf dalbectl libdalbe0 libdalbe-dev
report "$kver: dpkg has forgotten them" fails known
report "$kver: nothing unloads the module" diff /dev/null /tmp/unloads
list >/tmp/after
report "$kver: nothing is left" diff /tmp/before /tmp/after
[[ ${failures:-0} -eq 0 ]]
