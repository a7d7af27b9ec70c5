// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP's hooks: copy window and clock into a struct tcp_path, let the sender decide, write the
 * window back. The rest the sender asks for by name (port_path.h).
 *
 * Lifetime
 *   TCP may call release without init, and twice (tcp_disconnect, then destroy).
 *   It zeroes the private area on setsockopt(TCP_CONGESTION) and on disconnect:
 *   a goal ends there. init may run in softirq; pkts_acked may run before it, for
 *   the SYN, when nobody would call release. Where a route names a congestion
 *   control, it takes over before init, and finds in the area what we wrote there:
 *   see the order of struct dalbe_sock.
 *
 * TCP does not call cong_avoid in CWR and Recovery, in which Tw may end as well: so
 * dalbe_pkts_acked() ends it.
 */
#include <linux/ktime.h>
#include <linux/module.h>

#include "compat.h"
#include "dalbe.h"
#include "trace.h"

static_assert(TCP_CA_Open == (int)PATH_OPEN);
static_assert(TCP_CA_Loss == (int)PATH_LOSS);
static_assert(TCP_INFINITE_SSTHRESH == PATH_SSTHRESH_MAX);

static void dalbe_path_write(struct sock *sk, const struct tcp_path *p)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, p->cwnd);
	tp->snd_ssthresh = p->ssthresh;
	tp->snd_cwnd_cnt = p->cwnd_cnt;
	if (p->no_undo)
		tp->prior_ssthresh = 0;
}

/**
 * dalbe_init - TCP's hook where a congestion control takes over
 * @sk: a locked socket; its ops->init tells that it is ours
 */
void dalbe_init(struct sock *sk)
{
	struct dalbe_sock *ca = dalbe_sk(sk);

	goal_inherit(&ca->goal);
	ca->self = ca;
	ca->flow = NULL;
	ca->controlled = false;
	/* Selected between SYN and SYN-ACK, TCP calls us here and not again: the
	 * first ACK of the connection will do the rest.
	 */
	if (sk->sk_state == TCP_SYN_SENT)
		return;
	/* a child has no SYN to count, nor has a connection that was restored (TCP_REPAIR) */
	if (sk->sk_state == TCP_SYN_RECV || !tcp_sk(sk)->bytes_acked)
		ca->goal.acked_before = tcp_sk(sk)->bytes_acked;
	dalbe_alloc_flow(sk);
}

static void dalbe_release(struct sock *sk)
{
	if (!dalbe_flow(sk))
		return;
	dalbe_count_goal(sk);
	dalbe_free_flow(sk);
}

static bool dalbe_paced(const struct sock *sk)
{
	return READ_ONCE(sk->sk_pacing_status) != SK_PACING_NONE;
}

static void dalbe_count_hystart(struct sock *sk, const struct tcp_path *p, enum cdg_hystart found)
{
	switch (found) {
	case CDG_HYSTART_TRAIN:
		NET_INC_STATS(sock_net(sk), LINUX_MIB_TCPHYSTARTTRAINDETECT);
		NET_ADD_STATS(sock_net(sk), LINUX_MIB_TCPHYSTARTTRAINCWND, p->cwnd);
		break;
	case CDG_HYSTART_DELAY:
		NET_INC_STATS(sock_net(sk), LINUX_MIB_TCPHYSTARTDELAYDETECT);
		NET_ADD_STATS(sock_net(sk), LINUX_MIB_TCPHYSTARTDELAYCWND, p->cwnd);
		break;
	case CDG_HYSTART_NONE:
		break;
	}
}

/* A window in use does not tell that the program waits for it: a single small packet fills
 * a small window, and in slow start any.
 */
static bool dalbe_more_to_send(const struct tcp_sock *tp)
{
	return tp->write_seq - tp->snd_nxt >= tp->mss_cache;
}

/* An ACK that changes more than counts. */
static noinline void dalbe_update_cwnd(struct sock *sk, u32 acked)
{
	struct sender *s = &dalbe_sk(sk)->flow->sender;
	struct ack_result result;
	struct tcp_path p;

	dalbe_path_read(sk, &p, tcp_sk(sk)->tcp_mstamp);
	sender_ack(s, &p, acked, dalbe_more_to_send(tcp_sk(sk)), dalbe_paced(sk), &result);
	dalbe_path_write(sk, &p);
	dalbe_count_hystart(sk, &p, result.found);
	if (!result.round_over)
		return;
	s->heuristics = dalbe_heuristics(sk);
	trace_dalbe_round(sk, s, &result.round);
}

/* Not called in CWR and Recovery. */
static void dalbe_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct dalbe_flow *flow = dalbe_flow(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!flow)
		tcp_reno_cong_avoid(sk, ack, acked);
	else if (!tp->is_cwnd_limited ||
		 !sender_gather(&flow->sender, tp->snd_una, tcp_snd_cwnd(tp), acked,
				dalbe_more_to_send(tp)))
		dalbe_update_cwnd(sk, acked);
}

/* A burst and its echo may hold ACKs apart for so long: as in Linux' CUBIC. */
static u32 dalbe_burst_us(const struct sock *sk)
{
	unsigned long rate = READ_ONCE(sk->sk_pacing_rate);

	return rate ? min_t(u64, div64_ul((u64)sk->sk_gso_max_size * 4 * USEC_PER_SEC, rate),
			    USEC_PER_MSEC) : 0;
}

/* The base looks for the end of slow start by itself. */
static void dalbe_base_hystart(struct sock *sk, struct rtt_sample *rtt)
{
	struct sender *s = &dalbe_sk(sk)->flow->sender;
	enum cdg_hystart found;
	struct tcp_path p;

	rtt->paced = dalbe_paced(sk);
	rtt->burst_us = tcp_in_slow_start(tcp_sk(sk)) ? dalbe_burst_us(sk) : 0;
	dalbe_path_read(sk, &p, rtt->now_us);
	found = s->base->hystart(s, &p, rtt);
	dalbe_count_hystart(sk, &p, found);
	if (found != CDG_HYSTART_NONE)
		dalbe_path_write(sk, &p);
}

static noinline void dalbe_begin_round(struct sock *sk)
{
	struct tcp_path p;

	dalbe_path_read(sk, &p, tcp_sk(sk)->tcp_mstamp);
	sender_begin_round(&dalbe_sk(sk)->flow->sender, &p);
}

static noinline void dalbe_tell_base(struct sock *sk, enum base_event event)
{
	struct tcp_path p;

	dalbe_path_read(sk, &p, tcp_sk(sk)->tcp_mstamp);
	sender_tell_base(&dalbe_sk(sk)->flow->sender, &p, event);
}

/* Since the ACK before: TCP sets delivered_mstamp after pkts_acked(). */
static u32 dalbe_silence_us(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp - tp->delivered_mstamp;
}

/* Has TCP sent something again lately? */
static bool dalbe_retransmitted(const struct tcp_sock *tp)
{
	return tp->tlp_high_seq | tp->retrans_stamp;
}

static bool dalbe_app_limited(const struct tcp_sock *tp)
{
	return tp->app_limited || tp->chrono_type == TCP_CHRONO_RWND_LIMITED;
}

/* tcp_sock.bytes_acked counts the FIN, which is no payload. Its ACK is the last that acknowledges
 * anything, and TCP knows it the same way.
 */
static void dalbe_skip_fin(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if ((1 << sk->sk_state) & (TCPF_FIN_WAIT1 | TCPF_CLOSING | TCPF_LAST_ACK) &&
	    tp->snd_una == tp->write_seq)
		dalbe_sk(sk)->goal.acked_before++;
}

/* Most ACKs leave packets under way, of which none was sent again; false of another. */
static __always_inline bool dalbe_take_plain_sample(const struct tcp_sock *tp,
						    struct dalbe_flow *flow,
						    const struct ack_sample *sample)
{
	s32 rtt_us = sample->rtt_us;

	if (!tp->packets_out || dalbe_retransmitted(tp) ||
	    !sender_rtt_is_plain(&flow->sender, rtt_us, dalbe_silence_us(tp), tp->tcp_mstamp,
				 tp->rx_opt.saw_tstamp, tp->rx_opt.rcv_tsval))
		return false;
	sender_rtt_plain(&flow->sender, rtt_us, sample->pkts_acked, tp->sacked_out,
			 dalbe_app_limited(tp));
	flow->last_bytes_acked = tp->bytes_acked;
	return true;
}

static void dalbe_take_sample(struct sock *sk, const struct ack_sample *sample)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	const struct tcp_sock *tp = tcp_sk(sk);
	struct rtt_sample rtt = {
		.now_us = tp->tcp_mstamp,
		.silence_us = dalbe_silence_us(tp),
		.rtt_us = sample->rtt_us,
		.packets = sample->pkts_acked,
		.una = tp->snd_una,
		.cwnd = tcp_snd_cwnd(tp),
		.sacked = tp->sacked_out,
		.recovering = inet_csk(sk)->icsk_ca_state >= TCP_CA_CWR,
	};
	const struct rtt_doubts doubts = {
		.tsval = tp->rx_opt.rcv_tsval,
		.timestamp = tp->rx_opt.saw_tstamp,
		.retransmitted = dalbe_retransmitted(tp),
		.single = (u32)tp->bytes_acked - flow->last_bytes_acked <= tp->mss_cache,
		.app_limited = dalbe_app_limited(tp),
	};

	dalbe_skip_fin(sk);
	flow->last_bytes_acked = tp->bytes_acked;
	if (sender_rtt(&flow->sender, &rtt, &doubts, true))
		dalbe_begin_round(sk);
	if (flow->sender.base->hystart)
		dalbe_base_hystart(sk, &rtt);
	if (!tp->packets_out)
		dalbe_tell_base(sk, BASE_IDLE);
}

/* True once: at the ACK of the goal's last byte. Of a job's, whenever nothing is under way. */
static bool dalbe_finish(struct sock *sk)
{
	struct dalbe_sock *ca = dalbe_sk(sk);

	if (ca->flow->job)
		return !tcp_sk(sk)->packets_out && dalbe_bytes_done(sk);
	if (!goal_completed(&ca->goal, tcp_sk(sk)->bytes_acked))
		return false;
	ca->goal.done_ns = ktime_get_boottime_ns();
	return true;
}

/* The last byte need not wait for the end of Tw: nothing may follow it. */
static noinline void dalbe_judge_interval(struct sock *sk)
{
	struct dalbe_sock *ca = dalbe_sk(sk);
	bool finished = dalbe_finish(sk);

	if (ca->controlled &&
	    (finished || tcp_sk(sk)->tcp_mstamp >= ca->flow->tw_end_us))
		dalbe_end_interval(sk);
}

/* An ACK that is not plain, or of a connection that had no memory. */
static noinline void dalbe_any_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	if (!dalbe_flow(sk)) {
		if (!inet_csk(sk)->icsk_ca_initialized || sk->sk_state == TCP_SYN_SENT)
			return;
		dalbe_claim(sk);
		if (!dalbe_alloc_flow(sk))
			return;
	}
	dalbe_take_sample(sk, sample);
	dalbe_judge_interval(sk);
}

/* What few ACKs need is called last, so that the others save no registers for it. */
static void dalbe_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	const struct dalbe_sock *ca = dalbe_sk(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dalbe_flow *flow = dalbe_flow(sk);

	if (!flow || !dalbe_take_plain_sample(tp, flow, sample))
		dalbe_any_pkts_acked(sk, sample);
	else if (tp->tcp_mstamp >= flow->tw_end_us || goal_completed(&ca->goal, tp->bytes_acked))
		dalbe_judge_interval(sk);
}

static u32 dalbe_ssthresh(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_flow(sk);
	struct tcp_path p;

	if (!flow)
		return tcp_reno_ssthresh(sk);
	dalbe_path_read(sk, &p, tcp_sk(sk)->tcp_mstamp);
	return sender_ssthresh(&flow->sender, &p);
}

static u32 dalbe_undo_cwnd(struct sock *sk)
{
	if (dalbe_flow(sk))
		dalbe_tell_base(sk, BASE_UNDO);
	return tcp_reno_undo_cwnd(sk);
}

static void dalbe_set_state(struct sock *sk, u8 state)
{
	struct dalbe_flow *flow = dalbe_flow(sk);
	struct tcp_path p;

	if (!flow)
		return;
	dalbe_path_read(sk, &p, tcp_sk(sk)->tcp_mstamp);
	if (state < TCP_CA_CWR) {
		sender_end_repair(&flow->sender, &p, state);
		return;
	}
	if (!sender_count_loss(&flow->sender, &p, state))
		return;
	trace_dalbe_loss(sk, &flow->sender, state);
	sender_begin_repair(&flow->sender, &p, state);
	dalbe_path_write(sk, &p);
}

/* A mark on an ACK that leaves nothing under way counts when TCP enters CWR for it, if it does. */
static noinline void dalbe_take_mark(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_flow(sk);
	struct tcp_path p;

	if (!flow || !tcp_sk(sk)->packets_out)
		return;
	dalbe_path_read(sk, &p, tcp_sk(sk)->tcp_mstamp);
	sender_count_mark(&flow->sender, &p);
}

static void dalbe_in_ack_event(struct sock *sk, u32 flags)
{
	if (flags & CA_ACK_ECE)
		dalbe_take_mark(sk);
}

/* TCP sends, and nothing was under way. */
static void dalbe_tx_start(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_flow(sk);
	struct tcp_path p;

	if (!flow)
		return;
	dalbe_path_read(sk, &p, tcp_sk(sk)->tcp_mstamp);	/* fresh: TCP sends */
	p.idle_ticks = path_ticks(&p) - tcp_sk(sk)->lsndtime;
	sender_tell_base(&flow->sender, &p, BASE_TX_START);
}

static void dalbe_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct dalbe_flow *flow = dalbe_flow(sk);
	struct tcp_path p;

	if (event == CA_EVENT_TX_START)
		dalbe_tx_start(sk);
	if (!flow || (event != CA_EVENT_CWND_RESTART && event != CA_EVENT_COMPLETE_CWR))
		return;
	dalbe_path_read(sk, &p, tcp_clock_us());
	if (event == CA_EVENT_CWND_RESTART)
		sender_cwnd_restart(&flow->sender, &p);
	else
		sender_complete_cwr(&flow->sender, &p);
}

/**
 * dalbe_set_hooks - fill in the functions of a congestion control that is to be registered
 * @cc: its name, its flags and its bases are given
 */
void dalbe_set_hooks(struct dalbe_cc *cc)
{
	struct tcp_congestion_ops *ops = &cc->ops;

	ops->owner = THIS_MODULE;
	ops->init = dalbe_init;
	ops->release = dalbe_release;
	ops->ssthresh = dalbe_ssthresh;
	ops->cong_avoid = dalbe_cong_avoid;
	ops->pkts_acked = dalbe_pkts_acked;
	ops->cwnd_event = dalbe_cwnd_event;
	dalbe_hook_tx_start(ops, dalbe_tx_start);
	ops->set_state = dalbe_set_state;
	ops->in_ack_event = dalbe_in_ack_event;
	ops->undo_cwnd = dalbe_undo_cwnd;
	if (cc->uncontrolled->paced || cc->controlled->paced)
		dalbe_hook_tso_segs(ops);
}
