// SPDX-License-Identifier: GPL-2.0-only
/* A user's goal and settings: checked, completed by the defaults, and told. */
#include "core/goal.h"
#include "core/sender.h"

/**
 * goal_check - is this a goal?
 * @goal: the user's
 *
 * Return: 0, -EINVAL or -EOVERFLOW.
 */
int goal_check(const struct dalbe_goal *goal)
{
	const u32 known = DALBE_GOAL_RELATIVE | DALBE_GOAL_UPDATE | DALBE_GOAL_EACH;
	bool each = goal->flags & DALBE_GOAL_EACH;

	if (goal->flags & ~known || (each && (!(goal->flags & DALBE_GOAL_RELATIVE) || goal->job)) ||
	    goal->reserved[0] || goal->reserved[1] || goal->reserved[2] || !goal->bytes)
		return -EINVAL;
	if (goal->bytes > S64_MAX || goal->deadline_ns > S64_MAX)
		return -EOVERFLOW;
	return 0;
}

/**
 * goal_check_params - may these be set?
 * @p: the user's
 *
 * Return: 0, -EINVAL or -ERANGE.
 */
int goal_check_params(const struct dalbe_params *p)
{
	const u32 known = DALBE_PARAM_G | DALBE_PARAM_CONTROLLER |
			  DALBE_PARAM_TW | DALBE_PARAM_WMIN | DALBE_PARAM_AFTER;

	if (!p->flags || p->flags & ~known || p->reserved[0] || p->reserved[1] ||
	    p->reserved[2] || p->reserved[3] || p->reserved[4])
		return -EINVAL;
	if ((!(p->flags & DALBE_PARAM_G) && p->g_ns) ||
	    (!(p->flags & DALBE_PARAM_CONTROLLER) && p->controller) ||
	    (!(p->flags & DALBE_PARAM_TW) && p->tw_ms) ||
	    (!(p->flags & DALBE_PARAM_WMIN) && p->wmin_ppm) ||
	    (!(p->flags & DALBE_PARAM_AFTER) && p->after_deadline))
		return -EINVAL;

	if (p->flags & DALBE_PARAM_G &&
	    (p->g_ns < DALBE_G_MIN_NS || p->g_ns > DALBE_G_MAX_NS))
		return -ERANGE;
	if (p->flags & DALBE_PARAM_WMIN &&
	    (p->wmin_ppm < DALBE_WMIN_MIN_PPM ||
	     p->wmin_ppm > DALBE_WMIN_MAX_PPM))
		return -ERANGE;
	if (p->controller > DALBE_CONTROLLER_FLOOR ||
	    p->after_deadline > DALBE_AFTER_KEEP || !goal_tw_valid(p->tw_ms))
		return -ERANGE;
	return 0;
}

/**
 * goal_admit - may this goal be set now?
 * @g: the socket's
 * @wanted: the user's, which goal_check() has passed, by the clock of @now_ns; DALBE_GOAL_EACH only
 *	where the connection is still to come: then its deadline stays relative, else it becomes
 *	absolute
 * @now_ns: now
 * @takes_part: the connection has a part in a job
 *
 * Return: 0, -EOVERFLOW for a deadline beyond 2^63 - 1, -ETIME for one that has passed, -ENODATA
 * for an update where there is no goal, or where the connection has no part in the job.
 */
int goal_admit(const struct goal *g, struct dalbe_goal *wanted, u64 now_ns, bool takes_part)
{
	u64 from_ns = wanted->flags & DALBE_GOAL_EACH ? 0 : now_ns;

	if (wanted->flags & DALBE_GOAL_RELATIVE)
		wanted->deadline_ns += from_ns;
	if (wanted->deadline_ns > S64_MAX)
		return -EOVERFLOW;
	if (wanted->deadline_ns <= from_ns)
		return -ETIME;
	return wanted->flags & DALBE_GOAL_UPDATE &&
	       (!g->bytes || g->job != wanted->job || (wanted->job && !takes_part)) ? -ENODATA : 0;
}

/**
 * goal_replace - another goal begins
 * @g: the socket's, which has no part in a job any more
 * @wanted: goal_admit() has passed it
 * @bytes_acked: tcp_sock.bytes_acked
 * @syn_to_come: that is going to count the SYN, which is no payload
 */
void goal_replace(struct goal *g, const struct dalbe_goal *wanted, u64 bytes_acked,
		  bool syn_to_come)
{
	g->done_ns = 0;
	g->acked_before = bytes_acked ?: syn_to_come;
	goal_write(g, wanted->bytes, wanted->deadline_ns, wanted->job,
		   wanted->flags & DALBE_GOAL_EACH);
}

/**
 * goal_update - the goal goes on with other bytes, or another deadline
 * @g: the socket's
 * @wanted: goal_admit() has passed it
 * @bytes_acked: tcp_sock.bytes_acked
 * @now_ns: time
 * @job: in which the connection has a part; NULL: the goal is its own
 */
void goal_update(struct goal *g, const struct dalbe_goal *wanted, u64 bytes_acked, u64 now_ns,
		 struct job *job)
{
	goal_write(g, wanted->bytes, wanted->deadline_ns, wanted->job,
		   wanted->flags & DALBE_GOAL_EACH);
	if (job)
		job_change_goal(job, wanted->bytes, now_ns, wanted->deadline_ns);
	else if (goal_bytes_done(g, bytes_acked) < wanted->bytes)
		g->done_ns = 0;
	else if (!g->done_ns)
		g->done_ns = now_ns;
}

/**
 * goal_configure - the controller and its parameters
 * @config: filled in
 * @s: the settings in force
 * @limit_increase: of w and phi, F(19)
 */
void goal_configure(struct control_config *config, const struct goal_settings *s,
		    bool limit_increase)
{
	*config = (struct control_config) {
		.controller = s->controller,
		.after_deadline = s->after_deadline,
		.unlimited_increase = !limit_increase,
		.tw_ms = s->tw_ms,
		.wmin_q16 = max_t(u32, 1, div_u64((u64)s->wmin_ppm << 16, 1000000)),
	};
}

/**
 * goal_tell_asked - what the user has asked for, while nothing is known of a connection
 * @state: zeroed
 * @g: the socket's
 * @s: the settings in force
 * @now_ns: time, on the deadline's clock
 */
void goal_tell_asked(struct dalbe_state *state, const struct goal *g,
		     const struct goal_settings *s, u64 now_ns)
{
	state->controller = s->controller;
	state->after_deadline = s->after_deadline;
	state->wmin_ppm = s->wmin_ppm;
	state->tw_ms = s->tw_ms;
	state->g_ns = s->g_ns;
	state->group = g->group;
	if (g->settings.set)
		state->flags |= DALBE_STATE_OWN_PARAMS;
	if (!g->bytes)
		return;
	state->status = DALBE_STATUS_WAITING;
	state->goal_bytes = g->bytes;
	state->deadline_ns = g->deadline_ns + (g->each ? now_ns : 0);
	state->time_left_ns = state->deadline_ns - now_ns;
	state->job = g->job;
}

/**
 * goal_tell_sender - cuts and losses, alone or not, and what is known of the path
 * @state: all that tells of the path is set, to 0 where the base does not look for others;
 *	level_Bps only while the flow is not alone
 * @s: the sender
 * @mss: bytes of a packet
 * @srtt_us: smoothed RTT
 */
void goal_tell_sender(struct dalbe_state *state, const struct sender *s, u32 mss, u32 srtt_us)
{
	struct base_report report = sender_report(s);

	state->g_ns = s->cdg.g.ns;
	state->backoffs_delay = s->delay_cut.backoffs;
	state->backoffs_loss = s->losses.backoffs;
	state->loss_episodes = s->losses.episodes;
	state->loss_answers = s->losses.answers;
	state->regime = report.regime;
	state->ours_ppm = report.ours_ppm;
	state->yields = report.yields;
	state->carried_kBps = min_t(u64, div_u64((u64)report.carried_pps * mss, 1000), U32_MAX);
	if (sender_not_alone(s))	/* the window that w allows, as a rate */
		state->level_Bps = fp_mul_div(fp_mul_div(sender_base(s)->level_q16(s), mss,
							 Q16_ONE),
					      USEC_PER_SEC, max(srtt_us, 1u));
}

/**
 * goal_tell_control - what the controller does
 * @state: filled in, but for what is told of the goal
 * @c: the connection's, or its job's
 * @srtt_us: smoothed RTT
 */
void goal_tell_control(struct dalbe_state *state, const struct control *c, u32 srtt_us)
{
	/* those of the goal, or of SET_PARAMS since: not of a later default */
	state->controller = c->config.controller;
	state->after_deadline = c->config.after_deadline;
	state->wmin_ppm = fp_ppm(c->config.wmin_q16);
	if (c->last.app_limited)
		state->flags |= DALBE_STATE_APP_LIMITED;
	state->tw_ms = div_u64(control_tw_ns(c, srtt_us), NSEC_PER_MSEC);
	state->target_Bps = c->target_Bps;
	state->rate_Bps = c->rate_Bps;
	state->w_ppm = fp_ppm(c->w_q16);
	state->phi_ppm = fp_ppm(c->phi_q16);
	state->updates = c->updates;
}

/**
 * goal_tell_progress - is the goal met?
 * @state: with the goal, and what is done of it
 * @status: the controller's
 * @now_ns: time, on the deadline's clock
 * @done_ns: when its last byte was acknowledged; 0: not yet
 */
void goal_tell_progress(struct dalbe_state *state, u32 status, u64 now_ns, u64 done_ns)
{
	state->time_left_ns = state->deadline_ns - (done_ns ?: now_ns);
	/* Between updates a goal can have ended; say so at once. */
	if (state->bytes_done >= state->goal_bytes)
		state->status = DALBE_STATUS_DONE;
	else if (now_ns >= state->deadline_ns)
		state->status = DALBE_STATUS_LATE;
	else
		state->status = status;
}
