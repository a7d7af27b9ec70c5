/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tests that every base congestion control has to pass, whichever it is.
 */
#ifndef BASE_H
#define BASE_H

#include <stddef.h>
#include <stdint.h>

#include "ctl.h"

#define KB	1000ull

void base_weigh(int fd, uint32_t wmin_ppm);
void base_goal_comes_and_goes(const char *cc, unsigned int least_kb);
struct dalbe_state base_goal_beside_cubic(const char *cc, unsigned int kb);
void base_exchanged(const char *const names[], size_t count);

#endif /* BASE_H */
