# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The kernel's lines that count as complaints. Sourced.

# One pattern per line (extended regular expressions): the first line of each
# kind of report, and every sanitizer's word that it has given up.
complaint_patterns='BUG:
WARNING:
UBSAN:
KASAN:
Oops
Kernel panic
general protection fault
Modules linked in:
Call Trace:
\[ cut here \]
INFO: .*(lock|RCU|rcu|stall|hung|blocked)
possible (circular|recursive|irq) lock
sleeping function called from invalid context
DEBUG_LOCKS_WARN_ON
turning off the locking correctness validator
unreferenced object
new suspected memory leak
[Kk]memleak: .*(disabled|stopped|[Ee]mpty|limit)
refcount_t:
unregister_netdevice: waiting
scheduling while atomic
page allocation failure
list_(add|del) corruption'

# complaints FILE: the lines of a kernel log that are complaints. Returns 1 if
# there are none.
complaints()
{
	grep -E -- "$complaint_patterns" "$1"
}
