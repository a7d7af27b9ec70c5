#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In a minimal Debian without Python: scripts/setup.sh, as `make demo` calls it, asks
# apt for Python. Then as if this were Ubuntu, of which only the names are to be had here.
# scripts/install-test.sh starts it.
set -euo pipefail

# shellcheck source=tests/install/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# An apt-get that knows every package, installs none and says what it was asked for.
mkdir /tmp/bin
cat >/tmp/bin/apt-get <<'EOF2'
#!/bin/sh
echo "$@" >>/tmp/asked
EOF2
cat >/tmp/bin/apt-cache <<'EOF2'
#!/bin/sh
echo "  Candidate: 1"
EOF2
chmod +x /tmp/bin/*
setup() { PATH=/tmp/bin:$PATH scripts/setup.sh "$1"; }
asked() { grep -E "install .*\<$1( |\$)" /tmp/asked; }

report "there is no Python here" fails type python3
for what in demo check; do
	: >/tmp/asked
	report "setup.sh $what fails where apt installs nothing" fails setup "$what"
	report "setup.sh $what asks apt for python3" asked python3
	report "setup.sh $what asks apt for python3-venv" asked python3-venv
	report "setup.sh $what asks apt for what else it needs" asked busybox-static
done
report "without Python, enter_venv says what to do" \
	bash -c '(. scripts/common.sh; enter_venv) 2>&1 | grep "Python 3.11 or newer is needed"'

sed -i 's/^ID=.*/ID=ubuntu/' /etc/os-release
# Debian 13's headers bring their kernel, and its own are not asked for again.
: >"/boot/vmlinuz-$kver"
: >/tmp/asked
report "Ubuntu, with a kernel and its headers: setup.sh fails, too" fails setup check
report "Ubuntu, with a kernel and its headers: it asks for the rest" asked zstd
report "Ubuntu, with a kernel and its headers: not for a kernel" fails asked linux-image-generic
report "Ubuntu, with a kernel and its headers: not for headers" fails asked linux-headers-generic
rm /boot/vmlinuz-*
: >/tmp/asked
report "Ubuntu: setup.sh fails where apt installs nothing" fails setup check
for package in linux-source linux-image-generic linux-headers-generic zstd; do
	report "Ubuntu: setup.sh asks apt for $package" asked "$package"
done
report "Ubuntu: and for no series of Debian's kernels" fails grep -F 6.12 /tmp/asked
for tool in flex bison bc xz; do ln -sf /bin/true "/tmp/bin/$tool"; done
: >/usr/src/linux-source-6.8.0.tar.bz2
unpacked() # it goes no further with an empty tarball
{
	local said
	said=$(PATH=/tmp/bin:$PATH testbed/guest/build-kernel.sh plain 2>&1) || true
	echo "$said"
	[[ $said == *"unpacking $1"* ]]
}
report "Ubuntu: its kernel's source is found" unpacked /usr/src/linux-source-6.8.0.tar.bz2
: >/usr/src/linux-source-6.12.tar.xz
report "6.12, where there is one, comes first" unpacked /usr/src/linux-source-6.12.tar.xz
[[ ${failures:-0} -eq 0 ]]
