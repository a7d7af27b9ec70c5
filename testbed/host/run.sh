#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Plays one scenario on the kernel of this machine, and leaves nothing behind.
#
#   run.sh     checks, queues up, waits               killed: a pipe closes, and
#     keep.sh    modules, mounts, limit               keep.sh undoes everything
#       scenario.sh    process 1 of its own process, network and mount namespaces
#
# The machine's own network is not among what the scenario can reach, and all of
# its processes, namespaces and devices go with its process 1.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage()
{
	cat <<EOT
usage: run.sh [-n NAME] [-t SEC] -o OUT_DIR INPUT_DIR
       run.sh -p

Plays testbed/scenario.sh, which has the format of INPUT_DIR and OUT_DIR, with
modules that are loaded before and unloaded after. Runs as root and in real time;
one at a time, since module parameters are the whole kernel's: others wait.

  -o DIR   where the results go; created if need be
  -n NAME  name of the run in messages (default: name of OUT_DIR)
  -t SEC   limit: end a run that takes longer (default 3600)
  -p       only check whether this machine can do it, and print release=, sha256= (of
           the kernel's build id) and clock=
  -h       this text

  HELPERS  directory with testbed/guest/build-helpers.sh's programs, if not its own

Exit status: the scenario's; 2 if this machine cannot do it; 124 if the limit was hit.
EOT
}

die() { echo "host: $*" >&2; exit 2; }

# feature NAME COMMAND...: whether the kernel has it, tried where it harms nobody.
feature()
{
	unshare --net "${@:2}" >/dev/null 2>&1 ||
		die "kernel $(uname -r) has no $1: boot one that has, or say --backend uml"
}

check_machine()
{
	local tool
	[[ $EUID -eq 0 ]] || die "needs root: run it with sudo, or say --backend uml"
	for tool in unshare:util-linux ip:iproute2 tc:iproute2 ethtool:ethtool modprobe:kmod \
		ping:iputils-ping pkill:procps iperf:iperf ITGSend:d-itg tcpdump:tcpdump; do
		command -v "${tool%:*}" >/dev/null ||
			die "${tool%:*} is missing: type 'apt-get install ${tool#*:}'"
	done
	[[ -e /proc/modules ]] ||
		die "kernel $(uname -r) has no loadable modules: say --backend uml or qemu"
	feature veth ip link add dev0 type veth peer name dev1
	feature bridge ip link add dev0 type bridge
	feature netem tc qdisc add dev lo root netem delay 1ms
	feature htb tc qdisc add dev lo root htb
}

out='' name='' limit_s=3600 only_print=false
while getopts hpk:o:n:t: opt; do
	case $opt in
	h) usage; exit 0 ;;
	p) only_print=true ;;
	k) die "--backend host runs the kernel that is running: give no --kernel" ;;
	o) out=$OPTARG ;;
	n) name=$OPTARG ;;
	t) limit_s=$OPTARG ;;
	*) die "see run.sh -h" ;;
	esac
done
shift $((OPTIND - 1))

if $only_print; then
	check_machine
	printf '%s\n' "release=$(uname -r)" "sha256=$(sha256sum </sys/kernel/notes | cut -d ' ' -f 1)" clock=real
	exit 0
fi

[[ -n $out && $# -eq 1 ]] || die "say -o OUT_DIR INPUT_DIR; see run.sh -h"
[[ -r $1/modules && -r $1/link ]] || die "$1 holds no input of scenario.sh"
[[ $limit_s =~ ^[0-9]+$ ]] || die "-t takes whole seconds"
check_machine

mkdir -p "$out"
out=$(realpath "$out")
input=$(realpath "$1")
for path in "$out" "$input" "$here"; do # the scenario has a /run of its own
	[[ $path/ != /run/* ]] || die "$path: use a directory that is not below /run"
done
helpers=${HELPERS:-$("$here/../guest/build-helpers.sh")}

mkdir -p /run/lock
exec 9>/run/lock/dalbe-testbed
flock -n 9 || { echo "waiting for another run on this kernel"; flock 9; }

# keep.sh is a session of its own, so that it outlives whoever kills this one,
# and holds the lock until it has cleaned up. Its standard input is a pipe that
# we never write to: it ends when we do.
# shellcheck disable=SC2034 # alive: its end is what matters
exec {alive}> >(exec setsid unshare --mount --propagation private \
	"$here/keep.sh" "${name:-${out##*/}}" "$limit_s" "$out" "$helpers" "$input")
keeper=$!
trap 'exec {alive}>&-; wait "$keeper" || :; exit 143' TERM
trap 'exec {alive}>&-; wait "$keeper" || :; exit 130' INT
wait "$keeper"
