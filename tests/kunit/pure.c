// SPDX-License-Identifier: GPL-2.0-only
/* The code under test. */
#include <linux/module.h>

#include "core/bases/exp.c"
#include "core/bases/cdg.c"
#include "core/bases/cdg_price.c"
#include "core/bases/hystart.c"
#include "core/scavenger/cubic.c"
#include "core/scavenger/path_memory.c"
#include "core/scavenger/owd.c"
#include "core/control/control.c"
#include "core/control/equations.c"

MODULE_DESCRIPTION("KUnit tests of dalbe's arithmetic");
MODULE_LICENSE("GPL");
