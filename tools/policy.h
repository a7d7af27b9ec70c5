/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The policy file: a rule on each line, in plain words, of which the first that holds for a
 * connection decides. dalbectl(1) has the words.
 */
#ifndef DALBE_POLICY_H
#define DALBE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "rule.h"

#define POLICY_FILE	"/etc/dalbe/policy.conf"
#define POLICY_ERR_LEN	256

/* Facts that are known of a connection, as bits; of a condition, also those that it asks for. */
enum {
	POLICY_TO = 1 << 0,
	POLICY_PORT = 1 << 1,
	POLICY_OWN_PORT = 1 << 2,
	POLICY_USER = 1 << 3,
	POLICY_CGROUP = 1 << 4,
};

struct policy {
	struct dalbe_policy rules;
	struct policy_line {
		unsigned int number;
		unsigned int asks;	/* for what, POLICY_* */
		char text[256];		/* as typed, with one blank between two words */
	} lines[DALBE_RULES_MAX];
};

/* One line of a file, or some; returns 0, or -1 with a phrase in err. A comment is no rule. */
int policy_add(struct policy *policy, unsigned int number, const char *line, char *err);

/* Returns the number of wrong lines, each told of in one line on stderr; -1: no such file. */
int policy_read(struct policy *policy, const char *path);

/* Users and cgroups are named as in a file: these return 0, or -1 with a phrase in err. */
int policy_parse_user(const char *text, uint32_t *uid, char *err);
int policy_parse_cgroup(const char *text, struct dalbe_conn *conn, uint32_t *depth, char *err);

/* ADDR:PORT, [ADDR]:PORT or ADDR; *port is 0 where it is missing. */
int policy_parse_peer(const char *text, uint32_t *addr, uint16_t *port, char *err);

/* As it is in rules; the port in the host's order. False: neither IPv4 nor IPv6. */
bool policy_address(const struct sockaddr_storage *from, uint32_t *addr, uint16_t *port);

/* Of these, the conditions of a rule that do not hold, POLICY_*. */
unsigned int policy_against(const struct dalbe_rule *rule, const struct dalbe_conn *conn);

/* The line before @i after which that one is never reached; -1: none. */
int policy_hidden_by(const struct policy *policy, size_t i);

#endif
