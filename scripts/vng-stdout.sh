# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Sourced first of all in a guest of virtme-ng: its standard output, where virtme-ng did not find it.
#
# The port has its name by udev, for which virtme-ng waits 300 s. On a busy machine the guest's
# virtual clock can run through them during the boot: then what the guest says goes to the kernel's
# console, which nobody reads, though the name may come later. The kernel's own is always there.
case $(readlink "/proc/$$/fd/1") in
/dev/vport*) ;;
*)
	for port in /sys/class/virtio-ports/*; do
		[ "$(cat "$port/name")" != virtme.stdout ] || exec >"/dev/${port##*/}"
	done
	;;
esac
