// SPDX-License-Identifier: GPL-2.0-only
/* The module: /dev/dalbe, net.dalbe.* and the congestion controls come and go together. */
#include <linux/module.h>

#include "dalbe.h"
#include "../version.h"

/* Those before @end. */
static void dalbe_unregister_controls(const struct dalbe_cc *end)
{
	struct dalbe_cc *cc;

	for (cc = dalbe_controls; cc != end && cc->uncontrolled; cc++)
		tcp_unregister_congestion_control(&cc->ops);
}

static int __init dalbe_register_controls(void)
{
	struct dalbe_cc *cc;
	int err;

	for (cc = dalbe_controls; cc->uncontrolled; cc++) {
		dalbe_set_hooks(cc);
		err = tcp_register_congestion_control(&cc->ops);
		if (err) {
			dalbe_unregister_controls(cc);
			return err;
		}
	}
	return 0;
}

static int __init dalbe_register(void)
{
	int err;

	BUILD_BUG_ON(sizeof(struct dalbe_sock) > ICSK_CA_PRIV_SIZE);

	err = dalbe_defaults_register();
	if (err)
		return err;
	err = dalbe_counters_register();
	if (err)
		goto no_counters;
	err = dalbe_paths_register();
	if (err)
		goto no_paths;
	err = dalbe_device_register();
	if (err)
		goto no_device;
	err = dalbe_register_controls();
	if (err)
		goto no_control;
	return 0;

no_control:
	dalbe_device_unregister();
no_device:
	dalbe_paths_unregister();
no_paths:
	dalbe_counters_unregister();
no_counters:
	dalbe_defaults_unregister();
	return err;
}

static void __exit dalbe_unregister(void)
{
	dalbe_unregister_controls(NULL);
	dalbe_device_unregister();
	dalbe_paths_unregister();
	dalbe_counters_unregister();
	dalbe_defaults_unregister();
}

module_init(dalbe_register);
module_exit(dalbe_unregister);

MODULE_DESCRIPTION("Deadline-aware less-than-best-effort TCP on CAIA Delay-Gradient");
MODULE_LICENSE("GPL");
MODULE_VERSION(DALBE_VERSION);
/* TCP looks for a congestion control's module by tcp_ and the name, of which there may be more. */
MODULE_ALIAS("tcp_dalbe_*");
