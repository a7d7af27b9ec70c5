// SPDX-License-Identifier: LGPL-2.1-or-later
/* libdalbe: give a TCP connection a number of bytes and a deadline. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libdalbe.h"

/*
 * /dev/dalbe: its descriptor in the lower half, all ones while there is none; in the upper half how
 * often it was opened, as a descriptor that is opened again may have the number of the last.
 */
static _Atomic uint64_t device = UINT32_MAX;
static _Atomic dev_t device_id;		/* its st_rdev */

static int device_fd(uint64_t opened)
{
	return (int)(uint32_t)opened;
}

/*
 * The BPF edition has no device. Where it is there it refuses a state of one byte, of any socket,
 * and not as the kernel would, which does not know our level (ENOPROTOOPT).
 */
static bool served_by_bpf(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char byte;
	socklen_t len = sizeof(byte);
	bool served = fd >= 0 && getsockopt(fd, SOL_DALBE, DALBE_SO_STATE, &byte, &len) &&
		      errno == EINVAL;

	if (fd >= 0)
		close(fd);
	return served;
}

int dalbe_open(void)
{
	uint64_t none = atomic_load(&device);
	struct stat st;
	int fd;

	if (device_fd(none) >= 0)
		return 0;
	fd = open(DALBE_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		int err = errno;

		if (served_by_bpf())
			return 0;
		errno = err;
		return -1;
	}
	if (!fstat(fd, &st))
		atomic_store(&device_id, st.st_rdev);
	if (!atomic_compare_exchange_strong(&device, &none,
					    ((none >> 32) + 1) << 32 | (uint32_t)fd))
		close(fd);	/* another thread was faster */
	return 0;
}

void dalbe_close(void)
{
	int fd = device_fd(atomic_fetch_or(&device, UINT32_MAX));

	if (fd >= 0)
		close(fd);
}

/*
 * Programs that become daemons close every descriptor they know nothing of,
 * and the number may name another file by now. If so, forget it, without
 * closing what is not ours.
 */
static bool lost_device(uint64_t opened)
{
	struct stat st;

	if (!fstat(device_fd(opened), &st) && S_ISCHR(st.st_mode) &&
	    st.st_rdev == atomic_load(&device_id))
		return false;
	atomic_compare_exchange_strong(&device, &opened, opened | UINT32_MAX);
	return true;
}

static int ask_device(unsigned long command, void *arg)
{
	uint64_t opened;
	int err = errno, ret;

	if (dalbe_open())
		return -1;
	opened = atomic_load(&device);
	if (device_fd(opened) < 0) {	/* the BPF edition has said why not */
		errno = err;
		return -1;
	}
	ret = ioctl(device_fd(opened), command, arg);
	if (ret < 0) {
		err = errno;	/* another file's may be any */

		/* Another thread may have seen it first, and have opened it since. */
		if ((lost_device(opened) || atomic_load(&device) != opened) &&
		    !dalbe_open())
			ret = ioctl(device_fd(atomic_load(&device)), command, arg);
		else
			errno = err;
	}
	return ret < 0 ? -1 : 0;
}

/* Each command of the device is a socket option of the BPF edition, by the same number. */
static int sockopt(unsigned long command, void *arg)
{
	int fd = *(int *)arg, name = _IOC_NR(command);
	socklen_t len = _IOC_SIZE(command);

	if (command != DALBE_IOC_GET_STATE)
		return setsockopt(fd, SOL_DALBE, name, arg, len);
	if (getsockopt(fd, SOL_DALBE, name, arg, &len))
		return -1;
	((struct dalbe_state *)arg)->fd = fd;
	return 0;
}

/* By the edition that is there; without BPF's, the kernel does not know our options. */
static int dalbe_ioctl(unsigned long command, void *arg)
{
	int err = errno;

	if (sockopt(command, arg)) {
		if (errno != ENOPROTOOPT && errno != EOPNOTSUPP && errno != ENOTSOCK &&
		    errno != EBADF)
			return -1;
		if (ask_device(command, arg))
			return -1;
	}
	errno = err;	/* a call that succeeds leaves it */
	return 0;
}

int dalbe_attach(int fd)
{
	char name[16] = "";
	socklen_t len = sizeof(name);

	/* Each congestion control of the module is named so, and takes goals. */
	if (!getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) &&
	    !strncmp(name, "dalbe_", strlen("dalbe_")))
		return 0;
	return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, DALBE_CC_CDG,
			  strlen(DALBE_CC_CDG));
}

uint32_t dalbe_new_job(void)
{
	uint32_t job;

	return getrandom(&job, sizeof(job), 0) == sizeof(job) && job ? job : (uint32_t)getpid();
}

int dalbe_set_job_goal(int fd, uint32_t job, uint64_t bytes, uint64_t deadline_ns, uint32_t flags)
{
	struct dalbe_goal goal = {
		.fd = fd,
		.flags = flags,
		.bytes = bytes,
		.deadline_ns = deadline_ns,
		.job = job,
	};

	return dalbe_ioctl(DALBE_IOC_SET_GOAL, &goal);
}

int dalbe_set_goal(int fd, uint64_t bytes, uint64_t deadline_ns,
		   uint32_t flags)
{
	return dalbe_set_job_goal(fd, 0, bytes, deadline_ns, flags);
}

int dalbe_get_state(int fd, struct dalbe_state *state)
{
	struct dalbe_state request = { .fd = fd };

	if (dalbe_ioctl(DALBE_IOC_GET_STATE, &request))
		return -1;
	*state = request;
	return 0;
}

int dalbe_clear(int fd)
{
	struct dalbe_clear clear = { .fd = fd };

	return dalbe_ioctl(DALBE_IOC_CLEAR_GOAL, &clear);
}

int dalbe_set_params(int fd, const struct dalbe_params *params)
{
	struct dalbe_params copy = *params;

	copy.fd = fd;
	return dalbe_ioctl(DALBE_IOC_SET_PARAMS, &copy);
}

int dalbe_set_group(int fd, uint32_t group)
{
	struct dalbe_group request = {
		.fd = fd,
		.group = group,
	};

	return dalbe_ioctl(DALBE_IOC_SET_GROUP, &request);
}

const char *dalbe_status_name(uint32_t status)
{
	switch (status) {
	case DALBE_STATUS_NONE:		return "no goal";
	case DALBE_STATUS_WAITING:	return "waiting";
	case DALBE_STATUS_ON_TRACK:	return "on track";
	case DALBE_STATUS_INFEASIBLE:	return "infeasible";
	case DALBE_STATUS_LATE:		return "late";
	case DALBE_STATUS_DONE:		return "done";
	}
	return "unknown";
}

const char *dalbe_controller_name(uint32_t controller)
{
	switch (controller) {
	case DALBE_CONTROLLER_FIXED:	return "fixed";
	case DALBE_CONTROLLER_PID:	return "pid";
	case DALBE_CONTROLLER_MBC:	return "mbc";
	case DALBE_CONTROLLER_WEIGHT:	return "weight";
	case DALBE_CONTROLLER_FLOOR:	return "floor";
	}
	return "unknown";
}

const char *dalbe_regime_name(uint32_t regime)
{
	switch (regime) {
	case DALBE_REGIME_NONE:		return "none";
	case DALBE_REGIME_ALONE:	return "alone";
	case DALBE_REGIME_CONTENDED:	return "contended";
	}
	return "unknown";
}

#define DEVICE_HIDDEN \
	"the module is loaded, but this /dev does not show it: systemd needs PrivateDevices=no, docker --device=/dev/dalbe"
#define DEVICE_FORBIDDEN \
	"the cgroup forbids this device: systemd needs DeviceAllow=/dev/dalbe, docker --device=/dev/dalbe"

#define NOT_LOADED "the module is not loaded: sudo modprobe tcp_dalbe_cdg"
#define ENROL(key) \
	"; if that is refused, Secure Boot is on: type sudo dalbectl load (package dalbe-bpf), " \
	"which needs no key, or sudo mokutil --import " key ", then reboot"
/* Where DKMS has the key that it signs modules with: its own, or Ubuntu's for all such modules. */
#define DKMS_KEY	"/var/lib/dkms/mok.pub"
#define UBUNTU_KEY	"/var/lib/shim-signed/mok/MOK.der"
#define OTHER_VERSION \
	"the module that is loaded is of another version: once no connection uses it, sudo modprobe -r tcp_dalbe_cdg && sudo modprobe tcp_dalbe_cdg"

#define MULTIPATH \
	"Multipath TCP has no goals: turn it off with GODEBUG=multipathtcp=0 where the program is in Go, else with sudo sysctl net.mptcp.enabled=0, and start the program again"
#define NOT_OURS \
	"the socket uses none of dalbe's congestion controls: dalbectl set or dalbe_attach() selects one"
#define CC_KEPT \
	"not permitted: a route's congctl lock, a security module or a BPF program of the cgroup keeps the congestion control; ask the administrator"
#define CC_NOT_LISTED \
	"dalbe_cdg is not in net.ipv4.tcp_allowed_congestion_control: add it there with sysctl"

static bool file_has(const char *path, const char *text)
{
	char line[4096];
	ssize_t len;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	len = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (len < 0)
		return false;
	line[len] = '\0';
	return strstr(line, text);
}

/* Containers and services may have a /dev of their own, and no /sys. */
static bool device_hidden(void)
{
	return !access("/sys/class/misc/dalbe", F_OK) || file_has("/proc/misc", " dalbe\n");
}

/* With Secure Boot the kernel loads only modules that a key it knows has signed. */
static bool signature_needed(void)
{
	static const char lockdown[] = "/sys/kernel/security/lockdown";

	return file_has("/sys/module/module/parameters/sig_enforce", "Y") ||
	       file_has(lockdown, "[integrity]") || file_has(lockdown, "[confidentiality]");
}

static const char *not_loaded(void)
{
	if (!signature_needed())
		return NOT_LOADED;
	return access(UBUNTU_KEY, F_OK) ? NOT_LOADED ENROL(DKMS_KEY) : NOT_LOADED ENROL(UBUNTU_KEY);
}

/* The module puts its names into the list; an administrator may have written another. */
static const char *not_allowed(void)
{
	return file_has("/proc/sys/net/ipv4/tcp_allowed_congestion_control", DALBE_CC_CDG) ?
	       CC_KEPT : CC_NOT_LISTED;
}

const char *dalbe_strerror(enum dalbe_op op, int err)
{
	switch (err) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		if (op != DALBE_OP_ATTACH && device_hidden())
			return DEVICE_HIDDEN;
		return not_loaded();
	case EACCES:
		return op == DALBE_OP_ATTACH ?
		       "the socket may not be changed: run as its owner" :
		       "permission denied: sudo chmod 666 /dev/dalbe, or a udev rule to keep it";
	case EPERM:
		if (op == DALBE_OP_OPEN)
			return DEVICE_FORBIDDEN;
		return op == DALBE_OP_ATTACH ? not_allowed() :
		       "not permitted: run as the owner of the process, or with sudo";
	case EBADF:
		return "the descriptor is not open: list a process's with ls -l /proc/PID/fd";
	case ENOTSOCK:
		return "the descriptor is not a socket: pass one of a TCP connection";
	case EOPNOTSUPP:
	case ENOPROTOOPT:
		if (op == DALBE_OP_ATTACH || err == EOPNOTSUPP)
			return "the socket is not TCP: pass one of a TCP connection";
		return NOT_OURS;
	case EPROTONOSUPPORT:
		return MULTIPATH;
	case ENOMEM:
		return "the kernel is short of memory: try again";
	case ENODATA:
		return "there is no goal to update: set one first";
	case ETIME:
		return "the deadline has passed: give one that lies ahead";
	case EOVERFLOW:
		return "size or deadline exceeds 2^63 - 1: give a smaller one";
	case ERANGE:
		return "a parameter is out of range: see dalbe(4) for the ranges";
	case EINVAL:
		if (op == DALBE_OP_ATTACH)
			return "the socket cannot change: pass one of an open connection";
		return "refused: check size and flags, and the versions of tool and module";
	case ENOTTY:
		return OTHER_VERSION;
	case EMFILE:
	case ENFILE:
		return "too many open files: raise the limit with ulimit -n";
	}
	return strerror(err);
}
