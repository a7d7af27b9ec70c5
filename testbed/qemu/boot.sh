#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Boots a distribution's kernel with virtme-ng and plays one scenario in it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
me=qemu
# shellcheck source=scripts/common.sh
. "$here/../../scripts/common.sh"
# shellcheck source=scripts/vng.sh
. "$here/../../scripts/vng.sh"
# shellcheck source=testbed/guest/supervise.sh
. "$here/../guest/supervise.sh"

usage()
{
	cat <<EOT
usage: boot.sh [options] -o OUT_DIR INPUT_DIR
       boot.sh [-k RELEASE] -p

Plays INPUT_DIR in a guest of two processors, by testbed/host/run.sh: OUT_DIR
receives what scenario.sh says. The guest sees the host's file system, read-only.

  -k RELEASE  kernel, out of /boot, with headers (default: the newest 6.12, else
              the newest)
  -o DIR      where the results go; created if need be
  -n NAME     name of the run in messages (default: name of OUT_DIR)
  -m SIZE     the guest's memory (default 2G; half of it can hold results)
  -w SEC      wall-clock limit: kill a guest that takes longer (default: what -t and
              -b need, emulated on a loaded machine)
  -b BITS     that the guest has to carry through a bottleneck (default 0)
  -r          a real clock, where processors are emulated as well
  -t SEC      limit on the guest's clock: end a run that takes longer (default 300);
              a virtual clock may show ten times that
  -p          only print release=, sha256= (of the kernel image) and clock=
  -h          this text

Where a kernel really boots under KVM its clock is real. Elsewhere processors are
emulated and the clock is virtual: it counts instructions, 1 ns each, and jumps
to the next timer when both processors sleep (qemu's -icount shift=0,sleep=off).

  VNG_KVM     1 or 0: use KVM or not, instead of trying

Exit status: scenario.sh's; 2 if this machine cannot do it; 124 if a limit was
hit; 125 if the guest died otherwise, three times if that was before the scenario.
EOT
}

die() { echo "qemu: $*" >&2; exit 2; }

release='' out='' name='' mem=2G wall_s='' bits=0 limit_s=300 only_print=false real=false
while getopts hprk:o:n:m:w:b:t: opt; do
	case $opt in
	h) usage; exit 0 ;;
	p) only_print=true ;;
	r) real=true ;;
	k) release=$OPTARG ;;
	o) out=$OPTARG ;;
	n) name=$OPTARG ;;
	m) mem=$OPTARG ;;
	w) wall_s=$OPTARG ;;
	b) bits=$OPTARG ;;
	t) limit_s=$OPTARG ;;
	*) die "see boot.sh -h" ;;
	esac
done
shift $((OPTIND - 1))

need qemu-system-x86_64 qemu-system-x86
command -v vng >/dev/null || enter_venv
release=$(find_kernel "$release")

supervise_in "${TMPDIR:-/tmp}/dalbe-qemu.XXXXXX"

image=$(kernel_image "$release" "$work")
clock=virtual
case ${VNG_KVM:-} in
0) ;;
1) clock=real ;;
*) ! kvm_boots "$image" "$work" || clock=real ;;
esac

if $only_print; then
	printf '%s\n' "release=$release" "sha256=$(sha256sum <"$image" | cut -d ' ' -f 1)" "clock=$clock"
	exit 0
fi

[[ -n $out && $# -eq 1 ]] || die "say -o OUT_DIR INPUT_DIR; see boot.sh -h"
[[ -r $1/modules && -r $1/link ]] || die "$1 holds no input of scenario.sh"
[[ $limit_s$bits$wall_s =~ ^[0-9]+$ ]] || die "-w and -t take whole seconds, -b whole bits"
# A cell of four flows at 10 Mbit/s was seen to take 1.3 times as long as its clock says,
# and its boot up to 100 s, on a machine that others loaded as well: this only catches a hang.
wall_s=${wall_s:-$((300 + 10 * limit_s + bits / 1000000))}
mkdir -p "$out"
out=$(realpath "$out")
name=${name:-${out##*/}}
helpers=$("$here/../guest/build-helpers.sh")

# While the guest waits for the host's files a virtual clock jumps from timer to timer: on a
# busy host minutes of it can pass before a run begins.
[[ $clock == real ]] || $real || limit_s=$((limit_s * 10))

# guest.sh finds its arguments in a file: vng would split them into words.
printf '%s\0' "$name" "$limit_s" "$helpers" "$(realpath "$1")" "$(realpath "$here/../host/run.sh")" \
	>"$work/request"
cp "$here/guest.sh" "$work"
cd "$work"
vng_command "$image" "$work" "$mem"
if [[ $clock == virtual ]] && $real; then
	vng_words+=(--disable-kvm)
elif [[ $clock == virtual ]]; then
	vng_emulated
fi
# An emulated processor may fault where no real one does (qemu 7.2 counting
# instructions: a double fault at "sti", in about one boot of thirty). While the
# scenario has not begun, no result depends on another boot.
boots=3
while :; do
	# A process group of its own, to be killed as a whole. Its output has to be a
	# pipe: vng opens a file anew, and overwrites.
	exec {console}> >(exec cat)
	printer=$!
	TMPDIR=$work setsid "${vng_words[@]}" --rwdir "$work" -- ". ./vng-stdout.sh; bash ./guest.sh" \
		</dev/null >&"$console" 2>"$work/stderr" {console}>&- &
	guest=$!
	exec {console}>&-
	ended=0
	await_guest "$guest" qemu "$name" "$wall_s" "$work/status" || ended=$?
	[[ $ended == 125 && ! -e $work/begun ]] || break
	((--boots > 0)) || break
	echo "qemu: run '$name': it had not begun: the guest is booted again" >&2
done
((ended == 0)) || exit "$ended"
wait "$printer" # on a busy machine it may still have to print what the guest said
cp -r "$work/out/." "$out"
status=$(<"$work/status")
[[ $status == 0 ]] || tail -n 1 "$work/run.err" >&2
exit "$status"
