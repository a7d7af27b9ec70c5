/* SPDX-License-Identifier: GPL-2.0-only */
/* Looked at before anything else: what keeps dalbectl from a program's connections here. */
#ifndef DALBE_CHECKS_H
#define DALBE_CHECKS_H

#include <stdbool.h>

/* True after one sentence, begun with prefix, that says why no goal can be given here. */
bool checks_unavailable(const char *prefix);

/* kernel.yama.ptrace_scope; 0 where there is no Yama. */
int checks_ptrace_scope(void);

/* Warn where goals can be given, and the connections that leave are those of a proxy. */
void checks_warn_of_proxy(void);

#endif
