// SPDX-License-Identifier: GPL-2.0-only
/*
 * The test of the tests: a module with one deliberate fault, which the guest
 * has to notice, or its silence about the real module means nothing.
 */
#include <linux/bug.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

static char *fault = "";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "leak, warn, lock or out_of_bounds");

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);

/* Two locks in both orders: no deadlock here, but one that lockdep foresees. */
static void lock_both_ways(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

/* Like a struct dalbe_flow that is not freed; many, as kmemleak takes for in use what any
 * word of memory seems to point to: of eight it once reported none.
 */
static void leak(void)
{
	void *area;
	int i;

	for (i = 0; i < 64; i++) {
		area = kmalloc(900, GFP_KERNEL);
		OPTIMIZER_HIDE_VAR(area);
	}
}

static void out_of_bounds(void)
{
	u8 *area = kzalloc(100, GFP_KERNEL);
	int end = 100;

	OPTIMIZER_HIDE_VAR(end);
	if (area)
		WRITE_ONCE(area[end], 1);
	kfree(area);
}

static int __init dalbe_faulty_init(void)
{
	if (!strcmp(fault, "leak"))
		leak();
	else if (!strcmp(fault, "warn"))
		WARN(1, "deliberate\n");
	else if (!strcmp(fault, "lock"))
		lock_both_ways();
	else if (!strcmp(fault, "out_of_bounds"))
		out_of_bounds();
	else
		return -EINVAL;
	return 0;
}

static void __exit dalbe_faulty_exit(void)
{
}

module_init(dalbe_faulty_init);
module_exit(dalbe_faulty_exit);

MODULE_DESCRIPTION("Deliberate faults, to test that tests notice them");
MODULE_LICENSE("GPL");
