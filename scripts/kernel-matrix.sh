#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The module against the headers of every supported kernel, without a warning.
set -euo pipefail

me=kernel-matrix
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

supported=(6.1 6.12 7.2 6.12+bbr3)

# of the build under way: more words for bwrap
overlay=()

usage()
{
	cat <<EOF
usage: kernel-matrix.sh [-h] [SERIES...]

Builds the module with W=1 (gcc's extra warnings) and C=1 (sparse) against
Debian's headers of each SERIES (default: ${supported[*]}), each in a Debian
tree of its own (see debian-root.sh). SERIES+bbr3 has the congestion control interface of
kernels with the patches of BBRv3 (XanMod, CachyOS). One line per kernel; any warning is
a failure.
EOF
}

# Lines that the build prints and that are neither its progress nor about our code:
#   Possible precedence ...  the kernel's kernel-doc script, under a newer perl
#   Skipping BTF ...         headers without vmlinux (6.1)
#   pahole version ...       not the one the kernel was built with, in 3 lines
harmless='^(make(\[[0-9]+\])?: (Entering|Leaving) directory|  [A-Z0-9_]+ (\[M\] )? *[^ ]+$'
harmless+='|Possible precedence problem .*/scripts/kernel-doc line'
harmless+='|Skipping BTF generation'
harmless+='|warning: pahole version differs|  The kernel was built with: |  You are using: )'

# The sandbox has its own root, no network, and nothing of ours it could write:
# the sources are copied into its memory.
in_tree()
{
	local tree=$1
	shift
	local -a sandbox=(bwrap --bind "$tree" / "${overlay[@]}" --dev /dev --proc /proc --tmpfs /tmp
		--ro-bind "$repo" /mnt --unshare-net --clearenv
		--setenv PATH /usr/bin:/bin --setenv LC_ALL C)
	if "${sandbox[@]}" true 2>/dev/null; then
		"${sandbox[@]}" "$@"
	else # where users may not make namespaces
		as_root "${sandbox[@]}" "$@"
	fi
}

# In place of the least number of packets that leave as one TCP asks for the number: the one thing
# in which the interface of BBRv3's kernels differs for us.
bbr3()
{
	local tcp=/usr/src/linux-headers-${2%-*}-common/include/net/tcp.h patched=$cache/matrix/bbr3.h
	sed 's/(\*min_tso_segs)(struct sock \*sk)/(*tso_segs)(struct sock *sk, unsigned int mss_now)/' \
		"$1$tcp" >"$patched"
	overlay=(--ro-bind "$patched" "$tcp")
	! cmp -s "$patched" "$1$tcp"
}

# One kernel. Its log is left in the cache, for those who ask.
build()
{
	local series=$1 where tree release log sources checked noise files
	where=$("$repo/scripts/debian-root.sh" "${series%+bbr3}") || { not_ok "$series: no headers"; return; }
	read -r tree release <<<"$where"
	log=$cache/matrix/$series.log
	overlay=()
	[[ $series != *+bbr3 ]] || bbr3 "$tree" "$release" || { not_ok "$series: no hook to patch"; return; }

	mapfile -t files < <(module_sources)
	# shellcheck disable=SC2016  # to be expanded inside
	in_tree "$tree" sh -ec '
		release=$1
		shift
		mkdir /tmp/dalbe
		(cd /mnt && cp --parents "$@" /tmp/dalbe)
		make -j2 -C "/usr/src/linux-headers-$release" M=/tmp/dalbe W=1 C=1 modules
		test -s /tmp/dalbe/dalbe.ko
	' sh "$release" "${files[@]}" >"$log" 2>&1 || {
		tail -n 30 "$log"
		not_ok "$release: does not build"
		return
	}

	noise=$(grep -Ev "$harmless" "$log" || true)
	if [[ -n $noise ]]; then
		printf '%s\n' "$noise"
		not_ok "$release: builds, with warnings"
		return
	fi
	# a matrix that never ran sparse would be silent as well
	sources=$(grep -Ec '^  CC \[M\] +([^ ]*/)?[a-z_]+\.o$' "$log" || true)
	checked=$(grep -Ec '^  CHECK ' "$log" || true)
	if [[ $checked -lt 1 || $checked -ne $sources ]]; then
		not_ok "$release: sparse saw $checked of $sources sources"
	else
		ok "$series ($release): $sources sources, W=1 and sparse without a warning"
	fi
}

for arg; do
	case $arg in
	-h | --help) usage; exit 0 ;;
	[1-9]*.[0-9]*) ;;
	*) die "'$arg' is no kernel series: type one like 6.12, or nothing for ${supported[*]}" ;;
	esac
done
[[ $# -gt 0 ]] || set -- "${supported[@]}"
need bwrap bubblewrap

failures=0
for series; do
	build "$series"
done
exit $((failures > 0))
