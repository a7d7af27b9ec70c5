// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is the path ours? One principle, and one decision for all flows of a host:
 *
 *	A busy path that carries less for all of us together than it has carried
 *	carries the rest for others.
 *
 * A path is busy where a queue stands, or where it loses a packet behind one. What it has carried
 * is the most that the mean of our rates was.
 *
 *	        two round trips in a row the busy path carried less for us
 *	      -------------------------------------------------------------->
 *	ALONE                                                                CONTENDED
 *	      <--------------------------------------------------------------
 *	        no queue was seen for as long as others have ever left one in
 *	        vain, or longer; or the queue does not move
 *
 * The same measure tells a path that has become slower: it carries the same again after we stood
 * back, nobody used what we left, and it loses none of a queue that stands.
 *
 * A queue that does not move is none: the path has become longer.
 *
 * A flow that is alone makes room for delay as CDG does. All of its host's flows make room with it:
 * a single one would drain a part of the queue only, and the others would keep theirs.
 */
#include "core/scavenger/path_memory.h"
#include "core/scavenger/cubic.h"

/**
 * path_memory_init - a path of which nothing is known
 * @m: the memory
 */
void path_memory_init(struct path_memory *m)
{
	memset(m, 0, sizeof(*m));
	port_lock_init(&m->lock);
}

/**
 * path_memory_known - for a flow that begins, and for reports
 * @m: the memory
 */
struct path_known path_memory_known(struct path_memory *m)
{
	struct path_known known;

	port_lock(&m->lock);
	known = (struct path_known) {
		.base_rtt_us = m->group ? 0 : m->base_rtt_us,
		.cuts = m->cuts,
		.rate_q16 = m->rate_q16,
		.carried_q16 = m->carried_q16,
	};
	port_unlock(&m->lock);
	return known;
}

/* A flow is on the path, or has nothing under way there. */
static void path_count(struct path_memory *m, struct path_part *part, bool counted)
{
	m->flows += counted - part->counted;
	part->counted = counted;
}

/* The others make room, or take what it leaves. Contended they do not, and the next trial would be
 * spared.
 */
static void path_unsettle(struct path_memory *m)
{
	if (!m->contended)
		m->unsettled = PATH_UNSETTLED * m->flows;
}

/**
 * path_memory_join - one flow more is on the path
 * @m: what is known of it
 * @part: the flow's part, zeroed
 * @now_us: TCP's clock
 */
void path_memory_join(struct path_memory *m, struct path_part *part, u64 now_us)
{
	port_lock(&m->lock);
	if (!m->flows && !m->contended)	/* the first: alone, for all we know */
		m->since_us = now_us;
	path_count(m, part, true);
	path_unsettle(m);
	port_unlock(&m->lock);
}

/* The part of a flow is now so much. */
static void path_put(struct path_memory *m, struct path_part *part, u64 rate_q16)
{
	m->rate_q16 += rate_q16 - part->rate_q16;
	m->repairs -= part->repairs;
	part->rate_q16 = rate_q16;
	part->repairs = false;
}

/**
 * path_memory_repair - TCP begins to repair a loss of a flow
 * @m: what is known of the path
 * @part: the flow's part, which stays as it is until its next round
 *
 * No round ends while TCP repairs, which may take seconds. Until then we neither judge nor learn
 * what the path carries: the flow's rate from before, and what the others carry in its place, would
 * pass for more than there is.
 */
void path_memory_repair(struct path_memory *m, struct path_part *part)
{
	port_lock(&m->lock);
	path_count(m, part, true);
	m->repairs += !part->repairs;
	part->repairs = true;
	port_unlock(&m->lock);
}

/**
 * path_memory_pause - a flow has nothing under way
 * @m: what is known of the path
 * @part: the flow's part, which is none from here on until its next round
 *
 * Its rate from before would hide that others carry the rest, and a queue of a few packets of each
 * flow is none.
 */
void path_memory_pause(struct path_memory *m, struct path_part *part)
{
	if (!part->counted)
		return;
	port_lock(&m->lock);
	/* one that repairs is there, and between two looks others have nothing under way */
	if (!part->repairs && !m->contended)
		path_count(m, part, false);
	path_put(m, part, 0);
	port_unlock(&m->lock);
}

/**
 * path_memory_leave - a flow is on the path no more
 * @m: what is known of it
 * @part: the flow's part
 */
void path_memory_leave(struct path_memory *m, struct path_part *part)
{
	port_lock(&m->lock);
	path_put(m, part, 0);
	path_count(m, part, false);
	path_unsettle(m);
	port_unlock(&m->lock);
}

/**
 * path_memory_cut - a flow that is alone makes room
 * @m: what is known of the path
 *
 * Return: the number of this cut: path_round.cuts is larger where another flow has made room since.
 */
u32 path_memory_cut(struct path_memory *m)
{
	u32 cuts;

	port_lock(&m->lock);
	cuts = ++m->cuts;
	port_unlock(&m->lock);
	return cuts;
}

/* The queue, us, of a few packets that left together (PATH_TOGETHER) at that rate: it is none. Half
 * of what 32 bits hold at most, as a path is taken with twice of it.
 */
static u32 path_packets_us(const struct path_memory *m, u64 rate_q16)
{
	const u64 packets_q16 = (u64)max(PATH_TOGETHER, m->flows + 1) << 16;

	return rate_q16 ? min_t(u64, fp_mul_div(packets_q16, USEC_PER_SEC, rate_q16),
				U32_MAX / 2) : 0;
}

/* A mean so far, which the first value is, and another value. */
static u64 path_mean(u64 mean, u64 value, u32 part)
{
	return mean ? fp_mean(mean, value, part) : value;
}

/* The rate that the path carries for us: in a trial the mean since the queue stands, as one round
 * tells within an eighth at best.
 */
static u64 path_rate_q16(const struct path_memory *m)
{
	return m->same_q16 && m->rounds ? m->mean_q16 : m->rate_q16;
}

/* Does the path carry the same again as when we stood back, and no queue of others was seen since?
 * Then it is slower, or serves each flow in turn.
 */
static bool path_same(const struct path_memory *m)
{
	u64 part_q16 = m->same_q16 / PATH_SAME, rate_q16 = path_rate_q16(m);

	return m->same_q16 && rate_q16 >= m->same_q16 - part_q16 &&
	       rate_q16 <= m->same_q16 + part_q16;
}

/* The queue that is to stand in a trial, us: at most three quarters of what the buffer holds at
 * that rate, at least twice what a few packets take.
 */
static u32 path_stand_us(const struct path_memory *m)
{
	u64 full_us = m->same_q16 ? fp_mul_div(m->full_us, m->carried_q16, m->same_q16) / 4 * 3 : 0;
	u32 stand_us = full_us ? min_t(u64, full_us, PATH_STAND_US) : PATH_STAND_US;

	return max(stand_us, 2 * path_packets_us(m, m->same_q16));
}

/* A queue is to stand for a look, to see whether a packet of it is lost, before we judge. */
static bool path_waits(const struct path_memory *m, const struct path_round *r)
{
	return path_same(m) && r->now_us - m->stood_us < path_look_us(r->base_rtt_us) &&
	       r->now_us - m->since_us < PATH_DOUBT_US;
}

static void path_forget_looks(struct path_memory *m, u64 now_us)
{
	m->looks_us = now_us;
	m->look_least_us = U32_MAX;
	m->look_most_us = 0;
}

/* How long a competitor may leave the path without a queue at first: until CUBIC's window is half
 * way back from a loss of all that the path holds, and three looks.
 */
static u32 path_patience_us(const struct path_memory *m, u32 base_rtt_us)
{
	u64 full_q16 = fp_mul_div(m->carried_q16, base_rtt_us, USEC_PER_SEC);
	u64 lost_q16 = fp_mul_div(full_q16, 1024 - CUBIC_BETA_Q10, 1024);

	return max_t(u64, cubic_k_ms(lost_q16) * 1000ull / PATH_PATIENCE_PART,
		     PATH_PATIENCE_LOOKS * path_look_us(base_rtt_us));
}

/* @same_q16: what the path carries for us, now that others are there */
static enum path_verdict path_stand_back(struct path_memory *m, const struct path_round *r,
					 u64 same_q16)
{
	u32 least_us = path_patience_us(m, r->base_rtt_us);
	bool soon = r->now_us - m->since_us < PATH_SOON_US;

	m->patience_us = soon ? clamp_t(u32, 2 * m->patience_us, least_us,
					max_t(u32, PATH_PATIENCE_MAX_US, least_us)) : least_us;
	m->held_us = r->now_us - m->since_us;
	m->since_us = r->now_us;
	m->queue_us = r->now_us;
	m->same_q16 = same_q16;
	m->poor_us = 0;
	m->contended = true;
	m->yields++;
	path_forget_looks(m, r->now_us);
	return PATH_STAND_BACK;
}

static enum path_verdict path_take(struct path_memory *m, const struct path_round *r)
{
	m->contended = false;
	m->longer = false;
	m->spare = true;
	m->rounds = 0;
	m->since_us = r->now_us;
	m->stood_us = r->now_us;
	m->poor_us = 0;
	return PATH_TAKE;
}

/* Does the path carry less for us than it has carried, for two round trips in a row? Where we have
 * just taken it one will do, as others were there before. @busy: it is busy now.
 */
static bool path_carries_others(struct path_memory *m, const struct path_round *r, bool busy)
{
	/* the rate of a round is known within a packet */
	u64 packet_q16 = div_u64((u64)USEC_PER_SEC << 16, max(r->rtt_us, 1U));

	if (m->rate_q16 + packet_q16 >= PATH_OURS_PART(m->carried_q16)) {
		m->poor_us = 0;
		m->same_q16 = 0;
		return false;
	}
	if (!busy || m->unsettled || path_waits(m, r))
		return false;
	if (!m->poor_us && r->now_us - m->since_us > PATH_DOUBT_US) {
		m->poor_us = r->now_us;
		return false;
	}
	if (m->poor_us && r->now_us - m->poor_us < r->rtt_us / 4 * 3)
		return false;
	/* it is slower; but a competitor in a pause leaves us three quarters, too */
	if (path_same(m) && m->same_q16 < PATH_OURS_PART(PATH_OURS_PART(m->carried_q16))) {
		m->carried_q16 = path_rate_q16(m);
		m->same_q16 = 0;
		m->poor_us = 0;
		return false;
	}
	return true;
}

static enum path_verdict path_round_alone(struct path_memory *m, struct path_round *r)
{
	u32 queue_us = queue_above_us(r->rtt_us, r->base_rtt_us);
	const u32 whole = PATH_MEAN * m->flows;	/* each flow has a round in a round trip */
	bool busy = queue_us >= r->queue_us;

	m->unsettled -= !!m->unsettled;
	if (!path_stands(queue_us, path_stand_us(m))) {
		m->stood_us = r->now_us;
		if (m->same_q16)
			m->rounds = 0;
	}
	if (path_rate_q16(m) > m->same_q16 + m->same_q16 / PATH_SAME)
		m->same_q16 = 0;
	m->spare &= !busy;
	if (!r->judged || !r->steady || m->repairs)
		return PATH_AS_IT_IS;
	m->rounds = min(m->rounds + 1, whole);
	m->mean_q16 = fp_mean(m->mean_q16, m->rate_q16, m->rounds);
	if ((m->mean_q16 >= m->carried_q16 && m->rounds == whole) || !m->carried_us ||
	    r->now_us - m->carried_us >= PATH_FORGET_US)
		m->carried_q16 = m->mean_q16;
	m->same_q16 = min(m->same_q16, m->carried_q16);	/* it may be less now, see PATH_FORGET_US */
	if (m->rounds >= PATH_UNSETTLED * m->flows &&
	    m->rate_q16 >= PATH_OURS_PART(m->carried_q16))
		m->carried_us = r->now_us;
	r->spare = m->spare && (m->same_q16 || m->rate_q16 >= m->carried_q16);
	m->noise_us = path_mean(m->noise_us, r->rtt_max_us - r->rtt_us, PATH_MEAN);
	return path_carries_others(m, r, busy) ? path_stand_back(m, r, path_rate_q16(m)) :
						 PATH_AS_IT_IS;
}

static enum path_verdict path_round_beside(struct path_memory *m, struct path_round *r)
{
	u32 queue_us = max(r->queue_us, min(m->full_us / 2, path_packets_us(m, m->same_q16)));
	bool longer;

	/* packets from before we stood back are under way, and then queued */
	if (r->now_us - m->since_us < 2 * (u64)r->rtt_max_us) {
		m->queue_us = r->now_us;
		return PATH_AS_IT_IS;
	}
	if (queue_above_us(r->rtt_us, r->base_rtt_us) > queue_us) {
		m->queue_us = r->now_us;
		m->same_q16 = 0;
	}
	if (r->now_us - m->queue_us >= m->patience_us)
		return path_take(m, r);
	m->look_least_us = min(m->look_least_us, r->rtt_us);
	m->look_most_us = max(m->look_most_us, r->rtt_us);
	if (r->now_us - m->looks_us < PATH_STILL_US)
		return PATH_AS_IT_IS;
	longer = queue_above_us(m->look_least_us, r->base_rtt_us) > r->queue_us &&
		 m->look_most_us - m->look_least_us <= queue_shortest_us(r->base_rtt_us);
	r->rtt_us = m->look_least_us;
	path_forget_looks(m, r->now_us);
	if (!longer)
		return PATH_AS_IT_IS;
	path_take(m, r);
	m->base_rtt_us = r->rtt_us;
	m->longer = true;
	return PATH_LONGER;
}

static enum path_verdict path_judge(struct path_memory *m, struct path_round *r)
{
	if (m->flows == 1 || r->base_rtt_us < m->base_rtt_us)
		m->base_rtt_us = r->base_rtt_us;
	return m->contended ? path_round_beside(m, r) : path_round_alone(m, r);
}

/**
 * path_memory_round - a round of one flow has ended: is the path ours?
 * @m: what is known of the path
 * @part: the flow's part
 * @r: what the round has shown; the answer is written there
 *
 * Return: what the flow is to do. A flow that still acts by the last decision is told the new one.
 */
enum path_verdict path_memory_round(struct path_memory *m, struct path_part *part,
				    struct path_round *r)
{
	enum path_verdict verdict;

	port_lock(&m->lock);
	path_count(m, part, true);
	path_put(m, part, m->contended ? 0 : r->rate_q16);
	r->noise_us = min(m->noise_us, queue_scavengers_us(r->base_rtt_us));
	r->queue_us = max3(queue_shortest_us(r->base_rtt_us), path_packets_us(m, m->carried_q16),
			   r->noise_us);
	if (m->contended && !r->contended)
		verdict = PATH_STAND_BACK;
	else if (!m->contended && r->contended)
		verdict = m->longer ? PATH_LONGER : PATH_TAKE;
	else
		verdict = path_judge(m, r);
	r->fits_q16 = div_u64(m->carried_q16, max(m->flows, 1U));
	r->same_q16 = m->contended ? 0 : div_u64(m->same_q16, max(m->flows, 1U));
	r->stand_us = path_stand_us(m);
	r->held_us = m->held_us;
	r->cuts = m->cuts;
	port_unlock(&m->lock);
	return verdict;
}

/**
 * path_memory_lost - a flow that is alone has lost a packet
 * @m: what is known of the path
 * @r: the flow's last round, and of the one under way the highest RTT
 *
 * A loss shows a busy path where the queue was half as long as the one that overflowed while all of
 * it was ours. Else it is the radio's. In a trial it shows others where the queue stands.
 *
 * Return: true where the flow is to stand back, and all others with it.
 */
bool path_memory_lost(struct path_memory *m, struct path_round *r)
{
	u32 queue_us = queue_above_us(r->rtt_max_us, r->base_rtt_us);
	bool trial, others = false;
	u32 packets_us;

	port_lock(&m->lock);
	m->spare = false;
	packets_us = path_packets_us(m, m->carried_q16);
	trial = m->same_q16 && !m->contended && queue_us >= packets_us;
	if (trial) {
		others = true;	/* they leave no queue */
	} else if (r->steady && !m->contended) {
		if (m->rate_q16 >= PATH_OURS_PART(m->carried_q16))
			m->full_us = path_mean(m->full_us, queue_us, PATH_MEAN);
		others = path_carries_others(m, r, queue_us >= max(m->full_us / 2, packets_us));
	}
	if (others)	/* in a trial no round may have ended yet: then its rate is not known */
		path_stand_back(m, r, trial ? m->same_q16 : m->rate_q16);
	else if (r->steady)
		m->same_q16 = 0;
	r->held_us = m->held_us;
	port_unlock(&m->lock);
	return others;
}
