#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds the guest kernel into the cache and prints its build directory.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${DALBE_CACHE:-$HOME/.cache/dalbe}/kernel

usage()
{
	cat <<EOF
usage: build-kernel.sh [-h] [--prune] [--series SERIES] [plain|hz250|debug|gcov|races]

Builds the User Mode Linux guest kernel (default: plain) and prints its build
directory on stdout; progress goes to stderr. A kernel that is in the cache
already is not built again: its key is a hash of the kernel source, of the
configuration fragments and of the compiler.

  plain     for experiments
  hz250     the same with 250 timer interrupts per second, as Debian's own kernels
            have: one number in the source is changed, UML knows 100 only
  debug     with KASAN, lockdep, kmemleak and KUnit
  gcov      counts which lines of a module run, see make coverage
  races     none of User Mode Linux, but an x86-64 kernel with KCSAN and lockdep, for QEMU

  --series  a kernel of another series than 6.12, from Debian's source package:
            6.1 and 7.2 are known to work
  --prune   first remove cached kernels that none of the present sources,
            fragments and compilers would use

  KERNEL_SRC   kernel source tree or tarball to build instead of the
               distribution's /usr/src/linux-source-*.tar.*
  DALBE_CACHE  cache directory (default: ~/.cache/dalbe)
  CC           compiler (default: gcc)

An external module is built against the result with
  make -C BUILDDIR ARCH=um M=\$PWD modules      (races: without ARCH)
EOF
}

say() { printf 'build-kernel: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# The fragments of a variant of this series, in the order they are merged.
fragments()
{
	local own=$here/plain-$series.config
	if [[ $1 == races ]]; then
		echo "$here/races.config"
		return
	fi
	echo "$here/plain.config"
	[[ ! -e $own ]] || echo "$own"
	case $1 in debug | gcov) echo "$here/$1.config" ;; esac
}

# The kernel source: a tree or a tarball.
find_source()
{
	if [[ -n $series && $series != 6.12 ]]; then
		"$here/../../scripts/kernel-source.sh" "$series"
		return
	fi
	if [[ -n ${KERNEL_SRC:-} ]]; then
		[[ -e $KERNEL_SRC ]] || die "KERNEL_SRC=$KERNEL_SRC does not exist: name a kernel source tree or tarball"
		realpath "$KERNEL_SRC"
		return
	fi
	local found
	found=$(find /usr/src -maxdepth 1 -name 'linux-source-6.12.tar.*' | sort | tail -n 1)
	# Ubuntu has a source package of its own kernel only, like linux-source-6.8.0.
	[[ -n $found ]] || found=$(find /usr/src -maxdepth 1 -name 'linux-source-[0-9]*.[0-9]*.[0-9]*.tar.*' |
		sort -V | tail -n 1)
	[[ -n $found ]] || die "no kernel source: apt-get install linux-source-6.12, or set KERNEL_SRC=TREE"
	echo "$found"
}

arch_of() { [[ $1 == races ]] && echo x86_64 || echo um; }

# The series that a source's name tells: 6.1 of linux-source-6.1.tar.xz.
series_of() { sed -n 's/^linux-source-\([0-9.]*[0-9]\).*/\1/p' <<<"${1##*/}"; }

# Hash of a source. A tree is known by its files' names, sizes and times.
source_hash()
{
	if [[ -d $1 ]]; then
		(cd "$1" && find . -name '*.[chS]' -printf '%p %s %T@\n' \
			-o -name 'Makefile*' -printf '%p %s %T@\n' \
			-o -name 'Kconfig*' -printf '%p %s %T@\n' |
			grep -v -e '/generated/' -e '\.mod\.c ' -e 'scripts/' |
			sort | sha256sum)
	else
		sha256sum <"$1"
	fi | cut -c 1-12
}

# Hash of what turns a source into a kernel of this variant.
build_hash()
{
	local files
	mapfile -t files < <(fragments "$2")
	{ echo "$1$([[ $2 != hz250 ]] || echo " $2")"; "$cc" --version | sed -n 1p; cat "${files[@]}"; } |
		sha256sum | cut -c 1-12
}

# A pristine copy of the source, shared by all variants. Of the drivers that no
# guest has, only what Kconfig reads is unpacked: a fifth of the bytes.
unpack()
{
	local src=$1 to=$2
	[[ -e $to/.complete ]] && return
	say "unpacking $src"
	rm -rf "$to"
	mkdir -p "$to"
	if [[ -d $src ]]; then
		cp -a --reflink=auto "$src/." "$to"
		make -s -C "$to" ARCH=um mrproper >&2
	else
		tar -xf "$src" -C "$to" --strip-components=1 --wildcards --wildcards-match-slash \
			--exclude='*/drivers/gpu/*.[ch]' --exclude='*/drivers/net/ethernet/*.[ch]' \
			--exclude='*/drivers/net/wireless/*.[ch]' --exclude='*/drivers/media/*.[ch]' \
			--exclude='*/drivers/staging/*.[ch]' --exclude='*/drivers/scsi/*.[ch]' \
			--exclude='*/sound/*.[ch]' --exclude='*/Documentation/*.rst' \
			--exclude='*.dts' --exclude='*.dtsi'
	fi
	touch "$to/.complete"
}

# The same source for a variant that changes it; the other files are links.
varied_source()
{
	local source=$1 to=$1-$2 kconfig=arch/um/Kconfig
	if [[ ! -e $to/.complete ]]; then
		rm -rf "$to"
		cp -al "$source" "$to"
		rm "$to/.complete" "$to/$kconfig"
		sed '/^config HZ$/,/^$/s/default 100$/default 250/' "$source/$kconfig" >"$to/$kconfig"
		! cmp -s "$source/$kconfig" "$to/$kconfig" || die "$source: where is HZ in $kconfig?"
		touch "$to/.complete"
	fi
	echo "$to"
}

# Asks for every option of the fragments, and insists that it was granted.
configure()
{
	local build=$1 source=$2 variant=$3 arch files line
	arch=$(arch_of "$variant")
	mapfile -t files < <(fragments "$variant")
	make -s -C "$source" O="$build" ARCH="$arch" CC="$cc" tinyconfig >&2
	(cd "$build" && "$source/scripts/kconfig/merge_config.sh" -m -O "$build" \
		.config "${files[@]}") >"$build/merge.log"
	make -s -C "$source" O="$build" ARCH="$arch" CC="$cc" olddefconfig >&2
	while read -r line; do
		grep -qx -- "$line" "$build/.config" ||
			die "the kernel refuses $line: see its dependencies in $source"
	done < <(cat "${files[@]}" | grep '^CONFIG_')
}

build()
{
	local build=$1 source=$2 variant=$3 jobs
	local -a variables=()
	jobs=$(nproc)
	# it compiles without KCSAN: see races.config
	[[ $variant != races ]] || variables=(KCSAN_SANITIZE=n)
	rm -rf "$build"
	mkdir -p "$build"
	configure "$build" "$source" "$variant"
	say "building the $variant guest kernel with $jobs jobs (2 to 5 minutes on two cores; races: 10 to 30)"
	# The kernel seeds its random numbers with its version string, too: without
	# who built it and when, the same seed gives the same run on any machine.
	KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 1970' KBUILD_BUILD_VERSION=1 \
		KBUILD_BUILD_USER=dalbe KBUILD_BUILD_HOST=dalbe \
		make -C "$source" O="$build" ARCH="$(arch_of "$variant")" CC="$cc" "${variables[@]}" -j"$jobs" all \
		>"$build/build.log" 2>&1 || {
		tail -n 20 "$build/build.log" >&2
		die "the kernel does not build: see $build/build.log"
	}
	touch "$build/.complete"
}

# Removes cached kernels and sources that no variant would use now.
prune()
{
	local keep=" lock " dir source hash variant series
	for source in "$1" /usr/src/linux-source-6.12.tar.* "$cache"/../source/*/linux-source-*; do
		[[ -e $source ]] || continue
		hash=$(source_hash "$source")
		series=$(series_of "$source")
		keep+="src-$hash src-$hash-hz250 "
		for variant in plain hz250 debug gcov races; do
			keep+="$variant-$(build_hash "$hash" "$variant") "
		done
	done
	for dir in "$cache"/*; do
		[[ -e $dir && $keep != *" ${dir##*/} "* ]] || continue
		say "removing $dir"
		rm -rf "$dir"
	done
}

pruning=false
variant=plain
series=''
while [[ $# -gt 0 ]]; do
	case $1 in
	-h | --help) usage; exit 0 ;;
	--prune) pruning=true ;;
	--series) series=${2:?say which series, like 6.1} && shift ;;
	plain | hz250 | debug | gcov | races) variant=$1 ;;
	*) die "unknown argument '$1': say plain, hz250, debug, gcov or races, or -h" ;;
	esac
	shift
done

cc=${CC:-gcc}
for tool in "$cc" make flex bison bc tar xz; do
	command -v "$tool" >/dev/null || die "$tool is missing: apt-get install ${tool/#gcc/gcc libc6-dev}"
done

mkdir -p "$cache"
from=$(find_source)
series=$(series_of "$from")
hash=$(source_hash "$from")
dir=$cache/$variant-$(build_hash "$hash" "$variant")
if [[ -e $dir/.complete ]] && ! $pruning; then
	echo "$dir"
	exit
fi

exec 9>"$cache/lock"
flock -n 9 || { say "waiting for another build"; flock 9; }
! $pruning || prune "$from"
if [[ ! -e $dir/.complete ]]; then
	source=$cache/src-$hash
	unpack "$from" "$source"
	[[ $variant != hz250 ]] || source=$(varied_source "$source" "$variant")
	build "$dir" "$source" "$variant"
fi
echo "$dir"
