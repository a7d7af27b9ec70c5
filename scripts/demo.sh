#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `make demo`: from nothing to the demo's table and plots.
set -euo pipefail

me=demo
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage()
{
	cat <<EOF
usage: demo.sh [-h] [OPTION...]

Installs what is missing, builds the guest kernel, the module and the tools, and
runs 'dalbe-testbed demo OPTION...'; see 'dalbe-testbed demo --help'.
EOF
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
esac

"$repo/scripts/setup.sh" demo
enter_venv
kernel=$("$repo/testbed/guest/build-kernel.sh" plain)
say "building the module and the tools"
module=$("$repo/scripts/guest-module.sh" "$kernel")
make -s -C "$repo/tools" dalbectl
exec dalbe-testbed demo --kernel "$kernel" --module "$module" \
	--dalbectl "$repo/tools/dalbectl" "$@"
