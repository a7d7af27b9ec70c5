// SPDX-License-Identifier: GPL-2.0-only
/*
 * An established connection: its memory, and the end of Tw.
 *
 * struct dalbe_flow is allocated when the connection is established (at a later ACK where memory
 * was short) and freed with it; until then the pointer to it is NULL.
 */
#include <linux/ktime.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat.h"
#include "dalbe.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static_assert(offsetof(struct dalbe_sock, flow) == 16);
static_assert(offsetof(struct dalbe_sock, goal.acked_before) <= 24);	/* 32 bits: a gap */
static_assert(offsetof(struct dalbe_sock, goal.done_ns) ==
	      offsetof(struct dalbe_sock, goal.acked_before) + sizeof(u64));
static_assert(sizeof(struct dalbe_flow) <= 1024);	/* kmalloc's next size is 2 KB */
static_assert(offsetof(struct cdg, gradients) <= 64);
static_assert(ALIGN(offsetofend(struct dalbe_flow, sender.cdg.price.hist_q8),
		    __alignof__(struct dalbe_flow)) == sizeof(struct dalbe_flow));
static_assert(CDG_G_MIN_NS == DALBE_G_MIN_NS);
static_assert(CDG_G_MAX_NS == DALBE_G_MAX_NS);

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

/* When a Tw that begins now ends; of a job's connection, its next part. */
static u64 dalbe_tw_end_us(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 tw_ns = control_tw_ns(&dalbe_sk(sk)->flow->sender.control, tp->srtt_us >> 3);

	if (dalbe_sk(sk)->flow->job)
		tw_ns /= JOB_PARTS;
	return tcp_clock_us() + div_u64(tw_ns, NSEC_PER_USEC);
}

/* Tw begins now: nothing is counted in it yet, and its length is that of the controller's settings
 * and of the RTT.
 */
static void dalbe_begin_interval(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	const struct tcp_sock *tp = tcp_sk(sk);

	sender_begin_interval(&flow->sender);
	flow->busy_jiffies = dalbe_busy_jiffies(tp);
	flow->tw_start_us = tcp_clock_us();
	flow->tw_end_us = dalbe_tw_end_us(sk);
}

/**
 * dalbe_shorten_interval - the Tw under way ends when one would that begins now, if that is sooner
 * @sk: a locked socket of ours, under control
 */
void dalbe_shorten_interval(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;

	flow->tw_end_us = min(flow->tw_end_us, dalbe_tw_end_us(sk));
}

/* Where a controller sets w, and net.dalbe.effect is 1, the base for that; else the other. */
static const struct lbe_base *dalbe_base_for(const struct sock *sk, bool controlled)
{
	const struct dalbe_cc *cc = container_of(inet_csk(sk)->icsk_ca_ops, struct dalbe_cc, ops);

	return controlled && READ_ONCE(dalbe_net_defaults(sock_net(sk))->effect) ?
	       cc->controlled : cc->uncontrolled;
}

/**
 * dalbe_apply_goal - a goal, or none, comes into force: choose the base, start the controller
 * @sk: a locked socket of ours
 *
 * Called where a goal is set or cleared, where settings change that need it, and when the
 * connection is established; before that it does nothing. A goal's time begins here. The base runs
 * at a fixed G, or under control: of a goal, or of a weight without one, which has no end. From
 * here on w changes at the end of each Tw, in dalbe_end_interval().
 *
 * A base that shares what is known of its path needs memory for that. Where there is none the flow
 * is freed, as if there had been none for it: the connection is Reno, and the next ACK tries again.
 * The same holds for a job.
 */
void dalbe_apply_goal(struct sock *sk)
{
	struct dalbe_sock *ca = dalbe_sk(sk);
	struct goal_settings settings = dalbe_settings_in_force(sk);
	struct control_config config = dalbe_control_config(sk, &settings);
	struct dalbe_flow *flow = ca->flow;
	const struct lbe_base *base;
	struct sender *s;
	struct tcp_path p;

	if (!flow)
		return;

	s = &flow->sender;
	ca->controlled = dalbe_wants_control(ca, &settings);
	base = dalbe_base_for(sk, ca->controlled);
	if ((base->shares_path && !dalbe_path_join(sk)) ||
	    (ca->controlled && !dalbe_job_join(sk))) {
		dalbe_free_flow(sk);
		return;
	}
	s->heuristics = dalbe_heuristics(sk);
	dalbe_path_read(sk, &p, tcp_clock_us());
	sender_set_base(s, &p, base);
	if (!base->shares_path)
		dalbe_path_leave(sk);
	if (!ca->controlled) {
		dalbe_job_leave(sk);
		cdg_set_g(&s->cdg, settings.g_ns);
		cdg_set_idle_g(&s->cdg, 0);
		s->mu_q16 = 0;
		flow->tw_end_us = U64_MAX;
	} else {
		control_start(&s->control, &config, ca->goal.bytes,
			      flow->job ? 0 : dalbe_bytes_done(sk), ktime_get_boottime_ns(),
			      ca->goal.deadline_ns);
		if (flow->job)
			job_begin(flow->job, &s->control, p.now_us, tcp_sk(sk)->srtt_us >> 3);
		sender_begin_goal(s, &p);
		cdg_set_idle_g(&s->cdg, READ_ONCE(dalbe_net_defaults(sock_net(sk))->idle_g_us) *
					NSEC_PER_USEC);
		dalbe_begin_interval(sk);
	}
}

/**
 * dalbe_end_interval - the end of Tw: from bytes, time and prices w for the next, and a trace
 * @sk: a locked socket of ours, under control
 *
 * A connection of a job hands in its part, and one of them is the first to do so when the job's Tw
 * has ended: then w is set.
 */
void dalbe_end_interval(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	struct sender *s = &flow->sender;
	const struct tcp_sock *tp = tcp_sk(sk);
	/* 0 where Tw began while TCP dealt with this ACK: tcp_mstamp is older then */
	u64 elapsed_us = tp->tcp_mstamp - min(tp->tcp_mstamp, flow->tw_start_us);
	u64 busy_us = (u64)jiffies_to_msecs(dalbe_busy_jiffies(tp) - flow->busy_jiffies) *
		      USEC_PER_MSEC;
	struct dalbe_state state = {};
	struct control_sample sample;
	struct job_part part;
	struct tcp_path p;
	struct control_model model = { .model_q40 = s->base->model_q40, .arg = &p };
	struct job *job = flow->job;

	dalbe_path_read(sk, &p, tp->tcp_mstamp);
	sender_settle(s, &p);
	sample = sender_sample_interval(s, busy_us, elapsed_us);
	sample.now_ns = ktime_get_boottime_ns();
	sample.elapsed_ns = elapsed_us * NSEC_PER_USEC;
	sample.bytes_done = dalbe_bytes_done(sk);
	sample.srtt_us = tp->srtt_us >> 3;
	part = (struct job_part) { .sample = sample, .now_us = p.now_us, .busy_us = busy_us };
	if (sender_end_interval(s, job, &part, &model)) {
		goal_tell_sender(&state, s, tp->mss_cache, sample.srtt_us);
		trace_dalbe_update(sk, s, &sample, &state);
	}
	if (job)
		dalbe_sk(sk)->goal.acked_before = tp->bytes_acked;
	if (s->memory)
		dalbe_path_join(sk);	/* the route, or the user, may be another */
	/* in another job, its user's from now on: at once, as nothing more may be sent for long */
	if (job && dalbe_job_join(sk) && flow->job != job)
		job_begin(flow->job, &s->control, p.now_us, sample.srtt_us);
	dalbe_begin_interval(sk);
}

/**
 * dalbe_alloc_flow - the connection is established
 * @sk: a locked socket of ours; may be softirq
 *
 * The memory is the socket's cgroup's, where it has one: the kernel gives a connection that a
 * listener accepts its cgroup at accept(), which is later.
 *
 * Return: false where memory is short: the connection works, as Reno, and the next ACK tries
 * again.
 */
bool dalbe_alloc_flow(struct sock *sk)
{
	struct dalbe_sock *ca = dalbe_sk(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct mem_cgroup *memcg;
	struct tcp_path p;

	memcg = set_active_memcg(dalbe_sk_memcg(sk));	/* a softirq has none */
	ca->flow = kzalloc(sizeof(*ca->flow), GFP_ATOMIC | __GFP_NOWARN | __GFP_ACCOUNT);
	set_active_memcg(memcg);
	if (!ca->flow)
		return false;
	goal_start_deadline(&ca->goal, ktime_get_boottime_ns());
	ca->flow->last_bytes_acked = tp->bytes_acked;
	dalbe_path_read(sk, &p, tcp_clock_us());
	/* losses that TCP is repairing already, the congestion control before us has answered */
	sender_init(&ca->flow->sender, &p, path_recovering(&p) ? tp->high_seq : tp->snd_una - 1);
	dalbe_apply_goal(sk);
	return ca->flow;
}

/**
 * dalbe_free_flow - the connection ends, or another congestion control goes on
 * @sk: a locked socket of ours, established
 */
void dalbe_free_flow(struct sock *sk)
{
	struct dalbe_sock *ca = dalbe_sk(sk);
	const struct losses *l = &ca->flow->sender.losses;

	/* TCP may end before it has asked for the answer to the last mark: a RST while it suspects
	 * that the receiver has dropped what it had, say
	 */
	DEBUG_NET_WARN_ON_ONCE(l->episodes - l->answers != l->marked);
	dalbe_job_leave(sk);
	if (ca->flow->sender.sets_pacing)
		dalbe_pace(sk, false);
	dalbe_path_leave(sk);
	kfree(ca->flow);
	ca->flow = NULL;
	ca->controlled = false;
}
