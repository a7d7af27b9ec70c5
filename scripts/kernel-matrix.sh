#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The module against the headers of every supported kernel, without a warning, and in these kernels.
set -euo pipefail

me=kernel-matrix
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# shellcheck source=scripts/vng.sh
. "$(dirname "${BASH_SOURCE[0]}")/vng.sh"

newest=7.2
supported=(6.1 6.12 "$newest" 6.12+armhf "$newest+arm64" 6.12+bbr3 "$newest+renamed")
boots=${BOOT-6.1 6.12 $newest}

# of the build under way: more words for bwrap
overlay=()

usage()
{
	cat <<EOF
usage: kernel-matrix.sh [-h] [SERIES...]

Builds the module with W=1 (gcc's extra warnings) and C=1 (sparse) against
Debian's headers of each SERIES (default: ${supported[*]}), each in a Debian
tree of its own (see debian-root.sh). SERIES+i386, +arm64 and +armhf are of another architecture,
SERIES+clang is built by clang.
SERIES+bbr3 has the congestion control interface of
kernels with the patches of BBRv3 (XanMod, CachyOS); SERIES+renamed has each name that we look for
in the headers changed in turn, which the build has to refuse, by the name of the probe.
One line per kernel; any warning is a failure. One takes a minute of a processor, or two where its
tree is to be made.

Then Debian's kernel itself is booted in QEMU: the module is loaded, carries a transfer under a goal
(tests/vng/boot.sh), in $newest another with Accurate ECN, and is unloaded.

  BOOT         the series of which kernels are booted (default: $boots)
  VNG_TIMEOUT  seconds a guest may take (default: 900)
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

# Debian's kernels are built by gcc, and their headers say so: these words take that back. The
# headers' own warnings, about options and a keyword of gcc's, are not about our code.
clang=(CC=clang-19 CONFIG_CC_IS_GCC= CONFIG_CC_IS_CLANG=y CONFIG_FTRACE_MCOUNT_USE_CC=
	CONFIG_FTRACE_MCOUNT_USE_OBJTOOL=y CONFIG_CC_IMPLICIT_FALLTHROUGH=-Wimplicit-fallthrough
	CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT= KCFLAGS=-Wno-unknown-warning-option
	KCPPFLAGS=-Wno-duplicate-decl-specifier)

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

# build_in TREE RELEASE [WORDS...]: what make, with these words more, says, and its status; the module
# is left in $work.
build_in()
{
	local -a files words=("${@:3}")
	mapfile -t files < <(module_sources)
	overlay+=(--bind "$work" /srv)
	# shellcheck disable=SC2016  # to be expanded inside
	in_tree "$1" sh -ec '
		release=$1 words=$2
		shift 2
		mkdir /tmp/dalbe
		(cd /mnt && cp --parents "$@" /tmp/dalbe)
		make -j2 -C "/usr/src/linux-headers-$release" M=/tmp/dalbe W=1 C=1 $words modules
		test -s /tmp/dalbe/dalbe.ko
		cp /tmp/dalbe/dalbe.ko /srv
	' sh "$2" "${words[*]}" "${files[@]}" 2>&1
}

# What each probe of Kbuild looks for, and in which header, another name for it.
names=(
	"DALBE_CTL_TABLE_CONST linux/sysctl.h proc_handler"
	"DALBE_TCP_TIMEOUT_EXPIRES net/inet_connection_sock.h tcp_timeout_expires"
	"DALBE_TSO_SEGS net/tcp.h min_tso_segs"
	"DALBE_CWND_EVENT_TX_START net/tcp.h cwnd_event_tx_start|CA_EVENT_TX_START"
	"DALBE_MEM_CGROUP_FROM_SK net/sock.h mem_cgroup_from_sk|sk_memcg"
	"DALBE_DO_SOCK_SETSOCKOPT net/sock.h do_sock_setsockopt"
)

# A kernel that has changed a part of its interface which we would have to know of.
refuse()
{
	local series=$1 where tree release probe header name file said
	where=$("$repo/scripts/debian-root.sh" "${series%+renamed}") || { not_ok "$series: no headers"; return; }
	read -r tree release <<<"$where"
	for name in "${names[@]}"; do
		read -r probe header name <<<"$name"
		file=/usr/src/linux-headers-${release%-*}-common/include/$header
		sed -E "s/\<($name)\>/\1_2/g" "$tree$file" >"$work/renamed.h"
		overlay=(--ro-bind "$work/renamed.h" "$file")
		if cmp -s "$work/renamed.h" "$tree$file"; then
			not_ok "$series: $header has no $name"
		elif said=$(build_in "$tree" "$release"); then
			not_ok "$series: builds, though it has no $name any more"
		elif ! grep -q "dalbe: this kernel is unknown.* $probe" <<<"$said"; then
			tail -n 5 <<<"$said"
			not_ok "$series: does not say that $probe finds nothing"
		else
			ok "$series: without $name it names $probe"
		fi
	done
}

# boot SERIES RELEASE: the kernel, with the module that was just built for it
boot()
{
	local series=$1 image dir=$work/$1 accecn=0 goal_s=30 status=0
	image=$("$repo/scripts/debian-image.sh" "$2") || { not_ok "$series: no image"; return; }
	mkdir "$dir"
	cp "$work/dalbe.ko" "$work/dalbectl" "$work/sink" "$repo"/tests/vng/{life,boot}.sh "$dir"
	[[ $series != "$newest" ]] || accecn=1
	vng_command "$image" "$dir" 1G
	if [[ $series == 6.1 ]]; then # it does not come up in virtual time
		vng_words+=(--disable-kvm)
		goal_s=60
	else
		vng_emulated # so that a busy machine is no busy path
	fi
	vng_run "${VNG_TIMEOUT:-900}" "$dir" "ACCECN=$accecn GOAL_S=$goal_s bash ./boot.sh" >"$dir/said" || status=$?
	sed -E "s/^((not )?ok - )/\1$series booted: /" "$dir/said"
	[[ $status -eq 0 ]] && ! grep -q '^not ok' "$dir/said" || failures=$((failures + 1))
}

# One kernel. Its log is left in the cache, for those who ask.
build()
{
	local series=$1 where tree release prefix log sources checked noise
	local -a words=()
	where=$("$repo/scripts/debian-root.sh" "${series%+bbr3}") || { not_ok "$series: no headers"; return; }
	read -r tree release prefix <<<"$where"
	[[ ! $prefix ]] || words=("CROSS_COMPILE=$prefix")
	[[ $series != *+clang ]] || words=("${clang[@]}")
	log=$cache/matrix/$series.log
	overlay=()
	[[ $series != *+bbr3 ]] || bbr3 "$tree" "$release" || { not_ok "$series: no hook to patch"; return; }

	build_in "$tree" "$release" ${words[@]+"${words[@]}"} >"$log" || {
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
	[[ " $boots " != *" $series "* ]] || boot "$series" "$release"
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

work=$(mktemp -d "${TMPDIR:-/tmp}/dalbe-matrix.XXXXXX")
trap 'rm -rf "$work"' EXIT
if [[ $boots ]]; then
	need qemu-system-x86_64 qemu-system-x86
	need ethtool ethtool
	enter_venv
	cp -r "$repo"/{dalbe_ctl,version}.h "$repo/tools" "$work"
	{
		make -C "$work/tools" clean all && cp "$work/tools/dalbectl" "$work" &&
			"${CC:-gcc}" -O2 -Wall -Wextra -Werror -o "$work/sink" "$repo/tests/vng/sink.c"
	} >"$work/tools.log" 2>&1 || { cat "$work/tools.log"; die "dalbectl or the sink does not build"; }
fi

failures=0
for series; do
	case $series in
	*+renamed) refuse "$series" ;;
	*) build "$series" ;;
	esac
done
exit $((failures > 0))
