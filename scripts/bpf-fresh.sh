#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The BPF edition as a new user has it: a Debian without a compiler, under Secure Boot's lockdown.
set -euo pipefail

me=bpf-fresh
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage()
{
	cat <<EOF
usage: bpf-fresh.sh [-h]

Builds the packages of the BPF edition in one Debian 13, and boots another in QEMU, which has a
kernel, systemd, nginx, sshd and curl, with lockdown=integrity: installs them there, sends as an
ordinary user, attaches policies to nginx and sshd, and boots again (tests/bpf/fresh.sh). Needs to
be root, and some ten minutes.

  FRESH_TIMEOUT        seconds the guest may take (default: 2400)
  DALBE_DEBIAN_MIRROR  as in debian-chroot.sh
EOF
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
?*) die "unknown argument '$1': type no argument, or -h" ;;
esac

need qemu-system-x86_64 qemu-system-x86
work=$(mktemp -d "${TMPDIR:-/tmp}/dalbe-fresh.XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0
# as install-test.sh has them
builders="build-essential debhelper dh-dkms lintian clang-19 libbpf-dev"
system="curl e2fsprogs iproute2 linux-image-amd64 netcat-openbsd nginx-light openssh-client"
system+=" openssh-server systemd-sysv"
report "the packages can be built" \
	"$repo/scripts/debian-chroot.sh" -b "$work" -p "$builders" trixie \
	make deb OUT="$work/deb"
[[ $failures -eq 0 ]] || exit 1
report "a disk can be made" "$repo/scripts/debian-chroot.sh" -b "$work" -p "$system" trixie \
	tests/bpf/fresh-disk.sh "$work"
[[ $failures -eq 0 ]] || exit 1

# One processor in one thread: see vng_run() of vng.sh. -no-reboot is not given: it boots twice.
status=0
timeout -k 5 "${FRESH_TIMEOUT:-2400}" qemu-system-x86_64 -accel tcg,thread=single -cpu max -m 1G \
	-nographic -nodefaults -serial "file:$work/console" -serial "file:$work/said" \
	-kernel "$work/vmlinuz" -initrd "$work/initrd" \
	-append "root=/dev/vda rw console=ttyS0 quiet lockdown=integrity" \
	-drive "file=$work/disk,format=raw,if=virtio,cache=unsafe" </dev/null || status=$?
tr -d '\r' <"$work/said"
if ! grep -q '^guest done' "$work/said"; then
	not_ok "the guest comes to its end (status $status)"
	tail -n 40 "$work/console" | tr -d '\r' | sed 's/^/#   /'
fi
[[ $failures -eq 0 ]] && ! grep -q '^not ok' "$work/said"
