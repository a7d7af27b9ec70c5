#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The module in the kernel that people run: the distribution's own, two CPUs.
set -euo pipefail

me=vng-test
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage()
{
	cat <<EOF
usage: vng-test.sh [-h]

Boots the distribution's kernel under virtme-ng with two processors, loads the
module built for it, sends one transfer under a goal, meddles with connections
from several processors at once, and unloads it (tests/vng/guest.sh). Uses KVM
where a kernel really boots under it, else emulates the processors.

  VNG_KERNEL    kernel release to use, out of /boot (default: the newest 6.12
                that has headers, else the newest that has)
  VNG_KVM       1 or 0: use KVM or not, instead of trying
  VNG_TIMEOUT   seconds the guest may take (default: 400)
  STRESS_S      seconds of the stress test (default: 15)
EOF
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
?*) die "unknown argument '$1': type no argument, or -h" ;;
esac

timeout_s=${VNG_TIMEOUT:-400}

# Kernels here that have an image, modules and headers, oldest first.
complete_kernels()
{
	local file release
	for file in /boot/vmlinuz-*; do
		release=${file#/boot/vmlinuz-}
		[[ ! -e /lib/modules/$release/build/Makefile ]] || echo "$release"
	done | sort -V
}

find_kernel()
{
	local all
	all=$(complete_kernels)
	if [[ -n ${VNG_KERNEL:-} ]]; then
		grep -Fx -- "$VNG_KERNEL" <<<"$all" ||
			die "no complete kernel '$VNG_KERNEL'; VNG_KERNEL can be one of: ${all//$'\n'/ }"
	elif ! grep '^6\.12\.' <<<"$all" | tail -n 1 | grep .; then
		tail -n 1 <<<"$all" | grep . ||
			die "no kernel with headers in /boot: type 'scripts/setup.sh check'"
	fi
}

# run_guest SECONDS VNG_OPTION... -- COMMAND: everything that it started is gone
# when it returns. timeout makes a process group of it, and kills all of that.
run_guest()
{
	local seconds=$1
	shift
	(cd "$work" && timeout -k 5 "$seconds" vng --force-9p -r "$image" --cpus 2 \
		--memory 1G --user root --cwd "$work" "$@" </dev/null 2>&1)
}

# /dev/kvm may open, even make a processor, on hosts where no kernel boots: try,
# once per boot of this machine.
kvm_boots()
{
	local answer
	[[ -w /dev/kvm ]] || return 1
	answer=$cache/kvm-$(</proc/sys/kernel/random/boot_id)
	if [[ ! -s $answer ]]; then
		say "does a kernel boot under KVM here? (up to 25 s)"
		mkdir -p "$cache"
		rm -f "$cache"/kvm-*
		if run_guest 25 -- echo booted | grep -q '^booted'; then
			echo yes
		else
			echo no
		fi >"$answer"
	fi
	[[ $(<"$answer") == yes ]]
}

need qemu-system-x86_64 qemu-system-x86
need iperf iperf
need ethtool ethtool
enter_venv
kernel=$(find_kernel)
work=$(mktemp -d "${TMPDIR:-/tmp}/dalbe-vng.XXXXXX")
trap 'rm -rf "$work"' EXIT
image=/boot/vmlinuz-$kernel
if [[ ! -r $image ]]; then # Ubuntu lets only root read its kernels
	as_root install -m 644 "$image" "$work/vmlinuz"
	image=$work/vmlinuz
fi

# Built in a copy: other stages build for other kernels at the same time.
say "building for $kernel"
mkdir "$work/tree"
cp "$repo"/Kbuild "$repo"/*.[ch] "$work/tree"
cp -r "$repo/tools" "$work/tree/tools"
{
	make -j2 -C "/lib/modules/$kernel/build" M="$work/tree" modules
	make -C "$work/tree/tools" clean
	make -j2 -C "$work/tree/tools" dalbectl
	"${CC:-gcc}" -O2 -Wall -Wextra -Werror -pthread -I"$repo" \
		-o "$work/stress" "$repo/tests/vng/stress.c"
} >"$work/build.log" 2>&1 || {
	cat "$work/build.log"
	die "the module, dalbectl or the stress test does not build for $kernel"
}
cp "$work/tree/tcp_dalbe_cdg.ko" "$work/tree/tools/dalbectl" \
	"$repo/tests/vng/guest.sh" "$work"

mode=(--disable-kvm)
case ${VNG_KVM:-} in
0) ;;
1) mode=() ;;
*) ! kvm_boots || mode=() ;;
esac
say "booting $kernel, $([[ ${#mode[@]} -gt 0 ]] && echo emulated || echo under KVM)"

status=0
run_guest "$timeout_s" ${mode[@]+"${mode[@]}"} -- \
	"STRESS_S=${STRESS_S:-15} bash ./guest.sh" | tee "$work/guest.log" || status=$?
if ! grep -q '^guest done' "$work/guest.log"; then
	case $status in
	124 | 137) not_ok "the guest was still running after $timeout_s s and was killed" ;;
	*) not_ok "the guest died before its end (status $status)" ;;
	esac
	exit 1
fi
! grep -q '^not ok' "$work/guest.log"
