#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds the KUnit tests, runs them in the debug guest, reports one line a test.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(realpath "$here/../..")

usage()
{
	cat <<EOF
usage: run.sh [-h] [-v] [-k KERNEL_BUILD] [-s SOURCE]

Builds dalbe_test.ko out of the tree, inserts it in the debug guest and prints
"ok - suite.test" or "not ok - suite.test" for every test. Exit status: 0 if
there were tests, all passed and the guest's kernel had nothing to report.

  -k DIR  build directory of a User Mode Linux kernel with CONFIG_KUNIT=y
          (default: that of testbed/guest/build-kernel.sh debug)
  -s DIR  the tree whose code is tested (default: this one)
  -v      print the kernel log as well
EOF
}

die() { echo "run.sh: $*" >&2; exit 2; }

kernel='' verbose=false
while getopts hvk:s: opt; do
	case $opt in
	h) usage; exit 0 ;;
	v) verbose=true ;;
	k) kernel=$OPTARG ;;
	s) root=$OPTARG ;;
	*) die "see run.sh -h" ;;
	esac
done
shift $((OPTIND - 1))
[[ $# -eq 0 ]] || die "unknown argument '$1': see run.sh -h"
[[ -r $root/core/sender.c ]] || die "$root holds no core/sender.c: name the top of a dalbe tree with -s"

guest=$here/../../testbed/guest
[[ -n $kernel ]] || kernel=$("$guest/build-kernel.sh" debug)
grep -qx 'CONFIG_KUNIT=y' "$kernel/.config" 2>/dev/null ||
	die "$kernel is no kernel with CONFIG_KUNIT=y: leave out -k to get one built"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Objects of the guest's kernel must not end up beside those of the host's.
mkdir -p "$work/tests"
cp -r "$root/dalbe_ctl.h" "$root/core" "$root/port" "$work"
cp -r "$here" "$here/../python" "$work/tests"
make -s -C "$kernel" ARCH=um M="$work/tests/kunit" modules >"$work/build.log" 2>&1 || {
	cat "$work/build.log" >&2
	die "the tests do not build"
}

cat >"$work/insert.sh" <<'EOF'
insmod "$1" && rmmod dalbe_test
EOF
status=0
"$guest/boot.sh" -k "$kernel" -o "$work/out" -n kunit "$work/insert.sh" \
	"$work/tests/kunit/dalbe_test.ko" >"$work/console.log" 2>&1 || status=$?
log=$work/out/kernel.log
[[ -s $log ]] || { cat "$work/console.log" >&2; die "the guest left no kernel log"; }
! $verbose || cat "$log"
[[ $status -eq 0 ]] || sed 's/^/# guest: /' "$work/console.log"

awk -v status="$status" -f "$here/ktap.awk" "$log"
