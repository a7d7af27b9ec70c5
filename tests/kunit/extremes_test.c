// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every corner of every input, and what has to hold there: 1 bit/s to
 * 400 Gbit/s, an RTT of 10 us to 60 s, 1 byte to 2^63, 1 ms to 1 year, G from
 * 0.002 to 125 ms, gradient sums up to 2^31, prices from none to all, windows up
 * to 2^28 packets. UBSAN watches the rest.
 */
#include <linux/prandom.h>

#include "core/bases/cdg.h"
#include "core/control/control.h"
#include "core/scavenger/cubic.h"
#include "core/scavenger/path_memory.h"
#include "near.h"

static const u64 rates_Bps[] = { 0, 1, 1250000, 50000000000ull };
static const u32 rtts_us[] = { 10, 50000, 60000000 };
static const u64 sizes[] = { 1, 1460, U32_MAX, 1ull << 63 };
static const u64 windows_ns[] = {
	NSEC_PER_MSEC, 3600 * NSEC_PER_SEC, 365 * 86400 * NSEC_PER_SEC,
};

static const u64 prices_q40[] = { 0, 1, Q40_ONE / 1000, Q40_ONE, U64_MAX };
static const u32 losses[] = { 0, 1, U32_MAX };
static const u32 wmins_q16[] = { 1, 65, Q16_ONE };
static const u32 msss[] = { 88, 536, 1460, 65483 };
static const u32 gs_ns[] = {
	0, CDG_G_MIN_NS, 100000, CDG_G_DEFAULT_NS, CDG_G_MAX_NS, U32_MAX,
};

static const s32 sums_us[] = {
	S32_MIN, -1, 0, 1, 31, 1000, 1 << 20, S32_MAX,
};

/* A transfer in a corner, and what its base measures there. */
struct corner {
	u64 rate_Bps;
	u64 size;
	u64 window_ns;
	u64 price_q40;
	u64 price_standard_q40;
	u32 srtt_us;
	u32 losses;
	struct control_config config;
};

/* The next digit, to this base, of a number whose digits choose from arrays. */
static size_t next_digit(size_t *number, size_t base)
{
	size_t digit = *number % base;

	*number /= base;
	return digit;
}

static const u8 controllers[] = {
	DALBE_CONTROLLER_PID, DALBE_CONTROLLER_MBC, DALBE_CONTROLLER_FLOOR,
};

/* Return: false when all corners have been visited. */
static bool corner_at(size_t number, struct corner *c)
{
	static const u8 policies[] = {
		DALBE_AFTER_BEST_EFFORT, DALBE_AFTER_SCAVENGER, DALBE_AFTER_KEEP,
	};

	/* Does not multiply: every policy meets many corners. */
	c->config.after_deadline = policies[number % ARRAY_SIZE(policies)];
	c->config.tw_ms = 0;

	c->size = sizes[next_digit(&number, ARRAY_SIZE(sizes))];
	c->rate_Bps = rates_Bps[next_digit(&number, ARRAY_SIZE(rates_Bps))];
	c->window_ns = windows_ns[next_digit(&number, ARRAY_SIZE(windows_ns))];
	c->price_q40 = prices_q40[next_digit(&number, ARRAY_SIZE(prices_q40))];
	c->srtt_us = rtts_us[next_digit(&number, ARRAY_SIZE(rtts_us))];
	c->losses = losses[next_digit(&number, ARRAY_SIZE(losses))];
	c->config.controller =
		controllers[next_digit(&number, ARRAY_SIZE(controllers))];
	c->config.wmin_q16 =
		wmins_q16[next_digit(&number, ARRAY_SIZE(wmins_q16))];
	c->price_standard_q40 = c->losses ? c->price_q40 : 0;
	return !number;
}

static u64 corner_model(const void *arg, u64 rate_Bps)
{
	const struct corner *c = arg;

	return cdg_rate_price_q40(rate_Bps, 1460, c->srtt_us);
}

static void assert_within(struct kunit *test, size_t number, const char *name,
			  s64 value, s64 low, s64 high)
{
	KUNIT_ASSERT_TRUE_MSG(test, low <= value && value <= high,
			      "corner %zu: %s is %lld, not in %lld .. %lld",
			      number, name, value, low, high);
}

static void assert_sane(struct kunit *test, size_t number,
			const struct control *d)
{
	assert_within(test, number, "w", d->w_q16, d->config.wmin_q16, Q16_ONE);
	assert_within(test, number, "phi", d->phi_q16, Q16_ONE,
		      DALBE_PHI_MAX_Q16);
	assert_within(test, number, "mu", control_mu_q16(d), 1,
		      DALBE_PHI_MAX_Q16);
	assert_within(test, number, "trim", d->mbc.trim_q16, DALBE_TRIM_MIN_Q16,
		      DALBE_TRIM_MAX_Q16);
	assert_within(test, number, "integral", d->pid.integral_q16, 0, Q16_ONE);
}

/* The status follows from bytes and clock. */
static void assert_status(struct kunit *test, size_t number,
			  const struct control *d, u64 now_ns)
{
	if (d->goal.done >= d->goal.bytes)
		assert_within(test, number, "status", d->status,
			      DALBE_STATUS_DONE, DALBE_STATUS_DONE);
	else if (now_ns >= d->goal.deadline_ns)
		assert_within(test, number, "status", d->status,
			      DALBE_STATUS_LATE, DALBE_STATUS_LATE);
	else
		assert_within(test, number, "status", d->status,
			      DALBE_STATUS_ON_TRACK, DALBE_STATUS_INFEASIBLE);
}

/* From the goal past the deadline, with everything that can happen on the way. */
static void live_through(struct kunit *test, size_t number,
			 const struct corner *c, struct rnd_state *rnd)
{
	const u64 start_ns = number % 2 ? 0 : 1ull << 62;
	const struct control_model model = { corner_model, c };
	struct control_sample s = { .now_ns = start_ns };
	struct control d;
	int i;

	control_start(&d, &c->config, c->size, 0, start_ns,
		      start_ns + c->window_ns);
	assert_sane(test, number, &d);
	for (i = 0; i < 20; i++) {
		u32 random = prandom_u32_state(rnd);
		u64 tw_ns = control_tw_ns(&d, c->srtt_us);

		KUNIT_ASSERT_GE(test, tw_ns, 100ull * NSEC_PER_MSEC);
		s.elapsed_ns = random & 1 ? tw_ns : c->window_ns / 10;
		s.now_ns += s.elapsed_ns;
		s.bytes_done = min(fp_add(s.bytes_done,
					  fp_mul_div(c->rate_Bps, s.elapsed_ns,
						     NSEC_PER_SEC)),
				   1ull << 63);
		s.price_q40 = c->price_q40;
		s.price_standard_q40 = c->price_standard_q40;
		s.weight_standard_q40 = c->price_standard_q40;
		s.rounds = random & 0x400 ? c->losses : 10;
		s.losses = c->losses;
		s.srtt_us = c->srtt_us;
		s.app_limited = !(random & 0xe);
		s.others_seen = random & 0x10;
		control_update(&d, &s, &model);
		assert_sane(test, number, &d);
		assert_status(test, number, &d, s.now_ns);
		if (!(random & 0x3e0))	/* more bytes, less time */
			control_change_goal(&d, fp_add(c->size, random), s.now_ns,
					    fp_add(s.now_ns, c->window_ns / 2));
	}
}

static void control_is_sane_in_every_corner(struct kunit *test)
{
	struct rnd_state rnd;
	struct corner c;
	size_t number;

	prandom_seed_state(&rnd, 1);
	for (number = 0; corner_at(number, &c); number++)
		live_through(test, number, &c, &rnd);
	KUNIT_EXPECT_EQ(test, number,
			ARRAY_SIZE(rates_Bps) * ARRAY_SIZE(sizes) *
			ARRAY_SIZE(windows_ns) * ARRAY_SIZE(prices_q40) *
			ARRAY_SIZE(rtts_us) * ARRAY_SIZE(losses) *
			ARRAY_SIZE(controllers) * ARRAY_SIZE(wmins_q16));
}

/* F(6): more bytes or less time never lower it. */
static void target_rate_is_monotonic(struct kunit *test)
{
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		for (j = 0; j < ARRAY_SIZE(windows_ns); j++) {
			u64 Bps = control_target_Bps(sizes[i], windows_ns[j]);

			if (i)
				KUNIT_EXPECT_GE(test, Bps,
						control_target_Bps(sizes[i - 1],
								   windows_ns[j]));
			if (j)
				KUNIT_EXPECT_LE(test, Bps,
						control_target_Bps(sizes[i],
								   windows_ns[j - 1]));
		}
}

static noinline u32 probability_q32(u32 g_ns, s32 sum_us)
{
	struct cdg c;

	cdg_init(&c, g_ns, 10);
	return cdg_backoff_probability(&c, sum_us, false);
}

/* C(4): rises with the gradient, falls with G. */
static void probability_is_monotonic(struct kunit *test)
{
	size_t g, s;

	for (g = 0; g < ARRAY_SIZE(gs_ns); g++) {
		u32 last_q32 = 0;

		for (s = 0; s < ARRAY_SIZE(sums_us); s++) {
			u32 q32 = probability_q32(gs_ns[g], sums_us[s]);

			KUNIT_EXPECT_GE(test, q32, last_q32);
			KUNIT_EXPECT_LE(test, q32,
					probability_q32(gs_ns[g ? g - 1 : 0],
							sums_us[s]));
			KUNIT_EXPECT_EQ(test, q32 > 0, sums_us[s] > 0);
			last_q32 = q32;
		}
		KUNIT_EXPECT_EQ(test, last_q32, U32_MAX);
	}
}

/* F(12): falls with the rate and with the RTT, rises with the packet size. */
static void rate_price_is_monotonic(struct kunit *test)
{
	size_t i, j, k;

	for (i = 0; i < ARRAY_SIZE(rates_Bps); i++)
		for (j = 0; j < ARRAY_SIZE(rtts_us); j++)
			for (k = 0; k < ARRAY_SIZE(msss); k++) {
				u64 q40 = cdg_rate_price_q40(rates_Bps[i],
							     msss[k],
							     rtts_us[j]);

				KUNIT_EXPECT_GT(test, q40, 0ull);
				if (i)
					KUNIT_EXPECT_LE(test, q40,
							cdg_rate_price_q40(rates_Bps[i - 1],
									   msss[k],
									   rtts_us[j]));
				if (j)
					KUNIT_EXPECT_LE(test, q40,
							cdg_rate_price_q40(rates_Bps[i],
									   msss[k],
									   rtts_us[j - 1]));
				if (k)
					KUNIT_EXPECT_GE(test, q40,
							cdg_rate_price_q40(rates_Bps[i],
									   msss[k - 1],
									   rtts_us[j]));
			}
}

/* Over RTTs that jump between the extremes: the price of delay is bounded and
 * falls with G, and the G for a price is in range and falls with the price.
 */
static void delay_price_is_monotonic(struct kunit *test)
{
	static const struct cdg_heuristics h;
	struct rnd_state rnd;
	struct cdg c;
	size_t i, g;

	prandom_seed_state(&rnd, 1);
	cdg_init(&c, CDG_G_DEFAULT_NS, 10);
	for (i = 0; i < MANY; i++) {
		u64 last_q40 = U64_MAX;
		u32 last_ns = CDG_G_MAX_NS;

		cdg_rtt_sample(&c, rtts_us[prandom_u32_state(&rnd) %
					   ARRAY_SIZE(rtts_us)], 2, false);
		cdg_round(&c, &h);
		if (!(i % 100))
			cdg_age_histogram(&c);
		for (g = 1; g < ARRAY_SIZE(gs_ns) - 1; g++) {
			u64 q40 = cdg_delay_price_q40(&c, gs_ns[g]);

			KUNIT_ASSERT_LE(test, q40, last_q40);
			KUNIT_ASSERT_LE(test, q40,
					Q40_ONE / 2);
			last_q40 = q40;
		}
		if (i < CDG_WINDOW)
			continue;
		for (g = 0; g < ARRAY_SIZE(prices_q40); g++) {
			u32 g_ns = cdg_g_for_delay_price(&c, prices_q40[g], 0);

			KUNIT_ASSERT_GE(test, g_ns, CDG_G_MIN_NS);
			KUNIT_ASSERT_LE(test, g_ns, last_ns);
			last_ns = g_ns;
		}
	}
}

static const u64 clocks_us[] = { 0, 1, 60000000, 1ull << 63, U64_MAX };
static const u64 times_us[] = {
	0, 1, 999, 1000, 50000, 53000, 90000, 60000000, U32_MAX,
};

static const u64 counts[] = { 0, 1, 2, 3, 1000000, U32_MAX };
static const u64 windows_q16[] = {
	0, 2 * Q16_ONE, 100000ull * Q16_ONE, (u64)CUBIC_WINDOW_MAX << 16, U64_MAX,
};

static u64 any(struct rnd_state *rnd, const u64 *from, size_t size)
{
	return from[prandom_u32_state(rnd) % size];
}

static u64 any_clock_us(struct rnd_state *rnd)
{
	return any(rnd, clocks_us, ARRAY_SIZE(clocks_us));
}

static u32 any_time_us(struct rnd_state *rnd)
{
	return any(rnd, times_us, ARRAY_SIZE(times_us));
}

static u32 any_count(struct rnd_state *rnd)
{
	return any(rnd, counts, ARRAY_SIZE(counts));
}

static u64 any_window_q16(struct rnd_state *rnd)
{
	return any(rnd, windows_q16, ARRAY_SIZE(windows_q16));
}

/* Whatever happens to it, in any order: never below two packets, never above the
 * bound, and it shrinks for a loss only.
 */
static void cubic_is_sane_in_any_order(struct kunit *test)
{
	u64 before_q16, max_q16 = (u64)CUBIC_WINDOW_MAX << 16;
	struct rnd_state rnd;
	struct cubic c;
	size_t i;

	prandom_seed_state(&rnd, 1);
	cubic_start(&c, 0, 0);
	for (i = 0; i < 100 * MANY; i++) {
		before_q16 = c.window_q16;
		switch (prandom_u32_state(&rnd) % 16) {
		case 0:
			cubic_start(&c, any_window_q16(&rnd),
				    any_window_q16(&rnd));
			before_q16 = 0;
			break;
		case 1:
			cubic_loss(&c);
			KUNIT_ASSERT_LE(test, c.window_q16, before_q16);
			before_q16 = 0;
			break;
		case 2 ... 8:
			cubic_round(&c, any_clock_us(&rnd), any_time_us(&rnd));
			break;
		default:
			cubic_acked(&c, any_count(&rnd));
		}
		assert_within(test, i, "window", c.window_q16, 2 * Q16_ONE,
			      max_q16);
		assert_within(test, i, "W_max", c.origin_q16, 2 * Q16_ONE,
			      max_q16);
		assert_within(test, i, "W_est", c.reno_q16, 2 * Q16_ONE, max_q16);
		assert_within(test, i, "step", c.step_q16, 0, Q16_ONE / 2);
		assert_within(test, i, "K", c.k_ms, 0, CUBIC_TIME_MAX_MS - 1);
		KUNIT_ASSERT_GE(test, c.window_q16, before_q16);
	}
}

static void any_path(struct rnd_state *rnd, struct path_memory *m, struct path_part *parts,
		     size_t flows)
{
	u32 random = prandom_u32_state(rnd);
	size_t n;

	path_memory_init(m);
	for (n = 0; n < flows; n++) {
		parts[n] = (struct path_part) {};
		path_memory_join(m, any_clock_us(rnd));
	}
	m->cuts = U32_MAX;
	m->yields = U32_MAX;
	m->base_rtt_us = any_time_us(rnd);
	m->full_us = any_time_us(rnd);
	m->stood_us = any_clock_us(rnd);
	m->noise_us = any_time_us(rnd);
	m->patience_us = any_time_us(rnd);
	m->contended = random & 1;
	m->longer = random & 2;
	m->since_us = any_clock_us(rnd);
	m->queue_us = any_clock_us(rnd);
	m->looks_us = any_clock_us(rnd);
	m->poor_us = random & 4 ? any_clock_us(rnd) : 0;
	m->carried_us = any_clock_us(rnd);
	m->carried_q16 = any_clock_us(rnd) >> 12;
	m->same_q16 = random & 8 ? any_clock_us(rnd) >> 12 : 0;
}

static void assert_sums(struct kunit *test, size_t number, const struct path_memory *m,
			const struct path_part *parts, size_t flows)
{
	u64 rate_q16 = 0;
	u32 repairs = 0;
	size_t n;

	for (n = 0; n < flows; n++) {
		rate_q16 += parts[n].rate_q16;
		repairs += parts[n].repairs;
	}
	KUNIT_ASSERT_EQ_MSG(test, m->rate_q16, rate_q16, "row %zu", number);
	KUNIT_ASSERT_EQ(test, m->repairs, repairs);
	KUNIT_ASSERT_EQ(test, m->flows, (u32)flows);
}

/* RTTs that jump between the extremes, any rate, a clock that wraps, from any state: each verdict
 * is met, and goes along an arrow of the diagram; the sums are those of the parts.
 */
static void path_memory_is_sane_in_any_order(struct kunit *test)
{
	u32 seen[PATH_LONGER + 1] = {}, lost = 0;
	struct path_memory *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct path_part parts[4];
	struct rnd_state rnd;
	size_t i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	prandom_seed_state(&rnd, 1);
	for (i = 0; i < 100 * MANY; i++) {
		u32 random = prandom_u32_state(&rnd);
		struct path_part *part = &parts[random % ARRAY_SIZE(parts)];
		struct path_round r = {
			.now_us = any_clock_us(&rnd),
			.rtt_us = any_time_us(&rnd),
			.rtt_max_us = any_time_us(&rnd),
			.base_rtt_us = any_time_us(&rnd),
			.rate_q16 = (u64)any_count(&rnd) << 16,
			.judged = random & 0x100,
			.steady = random & 0x200,
		};
		enum path_verdict v;
		bool before;

		if (!(i % 16))
			any_path(&rnd, m, parts, ARRAY_SIZE(parts));
		before = m->contended;
		r.contended = random & 0x400 ? before : random & 0x800;
		switch (random >> 12 & 7) {
		case 0:
			path_memory_pause(m, part);
			break;
		case 1:
			if (path_memory_lost(m, &r)) {
				KUNIT_ASSERT_TRUE(test, !before && m->contended);
				lost++;
			}
			break;
		case 2:
			path_memory_leave(m, part);
			path_memory_join(m, r.now_us);
			break;
		case 3:
			path_memory_repair(m, part);
			break;
		default:
			v = path_memory_round(m, part, &r);
			seen[v]++;
			KUNIT_ASSERT_EQ(test, m->contended, v == PATH_AS_IT_IS ? before :
					v == PATH_STAND_BACK);
			KUNIT_ASSERT_EQ(test, v == PATH_AS_IT_IS, m->contended == r.contended);
			KUNIT_ASSERT_LE(test, r.fits_q16, m->carried_q16);
			KUNIT_ASSERT_GE(test, r.queue_us, QUEUE_SHORTEST_US);
		}
		assert_sums(test, i, m, parts, ARRAY_SIZE(parts));
	}
	KUNIT_EXPECT_GT(test, lost, 0u);
	for (i = 0; i < ARRAY_SIZE(seen); i++)
		KUNIT_EXPECT_GT_MSG(test, seen[i], 0u, "verdict %zu", i);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(control_is_sane_in_every_corner),
	KUNIT_CASE(target_rate_is_monotonic),
	KUNIT_CASE(probability_is_monotonic),
	KUNIT_CASE(rate_price_is_monotonic),
	KUNIT_CASE(delay_price_is_monotonic),
	KUNIT_CASE(cubic_is_sane_in_any_order),
	KUNIT_CASE(path_memory_is_sane_in_any_order),
	{}
};

static struct kunit_suite suite = { .name = "extremes", .test_cases = cases };

kunit_test_suite(suite);
