// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records how TCP calls the kernel's own CUBIC and Vegas, and what they answer.
 *
 * rec_cubic and rec_vegas are congestion controls that hand every call on to cubic and vegas. Of
 * the connection that began last /proc/dalbe_recorder has a line per call: what kernel/hooks.c
 * would read of the socket, the arguments, and by how much the call changed the window. Times,
 * sequence numbers and windows are differences from the line before, which compress well.
 */
#include <linux/module.h>
#include <linux/net.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>
#include <net/tcp.h>

#define CALLS_MAX	100000

enum hook { INIT, ACKED, AVOID, SSTHRESH, STATE, EVENT, UNDO };

static const char *const hook_name[] = {
	[INIT] = "init", [ACKED] = "acked", [AVOID] = "avoid", [SSTHRESH] = "ssthresh",
	[STATE] = "state", [EVENT] = "event", [UNDO] = "undo",
};

/**
 * struct window - as a socket has it
 * @cwnd: congestion window, packets
 * @ssthresh: slow start threshold, packets
 * @cwnd_cnt: packets acknowledged towards the window's next one
 */
struct window {
	u32 cwnd;
	u32 ssthresh;
	u32 cwnd_cnt;
};

/**
 * struct call - one call of a hook
 * @hook: which one
 * @arg: of ACKED and AVOID the packets, else the new state, the event, or what was returned
 * @rtt_us: of ACKED
 * @idle_ticks: of EVENT, since TCP has last sent data
 * @now_us: TCP's clock
 * @ticks: the kernel's
 * @burst_us: four of TCP's largest bursts take so long, at most 1 ms
 * @state: enum tcp_ca_state
 * @used: the window limits the sender
 * @paced: TCP spaces packets
 * @before: the window
 * @after: the same when the call is over
 *
 * The others have the names of struct tcp_sock, or of our own struct tcp_path.
 */
struct call {
	u8 hook;
	u32 arg;
	s32 rtt_us;
	u32 idle_ticks;
	u64 now_us;
	u32 ticks;
	u32 una;
	u32 nxt;
	u32 delivered;
	u32 out_max;
	u32 mss;
	u32 cwnd_max;
	u32 burst_us;
	u8 state;
	bool used;
	bool paced;
	struct window before;
	struct window after;
};

static struct call *calls;
static u32 count;
static const struct sock *recorded;

/**
 * struct recorder - a congestion control that is recorded
 * @ops: ours
 * @sock: a socket that uses the kernel's own, so that it stays
 */
struct recorder {
	struct tcp_congestion_ops ops;
	struct socket *sock;
};

static const struct tcp_congestion_ops *original(const struct sock *sk)
{
	const struct recorder *r = container_of(inet_csk(sk)->icsk_ca_ops, struct recorder, ops);

	return inet_csk(r->sock->sk)->icsk_ca_ops;
}

static u32 burst_us(const struct sock *sk)
{
	unsigned long rate = READ_ONCE(sk->sk_pacing_rate);

	return rate ? min_t(u64, div64_ul((u64)sk->sk_gso_max_size * 4 * USEC_PER_SEC, rate),
			    USEC_PER_MSEC) : 0;
}

static struct window window(const struct tcp_sock *tp)
{
	return (struct window) { tcp_snd_cwnd(tp), tp->snd_ssthresh, tp->snd_cwnd_cnt };
}

/* NULL where nothing is to be recorded. */
static struct call *begin(const struct sock *sk, u8 hook, u32 arg)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct call *call;

	if (sk != recorded || count == CALLS_MAX)
		return NULL;
	call = &calls[count++];
	*call = (struct call) {
		.hook = hook,
		.arg = arg,
		.idle_ticks = hook == EVENT ? tcp_jiffies32 - tp->lsndtime : 0,
		/* these two may come when no ACK has set tcp_mstamp */
		.now_us = hook == INIT || hook == EVENT ? tcp_clock_us() : tp->tcp_mstamp,
		.ticks = tcp_jiffies32,
		.una = tp->snd_una,
		.nxt = tp->snd_nxt,
		.delivered = tp->delivered,
		.out_max = tp->max_packets_out,
		.mss = tp->mss_cache,
		.cwnd_max = tp->snd_cwnd_clamp,
		.burst_us = burst_us(sk),
		.state = inet_csk(sk)->icsk_ca_state,
		.used = tp->is_cwnd_limited,
		.paced = READ_ONCE(sk->sk_pacing_status) != SK_PACING_NONE,
		.before = window(tp),
	};
	return call;
}

static void end(const struct sock *sk, struct call *call)
{
	if (call)
		call->after = window(tcp_sk(sk));
}

static void rec_init(struct sock *sk)
{
	struct call *call;

	recorded = sk;
	count = 0;
	call = begin(sk, INIT, 0);
	original(sk)->init(sk);
	end(sk, call);
}

static void rec_release(struct sock *sk)
{
	if (sk == recorded)
		recorded = NULL;
	if (original(sk)->release)
		original(sk)->release(sk);
}

static void rec_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct call *call = begin(sk, ACKED, sample->pkts_acked);

	if (call)
		call->rtt_us = sample->rtt_us;
	original(sk)->pkts_acked(sk, sample);
	end(sk, call);
}

static void rec_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct call *call = begin(sk, AVOID, acked);

	original(sk)->cong_avoid(sk, ack, acked);
	end(sk, call);
}

static u32 rec_ssthresh(struct sock *sk)
{
	struct call *call = begin(sk, SSTHRESH, 0);
	u32 ssthresh = original(sk)->ssthresh(sk);

	if (call)
		call->arg = ssthresh;
	end(sk, call);
	return ssthresh;
}

static void rec_set_state(struct sock *sk, u8 state)
{
	struct call *call = begin(sk, STATE, state);

	original(sk)->set_state(sk, state);
	end(sk, call);
}

static void rec_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct call *call = begin(sk, EVENT, event);

	original(sk)->cwnd_event(sk, event);
	end(sk, call);
}

static u32 rec_undo_cwnd(struct sock *sk)
{
	struct call *call = begin(sk, UNDO, 0);
	u32 cwnd = original(sk)->undo_cwnd(sk);

	if (call)
		call->arg = cwnd;
	end(sk, call);
	return cwnd;
}

#define RECORDER(as) {				\
	.ops = {				\
		.flags = TCP_CONG_NON_RESTRICTED, \
		.init = rec_init,		\
		.release = rec_release,		\
		.pkts_acked = rec_pkts_acked,	\
		.cong_avoid = rec_cong_avoid,	\
		.ssthresh = rec_ssthresh,	\
		.set_state = rec_set_state,	\
		.cwnd_event = rec_cwnd_event,	\
		.undo_cwnd = rec_undo_cwnd,	\
		.owner = THIS_MODULE,		\
		.name = as,			\
	},					\
}

static struct recorder recorders[] = { RECORDER("rec_cubic"), RECORDER("rec_vegas") };
static unsigned int registered;

static void *calls_start(struct seq_file *m, loff_t *pos)
{
	return *pos < count ? &calls[*pos] : NULL;
}

static void *calls_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return calls_start(m, pos);
}

static void calls_stop(struct seq_file *m, void *v)
{
}

static int calls_show(struct seq_file *m, void *v)
{
	static const struct call none;
	const struct call *c = v, *last = c == calls ? &none : c - 1;
	const struct window *w = &c->before;

	if (last == &none)
		seq_puts(m, "hook,arg,rtt_us,idle_ticks,now_us,ticks,una,nxt,delivered,out_max,mss,cwnd_max,state,used,paced,burst_us,cwnd,ssthresh,cwnd_cnt,cwnd_after,ssthresh_after,cwnd_cnt_after\n");
	seq_printf(m, "%s,%u,%d,%u,%lld,%d,%d,%d", hook_name[c->hook], c->arg, c->rtt_us,
		   c->idle_ticks, c->now_us - last->now_us, c->ticks - last->ticks,
		   c->una - last->una, c->nxt - last->nxt);
	seq_printf(m, ",%d,%d,%d,%d", c->delivered - last->delivered, c->out_max - last->out_max,
		   c->mss - last->mss, c->cwnd_max - last->cwnd_max);
	seq_printf(m, ",%d,%d,%d,%d", c->state - last->state, c->used - last->used,
		   c->paced - last->paced, c->burst_us - last->burst_us);
	/* TCP sets the window as well: what a call has changed is a difference within the line */
	seq_printf(m, ",%d,%d,%d,%d,%d,%d\n", w->cwnd - last->after.cwnd,
		   w->ssthresh - last->after.ssthresh, w->cwnd_cnt - last->after.cwnd_cnt,
		   c->after.cwnd - w->cwnd, c->after.ssthresh - w->ssthresh,
		   c->after.cwnd_cnt - w->cwnd_cnt);
	return 0;
}

static const struct seq_operations calls_ops = {
	.start = calls_start, .next = calls_next, .stop = calls_stop, .show = calls_show,
};

/* A socket with the kernel's own. */
static int borrow(struct recorder *r)
{
	const char *name = r->ops.name + strlen("rec_");
	int err = sock_create_kern(&init_net, PF_INET, SOCK_STREAM, IPPROTO_TCP, &r->sock);

	if (err)
		return err;
	return r->sock->ops->setsockopt(r->sock, SOL_TCP, TCP_CONGESTION,
					KERNEL_SOCKPTR((void *)name), strlen(name));
}

static void leave(void)
{
	int i;

	while (registered)
		tcp_unregister_congestion_control(&recorders[--registered].ops);
	for (i = 0; i < ARRAY_SIZE(recorders); i++)
		if (recorders[i].sock)
			sock_release(recorders[i].sock);
	vfree(calls);
}

static int __init recorder_init(void)
{
	int err = 0;

	calls = vmalloc_array(CALLS_MAX, sizeof(*calls));
	if (!calls)
		return -ENOMEM;
	while (!err && registered < ARRAY_SIZE(recorders)) {
		err = borrow(&recorders[registered]);
		if (!err)
			err = tcp_register_congestion_control(&recorders[registered].ops);
		if (!err)
			registered++;
	}
	if (!err && !proc_create_seq("dalbe_recorder", 0444, NULL, &calls_ops))
		err = -ENOMEM;
	if (err)
		leave();
	return err;
}

static void __exit recorder_exit(void)
{
	remove_proc_entry("dalbe_recorder", NULL);
	leave();
}

module_init(recorder_init);
module_exit(recorder_exit);

MODULE_DESCRIPTION("Records TCP's calls of the kernel's own CUBIC and Vegas");
MODULE_LICENSE("GPL");
