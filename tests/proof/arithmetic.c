// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is proved of core/'s arithmetic, by Frama-C: see docs/design.md, "Arithmetic".
 *
 * Each prove_...() calls functions of core/ with any arguments in the ranges that it names, and Eva
 * follows all of their values: no shift, sum, product or difference wraps, nothing divides by zero,
 * no index is out of bounds, and the assertions hold. What Eva leaves open WP proves, with Z3.
 *
 * Two functions are known by what is said of them here, not by their code:
 *
 *	fp_mul_div()	it is at most a * b / c, rounded down, and a part of 2^-28 more: tests/kunit
 *			and tests/python/test_fixed.py compare it with exact integers
 *	fp_add()	it wraps on purpose, to find out that it has to saturate
 */
#include <__fc_builtin.h>

#include "port.h"

/*@ assigns \result \from a, b, c;
  @ ensures a == 0 || b == 0 ==> \result == 0;
  @ ensures a < 0x100000000 && b < 0x100000000 && 0 < c < 0x100000000 ==> \result == a * b / c;
  @ ensures c != 0 ==> \result <= a * b / c + a * b / c / 0x10000000 + 1;
  @*/
static inline u64 fp_mul_div(u64 a, u64 b, u64 c);

/*@ assigns \result \from a, b;
  @ ensures \result == (a + b > 0xffffffffffffffff ? 0xffffffffffffffff : a + b);
  @*/
static inline u64 fp_add(u64 a, u64 b);

/*@ requires limit_q16 <= 0x10000;
  @ ensures \result == new_q16 || old_q16 <= \result <= new_q16;
  @*/
u32 control_limit_increase(u32 old_q16, u32 new_q16, u32 limit_q16);

/* The builtin, by its meaning. */
static inline int clz(u64 x)
{
	int n;

	/*@ loop unroll 64; */
	for (n = 63; n > 0; n--)
		if (x >= 1ull << n)
			return 63 - n;
	return 63;
}

#define __builtin_clzll(x)	clz(x)

#include "core/bases/exp.c"
#include "core/control/equations.c"
#include "core/control/job.c"
#include "core/scavenger/cubic.c"
#include "core/scavenger/path_memory.c"

#define ANY(type, from, to)	((type)Frama_C_unsigned_long_interval(from, to))

#define TIME_MAX_US	(S64_MAX / 1000)
#define W_MAX	((u64)CUBIC_WINDOW_MAX << 16)

void prove_fp_fractions(void)
{
	fp_ratio_q16(ANY(u64, 0, U64_MAX), ANY(u64, 0, U64_MAX));
	fp_mul_q16(ANY(u64, 0, U64_MAX), ANY(u32, 0, U32_MAX));
	fp_ppm(ANY(u32, 0, U32_MAX));
}

static struct cubic any_cubic(void)
{
	return (struct cubic) {
		.window_q16 = ANY(u64, 2 * Q16_ONE, W_MAX), .origin_q16 = ANY(u64, 0, W_MAX),
		.reno_q16 = ANY(u64, 0, W_MAX), .time_us = ANY(u64, 0, U64_MAX),
		.step_q16 = ANY(u32, 0, Q16_ONE / 2), .k_ms = ANY(u32, 0, (1 << 21) - 1),
	};
}

/* What holds of a window before each of these holds after it. */
static void check_cubic(const struct cubic *c)
{
	/*@ assert 2 * 0x10000 <= c->window_q16 <= 0x100000000000; */
	/*@ assert c->origin_q16 <= 0x100000000000 && c->reno_q16 <= 0x100000000000; */
	/*@ assert c->k_ms < 0x200000; */
}

void prove_cubic_start(void)
{
	struct cubic c = any_cubic();

	cubic_start(&c, ANY(u64, 0, U64_MAX), ANY(u64, 0, U64_MAX));
	check_cubic(&c);
}

void prove_cubic_round(void)
{
	struct cubic c = any_cubic();

	cubic_round(&c, ANY(u64, 0, U64_MAX), ANY(u32, 0, U32_MAX));
	check_cubic(&c);
}

void prove_cubic_acked(void)
{
	struct cubic c = any_cubic();

	cubic_acked(&c, ANY(u32, 0, U32_MAX));
	/*@ assert 2 * 0x10000 <= c.window_q16 <= 0x100000000000; */
}

void prove_cubic_loss(void)
{
	struct cubic c = any_cubic();

	cubic_loss(&c);
	check_cubic(&c);
}

void prove_cubic_k_ms(void)
{
	u32 k_ms = cubic_k_ms(ANY(u64, 0, U64_MAX));

	/*@ assert k_ms < 0x200000; */
}

/* C(4): the exponent, and its product with any sum of gradients. */
void prove_cdg_probability(void)
{
	u64 scale_q40 = cdg_scale_q40(ANY(u32, CDG_G_MIN_NS, CDG_G_MAX_NS));

	/*@ assert 1.0e6 <= scale_q40 <= 6.9e10; */
	cdg_probability_q32(ANY(s32, 1, S32_MAX), scale_q40);
}

void prove_cdg_exp_neg(void)
{
	cdg_exp_neg_q32(ANY(u64, 0, U64_MAX));
}

/* By octaves: an index of the table follows from where in its octave the argument is. */
void prove_cdg_exp2(void)
{
	u32 octave;

	cdg_exp2_q8(0);
	/*@ loop unroll 32; */
	for (octave = 1; octave <= 31; octave++)
		cdg_exp2_q8(256 * octave - ANY(u32, 0, 255));
}

void prove_control_limit_increase(void)
{
	control_limit_increase(ANY(u32, 0, U32_MAX), ANY(u32, 0, U32_MAX), ANY(u32, 0, Q16_ONE));
}

void prove_control_relative_error(void)
{
	s64 error_q16 = control_relative_error_q16(ANY(u64, 0, U64_MAX), ANY(u64, 0, U64_MAX));

	/*@ assert -0x10000 <= error_q16 <= 16 * 0x10000; */
}

void prove_control_pid_update(void)
{
	struct control_pid pid = {
		.integral_q16 = ANY(s64, 0, Q16_ONE),
		.error_q16 = ANY(s64, 0, DALBE_ERROR_MAX_Q16 + Q16_ONE) - Q16_ONE,
	};

	control_pid_update(&pid, ANY(u32, 1, Q16_ONE), ANY(u64, 0, U64_MAX), ANY(u64, 0, U64_MAX),
			   DALBE_TW_PAPER_NS);
	/*@ assert 0 <= pid.integral_q16 <= 0x10000; */
	/*@ assert -0x10000 <= pid.error_q16 <= 16 * 0x10000; */
}

void prove_control_mbc_trim(void)
{
	control_mbc_trim(ANY(u32, DALBE_TRIM_MIN_Q16, DALBE_TRIM_MAX_Q16), ANY(u64, 0, U64_MAX),
			 ANY(u64, 0, U64_MAX));
}

void prove_control_with_reserve(void)
{
	control_with_reserve_q16(ANY(u32, 0, U32_MAX));
}

void prove_control_next_phi(void)
{
	control_next_phi_q16(ANY(u32, Q16_ONE, DALBE_PHI_MAX_Q16), ANY(u64, 0, U64_MAX),
			     ANY(u64, 0, U64_MAX), ANY(u32, 0, Q16_ONE));
}

/* Of a Tw under way and a part, times up to 292 years, some 10^9 rounds. */
void prove_job_count(void)
{
	struct job job = {
		.control.goal.bytes = ANY(u64, 0, S64_MAX),
		.bytes_done = ANY(u64, 0, U64_MAX), .done_ns = ANY(u64, 0, S64_MAX),
		.tw = {
			.busy_us = ANY(u64, 0, TIME_MAX_US),
			.limited_us = ANY(u64, 0, TIME_MAX_US),
			.limited_until_us = ANY(u64, 0, TIME_MAX_US),
			.price_sum_q40 = ANY(u64, 0, U64_MAX),
			.standard_sum_q40 = ANY(u64, 0, U64_MAX),
			.phi_price_sum_q40 = ANY(u64, 0, U64_MAX), .rounds = ANY(u32, 0, 1u << 30),
			.rounds_beside = ANY(u32, 0, 1u << 30), .losses = ANY(u32, 0, 1u << 30),
		},
	};
	struct job_part part = {
		.sample = {
			.now_ns = ANY(u64, 0, S64_MAX), .elapsed_ns = ANY(u64, 0, S64_MAX),
			.bytes_done = ANY(u64, 0, U64_MAX), .price_q40 = ANY(u64, 0, U64_MAX),
			.rounds = ANY(u32, 0, 1u << 30), .losses = ANY(u32, 0, 1u << 30),
			.app_limited = ANY(u8, 0, 1), .others_seen = ANY(u8, 0, 1),
		},
		.now_us = ANY(u64, 0, TIME_MAX_US), .busy_us = ANY(u64, 0, TIME_MAX_US),
	};

	job_count(&job, &part);
}

void prove_path_look(void)
{
	u64 look_us = path_look_us(ANY(u32, 0, U32_MAX));

	/*@ assert 300000 <= look_us; */
}

/* 268 s is the longest base RTT, CDG_RTT_MAX_US. */
void prove_path_patience(void)
{
	struct path_memory m = { .carried_q16 = ANY(u64, 0, U64_MAX) };
	u32 patience_us = path_patience_us(&m, ANY(u32, 0, CDG_RTT_MAX_US));

	/*@ assert patience_us <= 1700000000; */
}

void prove_path_packets(void)
{
	struct path_memory m = {
		.carried_q16 = ANY(u64, 0, U64_MAX), .flows = ANY(u32, 0, U32_MAX - 1),
	};

	path_packets_us(&m);
}
