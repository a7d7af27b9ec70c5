// SPDX-License-Identifier: GPL-2.0-only
/*
 * The framework's equations, and what we have changed of them, each by itself; control.c joins
 * them. F(n) is equation n of the paper that control.h names.
 */
#include "core/control/control.h"

/**
 * control_target_Bps - F(6), the lowest rate that meets the deadline
 * @bytes_left: bytes still to be acknowledged
 * @left_ns: time until the deadline; 0: as fast as can be
 *
 * Return: zeta in bytes/s, saturating.
 */
u64 control_target_Bps(u64 bytes_left, u64 left_ns)
{
	return fp_mul_div(bytes_left, NSEC_PER_SEC, left_ns);
}

/**
 * control_limit_increase - F(19): give way longer than strictly needed
 * @old_q16: value so far
 * @new_q16: wanted value
 * @limit_q16: largest increase as part of the wanted value
 *
 * Return: @new_q16, or @old_q16 plus what the limit allows. Decreases pass.
 */
u32 control_limit_increase(u32 old_q16, u32 new_q16, u32 limit_q16)
{
	u32 step_q16 = ((u64)limit_q16 * new_q16) >> 16;

	if (new_q16 > old_q16 && new_q16 - old_q16 > step_q16)
		return old_q16 + step_q16;
	return new_q16;
}

/**
 * control_relative_error_q16 - (target - rate) / rate
 * @target_Bps: wanted
 * @rate_Bps: reached; may be 0
 *
 * Return: Q16, at most DALBE_ERROR_MAX_Q16.
 */
s64 control_relative_error_q16(u64 target_Bps, u64 rate_Bps)
{
	s64 error_q16 = (s64)fp_ratio_q16(target_Bps, rate_Bps) - Q16_ONE;

	return min_t(s64, error_q16, DALBE_ERROR_MAX_Q16);
}

/**
 * control_pid_update - F(7) to F(9)
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
s64 control_pid_update(struct control_pid *pid, u32 w_q16, u64 target_Bps,
		       u64 rate_Bps, u64 tw_ns)
{
	s64 error_q16, integral_q16, u_q16;
	u64 ki_tw_q16;

	error_q16 = control_relative_error_q16(target_Bps, rate_Bps);
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
 * control_mbc_trim - F(13) with a memory: 1 + eps
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
u32 control_mbc_trim(u32 trim_q16, u64 target_Bps, u64 rate_Bps)
{
	s64 error_q16 = control_relative_error_q16(target_Bps, rate_Bps);
	s64 factor_q16;

	error_q16 = clamp_t(s64, error_q16, -(s64)Q16_ONE / 2, Q16_ONE);
	factor_q16 = Q16_ONE + div_s64(error_q16 * DALBE_TRIM_GAIN_Q16, Q16_ONE);
	return clamp_t(u64, ((u64)trim_q16 * factor_q16) >> 16,
		       DALBE_TRIM_MIN_Q16, DALBE_TRIM_MAX_Q16);
}

/**
 * control_mbc_answer_q16 - F(14), with F(26): mu = w * phi = q / qhat * (1 + eps)
 * @price_q40: q, measured
 * @phi_q16: phi
 * @model_price_q40: qhat, what the model asks for
 * @trim_q16: 1 + eps
 *
 * Return: the w that MBC asks for, Q16, before it is clamped to [wmin, 1].
 */
u32 control_mbc_answer_q16(u64 price_q40, u32 phi_q16, u64 model_price_q40,
			   u32 trim_q16)
{
	u64 mu_q32 = fp_mul_div(price_q40, (u64)trim_q16 << 16,
				model_price_q40);

	return min_t(u64, fp_mul_div(mu_q32, 1, phi_q16), U32_MAX);
}

/**
 * control_with_reserve_q16 - ours: a goal that is nearly out of reach does not wait
 * @mean_answer_q16: w that just meets the deadline if all stays as it is
 *
 * w is the part of its best-effort rate that the transfer needs from now to the
 * end. Beside one flow, another that comes leaves 2/3 of that rate, two leave 1/2:
 * one that needs more than 2/3 is one arrival away from being late, and takes best
 * effort while it is there to be had; one that needs less than 1/2 has time to see two
 * come, and takes no more than that; between, a straight line. The end of the
 * transfer stays where it is, as zeta follows what is left; what moves is when
 * within the window its bytes go.
 *
 * Return: the w to be taken, with the reserve: at least @mean_answer_q16, saturating; 0 where that
 * is not above 1/2, and there is no reserve.
 */
u32 control_with_reserve_q16(u32 mean_answer_q16)
{
	if (mean_answer_q16 <= Q16_ONE / 2)
		return 0;
	return min_t(u64, 3 * (u64)mean_answer_q16 - Q16_ONE, U32_MAX);
}

/**
 * control_next_phi_q16 - F(25), its increase limited as in F(19)
 * @phi_q16: phi so far
 * @price_q40: sum of P_W over the base's indications
 * @price_standard_q40: sum over those of the standard congestion control
 * @limit_q16: l_phi; Q16_ONE: none
 *
 * Return: phi in Q16, within [1, DALBE_PHI_MAX_Q16].
 */
u32 control_next_phi_q16(u32 phi_q16, u64 price_q40, u64 price_standard_q40, u32 limit_q16)
{
	u32 new_q16 = clamp_t(u32, fp_ratio_q16(price_q40, price_standard_q40),
			      Q16_ONE, DALBE_PHI_MAX_Q16);

	return control_limit_increase(phi_q16, new_q16, limit_q16);
}
