/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the Python tests see of the pure code: all of cdg.h, cubic.h, effect.h,
 * owd.h, control.h and sender.h, and under a name that a shared library can have, fixed.h's inline
 * functions and the constants of the interface.
 */
#ifndef DALBE_PURE_H
#define DALBE_PURE_H

#include "core/sender.h"

enum pure_constants {
	CONTROLLER_PID = DALBE_CONTROLLER_PID,
	CONTROLLER_MBC = DALBE_CONTROLLER_MBC,
	CONTROLLER_WEIGHT = DALBE_CONTROLLER_WEIGHT,
	CONTROLLER_FLOOR = DALBE_CONTROLLER_FLOOR,
	AFTER_BEST_EFFORT = DALBE_AFTER_BEST_EFFORT,
	AFTER_SCAVENGER = DALBE_AFTER_SCAVENGER,
	AFTER_KEEP = DALBE_AFTER_KEEP,
	STATUS_ON_TRACK = DALBE_STATUS_ON_TRACK,
	STATUS_INFEASIBLE = DALBE_STATUS_INFEASIBLE,
	STATUS_LATE = DALBE_STATUS_LATE,
	STATUS_DONE = DALBE_STATUS_DONE,
	PHI_LIMIT_Q16 = DALBE_PHI_LIMIT_Q16,
	TPHI_UPDATES = DALBE_TPHI_UPDATES,
};

u64 pure_fp_shift(u64 x, int shift);
u64 pure_fp_mul_div(u64 a, u64 b, u64 c);
u32 pure_fp_ratio_q16(u64 a, u64 b);
u64 pure_fp_mul_q16(u64 x, u32 factor_q16);
u64 pure_fp_add(u64 a, u64 b);
u32 pure_queue_above_us(u32 rtt_us, u32 base_rtt_us);
void pure_seed(u32 seed);

#endif /* DALBE_PURE_H */
