#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Prints the completion of dalbectl for a shell, made from dalbectl's own help, and
# that from the option table in options.c. Names that an option's value can have come
# from what dalbectl says about an empty one: "type one of ...".
set -eu

[ $# -eq 2 ] || { echo "usage: completion.sh bash|zsh|fish DALBECTL" >&2; exit 2; }
shell=$1
dalbectl=$2
tab=$(printf '\t')

# One line per command and option, fields parted by tabs:
#	command NAME SUMMARY OPERAND          OPERAND: program, pid or nothing
#	option COMMAND NAME VALUE HELP NAMES  VALUE: nothing, or as in the help; NAMES in blanks
table()
{
	"$dalbectl" --help | sed -n 's/^  \([a-z][a-z-]*\)  *\(.*\)/\1	\2/p' |
	while IFS=$tab read -r command summary; do
		help=$("$dalbectl" "$command" --help)
		operand=
		case $(echo "$help" | head -n 1) in
		*PROGRAM*) operand=program ;;
		*PID*) operand=pid ;;
		esac
		printf 'command\t%s\t%s\t%s\n' "$command" "$summary" "$operand"
		# a value follows its option after one blank, the help after several
		echo "$help" | sed -nE \
			-e 's/^  --([a-z-]+) ([A-Z]+) +(.*)/\1	\2	\3/p;t' \
			-e 's/^  --([a-z-]+)  +(.*)/\1		\2/p' |
		awk -F '\t' -v OFS=';' '{ print $1, $2, $3 }' |
		while IFS=';' read -r name value text; do
			names=
			[ -z "$value" ] || names=$("$dalbectl" "$command" "--$name" '' 2>&1 </dev/null |
				sed -n 's/.*; type one of //p' | tr -d ',')
			printf 'option\t%s\t%s\t%s\t%s\t%s\n' "$command" "$name" "$value" "$text" "$names"
		done
	done
}

bash_completion()
{
	awk -F '\t' '
	$1 == "command" { commands = commands " " $2; operand[$2] = $4; next }
	{
		options[$2] = options[$2] " --" $3
		if ($4 ~ /^(FILE|PATH)$/)
			values = values "\t" $2 ":--" $3 ") _dalbectl_files; return ;;\n"
		else if ($4 != "")
			values = values "\t" $2 ":--" $3 ") _dalbectl_words \"" $6 "\"; return ;;\n"
	}
	END {
		n = split(commands, order, " ")
		print "# bash completion of dalbectl, made by tools/completion.sh"
		print "_dalbectl_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }"
		print "_dalbectl_files()\n{\n\tcompopt -o filenames 2>/dev/null"
		print "\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n}\n"
		print "_dalbectl()\n{"
		print "\tlocal i cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}"
		print "\tlocal command=${COMP_WORDS[1]}"
		print "\tCOMPREPLY=()"
		print "\tif [[ $COMP_CWORD -eq 1 ]]; then"
		print "\t\t_dalbectl_words \"" substr(commands, 2) " --help --version\""
		print "\t\treturn\n\tfi"
		print "\tcase $command in"
		for (i = 1; i <= n; i++)
			if (operand[order[i]] == "program")
				printf "\t%s)\n\t\tfor ((i = 2; i < COMP_CWORD; i++)); do\n" \
					"\t\t\t[[ ${COMP_WORDS[i]} == -- ]] || continue\n" \
					"\t\t\t_command_offset $((i + 1))\n\t\t\treturn\n\t\tdone ;;\n", order[i]
		print "\tesac"
		printf "\tcase $command:$prev in\n%s\tesac\n", values
		print "\tcase $command:$cur in"
		for (i = 1; i <= n; i++) {
			c = order[i]
			if (operand[c] == "pid")
				printf "\t%s:[0-9]*) _dalbectl_words \"$(cd /proc && echo [0-9]*)\" ;;\n", c
			printf "\t%s:*) _dalbectl_words \"%s%s\" ;;\n", c, substr(options[c], 2), \
				operand[c] == "program" ? " --" : ""
		}
		print "\tesac\n}\ncomplete -F _dalbectl dalbectl"
	}'
}

zsh_completion()
{
	awk -F '\t' '
	# in single quotes, and in the brackets and colons of _arguments
	function quoted(s) { gsub(/\047/, "\047\\\047\047", s); return s }
	function explained(s)
	{
		gsub(/\\/, "\\\\", s)
		gsub(/:/, "\\:", s)
		gsub(/[[]/, "\\[", s)
		gsub(/[]]/, "\\]", s)
		return quoted(s)
	}
	$1 == "command" {
		commands = commands "\t\t\047" $2 ":" explained($3) "\047\n"
		order[++n] = $2
		operand[$2] = $4
		next
	}
	{
		what = ""
		if ($4 != "")
			what = ":" $4 ":" ($4 ~ /^(FILE|PATH)$/ ? "_files" : $6 != "" ? "(" $6 ")" : " ")
		specs[$2] = specs[$2] " \\\n\t\t\t\047--" $3 ($4 != "" ? "=" : "") \
			"[" explained($5) "]" what "\047"
	}
	END {
		print "#compdef dalbectl"
		print "# zsh completion of dalbectl, made by tools/completion.sh"
		print "_dalbectl()\n{"
		# not "commands": that is a table of zsh, which _normal needs
		printf "\tlocal -a subcommands=(\n%s\t)\n", commands
		print "\tif (( CURRENT == 2 )); then"
		print "\t\t_describe command subcommands\n\t\treturn\n\tfi"
		print "\tlocal command=$words[2]"
		print "\tshift words\n\t(( CURRENT-- ))\n\tcase $command in"
		for (i = 1; i <= n; i++) {
			c = order[i]
			# -S -A: what follows the program or -- is its own
			printf "\t%s)\n\t\t_arguments%s%s%s ;;\n", c, \
				operand[c] == "program" ? " -S -A \047-*\047" : "", specs[c], \
				operand[c] == "program" ? " \\\n\t\t\t\047*::program:_normal\047" : \
				operand[c] == "pid" ? " \\\n\t\t\t\047*:process:_pids\047" : ""
		}
		print "\tesac\n}\n_dalbectl \"$@\""
	}'
}

# __fish_complete_subcommand looks for the program among the words after dalbectl and its
# command; it has to know which options take a value. Without the "-" it drops long ones.
fish_completion()
{
	awk -F '\t' '
	function quoted(s) { gsub(/[\\\047]/, "\\\\&", s); return "\047" s "\047" }
	function seen(command) { return "complete -c dalbectl -n \047__fish_seen_subcommand_from " command "\047" }
	$1 == "command" {
		print "complete -c dalbectl -n __fish_use_subcommand -a " $2 " -d " quoted($3)
		if ($4 == "program")
			program = $2
		else if ($4 == "pid")
			print seen($2) " -a \047(__fish_complete_pids)\047"
		next
	}
	BEGIN {
		print "# fish completion of dalbectl, made by tools/completion.sh"
		print "complete -c dalbectl -f"
	}
	{
		if ($2 == program && $4 != "")
			valued = valued " --" $3
		print seen($2) " -l " $3 \
			($4 == "" ? "" : $4 ~ /^(FILE|PATH)$/ ? " -r -F" : " -x") \
			($6 == "" ? "" : " -a " quoted($6)) " -d " quoted($5)
	}
	END { print seen(program) " -a \047(__fish_complete_subcommand --fcs-skip=2 -" valued ")\047" }'
}

lines=$(table)
[ -n "$lines" ] || { echo "completion.sh: the help of $dalbectl lists no command" >&2; exit 1; }
case $shell in
bash | zsh | fish) echo "$lines" | "${shell}_completion" ;;
*) echo "completion.sh: no completion for '$shell'; type bash, zsh or fish" >&2; exit 2 ;;
esac
