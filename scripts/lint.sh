#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Style and self-consistency of the sources; nothing is built for a kernel.
set -euo pipefail

me=lint
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage()
{
	cat <<EOF
usage: lint.sh [-h] [--since COMMIT]

checkpatch --strict over C, shellcheck over bash, ruff and mypy over Python, the
manual pages, the layout of dalbe_ctl.h's structures, licence headers, the figures
in README and docs, and that no file names a host or a path that only this machine has.

  --since COMMIT  checkpatch, shellcheck, ruff and mandoc only over files that differ
                  from COMMIT, committed or not
EOF
}

since=
case ${1:-} in
-h | --help) usage; exit 0 ;;
--since) since=${2:?--since needs a commit, such as HEAD~1} ;;
?*) die "unknown argument '$1': type no argument, or -h" ;;
esac

# checkpatch.pl comes with the kernel's source, not with Debian's headers.
checkpatch_dir()
{
	local source=${KERNEL_SRC:-} dir key
	[[ -n $source ]] ||
		source=$(find /usr/src -maxdepth 1 -name 'linux-source-*.tar.*' | sort -V | tail -n 1)
	[[ -n $source ]] || die "no kernel source for checkpatch: type 'scripts/setup.sh check'"
	if [[ -d $source ]]; then
		echo "$source"
		return
	fi
	key=$(stat -c '%n %s %Y' "$source" | sha256sum | cut -c 1-12)
	dir=$cache/checkpatch/$key
	if [[ ! -e $dir/.complete ]]; then
		rm -rf "$cache/checkpatch"
		mkdir -p "$dir"
		tar -xf "$source" -C "$dir" --strip-components=1 --wildcards \
			'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
			'*/scripts/const_structs.checkpatch'
		mkdir "$dir/include" # where it would look for names in mixed case
		touch "$dir/.complete"
	fi
	echo "$dir"
}

# Everywhere: _Bps, bytes per second, is a unit. checkpatch has the names of units
# that it allows in mixed case built in, and this one is not among them.
ignores=FILE_PATH_CHANGES,CAMELCASE
# Programs and tests live in the C library's world, and say things to users:
# messages may be long and are not split, so that they can be searched for.
user_ignores=PREFER_KERNEL_TYPES,VOLATILE,NEW_TYPEDEFS,CONST_STRUCT,ENOSYS,AVOID_EXTERNS
user_ignores+=,USLEEP_RANGE,PREFER_FALLTHROUGH,STRCPY,STRNCPY,STRLCPY,SSCANF_TO_KSTRTO
user_ignores+=,PREFER_DEFINED_ATTRIBUTE_MACRO,LONG_LINE_STRING,MACRO_ARG_REUSE

lint_c()
{
	local dir file
	dir=$(checkpatch_dir)
	for file in "${changed_c[@]}"; do
		local -a options=(--no-tree --root="$dir" --strict --no-signoff --no-summary --terse
			--max-line-length=100 --show-types)
		case $file in
		kernel/trace.h) # TRACE_EVENT() looks like this in every kernel header
			options+=(--ignore "$ignores,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT") ;;
		core/* | kernel/* | port/kernel/* | tests/kunit/*) options+=(--ignore "$ignores") ;;
		tests/proof/*) # Frama-C's annotations are comments of their own style
			options+=(--ignore "$ignores,$user_ignores,BLOCK_COMMENT_STYLE") ;;
		*/*) options+=(--ignore "$ignores,$user_ignores") ;;
		dalbe_ctl.h) # user space has no BIT()
			options+=(--ignore "$ignores,BIT_MACRO") ;;
		*) options+=(--ignore "$ignores") ;;
		esac
		# run there: it leaves files where it runs
		(cd "$dir" && report "checkpatch $file" \
			perl "$dir/scripts/checkpatch.pl" "${options[@]}" -f "$repo/$file")
	done
}

# The interface's structures may not have holes, which would carry stack bytes to
# user space, and must not depend on the word size (no compat code).
lint_uapi()
{
	local work structs name bits sizes=()
	work=$(mktemp -d)
	structs=$(sed -n 's/^struct \([a-z_]*\) {$/\1/p' "$repo/dalbe_ctl.h")
	[[ -n $structs ]] || { not_ok "dalbe_ctl.h has structures"; return; }
	{
		echo '#include "dalbe_ctl.h"'
		for name in $structs; do echo "struct $name a_$name;"; done
	} >"$work/uapi.c"
	for bits in 64 32; do
		if ! "${CC:-gcc}" -m$bits -g -ffreestanding -I"$repo" \
			-I"/usr/include/$(uname -m)-linux-gnu" \
			-c -o "$work/uapi$bits.o" "$work/uapi.c" 2>"$work/cc.log"; then
			cat "$work/cc.log"
			not_ok "dalbe_ctl.h compiles with -m$bits"
			continue
		fi
		for name in $structs; do
			pahole -C "$name" "$work/uapi$bits.o" >"$work/layout"
			if ! grep -q '/\* size: ' "$work/layout" ||
				grep -E 'XXX|holes:|padding:' "$work/layout"; then
				not_ok "struct $name has no hole (-m$bits)"
			else
				ok "struct $name has no hole (-m$bits)"
			fi
			sizes+=("$name $(sed -n 's|.*/\* size: \([0-9]*\).*|\1|p' "$work/layout")")
		done
	done
	# every structure twice with one size
	if [[ -z $(printf '%s\n' "${sizes[@]}" | sort | uniq -u) ]]; then
		ok "structures have one size with -m64 and -m32"
	else
		printf '%s\n' "${sizes[@]}"
		not_ok "structures have one size with -m64 and -m32"
	fi
	rm -rf "$work"
}

# Hosts that this machine gets packages from, as apt and pip know them.
package_hosts()
{
	# shellcheck disable=SC2016  # apt's
	apt-get indextargets --format '$(SITE)' | sort -u
	python - <<'EOF'
import os, subprocess, sys
from pip._internal.models.index import PyPI
config = subprocess.run([sys.executable, "-m", "pip", "config", "list"],
                        capture_output=True, text=True).stdout.replace("'", " ").split()
urls = [PyPI.url, f"https://{PyPI.file_storage_domain}",
        *(word for word in [*os.environ.values(), *config] if word.startswith("http"))]
print(*urls, sep="\n")
EOF
}

lint_names()
{
	local -a patterns=()
	local host path
	while read -r host; do
		host=${host#*://}
		host=${host%%/*}
		host=${host##*@}
		host=${host%%:*}
		case $host in '' | localhost | 127.*) continue ;; esac
		patterns+=("${host//./\\.}")
	done < <(package_hosts)
	[[ ${#patterns[@]} -ge 2 ]] || { not_ok "package hosts are known"; return; }
	# this clone, where it lies, and home: as the beginning of a path
	for path in "$repo" "$(dirname "$repo")" "$HOME" "$cache"; do
		case $path in / | /tmp | /home | /usr/src) continue ;; esac
		patterns+=("(^|[^A-Za-z0-9_.\$}/-])${path//./\\.}/")
	done
	local found
	found=$(printf '%s\n' "${files[@]}" | sed "s|^|$repo/|" |
		xargs -d '\n' grep -EnI -e "$(IFS='|'; echo "${patterns[*]}")" /dev/null || true)
	if [[ -z $found ]]; then
		ok "no file names a package host or a path of this machine"
	else
		printf '%s\n' "$found"
		not_ok "no file names a package host or a path of this machine"
	fi
}

# In a copy: what lies in tools/ was built without.
lint_warnings()
{
	local work status=0
	work=$(mktemp -d)
	mkdir "$work/tools"
	cp "$repo"/*.h "$work"
	(cd "$repo/tools" && git ls-files -coz --exclude-standard | xargs -0 cp --parents -t "$work/tools")
	make -s -j2 -C "$work/tools" WERROR=-Werror || status=1
	rm -rf "$work"
	return "$status"
}

# version.h is what everything else reads, but for two files that must name it themselves.
lint_version()
{
	local version
	version=$(dalbe_version)
	grep -qFx "version = \"$version\"" "$repo/pyproject.toml" &&
		head -n 1 "$repo/debian/changelog" | grep -qF "dalbe ($version)"
}

lint_licences()
{
	local file licence missing=()
	for file in "${c_files[@]}" "${bash_files[@]}" "${python_files[@]}"; do
		case $file in
		tools/libdalbe.* | bindings/python/dalbe/*) licence=LGPL-2.1-or-later ;; # for programs of any licence
		dalbe_ctl.h) licence='GPL-2.0-only WITH Linux-syscall-note' ;;
		*) licence=GPL-2.0-only ;;
		esac
		head -n 3 "$repo/$file" | grep -qE "SPDX-License-Identifier: $licence( \*/)?\$" ||
			missing+=("$file")
	done
	if [[ ${#missing[@]} -eq 0 ]]; then
		ok "every source has its SPDX line"
	else
		not_ok "no SPDX line: ${missing[*]}"
	fi
}

# Commands that readers are told to type: in backticks, or indented by four blanks.
lint_targets()
{
	local target missing=()
	while read -r target; do
		grep -q "^$target:" Makefile || missing+=("$target")
	done < <(grep -hoE '(^ {4}|`)make [a-z][a-z-]*' README.md docs/*.md | sed 's/.* //' | sort -u)
	[[ ${#missing[@]} -eq 0 ]] || { echo "no such target: ${missing[*]}"; false; }
}

need git git
need shellcheck shellcheck
need pahole dwarves
need perl perl
need mandoc mandoc
enter_venv

cd "$repo"
mapfile -t files < <(git ls-files -co --exclude-standard | while read -r f; do [[ ! -f $f ]] || echo "$f"; done)
mapfile -t c_files < <(printf '%s\n' "${files[@]}" | grep '\.[ch]$')
mapfile -t python_files < <(printf '%s\n' "${files[@]}" | grep '\.py$')
mapfile -t man_files < <(printf '%s\n' "${files[@]}" | grep '/man/.*\.[1-9]$')
mapfile -t bash_files < <(for f in "${files[@]}"; do
	if [[ $f == *.sh ]] || head -n 1 "$f" 2>/dev/null | tr -d '\0' | grep -q '^#!.*bash'; then
		echo "$f"
	fi
done)
[[ ${#c_files[@]} -gt 0 && ${#bash_files[@]} -gt 0 && ${#python_files[@]} -gt 0 ]] ||
	die "found no C, bash or Python in $repo: is it a whole clone?"

# Of the names that follow, those whose files differ from $since; all, if it is empty.
changed()
{
	if [[ -z $since ]]; then
		printf '%s\n' "$@"
	else
		printf '%s\n' "$@" | grep -Fx -f <(git diff --name-only "$since" -- && git ls-files -o --exclude-standard) || true
	fi
}
[[ -z $since ]] || git rev-parse --quiet --verify "$since^{commit}" >/dev/null || die "'$since' is no commit"
mapfile -t changed_c < <(changed "${c_files[@]}")
mapfile -t changed_bash < <(changed "${bash_files[@]}")
mapfile -t changed_python < <(changed "${python_files[@]}")
mapfile -t changed_man < <(changed "${man_files[@]}")

tap=$(mktemp)
trap 'rm -f "$tap"' EXIT
{
	lint_c
	for f in "${changed_bash[@]}"; do report "shellcheck $f" shellcheck -x "$f"; done
	[[ ${#changed_python[@]} -eq 0 ]] ||
		report "ruff" ruff check --no-cache --quiet "${changed_python[@]}"
	report "mypy" mypy --no-error-summary --cache-dir "$cache/mypy" testbed/dalbe_testbed
	for f in "${changed_man[@]}"; do report "mandoc $f" mandoc -T lint -W warning "$f"; done
	report "tools/ builds without a warning" lint_warnings
	lint_uapi
	report "pyproject.toml and debian/changelog have the version of version.h" lint_version
	report "README and docs name targets of the Makefile" lint_targets
	report "figures in README and docs are those of their tables" dalbe-testbed figures
	lint_licences
	lint_names
} | tee "$tap"
! grep -q '^not ok' "$tap"
