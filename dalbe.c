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
 *	             the base pays q / mu per round, mu = w * phi
 *
 * w = wmin inflates prices most: a scavenger. w = 1 is best effort: phi then
 * takes away what the base pays in excess of a loss-based flow.
 *
 * PID and MBC are the paper's controllers. The rate floor is MBC without eps and without
 * reserve: the target rate, no more while contended, and no less once F(19) has let it;
 * where the model is exact.
 *
 * Differences from the paper, the reasons in docs/design.md:
 *   o MBC's error, F(13), has a memory: dalbe_mbc_trim().
 *   o An interval limited by the application moves neither w nor the integral.
 *   o Unused capacity is no model error: without contention the trim stays.
 *   o zeta aims 1/32 of the window early: dalbe_time_left_ns().
 *   o MBC keeps a reserve for those who may come: dalbe_reserve().
 *   o F(19) holds w the less, the nearer to 1 it has to be: dalbe_w_limit_q16().
 *   o Too little loss to judge still bounds phi from below: dalbe_update_phi().
 *   o PID's gains are per update, as tuned at Tw = 10 s, whatever Tw is.
 */
#include "dalbe.h"

/**
 * dalbe_target_Bps - F(6), the lowest rate that meets the deadline
 * @bytes_left: bytes still to be acknowledged
 * @left_ns: time until the deadline; 0: as fast as can be
 *
 * Return: zeta in bytes/s, saturating.
 */
u64 dalbe_target_Bps(u64 bytes_left, u64 left_ns)
{
	return fp_mul_div(bytes_left, NSEC_PER_SEC, left_ns);
}

/**
 * dalbe_limit_increase - F(19): give way longer than strictly needed
 * @old_q16: value so far
 * @new_q16: wanted value
 * @limit_q16: largest increase as part of the wanted value
 *
 * Return: @new_q16, or @old_q16 plus what the limit allows. Decreases pass.
 */
u32 dalbe_limit_increase(u32 old_q16, u32 new_q16, u32 limit_q16)
{
	u32 step_q16 = ((u64)limit_q16 * new_q16) >> 16;

	if (new_q16 > old_q16 && new_q16 - old_q16 > step_q16)
		return old_q16 + step_q16;
	return new_q16;
}

/* (target - rate) / rate in Q16, clamped; the rate may be 0. */
static s64 dalbe_relative_error_q16(u64 target_Bps, u64 rate_Bps)
{
	s64 error_q16 = (s64)fp_ratio_q16(target_Bps, rate_Bps) - Q16_ONE;

	return min_t(s64, error_q16, DALBE_ERROR_MAX_Q16);
}

/**
 * dalbe_pid_update - F(7) to F(9)
 * @pid: state
 * @w_q16: w of the interval
 * @target_Bps: zeta
 * @rate_Bps: xbar
 * @tw_ns: Tw, at least 1
 *
 * The integral's part of u is kept within [0, 1]: what it can use, no more, so
 * that hours of unused capacity are not to be unlearned (anti-windup).
 *
 * Return: u in Q16, before F(10) clamps it to [wmin, 1].
 */
s64 dalbe_pid_update(struct dalbe_pid *pid, u32 w_q16, u64 target_Bps,
		     u64 rate_Bps, u64 tw_ns)
{
	s64 error_q16, integral_q16, u_q16;
	u64 ki_tw_q16;

	error_q16 = dalbe_relative_error_q16(target_Bps, rate_Bps);
	error_q16 = fp_signed_mul_div(error_q16, w_q16, Q16_ONE);	/* F(7) */

	ki_tw_q16 = fp_mul_div(DALBE_KI_Q16, tw_ns, NSEC_PER_SEC);
	integral_q16 = fp_signed_mul_div(error_q16, ki_tw_q16, Q16_ONE);
	if (integral_q16 > (s64)Q16_ONE)
		integral_q16 = Q16_ONE;
	pid->integral_q16 = clamp_t(s64, pid->integral_q16 + integral_q16,
				    0, Q16_ONE);		/* F(8) */

	u_q16 = fp_signed_mul_div(error_q16, DALBE_KP_Q16, Q16_ONE);
	u_q16 += pid->integral_q16;
	u_q16 += fp_signed_mul_div(error_q16 - pid->error_q16,
				   fp_mul_div(DALBE_KD_Q16, NSEC_PER_SEC, tw_ns),
				   Q16_ONE);			/* F(9) */
	pid->error_q16 = error_q16;
	return u_q16;
}

/**
 * dalbe_mbc_trim - F(13) with a memory: 1 + eps
 * @trim_q16: 1 + eps so far
 * @target_Bps: zeta of the interval
 * @rate_Bps: xbar of the interval
 *
 * F(14) with eps as printed is a proportional correction of full gain: where
 * the model is off by a factor e, it leaves the rate off by sqrt(e) on average
 * and alternates around that for ever. Multiplying the errors up removes e; a
 * quarter of each interval's error, itself held to a factor of two, averages
 * the noise of some four Tw.
 *
 * Return: the new 1 + eps, within [1/8, 8].
 */
u32 dalbe_mbc_trim(u32 trim_q16, u64 target_Bps, u64 rate_Bps)
{
	s64 error_q16 = dalbe_relative_error_q16(target_Bps, rate_Bps);
	s64 factor_q16;

	error_q16 = clamp_t(s64, error_q16, -(s64)Q16_ONE / 2, Q16_ONE);
	factor_q16 = Q16_ONE + error_q16 * DALBE_TRIM_GAIN_Q16 / Q16_ONE;
	return clamp_t(u64, ((u64)trim_q16 * factor_q16) >> 16,
		       DALBE_TRIM_MIN_Q16, DALBE_TRIM_MAX_Q16);
}

/**
 * dalbe_mbc_weight - F(14), with F(26): mu = w * phi = q / qhat * (1 + eps)
 * @price_q40: q, measured
 * @phi_q16: phi
 * @model_price_q40: qhat, what the model asks for
 * @trim_q16: 1 + eps
 *
 * Return: w in Q16, before it is clamped to [wmin, 1].
 */
u32 dalbe_mbc_weight(u64 price_q40, u32 phi_q16, u64 model_price_q40,
		     u32 trim_q16)
{
	u64 mu_q32 = fp_mul_div(price_q40, (u64)trim_q16 << 16,
				model_price_q40);

	return min_t(u64, fp_mul_div(mu_q32, 1, phi_q16), U32_MAX);
}

/**
 * dalbe_reserve - ours: a goal that is nearly out of reach does not wait
 * @w_q16: w that just meets the deadline if all stays as it is
 *
 * w is the part of its best-effort rate that the transfer needs from now to the
 * end. Beside one flow, another that comes leaves 2/3 of that rate, two leave 1/2:
 * who needs more than 2/3 is one arrival away from being late, and takes best
 * effort while it is there to be had; who needs less than 1/2 has time to see two
 * come, and takes no more than that; between, a straight line. The end of the
 * transfer stays where it is, as zeta follows what is left; what moves is when
 * within the window its bytes go.
 *
 * Return: the w to be taken, at least @w_q16 where that is above 1/2, saturating; else 0.
 */
u32 dalbe_reserve(u32 w_q16)
{
	if (w_q16 <= Q16_ONE / 2)
		return 0;
	return min_t(u64, 3 * (u64)w_q16 - Q16_ONE, U32_MAX);
}

/**
 * dalbe_phi - F(25), its increase limited as in F(19)
 * @phi_q16: phi so far
 * @price_q40: sum of P_W over the base's indications
 * @price_std_q40: sum over those of the standard congestion control
 * @limit_q16: l_phi; Q16_ONE: none
 *
 * Return: phi in Q16, within [1, DALBE_PHI_MAX_Q16].
 */
u32 dalbe_phi(u32 phi_q16, u64 price_q40, u64 price_std_q40, u32 limit_q16)
{
	u32 new_q16 = clamp_t(u32, fp_ratio_q16(price_q40, price_std_q40),
			      Q16_ONE, DALBE_PHI_MAX_Q16);

	return dalbe_limit_increase(phi_q16, new_q16, limit_q16);
}

/**
 * dalbe_start - a new goal, or none
 * @d: the transfer
 * @config: controller and its parameters
 * @bytes: size; 0: no goal, and w stays at wmin
 * @bytes_done: of these, acknowledged already
 * @now_ns: when the goal was set
 * @deadline_ns: soft deadline on the same clock; of no effect without a goal
 */
void dalbe_start(struct dalbe *d, const struct dalbe_config *config,
		 u64 bytes, u64 bytes_done, u64 now_ns, u64 deadline_ns)
{
	memset(d, 0, sizeof(*d));
	d->config = *config;
	d->w_q16 = config->wmin_q16;
	d->phi_q16 = Q16_ONE;
	d->trim_q16 = Q16_ONE;
	d->start_ns = now_ns;
	d->bytes_done = bytes_done;
	d->deadline_ns = S64_MAX;	/* never */
	if (bytes)
		dalbe_change(d, bytes, now_ns, deadline_ns);
}

/**
 * dalbe_configure - other parameters for the same transfer
 * @d: the transfer
 * @config: controller and its parameters
 */
void dalbe_configure(struct dalbe *d, const struct dalbe_config *config)
{
	d->config = *config;
	if (config->controller == DALBE_CONTROLLER_WEIGHT)
		d->w_q16 = config->wmin_q16;
	else
		d->w_q16 = max(d->w_q16, config->wmin_q16);
	d->retargeted = true;
}

/* Time to aim for. Before the deadline by a part of the window, and by at most
 * 7/8 of what is left: half would let the rate fade to nothing at the deadline.
 */
static u64 dalbe_time_left_ns(const struct dalbe *d, u64 now_ns)
{
	u64 left_ns, margin_ns;

	if (now_ns >= d->deadline_ns)
		return 0;
	left_ns = d->deadline_ns - now_ns;
	margin_ns = (d->deadline_ns - d->start_ns) >> DALBE_MARGIN_SHIFT;
	return left_ns - min_t(u64, margin_ns, left_ns - left_ns / 8);
}

static u64 dalbe_bytes_left(const struct dalbe *d)
{
	return d->goal_bytes > d->bytes_done ? d->goal_bytes - d->bytes_done
					     : 0;
}

/**
 * dalbe_change - other bytes or another deadline for the same transfer
 * @d: the transfer
 * @bytes: size in all, with what is done
 * @now_ns: time
 * @deadline_ns: soft deadline
 *
 * What the controller has learned stays. Of another deadline the window begins now: Tw,
 * margin and limits follow it.
 */
void dalbe_change(struct dalbe *d, u64 bytes, u64 now_ns, u64 deadline_ns)
{
	if (deadline_ns != d->deadline_ns)
		d->start_ns = now_ns;
	d->goal_bytes = bytes;
	d->deadline_ns = deadline_ns;
	d->finished_ns = 0;
	d->retargeted = true;
	if (d->status != DALBE_STATUS_INFEASIBLE)
		d->status = DALBE_STATUS_ON_TRACK;
	d->target_Bps = dalbe_target_Bps(dalbe_bytes_left(d),
					 dalbe_time_left_ns(d, now_ns));
}

/**
 * dalbe_tw_ns - the update period in force
 * @d: the transfer
 * @srtt_us: smoothed RTT
 *
 * Return: Tw in ns: the configured one, or 1/128 of the window, at most the
 * paper's 10 s, but not less than eight RTTs and 100 ms. Where eight RTTs would be more
 * than the margin, what happens in the last of them could not be made up for before the
 * deadline: then the margin, but not less than two.
 */
u64 dalbe_tw_ns(const struct dalbe *d, u32 srtt_us)
{
	u64 window_ns = d->deadline_ns - d->start_ns;
	u64 rtt_ns = (u64)srtt_us * NSEC_PER_USEC;
	u64 tw_ns, least_ns;

	if (d->config.tw_ms)
		return (u64)d->config.tw_ms * NSEC_PER_MSEC;

	tw_ns = div_u64(window_ns, DALBE_UPDATES);
	tw_ns = min_t(u64, tw_ns, DALBE_TW_PAPER_NS);
	least_ns = clamp_t(u64, window_ns >> DALBE_MARGIN_SHIFT,
			   DALBE_TW_LEAST_ROUNDS * rtt_ns,
			   DALBE_TW_ROUNDS * rtt_ns);
	least_ns = max_t(u64, least_ns, DALBE_TW_MIN_MS * NSEC_PER_MSEC);
	return max(tw_ns, least_ns);
}

/* A new estimate of phi changes the meaning of w = mu / phi. Where it is lower, w
 * is raised for mu to stay: F(19) would otherwise take many Tw to make up for
 * what is no wish to be more aggressive, and G would collapse in the meantime.
 */
static void dalbe_set_phi(struct dalbe *d, u32 phi_q16)
{
	if (phi_q16 < d->phi_q16)
		d->w_q16 = min_t(u64, fp_mul_div(d->w_q16, d->phi_q16, phi_q16),
				 Q16_ONE);
	d->phi_q16 = phi_q16;
}

/* phi's own interval: Tphi, or as many more until there was enough loss. Until
 * then the loss that has not come yet, counted as if it had, bounds phi from
 * below: a flow at a small share sees a loss a minute, and would otherwise be
 * held far from best effort at w = 1.
 */
static void dalbe_update_phi(struct dalbe *d, const struct dalbe_sample *s)
{
	u32 limit_q16 = d->config.unlimited ? Q16_ONE : DALBE_PHI_LIMIT_Q16;
	u64 std_q40;

	if (!s->contended)
		return;
	d->phi_price_q40 = fp_add(d->phi_price_q40,
				  fp_mul_div(s->price_q40, s->rounds, 1));
	d->phi_std_q40 = fp_add(d->phi_std_q40,
				fp_mul_div(s->price_std_q40, s->rounds, 1));
	d->phi_losses += s->losses;
	if (++d->phi_updates % DALBE_TPHI_UPDATES)
		return;

	if (d->phi_losses < DALBE_PHI_MIN_LOSSES) {
		std_q40 = fp_add(d->phi_std_q40, s->weight_std_q40);
		d->phi_q16 = max(d->phi_q16, dalbe_phi(d->phi_q16,
						       d->phi_price_q40,
						       std_q40, limit_q16));
		return;
	}
	dalbe_set_phi(d, dalbe_phi(d->phi_q16, d->phi_price_q40,
				   d->phi_std_q40, limit_q16));
	d->phi_price_q40 = 0;
	d->phi_std_q40 = 0;
	d->phi_losses = 0;
	d->phi_updates = 0;
}

/* The controllers proper: w as they want it, which may exceed 1. */
static u32 dalbe_wanted_q16(struct dalbe *d, const struct dalbe_sample *s,
			    const struct dalbe_model *model)
{
	bool spare = !s->contended && d->rate_Bps > d->expected_Bps;
	u64 model_q40;

	if (d->config.controller == DALBE_CONTROLLER_PID) {
		s64 u_q16 = dalbe_pid_update(&d->pid, d->w_q16, d->target_Bps,
					     d->rate_Bps, DALBE_TW_PAPER_NS);

		return clamp_t(s64, u_q16, 0, U32_MAX);
	}

	model_q40 = model->price_q40(model->arg, d->target_Bps);
	if (d->config.controller == DALBE_CONTROLLER_FLOOR)
		return dalbe_mbc_weight(s->price_q40, d->phi_q16, model_q40,
					Q16_ONE);

	/* eps is not updated while F(19) holds w back (the paper), nor at either
	 * bound of w, nor from a rate that was meant for another target.
	 */
	if (!d->w_limited && !d->retargeted && !spare && !d->ceiled &&
	    !d->floored)
		d->trim_q16 = dalbe_mbc_trim(d->trim_q16, d->expected_Bps,
					     d->rate_Bps);

	return dalbe_mbc_weight(s->price_q40, d->phi_q16, model_q40,
				d->trim_q16);
}

/* All bytes are done, but the program sends on: protocol overhead, or a goal
 * that was a guess. Those bytes are as urgent as the rest was, up to a limit.
 */
static bool dalbe_overrun(const struct dalbe *d)
{
	u64 overrun = d->bytes_done - d->goal_bytes;

	return overrun <= fp_add(d->goal_bytes >> DALBE_OVERRUN_SHIFT,
				 DALBE_OVERRUN_BYTES);
}

/* lw of F(19). Its 0.05 belongs to 1/128 of the window: where eight RTTs, or the
 * user, make Tw a larger part of it, waiting for twenty Tw would be waiting for
 * the deadline. And to wait is to take less now and more later; where the w that
 * is needed is near 1 there is no more to be had later. So above 1/2 the limit is
 * divided by the room that is left, 2 (1 - w).
 */
static u32 dalbe_w_limit_q16(const struct dalbe *d, u32 srtt_us, u32 needed_q16)
{
	u64 limit_q16 = fp_mul_div(DALBE_W_LIMIT_Q16 * DALBE_UPDATES,
				   dalbe_tw_ns(d, srtt_us),
				   d->deadline_ns - d->start_ns);
	u32 room_q16;

	if (d->config.unlimited)
		return Q16_ONE;
	limit_q16 = max_t(u64, limit_q16, DALBE_W_LIMIT_Q16);
	room_q16 = min_t(u32, 2 * (Q16_ONE - min(needed_q16, Q16_ONE)), Q16_ONE);
	return min_t(u64, fp_mul_div(limit_q16, Q16_ONE, room_q16), Q16_ONE);
}

/* Is w = 1 enough? Each interval that was sent at it says by how much it was not:
 * zeta, to the deadline itself, over the rate, less 1. One is noise; their sum,
 * which does not fall below 0, is Page's test (CUSUM): a rate that is too low by
 * a third or more is found in two intervals, one by a tenth in ten.
 */
static void dalbe_judge(struct dalbe *d, u64 now_ns, bool best_effort)
{
	u64 needed_Bps = dalbe_target_Bps(dalbe_bytes_left(d),
					  d->deadline_ns - now_ns);
	s64 short_q16 = dalbe_relative_error_q16(needed_Bps, d->rate_Bps);

	short_q16 = clamp_t(s64, short_q16, -(s64)DALBE_SHORTFALL_MAX_Q16,
			    DALBE_SHORTFALL_MAX_Q16);
	if (!best_effort)	/* there is more to be had */
		short_q16 = min_t(s64, short_q16, 0);
	d->shortfall_q16 = clamp_t(s64, d->shortfall_q16 + short_q16, 0,
				   DALBE_INFEASIBLE_Q16);
	if (d->shortfall_q16 == DALBE_INFEASIBLE_Q16)
		d->status = DALBE_STATUS_INFEASIBLE;
	else if (!d->shortfall_q16)
		d->status = DALBE_STATUS_ON_TRACK;
}

/* Best effort over what is needed of it, a mean of eight intervals or so, as prices
 * swing. Of the inverse, w, it would be a mean of what is needed in the worst of them.
 * Where prices differ it begins when phi has been measured a few times.
 */
static void dalbe_learn_room(struct dalbe *d, const struct dalbe_sample *s,
			     u32 needed_q16)
{
	u32 room_q16 = min_t(u64, fp_ratio_q16(Q16_ONE, needed_q16),
			     DALBE_ROOM_MAX_Q16);

	if (s->price_q40 != s->price_std_q40 &&
	    d->updates <= DALBE_ROOM_TPHI * DALBE_TPHI_UPDATES)
		return;
	d->room_q16 += ((s64)room_q16 - (s64)d->room_q16) / 8;
}

/* The w that is needed, by that mean. */
static u32 dalbe_need_q16(const struct dalbe *d)
{
	return min_t(u64, fp_ratio_q16(Q16_ONE, d->room_q16), Q16_ONE);
}

/* What MBC takes beyond the w that is needed. Those it keeps a reserve for have less
 * time to come the nearer the deadline is: in the last half it fades.
 */
static u32 dalbe_extra_q16(const struct dalbe *d, u64 now_ns, u32 needed_q16,
			   u32 mean_q16)
{
	u32 wanted_q16 = dalbe_reserve(mean_q16);
	u64 half_ns = (d->deadline_ns - d->start_ns) / 2;

	if (wanted_q16 <= needed_q16)
		return 0;
	return fp_mul_div(wanted_q16 - needed_q16,
			  min(d->deadline_ns - now_ns, half_ns),
			  max(half_ns, 1ull));
}

/* No sooner than patience lets it, F(19): @w_q16, where so much is needed. */
static u32 dalbe_patient_q16(struct dalbe *d, const struct dalbe_sample *s,
			     u32 w_q16, u32 needed_q16)
{
	u32 limited_q16;

	w_q16 = clamp_t(u32, w_q16, d->config.wmin_q16, Q16_ONE);
	limited_q16 = dalbe_limit_increase(d->w_q16, w_q16,
					   dalbe_w_limit_q16(d, s->srtt_us,
							     needed_q16));
	d->w_limited = limited_q16 < w_q16;
	return limited_q16;
}

/* What MBC takes where so much is needed: that and the reserve. */
static u32 dalbe_mbc_take_q16(struct dalbe *d, const struct dalbe_sample *s,
			      u32 needed_q16)
{
	u32 mean_q16, extra_q16;

	dalbe_learn_room(d, s, needed_q16);
	mean_q16 = dalbe_need_q16(d);
	extra_q16 = dalbe_extra_q16(d, s->now_ns, needed_q16, mean_q16);
	return dalbe_patient_q16(d, s, needed_q16 + extra_q16,
				 max(needed_q16, mean_q16));
}

static void dalbe_control(struct dalbe *d, const struct dalbe_sample *s,
			  const struct dalbe_model *model)
{
	bool best_effort = d->w_q16 == Q16_ONE;
	u32 needed_q16;

	d->target_Bps = dalbe_target_Bps(dalbe_bytes_left(d),
					 dalbe_time_left_ns(d, s->now_ns));
	if (s->app_limited || d->config.controller == DALBE_CONTROLLER_WEIGHT)
		return;

	dalbe_judge(d, s->now_ns, best_effort);
	needed_q16 = dalbe_wanted_q16(d, s, model);
	if (d->retargeted)
		d->room_q16 = DALBE_ROOM_Q16;
	d->retargeted = false;
	d->floored = needed_q16 < d->config.wmin_q16;
	d->ceiled = needed_q16 > Q16_ONE;

	if (d->config.controller == DALBE_CONTROLLER_MBC)
		d->w_q16 = dalbe_mbc_take_q16(d, s, needed_q16);
	else if (d->config.controller == DALBE_CONTROLLER_FLOOR)
		d->w_q16 = dalbe_patient_q16(d, s, needed_q16, needed_q16);
	else
		d->w_q16 = clamp_t(u32, needed_q16, d->config.wmin_q16,
				   Q16_ONE);
	d->expected_Bps = fp_mul_div(d->target_Bps, d->w_q16,
				     max(needed_q16, 1u));
}

static void dalbe_after_deadline(struct dalbe *d)
{
	d->target_Bps = 0;
	if (d->config.controller == DALBE_CONTROLLER_WEIGHT)
		d->w_q16 = d->config.wmin_q16;
	else if (d->config.after_deadline == DALBE_AFTER_BEST_EFFORT)
		d->w_q16 = Q16_ONE;
	else if (d->config.after_deadline == DALBE_AFTER_SCAVENGER)
		d->w_q16 = d->config.wmin_q16;
	d->status = DALBE_STATUS_LATE;
}

/**
 * dalbe_update - end of an interval: set w for the next
 * @d: the transfer
 * @s: what the base measured
 * @model: the base's steady state
 *
 * Sets w_q16, phi_q16, price_target_q40 and status.
 */
void dalbe_update(struct dalbe *d, const struct dalbe_sample *s,
		  const struct dalbe_model *model)
{
	d->rate_Bps = fp_mul_div(s->bytes_done - d->bytes_done, NSEC_PER_SEC,
				 max_t(u64, s->elapsed_ns, 1));
	d->bytes_done = s->bytes_done;
	d->app_limited = s->app_limited;
	if (!s->app_limited)
		d->updates++;
	dalbe_update_phi(d, s);

	if (!d->goal_bytes) {
		d->status = DALBE_STATUS_NONE;
	} else if (d->bytes_done >= d->goal_bytes) {
		if (d->status != DALBE_STATUS_DONE)
			d->finished_ns = s->now_ns;
		d->status = DALBE_STATUS_DONE;
		d->target_Bps = 0;
		if (!dalbe_overrun(d))
			d->w_q16 = d->config.wmin_q16;
	} else if (s->now_ns >= d->deadline_ns) {
		dalbe_after_deadline(d);
	} else {
		dalbe_control(d, s, model);
	}
	d->price_target_q40 = fp_mul_div(s->price_q40, Q16_ONE,
					 dalbe_mu_q16(d));
	d->w_lately_q16 -= d->w_lately_q16 / DALBE_HASTE_UPDATES;
	d->w_lately_q16 = max(d->w_lately_q16, d->w_q16);
}

/**
 * dalbe_mu_q16 - F(26), mu = w * phi
 * @d: the transfer
 *
 * Return: mu in Q16, at least 1/65536: it divides.
 */
u32 dalbe_mu_q16(const struct dalbe *d)
{
	return max_t(u32, 1, fp_mul_q16(d->phi_q16, d->w_q16));
}

/**
 * dalbe_haste_q16 - how little time there is to lose
 * @d: the transfer
 *
 * What is not taken of a link while it is idle has to be taken from others later. So
 * who lately needed all, or nearly so, is in haste where w is small now, too.
 *
 * Return: Q16, from w in force up to 1: the most that w was, less 1/64 per update since.
 */
u32 dalbe_haste_q16(const struct dalbe *d)
{
	return max(d->w_q16, d->w_lately_q16);
}
