// SPDX-License-Identifier: GPL-2.0-only
/*
 * dalbe_cdg as a program of BPF: the scavenger and the controllers of core/, TCP's hooks
 * (kernel/hooks.c), and goals by setsockopt(2) (sockopt.h).
 *
 * Without a goal a connection is a scavenger at wmin: CDG at a fixed G, and the other bases, are
 * the module's.
 */
#include "bpf/core.h"
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

/* The kernel's. */
enum { AF_INET6 = 10 };
enum { TCP_SYN_SENT = 2, TCP_SYN_RECV = 3, TCP_FIN_WAIT1 = 4, TCP_CLOSE = 7 };
enum { TCP_LAST_ACK = 9, TCP_CLOSING = 11 };
enum { CA_EVENT_CWND_RESTART = 1, CA_EVENT_COMPLETE_CWR = 2 };	/* from 6.1 to 7.2 */
enum { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };
enum { TCP_CHRONO_RWND_LIMITED = 2 };
#define TCP_CONG_NON_RESTRICTED	1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, u32 event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	char name[16];
	u32 flags;
};

#pragma clang attribute pop

extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

static __always_inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct dalbe_flow *dalbe_flow(struct sock *sk)
{
	return bpf_sk_storage_get(&flows, sk, 0, 0);
}

static __always_inline struct goal *dalbe_goal_of(struct sock *sk)
{
	return bpf_sk_storage_get(&goals, sk, 0, 0);	/* its first member */
}

static __always_inline u64 tcp_clock_us(void)
{
	return bpf_ktime_get_ns() / NSEC_PER_USEC;
}

static __always_inline void dalbe_path_read(struct sock *sk, struct tcp_path *p, u64 now_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	*p = (struct tcp_path) {
		.tp = tp,
		.now_us = now_us,
		.cwnd = tp->snd_cwnd,
		.ssthresh = tp->snd_ssthresh,
		.cwnd_cnt = tp->snd_cwnd_cnt,
	};
}

/* TCP cannot be told not to undo a cut (tcp_sock.prior_ssthresh): see dalbe_undo_cwnd(). */
static __always_inline void dalbe_path_write(struct sock *sk, struct dalbe_flow *f,
					     const struct tcp_path *p)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_cwnd = max(p->cwnd, 1u);
	tp->snd_ssthresh = p->ssthresh;
	tp->snd_cwnd_cnt = p->cwnd_cnt;
	f->no_undo |= p->no_undo;
}

/* TCP keeps this word for us in each socket: not 0 while the flow is alone, and paced. TCP asks
 * before it sends, twice for each ACK, and a third of such a call went into finding the flow.
 */
static __always_inline u64 *dalbe_paces_alone(struct sock *sk)
{
	return &tcp_sk(sk)->inet_conn.icsk_ca_priv[0];
}

/* TCP has undone a cut all the same: we have kept the window, and put ssthresh back. */
static __always_inline void dalbe_redo(struct sock *sk, struct dalbe_flow *f)
{
	if (!f->undo_ssthresh)
		return;
	tcp_sk(sk)->snd_ssthresh = f->undo_ssthresh;
	f->undo_ssthresh = 0;
}

static __always_inline u32 dalbe_busy_jiffies(const struct tcp_sock *tp)
{
	u8 type = BPF_CORE_READ_BITFIELD(tp, chrono_type);
	u32 busy = tp->chrono_stat[0] + tp->chrono_stat[1] + tp->chrono_stat[2];

	return type ? busy + (u32)bpf_jiffies64() - tp->chrono_start : busy;
}

/* When a Tw that begins now ends; of a job's connection, its next part. */
static __always_inline u64 dalbe_tw_end_us(const struct tcp_sock *tp, struct dalbe_flow *f)
{
	u64 tw_ns = control_tw_ns(&f->sender.control, tp->srtt_us >> 3);

	if (f->job.id)
		tw_ns /= JOB_PARTS;
	return tcp_clock_us() + tw_ns / NSEC_PER_USEC;
}

static __always_inline void dalbe_begin_interval(const struct tcp_sock *tp, struct dalbe_flow *f)
{
	sender_begin_interval(&f->sender);
	f->busy_jiffies = dalbe_busy_jiffies(tp);
	f->tw_start_us = tcp_clock_us();
	f->tw_end_us = dalbe_tw_end_us(tp, f);
}

static __always_inline void dalbe_path_leave(struct dalbe_flow *f)
{
	struct path_entry *e = entry_find(&f->path);

	if (e)
		path_memory_leave(&e->memory, &f->sender.part);
	f->sender.part = (struct path_part) {};
	entry_put(&f->path, e);
}

static const struct path_entry nothing_known;

/* Too old? Of a job that is not done, and not late, connections may be still to come. */
static __always_inline bool entry_expired(const struct path_entry *e, const struct path_key *key)
{
	u64 now_ns = bpf_ktime_get_boot_ns();

	if (e->flows || !e->idle_ns || now_ns - e->idle_ns < DALBE_PATH_IDLE_NS)	/* or new */
		return false;
	return !key->job || e->job.done_ns || e->job.control.goal.deadline_ns <= now_ns;
}

/* The entry for @key, with one flow more; NULL: no memory. */
static __noinline struct path_entry *entry_get(struct path_ref *ref, const struct path_key *key)
{
	struct path_entry *e = bpf_map_lookup_elem(&paths, key);

	ref->key = *key;
	if (e && e->id && entry_expired(e, key)) {
		bpf_map_delete_elem(&paths, key);
		e = NULL;
	}
	if (!e) {
		bpf_map_update_elem(&paths, key, &nothing_known, BPF_NOEXIST);
		e = bpf_map_lookup_elem(&paths, key);
	}
	if (!e)
		return NULL;
	if (!e->id)
		__sync_val_compare_and_swap(&e->id, 0, bpf_ktime_get_boot_ns());
	ref->id = e->id;
	__sync_fetch_and_add(&e->flows, 1);
	return e;
}

/* The job that the goal is of, in which the flow has a part; NULL: there is none, or no memory. */
static __noinline struct job *dalbe_job_join(struct sock *sk, struct dalbe_flow *f,
					     struct goal *g)
{
	struct path_entry *e = entry_find(&f->job);
	struct path_key key = {
		.netns = sk->__sk_common.skc_net.net->net_cookie,
		.uid = sk->sk_uid.val,
		.job = g ? g->job : 0,
	};

	if (!g)
		return NULL;
	if (!e || !key.job || __builtin_memcmp(&f->job.key, &key, sizeof(key))) {
		dalbe_job_leave(f, g, tcp_sk(sk)->bytes_acked);
		e = key.job ? entry_get(&f->job, &key) : NULL;
	}
	return e ? &e->job : NULL;
}

/* Share what is known of the path: anew where it was forgotten, or the user or group is another. */
static __noinline void dalbe_path_join(struct sock *sk, struct dalbe_flow *f, u32 group)
{
	struct path_key key = {
		.netns = sk->__sk_common.skc_net.net->net_cookie,
		.uid = sk->sk_uid.val,
		.group = group,
	};
	struct path_entry *e;

	if (group) {
		/* whatever its destination */
	} else if (sk->__sk_common.skc_family == AF_INET6) {
		key.daddr[0] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[0];
		key.daddr[1] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[1];
		key.daddr[2] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[2];
		key.daddr[3] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[3];
	} else {
		key.daddr[2] = bpf_htonl(0xffff);
		key.daddr[3] = sk->__sk_common.skc_daddr;
	}
	if (entry_find(&f->path) && !__builtin_memcmp(&f->path.key, &key, sizeof(key)))
		return;
	dalbe_path_leave(f);
	e = entry_get(&f->path, &key);
	if (!e) {	/* no memory: the flow has its own, until the end of Tw */
		path_memory_init(&f->own);
		f->own.flows = 1;
		f->own.since_us = tcp_clock_us();
		return;
	}
	e->memory.group = group;
	path_memory_join(&e->memory, tcp_clock_us());
}

static __always_inline struct goal_settings dalbe_settings_in_force(const struct goal *g)
{
	struct goal_settings s = g->settings;
	const struct dalbe_params defaults = {
		.controller = settings.controller,
		.tw_ms = settings.tw_ms,
		.wmin_ppm = settings.wmin_ppm,
		.after_deadline = settings.after_deadline,
	};

	goal_take(&s, &defaults, ~s.set);
	if (!g->bytes)
		s.controller = DALBE_CONTROLLER_WEIGHT;
	return s;
}

static __always_inline void dalbe_config(struct control_config *c, const struct goal *g)
{
	struct goal_settings s = dalbe_settings_in_force(g);

	goal_configure(c, &s, settings.limit_increase);
}

static const struct goal no_goal;

/* A goal, or none, comes into force. */
static __noinline int dalbe_apply_goal(struct sock *sk, struct dalbe_flow *f)
{
	struct goal *own = dalbe_goal_of(sk);
	const struct goal *g = own ?: &no_goal;
	struct job *job = dalbe_job_join(sk, f, own);
	struct sender *s = &f->sender;
	struct control_config c;
	struct tcp_path p;

	f->goal_changed = false;
	f->goal_restarts = false;
	dalbe_path_join(sk, f, g->group);
	s->heuristics = (struct cdg_heuristics) { .hystart = settings.hystart };
	dalbe_path_read(sk, &p, tcp_clock_us());
	sender_set_base(s, &p, &scavenger_base);
	dalbe_config(&c, g);
	control_start(&s->control, &c, g->bytes,
		      job ? 0 : goal_bytes_done(g, tcp_sk(sk)->bytes_acked),
		      bpf_ktime_get_boot_ns(), g->deadline_ns);
	if (job)
		job_begin(job, &s->control, p.now_us, tcp_sk(sk)->srtt_us >> 3);
	sender_begin_goal(s, &p);
	cdg_set_idle_g(&s->cdg, settings.idle_g_us * NSEC_PER_USEC);
	dalbe_begin_interval(tcp_sk(sk), f);
	return 0;
}

/* The user has changed a goal or settings since, and the transfer goes on. */
static __noinline int dalbe_change_goal(struct sock *sk, struct dalbe_flow *f)
{
	const struct goal *g = dalbe_goal_of(sk);
	struct sender *s = &f->sender;
	struct control_config c;

	f->goal_changed = false;
	if (!g)
		return 0;
	dalbe_path_join(sk, f, g->group);
	if (f->job.id) {	/* the job has it already: hand in, and have its control */
		f->tw_end_us = 0;
		return 0;
	}
	if (g->bytes != s->control.goal.bytes ||
	    (g->bytes && g->deadline_ns != s->control.goal.deadline_ns))
		control_change_goal(&s->control, g->bytes, bpf_ktime_get_boot_ns(), g->deadline_ns);
	dalbe_config(&c, g);
	sender_configure(s, &c);
	f->tw_end_us = min(f->tw_end_us, dalbe_tw_end_us(tcp_sk(sk), f));
	return 0;
}

static __noinline int dalbe_begin(struct sock *sk)
{
	struct goal *g = dalbe_goal_of(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dalbe_flow *f;
	struct tcp_path p;

	f = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!f)
		return 0;
	if (g && (sk->__sk_common.skc_state == TCP_SYN_RECV || !tp->bytes_acked))
		g->acked_before = tp->bytes_acked;
	if (g) {
		goal_inherit(g);
		goal_start_deadline(g, bpf_ktime_get_boot_ns());
	}
	f->last_bytes_acked = tp->bytes_acked;
	dalbe_path_read(sk, &p, tcp_clock_us());
	sender_init(&f->sender, &p, path_recovering(&p) ? tp->high_seq : tp->snd_una - 1);
	return dalbe_apply_goal(sk, f);
}

SEC("struct_ops/dalbe_init")
void BPF_PROG(dalbe_init, struct sock *sk)
{
	if (sk->__sk_common.skc_state != TCP_SYN_SENT)
		dalbe_begin(sk);
}

SEC("struct_ops/dalbe_release")
void BPF_PROG(dalbe_release, struct sock *sk)
{
	struct dalbe_flow *f = dalbe_flow(sk);
	struct goal *g = dalbe_goal_of(sk);

	if (f && g)
		dalbe_job_leave(f, g, tcp_sk(sk)->bytes_acked);
	if (f) {
		dalbe_path_leave(f);
		sk->sk_pacing_status = f->fq ? SK_PACING_FQ : SK_PACING_NONE;
	}
	bpf_sk_storage_delete(&flows, sk);
	bpf_sk_storage_delete(&goals, sk);
}

SEC("struct_ops/dalbe_cong_avoid")
void BPF_PROG(dalbe_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dalbe_flow *f = dalbe_flow(sk);
	struct ack_result result;
	struct tcp_path p;
	bool more;

	if (!f) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	dalbe_redo(sk, f);
	more = tp->write_seq - tp->snd_nxt >= tp->mss_cache;
	dalbe_path_read(sk, &p, tp->tcp_mstamp);
	sender_ack(&f->sender, &p, acked, more, sk->sk_pacing_status != SK_PACING_NONE, &result);
	if (result.round_over) {
		f->sender.heuristics.hystart = settings.hystart;
		*dalbe_paces_alone(sk) = false;
	}
	dalbe_path_write(sk, f, &p);
}

static __noinline int dalbe_end_interval(struct sock *sk, struct dalbe_flow *f)
{
	struct goal *own = dalbe_goal_of(sk);
	const struct goal *g = own ?: &no_goal;
	struct job *job = dalbe_job_join(sk, f, own);
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 elapsed_us = tp->tcp_mstamp - min(tp->tcp_mstamp, f->tw_start_us);
	u64 busy_us = (u64)(dalbe_busy_jiffies(tp) - f->busy_jiffies) * USEC_PER_SEC / hz;
	struct job_part *part = &f->part;
	struct tcp_path p;
	struct control_model model = { .arg = &p };

	dalbe_path_read(sk, &p, tp->tcp_mstamp);
	part->now_us = tp->tcp_mstamp;
	part->busy_us = busy_us;
	part->sample = sender_sample_interval(&f->sender, busy_us, elapsed_us);
	part->sample.now_ns = bpf_ktime_get_boot_ns();
	part->sample.elapsed_ns = elapsed_us * NSEC_PER_USEC;
	part->sample.bytes_done = goal_bytes_done(g, tp->bytes_acked);
	part->sample.srtt_us = tp->srtt_us >> 3;
	sender_end_interval(&f->sender, job, part, &model);
	if (job && own)
		own->acked_before = tp->bytes_acked;
	dalbe_path_join(sk, f, g->group);
	dalbe_begin_interval(tp, f);
	return 0;
}

/* True once: at the ACK of the goal's last byte. Of a job's, whenever nothing is under way. */
static __always_inline bool dalbe_finish(struct sock *sk, const struct dalbe_flow *f)
{
	u8 state = sk->__sk_common.skc_state;
	struct goal *g;

	if (!f->sender.control.goal.bytes)
		return false;
	g = dalbe_goal_of(sk);
	if (!g || !g->bytes)
		return false;
	/* bytes_acked counts the FIN, which is no payload */
	if ((state == TCP_FIN_WAIT1 || state == TCP_CLOSING || state == TCP_LAST_ACK) &&
	    tcp_sk(sk)->snd_una == tcp_sk(sk)->write_seq)
		g->acked_before++;
	if (f->job.id)
		return goal_bytes_done(g, tcp_sk(sk)->bytes_acked) && !tcp_sk(sk)->packets_out;
	if (!goal_completed(g, tcp_sk(sk)->bytes_acked))
		return false;
	g->done_ns = bpf_ktime_get_boot_ns();
	return true;
}

static __noinline int dalbe_begin_round(struct sock *sk, struct dalbe_flow *f)
{
	struct tcp_path p;

	dalbe_path_read(sk, &p, tcp_sk(sk)->tcp_mstamp);
	sender_begin_round(&f->sender, &p);
	return 0;
}

static __noinline int dalbe_tell_base(struct sock *sk, struct dalbe_flow *f, enum base_event event)
{
	struct tcp_path p;

	dalbe_path_read(sk, &p, tcp_sk(sk)->tcp_mstamp);
	sender_tell_base(&f->sender, &p, event);
	return 0;
}

/* By itself, as all that is called from dalbe_end_interval() has 512 bytes of stack with it. */
static __noinline int dalbe_take_sample(struct sock *sk, struct dalbe_flow *f,
					const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct rtt_sample rtt = {
		.now_us = tp->tcp_mstamp,
		.silence_us = tp->tcp_mstamp - tp->delivered_mstamp,
		.rtt_us = sample->rtt_us,
		.packets = sample->pkts_acked,
		.una = tp->snd_una,
		.cwnd = tp->snd_cwnd,
		.sacked = tp->sacked_out,
		.recovering = dalbe_ca_state(tp) >= PATH_CWR,
	};
	struct rtt_doubts doubts = {
		.tsval = tp->rx_opt.rcv_tsval,
		.timestamp = BPF_CORE_READ_BITFIELD(tp, rx_opt.saw_tstamp),
		.retransmitted = tp->tlp_high_seq || tp->retrans_stamp,
		.single = (u32)tp->bytes_acked - f->last_bytes_acked <= tp->mss_cache,
		.app_limited = tp->app_limited ||
			       BPF_CORE_READ_BITFIELD(tp, chrono_type) == TCP_CHRONO_RWND_LIMITED,
	};

	f->last_bytes_acked = tp->bytes_acked;
	if (sender_rtt(&f->sender, &rtt, &doubts, sender_heeds(&f->sender, rtt.silence_us)))
		dalbe_begin_round(sk, f);
	if (!tp->packets_out)
		dalbe_tell_base(sk, f, BASE_IDLE);
	return 0;
}

SEC("struct_ops/dalbe_pkts_acked")
void BPF_PROG(dalbe_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dalbe_flow *f = dalbe_flow(sk);
	bool finished;

	if (!f) {
		if (BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_initialized) &&
		    sk->__sk_common.skc_state != TCP_SYN_SENT)
			dalbe_begin(sk);
		return;
	}
	if (f->goal_changed) {
		if (f->goal_restarts)
			dalbe_apply_goal(sk, f);
		else
			dalbe_change_goal(sk, f);
	}
	dalbe_take_sample(sk, f, sample);
	finished = dalbe_finish(sk, f);
	if (finished || tp->tcp_mstamp >= f->tw_end_us)
		dalbe_end_interval(sk, f);
}

SEC("struct_ops/dalbe_ssthresh")
u32 BPF_PROG(dalbe_ssthresh, struct sock *sk)
{
	struct dalbe_flow *f = dalbe_flow(sk);
	struct tcp_path p;

	if (!f)
		return tcp_reno_ssthresh(sk);
	f->no_undo = false;
	dalbe_path_read(sk, &p, tcp_sk(sk)->tcp_mstamp);
	return sender_ssthresh(&f->sender, &p);
}

SEC("struct_ops/dalbe_undo_cwnd")
u32 BPF_PROG(dalbe_undo_cwnd, struct sock *sk)
{
	struct dalbe_flow *f = dalbe_flow(sk);

	if (!f)
		return tcp_reno_undo_cwnd(sk);
	if (f->no_undo) {
		f->undo_ssthresh = tcp_sk(sk)->snd_ssthresh;
		return tcp_sk(sk)->snd_cwnd;
	}
	dalbe_tell_base(sk, f, BASE_UNDO);
	return tcp_reno_undo_cwnd(sk);
}

SEC("struct_ops/dalbe_set_state")
void BPF_PROG(dalbe_set_state, struct sock *sk, u8 state)
{
	struct dalbe_flow *f = dalbe_flow(sk);
	struct tcp_path p;

	if (!f)
		return;
	dalbe_redo(sk, f);
	*dalbe_paces_alone(sk) = false;
	dalbe_path_read(sk, &p, tcp_sk(sk)->tcp_mstamp);
	if (state < PATH_CWR) {
		sender_end_repair(&f->sender, &p, state);
		return;
	}
	if (!sender_count_loss(&f->sender, &p, state))
		return;
	sender_begin_repair(&f->sender, &p, state);
	dalbe_path_write(sk, f, &p);
}

SEC("struct_ops/dalbe_cwnd_event")
void BPF_PROG(dalbe_cwnd_event, struct sock *sk, u32 event)
{
	struct dalbe_flow *f;
	struct tcp_path p;

	if (event != CA_EVENT_CWND_RESTART && event != CA_EVENT_COMPLETE_CWR)
		return;
	f = dalbe_flow(sk);
	if (!f)
		return;
	dalbe_path_read(sk, &p, tcp_clock_us());
	if (event == CA_EVENT_CWND_RESTART)
		sender_cwnd_restart(&f->sender, &p);
	else
		sender_complete_cwr(&f->sender, &p);
}

/*
 * Two packets are to leave together, and the next two a gap later: the receiver would hold back its
 * ACK of a single one. The module sets a departure and a timer, which BPF cannot. But TCP's own
 * pacing waits after each packet, and with a window of two each leaves by itself: for an instant
 * after the first, and for the gap after the second.
 */
static __always_inline u64 dalbe_pair_rate(const struct tcp_sock *tp, struct dalbe_flow *f)
{
	u64 gap_us = fp_mul_div(dalbe_srtt_us(tp), 2 * Q16_ONE, scavenger_level_q16(&f->sender));

	if (tp->data_segs_out - f->pair_segs >= 2)
		f->pair_segs = tp->data_segs_out;
	if (tp->data_segs_out == f->pair_segs)
		gap_us = 1;
	else	/* without packets no look could find the queue gone */
		gap_us = min(gap_us, path_look_us(cdg_base_rtt_us(&f->sender.cdg)));
	return USEC_PER_SEC * (u64)tp->mss_cache / max(gap_us, 1ull);
}

static __noinline int dalbe_pace_again(struct sock *sk, struct dalbe_flow *f)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	bool few = sender_below_min_cwnd(&f->sender);
	u32 status;

	*dalbe_paces_alone(sk) = sender_paces_alone(&f->sender);
	f->fq |= sk->sk_pacing_status == SK_PACING_FQ;
	status = f->fq ? SK_PACING_FQ : SK_PACING_NONE;
	if (few || *dalbe_paces_alone(sk) || sk->sk_max_pacing_rate != ~0ul ||
	    tp->tcp_wstamp_ns > tp->tcp_clock_cache)
		status = SK_PACING_NEEDED;
	sk->sk_pacing_status = status;
	if (few)
		sk->sk_pacing_rate = min(dalbe_pair_rate(tp, f), sk->sk_max_pacing_rate);
	return 0;
}

/* TCP asks before it sends. Mostly a flow is alone, and paced. */
SEC("struct_ops/dalbe_min_tso_segs")
u32 BPF_PROG(dalbe_min_tso_segs, struct sock *sk)
{
	struct dalbe_flow *f;

	if (sk->sk_pacing_status != SK_PACING_NEEDED || !*dalbe_paces_alone(sk)) {
		f = dalbe_flow(sk);
		if (f)
			dalbe_pace_again(sk, f);
	}
	return sk->__sk_common.skc_net.net->ipv4.sysctl_tcp_min_tso_segs;
}

#include "bpf/sockopt.h"

SEC(".struct_ops")
struct tcp_congestion_ops dalbe_cdg = {
	.init		= (void *)dalbe_init,
	.release	= (void *)dalbe_release,
	.ssthresh	= (void *)dalbe_ssthresh,
	.cong_avoid	= (void *)dalbe_cong_avoid,
	.pkts_acked	= (void *)dalbe_pkts_acked,
	.undo_cwnd	= (void *)dalbe_undo_cwnd,
	.set_state	= (void *)dalbe_set_state,
	.cwnd_event	= (void *)dalbe_cwnd_event,
	.min_tso_segs	= (void *)dalbe_min_tso_segs,
	.name		= DALBE_CC_CDG,
	.flags		= TCP_CONG_NON_RESTRICTED,
};
