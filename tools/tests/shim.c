// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stand-in for the kernel module, preloaded into dalbectl by its tests: it
 * answers open("/dev/dalbe"), the ioctls and setsockopt(TCP_CONGESTION). Goals
 * are kept per socket cookie in a file that several runs of dalbectl share;
 * progress is the real socket's. No congestion is controlled.
 *
 *	SHIM_STATE	the file with the goals
 *	SHIM_LOG	every call, one line each
 *	SHIM_LOOKS	the cookie of a connection, a line each time dalbectl asks for its state
 *	SHIM_ABSENT	as if /dev/dalbe were missing, with this errno
 *	SHIM_LOADED	and yet the module loaded
 *	SHIM_MISC	a file in the place of /proc/misc
 *	SHIM_SYS	where files of /sys, /proc/sys and /var/lib/shim-signed are to be looked for
 *	SHIM_PROC	what /proc/self names; none: there is no /proc
 *	SHIM_OLD	the module is of a version that knows no parameters and no groups
 *	SHIM_SECCOMP	pidfd_getfd(2) fails with this errno; 0: it kills
 *	SHIM_LOSE	the pidfd_getfd(2) of this number, counted from 1, fails with EBADF
 *	SHIM_CLEAR	before the first update of a goal, somebody clears it
 *	SHIM_REGIME	DALBE_REGIME_* of every socket with a goal
 *	SHIM_STATUS	DALBE_STATUS_* of every socket with a goal that has sent, and is not done
 *	SHIM_CLOCK	what CLOCK_REALTIME shows when dalbectl starts, in seconds
 *	SHIM_CC		the congestion control of every socket
 *	SHIM_KEEP	it stays: setsockopt(TCP_CONGESTION) fails with this errno
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "dalbe_ctl.h"

#define MAX_SOCKETS	64

struct shim_socket {
	__u64 cookie;
	__u64 base;		/* payload acknowledged before the goal */
	__u64 bytes;		/* 0: no goal */
	__u64 deadline_ns;
	__u64 done_ns;		/* when it was first seen done */
	struct dalbe_params params;
	__u32 group;
	__u32 job;
	__u64 done;		/* acknowledged for the goal, when last asked */
};

static struct shim_socket *table;
static FILE *call_log, *look_log;
static int device = -1;

/* As Docker and systemd do; it holds for the programs that dalbectl starts, too. */
static void forbid_pidfd_getfd(int err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 438, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, err ? SECCOMP_RET_ERRNO | (__u32)err :
						SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		abort();
}

__attribute__((constructor)) static void shim_init(void)
{
	const char *state = getenv("SHIM_STATE"), *path = getenv("SHIM_LOG");
	const char *looks = getenv("SHIM_LOOKS");
	size_t size = MAX_SOCKETS * sizeof(*table);
	int fd;

	unsetenv("LD_PRELOAD");		/* not for the program it starts */
	fd = open(state ? state : "", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)size))
		abort();
	table = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	call_log = fopen(path ? path : "", "ae");
	look_log = fopen(looks ? looks : "/dev/null", "ae");
	if (table == MAP_FAILED || !call_log || !look_log)
		abort();
	setlinebuf(call_log);
	setlinebuf(look_log);
	if (getenv("SHIM_SECCOMP"))
		forbid_pidfd_getfd(atoi(getenv("SHIM_SECCOMP")));
}

int open(const char *path, int flags, ...)
{
	int (*real)(const char *path, int flags, ...) = dlsym(RTLD_NEXT, "open");
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (getenv("SHIM_SYS") &&
	    (!strncmp(path, "/sys/", 5) || !strncmp(path, "/proc/sys/", 10))) {
		char file[4096];

		snprintf(file, sizeof(file), "%s%s", getenv("SHIM_SYS"), path);
		return real(file, flags, mode);
	}
	if (!strcmp(path, "/proc/misc"))
		return real(getenv("SHIM_MISC") ? getenv("SHIM_MISC") : "", flags, mode);
	if (strcmp(path, DALBE_DEVICE))
		return real(path, flags, mode);
	if (getenv("SHIM_ABSENT")) {
		errno = atoi(getenv("SHIM_ABSENT"));
		return -1;
	}
	device = real("/dev/null", flags);
	return device;
}

long syscall(long number, ...)
{
	long (*real)(long number, ...) = dlsym(RTLD_NEXT, "syscall");
	const char *lose = getenv("SHIM_LOSE");
	static int calls;
	long arg[3];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 3; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (lose && number == 438 && ++calls == atoi(lose)) {
		errno = EBADF;
		return -1;
	}
	return real(number, arg[0], arg[1], arg[2]);
}

ssize_t readlink(const char *path, char *buf, size_t len)
{
	ssize_t (*real)(const char *path, char *buf, size_t len) = dlsym(RTLD_NEXT, "readlink");
	const char *proc = getenv("SHIM_PROC");

	if (strcmp(path, "/proc/self") || !proc)
		return real(path, buf, len);
	errno = ENOENT;
	return *proc ? snprintf(buf, len, "%s", proc) : -1;
}

int access(const char *path, int mode)
{
	int (*real)(const char *path, int mode) = dlsym(RTLD_NEXT, "access");

	if (getenv("SHIM_SYS") && !strncmp(path, "/var/lib/shim-signed/", 21)) {
		char file[4096];

		snprintf(file, sizeof(file), "%s%s", getenv("SHIM_SYS"), path);
		return real(file, mode);
	}
	if (strcmp(path, "/sys/class/misc/dalbe"))
		return real(path, mode);
	errno = ENOENT;
	return getenv("SHIM_LOADED") ? 0 : -1;
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

static __u64 cookie_of(int fd)
{
	__u64 cookie = 0;
	socklen_t len = sizeof(cookie);

	getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len);
	return cookie;
}

static struct shim_socket *find(int fd, bool create)
{
	__u64 cookie = cookie_of(fd);

	for (int i = 0; i < MAX_SOCKETS; i++) {
		if (!table[i].cookie && create)
			table[i].cookie = cookie;
		if (table[i].cookie == cookie)
			return &table[i];
	}
	errno = ENOPROTOOPT;
	return NULL;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	int (*real)(int fd, int level, int name, const void *value,
		    socklen_t len) = dlsym(RTLD_NEXT, "setsockopt");

	if (level != IPPROTO_TCP || name != TCP_CONGESTION)
		return real(fd, level, name, value, len);
	if (getenv("SHIM_KEEP")) {
		errno = atoi(getenv("SHIM_KEEP"));
		return -1;
	}
	if (len != strlen(DALBE_CC_CDG) || memcmp(value, DALBE_CC_CDG, len)) {
		fprintf(call_log, "back %llu %.*s\n", cookie_of(fd), (int)len, (const char *)value);
		if (find(fd, false))
			find(fd, false)->cookie = ~0ull;	/* of no socket */
		return real(fd, level, name, value, len);
	}
	fprintf(call_log, "attach %llu\n", cookie_of(fd));
	return find(fd, true) ? 0 : -1;
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	int (*real)(int fd, int level, int name, void *value,
		    socklen_t *len) = dlsym(RTLD_NEXT, "getsockopt");
	int ret = real(fd, level, name, value, len);
	const char *cc = getenv("SHIM_CC");

	if (!ret && level == IPPROTO_TCP && name == TCP_CONGESTION && cc) {
		snprintf(value, 16, "%s", cc);	/* as long as any name may be */
		find(fd, true);
	}
	if (!ret && level == IPPROTO_TCP && name == TCP_INFO &&
	    ((struct tcp_info *)value)->tcpi_state == BPF_TCP_ESTABLISHED)
		fprintf(look_log, "%llu\n", cookie_of(fd));
	return ret;
}

static __u64 acked(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);
	__u64 sent;

	getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len);
	sent = info.tcpi_bytes_sent - info.tcpi_bytes_retrans;
	return info.tcpi_bytes_acked < sent ? info.tcpi_bytes_acked : sent;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int (*real)(clockid_t clock, struct timespec *now) = dlsym(RTLD_NEXT, "clock_gettime");
	const char *begin = getenv("SHIM_CLOCK");
	static time_t ahead;
	int ret = real(clock, now);

	if (ret || clock != CLOCK_REALTIME || !begin)
		return ret;
	if (!ahead)
		ahead = atol(begin) - now->tv_sec;
	now->tv_sec += ahead;
	return 0;
}

static __u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (__u64)now.tv_sec * 1000000000 + (__u64)now.tv_nsec;
}

/* The goal of a job is that of each of its sockets: the first's, until an update. */
static void set_job(struct shim_socket *s, const struct dalbe_goal *goal)
{
	bool update = goal->flags & DALBE_GOAL_UPDATE;

	for (int i = 0; i < MAX_SOCKETS; i++) {
		struct shim_socket *other = &table[i];

		if (!goal->job || other == s || !other->bytes || other->job != goal->job)
			continue;
		if (update) {
			other->bytes = s->bytes;
			other->deadline_ns = s->deadline_ns;
			other->done_ns = 0;
		} else {
			s->bytes = other->bytes;
			s->deadline_ns = other->deadline_ns;
		}
	}
}

/* Bytes of all connections of the socket's job, as far as they were asked. */
static __u64 job_done(const struct shim_socket *s)
{
	__u64 done = s->done;

	for (int i = 0; i < MAX_SOCKETS; i++)
		done += s->job && &table[i] != s && table[i].job == s->job ? table[i].done : 0;
	return done;
}

static int set_goal(struct shim_socket *s, const struct dalbe_goal *goal)
{
	__u64 deadline_ns = goal->deadline_ns;
	static bool cleared;
	int err = 0;

	if (goal->flags & DALBE_GOAL_UPDATE && getenv("SHIM_CLEAR") && !cleared) {
		cleared = true;
		s->bytes = 0;
		s->job = 0;
	}
	if (goal->flags & DALBE_GOAL_RELATIVE)
		deadline_ns += now_ns();
	if (!goal->bytes)
		err = EINVAL;
	else if (goal->bytes > INT64_MAX || deadline_ns > INT64_MAX)
		err = EOVERFLOW;
	else if (deadline_ns <= now_ns())
		err = ETIME;
	else if ((goal->flags & DALBE_GOAL_UPDATE) && (!s->bytes || s->job != goal->job))
		err = ENODATA;
	fprintf(call_log, "goal %llu %llu %llu %u %d %u\n", s->cookie, goal->bytes,
		deadline_ns, goal->flags, err, goal->job);
	if (err) {
		errno = err;
		return -1;
	}
	if (!(goal->flags & DALBE_GOAL_UPDATE))
		s->base = acked(goal->fd);
	s->bytes = goal->bytes;
	s->deadline_ns = deadline_ns;
	s->done_ns = 0;
	s->job = goal->job;
	set_job(s, goal);
	return 0;
}

/* Sockets of the same group, whether they have a goal or not; without one itself alone. */
static __u32 sharing(const struct shim_socket *s)
{
	__u32 n = 0;

	for (int i = 0; i < MAX_SOCKETS; i++)
		n += s->group && table[i].cookie && table[i].group == s->group;
	return n ? n : 1;
}

static void get_regime(const struct shim_socket *s, struct dalbe_state *state)
{
	const char *regime = getenv("SHIM_REGIME");

	state->regime = regime ? (__u32)atoi(regime) : DALBE_REGIME_NONE;
	if (state->regime == DALBE_REGIME_NONE)
		return;
	state->yields = 3;
	state->path_flows = sharing(s);
	state->carried_kBps = 625;
	if (state->regime == DALBE_REGIME_ALONE)
		state->ours_ppm = 120000;
	if (state->regime == DALBE_REGIME_CONTENDED)
		state->level_Bps = 62500;
}

static bool listens(int fd)
{
	int ret = 0;
	socklen_t len = sizeof(ret);

	return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &ret, &len) && ret;
}

static void get_state(struct shim_socket *s, struct dalbe_state *state)
{
	const char *status = getenv("SHIM_STATUS");

	state->status = DALBE_STATUS_NONE;
	state->controller = s->params.flags & DALBE_PARAM_CONTROLLER ?
			    s->params.controller : DALBE_CONTROLLER_MBC;
	state->wmin_ppm = s->params.flags & DALBE_PARAM_WMIN ? s->params.wmin_ppm : 20000;
	state->rate_Bps = 1250000;
	state->g_ns = 3000000;
	state->srtt_us = 50000;
	state->group = s->group;
	if (s->params.flags)
		state->flags |= DALBE_STATE_OWN_PARAMS;
	if (!s->bytes && state->controller != DALBE_CONTROLLER_WEIGHT)
		return;
	if (listens(state->fd)) {	/* the kernel begins when it is connected */
		state->goal_bytes = s->bytes;
		state->deadline_ns = s->deadline_ns;
		state->status = s->bytes ? DALBE_STATUS_WAITING : DALBE_STATUS_NONE;
		return;
	}
	state->w_ppm = 500000;
	state->phi_ppm = 1000000;
	get_regime(s, state);
	if (!s->bytes)
		return;
	state->goal_bytes = s->bytes;
	s->done = acked(state->fd) - s->base;
	state->job = s->job;
	state->bytes_done = job_done(s);
	state->deadline_ns = s->deadline_ns;
	if (state->bytes_done >= s->bytes && !s->done_ns)
		s->done_ns = now_ns();
	state->time_left_ns = (__s64)(s->deadline_ns -
				      (s->done_ns ? s->done_ns : now_ns()));
	state->status = s->done_ns ? DALBE_STATUS_DONE :
			status && state->bytes_done ? (__u32)atoi(status) :
			state->time_left_ns < 0 ? DALBE_STATUS_LATE :
						  DALBE_STATUS_ON_TRACK;
}

int ioctl(int fd, unsigned long command, ...)
{
	int (*real)(int fd, unsigned long command, ...) =
		dlsym(RTLD_NEXT, "ioctl");
	struct shim_socket *s;
	va_list args;
	void *arg;

	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	if (fd != device || fd < 0)
		return real(fd, command, arg);

	if ((uintptr_t)arg % 8) {
		errno = EINVAL;
		return -1;
	}
	s = find(*(int *)arg, false);	/* fd comes first in all of them */
	if (!s)
		return -1;
	switch (command) {
	case DALBE_IOC_SET_GOAL:
		return set_goal(s, arg);
	case DALBE_IOC_GET_STATE:
		get_state(s, arg);
		return 0;
	case DALBE_IOC_CLEAR_GOAL:
		s->bytes = 0;
		s->job = 0;
		return 0;
	case DALBE_IOC_SET_PARAMS:
		if (getenv("SHIM_OLD"))
			break;
		s->params = *(struct dalbe_params *)arg;
		fprintf(call_log, "params %llu %u %u %u %u %u %u\n", s->cookie,
			s->params.flags, s->params.g_ns, s->params.controller,
			s->params.tw_ms, s->params.wmin_ppm,
			s->params.after_deadline);
		return 0;
	case DALBE_IOC_SET_GROUP:
		if (getenv("SHIM_OLD"))
			break;
		s->group = ((struct dalbe_group *)arg)->group;
		fprintf(call_log, "group %llu %u\n", s->cookie, s->group);
		return 0;
	}
	errno = ENOTTY;
	return -1;
}
