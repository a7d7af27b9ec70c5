// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/dalbe; dalbe_ctl.h is its documentation.
 *
 * An ioctl looks its socket up, locks it, and has goal.c change plain data. No reference
 * survives the call.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/time_namespace.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "dalbe.h"

static int dalbe_lock(struct socket *sock)
{
	lock_sock(sock->sk);
	if (inet_csk(sock->sk)->icsk_ca_ops->init == dalbe_init)
		return 0;
	release_sock(sock->sk);
	return -ENOPROTOOPT;
}

/* Lock the socket to change it. Security modules and BPF programs of its cgroup may refuse
 * setsockopt() on it, so we ask them first, by the option that has made it ours. We hand in an
 * empty name, to which TCP says EINVAL once these have agreed: a real one, even that which the
 * socket has, would undo what another thread chooses meanwhile. A program that itself refuses with
 * EINVAL has agreed.
 */
static int dalbe_lock_to_change(struct socket *sock)
{
	int err = dalbe_lock(sock);
	char name[] = "";

	if (err)
		return err;
	release_sock(sock->sk);
	err = do_sock_setsockopt(sock, false, IPPROTO_TCP, TCP_CONGESTION,
				 KERNEL_SOCKPTR(name), 0);
	return err && err != -EINVAL ? err : dalbe_lock(sock);
}

/* The socket behind @fd, locked and found to be ours; dalbe_put_locked() afterwards. */
static struct socket *dalbe_get_locked(int fd, int (*lock)(struct socket *sock))
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

static void dalbe_put_locked(struct socket *sock)
{
	release_sock(sock->sk);
	sockfd_put(sock);
}

/* The caller's CLOCK_BOOTTIME is so much ahead of the machine's, ns: a time namespace, as that of a
 * container that was restored, shifts it. Goals are kept by the machine's clock, as the next
 * process that has the socket may be in another namespace.
 */
static s64 dalbe_clock_ahead_ns(void)
{
	return timens_add_boottime_ns(0);
}

static int dalbe_ioctl_set_goal(struct dalbe_goal *goal)
{
	struct socket *sock;
	int err;

	err = goal_check(goal);
	if (err)
		return err;
	if (!(goal->flags & DALBE_GOAL_RELATIVE))
		goal->deadline_ns -= min_t(s64, dalbe_clock_ahead_ns(), goal->deadline_ns);

	sock = dalbe_get_locked(goal->fd, dalbe_lock_to_change);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	err = dalbe_sk_set_goal(sock->sk, goal);
	dalbe_put_locked(sock);
	return err;
}

static int dalbe_ioctl_get_state(struct dalbe_state *state)
{
	const struct dalbe_state request = { .fd = state->fd };
	struct socket *sock;

	if (memcmp(state, &request, sizeof(request)))
		return -EINVAL;

	sock = dalbe_get_locked(state->fd, dalbe_lock);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	dalbe_sk_get_state(sock->sk, state);
	dalbe_put_locked(sock);
	if (state->goal_bytes)
		state->deadline_ns += dalbe_clock_ahead_ns();
	return 0;
}

static int dalbe_ioctl_clear_goal(const struct dalbe_clear *clear)
{
	struct socket *sock;

	if (clear->flags)
		return -EINVAL;

	sock = dalbe_get_locked(clear->fd, dalbe_lock_to_change);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	dalbe_sk_clear_goal(sock->sk);
	dalbe_put_locked(sock);
	return 0;
}

static int dalbe_ioctl_set_params(const struct dalbe_params *p)
{
	struct socket *sock;
	int err;

	err = goal_check_params(p);
	if (err)
		return err;

	sock = dalbe_get_locked(p->fd, dalbe_lock_to_change);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	dalbe_sk_set_params(sock->sk, p);
	dalbe_put_locked(sock);
	return 0;
}

static int dalbe_ioctl_set_group(const struct dalbe_group *group)
{
	struct socket *sock;
	int err;

	if (group->flags || group->reserved)
		return -EINVAL;

	sock = dalbe_get_locked(group->fd, dalbe_lock_to_change);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	err = dalbe_sk_set_group(sock->sk, group->group);
	dalbe_put_locked(sock);
	return err;
}

static bool dalbe_knows(unsigned int cmd)
{
	switch (cmd) {
	case DALBE_IOC_SET_GOAL:
	case DALBE_IOC_GET_STATE:
	case DALBE_IOC_CLEAR_GOAL:
	case DALBE_IOC_SET_PARAMS:
	case DALBE_IOC_SET_GROUP:
		return true;
	default:
		return false;
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
		struct dalbe_group group;
	} u;
	long err;

	if (!dalbe_knows(cmd)) {
		/* Ours, but built against another header? */
		if (_IOC_TYPE(cmd) == DALBE_IOC_MAGIC && _IOC_NR(cmd) >= 1 &&
		    _IOC_NR(cmd) <= 5)
			return -EINVAL;
		return -ENOTTY;
	}
	if (cmd != DALBE_IOC_GET_STATE && !(file->f_mode & FMODE_WRITE))
		return -EACCES;
	if (copy_from_user(&u, user, _IOC_SIZE(cmd)))
		return -EFAULT;

	switch (cmd) {
	case DALBE_IOC_SET_GOAL:
		return dalbe_ioctl_set_goal(&u.goal);
	case DALBE_IOC_CLEAR_GOAL:
		return dalbe_ioctl_clear_goal(&u.clear);
	case DALBE_IOC_SET_PARAMS:
		return dalbe_ioctl_set_params(&u.params);
	case DALBE_IOC_SET_GROUP:
		return dalbe_ioctl_set_group(&u.group);
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

/* Open to everybody: a goal only makes a socket that the caller already holds more modest. Not
 * so by dalbe_vegas at w = 1, which only CAP_NET_ADMIN can select.
 */
static struct miscdevice dalbe_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "dalbe",
	.fops	= &dalbe_fops,
	.mode	= 0666,
};

/**
 * dalbe_device_register - create /dev/dalbe
 *
 * Return: 0 or a negative errno.
 */
int dalbe_device_register(void)
{
	return misc_register(&dalbe_device);
}

/**
 * dalbe_device_unregister - undo dalbe_device_register()
 */
void dalbe_device_unregister(void)
{
	misc_deregister(&dalbe_device);
}
