#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The module in the hands of DKMS, which builds it for every kernel that comes.
set -euo pipefail

me=dkms
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage()
{
	cat <<EOF
usage: dkms.sh [-h] {install RELEASE KDIR|remove}

install puts the module's sources into /usr/src, in place of any version that is
there, and builds and installs it for the kernel RELEASE, whose headers are in
KDIR. It may be repeated, also after a failure. remove takes all of it back.
EOF
}

version=$(dalbe_version)
source=/usr/src/dalbe-$version
hooks=(/etc/kernel/{header_,}postinst.d/dalbe)

# All versions, for all kernels. dkms itself gives up where an earlier command was stopped
# half-way, or where the sources are lost: then its record and the modules are left. And it
# does not replace a module of the same version that `make install` left in updates.
dkms_remove()
{
	local dir kernel
	for dir in /var/lib/dkms/dalbe/[0-9]*; do
		[[ -e $dir ]] || continue
		as_root dkms remove "dalbe/$(basename "$dir")" --all ||
			say "dkms could not remove $(basename "$dir"); clearing it away"
	done
	as_root rm -rf /var/lib/dkms/dalbe /usr/src/dalbe-[0-9]* "${hooks[@]}"
	for dir in /lib/modules/*/updates{,/dkms}; do
		compgen -G "$dir/*dalbe*.ko*" >/dev/null || continue
		as_root rm -f "$dir"/{,tcp_}dalbe{,_cdg}.ko*
		kernel=${dir#/lib/modules/}
		as_root env PATH="$PATH:/usr/sbin:/sbin" depmod "${kernel%%/*}"
	done
}

dkms_install()
{
	local kernel=$1 kdir=$2
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	copy_module "$work"
	cp "$repo/Makefile" "$work"
	sed "s/#MODULE_VERSION#/$version/" "$repo/dkms.conf" >"$work/dkms.conf"
	dkms_remove
	as_root install -d "$source"
	as_root cp -r "$work"/. "$source"
	as_root chmod -R u=rwX,go=rX "$source"
	# Debian's; elsewhere DKMS's own does no harm.
	if [[ -d $(dirname "${hooks[0]}") ]]; then
		for hook in "${hooks[@]}"; do as_root install "$repo/packaging/kernel/dalbe" "$hook"; done
	fi
	as_root dkms add "dalbe/$version"
	as_root dkms install "dalbe/$version" -k "$kernel" --kernelsourcedir "$(realpath "$kdir")"
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
install | remove) ;;
*) die "say what to do: 'scripts/dkms.sh install RELEASE KDIR' or 'scripts/dkms.sh remove'" ;;
esac
need dkms dkms
! dpkg-query -W -f '${db:Status-Status}' dalbe-dkms 2>/dev/null | grep -qx installed ||
	die "the package dalbe-dkms has installed the module: type 'sudo apt-get remove dalbe-dkms' before this"
"dkms_$1" "${@:2}"
