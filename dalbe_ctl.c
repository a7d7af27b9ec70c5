// SPDX-License-Identifier: GPL-2.0-only
/*
 * The user's side: /dev/dalbe (dalbe_ctl.h is its documentation) and, in each
 * network namespace, the defaults in net.dalbe.*:
 *
 *	g_us		G without a goal, us			2 .. 125000
 *	idle_g_us	least G of a flow with a goal while the
 *			queue is short, us; 0: none		0 .. 125000
 *	effect		ask whose queue it is		0 .. 1
 *	controller	0 fixed, 1 PID, 2 MBC, 3 weight,
 *			4 rate floor				0 .. 4
 *	scavenger	controller 3 without a goal		0 .. 1
 *	tw_ms		update period of w; 0: from window
 *			and RTT				0, 100 .. 600000
 *	wmin_ppm	lowest w, parts per million		1000 .. 1000000
 *	limit_increase	w and phi rise slowly, F(19)		0 .. 1
 *	after_deadline	0 best effort, 1 scavenger, 2 keep	0 .. 2
 *	hystart		0 off, 1 ACK train, 2 delay, 3 both	0 .. 3
 *
 * hystart acts from a connection's next round on, the others on goals and
 * connections that begin after the write.
 *
 * An ioctl looks its socket up, locks it, and has the congestion control change
 * plain data. No reference survives the call.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

#include "compat.h"
#include "tcp_dalbe_cdg.h"

static unsigned int dalbe_net_id __read_mostly;

struct dalbe_net {
	struct dalbe_defaults defaults;
	struct ctl_table_header *header;
	struct ctl_table *table;
};

static const struct dalbe_defaults dalbe_builtin_defaults = {
	.g_us		= CDG_G_DEFAULT_NS / 1000,
	.idle_g_us	= CDG_IDLE_G_DEFAULT_NS / 1000,
	.effect		= 1,
	.controller	= DALBE_CONTROLLER_MBC,
	.wmin_ppm	= 10000,
	.limit_increase	= 1,
	.after_deadline	= DALBE_AFTER_BEST_EFFORT,
	.hystart	= CDG_HYSTART_TRAIN | CDG_HYSTART_DELAY,
};

/**
 * dalbe_net_defaults - the namespace's net.dalbe.*
 * @net: network namespace
 *
 * Return: never NULL; members change at any time.
 */
const struct dalbe_defaults *dalbe_net_defaults(const struct net *net)
{
	const struct dalbe_net *dn = net_generic(net, dalbe_net_id);

	return &dn->defaults;
}

static int dalbe_g_min_us = CDG_G_MIN_NS / 1000;
static int dalbe_g_max_us = CDG_G_MAX_NS / 1000;
static int dalbe_tw_max_ms = DALBE_TW_MAX_MS;
static int dalbe_wmin_min_ppm = DALBE_WMIN_MIN_PPM;
static int dalbe_wmin_max_ppm = DALBE_WMIN_MAX_PPM;
static int dalbe_controller_max = DALBE_CONTROLLER_FLOOR;
static int dalbe_hystart_max = CDG_HYSTART_TRAIN | CDG_HYSTART_DELAY;

static bool dalbe_tw_valid(u32 tw_ms)
{
	return !tw_ms || (tw_ms >= DALBE_TW_MIN_MS && tw_ms <= DALBE_TW_MAX_MS);
}

/* As proc_dointvec_minmax(), but 1 .. 99 is not a period either. */
static int dalbe_proc_tw(DALBE_CTL_TABLE *table, int write, void *buffer,
			 size_t *lenp, loff_t *ppos)
{
	int tw_ms = READ_ONCE(*(int *)table->data);
	struct ctl_table copy = *table;
	int err;

	copy.data = &tw_ms;
	err = proc_dointvec_minmax(&copy, write, buffer, lenp, ppos);
	if (err || !write)
		return err;
	if (!dalbe_tw_valid(tw_ms))
		return -EINVAL;
	WRITE_ONCE(*(int *)table->data, tw_ms);
	return 0;
}

#define DALBE_SYSCTL(field, handler, lowest, highest) {			\
	.procname	= #field,					\
	.data		= (void *)offsetof(struct dalbe_defaults, field), \
	.maxlen		= sizeof(int),					\
	.mode		= 0644,						\
	.proc_handler	= handler,					\
	.extra1		= lowest,					\
	.extra2		= highest,					\
}

/* .data is an offset here; each namespace's copy has the address. */
static const struct ctl_table dalbe_sysctls[] = {
	DALBE_SYSCTL(g_us, proc_dointvec_minmax,
		     &dalbe_g_min_us, &dalbe_g_max_us),
	DALBE_SYSCTL(idle_g_us, proc_dointvec_minmax,
		     SYSCTL_ZERO, &dalbe_g_max_us),
	DALBE_SYSCTL(effect, proc_dointvec_minmax, SYSCTL_ZERO, SYSCTL_ONE),
	DALBE_SYSCTL(controller, proc_dointvec_minmax,
		     SYSCTL_ZERO, &dalbe_controller_max),
	DALBE_SYSCTL(scavenger, proc_dointvec_minmax, SYSCTL_ZERO, SYSCTL_ONE),
	DALBE_SYSCTL(tw_ms, dalbe_proc_tw, SYSCTL_ZERO, &dalbe_tw_max_ms),
	DALBE_SYSCTL(wmin_ppm, proc_dointvec_minmax,
		     &dalbe_wmin_min_ppm, &dalbe_wmin_max_ppm),
	DALBE_SYSCTL(limit_increase, proc_dointvec_minmax,
		     SYSCTL_ZERO, SYSCTL_ONE),
	DALBE_SYSCTL(after_deadline, proc_dointvec_minmax,
		     SYSCTL_ZERO, SYSCTL_TWO),
	DALBE_SYSCTL(hystart, proc_dointvec_minmax,
		     SYSCTL_ZERO, &dalbe_hystart_max),
};

static int __net_init dalbe_net_init(struct net *net)
{
	struct dalbe_net *dn = net_generic(net, dalbe_net_id);
	int i;

	dn->defaults = dalbe_builtin_defaults;
	/* One more: the empty entry that kernels before 6.6 look for. */
	dn->table = kcalloc(ARRAY_SIZE(dalbe_sysctls) + 1, sizeof(*dn->table),
			    GFP_KERNEL);
	if (!dn->table)
		return -ENOMEM;
	memcpy(dn->table, dalbe_sysctls, sizeof(dalbe_sysctls));
	for (i = 0; i < ARRAY_SIZE(dalbe_sysctls); i++)
		dn->table[i].data = (char *)&dn->defaults +
				    (uintptr_t)dalbe_sysctls[i].data;

	dn->header = register_net_sysctl_sz(net, "net/dalbe", dn->table,
					    ARRAY_SIZE(dalbe_sysctls));
	if (!dn->header) {
		kfree(dn->table);
		return -ENOMEM;
	}
	return 0;
}

static void __net_exit dalbe_net_exit(struct net *net)
{
	struct dalbe_net *dn = net_generic(net, dalbe_net_id);

	unregister_net_sysctl_table(dn->header);
	kfree(dn->table);
}

static struct pernet_operations dalbe_net_ops = {
	.init	= dalbe_net_init,
	.exit	= dalbe_net_exit,
	.id	= &dalbe_net_id,
	.size	= sizeof(struct dalbe_net),
};

static int dalbe_lock(struct socket *sock)
{
	lock_sock(sock->sk);
	if (dalbe_sk_is_ours(sock->sk))
		return 0;
	release_sock(sock->sk);
	return -ENOPROTOOPT;
}

/* Lock the socket, to be changed. First whoever may object to setsockopt() on it is
 * asked, security modules and BPF programs of its cgroup, by the option that has made it
 * ours and leaves it so. Where a route has locked that choice TCP refuses any; it is given
 * none then, which it is the last to find out.
 */
static int dalbe_lock_to_change(struct socket *sock)
{
	int err = dalbe_lock(sock);
	bool locked;

	if (err)
		return err;
	locked = inet_csk(sock->sk)->icsk_ca_dst_locked;
	release_sock(sock->sk);
	err = do_sock_setsockopt(sock, false, IPPROTO_TCP, TCP_CONGESTION,
				 KERNEL_SOCKPTR(DALBE_CC_CDG),
				 locked ? 0 : strlen(DALBE_CC_CDG));
	if (locked && err == -EINVAL)
		err = 0;
	return err ?: dalbe_lock(sock);
}

/* The socket behind @fd, locked and found to be ours; dalbe_put() afterwards. */
static struct socket *dalbe_get(int fd, int (*lock)(struct socket *sock))
{
	struct socket *sock;
	int err;

	sock = sockfd_lookup(fd, &err);
	if (!sock)
		return ERR_PTR(err);

	err = sock->sk && sk_is_tcp(sock->sk) ? lock(sock) : -EOPNOTSUPP;
	if (err) {
		sockfd_put(sock);
		return ERR_PTR(err);
	}
	return sock;
}

static void dalbe_put(struct socket *sock)
{
	release_sock(sock->sk);
	sockfd_put(sock);
}

static int dalbe_check_goal(const struct dalbe_goal *goal)
{
	if (goal->flags & ~(DALBE_GOAL_RELATIVE | DALBE_GOAL_UPDATE) ||
	    goal->reserved[0] || goal->reserved[1] || !goal->bytes)
		return -EINVAL;
	if (goal->bytes > S64_MAX || goal->deadline_ns > S64_MAX)
		return -EOVERFLOW;
	return 0;
}

static int dalbe_ioctl_set_goal(const struct dalbe_goal *goal)
{
	struct socket *sock;
	int err;

	err = dalbe_check_goal(goal);
	if (err)
		return err;

	sock = dalbe_get(goal->fd, dalbe_lock_to_change);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	err = dalbe_sk_set_goal(sock->sk, goal->bytes, goal->deadline_ns,
				goal->flags);
	dalbe_put(sock);
	return err;
}

static int dalbe_ioctl_get_state(struct dalbe_state *state)
{
	const struct dalbe_state request = { .fd = state->fd };
	struct socket *sock;

	if (memcmp(state, &request, sizeof(request)))
		return -EINVAL;

	sock = dalbe_get(state->fd, dalbe_lock);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	dalbe_sk_get_state(sock->sk, state);
	dalbe_put(sock);
	return 0;
}

static int dalbe_ioctl_clear_goal(const struct dalbe_clear *clear)
{
	struct socket *sock;

	if (clear->flags)
		return -EINVAL;

	sock = dalbe_get(clear->fd, dalbe_lock_to_change);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	dalbe_sk_clear_goal(sock->sk);
	dalbe_put(sock);
	return 0;
}

static int dalbe_check_params(const struct dalbe_params *p)
{
	const u32 known = DALBE_PARAM_G | DALBE_PARAM_CONTROLLER |
			  DALBE_PARAM_TW | DALBE_PARAM_WMIN | DALBE_PARAM_AFTER;

	if (!p->flags || p->flags & ~known ||
	    memchr_inv(p->reserved, 0, sizeof(p->reserved)))
		return -EINVAL;
	if ((!(p->flags & DALBE_PARAM_G) && p->g_ns) ||
	    (!(p->flags & DALBE_PARAM_CONTROLLER) && p->controller) ||
	    (!(p->flags & DALBE_PARAM_TW) && p->tw_ms) ||
	    (!(p->flags & DALBE_PARAM_WMIN) && p->wmin_ppm) ||
	    (!(p->flags & DALBE_PARAM_AFTER) && p->after_deadline))
		return -EINVAL;

	if (p->flags & DALBE_PARAM_G &&
	    (p->g_ns < DALBE_G_MIN_NS || p->g_ns > DALBE_G_MAX_NS))
		return -ERANGE;
	if (p->flags & DALBE_PARAM_WMIN &&
	    (p->wmin_ppm < DALBE_WMIN_MIN_PPM ||
	     p->wmin_ppm > DALBE_WMIN_MAX_PPM))
		return -ERANGE;
	if (p->controller > DALBE_CONTROLLER_FLOOR ||
	    p->after_deadline > DALBE_AFTER_KEEP || !dalbe_tw_valid(p->tw_ms))
		return -ERANGE;
	return 0;
}

static int dalbe_ioctl_set_params(const struct dalbe_params *p)
{
	struct socket *sock;
	int err;

	err = dalbe_check_params(p);
	if (err)
		return err;

	sock = dalbe_get(p->fd, dalbe_lock_to_change);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	dalbe_sk_set_params(sock->sk, p);
	dalbe_put(sock);
	return 0;
}

static size_t dalbe_alignment(unsigned int cmd)
{
	switch (cmd) {
	case DALBE_IOC_SET_GOAL:
		return __alignof__(struct dalbe_goal);
	case DALBE_IOC_GET_STATE:
		return __alignof__(struct dalbe_state);
	default:
		return __alignof__(__u32);
	}
}

static long dalbe_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	union {
		struct dalbe_goal goal;
		struct dalbe_state state;
		struct dalbe_clear clear;
		struct dalbe_params params;
	} u;
	long err;

	switch (cmd) {
	case DALBE_IOC_SET_GOAL:
	case DALBE_IOC_GET_STATE:
	case DALBE_IOC_CLEAR_GOAL:
	case DALBE_IOC_SET_PARAMS:
		break;
	default:
		/* Ours, but built against another header? */
		if (_IOC_TYPE(cmd) == DALBE_IOC_MAGIC && _IOC_NR(cmd) >= 1 &&
		    _IOC_NR(cmd) <= 4)
			return -EINVAL;
		return -ENOTTY;
	}
	if (cmd != DALBE_IOC_GET_STATE && !(file->f_mode & FMODE_WRITE))
		return -EACCES;
	if (!IS_ALIGNED(arg, dalbe_alignment(cmd)))
		return -EINVAL;
	if (copy_from_user(&u, user, _IOC_SIZE(cmd)))
		return -EFAULT;

	switch (cmd) {
	case DALBE_IOC_SET_GOAL:
		return dalbe_ioctl_set_goal(&u.goal);
	case DALBE_IOC_CLEAR_GOAL:
		return dalbe_ioctl_clear_goal(&u.clear);
	case DALBE_IOC_SET_PARAMS:
		return dalbe_ioctl_set_params(&u.params);
	}
	err = dalbe_ioctl_get_state(&u.state);
	if (!err && copy_to_user(user, &u.state, sizeof(u.state)))
		err = -EFAULT;
	return err;
}

static const struct file_operations dalbe_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= dalbe_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.llseek		= noop_llseek,
};

/* Open to everybody: a goal only makes a socket that the caller already holds
 * more modest.
 */
static struct miscdevice dalbe_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "dalbe",
	.fops	= &dalbe_fops,
	.mode	= 0666,
};

/**
 * dalbe_ctl_register - create sysctls and device
 *
 * Return: 0 or a negative errno.
 */
int dalbe_ctl_register(void)
{
	int err;

	err = register_pernet_subsys(&dalbe_net_ops);
	if (err)
		return err;
	err = misc_register(&dalbe_device);
	if (err)
		unregister_pernet_subsys(&dalbe_net_ops);
	return err;
}

/**
 * dalbe_ctl_unregister - undo dalbe_ctl_register(); no socket is ours any more
 */
void dalbe_ctl_unregister(void)
{
	misc_deregister(&dalbe_device);
	unregister_pernet_subsys(&dalbe_net_ops);
}
