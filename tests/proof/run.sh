#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Proves what docs/design.md says of core/'s arithmetic: each prove_...() of arithmetic.c is a test.
set -euo pipefail

me=proof
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"

usage()
{
	cat <<EOF
usage: run.sh [-h] [prove_NAME...]

Runs Frama-C over the functions of arithmetic.c, or those named: first its plugin Eva; what that
leaves open its plugin WP, with Z3. Debian 12 has all of them. What could not be proved is shown.
EOF
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
esac

need frama-c "frama-c-base why3 z3"
need why3 why3
need z3 z3
need gcc gcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$repo/tests/proof"
export HOME=$work # why3 keeps what it detects there
why3 config detect >/dev/null 2>&1

includes="-I$repo -I$repo/port/user -idirafter /usr/include"
includes+=" -idirafter /usr/include/$(gcc -print-multiarch)"

# What Eva could not prove is an alarm, of which WP makes a goal.
prove()
{
	local log=$work/$1.log proved
	if ! frama-c -cpp-extra-args="$includes" -machdep gcc_x86_64 -main "$1" \
		-inline-calls div_u64,div64_u64 -warn-unsigned-overflow \
		-eva -eva-precision 4 -eva-use-spec fp_mul_div,fp_add arithmetic.c \
		-then -wp -wp-prover z3 -wp-timeout 10 -wp-prop @assert,@ensures \
		-wp-skip-fct fp_mul_div,fp_add >"$log" 2>&1; then
		tail -n 20 "$log"
		return 1
	fi
	grep -q "^\[eva\] done for function $1" "$log" || return 1
	proved=$(sed -nE 's|^\[wp\] Proved goals: +([0-9]+) / ([0-9]+)$|\1 \2|p' "$log")
	if grep -q '^\[eva:alarm\]' "$log" || [[ -n $proved ]]; then
		[[ -n $proved && ${proved% *} == "${proved#* }" ]] || {
			grep -A 1 -E '^\[eva:alarm\]|^\[wp\] .*: (Failed|Timeout|Unknown)' "$log"
			return 1
		}
	fi
}

mapfile -t names < <(sed -n 's/^void \(prove_[a-z0-9_]*\)(void)$/\1/p' arithmetic.c)
[[ ${#names[@]} -gt 0 ]] || die "arithmetic.c has nothing to prove"
[[ $# -eq 0 ]] || names=("$@")
for name in "${names[@]}"; do report "$name" prove "$name"; done
[[ ${failures:-0} -eq 0 ]]
