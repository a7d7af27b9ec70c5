/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the user interface (dalbe_ctl.c) may ask of a socket, and the defaults
 * that it keeps for the sockets (per network namespace).
 */
#ifndef TCP_DALBE_CDG_H
#define TCP_DALBE_CDG_H

#include <net/sock.h>

#include "cdg.h"
#include "dalbe.h"
#include "dalbe_ctl.h"

/**
 * struct dalbe_defaults - net.dalbe.* of one network namespace
 * @g_us: G without a goal, us
 * @idle_g_us: least G of a controlled flow while the queue is short, us; 0: none
 * @effect: flows with a goal, and scavengers, use the effect test
 * @controller: DALBE_CONTROLLER_*
 * @scavenger: flows without a goal have the weight controller
 * @tw_ms: update period of w; 0: derived
 * @wmin_ppm: lowest w
 * @limit_increase: of w and phi, F(19)
 * @after_deadline: DALBE_AFTER_*
 * @hystart: struct cdg_heuristics
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
};

/* What TCP's state says of a loss or a mark. */
enum dalbe_episode {
	DALBE_REDUCTION,	/* CWR: a mark, a repaired tail, a full queue here */
	DALBE_RECOVERY,
	DALBE_TIMEOUT,
};

/* Each with the socket locked, and its congestion control known to be ours. */
bool dalbe_sk_is_ours(const struct sock *sk);
int dalbe_sk_set_goal(struct sock *sk, u64 bytes, u64 deadline_ns, u32 flags);
void dalbe_sk_clear_goal(struct sock *sk);
void dalbe_sk_set_params(struct sock *sk, const struct dalbe_params *p);
void dalbe_sk_get_state(struct sock *sk, struct dalbe_state *state);

const struct dalbe_defaults *dalbe_net_defaults(const struct net *net);
int dalbe_ctl_register(void);
void dalbe_ctl_unregister(void);

#endif /* TCP_DALBE_CDG_H */
