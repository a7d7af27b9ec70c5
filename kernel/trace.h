/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints: one event at every update of w, one at every loss or mark, one
 * at the end of every RTT round.
 *
 *	echo 1 > /sys/kernel/tracing/events/dalbe/enable
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dalbe

#if !defined(DALBE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define DALBE_TRACE_H

#include <linux/tracepoint.h>
#include <net/inet_sock.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "dalbe.h"

/* The names in dalbe_loss, for perf and trace-cmd, which know no constants of ours. */
TRACE_DEFINE_ENUM(PATH_CWR);
TRACE_DEFINE_ENUM(PATH_RECOVERY);
TRACE_DEFINE_ENUM(PATH_LOSS);

/**
 * trace_dalbe_update - w has been updated
 * @sk: the socket
 * @s: the sender, with the w and the G that follow
 * @n: the interval that has ended
 * @state: its regime, as dalbectl shows it
 */
TRACE_EVENT(dalbe_update,
	    TP_PROTO(const struct sock *sk, const struct sender *s,
		 const struct control_sample *n, const struct dalbe_state *state),

	TP_ARGS(sk, s, n, state),

	TP_STRUCT__entry(
		__field(u64, goal_bytes)
		__field(u64, bytes_done)
		__field(s64, time_left_ms)
		__field(u64, target_Bps)
		__field(u64, rate_Bps)
		__field(u64, price_ppm)
		__field(u64, price_std_ppm)
		__field(u64, price_target_ppm)
		__field(u32, w_ppm)
		__field(u32, phi_ppm)
		__field(u32, trim_ppm)
		__field(u32, g_ns)
		__field(u32, srtt_us)
		__field(u32, losses)
		__field(u32, regime)
		__field(u32, ours_ppm)
		__field(u64, level_Bps)
		__field(u16, sport)
		__field(u16, dport)
		__field(u8, status)
		__field(bool, app_limited)
		__field(bool, others_seen)
	),

	/* Everything in its printed unit: perf and trace-cmd, which print from
	 * the binary record, know no kernel functions.
	 */
	TP_fast_assign(
		__entry->goal_bytes = s->control.goal.bytes;
		__entry->bytes_done = s->control.goal.done;
		__entry->time_left_ms = div_s64(s->control.goal.deadline_ns - n->now_ns,
						NSEC_PER_MSEC);
		__entry->target_Bps = s->control.target_Bps;
		__entry->rate_Bps = s->control.rate_Bps;
		__entry->price_ppm = fp_mul_div(n->price_q40, 1000000, Q40_ONE);
		__entry->price_std_ppm = fp_mul_div(n->price_standard_q40, 1000000,
						    Q40_ONE);
		__entry->price_target_ppm = fp_mul_div(s->control.price_target_q40,
						       1000000, Q40_ONE);
		__entry->w_ppm = fp_ppm(s->control.w_q16);
		__entry->phi_ppm = fp_ppm(s->control.phi_q16);
		__entry->trim_ppm = fp_ppm(s->control.mbc.trim_q16);
		__entry->g_ns = s->cdg.g.ns;
		__entry->srtt_us = n->srtt_us;
		__entry->losses = n->losses;
		__entry->regime = state->regime;
		__entry->ours_ppm = state->ours_ppm;
		__entry->level_Bps = state->level_Bps;
		__entry->sport = ntohs(inet_sk(sk)->inet_sport);
		__entry->dport = ntohs(inet_sk(sk)->inet_dport);
		__entry->status = s->control.status;
		__entry->app_limited = n->app_limited;
		__entry->others_seen = n->others_seen;
	),

	TP_printk("sport=%u dport=%u goal_bytes=%llu bytes_done=%llu time_left_ms=%lld target_Bps=%llu rate_Bps=%llu w_ppm=%u phi_ppm=%u trim_ppm=%u g_ns=%u srtt_us=%u price_ppm=%llu price_std_ppm=%llu price_target_ppm=%llu losses=%u regime=%u ours_ppm=%u level_Bps=%llu status=%u app_limited=%u others_seen=%u",
		  __entry->sport, __entry->dport,
		  __entry->goal_bytes, __entry->bytes_done,
		  __entry->time_left_ms,
		  __entry->target_Bps, __entry->rate_Bps,
		  __entry->w_ppm, __entry->phi_ppm, __entry->trim_ppm,
		  __entry->g_ns, __entry->srtt_us,
		  __entry->price_ppm, __entry->price_std_ppm,
		  __entry->price_target_ppm,
		  __entry->losses, __entry->regime, __entry->ours_ppm,
		  __entry->level_Bps, __entry->status,
		  __entry->app_limited, __entry->others_seen)
);

/**
 * trace_dalbe_loss - TCP has met a loss or a mark
 * @sk: the socket, with ssthresh as it was answered
 * @s: the sender, which has counted it
 * @state: what TCP makes of it, enum path_state
 */
TRACE_EVENT(dalbe_loss,
	    TP_PROTO(const struct sock *sk, const struct sender *s, u8 state),

	TP_ARGS(sk, s, state),

	/* cwnd: the window when TCP asked for ssthresh; 0: it did not ask, as it had for an earlier
	 * episode of the same window. episodes: so far, with this one. answers: of these, those in
	 * whose window TCP has asked. regime_state: enum regime, no DALBE_REGIME_*.
	 */
	TP_STRUCT__entry(
		__field(u32, cwnd)
		__field(u32, ssthresh)
		__field(u16, sport)
		__field(u16, dport)
		__field(u8, episode)
		__field(u8, regime_state)
		__field(u32, episodes)
		__field(u32, answers)
	),

	TP_fast_assign(
		__entry->cwnd = s->losses.asked ? s->losses.answer_cwnd : 0;
		__entry->ssthresh = tcp_sk(sk)->snd_ssthresh;
		__entry->sport = ntohs(inet_sk(sk)->inet_sport);
		__entry->dport = ntohs(inet_sk(sk)->inet_dport);
		__entry->episode = state;
		__entry->regime_state = s->regime;
		__entry->episodes = s->losses.episodes;
		__entry->answers = s->losses.answers;
	),

	TP_printk("sport=%u dport=%u episode=%s regime_state=%u cwnd=%u ssthresh=%u episodes=%u answers=%u",
		  __entry->sport, __entry->dport,
		  __print_symbolic(__entry->episode,
				   { PATH_CWR, "reduction" },
				   { PATH_RECOVERY, "recovery" },
				   { PATH_LOSS, "timeout" }),
		  __entry->regime_state, __entry->cwnd, __entry->ssthresh,
		  __entry->episodes, __entry->answers)
);

/**
 * trace_dalbe_round - an RTT round has been judged, C(1) to C(5)
 * @sk: the socket, after the ACK that ended the round: ssthresh is what a backoff cuts to
 * @s: the sender, likewise; all of the regime is 0 where the base does not look for others
 * @r: how the round has ended
 *
 * No event for a round in which a cut was under way: CDG does not judge it.
 */
TRACE_EVENT(dalbe_round,
	    TP_PROTO(const struct sock *sk, const struct sender *s,
		 const struct round_result *r),

	TP_ARGS(sk, s, r),

	/* Gradients are averages over CDG_WINDOW rounds, C(3). gradient_ns is the
	 * one in C(4): of the minimum if that is positive, else of the maximum,
	 * extrapolated in a connection's first rounds. g_used_ns is the G in
	 * C(4): g_ns, or idle_g_ns if that is larger and the queue short.
	 */
	TP_STRUCT__entry(
		__field(s64, gradient_min_ns)
		__field(s64, gradient_max_ns)
		__field(s64, gradient_ns)
		__field(u32, rtt_min_us)
		__field(u32, rtt_max_us)
		__field(u32, g_ns)
		__field(u32, g_used_ns)
		__field(u32, cwnd)
		__field(u32, ssthresh)
		__field(u32, base_rtt_us)
		__field(u32, ours_ppm)
		__field(u32, carried_pps)
		__field(u32, best_effort)
		__field(u16, sport)
		__field(u16, dport)
		__field(u8, regime_state)
		__field(bool, backoff)
	),

	TP_fast_assign(
		const struct base_report found = sender_report(s);

		__entry->gradient_min_ns = cdg_gradient_ns(s->cdg.gradients.sum.min_us);
		__entry->gradient_max_ns = cdg_gradient_ns(s->cdg.gradients.sum.max_us);
		__entry->gradient_ns = cdg_gradient_ns(r->gradient_sum_us);
		__entry->rtt_min_us = s->cdg.rtt_prev.min_us;
		__entry->rtt_max_us = s->cdg.rtt_prev.max_us;
		__entry->g_ns = s->cdg.g.ns;
		__entry->g_used_ns = cdg_g_used_ns(&s->cdg);
		__entry->cwnd = tcp_snd_cwnd(tcp_sk(sk));
		__entry->ssthresh = tcp_sk(sk)->snd_ssthresh;
		__entry->base_rtt_us = cdg_base_rtt_us(&s->cdg);
		__entry->ours_ppm = found.ours_ppm;
		__entry->carried_pps = found.carried_pps;
		__entry->best_effort = found.best_effort;
		__entry->sport = ntohs(inet_sk(sk)->inet_sport);
		__entry->dport = ntohs(inet_sk(sk)->inet_dport);
		__entry->regime_state = s->regime;
		__entry->backoff = r->backoff;
	),

	TP_printk("sport=%u dport=%u rtt_min_us=%u rtt_max_us=%u gradient_min_ns=%lld gradient_max_ns=%lld gradient_ns=%lld g_ns=%u g_used_ns=%u cwnd=%u ssthresh=%u base_rtt_us=%u regime_state=%u ours_ppm=%u carried_pps=%u best_effort=%u backoff=%u",
		  __entry->sport, __entry->dport,
		  __entry->rtt_min_us, __entry->rtt_max_us,
		  __entry->gradient_min_ns, __entry->gradient_max_ns,
		  __entry->gradient_ns,
		  __entry->g_ns, __entry->g_used_ns,
		  __entry->cwnd, __entry->ssthresh, __entry->base_rtt_us,
		  __entry->regime_state, __entry->ours_ppm, __entry->carried_pps,
		  __entry->best_effort, __entry->backoff)
);

#endif /* DALBE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
