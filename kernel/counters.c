// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts of how goals ended: /proc/net/dalbe of each network namespace.
 *
 *	goals_met		done by the deadline
 *	goals_late		done after it, or ended after it without that
 *	goals_unfinished	ended before it: less was sent
 *	goals_infeasible	of all these, those that were infeasible at some time
 *	goals_bytes		payload acknowledged for all these
 *	goals_late_ms		by how much the late ones were late, in all
 *
 * A goal is counted once, when it ends: its connection does, or is given another one, or none. A
 * job's ends when its entry is forgotten (paths.c), and at the time of its last connection: one
 * more may come until then. No other path of the module comes by here.
 */
#include <linux/ktime.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "dalbe.h"

enum dalbe_counter {
	DALBE_GOALS_MET, DALBE_GOALS_LATE, DALBE_GOALS_UNFINISHED, DALBE_GOALS_INFEASIBLE,
	DALBE_GOALS_BYTES, DALBE_GOALS_LATE_NS, DALBE_COUNTERS
};

struct dalbe_counters {
	atomic64_t value[DALBE_COUNTERS];
};

static unsigned int dalbe_counters_id __read_mostly;

static void dalbe_add(struct net *net, enum dalbe_counter counter, u64 value)
{
	struct dalbe_counters *counters = net_generic(net, dalbe_counters_id);

	atomic64_add(value, &counters->value[counter]);
}

/**
 * dalbe_count_end - a goal has ended
 * @net: its network namespace
 * @end: how
 */
void dalbe_count_end(struct net *net, const struct dalbe_goal_end *end)
{
	bool done = end->done_ns;
	u64 at_ns = done ? end->done_ns : end->end_ns;

	if (at_ns > end->deadline_ns || (!done && at_ns == end->deadline_ns)) {
		dalbe_add(net, DALBE_GOALS_LATE, 1);
		dalbe_add(net, DALBE_GOALS_LATE_NS, at_ns - end->deadline_ns);
	} else {
		dalbe_add(net, done ? DALBE_GOALS_MET : DALBE_GOALS_UNFINISHED, 1);
	}
	dalbe_add(net, DALBE_GOALS_INFEASIBLE, end->was_infeasible);
	dalbe_add(net, DALBE_GOALS_BYTES, end->bytes);
}

/**
 * dalbe_count_goal - the goal of a connection ends, if it has one of its own
 * @sk: a locked socket of ours
 *
 * The kernel's own sockets may outlive their namespace, and have no goal.
 */
void dalbe_count_goal(struct sock *sk)
{
	const struct dalbe_sock *ca = dalbe_sk(sk);

	if (!ca->flow || !ca->goal.bytes || ca->goal.job || !sk->sk_net_refcnt)
		return;
	dalbe_count_end(sock_net(sk), &(struct dalbe_goal_end) {
		.bytes = dalbe_bytes_done(sk),
		.deadline_ns = ca->goal.deadline_ns,
		.done_ns = ca->goal.done_ns,
		.end_ns = ktime_get_boottime_ns(),
		.was_infeasible = ca->controlled && ca->flow->sender.control.was_infeasible,
	});
}

/* Not used where there is no /proc. */
static int __maybe_unused dalbe_counters_show(struct seq_file *seq, void *v)
{
	static const char *const names[] = {
		"goals_met", "goals_late", "goals_unfinished", "goals_infeasible", "goals_bytes",
		"goals_late_ms",
	};
	struct dalbe_counters *counters = net_generic(seq_file_single_net(seq), dalbe_counters_id);
	int i;

	BUILD_BUG_ON(ARRAY_SIZE(names) != DALBE_COUNTERS);
	for (i = 0; i < DALBE_COUNTERS; i++) {
		u64 value = atomic64_read(&counters->value[i]);

		if (i == DALBE_GOALS_LATE_NS)
			value = div_u64(value, NSEC_PER_MSEC);
		seq_printf(seq, "%s %llu\n", names[i], value);
	}
	return 0;
}

static int __net_init dalbe_counters_init(struct net *net)
{
	if (!proc_create_net_single("dalbe", 0444, net->proc_net, dalbe_counters_show, NULL) &&
	    IS_ENABLED(CONFIG_PROC_FS))
		return -ENOMEM;
	return 0;
}

static void __net_exit dalbe_counters_exit(struct net *net)
{
	remove_proc_entry("dalbe", net->proc_net);
}

static struct pernet_operations dalbe_counters_ops = {
	.init	= dalbe_counters_init,
	.exit	= dalbe_counters_exit,
	.id	= &dalbe_counters_id,
	.size	= sizeof(struct dalbe_counters),
};

/**
 * dalbe_counters_register - create /proc/net/dalbe
 *
 * Return: 0 or a negative errno.
 */
int dalbe_counters_register(void)
{
	return register_pernet_subsys(&dalbe_counters_ops);
}

/**
 * dalbe_counters_unregister - undo dalbe_counters_register(); no socket is ours any more, and no
 *	path is left
 */
void dalbe_counters_unregister(void)
{
	unregister_pernet_subsys(&dalbe_counters_ops);
}
