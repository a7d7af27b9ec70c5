/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A user's goal and settings, and the state of a connection: checked and told by one code for
 * ioctl(2) (kernel/device.c) and setsockopt(2) (bpf/sockopt.h), as their answers would differ else.
 */
#ifndef DALBE_GOAL_H
#define DALBE_GOAL_H

#include "core/control/control.h"

struct job;
struct sender;

/**
 * struct goal_settings - settings of a connection
 * @g_ns: G without a goal, or under the fixed controller
 * @tw_ms: update period of w; 0: derived
 * @wmin_ppm: lowest w
 * @controller: DALBE_CONTROLLER_*
 * @after_deadline: DALBE_AFTER_*
 * @set: DALBE_PARAM_*: the user has set these; the others follow the defaults
 */
struct goal_settings {
	u32 g_ns;
	u32 tw_ms;
	u32 wmin_ppm;
	u8 controller;
	u8 after_deadline;
	u8 set;
};

/**
 * struct goal - what the user has asked of a socket; a listener's children inherit it, by copy
 * @acked_before: tcp_sock.bytes_acked when the goal was set, one more once that has the FIN; of a
 *	job's connection, at the end of its last part
 * @done_ns: when its last byte was acknowledged; 0: not yet, or a job's
 * @bytes: 0: no goal
 * @deadline_ns: CLOCK_BOOTTIME; or from when the connection is established, while @each
 * @sum: what goal_sum() says of these, @job and @each
 * @job: whose goal it is; 0: the socket's own
 * @group: of flows of a user that share a path whatever their destination; 0: none. Of 32 bits, so
 *	that no child inherits half of one
 * @settings: see there; the rest follows the defaults
 * @each: goal_start_deadline() is still to come
 */
struct goal {
	u64 acked_before;
	u64 done_ns;
	u64 bytes;
	u64 deadline_ns;
	u64 sum;
	u32 job;
	u32 group;
	struct goal_settings settings;
	bool each;
};

/* Tells a goal from half of one: a listener's children copy it without its lock, perhaps while it
 * is written. Half of a goal is none.
 */
static inline u64 goal_sum(const struct goal *g)
{
	return g->bytes ^ g->deadline_ns ^ g->job ^ ((u64)g->each << 32);
}

/* The connection begins with what it has inherited. */
static inline void goal_inherit(struct goal *g)
{
	if (g->sum != goal_sum(g))
		g->bytes = 0;
}

static inline void goal_write(struct goal *g, u64 bytes, u64 deadline_ns, u32 job, bool each)
{
	WRITE_ONCE(g->each, each);
	WRITE_ONCE(g->job, job);
	WRITE_ONCE(g->bytes, bytes);
	WRITE_ONCE(g->deadline_ns, deadline_ns);
	WRITE_ONCE(g->sum, goal_sum(g));
}

/* The connection is established: from here on its goal's time counts. */
static inline void goal_start_deadline(struct goal *g, u64 now_ns)
{
	if (g->each)
		goal_write(g, g->bytes, min_t(u64, g->deadline_ns + now_ns, S64_MAX), 0, false);
}

/* Payload acknowledged since the goal was set; of a job's connection, since its last part. The SYN
 * may be still to come.
 */
static inline u64 goal_bytes_done(const struct goal *g, u64 bytes_acked)
{
	return bytes_acked > g->acked_before ? bytes_acked - g->acked_before : 0;
}

/* Is this the ACK of its last byte? Never of a job's. */
static inline bool goal_completed(const struct goal *g, u64 bytes_acked)
{
	return g->bytes && !g->done_ns && goal_bytes_done(g, bytes_acked) >= g->bytes;
}

/* May the user set this update period, ms? 0 (derived), or DALBE_TW_MIN_MS to DALBE_TW_MAX_MS. */
static inline bool goal_tw_valid(u32 tw_ms)
{
	return !tw_ms || (tw_ms >= DALBE_TW_MIN_MS && tw_ms <= DALBE_TW_MAX_MS);
}

/**
 * goal_take - some of the settings become these
 * @s: settings
 * @from: the user's, or the defaults
 * @which: DALBE_PARAM_*
 */
static inline void goal_take(struct goal_settings *s, const struct dalbe_params *from,
			     u32 which)
{
	if (which & DALBE_PARAM_G)
		s->g_ns = from->g_ns;
	if (which & DALBE_PARAM_CONTROLLER)
		s->controller = from->controller;
	if (which & DALBE_PARAM_TW)
		s->tw_ms = from->tw_ms;
	if (which & DALBE_PARAM_WMIN)
		s->wmin_ppm = from->wmin_ppm;
	if (which & DALBE_PARAM_AFTER)
		s->after_deadline = from->after_deadline;
}

/**
 * goal_set_params - the user sets some of the settings
 * @s: settings
 * @from: the user's, which goal_check_params() has passed
 */
static inline void goal_set_params(struct goal_settings *s, const struct dalbe_params *from)
{
	goal_take(s, from, from->flags);
	s->set |= from->flags;
}

int goal_check(const struct dalbe_goal *goal);
int goal_check_params(const struct dalbe_params *p);
int goal_admit(const struct goal *g, struct dalbe_goal *wanted, u64 now_ns, bool takes_part);
void goal_replace(struct goal *g, const struct dalbe_goal *wanted, u64 bytes_acked,
		  bool syn_to_come);
void goal_update(struct goal *g, const struct dalbe_goal *wanted, u64 bytes_acked, u64 now_ns,
		 struct job *job);
void goal_configure(struct control_config *config, const struct goal_settings *s,
		    bool limit_increase);
void goal_tell_asked(struct dalbe_state *state, const struct goal *g,
		     const struct goal_settings *s, u64 now_ns);
void goal_tell_sender(struct dalbe_state *state, const struct sender *s, u32 mss, u32 srtt_us);
void goal_tell_control(struct dalbe_state *state, const struct control *c, u32 srtt_us);
void goal_tell_progress(struct dalbe_state *state, u32 status, u64 now_ns, u64 done_ns);

#endif /* DALBE_GOAL_H */
