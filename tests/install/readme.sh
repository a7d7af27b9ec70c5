#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In a minimal Debian with git, make and sudo: the command lines of README and of
# docs/operate.md, verbatim, typed by a user who may use sudo. scripts/fresh.sh starts it.
#
# Those that build and install come first, then those of dalbectl, of which none may
# be refused as a bad command line (status 2): they go no further without the module.
# Those that need the module itself are run by tests/vng/guest.sh.
set -euo pipefail

# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
cd "$repo"

# This machine's kernel is another than the Debian's here: as if that one ran.
kver=$(apt-cache depends "linux-headers-$(dpkg --print-architecture)" |
	sed -n 's/.*Depends: linux-headers-\([0-9].*\)/\1/p' | head -n 1)
stand_in()
{
	printf '#!/bin/sh\n%s\n' "$2" >"/usr/local/bin/$1"
	chmod +x "/usr/local/bin/$1"
}
stand_in uname "[ \"\$*\" != -r ] || { echo $kver; exit; }; exec /usr/bin/uname \"\$@\""
stand_in modprobe "exec /sbin/modprobe -n -S $kver \"\$@\"" # found, not loaded
useradd --create-home somebody
printf 'Defaults !env_reset\nsomebody ALL=(ALL) NOPASSWD: ALL\n' >/etc/sudoers.d/somebody # apt's proxy
chown -R somebody "$repo"
user_path=/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games # as login gives it
# It is between 12:00 and 13:00 there: a deadline that passed less than an hour ago is refused.
zone=NOON$(((10#$(date -u +%H) + 12) % 24 - 24))
user() { runuser -u somebody -- env HOME=/home/somebody TZ="$zone" PATH="$user_path" "$@"; }
# shellcheck disable=SC2016  # the stand-in expands it
stand_in pgrep 'echo $PPID' # some process, which is not the first
mkdir -p /srv/backup # what README's user wants to send
echo data >/srv/backup/file
echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/yes

# commands FILE WORD...: its indented lines that begin with one of these words.
commands()
{
	local file=$1 words
	shift
	words=$(IFS='|'; echo "$*")
	sed -nE "s/^    (($words) .*)/\1/p" "$file"
}

typed() { user bash -c "$1" </dev/null; }
understood()
{
	local status=0
	command -v dalbectl || return 1
	user timeout 20 bash -c "$1" </dev/null || status=$?
	[[ $status -ne 2 ]] # dalbectl's answer to a command line that it does not understand
}

# all FILE: a line of TAP per command.
all()
{
	local line
	commands "$1" make sudo >/tmp/build
	commands "$1" dalbectl >/tmp/dalbectl
	report "$1: there are commands to build and install" test -s /tmp/build
	report "$1: there are commands of dalbectl" test -s /tmp/dalbectl
	while read -r line <&3; do
		case $line in
		"make demo"*) [[ $demo ]] || continue ;;
		"make reproduce"* | "make check"*) continue ;; # half an hour each
		"sudo sysctl"* | "sudo ip"*) continue ;; # tests/vng/guest.sh
		"sudo mokutil"* | "sudo reboot"*) continue ;; # a firmware's
		"sudo dalbectl"*) continue ;; # tests/bpf/guest.sh
		esac
		report "$line" typed "$line"
	done 3</tmp/build
	while read -r line <&3; do
		report "$line" understood "$line"
	done 3</tmp/dalbectl
}

demo=
[[ ${1:-} != --demo ]] || demo=yes
all README.md
all docs/operate.md

# Would it have noticed? Each kind of line, broken on purpose.
sed -E 's/^    make && sudo make install/    make \&\& sudo make instal/; s/^    (dalbectl run .*)--deadline/    \1--dedline/' \
	README.md >/tmp/broken.md
failed=${failures:-0} demo=
all /tmp/broken.md >/tmp/broken.tap
failures=$failed
report "they were typed by somebody who is not root" user test ! -w /etc/passwd
report "a broken line of make's is noticed" grep '^not ok - make && sudo make instal' /tmp/broken.tap
report "a broken line of dalbectl's is noticed" grep '^not ok - dalbectl run .*--dedline ' /tmp/broken.tap
[[ ${failures:-0} -eq 0 ]]
