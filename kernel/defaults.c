// SPDX-License-Identifier: GPL-2.0-only
/*
 * The defaults. In each network namespace net.dalbe.*:
 *
 *	g_us		G without a goal, us			2 .. 125000
 *	idle_g_us	least G of a flow with a goal while the
 *			queue is short, us; 0: none		0 .. 125000
 *	effect		of dalbe_cdg where a controller sets w:
 *			ask whose path it is; 0: yield by a
 *			small G				0 .. 1
 *	controller	0 fixed, 1 PID, 2 MBC, 3 weight,
 *			4 rate floor				0 .. 4
 *	scavenger	controller 3 without a goal		0 .. 1
 *	tw_ms		update period of w; 0: from window
 *			and RTT				0, 100 .. 600000
 *	wmin_ppm	lowest w, parts per million		1000 .. 1000000
 *	limit_increase	w and phi rise slowly, F(19)		0 .. 1
 *	after_deadline	0 best effort, 1 scavenger, 2 keep	0 .. 2
 *	hystart		0 off, 1 ACK train, 2 delay, 3 both	0 .. 3
 *	cubic_inflate	w of bases that pay for losses alone,
 *			as dalbe_cubic's: 0 phantom signals,
 *			1 beta					0 .. 1
 *
 * A new network namespace begins with those of the machine's first, as it does with that one's
 * congestion control. For the whole machine there are the module's parameters.
 *
 * hystart and cubic_inflate act from a connection's next round on, the others on goals and
 * connections that begin after the write. But where a socket is given one setting
 * (DALBE_IOC_SET_PARAMS), those that it has not been given are read anew, too: all, but of a socket
 * that stays under control only controller, tw_ms, wmin_ppm, limit_increase and after_deadline.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "compat.h"
#include "dalbe.h"

/* The root of a network namespace has net.dalbe.*, but must not turn off the answers to delay
 * and loss of other users' connections: these switches are the machine's, as in tcp_cdg.c.
 */
static u8 use_ineff;
module_param(use_ineff, byte, 0644);
MODULE_PARM_DESC(use_ineff, "ignore delay after so many backoffs without effect (0: never)");

static bool use_shadow;
module_param(use_shadow, bool, 0644);
MODULE_PARM_DESC(use_shadow, "after a loss, resume at the window held before delay backoffs");

static bool use_tolerance;
module_param(use_tolerance, bool, 0644);
MODULE_PARM_DESC(use_tolerance, "without a goal, take a loss while the queue drains for no congestion");

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
	/* On 10 Mbit/s and 50 ms two packets to a look are as much as w = 0.02: half saves nothing
	 * there, and twice takes no more (1.3 % beside two CUBIC flows). Faster links see both.
	 */
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

/**
 * dalbe_heuristics - CDG's heuristics in force
 * @sk: a locked socket of ours
 *
 * A goal must not leave a loss unanswered: use_shadow, which answers one less, and use_tolerance
 * are for CDG at a fixed G.
 */
struct cdg_heuristics dalbe_heuristics(const struct sock *sk)
{
	const struct dalbe_defaults *def = dalbe_net_defaults(sock_net(sk));

	return (struct cdg_heuristics) {
		.use_ineff = READ_ONCE(use_ineff),
		.use_shadow = READ_ONCE(use_shadow) && !dalbe_sk(sk)->controlled,
		.use_tolerance = READ_ONCE(use_tolerance) &&
				 !dalbe_sk(sk)->controlled,
		.hystart = READ_ONCE(def->hystart),
		.inflate_beta = READ_ONCE(def->cubic_inflate),
	};
}

static int dalbe_g_min_us = CDG_G_MIN_NS / 1000;
static int dalbe_g_max_us = CDG_G_MAX_NS / 1000;
static int dalbe_tw_max_ms = DALBE_TW_MAX_MS;
static int dalbe_wmin_min_ppm = DALBE_WMIN_MIN_PPM;
static int dalbe_wmin_max_ppm = DALBE_WMIN_MAX_PPM;
static int dalbe_controller_max = DALBE_CONTROLLER_FLOOR;
static int dalbe_hystart_max = CDG_HYSTART_TRAIN | CDG_HYSTART_DELAY;

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
	if (!goal_tw_valid(tw_ms))
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
	DALBE_SYSCTL(cubic_inflate, proc_dointvec_minmax, SYSCTL_ZERO, SYSCTL_ONE),
};

static int __net_init dalbe_net_init(struct net *net)
{
	struct dalbe_net *dn = net_generic(net, dalbe_net_id);
	int i;

	dn->defaults = dalbe_builtin_defaults;
	if (!net_eq(net, &init_net))	/* an int that is written meanwhile is the old or the new */
		dn->defaults = data_race(*dalbe_net_defaults(&init_net));
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
	if (!dn->header && IS_ENABLED(CONFIG_SYSCTL)) {
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

/**
 * dalbe_defaults_register - create net.dalbe.*
 *
 * Return: 0 or a negative errno.
 */
int dalbe_defaults_register(void)
{
	return register_pernet_subsys(&dalbe_net_ops);
}

/**
 * dalbe_defaults_unregister - undo dalbe_defaults_register(); no socket is ours any more
 */
void dalbe_defaults_unregister(void)
{
	unregister_pernet_subsys(&dalbe_net_ops);
}
