#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The guest's process 1: mounts what a program expects, runs one script, powers
# off. Started by boot.sh; not for use on a host.
#
# The file "request" beside this script says what to do, in NUL-terminated words:
# the host's output directory, the virtual-time limit in seconds, the directory
# of the guests' own programs, the script and its arguments. The script finds
# the output directory at $OUT, the programs in $HELPERS.
set -u

if [[ $$ -ne 1 ]]; then
	echo "usage: init.sh is process 1 of a guest: see boot.sh -h" >&2
	exit 2
fi

export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run/home TMPDIR=/run/work LC_ALL=C.UTF-8

# glibc has a strlen() for each generation of processors, in different pages of libc.so:
# with another one the kernel's memory lies elsewhere, and the same seed gives another run.
# So guests use those that every x86-64 has.
hwcaps=AVX,AVX2,AVX512BW,AVX512F,AVX512VL,BMI1,BMI2,ERMS,FMA,FSRM,LZCNT,MOVBE,POPCNT,RTM
hwcaps+=,SSE3,SSSE3,SSE4_1,SSE4_2,XSAVE,XSAVEC,AVX_Fast_Unaligned_Load,Fast_Copy_Backward
hwcaps+=,Fast_Rep_String,Fast_Unaligned_Copy,Fast_Unaligned_Load,Prefer_PMINUB_for_stringop
hwcaps+=,Prefer_ERMS,Prefer_FSRM,Prefer_No_VZEROUPPER,Slow_BSF
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-${hwcaps//,/,-}

# /proc is the host's still.
mapfile -d '' -t request </proc/self/cwd/request
host_out=${request[0]} virtual_s=${request[1]} helpers=${request[2]}

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
ln -s /proc/self/fd /dev/fd
mount -t tmpfs run /run
mkdir -p /run/netns /run/lock /run/home /run/work /run/out
mount -t tracefs trace /sys/kernel/tracing 2>/dev/null
mount -t debugfs debug /sys/kernel/debug 2>/dev/null
exec </dev/null >/dev/console 2>&1
# The option is a key for mount(8) since 2.39 and the bare path before.
mount -t hostfs -o hostfs="$host_out" none /run/out 2>/dev/null ||
	mount -t hostfs -o "$host_out" none /run/out

# Ends the guest. Everything is killed first: a process that spins would keep
# virtual time, and with it the power-off, from ever happening.
power_off()
{
	dmesg >"$OUT/kernel.log"
	echo "$1" >"$OUT/.status"
	[[ $1 == 0 ]] && echo "RUN COMPLETE"
	kill -KILL -1
	echo o >/proc/sysrq-trigger
	while :; do sleep 1; done
}

export OUT=/run/out HELPERS=$helpers
cd /run/work || power_off 1

# Virtual-time watchdog: a signal from a child that does nothing but sleep.
trap 'echo "init: $virtual_s s of virtual time are over"; power_off timeout' USR1
(sleep "$virtual_s"; kill -USR1 1) &

bash "${request[@]:3}" &
wait $!
power_off $?
