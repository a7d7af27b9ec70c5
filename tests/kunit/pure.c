// SPDX-License-Identifier: GPL-2.0-only
/* The code under test. */
#include <linux/module.h>

#include "../../cdg.c"
#include "../../cubic.c"
#include "../../effect.c"
#include "../../owd.c"
#include "../../dalbe.c"

MODULE_DESCRIPTION("KUnit tests of dalbe's arithmetic");
MODULE_LICENSE("GPL");
