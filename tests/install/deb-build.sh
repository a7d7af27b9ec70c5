#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In a minimal Debian with what builds packages: `make deb`, of this version into
# DIR/old and of one after it into DIR/new. scripts/install-test.sh starts it.
set -euo pipefail

# shellcheck source=tests/install/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

report "make deb, without a complaint of lintian's" make deb OUT="$1/old"
report "five packages" bash -c "test \$(ls '$1'/old/*.deb | wc -l) -eq 5"

document() { dpkg-deb --fsys-tarfile "$1"/old/dalbe-dkms_*.deb | tar -xO --wildcards '*/operate.md.gz' | zcat; }
links() { document "$1" | grep -oE '\]\([^#][^)]*\)'; }
report "its documentation can be read" bash -c "$(declare -f document); document '$1' | grep -q dalbectl"
report "and has no link to what is not there" fails links "$1"

touch "$1/old/another_1.deb" # no package of ours
report "make deb into a directory of others'" make deb OUT="$1/old"
report "leaves theirs, and has five of ours" bash -c "test \$(ls '$1'/old/*.deb | wc -l) -eq 6"
rm "$1/old/another_1.deb"

sed -i "s/\"$version\"/\"$version.1\"/" version.h
sed "1s/($version)/($version.1)/; s/^ -- \(.*>\).*/ -- \1  $(date -R)/" debian/changelog >/tmp/changelog
cat debian/changelog >>/tmp/changelog
mv /tmp/changelog debian/changelog
report "make deb of the next version" make deb OUT="$1/new"

# A library that has lost a function would break the programs that call it.
sed -i 's/dalbe_attach/dalbe_attached/g' tools/*.[ch]
gone() { ! make deb OUT=/tmp/gone >/tmp/log 2>&1 && grep 'some symbols or patterns disappeared' /tmp/log; }
report "a function that is gone is noticed" gone
[[ ${failures:-0} -eq 0 ]]
