#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A command in a throw-away copy of a minimal Debian, as root, with a network.
#
# debian-root.sh only unpacks packages, for compilers. Here maintainer scripts
# run: the tree is one that apt and dpkg can work with, and what they do to it is
# gone afterwards. An overlay on a tree in the cache makes the copy, in a mount
# and a process namespace that end with the command.
set -euo pipefail

me=debian-chroot
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage()
{
	cat <<EOF
usage: debian-chroot.sh [-h] [-p PACKAGES] [-b DIR]... SUITE COMMAND [ARGUMENT...]

Runs COMMAND as root in a new Debian SUITE (bookworm, trixie) made by debootstrap
(minbase), in /dalbe, which holds a copy of this clone's sources and nothing that
was built here. The exit status is COMMAND's.

  -p PACKAGES  is there beforehand, besides what is essential (a list in quotes)
  -b DIR       DIR of this machine is there, too, and can be written to
  TMPDIR               where the copy lies (default: /tmp)
  DALBE_DEBIAN_MIRROR  URI of a Debian mirror; default: the one in the apt
                       configuration of this machine
  DALBE_CACHE          cache directory (default: ~/.cache/dalbe)
EOF
}

packages=() binds=()
while getopts :hp:b: option; do
	case $option in
	h) usage; exit 0 ;;
	p) read -ra packages <<<"$OPTARG" ;;
	b) [[ -d $OPTARG ]] || die "no directory '$OPTARG'"; binds+=("$(realpath "$OPTARG")") ;;
	*) die "what is -$OPTARG? Type 'scripts/debian-chroot.sh -h'" ;;
	esac
done
[[ $(id -u) == 0 ]] ||
	exec sudo env DALBE_CACHE="$cache" DALBE_DEBIAN_MIRROR="${DALBE_DEBIAN_MIRROR:-}" \
		TMPDIR="${TMPDIR:-/tmp}" "${BASH_SOURCE[0]}" "$@"
shift $((OPTIND - 1))
[[ $# -ge 2 ]] || die "say which suite and what to run: type 'scripts/debian-chroot.sh -h'"
suite=$1
shift

# shellcheck source=scripts/debian-apt.sh
. "$repo/scripts/debian-apt.sh"

# Makes the tree that copies are copies of.
make_base()
{
	local base=$1 mirror security
	mirror=${DALBE_DEBIAN_MIRROR:-$(mirror_of "$suite")}
	security=$(mirror_of "$suite-security")
	[[ -n $mirror ]] ||
		die "this machine's apt knows no Debian mirror: name one with DALBE_DEBIAN_MIRROR=URI"
	need debootstrap debootstrap
	say "making a minimal $suite${packages[*]:+ with ${packages[*]}}"
	rm -rf "$base.new"
	mkdir -p "$base.new"
	debootstrap --variant=minbase --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
		"$suite" "$base.new/tree" "$mirror" >"$base.new/log" 2>&1 ||
		{ tail -n 20 "$base.new/log" >&2; die "debootstrap of $suite failed"; }
	(
		cd "$base.new/tree"
		echo "deb $mirror $suite main" >etc/apt/sources.list
		[[ -z $security ]] || echo "deb $security $suite-security main" >>etc/apt/sources.list
		echo force-unsafe-io >etc/dpkg/dpkg.cfg.d/unsafe-io
		cp /etc/resolv.conf etc/resolv.conf
	)
	# The lists are as old as the tree, and a test's own packages come from them.
	chroot "$base.new/tree" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
		sh -ec 'apt-get -qq update
			apt-get -qq -y --no-install-recommends install "$@"
			apt-get clean' sh "${packages[@]}" >>"$base.new/log" 2>&1 ||
		{ tail -n 20 "$base.new/log" >&2; die "$suite: could not install ${packages[*]}"; }
	mv "$base.new" "$base"
}

mkdir -p "$cache/chroot"
key=$({ printf '%s\n' "$suite" "${packages[@]}"; declare -f make_base; } | sha256sum | cut -c 1-10)
base=$cache/chroot/$suite-$key
exec 9>"$cache/chroot/lock"
flock 9
# After some days a mirror has not all that the lists name.
find "$cache/chroot" -mindepth 1 -maxdepth 1 -type d -mtime +5 -exec rm -rf {} +
[[ -d $base ]] || make_base "$base"
exec 9>&-

work=$(mktemp -d "${TMPDIR:-/tmp}/dalbe-chroot.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{upper/dalbe,work,root}
git -C "$repo" -c safe.directory="$repo" ls-files -coz --exclude-standard |
	tar -C "$repo" --null --no-recursion --ignore-failed-read -T - -c 2>/dev/null |
	tar -C "$work/upper/dalbe" --no-same-owner -x

# apt and pip may need a proxy or certificates of this machine's
environment=()
while IFS='=' read -r name _; do
	case $name in
	*_proxy | *_PROXY | PIP_*) environment+=("$name=${!name}") ;;
	esac
done < <(env)
if [[ -f ${PIP_CERT:-} ]]; then # not where the package ca-certificates writes its own
	install -D -m 644 "$PIP_CERT" "$work/upper/etc/pip-cert.pem"
	environment+=(PIP_CERT=/etc/pip-cert.pem)
fi

# shellcheck disable=SC2016  # to be expanded inside
inside='
	base=$1 work=$2 n=$3
	shift 3
	mount --make-rprivate /
	mount -t overlay -o "lowerdir=$base,upperdir=$work/upper,workdir=$work/work" overlay "$work/root"
	mount -t proc proc "$work/root/proc"
	mount --rbind /dev "$work/root/dev"
	while [ "$n" -gt 0 ]; do
		mkdir -p "$work/root$1"
		mount --bind "$1" "$work/root$1"
		n=$((n - 1))
		shift
	done
	exec chroot "$work/root" env -i -C /dalbe "$@"
'
status=0
unshare --mount --pid --fork --kill-child sh -ec "$inside" sh \
	"$base/tree" "$work" "${#binds[@]}" "${binds[@]}" \
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
	DEBIAN_FRONTEND=noninteractive "${environment[@]}" "$@" || status=$?
exit "$status"
