// SPDX-License-Identifier: GPL-2.0-only
/* The module: /dev/dalbe, net.dalbe.* and the congestion controls come and go together. */
#include <linux/module.h>

#include "dalbe.h"
#include "../version.h"

static struct dalbe_cc *const dalbe_controls[] = {
	&tcp_dalbe_cdg, &tcp_dalbe_cubic, &tcp_dalbe_vegas,
};

static void dalbe_unregister_controls(int count)
{
	while (count--)
		tcp_unregister_congestion_control(&dalbe_controls[count]->ops);
}

static int __init dalbe_register_controls(void)
{
	int err, i;

	for (i = 0; i < ARRAY_SIZE(dalbe_controls); i++) {
		dalbe_hook_in(dalbe_controls[i]);
		err = tcp_register_congestion_control(&dalbe_controls[i]->ops);
		if (err) {
			dalbe_unregister_controls(i);
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
	dalbe_defaults_unregister();
	return err;
}

static void __exit dalbe_unregister(void)
{
	dalbe_unregister_controls(ARRAY_SIZE(dalbe_controls));
	dalbe_device_unregister();
	dalbe_defaults_unregister();
}

module_init(dalbe_register);
module_exit(dalbe_unregister);

MODULE_DESCRIPTION("Deadline-aware less-than-best-effort TCP on CAIA Delay-Gradient");
MODULE_LICENSE("GPL");
MODULE_VERSION(DALBE_VERSION);
MODULE_ALIAS("tcp_dalbe_cdg");
MODULE_ALIAS("tcp_dalbe_cubic");
MODULE_ALIAS("tcp_dalbe_vegas");
