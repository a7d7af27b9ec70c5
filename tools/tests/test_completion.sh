#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The completions that completion.sh makes: they have every command and every option
# of the help, bash's completes, and where zsh and fish are here they read theirs.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
failures=0
check()
{
	local name=$1
	shift
	if "$@"; then
		echo "ok - completion: $name"
	else
		echo "not ok - completion: $name"
		failures=$((failures + 1))
	fi
}

# complete WORD...: what bash offers for the last of them.
complete_words()
{
	# shellcheck disable=SC2317 # _dalbectl calls them
	(
		# shellcheck source=/dev/null
		. completion/dalbectl
		COMP_WORDS=(dalbectl "$@") COMP_CWORD=$#
		COMPREPLY=()
		compopt() { :; }
		_command_offset() { COMPREPLY=("command at $1"); }
		_dalbectl
		echo "${COMPREPLY[*]}"
	)
}
offers()
{
	local want=$1 got
	shift
	got=$(complete_words "$@")
	[[ " $got " == *" $want "* ]] || { echo "# '$*' gives '$got', not '$want'"; false; }
}
only()
{
	local want=$1 got
	shift
	got=$(complete_words "$@")
	[[ $got == "$want" ]] || { echo "# '$*' gives '$got', not '$want'"; false; }
}

mapfile -t commands < <(./dalbectl --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p')
check "dalbectl has commands" test "${#commands[@]}" -ge 5
for command in "${commands[@]}"; do
	check "offers $command" offers "$command" "${command:0:1}"
	mapfile -t options < <(./dalbectl "$command" --help | grep -oE '^  (-., )?--[a-z-]+' | grep -oE -- '--.*')
	check "$command has options" test "${#options[@]}" -ge 1
	for option in "${options[@]}"; do
		check "bash: $command $option" offers "$option" "$command" "$option"
		check "zsh: $command $option" grep -qE -- "'$option=?\\[" completion/_dalbectl
		check "fish: $command $option" \
			grep -qE -- "from $command' -l ${option#--} " completion/dalbectl.fish
	done
done
check "names of a value" only "best-effort" run --after b
check "a value without names offers nothing" only "" run --deadline ""
check "files for a path" offers completion.sh run --size-of compl
check "another command's options are not offered" only "" clear --size
check "the program after --" only "command at 4" run --quiet -- rsync
check "a process" offers "$$" get "$$"
check "bash reads it" bash -n completion/dalbectl
for shell in zsh fish; do
	file=completion/_dalbectl
	[[ $shell != fish ]] || file=completion/dalbectl.fish
	if command -v $shell >/dev/null; then
		check "$shell reads it" $shell -n $file
	else
		echo "ok - completion: $shell reads it # SKIP no $shell here"
	fi
done
[[ $failures -eq 0 ]]
