// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sending side of one connection: what all base congestion controls have in common.
 *
 *	      RTTs, less a queue of ACKs (owd.c)
 *	TCP ------------------------------------> rounds, gradients (cdg.c)
 *	 ^   |                                      |
 *	 |   | losses, ACKs                         v end of a round
 *	 |   +------------------------------> base: grow, cut, price
 *	 |                                      |       ^ steer, every Tw
 *	 +---------------- window --------------+       |
 *	                                            control.c: w
 */
#include "core/sender.h"

/* The base hears of ACKs that were gathered, see sender_settle(). */
void sender_settle_now(struct sender *s, struct tcp_path *p)
{
	if (s->gathered.acked && p->cwnd == s->gathered.cwnd)
		sender_base(s)->grow(s, p, s->gathered.acked, true);
	s->gathered = (struct gathered) {};
}

/**
 * sender_tell_base - something has happened that only the base may want to know
 * @s: the sender
 * @p: the connection, in the state before; at BASE_TX_START its idle_ticks are set
 * @event: which
 */
void sender_tell_base(struct sender *s, struct tcp_path *p, enum base_event event)
{
	sender_settle(s, p);
	if (sender_base(s)->event)
		sender_base(s)->event(s, p, event);
}

/**
 * sender_init - a connection has been established
 * @s: zeroed
 * @p: the connection
 * @answer_end: up to this sequence number the congestion control before us has answered losses
 */
void sender_init(struct sender *s, struct tcp_path *p, u32 answer_end)
{
	s->base = &cdg_base;
	s->heed_us = U32_MAX;
	cdg_init(&s->cdg, CDG_G_DEFAULT_NS, p->cwnd);
	s->losses.answer_end = answer_end;
	sender_begin_round(s, p);
}

/**
 * sender_set_base - run this base from now on
 * @s: the sender
 * @p: the connection
 * @base: may be the one that runs
 *
 * A goal that replaces another finds what that one has learned of the path; a goal that comes
 * after a time at a fixed G finds the base RTT.
 */
void sender_set_base(struct sender *s, struct tcp_path *p, const struct lbe_base *base)
{
	if (s->base == base)
		return;
	sender_settle(s, p);
	s->base = base;
	s->heed_us = base->sample || base->hystart ? 0 : U32_MAX;
	s->regime = REGIME_ALONE;
	s->sets_pacing |= base->paced;
	if (sender_pays_losses_only(s))
		signals_start(&s->signals, p);
	sender_tell_base(s, p, BASE_START);
}

/**
 * sender_join - from here on the sender shares what is known of its path
 * @s: the sender; it leaves the memory that it has
 * @memory: of the path; must stay until sender_leave()
 * @now_us: TCP's clock
 *
 * To be called before sender_set_base() to a base with lbe_base.shares_path.
 */
void sender_join(struct sender *s, struct path_memory *memory, u64 now_us)
{
	sender_leave(s);
	s->memory = memory;
	path_memory_join(memory, &s->part, now_us);
}

/**
 * sender_leave - the sender shares no memory any more
 * @s: the sender; of no effect where it shares none
 *
 * To be called after sender_set_base() to a base without lbe_base.shares_path, or at the end.
 */
void sender_leave(struct sender *s)
{
	if (!s->memory)
		return;
	path_memory_leave(s->memory, &s->part);
	s->memory = NULL;
}

/**
 * sender_begin_round - RTTs from here on belong to another round
 * @s: the sender
 * @p: the connection
 */
void sender_begin_round(struct sender *s, struct tcp_path *p)
{
	if (seq_after(path_una(p), s->losses.answer_end))	/* or a comparison would wrap */
		s->losses.answer_end = path_una(p) - 1;
	s->round = (struct round) {
		.end = path_nxt(p),
		.delivered = path_delivered(p),
		.start_us = p->now_us,
	};
	sender_tell_base(s, p, BASE_ROUND);
}

/**
 * sender_continue_cut - an ACK while the window is being cut for delay
 * @s: the sender, in CDG_BACKOFF
 * @p: the connection
 *
 * The cut proceeds as TCP's own does (RFC 6937), in proportion to what is delivered:
 * the window shrinks while the queue drains, and the link is not left idle. It begins at what is
 * in flight, which is less than the window in slow start, as TCP paces that.
 *
 * Return: true until the cut is complete.
 */
bool sender_continue_cut(struct sender *s, struct tcp_path *p)
{
	u32 from = s->delay_cut.cwnd, to = p->ssthresh, cwnd = to, delivered, less;

	if (seq_after(path_una(p), s->round.end)) {
		cdg_backoff_done(&s->cdg);
		sender_begin_round(s, p);
	} else if (to < from) {
		delivered = min(path_delivered(p) - s->round.delivered, from);
		less = div_u64((u64)delivered * (from - to), from);
		cwnd = max(to, s->delay_cut.in_flight - min(s->delay_cut.in_flight, less));
	}
	p->cwnd = min(p->cwnd, cwnd);
	return s->cdg.state == CDG_BACKOFF;
}

/* min(mu, 1): the price is inflated by 1/mu, and never deflated. */
static u32 sender_mu_capped_q16(const struct sender *s)
{
	return min_t(u32, s->mu_q16, Q16_ONE);
}

/* The window to cut to, packets. cdg_ssthresh() is called for every base, as it also counts the
 * cut: the number of losses comes from there. Most bases ignore its result.
 */
static u32 sender_cwnd_after_cut(struct sender *s, const struct tcp_path *p, enum cut_cause cause)
{
	u32 cwnd = sender_base(s)->cut(s, p, cause, cdg_ssthresh(&s->cdg, &s->heuristics, p->cwnd));

	if (cause == CUT_OWN || !sender_pays_losses_only(s))
		return cwnd;
	signals_count(&s->signals, p);
	return s->heuristics.inflate_beta && s->mu_q16 ?
	       fp_mul_q16(cwnd, sender_mu_capped_q16(s)) : cwnd;
}

/**
 * sender_back_off - cut the window for a delay, C(5), over the round trip that begins here
 * @s: the sender
 * @p: the connection, in a state in which TCP does not set the window itself
 *
 * TCP stays in the state Open: in CWR, its own reduction, it does not ask for the answer to a
 * loss or a mark (RFC 5681, 3168), as it takes the cut for one.
 */
static void sender_back_off(struct sender *s, struct tcp_path *p)
{
	s->cdg.state = CDG_BACKOFF;
	p->ssthresh = sender_cwnd_after_cut(s, p, CUT_OWN);
	s->delay_cut.cwnd = p->cwnd;
	s->delay_cut.in_flight = path_in_flight(p);
	s->delay_cut.backoffs++;
	p->cwnd_cnt = 0;
	p->no_undo = true;
}

/**
 * sender_hystart - look for the end of slow start
 * @s: the sender
 * @p: the connection; ssthresh is set where it has been found
 * @paced: TCP spaces the packets
 *
 * Return: what has found it.
 */
enum cdg_hystart sender_hystart(struct sender *s, struct tcp_path *p, bool paced)
{
	enum cdg_hystart found = cdg_hystart_exit(&s->cdg, s->heuristics.hystart, p->now_us,
						  sender_cwnd_limited(s, p), paced);

	if (found != CDG_HYSTART_NONE)
		p->ssthresh = max(p->cwnd, 2U);	/* it may be 1 after a timeout */
	return found;
}

/**
 * sender_end_round - judge the round that has ended, and begin the next
 * @s: the sender
 * @p: the connection
 */
struct round_result sender_end_round(struct sender *s, struct tcp_path *p)
{
	u32 before_us = s->cdg.rtt_prev.min_us;
	s32 gradient_sum_us = cdg_round(&s->cdg, &s->heuristics);
	enum round_effect effect = ROUND_NONE;

	if (sender_base(s)->round)
		effect = sender_base(s)->round(s, p, before_us, gradient_sum_us);
	sender_begin_round(s, p);
	if (effect == ROUND_CUT)
		sender_back_off(s, p);
	return (struct round_result) {
		.gradient_sum_us = gradient_sum_us,
		.backoff = effect == ROUND_CUT,
		.set = effect != ROUND_NONE,
	};
}

/**
 * sender_grow_reno - grow the window as Reno does, and remember by how much
 * @s: the sender
 * @p: the connection
 * @acked: packets that the ACK covers
 * @cwnd_limited: the window is in use; else it stays as it is
 */
void sender_grow_reno(struct sender *s, struct tcp_path *p, u32 acked, bool cwnd_limited)
{
	u32 before = p->cwnd;

	if (!cwnd_limited) {
		cdg_not_cwnd_limited(&s->cdg, p->cwnd);
		return;
	}
	path_grow_reno(p, acked);
	cdg_grown(&s->cdg, p->cwnd - before);
}

/**
 * sender_grow_or_phantom_cut - let a base that pays for losses grow, or cut for a phantom signal
 * @s: the sender
 * @p: the connection, whose window is in use
 * @acked: packets that the ACK covers
 */
void sender_grow_or_phantom_cut(struct sender *s, struct tcp_path *p, u32 acked)
{
	if (signals_recent(&s->signals, p) && s->mu_q16 && !s->heuristics.inflate_beta &&
	    !path_recovering(p) && signals_phantom(&s->signals, acked)) {
		sender_begin_round(s, p);
		sender_back_off(s, p);
	} else {
		sender_base(s)->grow(s, p, acked, true);
	}
}

/**
 * sender_ssthresh - a loss or a mark: to which window is TCP to go down?
 * @s: the sender
 * @p: the connection
 *
 * TCP asks once per window that has one. A cut for delay under way ends here, but what it has
 * cut stays cut.
 *
 * Return: ssthresh, at least 2 packets.
 */
u32 sender_ssthresh(struct sender *s, struct tcp_path *p)
{
	u32 most = p->cwnd, ssthresh;

	sender_settle(s, p);
	if (s->cdg.state == CDG_BACKOFF) {
		most = min(p->cwnd, p->ssthresh);
		s->cdg.state = CDG_UNKNOWN;
	}
	ssthresh = sender_cwnd_after_cut(s, p, CUT_LOSS);
	s->losses.backoffs++;
	s->losses.asked = true;
	s->losses.answer_cwnd = p->cwnd;
	s->losses.answer_end = path_nxt(p);
	return max(min(ssthresh, most), 2U);
}

/**
 * sender_count_loss - count a loss or a mark that TCP deals with, and whether it was answered
 * @s: the sender
 * @p: the connection, in the state before
 * @state: enum path_state from now on, PATH_CWR or above
 *
 * It counts as answered where TCP has asked for ssthresh just before, or earlier in the same
 * window: RFC 5681 and 3168 want one answer per window.
 *
 * Return: false: nothing was lost: packets have become too large for the path (MTU), or a SYN's
 * data was not taken (TCP Fast Open). TCP enters PATH_LOSS then as well, but does not ask for
 * ssthresh; the base hears BASE_DISORDER. Amid a repair we cannot tell that from a timeout.
 */
bool sender_count_loss(struct sender *s, struct tcp_path *p, u8 state)
{
	struct losses *l = &s->losses;

	if (state == PATH_LOSS && !l->asked && !path_recovering(p)) {
		sender_tell_base(s, p, BASE_DISORDER);
		return false;
	}
	l->episodes += !l->marked;	/* a mark was counted when it was seen */
	l->answers += l->asked || !seq_after(path_una(p), l->answer_end);
	l->marked = false;
	return true;
}

/**
 * sender_begin_repair - TCP begins to deal with what sender_count_loss() has counted
 * @s: the sender
 * @p: the connection
 * @state: as there
 *
 * For a mark, or a loss that its tail probe has repaired, TCP only reduces the window (PATH_CWR),
 * in which no round ends. At the end of that sender_complete_cwr() tells the base, and begins the
 * next round.
 */
void sender_begin_repair(struct sender *s, struct tcp_path *p, u8 state)
{
	s->losses.asked = false;
	if (state != PATH_CWR)
		sender_tell_base(s, p, state == PATH_LOSS ? BASE_TIMEOUT : BASE_RECOVERY);
}

/**
 * sender_end_repair - TCP's state is going to be one in which it repairs nothing
 * @s: the sender
 * @p: the connection, in the state before
 * @state: PATH_OPEN or PATH_DISORDER
 */
void sender_end_repair(struct sender *s, struct tcp_path *p, u8 state)
{
	sender_tell_base(s, p, state == PATH_OPEN ? BASE_OPEN : BASE_DISORDER);
}

/**
 * sender_count_mark - the receiver has reported a mark (ECN), and packets are under way
 * @s: the sender
 * @p: the connection
 *
 * TCP answers it by asking for ssthresh while it deals with this ACK; where it does not, the
 * counts show it.
 */
void sender_count_mark(struct sender *s, const struct tcp_path *p)
{
	struct losses *l = &s->losses;

	if (l->marked || path_state(p) == PATH_LOSS || !seq_after(path_una(p), l->answer_end))
		return;
	l->marked = true;
	l->episodes++;
}

/**
 * sender_cwnd_restart - there was nothing to send for long: TCP begins in slow start again
 * @s: the sender
 * @p: the connection
 */
void sender_cwnd_restart(struct sender *s, struct tcp_path *p)
{
	s->restarting = true;
	cdg_restart(&s->cdg, p->cwnd);
	sender_tell_base(s, p, BASE_CWND_RESTART);
	sender_begin_round(s, p);
}

/**
 * sender_complete_cwr - TCP's own reduction of the window is complete
 * @s: the sender
 * @p: the connection
 */
void sender_complete_cwr(struct sender *s, struct tcp_path *p)
{
	sender_tell_base(s, p, BASE_COMPLETE_CWR);
	cdg_backoff_done(&s->cdg);
	sender_begin_round(s, p);
}

/* The part of w that needs no price: it acts at once. */
static void sender_set_mu(struct sender *s)
{
	s->mu_q16 = control_mu_q16(&s->control);
	if (sender_pays_losses_only(s))
		signals_inflate(&s->signals, sender_mu_capped_q16(s));
}

/**
 * sender_configure - other parameters for the same transfer; w follows at once where they set it
 * @s: the sender, under control
 * @config: checked by the caller
 */
void sender_configure(struct sender *s, const struct control_config *config)
{
	s->gathered = (struct gathered) {};	/* less than a packet of the window */
	control_configure(&s->control, config);
	sender_set_mu(s);
}

/**
 * sender_steer - Tw has ended, and w is known: 1/mu of the price is to be paid from now on
 * @s: the sender, whose control has set w and phi
 * @price_standard_q40: of control_sample
 */
void sender_steer(struct sender *s, u64 price_standard_q40)
{
	sender_set_mu(s);
	if (sender_base(s)->steer)
		sender_base(s)->steer(s, price_standard_q40);
}

/**
 * sender_end_interval - Tw has ended, or a job's connection is to hand in a part: set w
 * @s: the sender
 * @job: in which it has a part; NULL: the goal is its own
 * @part: what it has done since the last call; of a goal of its own only the sample counts, whose
 *	bytes are then all that are done
 * @model: the base's steady state
 *
 * A base forgets by Tw: by the parts of a job it would forget all but the last of them.
 *
 * Return: as job_hand_in(); true for a goal of its own.
 */
bool sender_end_interval(struct sender *s, struct job *job, struct job_part *part,
			 const struct control_model *model)
{
	u64 price_standard_q40 = part->sample.price_standard_q40;
	bool renewed = true;

	if (job)
		renewed = job_hand_in(job, &s->control, part, model);
	else
		control_update(&s->control, &part->sample, model);
	sender_steer(s, price_standard_q40);
	if (renewed && sender_base(s)->forget)
		sender_base(s)->forget(s);
	return renewed;
}

/**
 * sender_begin_goal - a goal, or a weight without one, comes into force
 * @s: the sender, whose control has begun
 * @p: the connection
 *
 * The base begins at the w in force, and CDG and Vegas do not pay for what the path cost before.
 * CUBIC's losses still count: their distance is the path's.
 */
void sender_begin_goal(struct sender *s, struct tcp_path *p)
{
	cdg_forget_prices(&s->cdg);
	sender_tell_base(s, p, BASE_GOAL);
	sender_steer(s, 0);
}

/**
 * sender_begin_interval - Tw begins
 * @s: the sender
 */
void sender_begin_interval(struct sender *s)
{
	memset(&s->cdg.price.counts, 0, sizeof(s->cdg.price.counts));
	memset(&s->interval, 0, sizeof(s->interval));
}

/**
 * sender_sample_interval - Tw ends: what has the base paid in it, and did the path limit it?
 * @s: the sender
 * @busy_us: so long the program had data to send
 * @elapsed_us: how long this Tw was
 *
 * Without ACKs, as in a timeout, @app_limited stays what it was: nothing new is known of it.
 *
 * Return: a sample without the times and the bytes, which TCP knows.
 */
struct control_sample sender_sample_interval(const struct sender *s, u64 busy_us,
					     u64 elapsed_us)
{
	const struct interval *i = &s->interval;
	const struct cdg_counts *n = &s->cdg.price.counts;
	const u64 loss_weight_q40 = (u64)CDG_WEIGHT_LOSS_Q16 << 24;
	struct control_sample sample = {
		.price_standard_q40 = fp_mul_div(loss_weight_q40, n->losses,
						 max(n->rounds, 1u)),	/* F(22) */
		.weight_standard_q40 = loss_weight_q40,
		.rounds = n->rounds,
		.losses = n->losses,
		.app_limited = busy_us < elapsed_us / INTERVAL_BUSY_PART ||
			       (i->acks ?
				i->acks_cwnd_limited * INTERVAL_CWND_LIMITED_PART < i->acks :
				s->control.last.app_limited),
	};

	if (sender_pays_losses_only(s))
		signals_price(&s->signals, &sample);
	else
		sender_base(s)->price(s, &sample);
	return sample;
}
