#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The Python tests, reported as TAP.
set -euo pipefail

me=pytest
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage()
{
	cat <<EOF
usage: pytest.sh [-h] [PYTEST_OPTION...]

Runs pytest over tests/python, then prints a line of TAP per test. A test that
was skipped counts as failed: here everything is installed that it needs.
EOF
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
esac

enter_venv
report=$(mktemp)
trap 'rm -f "$report"' EXIT
cd "$repo"
status=0
pytest -q -p no:cacheprovider --junitxml "$report" "$@" tests/python || status=$?
python - "$report" <<'EOF'
import sys
import xml.etree.ElementTree as ET

for case in ET.parse(sys.argv[1]).iter("testcase"):
    bad = next((e.tag for e in case if e.tag in ("failure", "error", "skipped")), None)
    name = f"{case.get('classname', '').rpartition('.')[2]}: {case.get('name')}"
    print(f"not ok - {name} ({bad})" if bad else f"ok - {name}")
EOF
exit "$status"
