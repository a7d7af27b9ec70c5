#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A small Debian tree that holds the headers of one kernel and what builds
# against them, whatever this machine runs.
#
# Headers of a newer suite bring host programs (modpost, fixdep, objtool) linked
# to a newer libc, and want that suite's gcc. So packages are not installed
# here, nor is the machine's apt configuration touched: they are unpacked into a
# directory of the cache, in which kernel-matrix.sh then runs make. Nothing of
# that needs root, and no maintainer script runs.
set -euo pipefail

me=debian-root
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=scripts/debian-apt.sh
. "$repo/scripts/debian-apt.sh"

# Packages that a kernel's build needs, besides what the headers depend on: nothing is
# essential in a tree whose package list begins empty. sparse is the newest of
# all suites: the headers of 7.x need one that knows __typeof_unqual__.
userland=(base-files bash coreutils dash diffutils dpkg findutils grep gzip make
	mawk pahole perl-base sed sparse)

# Of each architecture Debian's plain flavour of the kernel, and the prefix of a cross compiler.
declare -A flavours=([amd64]=amd64 [arm64]=arm64 [armhf]=armmp [i386]=686)
declare -A prefixes=([amd64]=x86-64-linux-gnu- [arm64]=aarch64-linux-gnu-
	[armhf]=arm-linux-gnueabihf- [i386]=i686-linux-gnu-)

usage()
{
	cat <<EOF
usage: debian-root.sh [-h] SERIES[+ARCHITECTURE|+clang]

Prints a directory, a kernel release, and CROSS_COMPILE where it needs one. The directory is a Debian
tree with that kernel's headers in usr/src/linux-headers-RELEASE and a matching
compiler, make and sparse. SERIES is the beginning of a kernel's version, like
6.12; the newest release of the series in any Debian suite is taken.

With ARCHITECTURE (${!flavours[*]}) the headers are of Debian's kernel for that
one, the compiler is a cross compiler, and both run here. With clang that is there as well.

  DALBE_DEBIAN_MIRROR  URI of a Debian mirror; default: the one in the apt
                       configuration of this machine
  DALBE_CACHE          cache directory (default: ~/.cache/dalbe)
EOF
}

# The newest headers package of a series; nothing but the plain flavour. Debian signs a kernel's image
# after its headers are there, hours or days later: without the image it could not be booted.
newest_headers()
{
	local -A images=()
	local name
	while read -r name; do
		images[${name#linux-image-}]=1
	done < <(private_apt apt-cache pkgnames "linux-image-$1.")
	private_apt apt-cache pkgnames "linux-headers-$1." |
		grep -E -- "^linux-headers-[0-9.]+[0-9]([+~-][a-z0-9.+~]+)?-$flavour\$" |
		sort -V | while read -r name; do
			[[ ! ${images[${name#linux-headers-}]:-} ]] || echo "$name"
		done | tail -n 1
}

unpack()
{
	local headers=$1 root=$2 deps deb
	mapfile -t deps < <(private_apt apt-cache depends --no-recommends --no-suggests "$headers" |
		sed -nE 's/^ *\|?Depends: <?([^:>]*).*/\1/p')
	# The kernel's image is a dependency too, and 100 MB that nobody needs: so
	# the headers are taken one by one, and only their tools with dependencies.
	local -a wanted=("$headers") tools=()
	for deb in "${deps[@]}"; do
		case $deb in
		linux-headers-*) wanted+=("$deb") ;;
		linux-kbuild-*) tools+=("$deb") ;;
		# gcc-14, gcc-14-for-host, linux-compiler-gcc-12-arm
		linux-compiler-* | gcc-*) tools+=("$([[ $prefix ]] &&
			sed -E "s/.*(gcc-[0-9]+).*/\1-${prefix%-}/" <<<"$deb" || echo "$deb")") ;;
		esac
	done
	[[ ${#wanted[@]} -ge 2 && ${#tools[@]} -ge 2 ]] ||
		die "$headers depends on '${deps[*]}': where are the common headers, kbuild and gcc?"

	rm -rf "$root.new"
	mkdir -p "$root.new/debs/partial" "$root.new/tree"
	(cd "$root.new/debs" && private_apt apt-get -qq download "${wanted[@]}")
	private_apt apt-get -qq -y -o Dir::Cache::archives="$root.new/debs" \
		install "${tools[@]}" "${userland[@]}" >"$root.new/apt.log" 2>&1 ||
		{ cat "$root.new/apt.log" >&2; die "packages for $headers cannot be had"; }
	for deb in "$root.new"/debs/*.deb; do
		dpkg-deb -x "$deb" "$root.new/tree"
	done
	rm -rf "$root.new/debs"
	ln -sf mawk "$root.new/tree/usr/bin/awk" # what update-alternatives would do

	# Debian's headers lack the script with which newer kernels ask whether
	# sparse works, and without an answer C=1 does nothing.
	local scripts="$root.new/tree/usr/src/${headers%-"$flavour"}-common/scripts"
	[[ -d $scripts ]] || die "$headers: no common headers were unpacked"
	if [[ ! -e $scripts/checker-valid.sh ]]; then
		printf '#!/bin/sh\n%s\n' "echo 'static void f(const int *p) { __typeof_unqual__(*p) v; }' | \"\$@\" - && echo 1" \
			>"$scripts/checker-valid.sh"
		chmod +x "$scripts/checker-valid.sh"
	fi
	rm -rf "$root"
	mv "$root.new" "$root"
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
[1-9]*.[0-9]*) series=$1 ;;
*) die "say which kernel series, like 6.12 (got '${1:-}')" ;;
esac

need apt-cache apt
need dpkg-deb dpkg
arch=$(dpkg --print-architecture) prefix=''
variant=${series#"${series%%+*}"} variant=${variant#+}
if [[ $variant && $variant != "$arch" && ${flavours[$variant]:-} ]]; then
	arch=$variant prefix=${prefixes[$arch]}
elif [[ $variant == clang ]]; then
	userland+=(clang-19)
elif [[ $variant && $variant != "$arch" ]]; then
	die "'$variant' is none of ${!flavours[*]}, clang"
fi
flavour=${flavours[$arch]:-$arch}
exec 9>"$cache/matrix/lock"
flock 9

refresh_lists "$arch"
headers=$(newest_headers "${series%%+*}" || true)
[[ -n $headers ]] || {
	rm -f "$apt/.fresh"
	die "no suite of ${suites[*]} has headers of a $series kernel for $arch"
}
release=${headers#linux-headers-}
version=$(private_apt apt-cache show --no-all-versions "$headers" | sed -n 's/^Version: //p')
key=$({ echo "$version"; cat "${BASH_SOURCE[0]}"; } | sha256sum | cut -c 1-8)
root=$cache/matrix/$series/$release-$key
if [[ ! -d $root ]]; then
	say "$headers $version: fetching it and its tools"
	rm -rf "${cache:?}/matrix/$series" # an older release of the same series
	mkdir -p "$(dirname "$root")"
	unpack "$headers" "$root"
fi
printf '%s %s %s\n' "$root/tree" "$release" "$prefix"
