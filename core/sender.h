/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sending side of one connection: events of TCP go in, a window comes out.
 *
 *	ACK:   sender_rtt(), sender_ack()
 *	loss:  sender_ssthresh() says ssthresh, sender_count_loss() counts what TCP deals with
 *
 * Pure code: it knows no socket. One caller at a time per struct sender.
 */
#ifndef DALBE_SENDER_H
#define DALBE_SENDER_H

#include "core/base.h"
#include "core/bases/cdg.h"
#include "core/bases/cubictcp.h"
#include "core/bases/signals.h"
#include "core/bases/vegas.h"
#include "core/control/job.h"
#include "core/path.h"
#include "core/scavenger/owd.h"
#include "core/scavenger/scavenger.h"

/**
 * struct round - the RTT round under way
 * @end: sequence number whose ACK ends it
 * @delivered: path_delivered() when it began, packets
 * @start_us: when it began, TCP's clock; of 64 bits, as a round lasts for as long as the peer is
 *	silent: modulo 2^32 one of 71 minutes and a bit would pass for a short one, and its rate
 *	would be too high
 * @app_limited: at one of its ACKs rtt_doubts.app_limited was set
 * @cwnd_limited: an ACK found the window in use
 */
struct round {
	u32 end;
	u32 delivered;
	u64 start_us;
	bool app_limited;
	bool cwnd_limited;
};

/**
 * struct delay_cut - the last cut for delay, under way while cdg.state is CDG_BACKOFF
 * @cwnd: the window that it began at, packets
 * @in_flight: of that, what was under way, packets
 * @backoffs: such cuts since the connection began
 */
struct delay_cut {
	u32 cwnd;
	u32 in_flight;
	u32 backoffs;
};

/**
 * struct gathered - ACKs that change counts alone: the window stays, and no round ends
 * @cwnd: the window, packets
 * @left: before so many packets are acknowledged the base does not grow it; 0: ask the base
 * @acked: packets that were acknowledged, and that the base has not heard of
 *
 * A base whose window grows by one packet in so many fills in the first two each time that it
 * grows; one that does not is asked at each ACK.
 */
struct gathered {
	u32 cwnd;
	u32 left;
	u32 acked;
};

/* A Tw tells what the program sends, not what the path carries, and w stays as it is, where data
 * were at hand for less than half of it, or less than one ACK in four found the window in use.
 * Half of the parts (one in four, one in eight): a program's pauses pass for a slow path, w rises
 * for nothing, and others pay. Twice (all of it, one in two): one pause stops the control of a
 * transfer that the path does limit, and it is late.
 */
#define INTERVAL_BUSY_PART		2
#define INTERVAL_CWND_LIMITED_PART	4

/**
 * struct interval - counts of the Tw under way
 * @acks: ACKs that could grow the window
 * @acks_cwnd_limited: of these, those that found the window in use and more to send
 *
 * Counted by the scavenger only:
 * @rounds: RTT rounds
 * @not_alone_rounds: of these, those in which the flow was not alone
 * @best_effort_sum_q16: sum of the best-effort window over @not_alone_rounds, packets in Q16
 */
struct interval {
	u32 acks;
	u32 acks_cwnd_limited;
	u32 rounds;
	u32 not_alone_rounds;
	u64 best_effort_sum_q16;
};

/**
 * struct losses - whether each loss and each mark has been answered
 *
 * TCP first asks for the answer, ssthresh (sender_ssthresh()), and then says what for, by a state
 * from PATH_CWR on (sender_count_loss()). But for a second loss in a window it does not ask again:
 * then @answer_end says that the window has its answer. @asked is set between the two calls.
 *
 * The last answer:
 * @answer_end: sequence number up to which it holds
 * @answer_cwnd: window that it was given for, packets
 *
 * Counters since the connection began:
 * @episodes: of losses and marks, as TCP's state tells
 * @answers: of these, those in whose window TCP has asked for ssthresh
 * @backoffs: cuts for losses and marks
 *
 * Between two calls:
 * @asked: TCP has asked for ssthresh and has not said what for; sender_ssthresh() sets it,
 *	sender_begin_repair() clears it
 * @marked: a mark is to be answered; sender_count_mark() sets it, sender_count_loss() clears it
 */
struct losses {
	u32 answer_end;
	u32 answer_cwnd;
	u32 episodes;
	u32 answers;
	u32 backoffs;
	bool asked;
	bool marked;
};

/**
 * struct rtt_sample - what an ACK tells of the RTT
 * @now_us: TCP's clock
 * @silence_us: since the last ACK that delivered something
 * @rtt_us: as TCP measured it; below 0: not at all; 0: below 1 us, which only cubictcp.c counts
 * @packets: that the ACK covers
 * @una: first sequence number that is not acknowledged
 * @cwnd: congestion window, packets
 * @sacked: the receiver holds data out of order
 * @recovering: path_recovering() when the ACK came
 * @paced: TCP spaces packets; for lbe_base.hystart only
 * @burst_us: time of four of TCP's largest bursts at its pacing rate, 0 .. 1000; likewise
 */
struct rtt_sample {
	u64 now_us;
	u32 silence_us;
	s32 rtt_us;
	u32 packets;
	u32 una;
	u32 cwnd;
	bool sacked;
	bool recovering;
	bool paced;
	u32 burst_us;
};

/**
 * struct rtt_doubts - why an RTT may not be the path's
 * @tsval: the receiver's timestamp, by which a queue of ACKs shows
 * @timestamp: there was one
 * @retransmitted: TCP has sent something again lately, and may know the RTT by timestamps alone
 * @single: the ACK covers no more than one full segment: the receiver may have held it back
 * @app_limited: there is less to send than the window allows, or the receiver takes less
 */
struct rtt_doubts {
	u32 tsval;
	bool timestamp;
	bool retransmitted;
	bool single;
	bool app_limited;
};

/**
 * struct sender - all that decides the window of one connection
 * @base: the congestion control in force
 * @memory: of a base with lbe_base.shares_path: what is known of the path; else NULL
 * @part: this sender's in it
 * @heuristics: CDG's, in force
 * @regime: enum regime; of a base that knows no others REGIME_ALONE
 * @restarting: in the slow start that follows a pause, or, of the scavenger, a timeout: the
 *	scavenger's windows from before may be too large for the path
 * @sets_pacing: a base with lbe_base.paced has run: since then we tell TCP whether to pace
 * @heed_us: after a silence of at least so much the base looks at an RTT by itself
 *	(lbe_base.sample, hystart), as one that has neither of them never does
 * @round: the RTT round under way
 * @gathered: ACKs since the base was last asked
 * @delay_cut: the cut for delay under way
 * @mu_q16: mu = w * phi, F(26); 0: no controller sets w
 * @interval: counts of the Tw under way
 * @losses: answered and not
 * @departure_ns: when the next two packets may leave, on TCP's clock (path_clock_ns()), where w
 *	allows less than two per RTT
 * @owd: compares the clocks of both ends
 * @scavenger: of scavenger_base
 * @vegas: of vegas_base
 * @signals: of bases whose price is losses
 * @cubictcp: of cubic_base, whose price is losses: so it lies beside @signals, which such a base
 *	needs as well. No connection runs two bases that have a state of their own, so a union will
 *	do: what is not in one struct with @signals overwrites it
 * @control: what sets w, with a goal or at wmin without one; of no effect while @mu_q16 is 0
 * @cdg: RTT gradients; its histogram is at the end, as only the end of Tw needs it
 */
struct sender {
	const struct lbe_base *base;
	struct path_memory *memory;
	struct path_part part;
	struct cdg_heuristics heuristics;
	u8 regime;
	bool restarting;
	bool sets_pacing;
	u32 heed_us;
	struct round round;
	struct gathered gathered;
	struct delay_cut delay_cut;
	u32 mu_q16;
	struct interval interval;
	struct losses losses;
	u64 departure_ns;
	struct owd owd;
	union {
		struct scavenger scavenger;
		struct vegas vegas;
		struct {
			struct signals signals;
			struct cubictcp cubictcp;
		};
	};
	struct control control;
	struct cdg cdg;
};

/* The base in force. BPF cannot call by pointer: its port names the one that it has. */
static inline const struct lbe_base *sender_base(const struct sender *s)
{
#ifdef PORT_BASE
	return &PORT_BASE;
#else
	return s->base;
#endif
}

/* Has the base found somebody else on the path? Then its window is w * B (lbe_base.level_q16),
 * after a timeout as well. Never of a base that does not look for others, whatever w.
 */
static inline bool sender_not_alone(const struct sender *s)
{
	return s->regime != REGIME_ALONE;
}

/* Are losses all that the base pays? Then signals.c knows the price, and inflates it. */
static inline bool sender_pays_losses_only(const struct sender *s)
{
	return !sender_base(s)->price;
}

/* The base tells of others. */
static inline struct base_report sender_report(const struct sender *s)
{
	struct base_report report = {};

	if (sender_base(s)->report)
		sender_base(s)->report(s, &report);
	return report;
}

/**
 * struct round_result - how a round has ended
 * @gradient_sum_us: sum of the last gradients, as cdg_round() returns it
 * @backoff: the window is being cut for delay
 * @set: the round's end has set the window, or begun a cut: alone, this ACK does not grow it
 */
struct round_result {
	s32 gradient_sum_us;
	bool backoff;
	bool set;
};

/**
 * struct ack_result - what an ACK has led to
 * @found: the end of slow start
 * @round_over: a round has ended
 * @round: how, if so
 */
struct ack_result {
	enum cdg_hystart found;
	bool round_over;
	struct round_result round;
};

void sender_init(struct sender *s, struct tcp_path *p, u32 answer_end);
void sender_set_base(struct sender *s, struct tcp_path *p, const struct lbe_base *base);
void sender_tell_base(struct sender *s, struct tcp_path *p, enum base_event event);
void sender_join(struct sender *s, struct path_memory *memory, u64 now_us);
void sender_leave(struct sender *s);
void sender_begin_round(struct sender *s, struct tcp_path *p);
void sender_grow_reno(struct sender *s, struct tcp_path *p, u32 acked, bool cwnd_limited);

bool sender_continue_cut(struct sender *s, struct tcp_path *p);
enum cdg_hystart sender_hystart(struct sender *s, struct tcp_path *p, bool paced);
struct round_result sender_end_round(struct sender *s, struct tcp_path *p);

u32 sender_ssthresh(struct sender *s, struct tcp_path *p);
bool sender_count_loss(struct sender *s, struct tcp_path *p, u8 state);
void sender_begin_repair(struct sender *s, struct tcp_path *p, u8 state);
void sender_end_repair(struct sender *s, struct tcp_path *p, u8 state);
void sender_count_mark(struct sender *s, const struct tcp_path *p);
void sender_cwnd_restart(struct sender *s, struct tcp_path *p);
void sender_complete_cwr(struct sender *s, struct tcp_path *p);

void sender_configure(struct sender *s, const struct control_config *config);
void sender_steer(struct sender *s, u64 price_standard_q40);
bool sender_end_interval(struct sender *s, struct job *job, struct job_part *part,
			 const struct control_model *model);
void sender_begin_goal(struct sender *s, struct tcp_path *p);
void sender_begin_interval(struct sender *s);
struct control_sample sender_sample_interval(const struct sender *s, u64 busy_us,
					     u64 elapsed_us);

/* These run at each ACK, or each time before TCP sends: */

void sender_settle_now(struct sender *s, struct tcp_path *p);
void sender_grow_or_phantom_cut(struct sender *s, struct tcp_path *p, u32 acked);

/* The RTT that the base is to see. A base may want RTTs without a queue of the ACKs, which is
 * not of its making. CDG at a fixed G takes them as TCP does, as its paper says; but a goal may
 * come later, so we compare the clocks from the beginning.
 */
static __always_inline s32 sender_path_rtt_us(struct sender *s, const struct rtt_sample *sample,
					      const struct rtt_doubts *doubts)
{
	s32 rtt_us = sample->rtt_us;
	u32 forward_us;

	if (rtt_us <= 0 || !doubts->timestamp)
		return rtt_us;
	/* Of packets that were sent twice TCP knows timestamps alone, in ticks of a ms. They may
	 * be a tick too few, which would stay the base RTT for good.
	 */
	if (doubts->retransmitted && sender_base(s)->forward_rtt &&
	    (u32)rtt_us % USEC_PER_MSEC == 0)
		rtt_us += USEC_PER_MSEC - 1;
	forward_us = owd_rtt_us(&s->owd, doubts->tsval, sample->now_us, rtt_us,
				cdg_base_rtt_us(&s->cdg));
	return sender_base(s)->forward_rtt ? forward_us : rtt_us;
}

/* A receiver holds the ACK of a single packet back for company, 40 ms in Linux. Such a wait is no
 * queue. It shows as a silence of three quarters of that at least before the ACK, as timers have
 * ticks, and as an RTT that is longer by as much. Half: the rest of the wait passes for a queue of
 * others (5 Mbit/s, 50 ms, eight flows: alone we use 43 instead of 92 %). Twice: all of it (33 %).
 */
#define SENDER_HELD_BACK_US		40000
#define SENDER_HELD_BACK_LEAST_US	(SENDER_HELD_BACK_US / 4 * 3)

/* Does the base look at the RTT by itself? */
static inline bool sender_heeds(const struct sender *s, u32 silence_us)
{
	return silence_us >= s->heed_us;
}

/**
 * sender_rtt_is_plain - is an RTT one that the base does not look at, and no ACK has waited?
 * @s: the sender
 * @rtt_us: of struct rtt_sample
 * @silence_us: of struct rtt_sample
 * @now_us: of struct rtt_sample
 * @timestamp: of struct rtt_doubts, of which the caller knows no other but app_limited
 * @tsval: of struct rtt_doubts
 *
 * Most are. The socket's fields are handed in, and no structs: so each is read where it is asked
 * for.
 *
 * Return: true: sender_rtt_plain() does the same as sender_rtt(), and may be called instead.
 */
static __always_inline bool sender_rtt_is_plain(struct sender *s, s32 rtt_us, u32 silence_us,
						u64 now_us, bool timestamp, u32 tsval)
{
	return !sender_heeds(s, silence_us) && rtt_us > 0 && rtt_us <= CDG_RTT_MAX_US &&
	       !(timestamp && owd_acks_waited(&s->owd, tsval, now_us, rtt_us,
					      cdg_base_rtt_us(&s->cdg)));
}

static __always_inline void sender_rtt_plain(struct sender *s, s32 rtt_us, u32 packets, bool sacked,
					     bool app_limited)
{
	if (app_limited)
		s->round.app_limited = true;
	cdg_rtt_sample(&s->cdg, rtt_us, packets, sacked);
}

/**
 * sender_rtt - an ACK of packets that were not acknowledged before
 * @s: the sender
 * @sample: what it tells
 * @doubts: and how far that is to be trusted
 * @heed: sender_heeds() says so
 *
 * The wait of an ACK that the receiver held back is taken off (SENDER_HELD_BACK_US). Without this a
 * program that asks and waits for an answer, as rsync does first, would be taken for one that fills
 * a queue, and so would flows whose packets leave one at a time. CDG's credit for delayed ACKs is
 * earned by larger ones, and there have been none. While no base RTT is known the wait is not known
 * either.
 *
 * Return: true where sender_begin_round() is to be called: of ACKs that tell no RTT the round would
 * not end.
 */
static __always_inline bool sender_rtt(struct sender *s, const struct rtt_sample *sample,
				       const struct rtt_doubts *doubts, bool heed)
{
	s32 rtt_us;

	s->round.app_limited |= doubts->app_limited;
	rtt_us = sender_path_rtt_us(s, sample, doubts);
	if (sender_base(s)->forward_rtt && doubts->single &&
	    sample->silence_us >= SENDER_HELD_BACK_LEAST_US &&
	    rtt_us >= (s64)cdg_base_rtt_us(&s->cdg) + SENDER_HELD_BACK_LEAST_US) {
		if (!cdg_base_rtt_us(&s->cdg)) {
			cdg_rtt_delayed_ack(&s->cdg, rtt_us);
			return !s->cdg.rtt.max_us && s->cdg.state != CDG_BACKOFF;
		}
		rtt_us = max_t(s32, cdg_base_rtt_us(&s->cdg), rtt_us - SENDER_HELD_BACK_US);
	}
	if (rtt_us <= 0)
		return false;
	if (heed && sender_base(s)->sample)
		sender_base(s)->sample(s, sample, rtt_us);
	else
		cdg_rtt_sample(&s->cdg, rtt_us, sample->packets, sample->sacked);
	return false;
}

/* sender_rtt(), or sender_rtt_plain() where that will do: for user space, as kernel/hooks.c. */
static inline bool sender_take_rtt(struct sender *s, const struct rtt_sample *sample,
				   const struct rtt_doubts *doubts)
{
	bool heed = sender_heeds(s, sample->silence_us);

	if (!heed && !doubts->retransmitted &&
	    sender_rtt_is_plain(s, sample->rtt_us, sample->silence_us, sample->now_us,
				doubts->timestamp, doubts->tsval)) {
		sender_rtt_plain(s, sample->rtt_us, sample->packets, sample->sacked,
				 doubts->app_limited);
		return false;
	}
	return sender_rtt(s, sample, doubts, heed);
}

/* May the window grow? As Linux' tcp_is_cwnd_limited(): in slow start half of the window in use
 * will do. Beside others that does not hold: w sets the window, and ssthresh is B, which TCP
 * remembers for the next connection.
 */
static inline bool sender_cwnd_limited(const struct sender *s, const struct tcp_path *p)
{
	return path_cwnd_limited(p) || (!sender_not_alone(s) && path_slow_start(p) &&
					p->cwnd < 2 * path_out_max(p));
}

/* Has the slow start after a timeout or a pause come to its end? */
static inline bool sender_restarted(const struct sender *s, const struct tcp_path *p)
{
	if (!sender_not_alone(s))
		return !path_slow_start(p);
	return p->cwnd >= sender_base(s)->level_q16(s) >> 16;
}

/**
 * sender_settle - tell the base of the ACKs that were gathered: what comes now changes more
 * @s: the sender
 * @p: the connection; its window stays. Where TCP has set another, the base begins anew at that
 */
static inline void sender_settle(struct sender *s, struct tcp_path *p)
{
#ifndef PORT_EACH_ACK
	if (s->gathered.left)
		sender_settle_now(s, p);
#endif
}

/**
 * sender_gather - an ACK: is it one that changes counts alone?
 * @s: the sender
 * @una: path_una()
 * @cwnd: congestion window, packets, which is in use
 * @acked: packets that the ACK covers
 * @waiting: as for sender_ack()
 *
 * Return: true: it has been dealt with. Else sender_ack() is to be called.
 */
static inline bool sender_gather(struct sender *s, u32 una, u32 cwnd, u32 acked, bool waiting)
{
#ifdef PORT_EACH_ACK
	return false;
#else
	if (acked >= s->gathered.left || cwnd != s->gathered.cwnd ||
	    seq_after(una, s->round.end))
		return false;
	s->gathered.left -= acked;
	s->gathered.acked += acked;
	s->round.cwnd_limited = true;
	s->interval.acks++;
	s->interval.acks_cwnd_limited += waiting;
	return true;
#endif
}

/**
 * sender_acked - an ACK that may let the window grow; not in CWR and Recovery
 * @s: the sender
 * @p: the connection
 * @waiting: the program has more to send than is under way
 *
 * Return: false while a cut for delay goes on: nothing else is to be done then.
 */
static inline bool sender_acked(struct sender *s, struct tcp_path *p, bool waiting)
{
	bool cwnd_limited;

	sender_settle(s, p);
	if (s->cdg.state == CDG_BACKOFF && sender_continue_cut(s, p))
		return false;
	cwnd_limited = sender_cwnd_limited(s, p);
	s->round.cwnd_limited |= cwnd_limited;
	s->interval.acks++;
	s->interval.acks_cwnd_limited += cwnd_limited && waiting;
	if (s->restarting && sender_restarted(s, p))
		s->restarting = false;
	return true;
}

/**
 * sender_wants_hystart - is it slow start, and its end to be found by delay or by the ACK train?
 * @s: the sender
 * @p: the connection
 */
static inline bool sender_wants_hystart(const struct sender *s, const struct tcp_path *p)
{
	return path_slow_start(p) && s->heuristics.hystart && sender_base(s)->use_hystart &&
	       !sender_not_alone(s);
}

/**
 * sender_round_over - has the round ended?
 * @s: the sender
 * @p: the connection
 *
 * Return: false, too, of a round without an RTT: it goes on.
 */
static inline bool sender_round_over(const struct sender *s, const struct tcp_path *p)
{
	return seq_after(path_una(p), s->round.end) && s->cdg.rtt.max_us;
}

/**
 * sender_update_cwnd - an ACK: have the base set the window, or cut it for a phantom signal
 * @s: the sender
 * @p: the connection
 * @acked: packets that the ACK covers
 *
 * The base is asked where the window is not in use, too: beside others w * B may have become less.
 */
static inline void sender_update_cwnd(struct sender *s, struct tcp_path *p, u32 acked)
{
	bool cwnd_limited = sender_cwnd_limited(s, p);

	if (cwnd_limited && sender_pays_losses_only(s))
		sender_grow_or_phantom_cut(s, p, acked);
	else
		sender_base(s)->grow(s, p, acked, cwnd_limited);
}

/**
 * sender_ack - an ACK that may let the window grow, and that sender_gather() leaves
 * @s: the sender
 * @p: the connection; not in CWR and Recovery
 * @acked: packets that the ACK covers
 * @waiting: the program has more to send than is under way
 * @paced: TCP spaces the packets
 * @result: is filled in
 */
static inline void sender_ack(struct sender *s, struct tcp_path *p, u32 acked, bool waiting,
			      bool paced, struct ack_result *result)
{
	*result = (struct ack_result) {};
	if (!sender_acked(s, p, waiting))
		return;
	if (sender_wants_hystart(s, p))
		result->found = sender_hystart(s, p, paced);
	result->round_over = sender_round_over(s, p);
	if (result->round_over)
		result->round = sender_end_round(s, p);
	if (!result->round.set || sender_not_alone(s))
		sender_update_cwnd(s, p, acked);
}

/**
 * sender_paces_alone - are packets spaced while the flow is alone?
 * @s: the sender
 *
 * Else its bursts would pass for a newcomer's. On a path shorter than the shortest queue that we
 * judge by there is nothing to be gained by it, and where the processor is the bottleneck TCP's
 * timers cost a third of the rate.
 */
static inline bool sender_paces_alone(const struct sender *s)
{
	return sender_base(s)->paced && !sender_not_alone(s) &&
	       cdg_base_rtt_us(&s->cdg) >= QUEUE_SHORTEST_US;
}

/**
 * sender_below_min_cwnd - does w allow less than the least window, two packets?
 * @s: the sender
 */
static inline bool sender_below_min_cwnd(const struct sender *s)
{
	return sender_not_alone(s) && sender_base(s)->level_q16(s) < 2 * Q16_ONE;
}

#endif /* DALBE_SENDER_H */
