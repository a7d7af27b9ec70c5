#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In a minimal Debian with piuparts and debootstrap: the packages of DIR/old are
# installed, removed and purged in a minimal Debian of their own; piuparts compares all
# of its files before and after. scripts/install-test.sh starts it.
set -euo pipefail

# shellcheck source=tests/install/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

read -r _ mirror suite _ < <(grep '^deb ' /etc/apt/sources.list)
report "$suite: a minimal tree" debootstrap --variant=minbase "$suite" /tmp/tree "$mirror"
tar -C /tmp/tree -czf /tmp/base.tgz .
# eatmydata is for speed, and one package more
piuparts() { command piuparts -b /tmp/base.tgz -d "$suite" -m "$mirror main" --no-eatmydata "$@"; }
report "$suite: piuparts finds nothing that the packages leave" piuparts "$1"/old/*.deb

dpkg-deb -R "$1"/old/libdalbe0_*.deb /tmp/broken
printf '#!/bin/sh\ntouch /var/lib/left\n' >/tmp/broken/DEBIAN/postinst
chmod 755 /tmp/broken/DEBIAN/postinst
dpkg-deb -b /tmp/broken /tmp/broken.deb >/tmp/log
left() { ! piuparts /tmp/broken.deb >/tmp/log 2>&1 && grep -A 2 'FAIL: .*left files' /tmp/log; }
report "$suite: it would find a file that is left" left
[[ ${failures:-0} -eq 0 ]]
