#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The module in the kernel that people run: the distribution's own, two CPUs.
set -euo pipefail

me=vng-test
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=scripts/vng.sh
. "$(dirname "${BASH_SOURCE[0]}")/vng.sh"

usage()
{
	cat <<EOF
usage: vng-test.sh [-h]

Boots the distribution's kernel under virtme-ng with two processors, loads the
module built for it, sends one transfer under a goal, meddles with connections
from several processors at once, and unloads it; then modprobe loads what make
install installs, which is upgraded during a transfer (tests/vng/guest.sh). Uses KVM
where a kernel really boots under it, else emulates the processors.

  VNG_KERNEL    kernel release to use, out of /boot (default: the newest 6.12
                that has headers, else the newest that has)
  VNG_KVM       1 or 0: use KVM or not, instead of trying
  VNG_TIMEOUT   seconds the guest may take (default: 2700)
  STRESS_S      seconds of the stress test (default: 15)
EOF
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
?*) die "unknown argument '$1': type no argument, or -h" ;;
esac

timeout_s=${VNG_TIMEOUT:-2700}

need qemu-system-x86_64 qemu-system-x86
need iperf iperf
need ethtool ethtool
enter_venv
kernel=$(find_kernel "${VNG_KERNEL:-}")
work=$(mktemp -d "${TMPDIR:-/tmp}/dalbe-vng.XXXXXX")
trap 'rm -rf "$work"' EXIT
image=$(kernel_image "$kernel" "$work")

# Built in a copy: other stages build for other kernels at the same time.
say "building for $kernel"
mkdir "$work/tree"
copy_module "$work/tree"
cp "$repo/Makefile" "$work/tree"
cp -r "$repo/tools" "$work/tree/tools"
# install_into DIR: what make install puts there, and depmod, which a packager calls
install_into()
{
	make -j2 -C "$work/tree" install KDIR="/lib/modules/$kernel/build" DESTDIR="$work/$1" &&
		PATH="$PATH:/usr/sbin:/sbin" depmod -b "$work/$1" "$kernel"
}
{
	make -C "$work/tree/tools" clean &&
		install_into old &&
		cp "$work/tree/dalbe.ko" "$work/tree/tools/dalbectl" "$work" &&
		sed -i "s/\"$(dalbe_version)\"/\"$(dalbe_version).1\"/" "$work/tree/version.h" &&
		install_into new &&
		cc=("${CC:-gcc}" -O2 -Wall -Wextra -Werror -pthread -I"$repo") &&
		"${cc[@]}" -o "$work/stress" "$repo/tests/vng/stress.c" &&
		"${cc[@]}" -o "$work/accept" "$repo/tests/vng/accept.c" &&
		"${cc[@]}" -o "$work/sink" "$repo/tests/vng/sink.c"
} >"$work/build.log" 2>&1 || {
	cat "$work/build.log"
	die "the module, dalbectl, a test of several processors or its sink does not build for $kernel"
}
cp "$repo"/tests/vng/{life,guest}.sh "$work"
sed -nE 's/^    (sudo (sysctl|ip) .*)/\1/p' "$repo/docs/operate.md" >"$work/settings"

mode=(--disable-kvm)
case ${VNG_KVM:-} in
0) ;;
1) mode=() ;;
*) ! kvm_boots "$image" "$work" || mode=() ;;
esac
say "booting $kernel, $([[ ${#mode[@]} -gt 0 ]] && echo emulated || echo under KVM)"

vng_command "$image" "$work" 1G
vng_words+=(${mode[@]+"${mode[@]}"})
vng_run "$timeout_s" "$work" "STRESS_S=${STRESS_S:-15} bash ./guest.sh"
! grep -q '^not ok' "$work/guest.log"
