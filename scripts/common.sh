# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Every script here needs this: where things are, how to speak, how to be root.
# Sourced. The sourcing script sets `me`, the name it goes by in messages.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export PATH="$PATH:/usr/sbin:/sbin" # an ordinary user of Debian's lacks them: dkms, ethtool
cache=${DALBE_CACHE:-$HOME/.cache/dalbe}
me=${me:-$(basename "$0" .sh)}

say() { printf '[%s] %s\n' "$me" "$*" >&2; }
die() { say "$*"; exit 1; }

# TAP: the one format in which all stages of `make check` report.
ok() { printf 'ok - %s\n' "$*"; }
not_ok()
{
	printf 'not ok - %s\n' "$*"
	failures=$((${failures:-0} + 1))
}

# report NAME COMMAND...: a line of TAP, after what the command had to say if it failed.
report()
{
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		ok "$name"
	else
		printf '%s\n' "$out" | sed "s|$repo/||g"
		not_ok "$name"
	fi
}

# The version of the clone in $repo.
dalbe_version() { sed -n 's/^#define DALBE_VERSION "\(.*\)"/\1/p' "$repo/version.h"; }

# The module's sources, one a line, without what a build left among them.
module_sources()
{
	(cd "$repo" && find Kbuild ./*.[ch] core kernel port/kernel -name Kbuild -o -name '*.[ch]' ! -name '*.mod.c') |
		LC_ALL=C sort
}

# The commit that changed them last, and -dirty if they differ from it; nothing outside of git.
module_commit()
{
	local commit paths
	mapfile -t paths < <(module_sources)
	commit=$(git -C "$repo" log -1 --abbrev=7 --format=%h -- "${paths[@]}" 2>/dev/null) || return 0
	git -C "$repo" diff --quiet HEAD -- "${paths[@]}" || commit+=-dirty
	printf '%s\n' "$commit"
}

# copy_module DIR: copies them there.
copy_module() { (cd "$repo" && module_sources | xargs cp --parents -t "$1"); }

# need COMMAND PACKAGE: stop, naming both, unless COMMAND can be run.
need()
{
	command -v "$1" >/dev/null ||
		die "$1 is missing: type 'sudo apt-get install $2'"
}

# Run a command as root: directly, or through sudo.
as_root()
{
	if [[ $(id -u) == 0 ]]; then
		"$@"
	else
		command -v sudo >/dev/null ||
			die "'$*' needs root: install sudo, or run this as root"
		sudo --preserve-env=DEBIAN_FRONTEND "$@"
	fi
}

# The Python environment that scripts/setup.sh made for this pyproject.toml.
venv_dir()
{
	local python=$1 hash
	hash=$({ "$python" -VV; cat "$repo/pyproject.toml"; } | sha256sum | cut -c 1-12)
	printf '%s/venv/%s\n' "$cache" "$hash"
}

# The newest Python that is new enough, first choice first; fails if there is none.
find_python()
{
	local python
	for python in "${PYTHON:-python3}" /usr/bin/python3 python3.13 python3.12 python3.11; do
		if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
			command -v "$python"
			return
		fi
	done
	return 1
}

no_python() { die "Python 3.11 or newer is needed: type 'PYTHON=/path/to/python3.11 make ...'"; }

# Puts the project's Python programs (pytest, ruff, vng ...) first in PATH.
enter_venv()
{
	local python dir
	python=$(find_python) || no_python
	dir=$(venv_dir "$python")
	[[ -e $dir/.complete ]] || die "no Python environment: type 'scripts/setup.sh check'"
	export VIRTUAL_ENV=$dir PATH="$dir/bin:$PATH"
	# All clones share the environment, and the package in it is the last one's that set it up:
	# in the middle of a run of another's.
	export PYTHONPATH="$repo/testbed${PYTHONPATH:+:$PYTHONPATH}"
}
