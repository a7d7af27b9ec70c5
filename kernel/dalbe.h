/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the files of kernel/: a socket's private area, and the functions of each file.
 *
 *	tcp_dalbe_cdg.c	the name and the bases of each congestion control
 *	hooks.c		TCP's events, handed to the sender (core/sender.c)
 *	pacing.c	packets wait for their departure
 *	goal.c		a socket is given a goal or settings, or asked how it is doing
 *	flow.c		an established connection: memory, end of Tw, traces
 *	paths.c		which flows share what is known of a path, or a goal
 *	settings.c	the private area: progress, and settings in force
 *	defaults.c	net.dalbe.*
 *	counters.c	/proc/net/dalbe
 *	device.c	/dev/dalbe
 *	module.c	all of it together
 */
#ifndef DALBE_DALBE_H
#define DALBE_DALBE_H

#include <net/tcp.h>

#include "core/control/job.h"
#include "core/goal.h"
#include "core/sender.h"
#include "dalbe_ctl.h"

/**
 * struct dalbe_defaults - net.dalbe.* of one network namespace
 * @g_us: G without a goal, us
 * @idle_g_us: least G of a controlled flow while the queue is short, us; 0: none
 * @effect: of dalbe_cdg alone: where a controller sets w it runs the scavenger; 0: CDG, steered by
 *	G
 * @controller: DALBE_CONTROLLER_*
 * @scavenger: flows without a goal have the weight controller, and w = wmin; else no w
 * @tw_ms: update period of w; 0: derived
 * @wmin_ppm: lowest w
 * @limit_increase: of w and phi, F(19)
 * @after_deadline: DALBE_AFTER_*
 * @hystart: enum cdg_hystart, or both bits
 * @cubic_inflate: of bases that pay for losses alone, as dalbe_cubic's: w adds phantom losses (0),
 *	or deepens the cut for each loss, beta (1)
 *
 * All int, for the sysctl handlers; read with READ_ONCE().
 */
struct dalbe_defaults {
	int g_us;
	int idle_g_us;
	int effect;
	int controller;
	int scavenger;
	int tw_ms;
	int wmin_ppm;
	int limit_increase;
	int after_deadline;
	int hystart;
	int cubic_inflate;
};

/**
 * struct dalbe_flow - what an established connection needs beside its sender: the times of Tw
 * @busy_jiffies: time in which data was outstanding, since the connection began, when Tw began
 * @last_bytes_acked: tcp_sock.bytes_acked at the last ACK, its lower 32 bits
 * @tw_end_us: TCP's clock when the Tw under way ends; without a controller never
 * @tw_start_us: and when it began
 * @fq: the fq qdisc has asked to pace it
 * @job: in which it has a part; NULL: its goal is its own, or it has none
 * @sender: all that decides, among it control.w_q16, w
 */
struct dalbe_flow {
	u32 busy_jiffies;
	u32 last_bytes_acked;
	bool fq;
	u64 tw_end_us;
	u64 tw_start_us;
	struct job *job;
	struct sender sender;
};

/**
 * struct dalbe_sock - the private area of a socket
 * @self: this area, once it is ours; not in a copy, nor where there is another's data
 * @controlled: sender.control sets w: there is a goal, or the controller needs none
 * @before_flow: these two take so much
 * @flow: of an established connection, else NULL; NULL also where memory was
 *        short, until a later ACK finds some
 * @goal: with settings and group, before the connection exists
 *
 * A route's congestion control may take over before our init, and finds our data. Linux 6.12 calls
 * its release even without its init, and the in-tree CDG's release frees the pointer at offset 16:
 * so @flow, NULL until init, lies there. CDG's init does not clear the sum and the index behind its
 * pointer: so @goal.acked_before, 0 or 1 by then, and @goal.done_ns, 0, lie there. In turn, where
 * the route's is ours and another had its init in SYN-SENT, TCP calls our hooks on that one's data,
 * and our init never: dalbe_flow() returns NULL until dalbe_claim().
 */
struct dalbe_sock {
	union {
		struct {
			const struct dalbe_sock *self;
			bool controlled;
		};
		u64 before_flow[2];
	};
	struct dalbe_flow *flow;
	struct goal goal;
};

/**
 * struct dalbe_cc - a congestion control of this module
 * @ops: its name, and the hooks that dalbe_set_hooks() adds
 * @uncontrolled: base where no controller sets w: there is no goal, or the fixed controller; and
 *	of all connections where net.dalbe.effect is 0
 * @controlled: base where a controller sets w: for a goal, or at wmin without one
 */
struct dalbe_cc {
	struct tcp_congestion_ops ops;
	const struct lbe_base *uncontrolled;
	const struct lbe_base *controlled;
};

/**
 * struct dalbe_goal_end - what became of a goal, for the counters
 * @bytes: acknowledged for it
 * @deadline_ns: CLOCK_BOOTTIME
 * @done_ns: when its last byte was acknowledged; 0: not done
 * @end_ns: when it ended
 * @was_infeasible: that was its status at some time
 */
struct dalbe_goal_end {
	u64 bytes;
	u64 deadline_ns;
	u64 done_ns;
	u64 end_ns;
	bool was_infeasible;
};

static inline struct dalbe_sock *dalbe_sk(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* NULL where there is none, and where the private area is not ours: for every hook. */
static inline struct dalbe_flow *dalbe_flow(const struct sock *sk)
{
	const struct dalbe_sock *ca = dalbe_sk(sk);

	return ca->self == ca ? ca->flow : NULL;
}

static inline u64 dalbe_bytes_done(const struct sock *sk)
{
	return goal_bytes_done(&dalbe_sk(sk)->goal, tcp_sk(sk)->bytes_acked);
}

/**
 * dalbe_path_read - the socket as the sender sees it
 * @sk: the socket, locked
 * @p: is filled in
 * @now_us: TCP's clock; while an ACK is dealt with tcp_sock.tcp_mstamp is fresh
 */
static inline void dalbe_path_read(const struct sock *sk, struct tcp_path *p, u64 now_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	*p = (struct tcp_path) {
		.sk = sk,
		.now_us = now_us,
		.cwnd = tcp_snd_cwnd(tp),
		.ssthresh = tp->snd_ssthresh,
		.cwnd_cnt = tp->snd_cwnd_cnt,
	};
}

/* hooks.c */
void dalbe_init(struct sock *sk);
void dalbe_set_hooks(struct dalbe_cc *cc);

/* pacing.c */
u32 dalbe_min_tso_segs(struct sock *sk);
u32 dalbe_tso_segs(struct sock *sk, unsigned int mss);	/* where TCP has such a hook */
void dalbe_pace(struct sock *sk, bool on);

/* settings.c; with the socket locked */
struct dalbe_sock *dalbe_claim(struct sock *sk);
struct goal_settings dalbe_settings_in_force(const struct sock *sk);
bool dalbe_wants_control(const struct dalbe_sock *ca, const struct goal_settings *s);
struct control_config dalbe_control_config(const struct sock *sk, const struct goal_settings *s);

/* flow.c */
bool dalbe_alloc_flow(struct sock *sk);
void dalbe_free_flow(struct sock *sk);
void dalbe_apply_goal(struct sock *sk);
void dalbe_shorten_interval(struct sock *sk);
void dalbe_end_interval(struct sock *sk);

/* paths.c; with the socket locked, and a flow */
bool dalbe_path_join(struct sock *sk);
void dalbe_path_leave(struct sock *sk);
u32 dalbe_path_flows(const struct sock *sk);
bool dalbe_job_join(struct sock *sk);
void dalbe_job_leave(struct sock *sk);

/* paths.c */
int dalbe_paths_register(void);
void dalbe_paths_unregister(void);

/* goal.c; with the socket locked, and its congestion control known to be ours */
int dalbe_sk_set_goal(struct sock *sk, struct dalbe_goal *goal);
void dalbe_sk_clear_goal(struct sock *sk);
void dalbe_sk_set_params(struct sock *sk, const struct dalbe_params *p);
int dalbe_sk_set_group(struct sock *sk, u32 group);
void dalbe_sk_get_state(struct sock *sk, struct dalbe_state *state);

/* defaults.c */
const struct dalbe_defaults *dalbe_net_defaults(const struct net *net);
struct cdg_heuristics dalbe_heuristics(const struct sock *sk);
int dalbe_defaults_register(void);
void dalbe_defaults_unregister(void);

/* counters.c */
void dalbe_count_end(struct net *net, const struct dalbe_goal_end *end);
void dalbe_count_goal(struct sock *sk);
int dalbe_counters_register(void);
void dalbe_counters_unregister(void);

/* device.c */
int dalbe_device_register(void);
void dalbe_device_unregister(void);

/* tcp_dalbe_cdg.c; the last has no base */
extern struct dalbe_cc dalbe_controls[];

#endif /* DALBE_DALBE_H */
