/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * dalbe: tell a TCP connection how many bytes it has to send, and by when.
 *
 * The interface is a character device, /dev/dalbe, whose ioctls name a socket
 * by its file descriptor. The socket is TCP (IPv4 or IPv6) and already uses one
 * of the project's congestion controls:
 *
 *	setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "dalbe_cdg", 9);
 *	int dev = open("/dev/dalbe", O_RDWR | O_CLOEXEC);
 *	struct dalbe_goal goal = {
 *		.fd = fd, .flags = DALBE_GOAL_RELATIVE,
 *		.bytes = 40000000000, .deadline_ns = 5400 * 1000000000ull,
 *	};
 *	ioctl(dev, DALBE_IOC_SET_GOAL, &goal);
 *
 * It works before connect(), on a listener (every accepted connection inherits
 * the goal and counts its own bytes; a relative deadline counts from the call,
 * or with DALBE_GOAL_EACH from when it is established) and while data flows.
 * No privilege is needed beyond opening the device: a goal makes a connection
 * more modest than an ordinary one. dalbe_vegas is the exception: at w = 1 it
 * keeps 15 phi packets in the queue and answers one of phi losses and marks,
 * where phi, 1 to 2.3 as measured beside CUBIC (docs/framework.md), is the
 * price that it pays over the others'. So it needs CAP_NET_ADMIN, unless
 * net.ipv4.tcp_allowed_congestion_control names it.
 *
 * Rules of every command:
 *   - structures have no implicit padding, and may lie anywhere;
 *   - flags that are not defined here, and reserved fields that are not zero,
 *     are refused, so that they can get a meaning later;
 *   - a call that fails changes nothing.
 *
 * Errors common to all commands:
 *   EBADF       fd is not open
 *   ENOTSOCK    fd is not a socket
 *   EOPNOTSUPP  the socket is not TCP, or it is Multipath TCP
 *   ENOPROTOOPT the socket's congestion control is not one of ours
 *   EINVAL      unknown flag, non-zero reserved field, or a number of ours whose size or
 *               direction differs from this header's
 *   EFAULT      the structure does not lie in readable (GET_STATE: and writable)
 *               memory
 *   ENOTTY      unknown command
 * and to those that change a socket:
 *   EACCES      the device was opened for reading only
 *   EPERM, ...  whatever setsockopt(TCP_CONGESTION) would say: a security module,
 *               or a BPF program of the socket's cgroup, refuses (on Linux 6.1
 *               nobody is asked: it does not let a module do so)
 */
#ifndef _UAPI_DALBE_CTL_H
#define _UAPI_DALBE_CTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define DALBE_DEVICE	"/dev/dalbe"
#define DALBE_CC_CDG	"dalbe_cdg"	/* for setsockopt(TCP_CONGESTION) */
#define DALBE_CC_CUBIC	"dalbe_cubic"	/* the same on Linux' CUBIC, */
#define DALBE_CC_VEGAS	"dalbe_vegas"	/* on TCP Vegas */

/* The ranges that the kernel accepts. */
#define DALBE_G_MIN_NS	2000u		/* CDG's scale G: 0.002 ms ... */
#define DALBE_G_MAX_NS	125000000u	/* ... to 125 ms */
#define DALBE_TW_MIN_MS	100u		/* update period of w; 0 derives it */
#define DALBE_TW_MAX_MS	600000u
#define DALBE_WMIN_MIN_PPM	1000u	/* lowest weight, parts per million */
#define DALBE_WMIN_MAX_PPM	1000000u

/* struct dalbe_goal, flags */
#define DALBE_GOAL_RELATIVE	(1u << 0) /* deadline_ns counts from now */
#define DALBE_GOAL_UPDATE	(1u << 1) /* keep the count of bytes done and
					   * the controller's state: bytes is
					   * the new total since the first set.
					   * ENODATA when there is no goal.
					   */
#define DALBE_GOAL_EACH		(1u << 2) /* with RELATIVE, not of a job:
					   * deadline_ns counts from when the
					   * connection is established; of a
					   * listener's, for each from its own
					   */

/**
 * struct dalbe_goal - how much, and by when (DALBE_IOC_SET_GOAL)
 * @fd: the TCP socket
 * @flags: DALBE_GOAL_*
 * @bytes: payload to be acknowledged from now on, 1 to 2^63 - 1
 * @deadline_ns: soft deadline, on CLOCK_BOOTTIME as the caller's time namespace has it, or from now
 *	if relative, or from the connection's beginning
 * @job: 0: the goal is the connection's own; else any number, the same for all connections of a job
 * @reserved: zero
 *
 * A job is one transfer over several connections: what all of them carry counts for its goal, and
 * one controller sets one w for all. Divided among connections the same goal takes more from
 * others, as each part is judged for itself. Set the goal on each connection: the first sets the
 * job's, and the others take part in that one, whatever @bytes and @deadline_ns say.
 * DALBE_GOAL_UPDATE changes it for all, and DALBE_IOC_SET_PARAMS the parameters, which at first are
 * those of the first connection. What a connection has carried before it took part does not count.
 * A job outlives its connections, until it is done or late, and for ten minutes. Its number means
 * nothing beyond the user and the network namespace; take a random one for each transfer. The
 * destinations may differ; what is known of a path is shared by destination, or by a group (struct
 * dalbe_group), whatever the job.
 *
 * Without DALBE_GOAL_UPDATE a transfer begins anew, with w at its lowest: set more often than Tw
 * ends, such goals are late. A connect() that fails, as any disconnect, ends the goal: set it
 * again before the next one.
 * Errors: EINVAL if @bytes is zero; ETIME if the deadline has passed;
 * EOVERFLOW if @bytes or the deadline exceeds 2^63 - 1; for an update ENODATA, too, of a job in
 * which the connection has no part yet.
 */
struct dalbe_goal {
	__s32	fd;
	__u32	flags;
	__aligned_u64	bytes;
	__aligned_u64	deadline_ns;
	__u32	job;
	__u32	reserved[3];
};

/* Controllers: who sets w. */
#define DALBE_CONTROLLER_FIXED	0	/* nobody: plain CDG at g_ns, CUBIC
					 * or Vegas
					 */
#define DALBE_CONTROLLER_PID	1
#define DALBE_CONTROLLER_MBC	2
#define DALBE_CONTROLLER_WEIGHT	3	/* nobody: w stays at wmin, by the
					 * deadline or not, and also without
					 * a goal: a scavenger
					 */
#define DALBE_CONTROLLER_FLOOR	4	/* the target rate while contended, and no
					 * more
					 */

/* The weight once the deadline has passed and bytes are left. */
#define DALBE_AFTER_BEST_EFFORT	0	/* w = 1 until done */
#define DALBE_AFTER_SCAVENGER	1	/* w = wmin until done */
#define DALBE_AFTER_KEEP	2	/* w stays as it was */

/* struct dalbe_params, flags: which fields to set */
#define DALBE_PARAM_G		(1u << 0)
#define DALBE_PARAM_CONTROLLER	(1u << 1)
#define DALBE_PARAM_TW		(1u << 2)
#define DALBE_PARAM_WMIN	(1u << 3)
#define DALBE_PARAM_AFTER	(1u << 4)

/**
 * struct dalbe_params - settings of one socket (DALBE_IOC_SET_PARAMS)
 * @fd: the TCP socket
 * @flags: DALBE_PARAM_*; at least one; fields not named must be zero
 * @g_ns: G without a goal (but see DALBE_CONTROLLER_WEIGHT), or with the fixed
 *        controller; DALBE_G_MIN_NS to DALBE_G_MAX_NS
 * @controller: DALBE_CONTROLLER_*
 * @tw_ms: update period of w, 0 (from window and RTT) or
 *         DALBE_TW_MIN_MS to DALBE_TW_MAX_MS; w is first set at the end of a Tw: one as
 *         long as the goal's time leaves w at its lowest until the deadline
 * @wmin_ppm: lowest w, DALBE_WMIN_MIN_PPM to DALBE_WMIN_MAX_PPM
 * @after_deadline: DALBE_AFTER_*
 * @reserved: zero
 *
 * Fields that are not set follow the network namespace's net.dalbe.* sysctls: the
 * controller of a connection without a goal is the weight controller where
 * net.dalbe.scavenger is 1, else that of net.dalbe.controller.
 * Errors: ERANGE if a value is out of range.
 */
struct dalbe_params {
	__s32	fd;
	__u32	flags;
	__u32	g_ns;
	__u32	controller;
	__u32	tw_ms;
	__u32	wmin_ppm;
	__u32	after_deadline;
	__u32	reserved[5];
};

/* struct dalbe_state, status */
#define DALBE_STATUS_NONE	0	/* no goal; a scavenger if w_ppm is not 0 */
#define DALBE_STATUS_WAITING	1	/* not connected yet, or no memory for it */
#define DALBE_STATUS_ON_TRACK	2
#define DALBE_STATUS_INFEASIBLE	3	/* w = 1, and still too slow */
#define DALBE_STATUS_LATE	4	/* deadline passed, bytes left */
#define DALBE_STATUS_DONE	5

/* struct dalbe_state, regime: whose path is it? */
#define DALBE_REGIME_NONE	0	/* not asked: no controller sets w, or
					 * net.dalbe.effect was 0; dalbe_cubic
					 * and dalbe_vegas never ask
					 */
#define DALBE_REGIME_ALONE	1	/* ours, and those' who share it */
/* 2 was a state that is no more */
#define DALBE_REGIME_CONTENDED	3	/* others are there: w decides */

/* struct dalbe_state, flags */
#define DALBE_STATE_APP_LIMITED	(1u << 0) /* last Tw: sender had too little */
#define DALBE_STATE_OWN_PARAMS	(1u << 1) /* somebody has set some for this socket, or for the
					   * listener that it is of: not all are the
					   * defaults
					   */

/**
 * struct dalbe_state - what a socket is doing (DALBE_IOC_GET_STATE)
 * @fd: the TCP socket (the only field read; all others must be zero)
 * @status: DALBE_STATUS_*
 * @flags: DALBE_STATE_*
 * @controller: DALBE_CONTROLLER_* in force
 * @after_deadline: DALBE_AFTER_* in force
 * @tw_ms: update period in force
 * @goal_bytes: size of the goal
 * @bytes_done: payload acknowledged since the goal was set
 * @deadline_ns: on the caller's CLOCK_BOOTTIME
 * @time_left_ns: until the deadline, negative after it; when done, as it was
 *                at the end
 * @target_Bps: F(6), bytes/s that meet the deadline; 0: nothing to aim for
 * @rate_Bps: bytes/s acknowledged over the last Tw
 * @w_ppm: price weight w, 1,000,000 = best effort; 0: not under control
 * @wmin_ppm: its lower bound in force
 * @phi_ppm: effective price ratio phi, F(25); 0: not under control
 * @g_ns: CDG's G in force
 * @srtt_us: smoothed RTT
 * @min_rtt_us: lowest RTT seen lately
 * @cwnd: congestion window, packets
 * @updates: Tw since the goal was set, or the scavenger began, but for APP_LIMITED ones
 * @backoffs_delay: cuts for delay gradients since connected; of dalbe_cubic, those
 *                  for phantom signals
 * @backoffs_loss: cuts for loss or ECN that TCP has asked for
 * @loss_episodes: windows in which packets were lost or marked, as TCP's state
 *                 tells
 * @loss_answers: of these, those in which TCP has asked for a cut: all. With
 *                use_tolerance, or dalbe_vegas under a goal, the answer may be
 *                no cut
 * @regime: DALBE_REGIME_*
 * @ours_ppm: what the path carries for all flows of this user under control, of
 *            the most that it has carried for them; while contended 0
 * @level_Bps: while contended, the rate that w leaves us; else 0
 * @yields: how often it gave way
 * @path_flows: flows of the socket's user that share what is known of the path, itself
 *              among them; 0: it does not ask, as @regime, or there is no flow yet
 * @group: see struct dalbe_group; 0: none
 * @carried_kBps: the most that the path has carried for these flows, 1000 bytes/s
 * @job: see struct dalbe_goal; where it is not 0, the goal, what is done of it, @status,
 *       @target_Bps, @rate_Bps, @w_ppm and @updates are the job's
 * @reserved: zero
 */
struct dalbe_state {
	__s32	fd;
	__u32	status;
	__u32	flags;
	__u32	controller;
	__u32	after_deadline;
	__u32	tw_ms;
	__aligned_u64	goal_bytes;
	__aligned_u64	bytes_done;
	__aligned_u64	deadline_ns;
	__s64	time_left_ns;
	__aligned_u64	target_Bps;
	__aligned_u64	rate_Bps;
	__u32	w_ppm;
	__u32	wmin_ppm;
	__u32	phi_ppm;
	__u32	g_ns;
	__u32	srtt_us;
	__u32	min_rtt_us;
	__u32	cwnd;
	__u32	updates;
	__aligned_u64	backoffs_delay;
	__aligned_u64	backoffs_loss;
	__u32	loss_episodes;
	__u32	loss_answers;
	__u32	regime;
	__u32	ours_ppm;
	__aligned_u64	level_Bps;
	__u32	yields;
	__u32	path_flows;
	__u32	group;
	__u32	carried_kBps;
	__u32	job;
	__u32	reserved;
};

/**
 * struct dalbe_clear - forget the goal (DALBE_IOC_CLEAR_GOAL)
 * @fd: the TCP socket
 * @flags: zero
 *
 * The connection goes on as plain CDG, CUBIC or Vegas, by the name of its
 * congestion control; or with the weight controller as a scavenger. Clearing
 * where there is no goal is fine.
 */
struct dalbe_clear {
	__s32	fd;
	__u32	flags;
};

/**
 * struct dalbe_group - share a path with other sockets (DALBE_IOC_SET_GROUP)
 * @fd: the TCP socket
 * @flags: zero
 * @group: any number but 0, the same for all sockets that are to share; 0: none, leave it
 * @reserved: zero
 *
 * Sockets of one user in one network namespace to one destination, by one route, share what
 * is known of their path, while dalbe_cdg has a controller: how much they carry together, and
 * whether others are there. Sockets of a group do so whatever their destinations and routes.
 * That is right where they all pass the same bottleneck, as a host's uplink, and it is not one
 * of the destinations' own: a job that sends to many addresses of an object store, say. It is
 * wrong where some of them have another bottleneck: what happens there passes for the state
 * of all, and all give way for it, or none does where one should. Without a group neither can
 * happen but to sockets with the same destination.
 *
 * The number means nothing beyond the user and the network namespace; take a random one.
 * The user is the one that created or accepted the socket, or owns it since fchown(2).
 *
 * It works before connect(), on a listener (every accepted connection inherits the group) and
 * on a connection, which then changes over at once, and forgets what it knew. A goal neither
 * sets nor ends it. A disconnect, or another congestion control, does end it.
 * Errors: ENOMEM.
 */
struct dalbe_group {
	__s32	fd;
	__u32	flags;
	__u32	group;
	__u32	reserved;
};

#define DALBE_IOC_MAGIC		0xDA
#define DALBE_IOC_SET_GOAL	_IOW(DALBE_IOC_MAGIC, 1, struct dalbe_goal)
#define DALBE_IOC_GET_STATE	_IOWR(DALBE_IOC_MAGIC, 2, struct dalbe_state)
#define DALBE_IOC_CLEAR_GOAL	_IOW(DALBE_IOC_MAGIC, 3, struct dalbe_clear)
#define DALBE_IOC_SET_PARAMS	_IOW(DALBE_IOC_MAGIC, 4, struct dalbe_params)
#define DALBE_IOC_SET_GROUP	_IOW(DALBE_IOC_MAGIC, 5, struct dalbe_group)

/*
 * The same by socket options, where dalbe_cdg is the BPF edition (docs/operate.md): there is no
 * device then.
 *
 *	setsockopt(fd, SOL_DALBE, DALBE_SO_GOAL, &goal, sizeof(goal));
 *
 * The structures, the answers and the errors are those of the commands, but for these:
 *   - fd is not looked at, nor what DALBE_SO_STATE is called with; it leaves fd 0
 *   - of a socket that is not TCP, or Multipath TCP, EOPNOTSUPP comes after EINVAL and EOVERFLOW
 *   - where the edition is not loaded, or the socket's cgroup is not one that it serves, each is
 *     an ENOPROTOOPT of TCP's own; so is DALBE_SO_STATE before connect() of a socket that has
 *     dalbe_cdg by default, and no goal
 *   - DALBE_SO_PARAMS: there is no DALBE_CONTROLLER_FIXED (ERANGE), and G has no effect
 *   - a change acts from the next ACK on
 */
#define SOL_DALBE		0xda1b
#define DALBE_SO_GOAL		1	/* set; struct dalbe_goal */
#define DALBE_SO_STATE		2	/* get; struct dalbe_state */
#define DALBE_SO_CLEAR		3	/* set; struct dalbe_clear */
#define DALBE_SO_PARAMS		4	/* set; struct dalbe_params */
#define DALBE_SO_GROUP		5	/* set; struct dalbe_group */

#endif /* _UAPI_DALBE_CTL_H */
