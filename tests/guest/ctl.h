/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /dev/dalbe by its bare ioctls: the tests are about the interface itself, and
 * must be able to call it wrongly. libdalbe has tests of its own.
 */
#ifndef CTL_H
#define CTL_H

#include <stdint.h>

#include "dalbe_ctl.h"
#include "net.h"

/* Of net.ipv4.tcp_ecn: ask for RFC 3168's ECN, or for Accurate ECN (RFC 9768). */
#define ECN	"1"
#define ACCECN	"3"

/* So often a test begins anew where a trial has come into it: one did so in two of six runs. With
 * half as many turns one run of 700 would fail, with twice as many a module that never stays
 * contended takes a test four minutes more.
 */
#define TURNS	12

bool alone(const struct pair *pair);
bool contended(const struct pair *pair);
bool contended_at_two(const struct pair *pair);
void pause_beside(struct pair *pair, struct pair *other, bool (*wanted)(const struct pair *pair));
struct pair pair_with_marks(double percent, const char *ecn);
int ctl_open(void);
void cc_set(int fd, const char *cc);
int job_set_raw(int fd, uint32_t job, uint64_t bytes, uint64_t deadline_ns, uint32_t flags);
void job_set(int fd, uint32_t job, uint64_t bytes, uint64_t in_ms);
int goal_set_raw(int fd, uint64_t bytes, uint64_t deadline_ns, uint32_t flags);
void goal_set(int fd, uint64_t bytes, uint64_t in_ms);
void goal_clear(int fd);
int state_get_raw(int fd, struct dalbe_state *state);
struct dalbe_state state_get(int fd);
struct dalbe_state state_get_exact(int fd, uint64_t *bytes_acked);
int params_set_raw(int fd, struct dalbe_params params);
void params_set(int fd, struct dalbe_params params);
int group_set_raw(int fd, uint32_t group);
void group_set(int fd, uint32_t group);

#endif /* CTL_H */
