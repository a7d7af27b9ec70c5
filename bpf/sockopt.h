/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Goals by setsockopt(2) and getsockopt(2), as kernel/device.c and kernel/goal.c: a program of the
 * cgroup sees each call, with the socket locked, and answers those of our level.
 *
 * It writes plain data, and the flow looks there when the next ACK comes.
 */
#ifndef DALBE_BPF_SOCKOPT_H
#define DALBE_BPF_SOCKOPT_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct timespec64 {
	s64 tv_sec;
	long tv_nsec;
};

struct timens_offsets {
	struct timespec64 boottime;
};

struct time_namespace {
	struct timens_offsets offsets;
};

struct nsproxy {
	struct time_namespace *time_ns;
};

struct task_struct {
	struct nsproxy *nsproxy;
};

#pragma clang attribute pop

/* The caller's CLOCK_BOOTTIME is so much ahead of the machine's. */
static __always_inline s64 dalbe_clock_ahead_ns(void)
{
	const struct task_struct *task = bpf_get_current_task_btf();

	return task->nsproxy->time_ns->offsets.boottime.tv_sec * NSEC_PER_SEC +
	       task->nsproxy->time_ns->offsets.boottime.tv_nsec;
}

/* NULL: it is no socket of TCP's. */
static __always_inline struct bpf_tcp_sock *dalbe_tcp(struct bpf_sock *sk)
{
	return sk && sk->protocol == IPPROTO_TCP ? bpf_tcp_sock(sk) : NULL;
}

/* Is the user's struct there, and of this length? */
#define sockopt_has(ctx, in)	((void *)((in) + 1) <= (ctx)->optval_end && \
				 (ctx)->optlen == sizeof(*(in)))

/* Of the following each returns 0, 1 where a transfer begins, or none is left, or an error. */
static __noinline int dalbe_set_goal(struct bpf_sockopt *ctx, struct goal *g,
				     struct dalbe_flow *f, u64 bytes_acked)
{
	const struct dalbe_goal *in = ctx->optval;
	u64 now_ns = bpf_ktime_get_boot_ns();
	struct bpf_sock *sk = ctx->sk;
	struct dalbe_goal goal;
	struct job *job = NULL;
	int err;

	if (!sockopt_has(ctx, in))
		return -EINVAL;
	goal = *in;
	err = goal_check(&goal);
	if (err)
		return err;
	if (!(goal.flags & DALBE_GOAL_RELATIVE))
		goal.deadline_ns -= min(dalbe_clock_ahead_ns(), (s64)goal.deadline_ns);
	if (f) {
		goal.flags &= ~DALBE_GOAL_EACH;
		job = job_of(f);
	}
	err = goal_admit(g, &goal, now_ns, job);
	if (err)
		return err;
	if (goal.flags & DALBE_GOAL_UPDATE) {
		goal_update(g, &goal, bytes_acked, now_ns, job);
		return 0;
	}
	if (f)
		dalbe_job_leave(f, g, bytes_acked);
	goal_replace(g, &goal, bytes_acked, sk->state == TCP_CLOSE || sk->state == TCP_SYN_SENT);
	return 1;
}

static __noinline int dalbe_clear_goal(struct bpf_sockopt *ctx, struct goal *g,
				       struct dalbe_flow *f, u64 bytes_acked)
{
	const struct dalbe_clear *in = ctx->optval;

	if (!sockopt_has(ctx, in) || in->flags)
		return -EINVAL;
	if (f)
		dalbe_job_leave(f, g, bytes_acked);
	goal_write(g, 0, 0, 0, false);
	return 1;
}

static __noinline int dalbe_set_params(struct bpf_sockopt *ctx, struct goal *g,
				       struct dalbe_flow *f)
{
	const struct dalbe_params *in = ctx->optval;
	struct control_config c;
	struct dalbe_params p;
	struct job *job;
	int err;

	if (!sockopt_has(ctx, in))
		return -EINVAL;
	p = *in;
	err = goal_check_params(&p);
	if (err)
		return err;
	if (p.flags & DALBE_PARAM_CONTROLLER && p.controller == DALBE_CONTROLLER_FIXED)
		return -ERANGE;
	goal_set_params(&g->settings, &p);
	job = f ? job_of(f) : NULL;
	if (job) {
		dalbe_config(&c, g);
		job_configure(job, &c);
	}
	return 0;
}

static __noinline int dalbe_set_group(struct bpf_sockopt *ctx, struct goal *g)
{
	const struct dalbe_group *in = ctx->optval;

	if (!sockopt_has(ctx, in) || in->flags || in->reserved)
		return -EINVAL;
	g->group = in->group;
	return 0;
}

/* The goal is made where the socket has none: else there is nothing to change. */
static __always_inline int dalbe_set(struct bpf_sockopt *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct bpf_tcp_sock *tp = dalbe_tcp(sk);
	struct dalbe_goal_of *own;
	struct dalbe_flow *f;
	struct goal *g;
	char name[16] = {};
	int result = -EINVAL;

	if (!tp)
		return -EOPNOTSUPP;
	if (bpf_getsockopt(sk, IPPROTO_TCP, TCP_CONGESTION, name, sizeof(name)) ||
	    __builtin_memcmp(name, DALBE_CC_CDG, sizeof(DALBE_CC_CDG)))
		return -ENOPROTOOPT;
	own = bpf_sk_storage_get(&goals, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!own)
		return -ENOMEM;
	g = &own->goal;
	f = bpf_sk_storage_get(&flows, sk, 0, 0);
	if (ctx->optname == DALBE_SO_GOAL)
		result = dalbe_set_goal(ctx, g, f, tp->bytes_acked);
	else if (ctx->optname == DALBE_SO_CLEAR)
		result = dalbe_clear_goal(ctx, g, f, tp->bytes_acked);
	else if (ctx->optname == DALBE_SO_PARAMS)
		result = dalbe_set_params(ctx, g, f);
	else if (ctx->optname == DALBE_SO_GROUP)
		result = dalbe_set_group(ctx, g);
	if (result < 0)
		return result;
	own->given = true;
	if (f) {	/* the next ACK looks there */
		f->goal_changed = true;
		f->goal_restarts |= result;
	}
	return 0;
}

/* Not ours. Of more than a page we have but a part, and say so: else older kernels fail, EFAULT. */
static __always_inline int leave_to_kernel(struct bpf_sockopt *ctx)
{
	if (ctx->optlen > 4096)
		ctx->optlen = 0;
	return 1;
}

/*
 * The user makes a socket ours: it has a goal from here on, which is none, and by which
 * dalbe_get_state() knows it. dalbe_release() takes it.
 */
static __always_inline void dalbe_chosen(struct bpf_sockopt *ctx)
{
	const char *name = ctx->optval;
	const u32 len = sizeof(DALBE_CC_CDG) - 1;

	if ((void *)name + len <= ctx->optval_end && ctx->optlen >= len && dalbe_tcp(ctx->sk) &&
	    !__builtin_memcmp(name, DALBE_CC_CDG, len))
		bpf_sk_storage_get(&goals, ctx->sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
}

SEC("cgroup/setsockopt")
int dalbe_setsockopt(struct bpf_sockopt *ctx)
{
	int err;

	if (ctx->level == IPPROTO_TCP && ctx->optname == TCP_CONGESTION)
		dalbe_chosen(ctx);
	if (ctx->level != SOL_DALBE)
		return leave_to_kernel(ctx);
	err = dalbe_set(ctx);
	if (err) {
		bpf_set_retval(err);
		return 0;
	}
	ctx->optlen = -1;	/* TCP does not see it */
	return 1;
}

static __noinline int dalbe_get_state(struct bpf_sockopt *ctx)
{
	struct dalbe_state *out = ctx->optval;
	struct bpf_sock *sk = ctx->sk;
	const struct goal *g;
	struct goal_settings s;
	struct job_known known = {};
	struct bpf_tcp_sock *tp = dalbe_tcp(sk);
	struct path_entry *e;
	struct dalbe_flow *f;
	struct job *job;
	u64 now_ns;

	if (!sockopt_has(ctx, out))
		return -EINVAL;
	if (!tp)
		return -EOPNOTSUPP;
	g = bpf_sk_storage_get(&goals, sk, 0, 0);
	f = bpf_sk_storage_get(&flows, sk, 0, 0);
	if (!g) {
		if (!f)
			return -ENOPROTOOPT;
		g = &no_goal;
	}
	memset(out, 0, sizeof(*out));
	s = dalbe_settings_in_force(g);
	now_ns = bpf_ktime_get_boot_ns();
	goal_tell_asked(out, g, &s, now_ns);
	out->cwnd = tp->snd_cwnd;
	known.control.status = DALBE_STATUS_ON_TRACK;	/* until the next ACK */
	known.done_ns = g->done_ns;
	if (f) {
		e = entry_find(&f->path);
		out->srtt_us = tp->srtt_us >> 3;
		out->min_rtt_us = tp->rtt_min == U32_MAX ? 0 : tp->rtt_min;
		out->path_flows = e ? e->flows : 1;
		goal_tell_sender(out, &f->sender, tp->mss_cache, out->srtt_us);
		job = job_of(f);
		if (job)
			job_read(job, &known);
		else if (!f->goal_changed)
			known.control = f->sender.control;
		if (known.control.config.wmin_q16)
			goal_tell_control(out, &known.control, out->srtt_us);
		if (g->bytes) {
			if (job) {	/* another socket may have changed it */
				out->goal_bytes = known.control.goal.bytes;
				out->deadline_ns = known.control.goal.deadline_ns;
			}
			out->bytes_done = fp_add(known.bytes_done,
						 goal_bytes_done(g, tp->bytes_acked));
			goal_tell_progress(out, known.control.status, now_ns, known.done_ns);
		}
	}
	if (g->bytes)
		out->deadline_ns += dalbe_clock_ahead_ns();
	return 0;
}

SEC("cgroup/getsockopt")
int dalbe_getsockopt(struct bpf_sockopt *ctx)
{
	int err;

	if (ctx->level != SOL_DALBE)
		return leave_to_kernel(ctx);
	err = ctx->optname == DALBE_SO_STATE ? dalbe_get_state(ctx) : -EINVAL;
	bpf_set_retval(err);
	if (!err)
		ctx->optlen = sizeof(struct dalbe_state);
	return 1;
}

#endif /* DALBE_BPF_SOCKOPT_H */
