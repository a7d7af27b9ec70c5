// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets leave when w allows it: by TCP's pacing timer, and where w allows less than two
 * packets per round trip, by departure times of our own.
 */
#include "compat.h"
#include "dalbe.h"

/* Tell TCP whether to space its packets by its own timer. We do not leave that to fq
 * (SK_PACING_FQ): where fq has gone from the interface nobody enforces the departure times
 * from which TCP measures RTTs, and they read too low. TCP paces in any case where the user
 * has set a limit, and until a departure time in the future has come. Where we need no timer, and
 * fq has asked to pace this flow, it is fq's again: without that our flows alone would leave such a
 * host in bursts.
 *
 * setsockopt(SO_MAX_PACING_RATE) takes no lock, and fq sets its own status: we tell TCP again
 * each time before it sends.
 */
void dalbe_pace(struct sock *sk, bool on)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	u32 before = READ_ONCE(sk->sk_pacing_status), status;
	const struct tcp_sock *tp = tcp_sk(sk);

	flow->fq |= before == SK_PACING_FQ;
	status = flow->fq ? SK_PACING_FQ : SK_PACING_NONE;
	if (on || READ_ONCE(sk->sk_max_pacing_rate) != ~0UL ||
	    tp->tcp_wstamp_ns > tp->tcp_clock_cache)
		status = SK_PACING_NEEDED;
	if (before != status)
		WRITE_ONCE(sk->sk_pacing_status, status);
}

/* Is TCP about to send its tail loss probe (TLP, RFC 8985)? */
static bool dalbe_tlp_due(const struct sock *sk)
{
	return inet_csk(sk)->icsk_pending == ICSK_TIME_LOSS_PROBE &&
	       time_after_eq(jiffies, dalbe_tcp_timeout(sk));
}

/* Are the next packets to wait for their departure, where w allows less than two packets? A FIN
 * alone, a tail loss probe and retransmissions are not.
 */
static bool dalbe_must_wait(const struct sock *sk)
{
	const struct sk_buff *next = tcp_send_head(sk);

	return inet_csk(sk)->icsk_ca_state < TCP_CA_Recovery &&
	       dalbe_sk(sk)->flow->sender.departure_ns > tcp_sk(sk)->tcp_clock_cache &&
	       next && next->len && !dalbe_tlp_due(sk);
}

/* TCP asks us before it sends data, and then looks at the departure time of the next packet.
 * A time one nanosecond away makes TCP wait for its pacing timer, and we set that timer to
 * the departure. TCP writes its departure time into every packet that leaves, ACKs, RSTs
 * and probes as well: fq would hold them back until our departure if we wrote that.
 */
static void dalbe_wait_for_departure(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	struct tcp_sock *tp = tcp_sk(sk);
	u64 left_ns = flow->sender.departure_ns - tp->tcp_clock_cache;

	tp->tcp_wstamp_ns = max(tp->tcp_wstamp_ns, tp->tcp_clock_cache + 1);
	/* TCP takes data that does not leave for a closed window, and would probe it */
	if (!tp->packets_out && !inet_csk(sk)->icsk_pending)
		inet_csk_reset_xmit_timer(sk, ICSK_TIME_PROBE0,
					  tcp_probe0_base(sk) +
					  nsecs_to_jiffies(left_ns), TCP_RTO_MAX);
	if (hrtimer_is_queued(&tp->pacing_timer))
		return;
	hrtimer_start(&tp->pacing_timer, ns_to_ktime(flow->sender.departure_ns),
		      HRTIMER_MODE_ABS_PINNED_SOFT);
	sock_hold(sk);
}

/* A contended flow is paced only while its packets wait: at the rate of one or two packets per
 * round trip retransmissions would wait as well, and a best-effort flow of six packets loses some
 * percent of its rate by that.
 */
static void dalbe_pace_few(struct sock *sk)
{
	bool waits = dalbe_must_wait(sk);

	dalbe_pace(sk, waits);
	/* fq would pace them all the same, and then ACKs wait behind them */
	if (READ_ONCE(sk->sk_max_pacing_rate) == ~0UL)
		WRITE_ONCE(sk->sk_pacing_rate, ~0UL);
	if (waits)
		dalbe_wait_for_departure(sk);
}

static noinline void dalbe_pace_again(struct sock *sk)
{
	const struct sender *s = &dalbe_sk(sk)->flow->sender;

	if (sender_below_min_cwnd(s))
		dalbe_pace_few(sk);
	else
		dalbe_pace(sk, sender_paces_alone(s));
}

/**
 * dalbe_min_tso_segs - TCP's hook before it sends data
 * @sk: a locked socket; its ops->init tells that it is ours
 *
 * Mostly a flow is alone, and paced.
 *
 * Return: the least number of packets that leave as one, TCP's own.
 */
u32 dalbe_min_tso_segs(struct sock *sk)
{
	const struct dalbe_flow *flow = dalbe_flow(sk);

	if (flow && (READ_ONCE(sk->sk_pacing_status) != SK_PACING_NEEDED ||
		     !sender_paces_alone(&flow->sender)) && flow->sender.sets_pacing)
		dalbe_pace_again(sk);
	return READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_min_tso_segs);
}

#ifdef DALBE_TSO_SEGS
/* The same where TCP asks for the number itself. */
u32 dalbe_tso_segs(struct sock *sk, unsigned int mss)
{
	return dalbe_tso_size(sk, mss, dalbe_min_tso_segs(sk));
}
#endif

