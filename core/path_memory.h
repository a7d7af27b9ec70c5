/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this host knows of a path. All flows to it that look for others share one.
 */
#ifndef DALBE_PATH_MEMORY_H
#define DALBE_PATH_MEMORY_H

#include "port.h"

/**
 * struct path_memory - one path
 * @lock: of all that follows; taken where a round ends and at losses, never at each ACK
 * @flows: that take part
 * @used_us: when one of them used it last, TCP's clock
 */
struct path_memory {
	port_lock_t lock;
	u32 flows;
	u64 used_us;
};

void path_memory_init(struct path_memory *m);

#endif /* DALBE_PATH_MEMORY_H */
