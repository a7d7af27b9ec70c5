# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Booting the distribution's own kernel with virtme-ng. Sourced, after common.sh.

# Kernels here that have an image, modules and headers, oldest first.
complete_kernels()
{
	local file release
	for file in /boot/vmlinuz-*; do
		release=${file#/boot/vmlinuz-}
		[[ ! -e /lib/modules/$release/build/Makefile ]] || echo "$release"
	done | sort -V
}

# find_kernel [RELEASE]: that one, or else the newest 6.12, or else the newest.
find_kernel()
{
	local all
	all=$(complete_kernels)
	if [[ -n ${1:-} ]]; then
		grep -Fx -- "$1" <<<"$all" ||
			die "no kernel '$1' with headers in /boot; there is: ${all//$'\n'/ }"
	elif ! grep '^6\.12\.' <<<"$all" | tail -n 1 | grep .; then
		tail -n 1 <<<"$all" | grep . ||
			die "no kernel with headers in /boot: type 'scripts/setup.sh check'"
	fi
}

# kernel_image RELEASE DIR: an image that we may read; DIR is for a copy.
kernel_image()
{
	local image=/boot/vmlinuz-$1
	if [[ ! -r $image ]]; then # Ubuntu lets only root read its kernels
		as_root install -m 644 "$image" "$2/vmlinuz"
		image=$2/vmlinuz
	fi
	echo "$image"
}

# vng_command IMAGE DIR MEMORY: the command that boots two processors, root in
# DIR, in the array vng_words. VNG_OPTION... -- ". ./vng-stdout.sh; COMMAND" is to
# follow, in one word.
vng_command()
{
	cp "${BASH_SOURCE[0]%/*}/vng-stdout.sh" "$2"
	vng_words=(vng --force-9p -r "$1" --cpus 2 --memory "$3" --user root --cwd "$2")
}

# vng_emulated: adds to vng_words that processors are emulated in virtual time. The
# clock counts instructions, 1 ns each, and jumps to the next timer when both sleep.
vng_emulated()
{
	vng_words+=(--disable-kvm '--qemu-opts=-icount shift=0,sleep=off')
}

# vng_run SECONDS DIR COMMAND: runs COMMAND in DIR of the guest of vng_words, in so much time at
# most, and prints what it says; then, where it did not come to "guest done", the end of the kernel's
# console.
#
# QEMU 7.2, and as others report 8.0, with a thread per processor runs code that the guest's
# kernel is just patching: on a busy machine one boot in thirty dies of an int3 that is in nobody's
# code. Until COMMAND has printed a line no result depends on another boot, and three are tried.
vng_run()
{
	local seconds=$1 dir=$2 boots=3 status
	while :; do
		# All that it started is gone when it ends: timeout makes a process group of it, and
		# kills all of that. An oops makes the console talk, whatever its level.
		status=0
		(cd "$dir" && timeout -k 5 "$seconds" "${vng_words[@]}" --verbose --append loglevel=1 -- \
			". ./vng-stdout.sh; exec 2>&1; $3" </dev/null 2>"$dir/console") | tee "$dir/guest.log" || status=$?
		[[ ! -s $dir/guest.log && $status -ne 124 && $status -ne 137 ]] || break
		((--boots > 0)) || break
		say "the guest died before its command had begun, and is booted again"
	done
	! grep -q '^guest done' "$dir/guest.log" || return 0
	case $status in
	124 | 137) not_ok "the guest was still running after $seconds s and was killed" ;;
	*) not_ok "the guest died before its end (status $status)" ;;
	esac
	tail -n 40 "$dir/console" | sed 's/^/#   /'
	return 1
}

# kvm_boots IMAGE DIR: /dev/kvm may open, even make a processor, on hosts where
# no kernel boots: try, once per boot of this machine.
kvm_boots()
{
	local answer vng_words
	[[ -w /dev/kvm ]] || return 1
	# shellcheck disable=SC2154 # of common.sh
	answer=$cache/kvm-$(</proc/sys/kernel/random/boot_id)
	if [[ ! -s $answer ]]; then
		say "does a kernel boot under KVM here? (up to 25 s)"
		mkdir -p "$cache"
		rm -f "$cache"/kvm-*
		vng_command "$1" "$2" 1G
		if (cd "$2" && timeout -k 5 25 "${vng_words[@]}" -- ". ./vng-stdout.sh; echo booted" </dev/null 2>&1) |
			grep -q '^booted'; then
			echo yes
		else
			echo no
		fi >"$answer"
	fi
	[[ $(<"$answer") == yes ]]
}
