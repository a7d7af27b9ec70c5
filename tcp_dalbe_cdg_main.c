// SPDX-License-Identifier: GPL-2.0-only
/*
 * dalbe_cdg: CDG congestion control that meets a deadline
 *
 * This file joins the parts and hooks them into TCP; but for what dalbe_trace.h shows of
 * it, it is the only one that knows struct tcp_sock:
 *
 *	      RTTs, less a queue of ACKs (owd.c)
 *	TCP ------------------------------------> cdg.c: rounds, when to back off
 *	 ^   |                                      |  rounds, what a cut drained
 *	 |   | losses      take, give way           v
 *	 |   +-------> B <---------------------- effect.c: whose queue is it?
 *	 |            (cubic.c)                     |
 *	 |              | 1/B, bytes, every Tw      | alone or contended
 *	 |              v                           v
 *	 |           dalbe.c --------- w -------> cwnd: alone B, contended w * B
 *	 |                                          |
 *	 +------------------------------------------+
 *
 * This is a flow under a goal, a scavenger. With net.dalbe.effect = 0 it has but cdg.c
 * and dalbe.c: CDG's price goes to the controller, and back comes the G at which it
 * becomes q / mu. Without a goal a socket is CDG at a fixed G (net.dalbe.g_us), or, with
 * the weight controller, a scavenger whose w stays at wmin.
 *
 * Where things live
 *   The private area of the socket (104 bytes) holds plain data, which a listener's
 *   children inherit by copy: the goal and the settings, which exist before the
 *   connection does.
 *   The rest, struct dalbe_flow, is allocated when the connection is established (at
 *   a later ACK where memory was short) and freed with it; until then the pointer to
 *   it is NULL.
 *
 * Lifetime
 *   TCP may call release without init, and twice (tcp_disconnect, then destroy).
 *   It zeroes the private area on setsockopt(TCP_CONGESTION) and on disconnect:
 *   a goal ends there. init may run in softirq; pkts_acked may run before it, for
 *   the SYN, when nobody would call release. Where a route names a congestion
 *   control, it takes over before init, and finds in the area what we wrote there:
 *   see the order of struct dalbe_sock.
 *
 * cong_avoid is silent in CWR and Recovery, which are losses' and marks', so Tw is
 * driven from pkts_acked.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "compat.h"
#include "cubic.h"
#include "effect.h"
#include "owd.h"
#include "tcp_dalbe_cdg.h"
#include "version.h"

/* The root of a network namespace, who has net.dalbe.*, is not to turn off the answers to
 * delay and loss of other users' connections; they are the machine's, as in tcp_cdg.c.
 */
static u8 use_ineff;
module_param(use_ineff, byte, 0644);
MODULE_PARM_DESC(use_ineff, "ignore delay after so many backoffs without effect (0: never)");

static bool use_shadow;
module_param(use_shadow, bool, 0644);
MODULE_PARM_DESC(use_shadow, "after a loss, resume at the window held before delay backoffs");

static bool use_tolerance;
module_param(use_tolerance, bool, 0644);
MODULE_PARM_DESC(use_tolerance, "without a goal, take a loss while the queue drains for no congestion");

#define CREATE_TRACE_POINTS
#include "dalbe_trace.h"

/**
 * struct dalbe_flow - an established connection
 * @h: its heuristics in force, read again at the end of each round
 * @scavenger: @best_effort, @effect and what @owd tells are in use
 * @paced: has been a scavenger: whether TCP paces is ours to say
 * @restarting: in the slow start that follows a timeout or a pause
 * @round_limited: in this round there was less to send than the window allows
 * @round_short: a surge has ended this round early
 * @round_used: an ACK of this round found the window in use
 * @answered: TCP has asked for ssthresh, and not said yet what for
 * @marked: a mark is to be answered
 * @round_end: sequence number whose ACK ends the RTT round
 * @round_delivered: tcp_sock.delivered when it began
 * @answer_end: sequence number up to which the last answer to a loss holds
 * @round_start_us: TCP's clock when the round began
 * @cut_cwnd: what the backoff under way (CDG_BACKOFF) cuts from, packets
 * @cut_flight: of that, what was under way
 * @acks: ACKs that could grow the window, in this Tw
 * @acks_limited: of these, those that found the window in use and more to send
 * @acked: tcp_sock.bytes_acked at the last ACK
 * @next_update_us: TCP's clock when Tw ends
 * @departure_ns: of the last window that was put off, on TCP's clock
 * @owd: what of the RTT is not a queue of the ACKs
 * @best_effort: the window that a best-effort flow would hold, B
 * @effect: whose queue it is
 * @held: what B would be had only losses cut it since the link was taken
 * @transfer: what sets w, with or without a goal; valid if dalbe_sock.controlled
 * @last_update_us: TCP's clock when Tw began
 * @busy_jiffies: time spent sending, up to then
 * @rounds: RTT rounds in this Tw
 * @contended_rounds: of these, those in which the flow was not alone
 * @contended_q16: sum of B over those
 * @resume_cwnd: window withdrawn for the effect test, packets
 * @undo_lossy: effect.lossy before the last answer
 * @undo_window_q16: B before it, packets
 * @undo_origin_q16: its W_max, likewise
 * @undo_held_q16: the window of @held, likewise
 * @backoffs_delay: cuts for delay since connected
 * @backoffs_loss: cuts for loss and marks since connected
 * @episodes: of losses and marks since connected, as TCP's state tells
 * @answers: of these, those in whose window TCP has asked for ssthresh
 * @answer_cwnd: the window that the last was asked for, packets
 * @cdg: the base congestion control, its histogram at the end
 *
 * What every ACK needs comes first, in cache lines 0 to 2, and in 9 at the beginning of
 * @cdg; while the flow has a goal it also looks at the effect test, 2 to 4. The rest is for
 * the end of a round or of Tw (offsets as pahole shows them on x86-64).
 */
struct dalbe_flow {
	struct cdg_heuristics h;
	bool scavenger;
	bool paced;
	bool restarting;
	bool round_limited;
	bool round_short;
	bool round_used;
	bool answered;
	bool marked;
	u32 round_end;
	u32 round_delivered;
	u32 answer_end;
	u64 round_start_us;
	u32 cut_cwnd;
	u32 cut_flight;
	u32 acks;
	u32 acks_limited;
	u64 acked;
	u64 next_update_us;
	u64 departure_ns;
	struct owd owd;
	struct cubic best_effort;
	struct effect effect;
	struct cubic held;
	struct dalbe transfer;
	u64 last_update_us;
	u32 busy_jiffies;
	u32 rounds;
	u64 contended_q16;
	u32 contended_rounds;
	u32 resume_cwnd;
	u64 undo_window_q16;
	u64 undo_origin_q16;
	u64 undo_held_q16;
	u8 undo_lossy;
	u32 answer_cwnd;
	u32 episodes;
	u32 answers;
	u64 backoffs_delay;
	u64 backoffs_loss;
	struct cdg cdg;
};

/* What was set on the socket itself; the rest follows the namespace. */
struct dalbe_settings {
	u32 g_ns;
	u32 tw_ms;
	u32 wmin_ppm;
	u8 controller;
	u8 after_deadline;
	u8 set;			/* DALBE_PARAM_* */
};

/**
 * struct dalbe_sock - the private area of a socket
 * @goal_bytes: 0: no goal
 * @goal_set_ns: when, CLOCK_BOOTTIME
 * @flow: of an established connection, else NULL; NULL also where memory was
 *        short, until a later ACK finds some
 * @acked_base: tcp_sock.bytes_acked when the goal was set
 * @goal_done_ns: when its last byte was acknowledged; 0: not yet
 * @goal_deadline_ns: CLOCK_BOOTTIME
 * @goal_check: what dalbe_goal_check() says of these
 * @settings: see there
 * @controlled: @flow->transfer sets w: there is a goal, or the controller needs none
 * @self: this area, once it is ours; not in a copy, nor where there is another's data
 *
 * Where a route's congestion control takes over before init, Linux 6.12 calls its release
 * without its init as well, and the in-tree CDG's frees the pointer at offset 16: @flow
 * lies there, which is NULL until init. Nor does CDG's init set all of its area: behind
 * the pointer are a sum and an index, and so are @acked_base, 0 or 1 until then, and
 * @goal_done_ns, 0. And where the route's is ours, and another had its init in SYN-SENT,
 * our hooks are called with that one's data, and our init is not: see dalbe_flow().
 */
struct dalbe_sock {
	u64 goal_bytes;
	u64 goal_set_ns;
	struct dalbe_flow *flow;
	u64 acked_base;
	u64 goal_done_ns;
	u64 goal_deadline_ns;
	u64 goal_check;
	struct dalbe_settings settings;
	bool controlled;
	const struct dalbe_sock *self;
};

static_assert(offsetof(struct dalbe_sock, flow) == 16);
static_assert(offsetof(struct dalbe_sock, acked_base) <= 24);	/* 32 bits: a gap */
static_assert(offsetof(struct dalbe_sock, goal_done_ns) ==
	      offsetof(struct dalbe_sock, acked_base) + sizeof(u64));
static_assert(sizeof(struct dalbe_flow) <= 1024);	/* kmalloc's next size is 2 KB */
static_assert(offsetof(struct dalbe_flow, effect) <= 192);
static_assert(offsetof(struct cdg, gradient) <= 64);
static_assert(offsetofend(struct dalbe_flow, cdg.hist) == sizeof(struct dalbe_flow));
static_assert(CDG_G_MIN_NS == DALBE_G_MIN_NS);
static_assert(CDG_G_MAX_NS == DALBE_G_MAX_NS);
static_assert(DALBE_REGIME_YIELDING - DALBE_REGIME_ALONE == EFFECT_YIELDING);
static_assert(DALBE_REGIME_CONTENDED - DALBE_REGIME_ALONE == EFFECT_CONTENDED);

static struct dalbe_sock *dalbe_sk(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* NULL where there is none, and where the private area is not ours: for every hook. */
static struct dalbe_flow *dalbe_flow(const struct sock *sk)
{
	const struct dalbe_sock *ca = dalbe_sk(sk);

	return ca->self == ca ? ca->flow : NULL;
}

/* Make the private area ours, whatever was there: that of another congestion control,
 * or nothing yet.
 */
static struct dalbe_sock *dalbe_own(struct sock *sk)
{
	struct dalbe_sock *ca = dalbe_sk(sk);

	if (ca->self != ca) {
		memset(ca, 0, sizeof(*ca));
		ca->self = ca;
	}
	return ca;
}

/* A listener's children copy its area without its lock, perhaps while a goal is written
 * into it: half of one is none.
 */
static u64 dalbe_goal_check(const struct dalbe_sock *ca)
{
	return ca->goal_bytes ^ ca->goal_set_ns ^ ca->goal_deadline_ns;
}

/* Payload acknowledged since the goal was set. */
static u64 dalbe_bytes_done(const struct sock *sk)
{
	u64 acked = tcp_sk(sk)->bytes_acked, base = dalbe_sk(sk)->acked_base;

	return acked > base ? acked - base : 0;	/* the SYN may be still to come */
}

static u32 dalbe_min_rtt_us(const struct tcp_sock *tp)
{
	u32 min_rtt_us = tcp_min_rtt(tp);

	return min_rtt_us == U32_MAX ? 0 : min_rtt_us;	/* none yet */
}

/* At least 1: it divides. */
static u32 dalbe_srtt_us(const struct tcp_sock *tp)
{
	return max_t(u32, tp->srtt_us >> 3, 1);
}

/* A goal is not to leave a loss unanswered: these two are for CDG at a fixed G. */
static struct cdg_heuristics dalbe_heuristics(const struct sock *sk)
{
	const struct dalbe_defaults *def = dalbe_net_defaults(sock_net(sk));

	return (struct cdg_heuristics) {
		.use_ineff = READ_ONCE(use_ineff),
		.use_shadow = READ_ONCE(use_shadow) && !dalbe_sk(sk)->controlled,
		.use_tolerance = READ_ONCE(use_tolerance) &&
				 !dalbe_sk(sk)->controlled,
		.hystart = READ_ONCE(def->hystart),
	};
}

/* The socket's settings, completed from its namespace. */
static struct dalbe_settings dalbe_in_force(const struct sock *sk)
{
	const struct dalbe_defaults *def = dalbe_net_defaults(sock_net(sk));
	bool scavenger = !dalbe_sk(sk)->goal_bytes && READ_ONCE(def->scavenger);
	struct dalbe_settings s = dalbe_sk(sk)->settings;

	if (!(s.set & DALBE_PARAM_G))
		s.g_ns = READ_ONCE(def->g_us) * NSEC_PER_USEC;
	if (!(s.set & DALBE_PARAM_TW))
		s.tw_ms = READ_ONCE(def->tw_ms);
	if (!(s.set & DALBE_PARAM_WMIN))
		s.wmin_ppm = READ_ONCE(def->wmin_ppm);
	if (!(s.set & DALBE_PARAM_CONTROLLER))
		s.controller = scavenger ? DALBE_CONTROLLER_WEIGHT :
					   READ_ONCE(def->controller);
	if (!(s.set & DALBE_PARAM_AFTER))
		s.after_deadline = READ_ONCE(def->after_deadline);
	return s;
}

/* Does a controller set w? Only the weight controller can do so without a goal. */
static bool dalbe_has_w(const struct dalbe_sock *ca, const struct dalbe_settings *s)
{
	return s->controller == DALBE_CONTROLLER_WEIGHT ||
	       (ca->goal_bytes && s->controller != DALBE_CONTROLLER_FIXED);
}

static struct dalbe_config dalbe_config(const struct sock *sk,
					const struct dalbe_settings *s)
{
	const struct dalbe_defaults *def = dalbe_net_defaults(sock_net(sk));

	return (struct dalbe_config) {
		.controller = s->controller,
		.after_deadline = s->after_deadline,
		.unlimited = !READ_ONCE(def->limit_increase),
		.tw_ms = s->tw_ms,
		.wmin_q16 = max_t(u32, 1, div_u64((u64)s->wmin_ppm << 16,
						  1000000)),
	};
}

/* Time in which data was outstanding, in jiffies, as in struct tcp_info. */
static u32 dalbe_busy_jiffies(const struct tcp_sock *tp)
{
	u32 busy = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(tp->chrono_stat); i++)
		busy += tp->chrono_stat[i];
	if (tp->chrono_type > TCP_CHRONO_UNSPEC)
		busy += tcp_jiffies32 - tp->chrono_start;
	return busy;
}

/* When a Tw that begins now ends. */
static u64 dalbe_tw_end_us(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 tw_ns = dalbe_tw_ns(&dalbe_sk(sk)->flow->transfer, tp->srtt_us >> 3);

	return tcp_clock_us() + div_u64(tw_ns, NSEC_PER_USEC);
}

static void dalbe_begin_interval(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	const struct tcp_sock *tp = tcp_sk(sk);

	memset(&flow->cdg.counts, 0, sizeof(flow->cdg.counts));
	flow->acks = 0;
	flow->acks_limited = 0;
	flow->rounds = 0;
	flow->contended_rounds = 0;
	flow->contended_q16 = 0;
	flow->busy_jiffies = dalbe_busy_jiffies(tp);
	flow->last_update_us = tcp_clock_us();
	flow->next_update_us = dalbe_tw_end_us(sk);
}

/* Tw is a shorter one: what was asked for does not wait for the end of the old one. */
static void dalbe_hasten_update(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;

	flow->next_update_us = min(flow->next_update_us, dalbe_tw_end_us(sk));
}

/* Until the first prices are known: the linear map of F(5), G = mu * Gref. */
static u32 dalbe_linear_g_ns(const struct dalbe *d)
{
	return min_t(u64, fp_mul_q16(CDG_G_DEFAULT_NS, dalbe_mu_q16(d)),
		     CDG_G_MAX_NS);
}

/* Does w, not TCP, decide how large the window is? */
static bool dalbe_has_level(const struct dalbe_flow *flow)
{
	return flow->scavenger && flow->effect.state != EFFECT_ALONE;
}

/* The share of a best-effort flow that is ours while contended, packets in Q16. */
static u64 dalbe_level_q16(const struct dalbe_flow *flow)
{
	return fp_mul_q16(flow->best_effort.window_q16, flow->transfer.w_q16);
}

/* The same as a rate. */
static u64 dalbe_level_Bps(const struct sock *sk)
{
	const struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 bytes = fp_mul_div(dalbe_level_q16(flow), tp->mss_cache, Q16_ONE);

	return fp_mul_div(bytes, USEC_PER_SEC, dalbe_srtt_us(tp));
}

/* Tell TCP whether to space its packets by its own timer. We do not leave that to fq
 * (SK_PACING_FQ): where fq has gone from the interface nobody enforces the departure times
 * from which TCP measures RTTs, and they read too low. TCP paces in any case where the user
 * has set a limit, and until a departure time in the future has come.
 *
 * setsockopt(SO_MAX_PACING_RATE) takes no lock, and fq sets its own status: we tell TCP again
 * each time before it sends.
 */
static void dalbe_pace(struct sock *sk, bool on)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 status = on || READ_ONCE(sk->sk_max_pacing_rate) != ~0UL ||
		     tp->tcp_wstamp_ns > tp->tcp_clock_cache ?
		     SK_PACING_NEEDED : SK_PACING_NONE;

	if (READ_ONCE(sk->sk_pacing_status) != status)
		WRITE_ONCE(sk->sk_pacing_status, status);
}

/* While contended the window is w * B, and ssthresh is B: TCP remembers ssthresh for the next
 * connection to this host, which need not be ours. Below two packets, the least window,
 * packets wait (dalbe_waits()). Two still leave together: the receiver would hold back its
 * ACK of a single one, and that looks like a queue.
 */
static void dalbe_apply_level(struct sock *sk, u32 acked)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	struct tcp_sock *tp = tcp_sk(sk);
	u64 level_q16 = dalbe_level_q16(flow), gap_us;
	u32 level;

	if (level_q16 < (u64)flow->effect.ask_cwnd << 16)
		flow->effect.asking = 0;	/* no longer the cut that was to tell */
	if (flow->effect.asking)
		level_q16 = (u64)flow->effect.ask_cwnd << 16;
	level = clamp_t(u64, level_q16 >> 16, 2, tp->snd_cwnd_clamp);
	tp->snd_ssthresh = max_t(u64, flow->best_effort.window_q16 >> 16, level);
	/* down at once, up no faster than slow start, as after a timeout */
	tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp) + acked, level));
	/* At the first ACK of a window, not at each. */
	if (level_q16 >= 2 * Q16_ONE || flow->departure_ns > tp->tcp_clock_cache ||
	    flow->effect.state == EFFECT_YIELDING)
		return;
	/* no longer than a look: we would not see that the queue has gone */
	gap_us = min_t(u64, fp_mul_div(dalbe_srtt_us(tp), 2 * Q16_ONE, level_q16),
		       effect_look_us(cdg_base_rtt_us(&flow->cdg)));
	flow->departure_ns = max(flow->departure_ns + gap_us * NSEC_PER_USEC,
				 tp->tcp_clock_cache);
}

/* Is TCP about to send its probe for a lost tail? */
static bool dalbe_probe_due(const struct sock *sk)
{
	return inet_csk(sk)->icsk_pending == ICSK_TIME_LOSS_PROBE &&
	       time_after_eq(jiffies, dalbe_tcp_timeout(sk));
}

/* Is our share less than the least window? */
static bool dalbe_below_two(const struct dalbe_flow *flow)
{
	return flow->scavenger && flow->effect.state == EFFECT_CONTENDED &&
	       dalbe_level_q16(flow) < 2 * Q16_ONE;
}

/* Are the next packets, of a flow below two, to wait for their departure? A FIN alone, TCP's
 * probe for a lost tail and what is sent again are not.
 */
static bool dalbe_waits(const struct sock *sk)
{
	const struct sk_buff *next = tcp_send_head(sk);

	return inet_csk(sk)->icsk_ca_state < TCP_CA_Recovery &&
	       dalbe_sk(sk)->flow->departure_ns > tcp_sk(sk)->tcp_clock_cache &&
	       next && next->len && !dalbe_probe_due(sk);
}

/* TCP asks us before it sends data, and then looks at the departure time of the next packet.
 * A time one nanosecond away makes TCP wait for its pacing timer, and we set that timer to
 * the departure. TCP writes its departure time into every packet that leaves, ACKs, RSTs
 * and probes as well: fq would hold them back until our departure if we wrote that.
 */
static void dalbe_wait(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	struct tcp_sock *tp = tcp_sk(sk);
	u64 left_ns = flow->departure_ns - tp->tcp_clock_cache;

	tp->tcp_wstamp_ns = max(tp->tcp_wstamp_ns, tp->tcp_clock_cache + 1);
	/* TCP takes data that does not leave for a closed window, and would probe it */
	if (!tp->packets_out && !inet_csk(sk)->icsk_pending)
		inet_csk_reset_xmit_timer(sk, ICSK_TIME_PROBE0,
					  tcp_probe0_base(sk) +
					  nsecs_to_jiffies(left_ns), TCP_RTO_MAX);
	if (hrtimer_is_queued(&tp->pacing_timer))
		return;
	hrtimer_start(&tp->pacing_timer, ns_to_ktime(flow->departure_ns),
		      HRTIMER_MODE_ABS_PINNED_SOFT);
	sock_hold(sk);
}

static void dalbe_begin_round(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	const struct tcp_sock *tp = tcp_sk(sk);

	flow->h = dalbe_heuristics(sk);
	if (after(tp->snd_una, flow->answer_end))	/* not 2 GB ago */
		flow->answer_end = tp->snd_una - 1;
	flow->round_end = tp->snd_nxt;
	flow->round_start_us = tcp_clock_us();
	flow->round_delivered = tp->delivered;
	flow->round_limited = false;
	flow->round_short = false;
	flow->round_used = false;
	effect_begin_round(&flow->effect);
}

static void dalbe_save_undo(struct dalbe_flow *flow)
{
	flow->undo_window_q16 = flow->best_effort.window_q16;
	flow->undo_origin_q16 = flow->best_effort.origin_q16;
	flow->undo_held_q16 = flow->held.window_q16;
	flow->undo_lossy = flow->effect.lossy;
}

/* A goal that replaces another finds what that one has learned of the path; one after
 * a time at a fixed G finds the base RTT.
 */
static void dalbe_set_scavenger(struct sock *sk, bool on)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (flow->scavenger == on)
		return;
	flow->scavenger = on;
	if (!on)
		return;
	flow->paced = true;
	effect_start(&flow->effect, tcp_clock_us());
	cubic_start(&flow->best_effort, (u64)cwnd << 16, 0);
	flow->held = flow->best_effort;
	dalbe_save_undo(flow);		/* of a cut before the goal */
	dalbe_begin_round(sk);
}

/* Make the connection what goal and settings ask for: CDG at a fixed G, or a
 * transfer under control, from its beginning; without a goal it has no end.
 */
static void dalbe_engage(struct sock *sk)
{
	struct dalbe_sock *ca = dalbe_sk(sk);
	struct dalbe_settings s = dalbe_in_force(sk);
	const struct dalbe_defaults *def = dalbe_net_defaults(sock_net(sk));
	struct dalbe_config config = dalbe_config(sk, &s);
	struct dalbe_flow *flow = ca->flow;

	if (!flow)
		return;

	ca->controlled = dalbe_has_w(ca, &s);
	flow->h = dalbe_heuristics(sk);
	dalbe_set_scavenger(sk, ca->controlled && READ_ONCE(def->effect));
	if (!ca->controlled) {
		cdg_set_g(&flow->cdg, s.g_ns);
		cdg_set_idle_g(&flow->cdg, 0);
	} else {
		dalbe_start(&flow->transfer, &config, ca->goal_bytes,
			    dalbe_bytes_done(sk), ca->goal_set_ns,
			    ca->goal_deadline_ns);
		cdg_forget(&flow->cdg);
		cdg_set_g(&flow->cdg, flow->scavenger ? EFFECT_ALONE_G_NS :
			  dalbe_linear_g_ns(&flow->transfer));
		cdg_set_idle_g(&flow->cdg,
			       READ_ONCE(def->idle_g_us) * NSEC_PER_USEC);
		dalbe_begin_interval(sk);
	}
}

static u64 dalbe_cdg_model(const void *arg, u64 rate_Bps)
{
	const struct tcp_sock *tp = arg;

	return cdg_rate_price_q40(rate_Bps, tp->mss_cache,
				  dalbe_srtt_us(tp));
}

/* G for the price that the controller wants paid. Loss takes its part first,
 * as it cannot be had for less, except at w = 1, where phi scales it as well.
 */
static void dalbe_retune(struct dalbe_flow *flow, u64 price_std_q40)
{
	const struct dalbe *d = &flow->transfer;
	u64 delay_q40 = d->price_target_q40;

	if (d->w_q16 == Q16_ONE)
		price_std_q40 = fp_mul_div(price_std_q40, Q16_ONE,
					   dalbe_mu_q16(d));
	delay_q40 -= min(delay_q40, price_std_q40);
	cdg_set_g(&flow->cdg,
		  cdg_g_for_delay_price(&flow->cdg, delay_q40,
					dalbe_linear_g_ns(d)));
}

static void dalbe_get_regime(const struct sock *sk, struct dalbe_state *state)
{
	const struct dalbe_flow *flow = dalbe_sk(sk)->flow;

	if (!flow->scavenger)
		return;
	state->regime = DALBE_REGIME_ALONE + flow->effect.state;
	state->drained_ppm = fp_ppm(flow->effect.drained_q16);
	state->yields = flow->effect.yields;
	state->resumes = flow->effect.resumes;
	if (flow->effect.state != EFFECT_ALONE)
		state->level_Bps = dalbe_level_Bps(sk);
}

/* The end of Tw. */
static void dalbe_tick(struct sock *sk)
{
	struct dalbe_sock *ca = dalbe_sk(sk);
	struct dalbe_flow *flow = ca->flow;
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct cdg_counts *n = &flow->cdg.counts;
	u64 elapsed_us = tp->tcp_mstamp - flow->last_update_us;
	u64 busy_us = (u64)jiffies_to_msecs(dalbe_busy_jiffies(tp) -
					    flow->busy_jiffies) * USEC_PER_MSEC;
	const u64 loss_weight_q40 = (u64)CDG_WEIGHT_LOSS_Q16 << 24;
	struct dalbe_sample s = {
		.now_ns = ktime_get_boottime_ns(),
		.elapsed_ns = elapsed_us * NSEC_PER_USEC,
		.bytes_done = dalbe_bytes_done(sk),
		.price_std_q40 = fp_mul_div(loss_weight_q40, n->losses,
					    max(n->rounds, 1u)),	/* F(22) */
		.weight_std_q40 = loss_weight_q40,
		.srtt_us = tp->srtt_us >> 3,
		.rounds = n->rounds,
		.losses = n->losses,
		/* Without ACKs, as in a timeout, nothing new is known of it. */
		.app_limited = busy_us < elapsed_us / 2 ||
			       (flow->acks ? flow->acks_limited * 4 < flow->acks :
					     flow->transfer.app_limited),
		.contended = n->losses || n->queued_rounds > n->rounds / 2,
	};
	const struct dalbe_model model = {
		.price_q40 = dalbe_cdg_model,
		.arg = tp,
	};
	struct dalbe_state state = {};

	if (flow->scavenger) {	/* B is the best-effort window: nothing for phi */
		u64 window_q16 = flow->best_effort.window_q16;

		s.contended = flow->rounds ?
			      flow->contended_rounds > flow->rounds / 2 :
			      flow->effect.state != EFFECT_ALONE;
		/* B swings by a third between its losses, slowly at a small w:
		 * what it is at this moment is no measure of the next Tw.
		 */
		if (s.contended && flow->contended_rounds)
			window_q16 = div_u64(flow->contended_q16,
					     flow->contended_rounds);
		s.price_q40 = fp_mul_div(Q40_ONE, Q16_ONE, window_q16);
		s.price_std_q40 = s.price_q40;
	} else {
		s.price_q40 = fp_add(cdg_delay_price_q40(&flow->cdg,
							 CDG_G_DEFAULT_NS),
				     s.price_std_q40);
	}
	dalbe_update(&flow->transfer, &s, &model);
	if (!flow->scavenger)
		dalbe_retune(flow, s.price_std_q40);
	dalbe_get_regime(sk, &state);
	trace_dalbe_update(sk, &flow->transfer, &flow->cdg, &s, &state);
	cdg_age(&flow->cdg);
	dalbe_begin_interval(sk);
}

/* May be softirq. The memory is the socket's cgroup's. Where it is short the connection
 * works, as Reno, and the next ACK tries again.
 */
static bool dalbe_alloc_flow(struct sock *sk)
{
	struct dalbe_sock *ca = dalbe_sk(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct mem_cgroup *memcg;

	memcg = set_active_memcg(dalbe_sk_memcg(sk));	/* a softirq has none */
	ca->flow = kzalloc(sizeof(*ca->flow), GFP_ATOMIC | __GFP_NOWARN | __GFP_ACCOUNT);
	set_active_memcg(memcg);
	if (!ca->flow)
		return false;
	cdg_init(&ca->flow->cdg, CDG_G_DEFAULT_NS, tcp_snd_cwnd(tp));
	/* what TCP is dealing with already another has answered */
	ca->flow->answer_end = inet_csk(sk)->icsk_ca_state < TCP_CA_CWR ?
			       tp->snd_una - 1 : tp->high_seq;
	ca->flow->acked = tp->bytes_acked;
	dalbe_begin_round(sk);
	dalbe_engage(sk);
	return true;
}

static void dalbe_cdg_init(struct sock *sk)
{
	struct dalbe_sock *ca = dalbe_sk(sk);

	if (ca->goal_check != dalbe_goal_check(ca))
		ca->goal_bytes = 0;
	ca->self = ca;
	ca->flow = NULL;
	ca->controlled = false;
	/* Selected between SYN and SYN-ACK, TCP calls us here and not again: the
	 * first ACK of the connection will do the rest.
	 */
	if (sk->sk_state == TCP_SYN_SENT)
		return;
	if (sk->sk_state == TCP_SYN_RECV)	/* a child has no SYN to count */
		ca->acked_base = tcp_sk(sk)->bytes_acked;
	dalbe_alloc_flow(sk);
}

static void dalbe_cdg_release(struct sock *sk)
{
	struct dalbe_sock *ca = dalbe_sk(sk);
	struct dalbe_flow *flow = dalbe_flow(sk);

	if (!flow)
		return;
	DEBUG_NET_WARN_ON_ONCE(flow->episodes != flow->answers);
	if (flow->paced)	/* another congestion control goes on */
		dalbe_pace(sk, false);
	kfree(flow);
	ca->flow = NULL;
	ca->controlled = false;
}

static void dalbe_cdg_hystart(struct sock *sk, u8 detect)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	struct tcp_sock *tp = tcp_sk(sk);

	switch (cdg_hystart_exit(&flow->cdg, detect, tp->tcp_mstamp,
				 tcp_is_cwnd_limited(sk),
				 READ_ONCE(sk->sk_pacing_status) != SK_PACING_NONE)) {
	case CDG_HYSTART_TRAIN:
		NET_INC_STATS(sock_net(sk), LINUX_MIB_TCPHYSTARTTRAINDETECT);
		NET_ADD_STATS(sock_net(sk), LINUX_MIB_TCPHYSTARTTRAINCWND,
			      tcp_snd_cwnd(tp));
		break;
	case CDG_HYSTART_DELAY:
		NET_INC_STATS(sock_net(sk), LINUX_MIB_TCPHYSTARTDELAYDETECT);
		NET_ADD_STATS(sock_net(sk), LINUX_MIB_TCPHYSTARTDELAYCWND,
			      tcp_snd_cwnd(tp));
		break;
	case CDG_HYSTART_NONE:
		return;
	}
	tp->snd_ssthresh = tcp_snd_cwnd(tp);
}

/* Alone, where delays cut the window: what best effort would not have cut. What was
 * taken upon an answer that may be wrong is not ours yet.
 */
static void dalbe_hold(struct dalbe_flow *flow, u32 cwnd)
{
	if (!flow->effect.answered && flow->held.window_q16 >> 16 < cwnd)
		cubic_start(&flow->held, (u64)cwnd << 16, flow->held.origin_q16);
}

/* TCP takes a cut back where it finds that the loss was none. The window of then is not ours
 * any more where we have cut it for another reason since.
 */
static void dalbe_no_undo(struct sock *sk)
{
	tcp_sk(sk)->prior_ssthresh = 0;
}

/* Stand back: the window shrinks to the level of w at once, and what is under
 * way drains. @most: what a loss has just left of it, packets.
 */
static void dalbe_yield(struct sock *sk, u32 most)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	/* what was given up as room was ours, too */
	u32 cwnd = min(max(tcp_snd_cwnd(tcp_sk(sk)), flow->effect.lent), most);

	flow->resume_cwnd = cwnd;
	/* Whoever is there now shares what was ours; but who was there before, and
	 * took it from us while we made way for delays, is to share it as before.
	 */
	dalbe_hold(flow, cwnd);
	cubic_start(&flow->best_effort, (u64)cwnd << 15, (u64)cwnd << 16);
	if (effect_may_err(&flow->effect, tcp_sk(sk)->tcp_mstamp) &&
	    flow->held.window_q16 > flow->best_effort.window_q16)
		flow->best_effort = flow->held;
	dalbe_no_undo(sk);
	dalbe_apply_level(sk, 0);
}

/* Nobody else is there (any more): from this window on, by slow start up to
 * @ssthresh or until it sees a queue.
 */
static void dalbe_resume(struct sock *sk, u32 cwnd, u32 ssthresh)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	struct tcp_sock *tp = tcp_sk(sk);

	dalbe_no_undo(sk);
	if (inet_csk(sk)->icsk_ca_state < TCP_CA_CWR)	/* else a cut's */
		tp->snd_ssthresh = clamp_t(u32, ssthresh, 2, TCP_INFINITE_SSTHRESH);
	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Open)
		tcp_snd_cwnd_set(tp, clamp(cwnd, 2U, tp->snd_cwnd_clamp));
	cubic_start(&flow->best_effort, (u64)tcp_snd_cwnd(tp) << 16, 0);
	cdg_restart(&flow->cdg, tcp_snd_cwnd(tp));
}

/* Alone, and not sure of it: what is ours in any case, packets. Delays may withdraw it
 * for a round trip, to see whose queue it is, but not take it away: who has to be best
 * effort would have less than that, squeezed by those who do not make way for delays.
 */
static u32 dalbe_least(const struct sock *sk)
{
	const struct dalbe_flow *flow = dalbe_sk(sk)->flow;

	if (flow->effect.state != EFFECT_ALONE || flow->effect.answered ||
	    !effect_may_err(&flow->effect, tcp_sk(sk)->tcp_mstamp))
		return 0;
	return fp_mul_q16(flow->held.window_q16, flow->transfer.w_q16) >> 16;
}

/* A backoff's cut, of a flow that is alone. */
static u32 dalbe_scavenger_backoff(struct sock *sk, u32 ssthresh)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	u32 rtt_us = flow->cdg.rtt_prev.min_us;
	u32 base_rtt_us = cdg_base_rtt_us(&flow->cdg);
	u32 least;

	/* what slow start found as well: a best-effort flow would keep it */
	dalbe_hold(flow, cwnd);
	ssthresh = effect_cut(&flow->effect, cwnd, rtt_us, base_rtt_us, ssthresh);
	least = min(dalbe_least(sk), cwnd);
	effect_expect(&flow->effect, cwnd, ssthresh, rtt_us, base_rtt_us);
	if (least > ssthresh && flow->effect.before_us) {
		/* We withdraw it for a round trip, and judge that as we judge room. */
		flow->effect.lent = max(flow->effect.lent, least);
		flow->effect.room = true;
	} else {
		ssthresh = max(ssthresh, least);
	}
	cubic_start(&flow->best_effort, (u64)ssthresh << 16, 0);
	return ssthresh;
}

/* Cut the window for a delay, C(5), over the round trip that begins here. TCP stays in the
 * state Open: in CWR, its own reduction, it does not ask for the answer to a loss or a mark
 * (RFC 5681, 3168), as it takes the cut for one.
 */
static void dalbe_back_off(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp), ssthresh;

	flow->cdg.state = CDG_BACKOFF;
	ssthresh = cdg_ssthresh(&flow->cdg, &flow->h, cwnd);
	if (flow->scavenger)
		ssthresh = dalbe_scavenger_backoff(sk, ssthresh);
	flow->cut_cwnd = cwnd;
	flow->cut_flight = tcp_packets_in_flight(tp);
	flow->backoffs_delay++;
	tp->snd_ssthresh = ssthresh;
	tp->snd_cwnd_cnt = 0;
	dalbe_no_undo(sk);
}

/* The cut proceeds as TCP's own does (RFC 6937), in proportion to what is delivered: the window
 * shrinks while the queue drains, and the link is not left idle. It begins at what is in
 * flight, which is less than the window in slow start, as TCP paces that.
 *
 * Return: true until the cut is complete.
 */
static bool dalbe_cutting(struct sock *sk, u32 ack)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	struct tcp_sock *tp = tcp_sk(sk);
	u32 to = tp->snd_ssthresh, cwnd = to, delivered, less;

	if (flow->cdg.state != CDG_BACKOFF)
		return false;
	if (after(ack, flow->round_end)) {
		cdg_backoff_done(&flow->cdg);
		dalbe_begin_round(sk);
	} else if (to < flow->cut_cwnd) {
		delivered = min(tp->delivered - flow->round_delivered, flow->cut_cwnd);
		less = div_u64((u64)delivered * (flow->cut_cwnd - to), flow->cut_cwnd);
		cwnd = max(to, flow->cut_flight - min(flow->cut_flight, less));
	}
	tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), cwnd));
	return flow->cdg.state == CDG_BACKOFF;
}

/* The round as the effect test sees it; true if the window is no longer what CDG
 * should judge.
 */
static bool dalbe_effect_round(struct sock *sk, u64 elapsed_us)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 w_q16 = Q16_ONE;
	u32 packets = tp->delivered - flow->round_delivered;
	u32 cwnd, more, fill;
	bool regained = false;

	flow->rounds++;
	if (flow->effect.state != EFFECT_ALONE) {
		flow->contended_rounds++;
		flow->contended_q16 += flow->best_effort.window_q16;
	}
	if (tcp_in_slow_start(tp))
		flow->effect.steady = 0;
	else
		flow->effect.steady += flow->effect.steady < U8_MAX;
	/* A pause, or a timeout, is in the time but not in the packets. */
	if (flow->round_limited || flow->round_short ||
	    inet_csk(sk)->icsk_ca_state >= TCP_CA_CWR)
		effect_limited(&flow->effect);
	else
		effect_part(&flow->effect, packets, elapsed_us,
			    flow->cdg.rtt_prev.min_us, cdg_base_rtt_us(&flow->cdg));
	/* Who has no time to lose does not wait for the next newcomer. */
	flow->effect.haste_q16 = dalbe_haste_q16(&flow->transfer);
	switch (effect_round(&flow->effect, flow->cdg.rtt_prev.min_us,
			     cdg_base_rtt_us(&flow->cdg), tp->tcp_mstamp)) {
	case EFFECT_DOUBT:
		if (inet_csk(sk)->icsk_ca_state >= TCP_CA_CWR)
			break;
		dalbe_back_off(sk);
		return true;
	case EFFECT_YIELD:
		dalbe_yield(sk, U32_MAX);
		return true;
	case EFFECT_RESUME:
		/* withdrawn only for a moment; but delays may have squeezed it before */
		flow->resume_cwnd = max(flow->resume_cwnd, dalbe_least(sk));
		dalbe_resume(sk, flow->restarting ? tcp_snd_cwnd(tp) : flow->resume_cwnd,
			     flow->resume_cwnd);
		return true;
	case EFFECT_TAKE:
		flow->held = flow->best_effort;
		dalbe_resume(sk, tcp_snd_cwnd(tp),
			     effect_fill(&flow->effect,
					 cdg_base_rtt_us(&flow->cdg)));
		return true;
	case EFFECT_MORE:
		cwnd = tcp_snd_cwnd(tp);
		more = cwnd + cwnd / 2;
		fill = effect_fill(&flow->effect, cdg_base_rtt_us(&flow->cdg));
		dalbe_resume(sk, cwnd, fill > cwnd ? min(fill, more) : more);
		return true;
	case EFFECT_TRY:
		flow->held = flow->best_effort;
		dalbe_resume(sk, tcp_snd_cwnd(tp), tcp_snd_cwnd(tp));
		return true;
	case EFFECT_LONGER:
		cdg_set_base_rtt(&flow->cdg, flow->effect.still_us);
		dalbe_resume(sk, tcp_snd_cwnd(tp), TCP_INFINITE_SSTHRESH);
		flow->held = flow->best_effort;	/* no loss has told B where to stop */
		return true;
	case EFFECT_REGAIN:
		/* Over a round trip: a burst would pass for a newcomer's. For eight
		 * rounds CDG would go on cutting for the surge, which is over.
		 */
		cubic_regain(&flow->best_effort, (u64)flow->effect.lent << 16);
		cdg_forget_gradients(&flow->cdg);
		regained = true;
		break;
	case EFFECT_NONE:
		break;
	}
	if (flow->effect.state != EFFECT_ALONE) {
		w_q16 = flow->transfer.w_q16;
		effect_ask(&flow->effect, tcp_snd_cwnd(tp), flow->cdg.rtt_prev.min_us,
			   cdg_base_rtt_us(&flow->cdg), tp->tcp_mstamp);
	}
	/* time in which the window was not in use does not count, RFC 9438, 4.2 */
	if (flow->round_limited || !flow->round_used)
		elapsed_us = 0;
	cubic_round(&flow->best_effort, fp_mul_q16(elapsed_us, w_q16),
		    cdg_base_rtt_us(&flow->cdg));
	return regained || flow->effect.state != EFFECT_ALONE;
}

/* What CDG's gradient is too slow for. */
static bool dalbe_urgent(struct dalbe_flow *flow, u32 rtt_before_us)
{
	return flow->scavenger &&
	       effect_urgent(&flow->effect, flow->cdg.rtt_prev.min_us,
			     rtt_before_us, cdg_base_rtt_us(&flow->cdg));
}

static void dalbe_trace_round(const struct sock *sk, s32 gradient_sum_us,
			      bool backoff)
{
	const struct dalbe_flow *flow = dalbe_sk(sk)->flow;

	trace_dalbe_round(sk, &flow->cdg, &flow->effect, &flow->best_effort,
			  gradient_sum_us, backoff);
}

/* What was just withdrawn, and taken back, is not withdrawn again at once. */
static bool dalbe_may_back_off(const struct sock *sk)
{
	return !dalbe_sk(sk)->flow->effect.regained ||
	       dalbe_least(sk) < tcp_snd_cwnd(tcp_sk(sk));
}

/* True if the round's end has set the window. */
static bool dalbe_cdg_end_round(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_before_us = flow->cdg.rtt_prev.min_us;
	s32 gradient_sum_us = cdg_round(&flow->cdg, &flow->h);
	u64 elapsed_us = tp->tcp_mstamp - flow->round_start_us;
	bool backoff, set;

	set = flow->scavenger && dalbe_effect_round(sk, elapsed_us);
	dalbe_begin_round(sk);
	if (set) {
		dalbe_trace_round(sk, gradient_sum_us, false);
		return true;
	}
	/* After a timeout a backoff would be decided, but not made. */
	backoff = inet_csk(sk)->icsk_ca_state < TCP_CA_CWR &&
		  (dalbe_urgent(flow, rtt_before_us) ||
		   (dalbe_may_back_off(sk) &&
		    cdg_backoff(&flow->cdg, &flow->h, gradient_sum_us,
				get_random_u32(), tcp_snd_cwnd(tp))));
	if (backoff)
		dalbe_back_off(sk);
	dalbe_trace_round(sk, gradient_sum_us, backoff);
	return backoff;
}

/* Alone: the best-effort window itself. TCP has the last word on it, in slow start
 * and after a timeout.
 */
static void dalbe_follow_cwnd(struct sock *sk)
{
	struct cubic *best_effort = &dalbe_sk(sk)->flow->best_effort;
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (best_effort->window_q16 >> 16 != cwnd)
		cubic_start(best_effort, (u64)cwnd << 16, 0);
}

static void dalbe_grow(struct sock *sk, u32 acked)
{
	struct cubic *best_effort = &dalbe_sk(sk)->flow->best_effort;
	struct tcp_sock *tp = tcp_sk(sk);

	dalbe_follow_cwnd(sk);
	cubic_acked(best_effort, acked);
	tcp_snd_cwnd_set(tp, min_t(u64, best_effort->window_q16 >> 16,
				   tp->snd_cwnd_clamp));
}

/* A window in use does not tell that the program waits for it: a single small packet fills
 * a small window, and in slow start any.
 */
static bool dalbe_packet_waits(const struct tcp_sock *tp)
{
	return tp->write_seq - tp->snd_nxt >= tp->mss_cache;
}

/* Below B, its ssthresh, a contended flow is not in slow start. */
static bool dalbe_cwnd_limited(const struct sock *sk)
{
	return dalbe_has_level(dalbe_sk(sk)->flow) ? tcp_sk(sk)->is_cwnd_limited :
						     tcp_is_cwnd_limited(sk);
}

/* Not called in CWR and Recovery. */
static void dalbe_cdg_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct dalbe_flow *flow = dalbe_flow(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool limited;
	u32 prior;

	if (!flow) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}

	if (dalbe_cutting(sk, ack))
		return;
	limited = dalbe_cwnd_limited(sk);
	flow->round_used |= limited;
	flow->acks++;
	flow->acks_limited += limited && dalbe_packet_waits(tp);
	if (dalbe_has_level(flow)) {
		/* while yielding, resume_cwnd is still to be reached */
		if (flow->restarting && flow->effect.state == EFFECT_CONTENDED &&
		    tcp_snd_cwnd(tp) >= dalbe_level_q16(flow) >> 16)
			flow->restarting = false;
	} else if (!tcp_in_slow_start(tp)) {
		flow->restarting = false;
	} else if (flow->h.hystart) {
		dalbe_cdg_hystart(sk, flow->h.hystart);
	}

	if (after(ack, flow->round_end) && flow->cdg.rtt.max_us &&
	    dalbe_cdg_end_round(sk) && !dalbe_has_level(flow))
		return;
	if (dalbe_has_level(flow)) {
		if (!dalbe_cwnd_limited(sk))
			acked = 0;	/* what is not in use does not grow */
		cubic_acked(&flow->best_effort, acked);
		dalbe_apply_level(sk, acked);
		return;
	}

	if (!tcp_is_cwnd_limited(sk)) {
		cdg_not_limited(&flow->cdg, tcp_snd_cwnd(tp));
		return;
	}

	if (flow->scavenger && !tcp_in_slow_start(tp)) {
		dalbe_grow(sk, acked);
		return;
	}
	prior = tcp_snd_cwnd(tp);
	tcp_reno_cong_avoid(sk, ack, acked);
	cdg_grown(&flow->cdg, tcp_snd_cwnd(tp) - prior);
}

/* True once: at the ACK of the goal's last byte. */
static bool dalbe_just_finished(struct sock *sk)
{
	struct dalbe_sock *ca = dalbe_sk(sk);

	if (!ca->goal_bytes || ca->goal_done_ns ||
	    dalbe_bytes_done(sk) < ca->goal_bytes)
		return false;
	ca->goal_done_ns = ktime_get_boottime_ns();
	return true;
}

/* A scavenger is not to yield to a queue of its ACKs, which is none of its making.
 * CDG at a fixed G is what the paper says, but a goal may come later: clocks are
 * compared from the beginning.
 */
static s32 dalbe_rtt_us(struct sock *sk, s32 rtt_us)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 there_us;

	if (rtt_us <= 0 || !tp->rx_opt.saw_tstamp)
		return rtt_us;
	/* Of what was sent twice TCP knows timestamps alone, in ticks of a ms: up to one
	 * too few, for good if it passed for the base RTT's.
	 */
	if (flow->scavenger && (tp->tlp_high_seq || tp->retrans_stamp) &&
	    rtt_us % USEC_PER_MSEC == 0)
		rtt_us += USEC_PER_MSEC - 1;
	there_us = owd_rtt_us(&flow->owd, tp->rx_opt.rcv_tsval, tp->tcp_mstamp,
			      rtt_us, cdg_base_rtt_us(&flow->cdg));
	return flow->scavenger ? there_us : rtt_us;
}

/* An ACK of no more than a full segment is held back for company, 40 ms in Linux. Where
 * nothing else is under way none comes: a program that asks and waits for an answer, as
 * rsync does first, would be taken for one that fills a queue. CDG's credit for delayed
 * ACKs is earned by larger ones, and at a connection's beginning there have been none.
 */
static bool dalbe_ack_held_back(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return !tp->packets_out &&
	       tp->bytes_acked - dalbe_sk(sk)->flow->acked <= tp->mss_cache;
}

/* As the flow is to see it; 0: not at all. */
static s32 dalbe_rtt_sample(struct sock *sk, const struct ack_sample *sample)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	const struct tcp_sock *tp = tcp_sk(sk);
	s32 rtt_us = dalbe_rtt_us(sk, sample->rtt_us);
	bool held_back = dalbe_ack_held_back(sk);

	flow->acked = tp->bytes_acked;
	if (held_back && flow->scavenger) {
		cdg_rtt_at_most(&flow->cdg, rtt_us);
		if (!flow->cdg.rtt.max_us && flow->cdg.state != CDG_BACKOFF)
			/* of such ACKs alone it would not end */
			dalbe_begin_round(sk);
		return 0;
	}
	return cdg_rtt_sample(&flow->cdg, rtt_us, sample->pkts_acked, tp->sacked_out);
}

/* A surge ends the round, and is what is known of it. Of our part of the link a piece
 * of a round says nothing: ACKs come in clumps.
 */
static void dalbe_effect_sample(struct sock *sk, u32 rtt_us, u32 packets)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	u32 base_rtt_us = cdg_base_rtt_us(&flow->cdg);

	if (!after(tcp_sk(sk)->snd_una, flow->round_end))
		effect_hear(&flow->effect, rtt_us, base_rtt_us);
	if (inet_csk(sk)->icsk_ca_state >= TCP_CA_CWR ||
	    flow->cdg.state == CDG_BACKOFF ||
	    !effect_sample(&flow->effect, rtt_us, packets,
			   flow->cdg.rtt_prev.min_us, base_rtt_us,
			   tcp_snd_cwnd(tcp_sk(sk))))
		return;
	cdg_cut_round_short(&flow->cdg, flow->effect.surged_us);
	flow->round_end = tcp_sk(sk)->snd_una - 1;
	flow->round_short = true;
}

static void dalbe_cdg_pkts_acked(struct sock *sk,
				 const struct ack_sample *sample)
{
	struct dalbe_sock *ca = dalbe_sk(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool finished;
	s32 rtt_us;

	if (unlikely(!dalbe_flow(sk))) {
		if (!inet_csk(sk)->icsk_ca_initialized || sk->sk_state == TCP_SYN_SENT)
			return;
		dalbe_own(sk);
		if (!dalbe_alloc_flow(sk))
			return;
	}
	ca->flow->round_limited |= tp->app_limited ||
				   tp->chrono_type == TCP_CHRONO_RWND_LIMITED;
	rtt_us = dalbe_rtt_sample(sk, sample);
	if (ca->flow->scavenger && rtt_us)
		dalbe_effect_sample(sk, rtt_us, sample->pkts_acked);
	/* The last byte need not wait for the end of Tw: nothing may follow it. */
	finished = dalbe_just_finished(sk);
	if (ca->controlled &&
	    (finished || tp->tcp_mstamp >= ca->flow->next_update_us))
		dalbe_tick(sk);
}

static void dalbe_lower(struct cubic *c, u64 window_q16)
{
	if (c->window_q16 > window_q16)
		cubic_start(c, window_q16, 0);
}

/* A window that was on its way up by slow start has shown that the path carries no more
 * than it had reached. B and @held are cut from that, not from where it was going to.
 */
static void dalbe_lost_below(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	struct tcp_sock *tp = tcp_sk(sk);
	u64 cwnd_q16 = (u64)tcp_snd_cwnd(tp) << 16;

	if (flow->effect.state == EFFECT_ALONE) {	/* there B follows cwnd */
		if (flow->restarting && tcp_in_slow_start(tp))
			dalbe_lower(&flow->held, cwnd_q16);
	} else if (!flow->effect.asking) {	/* the level is in whole packets */
		cwnd_q16 = fp_mul_div(cwnd_q16 + Q16_ONE, Q16_ONE,
				      flow->transfer.w_q16);
		dalbe_lower(&flow->best_effort, cwnd_q16);
		if (flow->restarting)
			dalbe_lower(&flow->held, cwnd_q16);
	}
}

static u32 dalbe_scavenger_ssthresh(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk)), ssthresh;

	dalbe_save_undo(flow);
	/* what slow start found as well: a best-effort flow would keep it */
	if (flow->effect.state == EFFECT_ALONE)
		dalbe_hold(flow, cwnd);
	dalbe_lost_below(sk);
	if (flow->effect.state == EFFECT_ALONE) {
		if (flow->effect.lent)
			flow->effect.lent = cubic_beta(flow->effect.lent);
		dalbe_follow_cwnd(sk);
		cubic_loss(&flow->best_effort);
		cubic_loss(&flow->held);
		ssthresh = max_t(u32, 2, flow->best_effort.window_q16 >> 16);
		effect_expect_loss(&flow->effect, cwnd, ssthresh,
				   flow->cdg.rtt_prev.min_us,
				   cdg_base_rtt_us(&flow->cdg));
		return ssthresh;
	}
	cubic_loss(&flow->best_effort);
	cubic_loss(&flow->held);	/* yielding, it may go back to that, */
	flow->resume_cwnd = cubic_beta(flow->resume_cwnd);	/* or to this */
	effect_loss(&flow->effect);
	return min_t(u64, dalbe_level_q16(flow) >> 16, cubic_beta(cwnd));
}

/* A loss or a mark. TCP asks once per window that has one; a backoff's cut under way ends
 * here, but what it had cut stays cut.
 */
static u32 dalbe_cdg_ssthresh(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_flow(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp), most = cwnd, ssthresh;

	if (!flow)
		return tcp_reno_ssthresh(sk);

	if (flow->cdg.state == CDG_BACKOFF) {
		most = min(cwnd, tp->snd_ssthresh);
		flow->cdg.state = CDG_UNKNOWN;
	}
	ssthresh = cdg_ssthresh(&flow->cdg, &flow->h, cwnd);
	if (flow->scavenger)
		ssthresh = dalbe_scavenger_ssthresh(sk);
	flow->backoffs_loss++;
	flow->answered = true;
	flow->answer_cwnd = cwnd;
	flow->answer_end = tp->snd_nxt;
	return max(min(ssthresh, most), 2U);
}

/* The loss was none: its cut, the last there was, is taken back, and shows nothing. B's
 * curve begins anew, as Linux' does.
 */
static u32 dalbe_cdg_undo_cwnd(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_flow(sk);

	if (flow && flow->scavenger) {
		cubic_start(&flow->best_effort, flow->undo_window_q16,
			    flow->undo_origin_q16);
		cubic_start(&flow->held, flow->undo_held_q16, 0);
		effect_undo_loss(&flow->effect, flow->undo_lossy);
	}
	return tcp_reno_undo_cwnd(sk);
}

/* TCP has met a loss or a mark. It is answered where TCP has asked for ssthresh, or had
 * within the same window: RFC 5681 and 3168 want one answer per window.
 */
static void dalbe_count(struct sock *sk, enum dalbe_episode episode)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	bool answered = flow->answered ||
			!after(tcp_sk(sk)->snd_una, flow->answer_end);

	flow->episodes += !flow->marked;	/* a mark was counted when it was seen */
	flow->answers += answered;
	flow->marked = false;
	trace_dalbe_loss(sk, episode, flow->effect.state, flow->episodes,
			 flow->answers, flow->answered ? flow->answer_cwnd : 0);
}

static void dalbe_cdg_set_state(struct sock *sk, u8 state)
{
	struct dalbe_flow *flow = dalbe_flow(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 most;

	if (!flow || state < TCP_CA_CWR)
		return;
	/* A timeout in these states has asked for ssthresh. Packets that have become too
	 * large for the path lead to the same state, and were not lost.
	 */
	if (state == TCP_CA_Loss && !flow->answered &&
	    inet_csk(sk)->icsk_ca_state < TCP_CA_CWR)
		return;
	dalbe_count(sk, state == TCP_CA_Loss ? DALBE_TIMEOUT :
			state == TCP_CA_Recovery ? DALBE_RECOVERY : DALBE_REDUCTION);
	flow->answered = false;
	if (!flow->scavenger || state == TCP_CA_CWR)
		return;
	if (state == TCP_CA_Loss) {
		flow->restarting = true;
		effect_loss(&flow->effect);
	} else if (effect_repair(&flow->effect, tp->tcp_mstamp)) {
		most = tp->snd_ssthresh;	/* the answer; @lent was cut for it, too */
		dalbe_yield(sk, max(most, flow->effect.lent));
		tp->snd_ssthresh = min(most, tcp_snd_cwnd(tp));
	} else {
		return;
	}
	effect_forget(&flow->effect);
}

/* The receiver has reported a mark. TCP answers it by asking for ssthresh while it deals
 * with this ACK, unless nothing is under way; where it does not, the counts show it.
 */
static void dalbe_cdg_in_ack_event(struct sock *sk, u32 flags)
{
	struct dalbe_flow *flow = dalbe_flow(sk);

	if (!flow || !(flags & CA_ACK_ECE) || flow->marked || !tcp_sk(sk)->packets_out ||
	    inet_csk(sk)->icsk_ca_state == TCP_CA_Loss ||
	    !after(tcp_sk(sk)->snd_una, flow->answer_end))
		return;
	flow->marked = true;
	flow->episodes++;
}

static void dalbe_cdg_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct dalbe_flow *flow = dalbe_flow(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!flow)
		return;

	switch (event) {
	case CA_EVENT_CWND_RESTART:
		flow->restarting = true;
		cdg_restart(&flow->cdg, tcp_snd_cwnd(tp));
		effect_forget(&flow->effect);
		dalbe_begin_round(sk);
		break;
	case CA_EVENT_COMPLETE_CWR:
		/* after a loss at once: a round trip is a tenth of what lies
		 * between two of a busy link's losses
		 */
		if (flow->scavenger)
			cubic_round(&flow->best_effort, 0,
				    cdg_base_rtt_us(&flow->cdg));
		cdg_backoff_done(&flow->cdg);
		dalbe_begin_round(sk);
		break;
	default:
		break;
	}
}

/* A flow that is alone is paced, as its bursts would pass for a newcomer's. On a path shorter
 * than the shortest queue that we judge by there is nothing to be gained by it, and where the
 * processor is the bottleneck TCP's timers cost a third of the rate.
 */
static bool dalbe_paces_alone(const struct dalbe_flow *flow)
{
	return flow->scavenger && flow->effect.state == EFFECT_ALONE &&
	       cdg_base_rtt_us(&flow->cdg) >= EFFECT_QUEUE_MIN_US;
}

/* TCP asks us before it sends data. A contended flow is paced only while its packets wait:
 * at the rate of one or two packets per round trip retransmissions would wait as well, and a
 * best-effort flow of six packets loses some percent of its rate by that.
 */
static u32 dalbe_cdg_min_tso_segs(struct sock *sk)
{
	const struct dalbe_flow *flow = dalbe_flow(sk);
	bool few, waits;

	if (flow && flow->paced) {
		few = dalbe_below_two(flow);
		waits = few && dalbe_waits(sk);
		dalbe_pace(sk, waits || dalbe_paces_alone(flow));
		/* fq would pace them all the same, and then ACKs wait behind them */
		if (few && READ_ONCE(sk->sk_max_pacing_rate) == ~0UL)
			WRITE_ONCE(sk->sk_pacing_rate, ~0UL);
		if (waits)
			dalbe_wait(sk);
	}
	return READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_min_tso_segs);
}

static struct tcp_congestion_ops tcp_dalbe_cdg __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= dalbe_cdg_init,
	.release	= dalbe_cdg_release,
	.ssthresh	= dalbe_cdg_ssthresh,
	.cong_avoid	= dalbe_cdg_cong_avoid,
	.pkts_acked	= dalbe_cdg_pkts_acked,
	.cwnd_event	= dalbe_cdg_cwnd_event,
	.set_state	= dalbe_cdg_set_state,
	.in_ack_event	= dalbe_cdg_in_ack_event,
	.min_tso_segs	= dalbe_cdg_min_tso_segs,
	.undo_cwnd	= dalbe_cdg_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= DALBE_CC_CDG,
};

/**
 * dalbe_sk_is_ours - does this TCP socket run dalbe_cdg?
 * @sk: a locked TCP socket
 *
 * Return: whether the functions below may be called for it.
 */
bool dalbe_sk_is_ours(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_ops == &tcp_dalbe_cdg;
}

static void dalbe_write_goal(struct dalbe_sock *ca, u64 bytes, u64 set_ns,
			     u64 deadline_ns)
{
	WRITE_ONCE(ca->goal_bytes, bytes);
	WRITE_ONCE(ca->goal_set_ns, set_ns);
	WRITE_ONCE(ca->goal_deadline_ns, deadline_ns);
	WRITE_ONCE(ca->goal_check, dalbe_goal_check(ca));
}

/**
 * dalbe_sk_set_goal - set or change the goal
 * @sk: a locked socket of ours
 * @bytes: 1 .. 2^63 - 1
 * @deadline_ns: CLOCK_BOOTTIME, at most 2^63 - 1
 * @flags: DALBE_GOAL_*
 *
 * Return: 0, -EOVERFLOW for a relative deadline out of range, -ETIME for one that
 * has passed, -ENODATA for an update where there is no goal.
 */
int dalbe_sk_set_goal(struct sock *sk, u64 bytes, u64 deadline_ns, u32 flags)
{
	struct dalbe_sock *ca = dalbe_own(sk);
	u64 now_ns = ktime_get_boottime_ns();

	if (flags & DALBE_GOAL_RELATIVE)
		deadline_ns += now_ns;
	if (deadline_ns > S64_MAX)
		return -EOVERFLOW;
	if (deadline_ns <= now_ns)
		return -ETIME;
	if (flags & DALBE_GOAL_UPDATE && !ca->goal_bytes)
		return -ENODATA;

	/* A listener that is ours by default would not hand its area on. */
	inet_csk(sk)->icsk_ca_setsockopt = 1;
	if (flags & DALBE_GOAL_UPDATE) {
		dalbe_write_goal(ca, bytes, ca->goal_set_ns, deadline_ns);
		if (!ca->flow || dalbe_bytes_done(sk) < bytes)
			ca->goal_done_ns = 0;
		else if (!ca->goal_done_ns)
			ca->goal_done_ns = now_ns;
		if (ca->controlled) {
			dalbe_change(&ca->flow->transfer, bytes, now_ns,
				     deadline_ns);
			dalbe_hasten_update(sk);
		}
		return 0;
	}
	ca->goal_done_ns = 0;
	ca->acked_base = tcp_sk(sk)->bytes_acked;
	/* bytes_acked is going to count the SYN, which is no payload. */
	if ((1 << sk->sk_state) & (TCPF_CLOSE | TCPF_SYN_SENT) &&
	    !ca->acked_base)
		ca->acked_base = 1;
	dalbe_write_goal(ca, bytes, now_ns, deadline_ns);
	dalbe_engage(sk);
	return 0;
}

/**
 * dalbe_sk_clear_goal - go on as CDG at a fixed G, or as a scavenger
 * @sk: a locked socket of ours
 */
void dalbe_sk_clear_goal(struct sock *sk)
{
	dalbe_write_goal(dalbe_own(sk), 0, 0, 0);
	dalbe_engage(sk);
}

/**
 * dalbe_sk_set_params - override defaults for this socket
 * @sk: a locked socket of ours
 * @p: checked by the caller
 */
void dalbe_sk_set_params(struct sock *sk, const struct dalbe_params *p)
{
	struct dalbe_sock *ca = dalbe_own(sk);
	struct dalbe_settings *s = &ca->settings, in_force;
	struct dalbe_config config;

	if (p->flags & DALBE_PARAM_G)
		s->g_ns = p->g_ns;
	if (p->flags & DALBE_PARAM_CONTROLLER)
		s->controller = p->controller;
	if (p->flags & DALBE_PARAM_TW)
		s->tw_ms = p->tw_ms;
	if (p->flags & DALBE_PARAM_WMIN)
		s->wmin_ppm = p->wmin_ppm;
	if (p->flags & DALBE_PARAM_AFTER)
		s->after_deadline = p->after_deadline;
	s->set |= p->flags;
	inet_csk(sk)->icsk_ca_setsockopt = 1;	/* see dalbe_sk_set_goal() */

	in_force = dalbe_in_force(sk);
	if (!ca->controlled || !dalbe_has_w(ca, &in_force)) {
		dalbe_engage(sk);
		return;
	}
	config = dalbe_config(sk, &in_force);
	dalbe_configure(&ca->flow->transfer, &config);
	dalbe_hasten_update(sk);
}

/**
 * dalbe_sk_get_state - what the socket is doing
 * @sk: a locked socket of ours
 * @state: zeroed; filled but for fd
 */
void dalbe_sk_get_state(struct sock *sk, struct dalbe_state *state)
{
	const struct dalbe_sock *ca = dalbe_own(sk);
	const struct dalbe_flow *flow = ca->flow;
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dalbe_settings s = dalbe_in_force(sk);
	u64 now_ns = ktime_get_boottime_ns();

	/* A transfer keeps what was in force when it began. */
	state->controller = ca->controlled ? flow->transfer.config.controller :
					     s.controller;
	state->after_deadline = ca->controlled ?
				flow->transfer.config.after_deadline :
				s.after_deadline;
	state->wmin_ppm = ca->controlled ?
			  fp_ppm(flow->transfer.config.wmin_q16) :
			  s.wmin_ppm;
	state->tw_ms = s.tw_ms;
	state->g_ns = s.g_ns;
	state->cwnd = tcp_snd_cwnd(tp);
	if (ca->goal_bytes) {
		state->status = DALBE_STATUS_WAITING;
		state->goal_bytes = ca->goal_bytes;
		state->deadline_ns = ca->goal_deadline_ns;
		state->time_left_ns = ca->goal_deadline_ns - now_ns;
	}
	if (!flow)
		return;

	state->srtt_us = tp->srtt_us >> 3;
	state->min_rtt_us = dalbe_min_rtt_us(tp);
	state->g_ns = flow->cdg.g_ns;
	state->backoffs_delay = flow->backoffs_delay;
	state->backoffs_loss = flow->backoffs_loss;
	state->loss_episodes = flow->episodes;
	state->loss_answers = flow->answers;
	dalbe_get_regime(sk, state);
	if (ca->controlled) {
		if (flow->transfer.app_limited)
			state->flags |= DALBE_STATE_APP_LIMITED;
		state->tw_ms = div_u64(dalbe_tw_ns(&flow->transfer, state->srtt_us),
				       NSEC_PER_MSEC);
		state->target_Bps = flow->transfer.target_Bps;
		state->rate_Bps = flow->transfer.rate_Bps;
		state->w_ppm = fp_ppm(flow->transfer.w_q16);
		state->phi_ppm = fp_ppm(flow->transfer.phi_q16);
		state->updates = flow->transfer.updates;
	}
	if (!ca->goal_bytes)
		return;

	state->bytes_done = dalbe_bytes_done(sk);
	if (ca->goal_done_ns)
		state->time_left_ns = ca->goal_deadline_ns - ca->goal_done_ns;
	/* Between updates a goal can have ended; say so at once. */
	if (state->bytes_done >= ca->goal_bytes)
		state->status = DALBE_STATUS_DONE;
	else if (now_ns >= ca->goal_deadline_ns)
		state->status = DALBE_STATUS_LATE;
	else
		state->status = ca->controlled ? flow->transfer.status :
						 DALBE_STATUS_ON_TRACK;
}

static int __init tcp_dalbe_cdg_register(void)
{
	int err;

	BUILD_BUG_ON(sizeof(struct dalbe_sock) > ICSK_CA_PRIV_SIZE);

	err = dalbe_ctl_register();
	if (err)
		return err;
	err = tcp_register_congestion_control(&tcp_dalbe_cdg);
	if (err)
		dalbe_ctl_unregister();
	return err;
}

static void __exit tcp_dalbe_cdg_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_dalbe_cdg);
	dalbe_ctl_unregister();
}

module_init(tcp_dalbe_cdg_register);
module_exit(tcp_dalbe_cdg_unregister);

MODULE_DESCRIPTION("Deadline-aware less-than-best-effort TCP on CAIA Delay-Gradient");
MODULE_LICENSE("GPL");
MODULE_VERSION(DALBE_VERSION);
