// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deadline-aware less-than-best-effort control (DA-LBE)
 *
 * Every Tw the controller compares the rate that meets the deadline with the
 * rate that was reached and sets the weight w:
 *
 *	bytes left, time left --> zeta ---+
 *	bytes acknowledged    --> xbar ---+--> controller --> w in [wmin, 1]
 *	prices of the base    --> q, phi -+                    |
 *	                                                       v
 *	             the base pays q / mu, mu = w * phi
 *	             (the scavenger's window is w * B, phi is 1)
 *
 * w = wmin inflates prices most, and leaves most to others. w = 1 is best effort:
 * phi then takes away what the base pays in excess of a loss-based flow.
 *
 * PID and MBC are the paper's controllers. The rate floor is MBC without eps and without
 * reserve: the target rate, no more while contended, and no less once F(19) has let it;
 * where the model is exact. The weight controller computes nothing: w = wmin, with a goal
 * or without.
 *
 * Differences from the paper, the reasons in docs/framework.md:
 *   o MBC's error, F(13), has a memory: control_mbc_trim().
 *   o An interval limited by the application moves neither w nor the integral.
 *   o Unused capacity is no model error: without contention the trim stays.
 *   o zeta aims 1/32 of the window early: control_time_left_ns().
 *   o MBC keeps a reserve for those who may come: control_reserve_q16().
 *   o F(19) holds w the less, the nearer to 1 it has to be: control_w_limit_q16().
 *   o Too little loss to judge still bounds phi from below: control_update_phi().
 *   o PID's gains are per update, as tuned at Tw = 10 s, whatever Tw is.
 */
#include "core/control/control.h"

static void control_after_deadline(struct control *c)
{
	c->target_Bps = 0;
	if (c->config.controller == DALBE_CONTROLLER_WEIGHT)
		c->w_q16 = c->config.wmin_q16;
	else if (c->config.after_deadline == DALBE_AFTER_BEST_EFFORT)
		c->w_q16 = Q16_ONE;
	else if (c->config.after_deadline == DALBE_AFTER_SCAVENGER)
		c->w_q16 = c->config.wmin_q16;
	c->status = DALBE_STATUS_LATE;
}

/**
 * control_start - a new goal, or none
 * @c: the controller, and its transfer
 * @config: controller and its parameters
 * @bytes: size; 0: no goal, and w stays at wmin
 * @bytes_done: of these, acknowledged already
 * @now_ns: time; the window of the goal begins now
 * @deadline_ns: soft deadline on the same clock, above 0; of no effect without a goal. It may have
 *	passed: a listener's goal, of a connection that begins after it
 */
void control_start(struct control *c, const struct control_config *config,
		   u64 bytes, u64 bytes_done, u64 now_ns, u64 deadline_ns)
{
	memset(c, 0, sizeof(*c));
	c->config = *config;
	c->w_q16 = config->wmin_q16;
	c->phi_q16 = Q16_ONE;
	c->mbc.trim_q16 = Q16_ONE;
	c->mbc.headroom_q16 = DALBE_HEADROOM_Q16;
	c->goal.start_ns = now_ns;
	c->goal.done = bytes_done;
	c->goal.deadline_ns = S64_MAX;	/* never */
	if (!bytes)
		return;
	control_change_goal(c, bytes, now_ns, deadline_ns);
	if (now_ns >= deadline_ns)
		control_after_deadline(c);
}

/**
 * control_configure - other parameters for the same transfer
 * @c: the controller, and its transfer
 * @config: controller and its parameters
 *
 * By the user (DALBE_IOC_SET_PARAMS, dalbe_sk_set_params()), under a goal or at wmin without one.
 * The goal, what is done of it, phi, MBC's trim and PID's integral stay; w as well, but for the new
 * wmin. The rate of the interval under way was in part meant for another w: MBC's trim does not
 * learn from it, and its headroom is measured anew (last.retargeted).
 */
void control_configure(struct control *c, const struct control_config *config)
{
	c->config = *config;
	if (config->controller == DALBE_CONTROLLER_WEIGHT) {
		c->w_q16 = config->wmin_q16;
		c->shortfall_q16 = 0;	/* was of a w that is no longer in force */
		if (c->status == DALBE_STATUS_INFEASIBLE)
			c->status = DALBE_STATUS_ON_TRACK;
	} else {
		c->w_q16 = max(c->w_q16, config->wmin_q16);
	}
	c->last.retargeted = true;
}

/* Time in which zeta gets all bytes done, ns: until 1/32 of the window before the deadline, but at
 * least 1/8 of the time left. With 1/2 the last bytes would trickle until the deadline.
 */
static u64 control_time_left_ns(const struct control *c, u64 now_ns)
{
	u64 left_ns, margin_ns;

	if (now_ns >= c->goal.deadline_ns)
		return 0;
	left_ns = c->goal.deadline_ns - now_ns;
	margin_ns = (c->goal.deadline_ns - c->goal.start_ns) >> DALBE_MARGIN_SHIFT;
	return left_ns - min_t(u64, margin_ns, left_ns - left_ns / 8);
}

static u64 control_bytes_left(const struct control *c)
{
	return c->goal.bytes > c->goal.done ? c->goal.bytes - c->goal.done
					     : 0;
}

/* zeta, the rate that is needed from now on to meet the deadline. */
static u64 control_zeta_Bps(const struct control *c, u64 now_ns)
{
	return control_target_Bps(control_bytes_left(c), control_time_left_ns(c, now_ns));
}

/**
 * control_change_goal - other bytes or another deadline for the same transfer
 * @c: the controller, and its transfer
 * @bytes: size in all, with what is done
 * @now_ns: time
 * @deadline_ns: soft deadline
 *
 * phi, MBC's trim and headroom and PID's integral stay. After a goal that was done or late nothing
 * was needed, and the headroom is measured anew. It does not follow the needed rate at once: where
 * `dalbectl run` lets a goal grow each second, of which nearly all is done, that rate doubles each
 * time, and w would be 1. The interval under way still tells of the model, as w stays. With another
 * deadline the window begins now, and Tw, margin and limits follow it.
 */
void control_change_goal(struct control *c, u64 bytes, u64 now_ns, u64 deadline_ns)
{
	if (deadline_ns != c->goal.deadline_ns)
		c->goal.start_ns = min(now_ns, deadline_ns - 1);
	c->goal.bytes = bytes;
	c->goal.deadline_ns = deadline_ns;
	if (c->status != DALBE_STATUS_INFEASIBLE)
		c->status = DALBE_STATUS_ON_TRACK;
	c->last.retargeted |= !c->target_Bps;
	c->target_Bps = control_zeta_Bps(c, now_ns);
}

/**
 * control_tw_ns - the update period in force
 * @c: the controller, and its transfer
 * @srtt_us: smoothed RTT
 *
 * Return: Tw in ns: the configured one, or 1/128 of the window, at most the
 * paper's 10 s, but not less than eight RTTs and 100 ms. Where eight RTTs would be more
 * than the margin, what happens in the last of them could not be made up for before the
 * deadline: then the margin, but not less than two. Once the goal is done at most eight RTTs, or
 * 100 ms, whatever is configured: control_within_overrun() is asked when Tw ends.
 */
u64 control_tw_ns(const struct control *c, u32 srtt_us)
{
	u64 window_ns = c->goal.deadline_ns - c->goal.start_ns;
	u64 rtt_ns = (u64)srtt_us * NSEC_PER_USEC;
	u64 min_ns = DALBE_TW_MIN_MS * NSEC_PER_MSEC;
	u64 tw_ns, least_ns;

	if (c->config.tw_ms) {
		tw_ns = (u64)c->config.tw_ms * NSEC_PER_MSEC;
	} else {
		tw_ns = div_u64(window_ns, DALBE_UPDATES);
		tw_ns = min_t(u64, tw_ns, DALBE_TW_PAPER_NS);
		least_ns = clamp_t(u64, window_ns >> DALBE_MARGIN_SHIFT,
				   DALBE_TW_LEAST_ROUNDS * rtt_ns,
				   DALBE_TW_ROUNDS * rtt_ns);
		tw_ns = max3(tw_ns, least_ns, min_ns);
	}
	if (c->status == DALBE_STATUS_DONE)
		tw_ns = min(tw_ns, max(DALBE_TW_ROUNDS * rtt_ns, min_ns));
	return tw_ns;
}

/* phi fell: raise w, so that mu = w * phi stays. F(19) would otherwise hold mu, and with it G,
 * down for many Tw, though we do not want to be more aggressive than before. Only while a
 * controller steers w, which lowers it again when phi rises.
 */
static void control_keep_mu(struct control *c, u32 phi_before_q16)
{
	if (c->config.controller != DALBE_CONTROLLER_WEIGHT && c->phi_q16 < phi_before_q16)
		c->w_q16 = min_t(u64, fp_mul_div(c->w_q16, phi_before_q16, c->phi_q16),
				 Q16_ONE);
}

/* We measure phi, F(25), over Tphi, four Tw beside others, or over as many more as bring two
 * losses. Before that we count one loss more than there were, which gives a lower bound, and raise
 * phi to it: a flow with a small share sees a loss a minute, and would stay far below best effort
 * at w = 1.
 */
static void control_update_phi(struct control *c, const struct control_sample *s)
{
	u32 limit_q16 = c->config.unlimited_increase ? Q16_ONE : DALBE_PHI_LIMIT_Q16;
	struct control_tphi *n = &c->tphi;
	u64 one_more_q40;

	if (!s->others_seen)
		return;
	n->price_sum_q40 = fp_add(n->price_sum_q40,
				  fp_mul_div(s->phi_price_q40 ?: s->price_q40, s->rounds, 1));
	n->standard_sum_q40 = fp_add(n->standard_sum_q40,
				     fp_mul_div(s->price_standard_q40, s->rounds, 1));
	n->losses += s->losses;
	if (++n->updates % DALBE_TPHI_UPDATES)
		return;

	if (n->losses < DALBE_PHI_MIN_LOSSES) {
		one_more_q40 = fp_add(n->standard_sum_q40, s->weight_standard_q40);
		c->phi_q16 = max(c->phi_q16, control_next_phi_q16(c->phi_q16, n->price_sum_q40,
								  one_more_q40, limit_q16));
		return;
	}
	c->phi_q16 = control_next_phi_q16(c->phi_q16, n->price_sum_q40, n->standard_sum_q40,
					  limit_q16);
	memset(n, 0, sizeof(*n));
}

static u64 control_model_q40(const struct control_model *model, u64 rate_Bps)
{
	if (model->connections_q16)
		rate_Bps = fp_mul_div(rate_Bps, Q16_ONE, model->connections_q16);
#ifdef PORT_MODEL
	return PORT_MODEL(model->arg, rate_Bps);
#else
	return model->model_q40(model->arg, rate_Bps);
#endif
}

/* The controllers proper: how much of best effort they ask for, see control_set_w(). */
static u32 control_answer_q16(struct control *c, const struct control_sample *s,
			      const struct control_model *model)
{
	bool unused_capacity = !s->others_seen && c->rate_Bps > c->mbc.expected_Bps;
	u64 qhat_q40;

	if (c->config.controller == DALBE_CONTROLLER_PID) {
		s64 u_q16 = control_pid_update(&c->pid, c->w_q16, c->target_Bps,
					       c->rate_Bps, DALBE_TW_PAPER_NS);

		return clamp_t(s64, u_q16, 0, U32_MAX);
	}

	qhat_q40 = control_model_q40(model, c->target_Bps);
	if (c->config.controller == DALBE_CONTROLLER_FLOOR)
		return control_mbc_answer_q16(s->price_q40, c->phi_q16, qhat_q40, Q16_ONE);

	/* eps is not updated while F(19) holds w back (the paper), nor at either
	 * bound of w, nor from a rate that was meant for another target.
	 */
	if (!c->last.w_limited && !c->last.retargeted && !unused_capacity &&
	    !c->last.answer_above_1 && !c->last.answer_below_wmin)
		c->mbc.trim_q16 = control_mbc_trim(c->mbc.trim_q16, c->mbc.expected_Bps,
						   c->rate_Bps);

	return control_mbc_answer_q16(s->price_q40, c->phi_q16, qhat_q40, c->mbc.trim_q16);
}

/* All bytes are done, but the program sends on: protocol overhead, or a goal
 * that was a guess. Those bytes are as urgent as the rest was, up to a limit.
 */
static bool control_within_overrun(const struct control *c)
{
	u64 overrun = c->goal.done - c->goal.bytes;

	return overrun <= fp_add(c->goal.bytes >> DALBE_OVERRUN_SHIFT,
				 DALBE_OVERRUN_BYTES);
}

/* lw of F(19). Its 0.05 belongs to 1/128 of the window: where eight RTTs, or the
 * user, make Tw a larger part of it, waiting for twenty Tw would be waiting for
 * the deadline. Near w = 1 waiting cannot be made up for later: so above a need of 1/2
 * the limit is divided by 2 (1 - need), which goes to 0.
 */
static u32 control_w_limit_q16(const struct control *c, u32 srtt_us, u32 need_q16)
{
	u64 limit_q16 = fp_mul_div(DALBE_W_LIMIT_Q16 * DALBE_UPDATES,
				   control_tw_ns(c, srtt_us),
				   c->goal.deadline_ns - c->goal.start_ns);
	u32 below_full_q16;

	if (c->config.unlimited_increase)
		return Q16_ONE;
	limit_q16 = max_t(u64, limit_q16, DALBE_W_LIMIT_Q16);
	below_full_q16 = min_t(u32, 2 * (Q16_ONE - min(need_q16, Q16_ONE)), Q16_ONE);
	return min_t(u64, fp_mul_div(limit_q16, Q16_ONE, below_full_q16), Q16_ONE);
}

/* Is w = 1 enough? Each interval that was sent at it says by how much it was not:
 * zeta, without the margin of DALBE_MARGIN_SHIFT, over the rate, less 1. One is noise; their sum,
 * which does not fall below 0, is Page's test (CUSUM): a rate that is too low by
 * a third or more is found in two intervals, one by a tenth in ten.
 */
static void control_judge_feasibility(struct control *c, u64 now_ns, bool was_best_effort)
{
	u64 needed_Bps = control_target_Bps(control_bytes_left(c),
					  c->goal.deadline_ns - now_ns);
	s64 short_q16 = control_relative_error_q16(needed_Bps, c->rate_Bps);

	short_q16 = clamp_t(s64, short_q16, -(s64)DALBE_SHORTFALL_MAX_Q16,
			    DALBE_SHORTFALL_MAX_Q16);
	if (!was_best_effort)	/* there is more to be had */
		short_q16 = min_t(s64, short_q16, 0);
	c->shortfall_q16 = clamp_t(s64, c->shortfall_q16 + short_q16, 0,
				   DALBE_INFEASIBLE_Q16);
	if (c->shortfall_q16 == DALBE_INFEASIBLE_Q16)
		c->status = DALBE_STATUS_INFEASIBLE;
	else if (!c->shortfall_q16)
		c->status = DALBE_STATUS_ON_TRACK;
	c->was_infeasible |= c->status == DALBE_STATUS_INFEASIBLE;
}

/* Headroom is the best-effort rate over the rate that MBC asks for: 1/answer. We keep a mean, as
 * prices swing, and of 1/answer, as a mean of answers would follow the few worst intervals. Where
 * the two prices differ it begins after DALBE_HEADROOM_TPHI Tphi, when phi is known.
 */
static void control_learn_headroom(struct control *c, const struct control_sample *s,
				   u32 answer_q16)
{
	u32 headroom_q16 = min_t(u64, fp_ratio_q16(Q16_ONE, answer_q16), DALBE_HEADROOM_MAX_Q16);

	if (s->price_q40 != s->price_standard_q40 &&
	    c->updates <= DALBE_HEADROOM_TPHI * DALBE_TPHI_UPDATES)
		return;
	c->mbc.headroom_q16 += div_s64((s64)headroom_q16 - c->mbc.headroom_q16,
				       DALBE_HEADROOM_MEAN);
}

/* The harmonic mean of MBC's answers: 1 / headroom, at most 1. */
static u32 control_mean_answer_q16(const struct control *c)
{
	return min_t(u64, fp_ratio_q16(Q16_ONE, c->mbc.headroom_q16), Q16_ONE);
}

/* MBC takes so much on top of its answer, as a reserve for flows that may still
 * come. The nearer the deadline, the fewer can: it fades in the last half.
 */
static u32 control_reserve_q16(const struct control *c, u64 now_ns, u32 answer_q16,
			       u32 mean_answer_q16)
{
	u32 with_reserve_q16 = control_with_reserve_q16(mean_answer_q16);
	u64 half_ns = (c->goal.deadline_ns - c->goal.start_ns) / 2;

	if (with_reserve_q16 <= answer_q16)
		return 0;
	return fp_mul_div(with_reserve_q16 - answer_q16,
			  min(c->goal.deadline_ns - now_ns, half_ns),
			  max(half_ns, 1ull));
}

/* From w in force to @wanted_q16, up by no more than F(19) allows; @need_q16 sets that limit. */
static u32 control_raise_w_q16(struct control *c, const struct control_sample *s,
			       u32 wanted_q16, u32 need_q16)
{
	u32 limited_q16;

	wanted_q16 = clamp_t(u32, wanted_q16, c->config.wmin_q16, Q16_ONE);
	limited_q16 = control_limit_increase(c->w_q16, wanted_q16,
					     control_w_limit_q16(c, s->srtt_us, need_q16));
	c->last.w_limited = limited_q16 < wanted_q16;
	return limited_q16;
}

static u32 control_mbc_w_q16(struct control *c, const struct control_sample *s, u32 answer_q16)
{
	u32 mean_answer_q16, reserve_q16;

	control_learn_headroom(c, s, answer_q16);
	mean_answer_q16 = control_mean_answer_q16(c);
	reserve_q16 = control_reserve_q16(c, s->now_ns, answer_q16, mean_answer_q16);
	return control_raise_w_q16(c, s, answer_q16 + reserve_q16,
				   max(answer_q16, mean_answer_q16));
}

/* From one w to the next, each a part of best effort:
 *
 *	answer	the controller asks for it, by zeta, rate and price: MBC's F(14), PID's u, F(9). It
 *		may be above 1, or below wmin
 *	mean	harmonic, of MBC's answers in the last eight intervals or so
 *	reserve	MBC's, on top of its answer: where the mean m is above 1/2 both together are
 *		3 m - 1; it fades in the last half of the window
 *	wanted	answer + reserve, held to wmin .. 1
 *	need	so much of best effort the goal needs: the larger of answer and mean (of the floor
 *		controller its answer). The nearer to 1, the less F(19) limits the rise of w
 *	w	in force in the next Tw: wanted, or less where F(19) limits its rise (not PID's)
 */
static void control_set_w(struct control *c, const struct control_sample *s,
			  const struct control_model *model)
{
	bool was_best_effort = c->w_q16 == Q16_ONE;
	u32 answer_q16;

	c->target_Bps = control_zeta_Bps(c, s->now_ns);
	if (s->app_limited || c->config.controller == DALBE_CONTROLLER_WEIGHT)
		return;

	control_judge_feasibility(c, s->now_ns, was_best_effort);
	answer_q16 = control_answer_q16(c, s, model);
	if (c->last.retargeted)
		c->mbc.headroom_q16 = DALBE_HEADROOM_Q16;
	c->last.retargeted = false;
	c->last.answer_below_wmin = answer_q16 < c->config.wmin_q16;
	c->last.answer_above_1 = answer_q16 > Q16_ONE;

	if (c->config.controller == DALBE_CONTROLLER_MBC)
		c->w_q16 = control_mbc_w_q16(c, s, answer_q16);
	else if (c->config.controller == DALBE_CONTROLLER_FLOOR)
		c->w_q16 = control_raise_w_q16(c, s, answer_q16, answer_q16);
	else
		c->w_q16 = clamp_t(u32, answer_q16, c->config.wmin_q16, Q16_ONE);
	/* by the model, at the w that we take */
	c->mbc.expected_Bps = fp_mul_div(c->target_Bps, c->w_q16,
					 max(answer_q16, 1u));
}

/**
 * control_update - end of an interval: set w for the next
 * @c: the controller, and its transfer
 * @s: what the base measured
 * @model: the base's steady state
 *
 * Sets w_q16, phi_q16, price_target_q40 and status.
 */
void control_update(struct control *c, const struct control_sample *s,
		    const struct control_model *model)
{
	u32 phi_before_q16 = c->phi_q16;

	c->rate_Bps = fp_mul_div(s->bytes_done - c->goal.done, NSEC_PER_SEC,
				 max_t(u64, s->elapsed_ns, 1));
	c->goal.done = s->bytes_done;
	c->last.app_limited = s->app_limited;
	if (!s->app_limited)
		c->updates++;
	control_update_phi(c, s);

	if (!c->goal.bytes) {
		c->status = DALBE_STATUS_NONE;
	} else if (c->goal.done >= c->goal.bytes) {
		c->status = DALBE_STATUS_DONE;
		c->target_Bps = 0;
		if (!control_within_overrun(c))
			c->w_q16 = c->config.wmin_q16;
	} else if (s->now_ns >= c->goal.deadline_ns) {
		control_after_deadline(c);
	} else {
		control_keep_mu(c, phi_before_q16);
		control_set_w(c, s, model);
	}
	c->price_target_q40 = fp_mul_div(s->price_q40, Q16_ONE,
					 control_mu_q16(c));
	c->w_recent_max_q16 -= c->w_recent_max_q16 / DALBE_W_RECENT_UPDATES;
	c->w_recent_max_q16 = max(c->w_recent_max_q16, c->w_q16);
}

/**
 * control_mu_q16 - F(26), mu = w * phi
 * @c: the controller, and its transfer
 *
 * Return: mu in Q16, at least 1/65536: it divides.
 */
u32 control_mu_q16(const struct control *c)
{
	return max_t(u32, 1, fp_mul_q16(c->phi_q16, c->w_q16));
}

/**
 * control_w_recent_max_q16 - the most that w was of late: how urgent the transfer is
 * @c: the controller, and its transfer
 *
 * Bytes that we do not send while a link is idle we have to take from others later. So a transfer
 * that lately needed nearly all is urgent, though w may be small now.
 *
 * Return: Q16, from w in force up to 1: the most that w was, less 1/64 per update since.
 */
u32 control_w_recent_max_q16(const struct control *c)
{
	return max(c->w_q16, c->w_recent_max_q16);
}
