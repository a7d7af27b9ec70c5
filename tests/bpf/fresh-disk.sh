#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In a minimal Debian with a kernel, nginx and sshd (scripts/bpf-fresh.sh): makes a disk of it in
# DIR, with the packages of DIR/deb, which are not installed, and fresh.sh, which runs at each boot.
set -euo pipefail

dir=$1
apt-get -qq update
mkdir /srv/deb
cp "$dir"/deb/{dalbectl,dalbe-bpf}_*.deb /srv/deb
cp tests/vng/life.sh tests/bpf/fresh.sh /srv
# the guest has no network: apt finds what they depend on in its cache
apt-get -qq -y --no-install-recommends --download-only install /srv/deb/*.deb
cat >/etc/systemd/system/fresh.service <<'EOF'
[Unit]
After=multi-user.target nginx.service
[Service]
ExecStart=/bin/bash /srv/fresh.sh
StandardOutput=file:/dev/ttyS1
StandardError=inherit
[Install]
WantedBy=multi-user.target
EOF
systemctl -q enable fresh
systemctl -q mask systemd-networkd-wait-online.service
printf '/dev/vda / ext4 defaults 0 1\n' >/etc/fstab
cp /boot/vmlinuz-* "$dir/vmlinuz"
cp /boot/initrd.img-* "$dir/initrd"
mount --bind / /mnt # without what is mounted
find /mnt/dalbe -mindepth 1 -delete
mkfs.ext4 -q -d /mnt "$dir/disk" 2500M
