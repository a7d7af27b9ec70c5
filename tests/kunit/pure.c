// SPDX-License-Identifier: GPL-2.0-only
/* The code under test. */
#include <linux/module.h>

#include "../../core/exp.c"
#include "../../core/cdg.c"
#include "../../core/cdg_price.c"
#include "../../core/hystart.c"
#include "../../core/cubic.c"
#include "../../core/room.c"
#include "../../core/stall.c"
#include "../../core/evidence.c"
#include "../../core/probe.c"
#include "../../core/regime.c"
#include "../../core/owd.c"
#include "../../core/control.c"
#include "../../core/equations.c"

MODULE_DESCRIPTION("KUnit tests of dalbe's arithmetic");
MODULE_LICENSE("GPL");
