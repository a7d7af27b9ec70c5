// SPDX-License-Identifier: GPL-2.0-only
/* Looked at before anything else: what keeps dalbectl from a program's connections here. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "checks.h"
#include "libdalbe.h"
#include "options.h"
#include "procs.h"

#define NO_PROC \
	"there is no /proc, which lists a program's connections: mount it, as bwrap --proc /proc does"
#define FOREIGN_PROC \
	"this /proc is another PID namespace's, and lists other programs: mount our own, with unshare --mount-proc or bwrap --proc /proc"
#define YAMA_ROOT \
	"kernel.yama.ptrace_scope is 2, and only root may look into a process: start dalbectl with sudo"
#define YAMA_NOBODY \
	"kernel.yama.ptrace_scope is 3, and until a reboot nobody may look into a process: use libdalbe in the program, or sysctl net.ipv4.tcp_congestion_control=dalbe_cdg net.dalbe.scavenger=1"
#define FILTERED \
	"a seccomp filter forbids pidfd_getfd(2): systemd needs SystemCallFilter=pidfd_getfd, docker --cap-add=SYS_PTRACE"

/* The text of a short file; empty where there is none. */
static const char *read_file(const char *path, char *text, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, len - 1);

	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return text;
}

int checks_ptrace_scope(void)
{
	char text[32];

	return atoi(read_file("/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text)));
}

static bool may_ptrace(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	return !syscall(SYS_capget, &header, data) &&
	       data[0].effective & 1u << CAP_SYS_PTRACE;
}

static const char *obstacle(void)
{
	char text[32];
	ssize_t len = readlink("/proc/self", text, sizeof(text) - 1);
	int scope;

	if (len < 0)
		return NO_PROC;
	text[len] = '\0';
	if (atoi(text) != getpid())
		return FOREIGN_PROC;
	scope = checks_ptrace_scope();
	if (scope == 3)
		return YAMA_NOBODY;
	return scope == 2 && !may_ptrace() ? YAMA_ROOT : NULL;
}

bool checks_unavailable(const char *prefix)
{
	/* Asked first: a plain run, too, looks at connections, and a filter may kill for it. */
	bool may_dup = procs_may_dup();
	const char *why;

	if (dalbe_open()) {
		complain("%scannot open %s: %s", prefix, DALBE_DEVICE,
			 dalbe_strerror(DALBE_OP_OPEN, errno));
		return true;
	}
	why = may_dup ? obstacle() : FILTERED;
	if (why)
		complain("%s%s", prefix, why);
	return why;
}

/* A tap device, whose packets a program takes, as those of pasta and slirp4netns. */
static bool is_tap(int fd, struct ifreq *request)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };

	request->ifr_data = (void *)&info;
	return !ioctl(fd, SIOCETHTOOL, request) && !strcmp(info.driver, "tun") &&
	       !strcmp(info.bus_info, "tap");
}

/*
 * A rootless container has a user namespace, and no way out but a tap device. Its TCP ends there,
 * and its proxy has connections of its own. A virtual machine monitor's tap devices are not alone.
 */
void checks_warn_of_proxy(void)
{
	char text[64], name[IF_NAMESIZE] = "";
	struct if_nameindex *all;
	bool another = false;
	int fd;

	if (strstr(read_file("/proc/self/uid_map", text, sizeof(text)), "4294967295"))
		return;		/* no user namespace but the first */
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	all = if_nameindex();
	for (struct if_nameindex *i = all; fd >= 0 && all && i->if_name; i++) {
		struct ifreq request = { 0 };

		strncpy(request.ifr_name, i->if_name, IF_NAMESIZE - 1);
		if (ioctl(fd, SIOCGIFFLAGS, &request) || !(request.ifr_flags & IFF_UP) ||
		    request.ifr_flags & IFF_LOOPBACK)
			continue;
		if (is_tap(fd, &request))
			memcpy(name, request.ifr_name, IF_NAMESIZE);
		else
			another = true;
	}
	if (all)
		if_freenameindex(all);
	if (fd >= 0)
		close(fd);
	if (*name && !another)
		complain("warning: connections end at %s, a tap device as pasta and slirp4netns have; those that leave are the proxy's, and stay as they are: outside, type sysctl net.ipv4.tcp_congestion_control=dalbe_cdg net.dalbe.scavenger=1",
			 name);
}
