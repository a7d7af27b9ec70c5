#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# dalbe-testbed, for a single run: of an experiment of one's own, or of a point of a sweep.
set -euo pipefail

me=testbed
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage()
{
	cat <<EOF
usage: testbed.sh [-h] COMMAND [ARGUMENT...]

Installs what is missing, as 'make demo' does, and runs 'dalbe-testbed COMMAND ARGUMENT...'.
COMMAND is run, numeric, hunt, bars, figures, requirements, 'sweep run' or 'sweep report';
'testbed.sh COMMAND --help' says more.
EOF
}

case ${1:-} in
-h | --help | '') usage; exit $(($# == 0 ? 2 : 0)) ;;
esac
"$repo/scripts/setup.sh" demo
enter_venv
exec dalbe-testbed "$@"
