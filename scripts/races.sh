#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The module on four processors, in a kernel that looks for data races and wrong locking.
set -euo pipefail

me=races
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

all=(stress missing_lock missing_bh stale_pointer missing_job_lock stale_job)

usage()
{
	cat <<EOF
usage: races.sh [-h] [PART...]

Boots a kernel with KCSAN and lockdep in QEMU, with four processors, loads the module and does
everything that one may do with it at the same time (tests/vng/races.sh, hammer.c, stress.c,
accept.c). Fails on a data race in our code, a warning, a wrong outcome, and memory that is left.
Then it does so with defects that have to be reported. The kernel is built once, into the cache
(testbed/guest/build-kernel.sh races).

  PART        stress, or a defect: ${all[*]:1}; all by default
  SECONDS_OF  the hammer, and as many of stress (default: 180)
EOF
}

parts=()
for part; do
	case " ${all[*]} " in
	*" $part "*) parts+=("$part") ;;
	*) [[ $part == -h || $part == --help ]] || die "unknown part '$part': type one of ${all[*]}, or -h"
	   usage; exit 0 ;;
	esac
done
[[ $# -gt 0 ]] || parts=("${all[@]}")
seconds=${SECONDS_OF:-180}

# The guest runs these, besides busybox and our own programs.
programs=(bash ip ss tc ethtool)

# copy_program ROOT NAME: with the libraries that it is linked to
copy_program()
{
	local path library
	path=$(command -v "$2")
	cp -L "$path" "$1/bin/$2"
	for library in $(ldd "$path" 2>/dev/null | grep -o '/[^ ]*'); do
		mkdir -p "$1${library%/*}"
		cp -L "$library" "$1$library"
	done
}

# All of it in memory, as the kernel has no other file system: 15 s to come up.
make_root()
{
	local root=$1 program
	mkdir -p "$root"/{bin,dev,etc,proc,run,sys,tmp,test}
	for program in busybox "${programs[@]}"; do copy_program "$root" "$program"; done
	cp "$repo"/tests/vng/{life,races}.sh "$root/test"
	for program in stress accept hammer sink; do
		"${CC:-gcc}" -static -O2 -Wall -Wextra -Werror -pthread -I"$repo" \
			-o "$root/test/$program" "$repo/tests/vng/$program.c"
	done
	cat >"$root/init" <<-'EOF'
		#!/bin/busybox sh
		/bin/busybox mount -t proc none /proc
		/bin/busybox --install -s /tmp
		export PATH=/bin:/tmp
		mount -t sysfs none /sys
		mount -t devtmpfs none /dev
		ln -s /proc/self/fd /dev/fd
		mount -t tmpfs none /run
		cd /test
		. ./environment
		bash ./races.sh 2>&1
		reboot -f
	EOF
	chmod +x "$root/init"
}

# boot MODULE SECONDS REPORT: what the guest says, in $work/guest.log as well
boot()
{
	local append guest
	cp "$1" "$work/root/test/dalbe.ko"
	printf 'export SECONDS_OF=%q REPORT=%q\n' "$2" "$3" >"$work/root/test/environment"
	(cd "$work/root" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$work/initrd"
	# The boot is the kernel's business, and is faster without KCSAN. An oops ends the guest.
	append="console=ttyS0 loglevel=1 panic=-1 oops=panic rcupdate.rcu_cpu_stall_timeout=300"
	append+=" slab_debug=FZPU,kmalloc-* kcsan.early_enable=0"
	# Our processors share two or less: another one is to get its turn while one watches.
	append+=" kcsan.skip_watch=1000 kcsan.udelay_task=5000 kcsan.udelay_interrupt=5000"
	timeout -k 5 $(($2 * 4 + 1200)) qemu-system-x86_64 -accel tcg,thread=multi -smp 4 -m 2G \
		-nodefaults -nographic -no-reboot -serial stdio -kernel "$kernel/arch/x86/boot/bzImage" \
		-initrd "$work/initrd" -append "$append" </dev/null >"$work/guest.log" 2>&1 &
	guest=$!
	# A defect may hang the guest for good: then nothing more is to be learned from it.
	while [[ $3 ]] && kill -0 "$guest" 2>/dev/null; do
		sleep 1
		! grep -qsE "$3" "$work/guest.log" || { sleep 2; kill "$guest" 2>/dev/null || :; break; }
	done
	wait "$guest" || :
	sed -i 's,\r,,' "$work/guest.log"
}

for program in busybox qemu-system-x86_64 "${programs[@]}"; do
	need "$program" "busybox qemu-system-x86 iproute2 ethtool"
done
kernel=$("$repo/testbed/guest/build-kernel.sh" races)
work=$(mktemp -d "${TMPDIR:-/tmp}/dalbe-races.XXXXXX")
trap 'rm -rf "$work"' EXIT
make_root "$work/root"

# The module as it is.
stress()
{
	say "booting $(basename "$kernel"), emulated; $seconds s each of the hammer and of stress"
	boot "$("$repo/scripts/guest-module.sh" "$kernel")" "$seconds" ''
	cat "$work/guest.log"
	grep -q '^guest done' "$work/guest.log" || not_ok "the guest came to its end"
	! grep -q '^not ok' "$work/guest.log" || failures=$((${failures:-0} + 1))
}

# defect NAME REPORT FILE EDIT: with this edit of sed's the kernel reports what matches REPORT,
# within a minute
defect()
{
	local name=$1 report=$2 file=$3 edit=$4 dir=$work/defect
	say "a defect: $name"
	rm -rf "$dir"
	mkdir "$dir"
	copy_module "$dir"
	sed -i "$edit" "$dir/$file"
	if cmp -s "$repo/$file" "$dir/$file"; then
		not_ok "$name: $file has no such line"
		return
	fi
	make -s -j2 -C "$kernel" M="$dir" modules >"$dir/build.log" 2>&1 || {
		cat "$dir/build.log"
		not_ok "$name: it builds"
		return
	}
	boot "$dir/dalbe.ko" 60 "$report"
	if grep -qE "$report" "$work/guest.log"; then
		ok "$name is found: $(grep -oE -m 1 "($report).*" "$work/guest.log")"
	else
		tail -n 20 "$work/guest.log"
		not_ok "$name is found"
	fi
}

missing_lock()
{
	defect "a lock that is missing" 'KCSAN: data-race in path_' port/kernel/port.h \
		's/spin_lock_bh(lock)/local_bh_disable()/; s/spin_unlock_bh(lock)/local_bh_enable()/'
}

missing_bh()
{
	defect "a lock that a softirq takes as well" 'WARNING: inconsistent lock state' \
		port/kernel/port.h 's/spin_lock_bh(/spin_lock(/; s/spin_unlock_bh(/spin_unlock(/'
}

stale_pointer()
{
	defect "a pointer to what is not ours any more" 'refcount_t: |BUG kmalloc|general protection' \
		core/sender.c '/^\ts->memory = NULL;/d'
}

missing_job_lock()
{
	defect "a job's lock that is missing" 'KCSAN: data-race in (job|control)_' core/control/job.c \
		's/port_lock(&job->lock)/local_bh_disable()/; s/port_unlock(&job->lock)/local_bh_enable()/'
}

stale_job()
{
	defect "a job that a connection leaves twice" 'refcount_t: |BUG kmalloc|general protection' \
		kernel/paths.c '/^\tflow->job = NULL;/d'
}

for part in "${parts[@]}"; do "$part"; done
[[ ${failures:-0} -eq 0 ]]
