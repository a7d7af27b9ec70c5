#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The BPF edition in Debian's own kernels, under the lockdown that Secure Boot brings.
set -euo pipefail

me=bpf-test
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=scripts/vng.sh
. "$(dirname "${BASH_SOURCE[0]}")/vng.sh"

usage()
{
	cat <<EOF
usage: bpf-test.sh [-h] [-l] [SERIES...]

Builds dalbe.bpf.o once, and boots Debian's kernel of each SERIES (default: 6.1 6.12 7.2) in QEMU
with lockdown=integrity: the object is loaded, an ordinary user gives goals by setsockopt(2), and it
is unloaded (tests/bpf/guest.sh). Some five minutes for each kernel.

  -l           load and unload it only, in two minutes for each kernel: does the verifier accept it?

  VNG_TIMEOUT  seconds a guest may take (default: 900)
EOF
}

# boot SERIES
boot()
{
	local series=$1 where release image dir=$work/$1 virtual=1 status=0
	where=$("$repo/scripts/debian-root.sh" "$series") || { not_ok "$series: no headers"; return; }
	read -r _ release <<<"$where"
	image=$("$repo/scripts/debian-image.sh" "$release") || { not_ok "$series: no image"; return; }
	mkdir "$dir"
	cp -r "$work"/{sink,bin,lib} "$repo"/tests/bpf/{guest.sh,goals.py,attached.py,pinned.py} "$repo/tests/vng/life.sh" "$dir"
	cp -r "$repo/bindings/python/dalbe" "$dir"
	[[ ! -e $work/go.test ]] || cp "$work/go.test" "$dir"
	vng_command "$image" "$dir" 1G
	if [[ $series == 6.1 ]]; then # it does not come up in virtual time
		vng_words+=(--disable-kvm)
		virtual=0
	else
		vng_emulated
	fi
	vng_words+=(--append lockdown=integrity)
	vng_run "${VNG_TIMEOUT:-900}" "$dir" "VIRTUAL=$virtual LOAD_ONLY=$load_only bash ./guest.sh" \
		>"$dir/said" || status=$?
	sed -E "s/^((not )?ok - )/\1$series: /" "$dir/said"
	[[ $status -eq 0 ]] && ! grep -q '^not ok' "$dir/said" || failures=$((failures + 1))
}

load_only=0
[[ ${1:-} != -l ]] || { load_only=1; shift; }
for arg; do
	case $arg in
	-h | --help) usage; exit 0 ;;
	[1-9]*.[0-9]*) ;;
	*) die "'$arg' is no kernel series: type one like 6.12, or nothing for 6.1, 6.12 and 7.2" ;;
	esac
done
[[ $# -gt 0 ]] || set -- 6.1 6.12 7.2
need qemu-system-x86_64 qemu-system-x86
need ethtool ethtool
enter_venv

work=$(mktemp -d "${TMPDIR:-/tmp}/dalbe-bpf.XXXXXX")
chmod 755 "$work" # an ordinary user of the guest's looks into it
trap 'rm -rf "$work"' EXIT
failures=0
report "bpf/ builds without a warning" make -C "$repo/bpf" WERROR=-Werror all
[[ $failures -eq 0 ]] || exit 1
cp -r "$repo"/{dalbe_ctl,version}.h "$repo/tools" "$work"
report "dalbectl builds" make -C "$work/tools" clean dalbectl
[[ $failures -eq 0 ]] || exit 1
mkdir -p "$work"/{bin,lib/dalbe} # as installed
cp "$work/tools/dalbectl" "$work/bin"
cp "$repo"/bpf/{dalbe-load,dalbe.bpf.o,attach.bpf.o} "$work/lib/dalbe"
! command -v go >/dev/null || report "the Go package builds" env -C "$repo/bindings/go" CGO_ENABLED=0 \
	GOPROXY=off GOTOOLCHAIN=local go test -c -o "$work/go.test" .
"${CC:-gcc}" -O2 -Wall -Wextra -Werror -o "$work/sink" "$repo/tests/vng/sink.c"
for series; do boot "$series"; done
exit $((failures > 0))
