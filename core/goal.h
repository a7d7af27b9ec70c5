/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A user's goal and settings, and the state of a connection: checked and told by one code for
 * ioctl(2) (kernel/device.c) and setsockopt(2) (bpf/sockopt.h), as their answers would differ else.
 */
#ifndef DALBE_GOAL_H
#define DALBE_GOAL_H

#include "core/control/control.h"

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
int goal_set_deadline(u64 *deadline_ns, u32 flags, u64 from_ns);
void goal_configure(struct control_config *config, const struct goal_settings *s,
		    bool limit_increase);
void goal_tell_sender(struct dalbe_state *state, const struct sender *s, u32 mss, u32 srtt_us);
void goal_tell_control(struct dalbe_state *state, const struct control *c, u32 srtt_us);
void goal_tell_progress(struct dalbe_state *state, u32 status, u64 now_ns, u64 done_ns);

#endif /* DALBE_GOAL_H */
