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
usage: pytest.sh [-h] [PYTEST_OPTION|FILE...]

Runs pytest over tests/python, or only the files named, then prints a line of TAP per test: what failed
comes last, with the end of its report, so that the end of a log says why. A test
that was skipped counts as failed: here everything is installed that it needs.
EOF
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
esac

enter_venv
report=$(mktemp)
trap 'rm -f "$report"' EXIT
cd "$repo"
where=(tests/python)
for arg; do
	[[ ! -e $arg ]] || where=()
done
status=0
pytest -q -p no:cacheprovider --junitxml "$report" "$@" "${where[@]}" || status=$?
python - "$report" <<'EOF'
import sys
import xml.etree.ElementTree as ET

failed = []
for case in ET.parse(sys.argv[1]).iter("testcase"):
    bad = next((e for e in case if e.tag in ("failure", "error", "skipped")), None)
    name = f"{case.get('classname', '').rpartition('.')[2]}: {case.get('name')}"
    if bad is None:
        print(f"ok - {name}")
    else:
        failed.append(f"not ok - {name} ({bad.tag})")
        report = (bad.text or bad.get("message") or "").splitlines()[-15:]
        failed += [f"#   {line}" for line in report]
print("\n".join(failed))
EOF
exit "$status"
