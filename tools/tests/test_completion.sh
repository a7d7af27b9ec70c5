#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The completions that completion.sh makes offer every command and every option of the
# help: bash's in this shell; those of zsh and fish, where they are here, in a real one.
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

# Print what a real zsh lists when TAB follows these words. It says when it has begun to read and
# when it has answered, as Ctrl-E comes after TAB.
# shellcheck disable=SC2016 # what zsh is to expand
zsh_lists()
{
	local dir
	dir=$(mktemp -d)
	cat >"$dir/.zshrc" <<-EOF
		PS1= PROMPT_EOL_MARK= LISTMAX=10000 COLUMNS=200 LINES=400
		fpath=($PWD/completion \$fpath)
		autoload -Uz compinit && compinit -u -D
		zstyle ':completion:*:default' list-colors no=
		zle-line-init() { print '<reads>' }
		answered() { print '<answered>' }
		zle -N zle-line-init; zle -N answered
		bindkey '^I' list-choices '^E' answered
	EOF
	ZDOTDIR=$dir timeout 60 zsh -f -c '
		zmodload zsh/zpty
		zpty z zsh -d -i
		zpty -r -m z out "*<reads>*"
		print -v keys "\\t\\C-E"
		zpty -n -w z "$1$keys"
		zpty -r -m z out "*<answered>*"
		print -r -- $out' zsh "$*" | sed -E 's/\x1b\[[?0-9;]*[a-zA-Z]|\r/ /g'
	rm -r "$dir"
}
# shellcheck disable=SC2016 # what fish is to expand
fish_lists() { fish --no-config -c 'source completion/dalbectl.fish; complete -C "$argv"' "$*"; }

# lists SHELL WANTED WORD...: exactly these, one a line and before their explanations.
lists()
{
	local shell=$1 want=$2 got
	shift 2
	got=$("${shell}_lists" "$*" | sed -nE 's/^ *(--[a-z-]+)([[:blank:]].*)?$/\1/p' | sort)
	[[ $got == "$want" ]] || { echo "# $shell: '$*' gives '$got', not '$want'"; false; }
}
among()
{
	local shell=$1 want=$2 got
	shift 2
	got=$("${shell}_lists" "$*")
	grep -qwF -- "$want" <<<"$got" || { echo "# $shell: '$*' gives '$got', not '$want'"; false; }
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
	command -v $shell >/dev/null || {
		echo "ok - completion: $shell completes # SKIP no $shell here"
		continue
	}
	for command in "${commands[@]}"; do
		listed=$(./dalbectl "$command" --help | sed -nE 's/^  (--[a-z-]+).*/\1/p' | sort)
		check "$shell: $command --TAB lists its options" lists $shell "$listed" "dalbectl $command --"
	done
	check "$shell: a command" among $shell watch "dalbectl "
	check "$shell: names of a value" among $shell best-effort "dalbectl run --after "
	check "$shell: files for a path" among $shell completion.sh "dalbectl run --size-of compl"
	check "$shell: the program after --" among $shell mktemp "dalbectl run --size 1G --deadline +1h -- mkt"
	check "$shell: the program's operands" among $shell completion.sh "dalbectl run --quiet -- ls compl"
done
[[ $failures -eq 0 ]]
