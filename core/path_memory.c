// SPDX-License-Identifier: GPL-2.0-only
/* What this host knows of a path; see path_memory.h. */
#include "path_memory.h"
#include "sender.h"

/**
 * path_memory_init - a path of which nothing is known
 * @m: any contents; nobody takes part
 */
void path_memory_init(struct path_memory *m)
{
	*m = (struct path_memory) {};
	port_lock_init(&m->lock);
}

/**
 * sender_join - take part in what is known of a path
 * @s: the sender; it leaves the memory that it has
 * @m: its new memory, which outlives the sender's part in it
 * @now_us: TCP's clock
 */
void sender_join(struct sender *s, struct path_memory *m, u64 now_us)
{
	if (s->memory)
		sender_leave(s);
	port_lock(&m->lock);
	m->flows++;
	m->used_us = now_us;
	port_unlock(&m->lock);
	s->memory = m;
}

/**
 * sender_leave - take the sender's part out of its memory
 * @s: the sender, which has one; afterwards it has none
 */
void sender_leave(struct sender *s)
{
	struct path_memory *m = s->memory;

	port_lock(&m->lock);
	m->flows--;
	port_unlock(&m->lock);
	s->memory = NULL;
}
