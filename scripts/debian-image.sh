#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Debian's own kernel of a release, to boot it in a virtual machine. Nothing is installed.
set -euo pipefail

me=debian-image
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=scripts/debian-apt.sh
. "$repo/scripts/debian-apt.sh"

usage()
{
	cat <<EOF
usage: debian-image.sh [-h] RELEASE

Prints the path of the kernel RELEASE, as scripts/debian-root.sh prints it, in a directory of the
cache that has its modules as well, as virtme-ng looks for them: DIR/boot/vmlinuz-RELEASE and
DIR/lib/modules/RELEASE. Modules for hardware that no virtual machine has are left out.

  DALBE_DEBIAN_MIRROR  URI of a Debian mirror; default: the one in the apt
                       configuration of this machine
  DALBE_CACHE          cache directory (default: ~/.cache/dalbe)
EOF
}

# Since 7.x the image is a package without files, which depends on others of its release.
unpack()
{
	local dir=$1 deb
	local -a parts
	mapfile -t parts < <(private_apt apt-cache depends --no-recommends --no-suggests "linux-image-$release" |
		sed -n 's/^ *|\?Depends: //p' | grep -F -- "-$release" || true)
	rm -rf "$dir"
	mkdir -p "$dir/boot"
	(cd "$dir" && private_apt apt-get -qq download "linux-image-$release" "${parts[@]}") >&2 ||
		die "linux-image-$release cannot be had: see above"
	for deb in "$dir"/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$dir" --exclude='*/kernel/sound' \
			--exclude='*/kernel/drivers/'{gpu,iio,media,net/ethernet,net/wireless,scsi,staging,usb}
		rm "$deb"
	done
	[[ -e $dir/lib ]] || ln -s usr/lib "$dir/lib"
	[[ -e $dir/boot/vmlinuz-$release ]] ||
		mv "$dir/lib/modules/$release/vmlinuz" "$dir/boot/vmlinuz-$release"
	depmod -b "$dir" "$release"
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
[1-9]*.[0-9]*-*) release=$1 ;;
*) die "say which kernel's release, like 6.1.0-40-amd64 (got '${1:-}')" ;;
esac

need apt-cache apt
need dpkg-deb dpkg
need depmod kmod
exec 9>"$cache/matrix/lock"
flock 9

refresh_lists "$(dpkg --print-architecture)"
version=$(private_apt apt-cache show --no-all-versions "linux-image-$release" 2>/dev/null |
	sed -n 's/^Version: //p')
[[ -n $version ]] || die "no suite of ${suites[*]} has linux-image-$release"
series=$(cut -d . -f 1,2 <<<"$release")
dir=$cache/matrix/image/$series-$release-$version
if [[ ! -d $dir ]]; then
	say "linux-image-$release $version: fetching it"
	rm -rf "$cache/matrix/image/$series"-*
	unpack "$dir.new"
	mv "$dir.new" "$dir"
fi
echo "$dir/boot/vmlinuz-$release"
