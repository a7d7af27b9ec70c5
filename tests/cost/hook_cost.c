// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the instructions that the hooks of one congestion control take, with all that they call.
 *
 * For a guest of QEMU that counts instructions (-icount shift=0): its time stamp counter is that
 * count. Around each hook we read it, with interrupts off. What an empty hook costs is taken off.
 *
 *	insmod hook_cost.ko cc=cubic
 *	echo 0,0,... >/sys/module/hook_cost/parameters/calls		(likewise instructions)
 *
 * Each congestion control has every ACK told, so that ACKs are counted alike: where it has no
 * in_ack_event of its own, that costs nothing. To be removed while no connection uses @cc.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/net.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

enum hook {
	IN_ACK_EVENT, PKTS_ACKED, CONG_AVOID, CONG_CONTROL, MIN_TSO_SEGS, CWND_EVENT, SET_STATE,
	SSTHRESH, UNDO_CWND, HOOKS
};

static char *cc;
module_param(cc, charp, 0444);
static unsigned long long calls[HOOKS], instructions[HOOKS];
module_param_array(calls, ullong, NULL, 0644);
module_param_array(instructions, ullong, NULL, 0644);

static struct tcp_congestion_ops *ops, was;
static struct socket *holder;	/* its congestion control stays */
static u64 empty;

#define COUNTED(hook, call)						\
	do {								\
		unsigned long flags_;					\
		u64 start_;						\
									\
		local_irq_save(flags_);					\
		start_ = rdtsc();					\
		call;							\
		instructions[hook] += rdtsc() - start_ - empty;		\
		calls[hook]++;						\
		local_irq_restore(flags_);				\
	} while (0)

static void in_ack_event(struct sock *sk, u32 flags)
{
	if (was.in_ack_event)
		COUNTED(IN_ACK_EVENT, was.in_ack_event(sk, flags));
	else
		calls[IN_ACK_EVENT]++;
}

static void pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	COUNTED(PKTS_ACKED, was.pkts_acked(sk, sample));
}

static void cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	COUNTED(CONG_AVOID, was.cong_avoid(sk, ack, acked));
}

static void cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	COUNTED(CONG_CONTROL, was.cong_control(sk, ack, flag, rs));
}

static u32 min_tso_segs(struct sock *sk)
{
	u32 segs;

	COUNTED(MIN_TSO_SEGS, segs = was.min_tso_segs(sk));
	return segs;
}

static void cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	COUNTED(CWND_EVENT, was.cwnd_event(sk, event));
}

static void set_state(struct sock *sk, u8 state)
{
	COUNTED(SET_STATE, was.set_state(sk, state));
}

static u32 ssthresh(struct sock *sk)
{
	u32 packets;

	COUNTED(SSTHRESH, packets = was.ssthresh(sk));
	return packets;
}

static u32 undo_cwnd(struct sock *sk)
{
	u32 packets;

	COUNTED(UNDO_CWND, packets = was.undo_cwnd(sk));
	return packets;
}

static noinline void nothing(struct sock *sk, u32 flags)
{
	barrier();
}

static void calibrate(void)
{
	struct tcp_congestion_ops real = was;

	was.in_ack_event = nothing;
	in_ack_event(NULL, 0);
	empty = instructions[IN_ACK_EVENT];
	in_ack_event(NULL, 0);
	pr_info("hook_cost: an empty hook is %llu instructions, then %llu\n", empty,
		instructions[IN_ACK_EVENT] - empty);
	was = real;
	instructions[IN_ACK_EVENT] = 0;
	calls[IN_ACK_EVENT] = 0;
}

static int __init hook_cost_init(void)
{
	int err;

	if (!cc)
		return -EINVAL;
	err = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &holder);
	if (err)
		return err;
	err = holder->ops->setsockopt(holder, SOL_TCP, TCP_CONGESTION, KERNEL_SOCKPTR(cc),
				      strlen(cc));
	if (err) {
		sock_release(holder);
		return err;
	}
	ops = (struct tcp_congestion_ops *)inet_csk(holder->sk)->icsk_ca_ops;
	was = *ops;
	calibrate();
	ops->in_ack_event = in_ack_event;
	ops->pkts_acked = was.pkts_acked ? pkts_acked : NULL;
	ops->cong_avoid = was.cong_avoid ? cong_avoid : NULL;
	ops->cong_control = was.cong_control ? cong_control : NULL;
	ops->min_tso_segs = was.min_tso_segs ? min_tso_segs : NULL;
	ops->cwnd_event = was.cwnd_event ? cwnd_event : NULL;
	ops->set_state = was.set_state ? set_state : NULL;
	ops->ssthresh = was.ssthresh ? ssthresh : NULL;
	ops->undo_cwnd = was.undo_cwnd ? undo_cwnd : NULL;
	return 0;
}

static void __exit hook_cost_exit(void)
{
	ops->in_ack_event = was.in_ack_event;
	ops->pkts_acked = was.pkts_acked;
	ops->cong_avoid = was.cong_avoid;
	ops->cong_control = was.cong_control;
	ops->min_tso_segs = was.min_tso_segs;
	ops->cwnd_event = was.cwnd_event;
	ops->set_state = was.set_state;
	ops->ssthresh = was.ssthresh;
	ops->undo_cwnd = was.undo_cwnd;
	msleep(100);	/* who was in a hook has left it */
	sock_release(holder);
}

module_init(hook_cost_init);
module_exit(hook_cost_exit);
MODULE_DESCRIPTION("Counts the instructions of a congestion control's hooks");
MODULE_LICENSE("GPL");
