// SPDX-License-Identifier: GPL-2.0-only
/*
 * A socket is given a goal or settings, or asked how it is doing.
 *
 * Here a goal becomes plain data in the socket's private area. In flow.c dalbe_apply_goal() puts it
 * into force, and each Tw dalbe_end_interval() makes w of it.
 */
#include <linux/ktime.h>

#include "dalbe.h"

static u32 dalbe_min_rtt_us(const struct tcp_sock *tp)
{
	u32 min_rtt_us = tcp_min_rtt(tp);

	return min_rtt_us == U32_MAX ? 0 : min_rtt_us;	/* none yet */
}

/**
 * dalbe_sk_set_goal - set or change the goal
 * @sk: a locked socket of ours
 * @goal: the user's, which goal_check() has passed, by the machine's CLOCK_BOOTTIME
 *
 * Return: as goal_admit().
 */
int dalbe_sk_set_goal(struct sock *sk, struct dalbe_goal *goal)
{
	struct dalbe_sock *ca = dalbe_claim(sk);
	struct job *job = ca->flow ? ca->flow->job : NULL;
	u64 bytes_acked = tcp_sk(sk)->bytes_acked, now_ns = ktime_get_boottime_ns();
	int err;

	if (!((1 << sk->sk_state) & (TCPF_CLOSE | TCPF_LISTEN | TCPF_SYN_SENT)))
		goal->flags &= ~DALBE_GOAL_EACH;
	err = goal_admit(&ca->goal, goal, now_ns, job);
	if (err)
		return err;

	/* A listener that is ours by default would not hand its area on. */
	inet_csk(sk)->icsk_ca_setsockopt = 1;
	if (goal->flags & DALBE_GOAL_UPDATE) {
		goal_update(&ca->goal, goal, bytes_acked, now_ns, job);
		if (ca->controlled) {
			control_change_goal(&ca->flow->sender.control, goal->bytes, now_ns,
					    goal->deadline_ns);
			dalbe_shorten_interval(sk);
		}
		return 0;
	}
	dalbe_count_goal(sk);
	dalbe_job_leave(sk);
	goal_replace(&ca->goal, goal, bytes_acked,
		     (1 << sk->sk_state) & (TCPF_CLOSE | TCPF_SYN_SENT));
	dalbe_apply_goal(sk);
	return 0;
}

/**
 * dalbe_sk_clear_goal - go on without a controller; or under the weight controller, at w = wmin
 * @sk: a locked socket of ours
 */
void dalbe_sk_clear_goal(struct sock *sk)
{
	struct dalbe_sock *ca = dalbe_claim(sk);

	dalbe_count_goal(sk);
	dalbe_job_leave(sk);
	goal_write(&ca->goal, 0, 0, 0, false);
	dalbe_apply_goal(sk);
}

/**
 * dalbe_sk_set_params - override defaults for this socket
 * @sk: a locked socket of ours
 * @p: checked by the caller
 */
void dalbe_sk_set_params(struct sock *sk, const struct dalbe_params *p)
{
	struct dalbe_sock *ca = dalbe_claim(sk);
	struct goal_settings in_force;
	struct control_config config;

	goal_set_params(&ca->goal.settings, p);
	inet_csk(sk)->icsk_ca_setsockopt = 1;	/* see dalbe_sk_set_goal() */

	in_force = dalbe_settings_in_force(sk);
	if (!ca->controlled || !dalbe_wants_control(ca, &in_force)) {
		dalbe_apply_goal(sk);
		return;
	}
	config = dalbe_control_config(sk, &in_force);
	if (ca->flow->job)
		job_configure(ca->flow->job, &config);
	sender_configure(&ca->flow->sender, &config);
	dalbe_shorten_interval(sk);
}

/**
 * dalbe_sk_set_group - share what is known of the path with other flows of this group, or no longer
 * @sk: a locked socket of ours
 * @group: of the socket's user; 0: none
 *
 * Return: 0, or -ENOMEM: nothing has changed.
 */
int dalbe_sk_set_group(struct sock *sk, u32 group)
{
	struct dalbe_sock *ca = dalbe_claim(sk);
	u32 before = ca->goal.group;

	WRITE_ONCE(ca->goal.group, group);
	if (ca->flow && ca->flow->sender.memory && !dalbe_path_join(sk)) {
		WRITE_ONCE(ca->goal.group, before);
		return -ENOMEM;
	}
	inet_csk(sk)->icsk_ca_setsockopt = 1;	/* see dalbe_sk_set_goal() */
	return 0;
}

/**
 * dalbe_sk_get_state - what the socket is doing
 * @sk: a locked socket of ours
 * @state: zeroed; filled but for fd
 */
void dalbe_sk_get_state(struct sock *sk, struct dalbe_state *state)
{
	const struct dalbe_sock *ca = dalbe_claim(sk);
	const struct dalbe_flow *flow = ca->flow;
	const struct tcp_sock *tp = tcp_sk(sk);
	struct goal_settings s = dalbe_settings_in_force(sk);
	u64 now_ns = ktime_get_boottime_ns(), done_ns = ca->goal.done_ns;
	const struct control *control = ca->controlled ? &flow->sender.control : NULL;
	struct job *job = flow ? flow->job : NULL;
	struct job_known known;

	if (job) {
		job_read(job, &known);
		control = &known.control;
		done_ns = known.done_ns;
	}
	goal_tell_asked(state, &ca->goal, &s, now_ns);
	state->cwnd = tcp_snd_cwnd(tp);
	if (!flow)
		return;

	state->srtt_us = tp->srtt_us >> 3;
	state->min_rtt_us = dalbe_min_rtt_us(tp);
	goal_tell_sender(state, &flow->sender, tp->mss_cache, state->srtt_us);
	state->path_flows = dalbe_path_flows(sk);
	if (control)
		goal_tell_control(state, control, state->srtt_us);
	if (!ca->goal.bytes)
		return;

	state->bytes_done = dalbe_bytes_done(sk);
	if (job) {	/* another socket may have changed it */
		state->bytes_done = fp_add(state->bytes_done, known.bytes_done);
		state->goal_bytes = control->goal.bytes;
		state->deadline_ns = control->goal.deadline_ns;
	}
	goal_tell_progress(state, control ? control->status : DALBE_STATUS_ON_TRACK, now_ns,
			   done_ns);
}
