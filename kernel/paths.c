// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which flows share what is known of a path, and for how long that is kept.
 *
 *	socket --> key: user, group          --> entry, of its network namespace: struct path_memory
 *	           or:  user, destination,
 *	                device, gateway
 *
 * The user is part of the key, so that nobody teaches another user's flows anything; the route is,
 * as another route is another path. A group's destinations and routes do not count.
 *
 * Life of an entry
 *	flows > 0, in the table		its flows count it
 *	flows = 0, in the table		idle: the next flow finds what is known, for
 *					DALBE_PATH_IDLE_NS; then a work removes it. Where the table
 *					is full, the one idle for longest makes place for a new one;
 *					some jobs that are awaited are spared
 *	flows > 0, not in the table	a flow's own, as the table was full; or the namespace has
 *					ended, and kernel sockets, which do not hold it, are still
 *					to be closed. Freed with its last flow
 *
 * Locks
 *	RCU			look-up; an entry that idles is not counted without @lock
 *	dalbe_paths.lock	insertion, removal, first and last flow. Taken in softirq and in
 *				process context, mostly with the socket locked
 *	path_memory.lock	core/'s; neither of these two is taken under the other
 *	job.lock		core/'s; taken under the table's, never the other way round
 *
 * The user is the socket's, sk_uid: whoever created it, or owns it since fchown(). A child of a
 * listener has the listener's until accept(), and then that of the process which accepts it. A flow
 * whose user or route has changed changes its entry where a goal or a setting comes into force, and
 * at the end of Tw.
 */
#include <linux/hashtable.h>
#include <linux/sched/mm.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>
#include <net/ip6_fib.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/route.h>

#include "compat.h"
#include "dalbe.h"

/* Entries of a network namespace, in use and idle: 2 MB, as each takes 512 bytes, which are the
 * cgroup's of the flow that made it. Flows beyond share nothing; jobs beyond stay while they are in
 * use, no more than there are connections. With half of this a server with some thousand clients,
 * each a destination, is at the limit; with twice an ordinary user can make the kernel keep 4 MB
 * for ten minutes.
 */
#define DALBE_PATHS_MAX		4096

/* An idle entry is kept for ten minutes. With half of this a job that runs every ten minutes has to
 * learn the path each time that it takes less than five; with twice it believes what may be from
 * before somebody else came, or from another network behind the same gateway's address.
 */
#define DALBE_PATH_IDLE_NS	(600ull * NSEC_PER_SEC)

/* So many jobs that are awaited are spared, at most, to make place for one entry. With half of this
 * a table in which more than four of five idle entries are such jobs forgets some before paths;
 * with twice a new entry in a table full of them takes twice as many looks, under the lock.
 */
#define DALBE_SPARED_MAX	8

/* Buckets: 1 KB for each namespace. A full table has 32 entries in each, which a look-up reads in
 * some microseconds, once per connection or goal. With half of this that is twice as long; with
 * twice the namespaces of containers, which mostly have no entry, take 2 KB.
 */
#define DALBE_PATHS_BITS	7

/**
 * struct dalbe_path_key - what flows that share an entry have in common
 * @daddr: destination; an IPv4 address is mapped into IPv6
 * @gateway: of its route, likewise; 0: none, the destination is on the link
 * @ifindex: device of the route; 0: not known yet
 * @uid: user
 * @group: 0: none; else @daddr, @gateway and @ifindex are 0
 * @job: 0: the entry is a path's; else a job's, and all but @uid is 0. No padding, as all bytes are
 *	compared
 */
struct dalbe_path_key {
	struct in6_addr daddr;
	struct in6_addr gateway;
	u32 ifindex;
	u32 uid;
	u32 group;
	u32 job;
};

/**
 * struct dalbe_path - an entry
 * @key: does not change
 * @flows: that share it; 0: idle
 * @node: in a bucket; read under RCU
 * @paths: the table that it is in; NULL: in none. Changes under the table's lock
 * @idle: in dalbe_paths.idle while @flows is 0
 * @idle_since_ns: when it became idle, CLOCK_BOOTTIME, as what is known ages in suspend as well
 * @rcu: to free it
 * @memory: what is known of a path
 * @job: of a job's entry instead: its goal, and what sets w
 */
struct dalbe_path {
	struct dalbe_path_key key;
	refcount_t flows;
	struct hlist_node node;
	struct dalbe_paths __rcu *paths;
	struct list_head idle;
	u64 idle_since_ns;
	struct rcu_head rcu;
	union {
		struct path_memory memory;
		struct job job;
	};
};

/**
 * struct dalbe_paths - the table of a network namespace
 * @buckets: by a hash of the key
 * @lock: of all below, and of changes to @buckets
 * @idle: entries without a flow, the one idle for longest first
 * @work: removes those; pending only while there are any
 * @entries: in @buckets
 * @ended: the namespace ends: no entry any more
 * @net: the namespace
 */
struct dalbe_paths {
	DECLARE_HASHTABLE(buckets, DALBE_PATHS_BITS);
	spinlock_t lock;	/* see @lock */
	struct list_head idle;
	struct delayed_work work;
	u32 entries;
	bool ended;
	struct net *net;
};

static_assert(sizeof(struct dalbe_path_key) == 48);
static_assert(sizeof(struct dalbe_path) - sizeof(port_lock_t) < 512);

static unsigned int dalbe_paths_id __read_mostly;
static siphash_aligned_key_t dalbe_paths_secret __read_mostly;

static struct dalbe_paths *dalbe_net_paths(const struct net *net)
{
	return net_generic(net, dalbe_paths_id);
}

static struct dalbe_path *dalbe_path_of(struct path_memory *memory)
{
	return container_of(memory, struct dalbe_path, memory);
}

static struct dalbe_path *dalbe_path_of_job(struct job *job)
{
	return container_of(job, struct dalbe_path, job);
}

/* Destinations are the network's choice, where a server accepts: without the secret a client could
 * fill one bucket.
 */
static u32 dalbe_path_hash(const struct dalbe_path_key *key)
{
	return siphash(key, sizeof(*key), &dalbe_paths_secret) >> (64 - DALBE_PATHS_BITS);
}

/* Fill in the route that TCP uses; false: none at the moment. */
static bool dalbe_path_route(const struct sock *sk, struct dalbe_path_key *key)
{
	const struct dst_entry *dst;
	const struct rtable *rt;

	rcu_read_lock();
	dst = rcu_dereference(sk->sk_dst_cache);
	if (!dst) {
		rcu_read_unlock();
		return false;
	}
	key->ifindex = READ_ONCE(dst->dev)->ifindex;
	if (IS_ENABLED(CONFIG_IPV6) && dst->ops->family == AF_INET6) {
		key->gateway = container_of(dst, struct rt6_info, dst)->rt6i_gateway;
	} else {
		rt = container_of(dst, struct rtable, dst);
		if (rt->rt_gw_family == AF_INET6)
			key->gateway = rt->rt_gw6;
		else if (rt->rt_gw_family)
			ipv6_addr_set_v4mapped(rt->rt_gw4, &key->gateway);
	}
	rcu_read_unlock();
	return true;
}

static void dalbe_path_destination(const struct sock *sk, struct dalbe_path_key *key)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		key->daddr = sk->sk_v6_daddr;
		return;
	}
#endif
	ipv6_addr_set_v4mapped(sk->sk_daddr, &key->daddr);
}

/* fchown() takes no lock of the socket. */
static u32 dalbe_uid(const struct sock *sk)
{
	return READ_ONCE(sk->sk_uid.val);
}

/* While TCP looks for another route, as it does when nothing comes back, the flow's is that of
 * its entry, @old, if it has one.
 */
static struct dalbe_path_key dalbe_path_key(const struct sock *sk, const struct dalbe_path *old)
{
	struct dalbe_path_key key = {
		.uid = dalbe_uid(sk),
		.group = dalbe_sk(sk)->goal.group,
	};

	if (key.group)
		return key;
	dalbe_path_destination(sk, &key);
	if (!dalbe_path_route(sk, &key) && old) {
		key.ifindex = old->key.ifindex;
		key.gateway = old->key.gateway;
	}
	return key;
}

static bool dalbe_path_has_key(const struct dalbe_path *path, const struct dalbe_path_key *key)
{
	return !memcmp(&path->key, key, sizeof(*key));
}

/* Under RCU or the table's lock. */
static struct dalbe_path *dalbe_path_look_up(struct dalbe_paths *paths,
					     const struct dalbe_path_key *key)
{
	struct dalbe_path *path;

	hlist_for_each_entry_rcu(path, &paths->buckets[dalbe_path_hash(key)], node,
				 lockdep_is_held(&paths->lock))
		if (dalbe_path_has_key(path, key))
			return path;
	return NULL;
}

static bool dalbe_path_expired(const struct dalbe_path *path)
{
	return ktime_get_boottime_ns() >= path->idle_since_ns + DALBE_PATH_IDLE_NS;
}

/* A job that is not done, and not late: connections of it may be still to come. */
static bool dalbe_path_awaited(struct dalbe_path *path)
{
	struct job_known known;

	if (!path->key.job)
		return false;
	job_read(&path->job, &known);
	return known.control.goal.bytes && !known.done_ns &&
	       known.control.goal.deadline_ns > ktime_get_boottime_ns();
}

/* The goal of a job that is forgotten has ended when its last connection did. One that is awaited,
 * in a full table, has not: a connection to come begins it anew, and that one's end counts.
 */
static void dalbe_path_count_goal(struct dalbe_paths *paths, struct dalbe_path *path)
{
	struct job_known known;

	if (!path->key.job || refcount_read(&path->flows) || paths->ended ||
	    dalbe_path_awaited(path))
		return;
	job_read(&path->job, &known);
	if (!known.control.goal.bytes)
		return;
	dalbe_count_end(paths->net, &(struct dalbe_goal_end) {
		.bytes = known.bytes_done,
		.deadline_ns = known.control.goal.deadline_ns,
		.done_ns = known.done_ns,
		.end_ns = path->idle_since_ns,
		.was_infeasible = known.control.was_infeasible,
	});
}

/* Take an entry out of the table, whose lock is held. It is freed where it has no flow. */
static void dalbe_path_remove(struct dalbe_paths *paths, struct dalbe_path *path)
{
	dalbe_path_count_goal(paths, path);
	hash_del_rcu(&path->node);
	RCU_INIT_POINTER(path->paths, NULL);
	paths->entries--;
	if (!refcount_read(&path->flows)) {
		list_del(&path->idle);
		kfree_rcu(path, rcu);
	}
}

/* The entry with one flow more, or NULL: there is none. The lock is held.
 *
 * An entry that is too old, as the work is still to come after suspend, makes place for a new one:
 * others, which count a flow without the lock, must not find one that is written anew.
 */
static struct dalbe_path *dalbe_path_count(struct dalbe_paths *paths,
					   const struct dalbe_path_key *key)
{
	struct dalbe_path *path = dalbe_path_look_up(paths, key);

	if (!path || refcount_inc_not_zero(&path->flows))
		return path;
	if (dalbe_path_expired(path) && !dalbe_path_awaited(path)) {
		dalbe_path_remove(paths, path);
		return NULL;
	}
	list_del(&path->idle);
	refcount_set(&path->flows, 1);
	return path;
}

/* The entry with one flow more, or NULL: there is none. */
static struct dalbe_path *dalbe_path_find(struct dalbe_paths *paths,
					  const struct dalbe_path_key *key)
{
	struct dalbe_path *path;
	bool counted;

	rcu_read_lock();
	path = dalbe_path_look_up(paths, key);
	counted = path && refcount_inc_not_zero(&path->flows);
	rcu_read_unlock();
	if (!path || counted)
		return path;

	spin_lock_bh(&paths->lock);
	path = dalbe_path_count(paths, key);
	spin_unlock_bh(&paths->lock);
	return path;
}

/* An idle entry of a job that is awaited is kept for ten minutes more. The lock is held.
 *
 * Return: true where it was one.
 */
static bool dalbe_path_spare(struct dalbe_paths *paths, struct dalbe_path *path)
{
	if (!dalbe_path_awaited(path))
		return false;
	path->idle_since_ns = ktime_get_boottime_ns();
	list_move_tail(&path->idle, &paths->idle);
	return true;
}

/* Take the entry out that is idle for longest. The lock is held, and there is one. */
static void dalbe_paths_drop(struct dalbe_paths *paths)
{
	struct dalbe_path *path;
	int spared = 0;

	do {
		path = list_first_entry(&paths->idle, struct dalbe_path, idle);
	} while (spared++ < DALBE_SPARED_MAX && dalbe_path_spare(paths, path));
	dalbe_path_remove(paths, path);
}

/* Is there place for one more entry? The lock is held. There always is for a job: without that each
 * of its connections would have the whole goal to itself, and take what that needs.
 */
static bool dalbe_paths_make_place(struct dalbe_paths *paths, bool job)
{
	if (paths->ended)
		return false;
	if (paths->entries < DALBE_PATHS_MAX)
		return true;
	if (list_empty(&paths->idle))
		return job;
	dalbe_paths_drop(paths);
	return true;
}

/* Insert @path, which has one flow, where there is place for it; else it is that flow's own.
 *
 * Return: @path; or, with one flow more, the entry that somebody has inserted meanwhile.
 */
static struct dalbe_path *dalbe_path_insert(struct dalbe_paths *paths, struct dalbe_path *path)
{
	struct dalbe_path *there;

	spin_lock_bh(&paths->lock);
	there = dalbe_path_count(paths, &path->key);
	if (!there && dalbe_paths_make_place(paths, path->key.job)) {
		rcu_assign_pointer(path->paths, paths);
		hlist_add_head_rcu(&path->node, &paths->buckets[dalbe_path_hash(&path->key)]);
		paths->entries++;
	}
	spin_unlock_bh(&paths->lock);
	return there ?: path;
}

/* A new entry, with one flow, in no table; NULL: no memory. */
static struct dalbe_path *dalbe_path_alloc(const struct sock *sk, const struct dalbe_path_key *key)
{
	struct mem_cgroup *memcg = set_active_memcg(dalbe_sk_memcg(sk));
	struct dalbe_path *path;

	path = kzalloc(sizeof(*path), GFP_ATOMIC | __GFP_NOWARN | __GFP_ACCOUNT);
	set_active_memcg(memcg);
	if (!path)
		return NULL;
	path->key = *key;
	refcount_set(&path->flows, 1);
	if (key->job) {
		job_init(&path->job);
		return path;
	}
	path_memory_init(&path->memory);
	path->memory.group = key->group;
	return path;
}

/* The entry for @key, with one flow more; NULL: no memory. */
static struct dalbe_path *dalbe_path_get(const struct sock *sk, const struct dalbe_path_key *key)
{
	struct dalbe_paths *paths = dalbe_net_paths(sock_net(sk));
	struct dalbe_path *path = dalbe_path_find(paths, key), *new;

	if (path)
		return path;
	new = dalbe_path_alloc(sk, key);
	if (!new)
		return NULL;
	path = dalbe_path_insert(paths, new);
	if (path != new)
		kfree(new);	/* nobody has seen it */
	return path;
}

/* When the entry that is idle for longest is to go. The lock is held, and there is one. */
static void dalbe_paths_schedule(struct dalbe_paths *paths)
{
	u64 end_ns = list_first_entry(&paths->idle, struct dalbe_path, idle)->idle_since_ns +
		     DALBE_PATH_IDLE_NS;
	u64 now_ns = ktime_get_boottime_ns();

	/* a second more, as clocks differ: one run is to do */
	schedule_delayed_work(&paths->work, nsecs_to_jiffies(end_ns - min(end_ns, now_ns)) + HZ);
}

/* A flow of an entry in this table ends. False: the entry is not in it any more. */
static bool dalbe_path_put_in(struct dalbe_paths *paths, struct dalbe_path *path)
{
	bool there;

	spin_lock_bh(&paths->lock);
	there = rcu_access_pointer(path->paths);
	if (there && refcount_dec_and_test(&path->flows)) {
		path->idle_since_ns = ktime_get_boottime_ns();
		list_add_tail(&path->idle, &paths->idle);
		if (paths->entries > DALBE_PATHS_MAX)	/* there are jobs beyond */
			dalbe_paths_drop(paths);
		if (!list_empty(&paths->idle))
			dalbe_paths_schedule(paths);
	}
	spin_unlock_bh(&paths->lock);
	return there;
}

/* One flow less. */
static void dalbe_path_put(struct dalbe_path *path)
{
	struct dalbe_paths *paths;
	bool done;

	if (refcount_dec_not_one(&path->flows))
		return;
	rcu_read_lock();	/* dalbe_paths_exit() waits for us */
	paths = rcu_dereference(path->paths);
	done = paths && dalbe_path_put_in(paths, path);
	rcu_read_unlock();
	if (!done && refcount_dec_and_test(&path->flows))
		kfree_rcu(path, rcu);
}

/**
 * dalbe_path_join - share what is known of the socket's path
 * @sk: a locked socket of ours, with a flow; may be softirq
 *
 * Nothing changes where the flow shares the right memory already.
 *
 * Return: false where memory is short: the flow has what it had before, which may be none.
 */
bool dalbe_path_join(struct sock *sk)
{
	struct sender *s = &dalbe_sk(sk)->flow->sender;
	struct dalbe_path *old = s->memory ? dalbe_path_of(s->memory) : NULL, *path;
	struct dalbe_path_key key = dalbe_path_key(sk, old);

	if (old && dalbe_path_has_key(old, &key))
		return true;
	path = dalbe_path_get(sk, &key);
	if (!path)
		return false;
	sender_join(s, &path->memory, tcp_clock_us());
	if (old)
		dalbe_path_put(old);
	return true;
}

/**
 * dalbe_path_leave - share nothing any more
 * @sk: a locked socket of ours, with a flow; without a memory nothing is done
 */
void dalbe_path_leave(struct sock *sk)
{
	struct sender *s = &dalbe_sk(sk)->flow->sender;
	struct path_memory *memory = s->memory;

	if (!memory)
		return;
	sender_leave(s);
	dalbe_path_put(dalbe_path_of(memory));
}

/**
 * dalbe_path_flows - how many flows share the socket's path, itself among them
 * @sk: a locked socket of ours, with a flow
 *
 * Return: 0 where its base does not share one.
 */
u32 dalbe_path_flows(const struct sock *sk)
{
	const struct sender *s = &dalbe_sk(sk)->flow->sender;

	return s->memory ? refcount_read(&dalbe_path_of(s->memory)->flows) : 0;
}

/**
 * dalbe_job_join - have a part in the job that the socket's goal is of, or in none
 * @sk: a locked socket of ours, with a flow; may be softirq
 *
 * Return: false where memory is short: it has a part in none.
 */
bool dalbe_job_join(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;
	const struct dalbe_path_key key = {
		.uid = dalbe_uid(sk),
		.job = dalbe_sk(sk)->goal.job,
	};
	struct dalbe_path *path;

	if (flow->job && dalbe_path_has_key(dalbe_path_of_job(flow->job), &key))
		return true;
	dalbe_job_leave(sk);
	if (!key.job)
		return true;
	path = dalbe_path_get(sk, &key);
	if (!path)
		return false;
	flow->job = &path->job;
	return true;
}

/**
 * dalbe_job_leave - have no part in a job any more; what was done for it stays done
 * @sk: a locked socket of ours; of no effect where it has no part in one
 */
void dalbe_job_leave(struct sock *sk)
{
	struct dalbe_flow *flow = dalbe_sk(sk)->flow;

	if (!flow || !flow->job)
		return;
	job_add(flow->job, dalbe_bytes_done(sk), ktime_get_boottime_ns());
	dalbe_sk(sk)->goal.acked_before = tcp_sk(sk)->bytes_acked;
	dalbe_path_put(dalbe_path_of_job(flow->job));
	flow->job = NULL;
}

/* The idle are sorted by time, so the work stops at the first that is to stay. A job that is not
 * done, and not late, is looked at again in ten minutes.
 */
static void dalbe_paths_forget(struct work_struct *work)
{
	struct dalbe_paths *paths = container_of(to_delayed_work(work), struct dalbe_paths, work);
	struct dalbe_path *path, *next;

	spin_lock_bh(&paths->lock);
	list_for_each_entry_safe(path, next, &paths->idle, idle) {
		if (!dalbe_path_expired(path)) {
			dalbe_paths_schedule(paths);
			break;
		}
		if (!dalbe_path_spare(paths, path))
			dalbe_path_remove(paths, path);
	}
	spin_unlock_bh(&paths->lock);
}

static int __net_init dalbe_paths_init(struct net *net)
{
	struct dalbe_paths *paths = dalbe_net_paths(net);

	paths->net = net;
	hash_init(paths->buckets);
	spin_lock_init(&paths->lock);
	INIT_LIST_HEAD(&paths->idle);
	INIT_DELAYED_WORK(&paths->work, dalbe_paths_forget);
	return 0;
}

/* Kernel sockets do not hold their namespace, and may be closed after this: their flows keep their
 * entries, which are in no table any more, and those to come are given one of their own.
 */
static void __net_exit dalbe_paths_exit(struct net *net)
{
	struct dalbe_paths *paths = dalbe_net_paths(net);
	bool flows = false;
	struct dalbe_path *path;
	struct hlist_node *next;
	int bucket;

	spin_lock_bh(&paths->lock);
	paths->ended = true;
	hash_for_each_safe(paths->buckets, bucket, next, path, node) {
		flows |= refcount_read(&path->flows);
		dalbe_path_remove(paths, path);
	}
	spin_unlock_bh(&paths->lock);
	cancel_delayed_work_sync(&paths->work);	/* only an entry in the table schedules it */
	if (flows)
		synchronize_rcu();	/* one of these may be on its way to the lock */
}

static struct pernet_operations dalbe_paths_ops = {
	.init	= dalbe_paths_init,
	.exit	= dalbe_paths_exit,
	.id	= &dalbe_paths_id,
	.size	= sizeof(struct dalbe_paths),
};

/**
 * dalbe_paths_register - create the tables
 *
 * Return: 0 or a negative errno.
 */
int dalbe_paths_register(void)
{
	get_random_bytes(&dalbe_paths_secret, sizeof(dalbe_paths_secret));
	return register_pernet_subsys(&dalbe_paths_ops);
}

/**
 * dalbe_paths_unregister - undo dalbe_paths_register(); no socket is ours any more
 *
 * So no entry has a flow, and each goes with its table. What RCU frees later needs no code of ours.
 */
void dalbe_paths_unregister(void)
{
	unregister_pernet_subsys(&dalbe_paths_ops);
}
