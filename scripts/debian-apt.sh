# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# An apt of our own, in the cache: it knows the Debian suites that have kernels of
# interest, whatever this machine runs, and only ever downloads. The machine's
# apt configuration is read, for its mirror, and not touched. Sourced after
# common.sh; DALBE_DEBIAN_MIRROR names another mirror.

# Where kernels of interest live, oldest first. A suite that the mirror does not
# have (any more) is left out.
suites=(bookworm bookworm-security trixie trixie-security trixie-backports sid)

apt=${cache:?}/matrix/apt
mkdir -p "$apt"

# apt that sees our package lists only. It cannot install anything: it never
# gets past the download, and its dpkg is false.
private_apt()
{
	local tool=$1
	shift
	"$tool" -c "$apt/apt.conf" "$@"
}

# Which URI serves a suite? Asked of apt itself, which reads both of its formats.
mirror_of()
{
	local want=archive
	[[ $1 != *-security ]] || want=security
	# shellcheck disable=SC2016  # these are apt's
	apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' \
		"Created-By: Packages" |
		awk -v want="$want" '
			$2 != "main" { next }
			$1 ~ /^(bookworm|trixie|forky|duke|sid|stable|testing|unstable)$/ \
				{ uri["archive"] = $3 }
			$1 ~ /^(bookworm|trixie|forky|duke|stable|testing)-security$/ \
				{ uri["security"] = $3 }
			END { print uri[want] }'
}

# write_apt_configuration ARCHITECTURE...
write_apt_configuration()
{
	local suite uri keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	[[ -e $keyring ]] ||
		die "no keys of Debian: type 'sudo apt-get install debian-archive-keyring'"
	mkdir -p "$apt"/{state/lists/partial,cache/archives/partial,etc/empty}
	: >"$apt/state/status"
	cat >"$apt/apt.conf" <<EOF
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Install-Pkgs;
#clear DPkg::Post-Invoke;
Dir::State "$apt/state";
Dir::State::status "$apt/state/status";
Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "$apt/etc/sources.list";
Dir::Etc::sourceparts "$apt/etc/empty";
Dir::Etc::preferences "$apt/etc/preferences";
Dir::Etc::preferencesparts "$apt/etc/empty";
Dir::Bin::dpkg "/bin/false";
APT::Architectures { $(printf '"%s"; ' "$@")};
APT::Get::Download-Only "true";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
EOF
	: >"$apt/etc/sources.list"
	for suite in "${suites[@]}"; do
		uri=$(mirror_of "$suite")
		[[ $suite == *-security ]] || uri=${DALBE_DEBIAN_MIRROR:-$uri}
		[[ -n $uri ]] || continue
		printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$uri" "$suite" \
			>>"$apt/etc/sources.list"
	done
	[[ -s $apt/etc/sources.list ]] ||
		die "this machine's apt knows no Debian mirror: type 'DALBE_DEBIAN_MIRROR=URI make kernel-matrix'"
}

# refresh_lists ARCHITECTURE: package lists, at most a day old, of this machine's architecture, of the
# one that is named, and of those that were named since; $apt/.fresh says which
refresh_lists()
{
	local native wanted fresh
	local -a architectures
	native=$(dpkg --print-architecture) wanted=$1
	fresh=$(find "$apt/.fresh" -mmin -1440 -newer "${BASH_SOURCE[0]}" -exec cat {} + 2>/dev/null || true)
	! grep -qx -- "$wanted" <<<"$fresh" || return 0
	# the native one comes first
	mapfile -t architectures < <(printf '%s\n' "$native" "$wanted" "$fresh" | awk 'NF && !seen[$1]++')
	say "reading the package lists of ${suites[*]} (${architectures[*]})"
	write_apt_configuration "${architectures[@]}"
	# a suite that is gone is no error here: its kernels will not be found
	private_apt apt-get -qq update || say "some lists could not be read"
	printf '%s\n' "${architectures[@]}" >"$apt/.fresh"
}
