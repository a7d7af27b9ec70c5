#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A time-travel guest runs this for a run: it prepares its kernel and plays the scenario.
set -euo pipefail

usage()
{
	cat <<EOT
usage: play.sh INPUT_DIR

Run by boot.sh in a guest: modules.sh, then scenario.sh, which has the format of
INPUT_DIR. The guest's kernel dies with it, so nothing is undone.
EOT
}

[[ ${1:-} != -h ]] || { usage; exit 0; }
[[ $# -eq 1 ]] || { usage >&2; exit 2; }

testbed=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$testbed/modules.sh" "$1/modules"
exec "$testbed/scenario.sh" "$1"
