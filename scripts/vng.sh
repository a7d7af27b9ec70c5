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
# DIR, in the array vng_words. VNG_OPTION... -- COMMAND is to follow.
vng_command()
{
	vng_words=(vng --force-9p -r "$1" --cpus 2 --memory "$3" --user root --cwd "$2")
}

# vng_emulated: adds to vng_words that processors are emulated in virtual time. The
# clock counts instructions, 1 ns each, and jumps to the next timer when both sleep.
vng_emulated()
{
	vng_words+=(--disable-kvm '--qemu-opts=-icount shift=0,sleep=off')
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
		if (cd "$2" && timeout -k 5 25 "${vng_words[@]}" -- echo booted </dev/null 2>&1) |
			grep -q '^booted'; then
			echo yes
		else
			echo no
		fi >"$answer"
	fi
	[[ $(<"$answer") == yes ]]
}
