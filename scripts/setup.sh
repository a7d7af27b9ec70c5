#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Installs what a command of the Makefile needs, and only what is missing.
set -euo pipefail

me=setup
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage()
{
	cat <<EOF
usage: setup.sh [-h] {build|demo|check}

Installs, with apt, the packages that are missing on this machine (Debian 12 or
13, Ubuntu 24.04 or newer), and makes the Python environment in the cache.
As root, or through sudo. Does nothing, quickly, when all is there.

  build   the module and the tools, for the kernel of this machine
  demo    what 'make demo' and 'make reproduce' need
  check   what 'make check' needs

  KERNEL_SRC   kernel tree or tarball for the guests, instead of the package
  PYTHON       a Python of at least 3.11 (default: python3)
  DALBE_CACHE  cache directory (default: ~/.cache/dalbe)
EOF
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
build | demo | check) what=$1 ;;
*) die "say what for: 'scripts/setup.sh build', 'demo' or 'check' (got '${1:-}')" ;;
esac

export DEBIAN_FRONTEND=noninteractive
command -v apt-get >/dev/null ||
	die "this is no Debian or Ubuntu: install by hand what scripts/setup.sh lists"
# shellcheck source=/dev/null
distribution=$(. /etc/os-release && echo "${ID:-}")

# --- what is needed ------------------------------------------------------------

build_packages()
{
	echo gcc libc6-dev make kmod xz-utils
	# what its kernels' modules are compressed with
	[[ $distribution != ubuntu ]] || echo zstd
}

demo_packages()
{
	build_packages
	# the guest's kernel
	echo bc bison flex libelf-dev tar cpio
	# what runs in the guest
	echo iproute2 iputils-ping ethtool iperf d-itg tcpdump rsync busybox-static procps
	[[ -n ${KERNEL_SRC:-} ]] || source_package
	python_packages
}

check_packages()
{
	demo_packages
	# lint.sh, and the kernel matrix
	echo shellcheck sparse dwarves perl mandoc bubblewrap debian-archive-keyring
	# test_instructions.py
	echo valgrind
	# make coverage
	echo gcovr
	# tests/fuzz: libFuzzer and the sanitizers are in the second
	echo clang libclang-rt-dev
	# test_architectures.py
	echo qemu-user gcc-{i686-linux-gnu,arm-linux-gnueabihf,s390x-linux-gnu}
	echo libc6-dev-{i386,armhf,s390x}-cross
	# debian-chroot.sh
	echo debootstrap
	# shells of which the completion is tested
	echo zsh fish
	# vng-test.sh
	echo qemu-system-x86 udev
	# bpf-test.sh
	echo libbpf-dev systemd
	[[ $distribution == ubuntu ]] && echo clang-18 || echo clang-19
	stock_kernel_packages
}

source_package()
{
	case $distribution in
	ubuntu) echo linux-source bzip2 ;;
	*) echo linux-source-6.12 ;;
	esac
}

# The distribution's own kernel with matching headers, unless one is complete
# already: on Debian the newest 6.12 that apt knows.
stock_kernel_packages()
{
	local image release series=6.12.
	[[ $distribution != ubuntu ]] || series=
	for image in /boot/vmlinuz-"$series"*; do
		release=${image#/boot/vmlinuz-}
		[[ ! -e /lib/modules/$release/build/Makefile ]] || return 0
	done
	if [[ $distribution == ubuntu ]]; then
		echo linux-image-generic linux-headers-generic
		return
	fi
	release=$(apt-cache pkgnames linux-image-6.12. |
		sed -nE "s/^linux-image-(6\.12\.[0-9.]+[+a-z0-9.]*-$(dpkg --print-architecture))$/\1/p" |
		sort -V | tail -n 1)
	# not known yet: the name of what will be asked for after an update
	echo "linux-image-${release:-6.12}" "linux-headers-${release:-6.12}"
}

python_packages()
{
	local python
	if ! python=$(find_python); then
		echo python3 python3-venv
	elif ! "$python" -c 'import ensurepip' 2>/dev/null; then
		# Debian splits venv off its Python
		echo python3-venv
	fi
}

# --- packages ------------------------------------------------------------------

# Of the packages on standard input, those that are not installed.
missing_packages()
{
	local name
	tr -s '[:space:]' '\n' | sort -u | while read -r name; do
		[[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) == installed ]] ||
			echo "$name"
	done
}

unknown_of()
{
	local name
	for name; do
		# Virtual and unknown packages have no candidate. Not `| grep -q`, which stops
		# reading at the match: with pipefail apt-cache's SIGPIPE would be the answer.
		[[ $(apt-cache policy "$name" 2>/dev/null) == *"Candidate: "[^\(]* ]] || echo "$name"
	done
}

install_packages()
{
	local -a missing unknown
	mapfile -t missing < <("${what}_packages" | missing_packages)
	[[ ${#missing[@]} -gt 0 ]] || return 0

	mapfile -t unknown < <(unknown_of "${missing[@]}")
	if [[ ${#unknown[@]} -gt 0 ]]; then
		say "apt-get update (not known yet: ${unknown[*]})"
		as_root apt-get -qq update || say "apt-get update failed; going on with what apt knows"
		mapfile -t missing < <("${what}_packages" | missing_packages)
		mapfile -t unknown < <(unknown_of "${missing[@]}")
		[[ ${#unknown[@]} -eq 0 ]] ||
			die "apt knows no package ${unknown[*]}: add the suite that has it$(hint "${unknown[@]}")"
	fi

	say "installing ${missing[*]}"
	local log
	log=$(mktemp)
	if ! as_root apt-get -qq -y --no-install-recommends install "${missing[@]}" \
		</dev/null >"$log" 2>&1; then
		# the lists may be older than the mirror: once more, with new ones
		say "that failed; trying again after apt-get update"
		as_root apt-get -qq update || true
		as_root apt-get -qq -y --no-install-recommends install "${missing[@]}" \
			</dev/null >"$log" 2>&1 || true
	fi
	mapfile -t missing < <(printf '%s\n' "${missing[@]}" | missing_packages)
	if [[ ${#missing[@]} -gt 0 ]]; then
		tail -n 15 "$log" >&2
		rm -f "$log"
		die "could not be installed: ${missing[*]}; type 'sudo apt-get install ${missing[*]}' to see why"
	fi
	rm -f "$log"
}

hint()
{
	[[ " $* " != *" linux-source"* ]] || echo ", or name a kernel tree: KERNEL_SRC=TREE"
}

# --- Python --------------------------------------------------------------------

make_venv()
{
	local python dir log
	python=$(find_python) || no_python
	dir=$(venv_dir "$python")
	# editable: it must also be this clone's, not another's
	if [[ -e $dir/.complete && $(<"$dir/.complete") == "$repo" ]]; then return; fi
	say "Python environment in $dir"
	mkdir -p "$dir"
	log=$dir/setup.log
	# mypy and friends come with [dev], vng boots the stock kernel
	if ! { "$python" -m venv "$dir" &&
		"$dir/bin/pip" install --quiet --disable-pip-version-check \
			--editable "${repo}[dev]" virtme-ng; } >"$log" 2>&1; then
		tail -n 15 "$log" >&2
		die "the Python environment could not be made: see $log"
	fi
	printf '%s\n' "$repo" >"$dir/.complete"
}

install_packages
if [[ $what != build ]]; then
	mkdir -p "$cache"
	exec 9>"$cache/venv.lock"
	flock 9
	make_venv
fi
say "ready for $what"
