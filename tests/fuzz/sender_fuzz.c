// SPDX-License-Identifier: GPL-2.0-only
/*
 * A fuzz target of the whole sender: all of core/, on several flows that share paths.
 *
 *	bytes --> records of 16 --> events: what TCP, the user, the network or a receiver does
 *	                            |
 *	                            v
 *	                            core/, called as kernel/hooks.c, goal.c and flow.c call it
 *	                            |
 *	                            v
 *	                            after each event: what the documents promise, or abort()
 *
 * `make fuzz` builds it with libFuzzer, ASan and UBSan, and runs it (run.sh). make check runs the
 * kept corpus and half a minute more, and shows that the corpus finds seeded defects
 * (tests/python/test_fuzz.py). A record of zeros is an honest round trip: TCP fills the window, and
 * an ACK, an RTT later, covers it. What differs from that is in the fields of struct record.
 *
 * TCP is modelled as far as core/ depends on it: when it asks for the answer to a loss, what it
 * does with the window in CWR, Recovery and Loss, when it undoes a cut, and when it calls which
 * hook. The receiver may be hostile: it acknowledges what it cannot have (optimistic ACKs: an RTT
 * of any length), parts of packets, or much at once; reports losses and marks that did not happen;
 * and forges timestamps and RTTs. The clock may begin near 2^32 us, and jumps by up to 2^38 us.
 *
 * What holds after each event, and the place that promises it:
 *
 *	control.h, cdg.h	w is in wmin .. 1; phi, trim, headroom, shortfall, mu and G are
 *				within their bounds
 *	base.h			window and ssthresh are two packets at least, but where TCP has set
 *				the window to one; the window is at most TCP's clamp
 *	sender.h		each loss and mark that TCP deals with has been answered
 *	scavenger.h		the answer is at most 0.7 of the window, and so is B's; CDG's and
 *				Vegas' is a half, but what the table there excepts
 *	docs/design.md		beside others the window is at most max(w * B, 2), and w * B at most
 *				B; the next two packets leave before the next look
 *	cubic.c, path.h		an ACK grows the window by no more than it covers, as in slow start;
 *				while alone and after that by half of it; B likewise
 *	scavenger.c		B after standing back is half of the window, or what losses left of
 *				it; a path is taken with half of what it carried
 *	job.h			a job's bytes are the sum of those that its connections have told;
 *				its end is known when these are all; w changes at the end of Tw
 *				alone, and a connection that has told something knows it
 *	path_memory.h		the flows of a path and the sum of their rates are right; all flows
 *				act by one decision; we stand back below 3/4 of what was carried;
 *				patience is K/2, and three looks, at least
 *
 * So a goal buys no more than B, whatever the receiver forges: B grows by packets that TCP counts,
 * by half per round trip at most, and each loss that TCP deals with takes 0.3 of it.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/control/job.h"
#include "core/sender.h"

#define FLOWS		4
#define MEMORIES	2
#define JOBS		2
#define BYTES_MAX	BIT(30)	/* that TCP has under way */
#define BETA(packets)	((u64)(packets) * CUBIC_BETA_Q10 / 1024)

/* In struct record.flags, of an ACK. */
#define ACK_IDLE	0x01	/* the program sends nothing new */
#define ACK_HALF	0x02	/* only half of what the window allows */
#define ACK_TRAIN	0x04	/* it follows the last ACK at once, not an RTT later */
#define ACK_FORGED	0x08	/* its RTT is whatever record.value says */
#define ACK_NO_RTT	0x10
#define ACK_PARTIAL	0x20	/* it covers a part of a packet more */
#define ACK_SACK	0x40	/* the receiver holds data out of order */
#define ACK_MARK	0x80	/* ECN */

/* In struct record.doubts. */
#define DOUBT_TIMESTAMP		0x01
#define DOUBT_FORGED		0x02	/* the timestamp is record.value */
#define DOUBT_RETRANSMITTED	0x04
#define DOUBT_SINGLE		0x08
#define DOUBT_APP_LIMITED	0x10
#define DOUBT_BUSY		0x20	/* the program had data for half of Tw only */
#define DOUBT_PACED		0x40
#define DOUBT_PAUSE		0x80	/* it waits for record.wait before */

enum event {
	EVENT_ACK = 11,	/* any below: most are ACKs */
	EVENT_FAST_RETRANSMIT,
	EVENT_TIMEOUT,
	EVENT_PROBE,	/* a tail loss probe has repaired a loss */
	EVENT_MTU,	/* packets are too large for the path */
	EVENT_UNDO,
	EVENT_DISORDER,
	EVENT_RESTART,	/* slow start after a pause */
	EVENT_TX_START,
	EVENT_JUMP,	/* of the clock */
	EVENT_TW,
	EVENT_GOAL,
	EVENT_UPDATE,	/* the goal is changed */
	EVENT_CLEAR,
	EVENT_PARAMS,
	EVENT_HEURISTICS,
	EVENT_ROUTE,	/* another, or another group: another memory; or user: another job */
	EVENT_OPEN,	/* the flow ends, and another begins */
	EVENT_CLOSE,
	EVENT_FORGET,	/* what is known of a path, or a job, without a flow */
	EVENT_TCP_CUT,	/* TCP validates the window: the program has sent too little for long */
	EVENTS
};

/**
 * struct record - an event
 * @event: enum event, in the low five bits; it comes once more for each 32
 * @flow: whose; the higher bits choose a memory, congestion control ...
 * @wait: time that passes before, see scale(), in 10 us
 * @queue: what its RTT is above the flow's least, see scale(), in 10 us
 * @acked: packets that an ACK covers, see scale(); 0: all
 * @flags: of an ACK
 * @doubts: likewise
 * @choice: of anything else
 * @value: whatever the event needs that may be any number
 */
struct record {
	u8 event;
	u8 flow;
	u8 wait;
	u8 queue;
	u8 acked;
	u8 flags;
	u8 doubts;
	u8 choice;
	u64 value;
};

/**
 * struct flow - a connection, and what TCP and the kernel's part know of it
 * @open: it exists
 * @cc: 0: dalbe_cdg, 1: dalbe_cubic, 2: dalbe_vegas
 * @effect: net.dalbe.effect when the goal or the setting came
 * @controlled: a controller sets w
 * @marked_unasked: TCP has met a mark that it did not ask for
 * @config: in force when the next goal comes
 * @s: the sender
 * @p: the connection
 * @base_rtt_us: of its path
 * @high_seq: TCP's: up to here is repaired
 * @prior_cwnd: TCP's, of the last cut
 * @prior_ssthresh: likewise; 0: it must not be undone
 * @undo: TCP may still find that the loss was none
 * @retransmitted: since the last ACK that covered something, by a timeout
 * @bytes: acknowledged
 * @bytes_before: when the goal came
 * @goal_bytes: 0: no goal
 * @goal_job: whose goal it is, 1 .. JOBS; 0: its own
 * @job: in which it has a part; NULL: none
 * @deadline_ns: its
 * @tw_start_us: Tw
 * @tw_end_us: likewise
 * @floor: the least window that TCP has left, up to 2
 * @told: the flow has acted by what its memory says
 */
struct flow {
	bool open;
	u8 cc;
	bool effect;
	bool controlled;
	struct control_config config;
	struct sender s;
	struct tcp_path p;
	u32 base_rtt_us;
	u32 high_seq;
	u32 prior_cwnd;
	u32 prior_ssthresh;
	bool undo;
	bool retransmitted;
	u64 bytes;
	u64 bytes_before;
	u64 goal_bytes;
	u8 goal_job;
	struct job *job;
	u64 deadline_ns;
	u64 tw_start_us;
	u64 tw_end_us;
	u32 floor;
};

static struct flow flows[FLOWS];
static struct path_memory memories[MEMORIES];
static struct job jobs[JOBS];
static u64 told[JOBS];	/* what the connections of each have told */
static u64 now_us, boot_offset_ns;
static u32 random_state;
static unsigned int step;

u32 get_random_u32(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}

#define CHECK(condition, ...) do {							\
	if (!(condition)) {								\
		fprintf(stderr, "record %u: not so: %s: ", step, #condition);		\
		fprintf(stderr, __VA_ARGS__);						\
		fprintf(stderr, "\n");							\
		abort();								\
	}										\
} while (0)

/* 0 .. 15, and from there in steps of 1/16 up to 507904. */
static u32 scale(u8 code)
{
	return code < 16 ? code : (16u + (code & 15)) << ((code >> 4) - 1);
}

/* @value, but only so many of its bits as its highest six say. */
static u64 bits(u64 value, u32 most)
{
	u32 count = (value >> 58) % (most + 1);

	return count ? value & (~0ull >> (64 - count)) : 0;
}

static u64 now_ns(void)
{
	return now_us * NSEC_PER_USEC + boot_offset_ns;
}

static u64 bytes_done(const struct flow *f)
{
	return f->bytes - f->bytes_before;
}

static void pass_us(u64 us)
{
	u32 i;

	now_us += us;
	for (i = 0; i < FLOWS; i++) {
		flows[i].p.now_us = now_us;
		flows[i].p.ticks = now_us / (USEC_PER_SEC / HZ);
	}
}

static bool scavenges(const struct flow *f)
{
	return f->s.base == &scavenger_base;
}

/* --- what holds at any time ------------------------------------------------------------------ */

static void check_control(const struct control *c)
{
	CHECK(c->w_q16 >= c->config.wmin_q16 && c->w_q16 <= Q16_ONE, "w %u, wmin %u", c->w_q16,
	      c->config.wmin_q16);
	CHECK(c->phi_q16 >= Q16_ONE && c->phi_q16 <= DALBE_PHI_MAX_Q16, "phi %u", c->phi_q16);
	CHECK(c->mbc.trim_q16 >= DALBE_TRIM_MIN_Q16 && c->mbc.trim_q16 <= DALBE_TRIM_MAX_Q16,
	      "trim %u", c->mbc.trim_q16);
	CHECK(c->mbc.headroom_q16 <= DALBE_HEADROOM_MAX_Q16, "headroom %u", c->mbc.headroom_q16);
	CHECK(c->shortfall_q16 <= DALBE_INFEASIBLE_Q16, "shortfall %u", c->shortfall_q16);
	CHECK(c->pid.integral_q16 >= 0 && c->pid.integral_q16 <= Q16_ONE, "integral");
	CHECK(c->w_recent_max_q16 <= Q16_ONE, "recent %u", c->w_recent_max_q16);
	CHECK(c->status <= DALBE_STATUS_DONE, "status %u", c->status);
	CHECK(c->goal.start_ns < c->goal.deadline_ns, "no time for the goal");
	if (c->config.controller == DALBE_CONTROLLER_WEIGHT && !c->goal.bytes)
		CHECK(c->w_q16 == c->config.wmin_q16, "w %u without a goal", c->w_q16);
}

static void check_scavenger(const struct flow *f)
{
	const struct scavenger *sc = &f->s.scavenger;
	const struct cubic *b = &sc->best_effort;
	const u64 most_q16 = (u64)CUBIC_WINDOW_MAX << 16;

	CHECK(f->s.memory, "no memory");
	CHECK(b->window_q16 >= 2 * Q16_ONE && b->window_q16 <= most_q16, "B");
	CHECK(b->origin_q16 >= 2 * Q16_ONE && b->origin_q16 <= most_q16, "W_max");
	CHECK(b->reno_q16 <= most_q16, "W_est");
	CHECK(b->step_q16 <= Q16_ONE / 2, "step %u", b->step_q16);
	CHECK(b->k_ms < 1u << 21, "K %u", b->k_ms);
	CHECK(f->s.base->level_q16(&f->s) <= b->window_q16, "w * B above B");
}

static void check_flow(const struct flow *f)
{
	const struct sender *s = &f->s;
	const struct tcp_path *p = &f->p;
	struct base_report report = sender_report(s);

	CHECK(p->cwnd >= min(f->floor, 2u) && p->cwnd, "window %u", p->cwnd);
	CHECK(p->cwnd <= p->cwnd_max, "window %u, clamp %u", p->cwnd, p->cwnd_max);
	CHECK((s32)p->cwnd > 0, "TCP warns of a window of %u", p->cwnd);
	CHECK(p->ssthresh >= 2 && p->ssthresh <= PATH_SSTHRESH_MAX, "ssthresh %u", p->ssthresh);
	CHECK(s->losses.episodes - s->losses.answers == s->losses.marked, "%u losses, %u answers",
	      s->losses.episodes, s->losses.answers);
	CHECK(s->losses.backoffs >= s->losses.answers || s->losses.backoffs, "no cut");
	CHECK(!s->losses.asked, "asked");
	CHECK(s->cdg.g.ns >= CDG_G_MIN_NS && s->cdg.g.ns <= CDG_G_MAX_NS, "G %u", s->cdg.g.ns);
	CHECK(s->cdg.price.cut_q16 >= CDG_CUT_MIN_Q16 && s->cdg.price.cut_q16 <= Q16_ONE, "cut");
	CHECK(cdg_base_rtt_us(&s->cdg) <= CDG_RTT_MAX_US, "base RTT %u", cdg_base_rtt_us(&s->cdg));
	CHECK(s->base->shares_path == !!s->memory, "shares its path");
	CHECK(s->regime == REGIME_ALONE || (s->regime == REGIME_CONTENDED && scavenges(f)),
	      "regime");
	CHECK(report.ours_ppm <= 1000000, "ours %u ppm", report.ours_ppm);
	CHECK(!f->job || f->controlled, "a job without control");
	if (f->controlled) {
		check_control(&s->control);
		CHECK(s->mu_q16, "mu");
	}
	if (scavenges(f))
		check_scavenger(f);
}

static void check_memory(const struct path_memory *m)
{
	u32 count = 0, repairs = 0, i;
	u64 rate_q16 = 0;

	for (i = 0; i < FLOWS; i++) {
		const struct flow *f = &flows[i];

		if (!f->open || f->s.memory != m)
			continue;
		count++;
		rate_q16 += f->s.part.rate_q16;
		repairs += f->s.part.repairs;
	}
	CHECK(m->flows == count, "%u flows, of %u", m->flows, count);
	CHECK(m->rate_q16 == rate_q16, "rates");
	CHECK(m->repairs == repairs, "%u flows repair, of %u", m->repairs, repairs);
	CHECK(m->unsettled <= PATH_UNSETTLED * FLOWS, "unsettled %u", m->unsettled);
	CHECK(m->mean_q16 <= S64_MAX && m->carried_q16 <= S64_MAX, "rates");
	CHECK(m->since_us <= now_us && m->queue_us <= now_us && m->poor_us <= now_us &&
	      m->carried_us <= now_us && m->looks_us <= now_us, "a time that is to come");
	CHECK(!m->contended || m->patience_us >= PATH_PATIENCE_LOOKS * PATH_LOOK_US,
	      "patience %u", m->patience_us);
}

static void check_job(u32 n)
{
	const struct job *job = &jobs[n];
	const struct job_tw *tw = &job->tw;
	u64 bytes = job->control.goal.bytes;

	CHECK(job->bytes_done == told[n], "%llu done, %llu told",
	      (unsigned long long)job->bytes_done, (unsigned long long)told[n]);
	CHECK(!!job->done_ns == (bytes && told[n] >= bytes), "ended at %llu",
	      (unsigned long long)job->done_ns);
	CHECK(tw->rounds_beside <= tw->rounds, "%u of %u rounds", tw->rounds_beside, tw->rounds);
	CHECK(tw->limited_us <= tw->limited_until_us - tw->start_us, "limited for longer than Tw");
	if (!bytes)
		return;
	check_control(&job->control);
	CHECK(tw->end_us >= tw->start_us + DALBE_TW_MIN_MS * USEC_PER_MSEC, "Tw");
}

static void check_all(void)
{
	u32 i;

	for (i = 0; i < FLOWS; i++)
		if (flows[i].open)
			check_flow(&flows[i]);
	for (i = 0; i < MEMORIES; i++)
		check_memory(&memories[i]);
	for (i = 0; i < JOBS; i++)
		check_job(i);
}

/* --- TCP's own part -------------------------------------------------------------------------- */

/* TCP sets the window. */
static void tcp_set_cwnd(struct flow *f, u32 cwnd)
{
	f->p.cwnd = clamp_t(u32, cwnd, 1, f->p.cwnd_max);
	f->floor = min(f->floor, f->p.cwnd);
}

/* As Linux' tcp_current_ssthresh(). */
static u32 tcp_current_ssthresh(const struct flow *f)
{
	if (f->p.state == PATH_CWR || f->p.state == PATH_RECOVERY)
		return f->p.ssthresh;
	return max(f->p.ssthresh, (f->p.cwnd >> 1) + (f->p.cwnd >> 2));
}

/* A base may answer with so large a window at most (scavenger.h's table): a larger one would make a
 * goal buy more than best effort.
 */
static u32 most_of_answer(const struct flow *f)
{
	const struct sender *s = &f->s;
	u32 cwnd = f->p.cwnd, most;

	if (s->base == &vegas_base)
		most = s->mu_q16 && s->control.w_q16 == Q16_ONE ? cwnd : cwnd / 2;
	else if (s->base == &cdg_base)
		most = s->heuristics.use_tolerance || s->heuristics.use_shadow ? cwnd : cwnd / 2;
	else
		most = BETA(cwnd);
	if (s->base == &cubic_base && s->heuristics.inflate_beta && s->mu_q16)
		most = (u64)most * min(s->mu_q16, Q16_ONE) / Q16_ONE;
	return max(s->cdg.state == CDG_BACKOFF ? min(most, f->p.ssthresh) : most, 2u);
}

/* TCP asks for the answer to a loss or a mark, as Linux' tcp_init_cwnd_reduction(). */
static void tcp_ask(struct flow *f)
{
	u32 most = most_of_answer(f), cwnd = f->p.cwnd, answer;
	struct cubic before = f->s.scavenger.best_effort;
	bool beside = sender_not_alone(&f->s);
	u64 b;

	f->prior_cwnd = cwnd;
	answer = sender_ssthresh(&f->s, &f->p);
	f->p.ssthresh = answer;
	CHECK(answer >= 2 && answer <= most, "answer %u to a window of %u", answer, cwnd);
	CHECK(f->p.cwnd == cwnd, "the answer changes the window");
	if (!scavenges(f))
		return;
	b = f->s.scavenger.best_effort.window_q16 >> 16;
	CHECK(b <= max_t(u64, BETA(beside ? before.window_q16 >> 16 : cwnd), 2),
	      "B %llu after a loss, %llu before, window %u", (unsigned long long)b,
	      (unsigned long long)before.window_q16 >> 16, cwnd);
	if (beside)
		CHECK(answer <= max(f->s.base->level_q16(&f->s) >> 16, (u64)2), "above w * B");
}

/* TCP enters @state to deal with a loss or a mark. */
static void tcp_begin_repair(struct flow *f, u8 state)
{
	struct sender *s = &f->s;
	u32 cwnd = f->p.cwnd, ssthresh = f->p.ssthresh, kept = s->scavenger.kept_cwnd;
	bool beside = sender_not_alone(s), scavenger = scavenges(f);

	f->p.no_undo = false;
	if (sender_count_loss(s, &f->p, state))
		sender_begin_repair(s, &f->p, state);
	if (f->p.no_undo)
		f->prior_ssthresh = 0;
	CHECK(f->p.cwnd <= max(cwnd, 2u), "window %u in a repair, %u before", f->p.cwnd, cwnd);
	CHECK(f->p.ssthresh <= ssthresh, "ssthresh %u in a repair", f->p.ssthresh);
	if (scavenger && !beside && sender_not_alone(s))
		CHECK(s->scavenger.best_effort.window_q16 >> 16 <= max3(cwnd / 2, kept, 2u),
		      "B after a loss of others'");
	f->p.state = state;
}

static void tcp_leave_for(struct flow *f, u8 state)
{
	sender_end_repair(&f->s, &f->p, state);
	f->p.state = state;
}

/* As Linux' tcp_end_cwnd_reduction(). */
static void tcp_end_reduction(struct flow *f)
{
	if (f->p.ssthresh < PATH_SSTHRESH_MAX)
		tcp_set_cwnd(f, f->p.ssthresh);
	sender_complete_cwr(&f->s, &f->p);
}

/* As Linux' tcp_enter_cwr(). */
static void tcp_enter_cwr(struct flow *f)
{
	f->prior_ssthresh = 0;
	f->undo = false;
	f->high_seq = f->p.nxt;
	tcp_ask(f);
	tcp_begin_repair(f, PATH_CWR);
}

/* As Linux' tcp_enter_recovery(): where TCP reduces the window already it does not ask. */
static void tcp_fast_retransmit(struct flow *f)
{
	if (!path_in_flight(&f->p) || f->p.state >= PATH_RECOVERY)
		return;
	if (f->p.state != PATH_CWR) {
		f->prior_ssthresh = tcp_current_ssthresh(f);
		f->high_seq = f->p.nxt;
		tcp_ask(f);
	} else {
		f->prior_ssthresh = 0;
	}
	f->undo = true;
	tcp_begin_repair(f, PATH_RECOVERY);
}

/* As Linux' tcp_enter_loss(). */
static void tcp_timeout(struct flow *f)
{
	struct tcp_path *p = &f->p;

	if (p->una == p->nxt)
		return;
	if (p->state <= PATH_DISORDER || !seq_after(f->high_seq, p->una) ||
	    (p->state == PATH_LOSS && !f->retransmitted)) {
		f->prior_ssthresh = tcp_current_ssthresh(f);
		tcp_ask(f);
		f->undo = true;
	}
	tcp_set_cwnd(f, 1);
	p->cwnd_cnt = 0;
	tcp_begin_repair(f, PATH_LOSS);
	f->high_seq = p->nxt;
	f->retransmitted = true;
}

/* As Linux' tcp_process_tlp_ack(). */
static void tcp_probe(struct flow *f)
{
	if (f->p.state > PATH_CWR)
		return;
	f->prior_ssthresh = 0;
	f->high_seq = f->p.nxt;
	tcp_ask(f);
	tcp_begin_repair(f, PATH_CWR);
	tcp_end_reduction(f);
	tcp_leave_for(f, PATH_OPEN);
}

/* As Linux' tcp_simple_retransmit(): the state Loss without a loss. */
static void tcp_mtu(struct flow *f)
{
	if (f->p.state == PATH_LOSS || !path_in_flight(&f->p))
		return;
	f->high_seq = f->p.nxt;
	f->p.ssthresh = tcp_current_ssthresh(f);
	f->prior_ssthresh = 0;
	f->undo = false;
	tcp_begin_repair(f, PATH_LOSS);
}

/* As Linux' tcp_undo_cwnd_reduction(), and what follows. */
static void tcp_undo(struct flow *f)
{
	struct tcp_path *p = &f->p;

	if (!f->undo)
		return;
	f->undo = false;
	if (f->prior_ssthresh) {
		struct tcp_path seen = *p;

		sender_tell_base(&f->s, &seen, BASE_UNDO);
		tcp_set_cwnd(f, max(p->cwnd, f->prior_cwnd));
		p->ssthresh = max(p->ssthresh, f->prior_ssthresh);
	}
	if (p->state >= PATH_RECOVERY)
		tcp_leave_for(f, PATH_OPEN);
}

/* PRR: up to ssthresh, or what is under way and a packet. */
static void tcp_reduce(struct flow *f, bool conservative)
{
	u32 least = path_in_flight(&f->p) + 1;

	tcp_set_cwnd(f, conservative ? least : min(f->p.cwnd, max(f->p.ssthresh, least)));
}

/* An ACK has come to the end of what is repaired. */
static void tcp_end_repair(struct flow *f)
{
	struct tcp_path *p = &f->p;

	if (p->state < PATH_CWR || seq_after(f->high_seq, p->una))
		return;
	if (p->state == PATH_CWR) {
		if (p->una == f->high_seq && p->una != p->nxt)
			return;
		tcp_end_reduction(f);
		tcp_leave_for(f, PATH_OPEN);
	} else if (p->state == PATH_RECOVERY) {
		tcp_leave_for(f, PATH_OPEN);
		tcp_end_reduction(f);
	} else {
		tcp_leave_for(f, PATH_OPEN);
	}
	f->undo = false;
}

/* --- the kernel's part ----------------------------------------------------------------------- */

static const struct lbe_base *base_for(const struct flow *f)
{
	if (f->cc == 1)
		return &cubic_base;
	if (f->cc == 2)
		return &vegas_base;
	return f->controlled && f->effect ? &scavenger_base : &cdg_base;
}

static void set_tw_end(struct flow *f)
{
	u64 tw_ns = control_tw_ns(&f->s.control, f->p.srtt_us);

	CHECK(tw_ns >= DALBE_TW_MIN_MS * NSEC_PER_MSEC, "Tw %llu", (unsigned long long)tw_ns);
	f->tw_end_us = now_us + tw_ns / 1000 / (f->job ? JOB_PARTS : 1);
}

static void begin_interval(struct flow *f)
{
	sender_begin_interval(&f->s);
	f->tw_start_us = now_us;
	set_tw_end(f);
}

static bool wants_control(const struct flow *f)
{
	return f->config.controller == DALBE_CONTROLLER_WEIGHT ||
	       (f->goal_bytes && f->config.controller != DALBE_CONTROLLER_FIXED);
}

static void join(struct flow *f, struct path_memory *memory)
{
	if (f->s.memory != memory)
		sender_join(&f->s, memory, now_us);
}

/* As dalbe_job_leave(). */
static void leave_job(struct flow *f)
{
	if (!f->job)
		return;
	told[f->job - jobs] += bytes_done(f);
	job_add(f->job, bytes_done(f), now_ns());
	f->bytes_before = f->bytes;
	f->job = NULL;
}

/* As dalbe_job_join(). */
static void join_job(struct flow *f)
{
	struct job *job = f->goal_job ? &jobs[f->goal_job - 1] : NULL;

	if (f->job == job)
		return;
	leave_job(f);
	f->job = job;
}

/* As dalbe_apply_goal(). */
static void apply_goal(struct flow *f, const struct record *r)
{
	const struct lbe_base *base;

	f->controlled = wants_control(f);
	f->s.heuristics.use_shadow &= !f->controlled;
	f->s.heuristics.use_tolerance &= !f->controlled;
	base = base_for(f);
	if (base->shares_path && !f->s.memory)
		join(f, &memories[r->flow >> 2 & (MEMORIES - 1)]);
	sender_set_base(&f->s, &f->p, base);
	if (!base->shares_path)
		sender_leave(&f->s);
	if (!f->controlled) {
		leave_job(f);
		cdg_set_g(&f->s.cdg, CDG_G_MIN_NS +
				     r->value % (CDG_G_MAX_NS - CDG_G_MIN_NS + 1));
		cdg_set_idle_g(&f->s.cdg, 0);
		f->s.mu_q16 = 0;
		return;
	}
	join_job(f);
	control_start(&f->s.control, &f->config, f->goal_bytes, f->job ? 0 : bytes_done(f),
		      now_ns(), f->deadline_ns);
	if (f->job)
		job_begin(f->job, &f->s.control, now_us, f->p.srtt_us);
	sender_begin_goal(&f->s, &f->p);
	cdg_set_idle_g(&f->s.cdg, CDG_IDLE_G_DEFAULT_NS);
	begin_interval(f);
}

static void draw_config(struct flow *f, const struct record *r)
{
	f->config = (struct control_config) {
		.controller = r->choice % (DALBE_CONTROLLER_FLOOR + 1),
		.after_deadline = r->flags % (DALBE_AFTER_KEEP + 1),
		.unlimited_increase = r->flags & 0x80,
		.tw_ms = r->doubts & 1 ? DALBE_TW_MIN_MS + scale(r->wait) : 0,
		.wmin_q16 = r->acked ? 65 + (u64)r->acked * r->acked * r->acked *
				       (Q16_ONE - 65) / (255u * 255 * 255) : 655,
	};
}

static void draw_goal(struct flow *f, const struct record *r)
{
	u64 time_ns = r->queue ? scale(r->queue) * 10 * NSEC_PER_MSEC : bits(r->value << 6, 61);

	f->goal_bytes = 1 + bits(r->value, 62);
	f->deadline_ns = min_t(u64, now_ns() + 1 + time_ns, S64_MAX);
}

/* In any event that gives a flow a goal. */
static u8 draw_job(const struct record *r)
{
	return r->flow & 0x80 ? 1 + (r->flow >> 3 & (JOBS - 1)) : 0;
}

static void hand_in(struct flow *f, struct job_part *part, const struct control_model *model)
{
	u64 *sum = &told[f->job - jobs], tw_end_us = f->job->tw.end_us;
	u32 w_q16 = f->job->control.w_q16;
	bool first = !f->job->control.goal.bytes, updated;

	*sum += part->sample.bytes_done + (first ? f->s.control.goal.done : 0);
	updated = sender_end_interval(&f->s, f->job, part, model);
	f->bytes_before = f->bytes;
	CHECK(updated || first || now_us < tw_end_us, "Tw has ended");
	CHECK(!updated || first || f->job->tw.start_us > f->tw_start_us || now_us == f->tw_start_us,
	      "no new Tw");
	CHECK(updated || first || f->job->control.w_q16 == w_q16, "w within Tw");
	CHECK(!memcmp(&f->s.control, &f->job->control, sizeof(f->s.control)), "no copy");
}

/* As dalbe_end_interval(). */
static void end_interval(struct flow *f, const struct record *r)
{
	u64 elapsed_us = now_us - f->tw_start_us;
	u64 busy_us = r->doubts & DOUBT_BUSY ? elapsed_us / 3 : elapsed_us;
	struct job_part part = {
		.sample = sender_sample_interval(&f->s, busy_us, elapsed_us), .now_us = now_us,
		.busy_us = busy_us,
	};
	struct control_model model = { f->s.base->model_q40, &f->p };

	part.sample.now_ns = now_ns();
	part.sample.elapsed_ns = elapsed_us * NSEC_PER_USEC;
	part.sample.bytes_done = bytes_done(f);
	part.sample.srtt_us = f->p.srtt_us;
	if (f->job)
		hand_in(f, &part, &model);
	else
		sender_end_interval(&f->s, NULL, &part, &model);
	if (f->job)
		join_job(f);	/* the user may be another */
	begin_interval(f);
}

static void close_flow(struct flow *f)
{
	if (f->open) {
		leave_job(f);
		sender_leave(&f->s);
	}
	f->open = false;
}

static void open_flow(struct flow *f, const struct record *r)
{
	close_flow(f);
	memset(f, 0, sizeof(*f));
	f->open = true;
	f->cc = r->flow >> 4 & 3;
	f->effect = !(r->flow & 0x40);
	f->base_rtt_us = r->queue ? 10 * scale(r->queue) : 20000;
	f->floor = 2;
	f->p = (struct tcp_path) {
		.now_us = now_us, .ticks = now_us / (USEC_PER_SEC / HZ),
		.cwnd = 10, .cwnd_max = r->wait ? 2 + scale(r->wait) : U32_MAX,
		.ssthresh = PATH_SSTHRESH_MAX, .mss = r->choice & 0x80 ? 48 : 1448,
		.una = r->value >> 32, .nxt = r->value >> 32,
		.srtt_us = f->base_rtt_us, .out_max = 10,
	};
	tcp_set_cwnd(f, f->p.cwnd);
	f->high_seq = f->p.una;
	sender_init(&f->s, &f->p, f->p.una - 1);
	f->s.heuristics.hystart = CDG_HYSTART_TRAIN | CDG_HYSTART_DELAY;
	draw_config(f, r);
	if (!r->choice)	/* zeros are a scavenger */
		f->config.controller = DALBE_CONTROLLER_WEIGHT;
	if (r->flags & 0x40) {
		draw_goal(f, r);
		f->goal_job = draw_job(r);
	}
	apply_goal(f, r);
}

/* --- an ACK ---------------------------------------------------------------------------------- */

/* TCP sends, as far as the program has something and the window allows. */
static void transmit(struct flow *f, u8 flags)
{
	struct tcp_path *p = &f->p;
	u32 cwnd = flags & ACK_HALF ? p->cwnd / 2 : p->cwnd;
	u32 most = min_t(u32, cwnd, BYTES_MAX / p->mss), out = path_in_flight(p);

	if (!(flags & ACK_IDLE) && out < most) {
		p->nxt += (most - out) * p->mss;
		out = most;
	}
	p->out_max = max(out, 1u);
	p->cwnd_limited = out >= p->cwnd;
}

/* The same judged by floating-point numbers: less than 3/4 of what was carried; and until CUBIC is
 * half way back, and three looks.
 */
static void check_stood_back(const struct flow *f, const struct path_memory *m)
{
	u64 carried_q16 = m->carried_q16;
	double base_us = cdg_base_rtt_us(&f->s.cdg);
	double ours = (double)carried_q16 * 3 / 4;
	double lost = carried_q16 / 65536.0 * base_us / 1e6 * 0.2998;
	double k_us = min(cbrt(lost / 0.4) * 1e6, 2097151e3), looks_us = 3 * (2 * base_us + 300000);

	/* after a loss in a trial it is the rate from before that */
	CHECK(min(m->rate_q16, m->same_q16) < ours * 1.0001 + 65536, "stood back at %g of %g",
	      (double)m->rate_q16, ours);
	CHECK(m->patience_us >= k_us * 0.499 - 2000 && m->patience_us >= looks_us,
	      "patience %u us, K %g us, looks %g us", m->patience_us, k_us, looks_us);
	CHECK(m->patience_us <= max(32e6, max(k_us * 0.501 + 2000, looks_us)), "patience %u us",
	      m->patience_us);
}

/* The window after an ACK that could grow it. */
static void check_growth(const struct flow *f, const struct flow *was, u32 acked)
{
	const struct sender *s = &f->s;
	u64 cwnd = f->p.cwnd, before = was->p.cwnd, level;
	const struct cubic *b = &s->scavenger.best_effort;

	if (sender_not_alone(s)) {
		level = s->base->level_q16(s) >> 16;
		CHECK(cwnd <= max_t(u64, level, 2), "window %llu, w * B %llu",
		      (unsigned long long)cwnd, (unsigned long long)level);
		CHECK(cwnd <= max(b->window_q16 >> 16, (u64)2), "window above B");
		CHECK(s->departure_ns <= max(was->s.departure_ns, now_us * 1000 +
					     path_look_us(cdg_base_rtt_us(&s->cdg)) * 1000),
		      "the next packets leave after the next look");
	}
	if (s->regime != was->s.regime)
		return;
	CHECK(cwnd <= before + acked + 2, "window %llu after an ACK of %u, %llu before",
	      (unsigned long long)cwnd, acked, (unsigned long long)before);
	if (!path_slow_start(&was->p) && !sender_not_alone(s))
		CHECK(cwnd <= max(before, (u64)2) + acked / 2 + 2,
		      "window %llu after an ACK of %u, %llu before", (unsigned long long)cwnd,
		      acked, (unsigned long long)before);
	if (scavenges(f))
		CHECK(b->window_q16 <= max(was->s.scavenger.best_effort.window_q16,
					   (max(cwnd, before) + 1) << 16) +
				       ((u64)(acked + was->s.gathered.acked) << 15),
		      "B grows by more than half");
}

static void check_regime(const struct flow *f, const struct flow *was,
			 const struct path_memory *before)
{
	const struct path_memory *m = f->s.memory;
	const struct scavenger *sc = &f->s.scavenger;
	double carried_pps = m->carried_q16 / 65536.0 / m->flows;
	double same_pps = m->same_q16 / 65536.0 / m->flows;
	double base_s = cdg_base_rtt_us(&f->s.cdg) / 1e6, begin;

	CHECK(sender_not_alone(&f->s) == m->contended, "not what the memory says");
	if (m->yields != before->yields)
		check_stood_back(f, m);
	if (f->s.regime == was->s.regime)
		return;
	if (sender_not_alone(&f->s)) {
		CHECK(sc->best_effort.window_q16 >> 16 <=
		      max3(was->p.cwnd / 2, was->s.scavenger.kept_cwnd, 2u),
		      "B after standing back from %u", was->p.cwnd);
		return;
	}
	begin = same_pps ? same_pps * base_s : carried_pps * base_s / 2;
	CHECK(f->p.cwnd <= max(max(was->p.cwnd, 2u), begin + 1), "took %u of %g", f->p.cwnd, begin);
	CHECK(same_pps <= carried_pps, "the same is more than the path has carried");
}

/* As dalbe_cong_avoid(). */
static void cong_avoid(struct flow *f, const struct record *r, u32 acked)
{
	struct path_memory before = f->s.memory ? *f->s.memory : (struct path_memory) {};
	struct tcp_path *p = &f->p;
	struct sender *s = &f->s;
	struct flow was = *f;
	bool waiting = !(r->flags & (ACK_IDLE | ACK_HALF));
	struct ack_result result;

	p->no_undo = false;
	if (p->cwnd_limited && sender_gather(s, p->una, p->cwnd, acked, waiting))
		return;
	sender_ack(s, p, acked, waiting, r->doubts & DOUBT_PACED, &result);
	if (p->no_undo)
		f->prior_ssthresh = 0;
	if (p->cwnd >= 2)
		f->floor = 2;
	check_growth(f, &was, acked);
	if (result.round_over && scavenges(f))
		check_regime(f, &was, &before);
}

static s32 draw_rtt(const struct flow *f, const struct record *r)
{
	if (r->flags & ACK_NO_RTT)
		return -1;
	if (r->flags & ACK_FORGED)
		return bits(r->value, 31);
	return f->base_rtt_us + 10 * scale(r->queue);
}

/* What the ACK covers: packets, and in @bytes bytes. */
static u32 draw_acked(const struct flow *f, const struct record *r, u32 *bytes)
{
	const struct tcp_path *p = &f->p;
	u32 out = path_in_flight(p), acked = r->acked ? min(scale(r->acked), out) : out;

	*bytes = acked * p->mss;
	if (r->flags & ACK_PARTIAL)
		*bytes = r->value % (*bytes + 1);
	return *bytes / p->mss;
}

static void take_sample(struct flow *f, const struct record *r, s32 rtt_us, u32 acked,
			u64 silence_us)
{
	const struct tcp_path *p = &f->p;
	struct rtt_sample sample = {
		.now_us = now_us, .silence_us = min_t(u64, silence_us, U32_MAX),
		.rtt_us = rtt_us, .packets = acked, .una = p->una, .cwnd = p->cwnd,
		.sacked = r->flags & ACK_SACK || p->state != PATH_OPEN,
		.recovering = path_recovering(p), .paced = r->doubts & DOUBT_PACED,
		.burst_us = r->choice * 1000 / 255,
	};
	struct rtt_doubts doubts = {
		.tsval = r->doubts & DOUBT_FORGED ? r->value >> 16 :
			 (now_us - f->base_rtt_us / 2) / 1000,
		.timestamp = r->doubts & (DOUBT_TIMESTAMP | DOUBT_FORGED),
		.retransmitted = r->doubts & DOUBT_RETRANSMITTED,
		.single = r->doubts & DOUBT_SINGLE,
		.app_limited = r->doubts & DOUBT_APP_LIMITED,
	};

	if (sender_take_rtt(&f->s, &sample, &doubts))
		sender_begin_round(&f->s, &f->p);
	if (f->s.base->hystart)
		f->s.base->hystart(&f->s, &f->p, &sample);
}

static void ack(struct flow *f, const struct record *r)
{
	struct tcp_path *p = &f->p;
	s32 rtt_us = draw_rtt(f, r);
	u64 silence_us = r->flags & ACK_TRAIN ? 10 * scale(r->wait) :
			 max(rtt_us, 1) + (r->doubts & DOUBT_PAUSE ? 10 * scale(r->wait) : 0);
	u32 acked, bytes;
	bool marked;

	if (!path_in_flight(p) && !(r->flags & ACK_IDLE))
		sender_tell_base(&f->s, p, BASE_TX_START);
	transmit(f, r->flags);
	pass_us(silence_us);
	marked = r->flags & ACK_MARK && p->una != p->nxt;
	acked = draw_acked(f, r, &bytes);
	p->una += bytes;
	p->delivered += acked;
	f->bytes += bytes;
	if (bytes)
		f->retransmitted = false;
	if (rtt_us >= 0)
		p->srtt_us = max(p->srtt_us - p->srtt_us / 8 + rtt_us / 8, 1u);
	if (marked)
		sender_count_mark(&f->s, p);
	take_sample(f, r, rtt_us, acked, silence_us);
	if (p->una == p->nxt)
		sender_tell_base(&f->s, p, BASE_IDLE);
	if (f->controlled && (now_us >= f->tw_end_us ||
			      (f->job && p->una == p->nxt && bytes_done(f))))
		end_interval(f, r);
	tcp_end_repair(f);
	if (marked && p->state < PATH_CWR)
		tcp_enter_cwr(f);
	if (p->state == PATH_CWR || p->state == PATH_RECOVERY)
		tcp_reduce(f, r->choice & 1);
	else
		cong_avoid(f, r, acked);
}

/* --- the other events ------------------------------------------------------------------------ */

static void restart(struct flow *f)
{
	struct tcp_path *p = &f->p, seen = *p;

	if (p->una != p->nxt || p->state >= PATH_CWR)
		return;
	sender_cwnd_restart(&f->s, &seen);
	p->ssthresh = tcp_current_ssthresh(f);
	tcp_set_cwnd(f, min(p->cwnd, 10u));
}

static void tcp_cut(struct flow *f)
{
	struct tcp_path *p = &f->p;

	if (p->state != PATH_OPEN)
		return;
	p->ssthresh = tcp_current_ssthresh(f);
	tcp_set_cwnd(f, (p->cwnd + max(p->out_max, 10u)) / 2);
}

static void set_params(struct flow *f, const struct record *r)
{
	draw_config(f, r);
	f->effect = !(r->flow & 0x40);
	if (f->controlled && wants_control(f)) {
		if (f->job)
			job_configure(f->job, &f->config);
		sender_configure(&f->s, &f->config);
		set_tw_end(f);
	} else {
		apply_goal(f, r);
	}
}

static void set_goal(struct flow *f, const struct record *r)
{
	leave_job(f);
	f->bytes_before = f->bytes;
	draw_config(f, r);
	draw_goal(f, r);
	f->goal_job = draw_job(r);
	f->effect = !(r->flow & 0x40);
	apply_goal(f, r);
}

static void change_goal(struct flow *f, const struct record *r)
{
	if (!f->goal_bytes || (f->goal_job && !f->job))
		return;
	draw_goal(f, r);
	if (f->job)
		job_change_goal(f->job, f->goal_bytes, now_ns(), f->deadline_ns);
	if (!f->controlled)
		return;
	control_change_goal(&f->s.control, f->goal_bytes, now_ns(), f->deadline_ns);
	set_tw_end(f);
}

static void set_heuristics(struct flow *f, const struct record *r)
{
	f->s.heuristics = (struct cdg_heuristics) {
		.use_ineff = r->choice & 1 ? r->choice >> 5 : 0,
		.use_shadow = r->choice & 2 && !f->controlled,
		.use_tolerance = r->choice & 4 && !f->controlled,
		.hystart = r->choice >> 3 & 3,
		.inflate_beta = r->flags & 1,
	};
}

static void forget(struct path_memory *m)
{
	if (m->flows)
		return;
	path_memory_init(m);
	m->group = m != memories;
}

static void forget_job(u32 n)
{
	u32 i;

	for (i = 0; i < FLOWS; i++)
		if (flows[i].open && flows[i].job == &jobs[n])
			return;
	job_init(&jobs[n]);
	told[n] = 0;
}

static void happen(struct flow *f, const struct record *r)
{
	u8 event = max(r->event & 31, (int)EVENT_ACK);

	if (!f->open && event != EVENT_OPEN && event != EVENT_FORGET)
		return;
	f->p.no_undo = false;
	switch (event) {
	case EVENT_ACK:
		ack(f, r);
		break;
	case EVENT_FAST_RETRANSMIT:
		transmit(f, r->flags);
		tcp_fast_retransmit(f);
		break;
	case EVENT_TIMEOUT:
		transmit(f, r->flags);
		tcp_timeout(f);
		break;
	case EVENT_PROBE:
		tcp_probe(f);
		break;
	case EVENT_MTU:
		transmit(f, r->flags);
		tcp_mtu(f);
		break;
	case EVENT_UNDO:
		tcp_undo(f);
		break;
	case EVENT_DISORDER:
		if (f->p.state < PATH_CWR)
			tcp_leave_for(f, f->p.state == PATH_OPEN ? PATH_DISORDER : PATH_OPEN);
		break;
	case EVENT_RESTART:
		restart(f);
		break;
	case EVENT_TX_START:
		f->p.idle_ticks = bits(r->value, 32);
		sender_tell_base(&f->s, &f->p, BASE_TX_START);
		f->p.idle_ticks = 0;
		break;
	case EVENT_JUMP:
		pass_us(bits(r->value, 38));
		break;
	case EVENT_TW:
		pass_us(10 * scale(r->wait));
		if (f->controlled)
			end_interval(f, r);
		break;
	case EVENT_GOAL:
		set_goal(f, r);
		break;
	case EVENT_UPDATE:
		change_goal(f, r);
		break;
	case EVENT_CLEAR:
		leave_job(f);
		f->goal_bytes = 0;
		f->goal_job = 0;
		apply_goal(f, r);
		break;
	case EVENT_PARAMS:
		set_params(f, r);
		break;
	case EVENT_HEURISTICS:
		set_heuristics(f, r);
		break;
	case EVENT_ROUTE:
		if (f->goal_job)	/* from the end of Tw on */
			f->goal_job = draw_job(r) ?: f->goal_job;
		if (f->s.memory)
			join(f, &memories[r->choice & (MEMORIES - 1)]);
		break;
	case EVENT_OPEN:
		open_flow(f, r);
		break;
	case EVENT_CLOSE:
		close_flow(f);
		break;
	case EVENT_FORGET:
		forget_job(r->choice >> 1 & (JOBS - 1));
		forget(&memories[r->choice & (MEMORIES - 1)]);
		break;
	case EVENT_TCP_CUT:
		tcp_cut(f);
		break;
	}
}

/* To understand a find: SAY=1 build/fuzz/sender_fuzz FILE. */
static void say(const struct flow *f, const struct record *r)
{
	const struct sender *s = &f->s;

	fprintf(stderr,
		"%u: event %u flow %u now %llu: state %u cwnd %u ssthresh %u out %u una %u rtt %u w %u regime %u B %llu\n",
		step, max(r->event & 31, (int)EVENT_ACK), r->flow % FLOWS,
		(unsigned long long)now_us, f->p.state, f->p.cwnd, f->p.ssthresh,
		path_in_flight(&f->p), f->p.una, f->p.srtt_us, s->control.w_q16, s->regime,
		(unsigned long long)s->scavenger.best_effort.window_q16 >> 16);
}

static_assert(sizeof(struct record) == 16, "16 bytes");
static_assert(EVENTS <= 32, "five bits");

static void begin(const struct record *r)
{
	static const u64 begins_us[] = { 1, (1ull << 32) - 3000000, (1ull << 32) - 60000000, 0 };
	u32 i;

	for (i = 0; i < FLOWS; i++)
		flows[i] = (struct flow) {};
	for (i = 0; i < MEMORIES; i++) {
		memories[i].flows = 0;
		forget(&memories[i]);
	}
	for (i = 0; i < JOBS; i++)
		forget_job(i);
	random_state = 1 + (u32)r->value;
	boot_offset_ns = bits(r->value, 50);
	now_us = begins_us[r->choice & 3] ?: 1 + bits(r->value << 6, 50);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
size_t LLVMFuzzerMutate(u8 *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max_size, unsigned int seed);

/* The first record says how all begins; and a first flow is open then. */
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct record r;
	u32 times;

	for (step = 0; size >= sizeof(r); step++, data += sizeof(r), size -= sizeof(r)) {
		memcpy(&r, data, sizeof(r));
		if (!step) {
			begin(&r);
			open_flow(&flows[0], &r);
			continue;
		}
		for (times = 0; times <= r.event >> 5; times++) {
			happen(&flows[r.flow % FLOWS], &r);
			if (flows[r.flow % FLOWS].open && getenv("SAY"))
				say(&flows[r.flow % FLOWS], &r);
			check_all();
		}
	}
	for (times = 0; times < FLOWS; times++)
		close_flow(&flows[times]);
	check_all();
	return 0;
}

/* Records stay records: some are copied, one is inserted, removed or changed. */
size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max_size, unsigned int seed)
{
	const size_t width = sizeof(struct record);
	size_t count = size / width, most = max_size / width, at, from, some = 1;
	u8 *here;

	if (!most)
		return 0;
	if (!count) {
		memset(data, 0, width);
		return width;
	}
	srand(seed);
	at = rand() % count;
	from = rand() % count;
	here = data + at * width;
	switch (rand() % 8) {
	case 0:
		if (count == 1)
			break;
		count--;
		memmove(here, here + width, (count - at) * width);
		break;
	case 1:	/* what has happened happens again */
		some = 1 + rand() % 16;
		fallthrough;
	case 2:
		some = min(some, min(count - from, most - count));
		memmove(data + count * width, data + from * width, some * width);
		count += some;
		data[(count - 1) * width + rand() % width] = rand();
		break;
	case 3:
		if (count == most)
			break;
		memmove(here + width, here, (count - at) * width);
		memset(here, 0, width);
		here[0] = rand();
		here[1] = rand() % FLOWS;
		here[2 + rand() % 6] = rand();
		here[8 + rand() % 8] = rand();
		count++;
		break;
	case 4:	/* a byte is a field */
		here[rand() % 8] = rand();
		break;
	default:
		LLVMFuzzerMutate(here, width, width);
		break;
	}
	return count * width;
}
