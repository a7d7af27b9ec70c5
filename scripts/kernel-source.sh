#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Debian's source of a kernel series, for guest kernels other than the usual one.
set -euo pipefail

me=kernel-source
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=scripts/debian-apt.sh
. "$repo/scripts/debian-apt.sh"

usage()
{
	cat <<EOT
usage: kernel-source.sh [-h] SERIES

Prints the path of a tarball in the cache: Debian's source package of the kernel
SERIES, like 6.1, in its newest version of any suite. Nothing is installed.

  DALBE_DEBIAN_MIRROR  URI of a Debian mirror; default: the one in the apt
                       configuration of this machine
  DALBE_CACHE          cache directory (default: ~/.cache/dalbe)
EOT
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
[1-9]*.[0-9]*) series=$1 ;;
*) die "say which kernel series, like 6.1 (got '${1:-}')" ;;
esac

need apt-cache apt
need dpkg-deb dpkg
exec 9>"$cache/matrix/lock"
flock 9

refresh_lists "$(dpkg --print-architecture)"
package=linux-source-$series
version=$(private_apt apt-cache show --no-all-versions "$package" 2>/dev/null |
	awk '/^Version: / { if (!version) version = $2 } END { print version }')
[[ -n $version ]] || die "no suite of ${suites[*]} has $package"
dir=$cache/source/$series-$version
if [[ ! -d $dir ]]; then
	say "$package $version: fetching it"
	rm -rf "$cache/source/$series"-* "$dir.new"
	mkdir -p "$dir.new"
	(cd "$dir.new" && private_apt apt-get -qq download "$package" && dpkg-deb -x ./*.deb .) >&2 ||
		die "$package cannot be had: see above"
	mv "$dir.new"/usr/src/linux-source-*.tar.* "$dir.new"
	rm -rf "$dir.new"/usr "$dir.new"/*.deb
	mv "$dir.new" "$dir"
fi
echo "$dir"/linux-source-*.tar.*
