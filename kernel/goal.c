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

static void dalbe_write_goal(struct dalbe_sock *ca, u64 bytes, u64 deadline_ns, u32 job, bool each)
{
	WRITE_ONCE(ca->each, each);
	WRITE_ONCE(ca->job, job);
	WRITE_ONCE(ca->goal_bytes, bytes);
	WRITE_ONCE(ca->goal_deadline_ns, deadline_ns);
	WRITE_ONCE(ca->goal_check, dalbe_goal_check(ca));
}

/**
 * dalbe_start_deadline - the connection is established: from here on its goal's time counts
 * @ca: its private area
 */
void dalbe_start_deadline(struct dalbe_sock *ca)
{
	u64 deadline_ns = ca->goal_deadline_ns + ktime_get_boottime_ns();

	if (ca->each)
		dalbe_write_goal(ca, ca->goal_bytes, min_t(u64, deadline_ns, S64_MAX), 0, false);
}

/**
 * dalbe_sk_set_goal - set or change the goal
 * @sk: a locked socket of ours
 * @bytes: 1 .. 2^63 - 1
 * @deadline_ns: CLOCK_BOOTTIME of the machine; with DALBE_GOAL_RELATIVE from now on; with
 *	DALBE_GOAL_EACH as well from when the connection is established, if it is still to come
 * @flags: DALBE_GOAL_*
 * @job: whose goal it is; 0: the socket's own
 *
 * Return: 0, -EOVERFLOW for a deadline beyond 2^63 - 1, -ETIME for one that
 * has passed, -ENODATA for an update where there is no goal, or where the connection has no part in
 * the job.
 */
int dalbe_sk_set_goal(struct sock *sk, u64 bytes, u64 deadline_ns, u32 flags, u32 job)
{
	struct dalbe_sock *ca = dalbe_claim(sk);
	u64 now_ns = ktime_get_boottime_ns();
	bool each = flags & DALBE_GOAL_EACH &&
		    (1 << sk->sk_state) & (TCPF_CLOSE | TCPF_LISTEN | TCPF_SYN_SENT);
	int err = goal_set_deadline(&deadline_ns, flags, each ? 0 : now_ns);

	if (err)
		return err;
	if (flags & DALBE_GOAL_UPDATE &&
	    (!ca->goal_bytes || ca->job != job || (job && !(ca->flow && ca->flow->job))))
		return -ENODATA;

	/* A listener that is ours by default would not hand its area on. */
	inet_csk(sk)->icsk_ca_setsockopt = 1;
	if (flags & DALBE_GOAL_UPDATE) {
		dalbe_write_goal(ca, bytes, deadline_ns, job, each);
		if (job)
			job_change_goal(ca->flow->job, bytes, now_ns, deadline_ns);
		else if (!ca->flow || dalbe_bytes_done(sk) < bytes)
			ca->goal_done_ns = 0;
		else if (!ca->goal_done_ns)
			ca->goal_done_ns = now_ns;
		if (ca->controlled) {
			control_change_goal(&ca->flow->sender.control, bytes, now_ns,
					    deadline_ns);
			dalbe_shorten_interval(sk);
		}
		return 0;
	}
	dalbe_count_goal(sk);
	dalbe_job_leave(sk);
	ca->goal_done_ns = 0;
	ca->acked_before_goal = tcp_sk(sk)->bytes_acked;
	/* bytes_acked is going to count the SYN, which is no payload. */
	if ((1 << sk->sk_state) & (TCPF_CLOSE | TCPF_SYN_SENT) &&
	    !ca->acked_before_goal)
		ca->acked_before_goal = 1;
	dalbe_write_goal(ca, bytes, deadline_ns, job, each);
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
	dalbe_write_goal(ca, 0, 0, 0, false);
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

	goal_set_params(&ca->settings, p);
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
	u32 before = ca->group;

	WRITE_ONCE(ca->group, group);
	if (ca->flow && ca->flow->sender.memory && !dalbe_path_join(sk)) {
		WRITE_ONCE(ca->group, before);
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
	u64 now_ns = ktime_get_boottime_ns(), done_ns = ca->goal_done_ns;
	const struct control *control = ca->controlled ? &flow->sender.control : NULL;
	struct job *job = flow ? flow->job : NULL;
	struct job_known known;

	if (job) {
		job_read(job, &known);
		control = &known.control;
		done_ns = known.done_ns;
	}
	state->controller = s.controller;
	state->after_deadline = s.after_deadline;
	state->wmin_ppm = s.wmin_ppm;
	state->tw_ms = s.tw_ms;
	state->g_ns = s.g_ns;
	state->cwnd = tcp_snd_cwnd(tp);
	state->group = ca->group;
	if (ca->settings.set)
		state->flags |= DALBE_STATE_OWN_PARAMS;
	if (ca->goal_bytes) {
		state->status = DALBE_STATUS_WAITING;
		state->goal_bytes = ca->goal_bytes;
		state->deadline_ns = ca->goal_deadline_ns + (ca->each ? now_ns : 0);
		state->time_left_ns = state->deadline_ns - now_ns;
		state->job = ca->job;
	}
	if (!flow)
		return;

	state->srtt_us = tp->srtt_us >> 3;
	state->min_rtt_us = dalbe_min_rtt_us(tp);
	goal_tell_sender(state, &flow->sender, tp->mss_cache, state->srtt_us);
	state->path_flows = dalbe_path_flows(sk);
	if (control)
		goal_tell_control(state, control, state->srtt_us);
	if (!ca->goal_bytes)
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
