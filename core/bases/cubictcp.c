// SPDX-License-Identifier: GPL-2.0-only
/*
 * Linux' CUBIC, ACK by ACK
 *
 * The windows are those of Linux 6.12's tcp_cubic.c with its defaults, in any kernel: see
 * tests/python/test_streams.py and test_base_cubic.py. cubic.c is not: a scavenger imagines that
 * window, and does so once per round trip.
 *
 * Differences from Linux:
 *   o Packets that have become too large for the path, which lead to the state Loss without a
 *     loss, do not start the curve anew: sender_count_loss() calls them BASE_DISORDER.
 *   o net.dalbe.hystart is its parameter hystart_detect.
 *   o The curve ends after 256 s. Linux' product wraps after 347 s.
 *
 * Reference: RFC 9438, "CUBIC for Fast and Long-Distance Networks"; R(n) is its figure n.
 */
#include "core/scavenger/cubic.h"
#include "core/sender.h"

/* From Linux' table in cubic_root(): about 64 times the cube root of 8 to 63, less 10. The roots
 * that follow from it are off by 0.2 %: with exact ones the windows would not be Linux'.
 */
static const u8 cubictcp_guess[56] = {
	123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173,
	176, 179, 181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206,
	209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227, 229, 231, 232,
	234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
};

/**
 * cubictcp_cube_root - cube root as Linux has it: a guess, and one step of Newton's
 * @a: 64 or more
 */
u32 cubictcp_cube_root(u64 a)
{
	u32 bits = (fls64(a) - 1) / 3 - 1;
	u32 guess = (cubictcp_guess[(a >> 3 * bits) - 8] + 10) << bits >> 6;

	return (2 * guess + (u32)div64_u64(a, (u64)guess * (guess - 1))) * 341 >> 10;
}

static void cubictcp_begin_train(struct cubictcp *c, const struct tcp_path *p)
{
	c->train = (struct cubictcp_train) {
		.end = path_nxt(p),
		.start_us = p->now_us,
		.last_us = p->now_us,
		.rtt_us = U32_MAX,
	};
}

/**
 * cubictcp_reset - a connection begins, or begins anew after a timeout
 * @c: Linux' CUBIC
 * @p: the connection
 */
void cubictcp_reset(struct cubictcp *c, const struct tcp_path *p)
{
	memset(&c->curve, 0, sizeof(c->curve));
	cubictcp_begin_train(c, p);
}

/* Do ACKs follow each other for as long as the path is? TCP spaces packets over half of it. */
static bool cubictcp_train_long(struct cubictcp *c, const struct rtt_sample *sample, u32 now_us)
{
	u32 full_us = c->curve.delay_us + sample->burst_us;

	if ((s32)(now_us - c->train.last_us) > CUBICTCP_TRAIN_GAP_US)
		return false;
	c->train.last_us = now_us;
	return (s32)(now_us - c->train.start_us) > (s32)(sample->paced ? full_us : full_us / 2);
}

/* Is the lowest of more than eight RTTs well above the lowest ever? */
static bool cubictcp_delayed(struct cubictcp *c, u32 rtt_us)
{
	c->train.rtt_us = min(c->train.rtt_us, rtt_us);
	if (c->train.rtts < CUBICTCP_HYSTART_RTTS) {
		c->train.rtts++;
		return false;
	}
	return c->train.rtt_us > c->curve.delay_us +
				 clamp_t(u32, c->curve.delay_us / 8, CUBICTCP_DELAY_MIN_US,
					 CUBICTCP_DELAY_MAX_US);
}

/**
 * cubictcp_hystart - hybrid slow start: is the pipe full?
 * @s: the sender
 * @p: the connection; ssthresh is set where it is
 * @sample: an ACK, before TCP has drawn conclusions from it
 *
 * Return: what was detected.
 */
enum cdg_hystart cubictcp_hystart(struct sender *s, struct tcp_path *p,
				  const struct rtt_sample *sample)
{
	struct cubictcp *c = &s->cubictcp;
	enum cdg_hystart found = CDG_HYSTART_NONE;
	u32 rtt_us = max(sample->rtt_us, 1);
	u8 detect = s->heuristics.hystart;

	/* right after a cut the queue is ours */
	if (sample->rtt_us < 0 || (c->curve.epoch && (s32)(path_ticks(p) - c->curve.epoch) < HZ))
		return found;
	if (!c->curve.delay_us || rtt_us < c->curve.delay_us)
		c->curve.delay_us = rtt_us;
	if (c->curve.found || !path_slow_start(p) || !detect)
		return found;
	if (seq_after(path_una(p), c->train.end))
		cubictcp_begin_train(c, p);
	if (p->cwnd < CUBICTCP_HYSTART_CWND)
		return found;
	if ((detect & CDG_HYSTART_TRAIN) && cubictcp_train_long(c, sample, p->now_us))
		found = CDG_HYSTART_TRAIN;
	if ((detect & CDG_HYSTART_DELAY) && cubictcp_delayed(c, rtt_us))
		found = CDG_HYSTART_DELAY;
	if (found) {
		c->curve.found = true;
		p->ssthresh = p->cwnd;
	}
	return found;
}

/* R(1), a delay_us from now: at that time the packets that leave now are acknowledged. */
static u32 cubictcp_target(const struct cubictcp_curve *c, u32 ticks)
{
	u64 t = div_u64((u64)((s32)(ticks - c->epoch) + usecs_to_jiffies(c->delay_us)) << 10, HZ);
	u64 away = min_t(u64, t < c->k ? c->k - t : t - c->k, CUBICTCP_TIME_MAX);
	u32 offset = CUBICTCP_C * away * away * away >> CUBICTCP_C_SHIFT;

	return t < c->k ? c->origin - offset : c->origin + offset;
}

static void cubictcp_update(struct cubictcp_curve *c, u32 cwnd, u32 ticks, u32 acked)
{
	u32 target;

	c->cwnd = cwnd;
	c->tick = ticks;
	if (!c->epoch) {
		c->epoch = ticks;
		c->acked = acked;
		c->reno = cwnd;
		c->origin = max(c->max, cwnd);
		c->k = c->max <= cwnd ? 0 :
		       cubictcp_cube_root(div_u64(1ull << CUBICTCP_C_SHIFT, CUBICTCP_C) *
					  (c->max - cwnd));
	}
	target = cubictcp_target(c, ticks);
	c->per = target > cwnd ? cwnd / (target - cwnd) : CUBICTCP_PER_WINDOWS * cwnd;
	if (!c->max)	/* no loss has told yet how much there is: by 5 % per round trip */
		c->per = min(c->per, CUBICTCP_PER_NEW);
}

/* R(4): never slower than Reno. */
static void cubictcp_reno_friendly(struct cubictcp_curve *c, u32 cwnd)
{
	/* acknowledged packets for one of Reno's: (1 + beta) / 3 (1 - beta) of a window */
	u32 packets = cwnd * (8 * (1024 + CUBIC_BETA_Q10) / 3 / (1024 - CUBIC_BETA_Q10)) >> 3;

	while (c->acked > packets) {
		c->acked -= packets;
		c->reno++;
	}
	if (c->reno > cwnd)
		c->per = min(c->per, cwnd / (c->reno - cwnd));
}

/**
 * cubictcp_grow - grow, in slow start and after it
 * @s: the sender
 * @p: the connection
 * @acked: packets that the ACK covers
 * @cwnd_limited: the window is in use; else it stays as it is
 */
void cubictcp_grow(struct sender *s, struct tcp_path *p, u32 acked, bool cwnd_limited)
{
	struct cubictcp_curve *c = &s->cubictcp.curve;
	u32 ticks = path_ticks(p);

	if (!cwnd_limited)
		return;
	acked = path_grow_slow_start(p, acked);
	if (!acked)
		return;
	c->acked += acked;
	if (c->cwnd != p->cwnd || (s32)(ticks - c->tick) > HZ / 32) {
		if (!c->epoch || ticks != c->tick)
			cubictcp_update(c, p->cwnd, ticks, acked);
		cubictcp_reno_friendly(c, p->cwnd);
		c->per = max(c->per, CUBICTCP_PER_LEAST);	/* by half per round trip */
	}
	path_grow_by(p, c->per, acked);
}

/**
 * cubictcp_cut - a loss, a mark or a phantom signal, with fast convergence (RFC 9438, 4.7)
 * @s: the sender
 * @p: the connection
 * @cause: of no effect
 * @cdg_cwnd: likewise
 *
 * Return: the window to cut to, at least two packets.
 */
u32 cubictcp_cut(struct sender *s, const struct tcp_path *p, enum cut_cause cause, u32 cdg_cwnd)
{
	struct cubictcp_curve *c = &s->cubictcp.curve;
	u32 cwnd = p->cwnd;

	c->epoch = 0;
	c->max = cwnd < c->max ? cwnd * (1024 + CUBIC_BETA_Q10) / 2048 : cwnd;
	return cubic_beta(cwnd);
}

/**
 * cubictcp_resume - packets are sent after a time in which none was under way
 * @cubic: Linux' CUBIC
 * @p: the connection
 *
 * The curve has stood still.
 */
void cubictcp_resume(struct cubictcp *cubic, const struct tcp_path *p)
{
	struct cubictcp_curve *c = &cubic->curve;

	if (c->epoch && (s32)p->idle_ticks > 0)
		c->epoch += min(p->idle_ticks, path_ticks(p) - c->epoch);
}
