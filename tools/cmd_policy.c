// SPDX-License-Identifier: GPL-2.0-only
/* dalbectl policy: what new connections of this machine are given, by a file in /etc. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "bpf.h"
#include "checks.h"
#include "commands.h"
#include "follow.h"
#include "policy.h"

static const struct {
	unsigned int bit;
	const char *word, *option;
} conditions[] = {
	{ POLICY_TO, "to", "--to ADDR" }, { POLICY_PORT, "port", "--to ADDR:PORT" },
	{ POLICY_OWN_PORT, "own-port", "--own-port N" }, { POLICY_USER, "user", "--user NAME" },
	{ POLICY_CGROUP, "cgroup", "--cgroup PATH" },
};

/* Of the conditions that bits stand for, the first; there is one. */
static size_t first_of(unsigned int bits)
{
	size_t i = 0;

	while (!(conditions[i].bit & bits))
		i++;
	return i;
}

/* The connection that options describe; returns what is known of it, POLICY_*. */
static unsigned int take_connection(const struct options *opts, struct dalbe_conn *conn)
{
	char err[POLICY_ERR_LEN];
	unsigned int known = 0;
	uint32_t depth;

	*conn = (struct dalbe_conn){ .own_port = opts->own_port };
	known |= opts->own_port ? POLICY_OWN_PORT : 0;
	if (opts->to) {
		if (policy_parse_peer(opts->to, conn->addr, &conn->port, err))
			usage_error("'--to %.80s': %s", opts->to, err);
		known |= POLICY_TO | (conn->port ? POLICY_PORT : 0);
	}
	if (opts->user) {
		if (policy_parse_user(opts->user, &conn->uid, err))
			usage_error("--user: %s", err);
		known |= POLICY_USER;
	}
	if (opts->cgroup) {
		if (policy_parse_cgroup(opts->cgroup, conn, &depth, err))
			usage_error("--cgroup: %s", err);
		known |= POLICY_CGROUP;
	}
	return known;
}

static void explain(const struct policy *policy, const struct dalbe_conn *conn, unsigned int known)
{
	for (size_t i = 0; i < policy->rules.n; i++) {
		const struct policy_line *line = &policy->lines[i];
		const struct dalbe_rule *rule = &policy->rules.rules[i];
		unsigned int against = policy_against(rule, conn) & known;

		if (against) {
			printf("line %u: no, for its '%s': %s\n", line->number,
			       conditions[first_of(against)].word, line->text);
			continue;
		}
		if (line->asks & ~known) {
			printf("line %u: perhaps, type %s as well: %s\n", line->number,
			       conditions[first_of(line->asks & ~known)].option, line->text);
			continue;
		}
		printf("line %u: decides: %s\n", line->number, line->text);
		return;
	}
	puts("no line decides: the connection stays as it is");
}

static int test(const struct policy *policy, const struct options *opts)
{
	struct dalbe_conn conn;
	unsigned int known = take_connection(opts, &conn);

	if (known) {
		explain(policy, &conn, known);
		return written() ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	for (size_t i = 0; i < policy->rules.n; i++)
		printf("line %u: %s\n", policy->lines[i].number, policy->lines[i].text);
	printf("%u rule%s; name a connection by --to, --own-port, --user, --cgroup to see which decides\n",
	       policy->rules.n, policy->rules.n == 1 ? "" : "s");
	return written() ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Faults are told of; false: there are some, or no rule. */
static bool read_file(struct policy *policy, const char *path)
{
	int n_wrong = policy_read(policy, path);

	if (n_wrong > 0)
		complain("%s: %d wrong line%s; nothing is changed", path, n_wrong,
			 n_wrong == 1 ? "" : "s");
	else if (!n_wrong && !policy->rules.n)
		complain("%s: it has no rule; type one on a line, as scavenger port 873", path);
	for (size_t i = 0; i < policy->rules.n; i++) {
		int hidden_by = policy_hidden_by(policy, i);

		if (hidden_by >= 0)
			complain("warning: %s:%u: never reached, as line %u holds for all that this one does; put it before that",
				 path, policy->lines[i].number, policy->lines[hidden_by].number);
	}
	return !n_wrong && policy->rules.n;
}

static int apply(const struct policy *policy, const char *path)
{
	const char *n_s = policy->rules.n == 1 ? "" : "s";

	if (!access(DALBE_PINS "/maps", F_OK)) {
		if (!attach_policy(&policy->rules, path))
			return EXIT_FAILURE;
		printf("%s: %u rule%s in force, by BPF: for each new connection before its first data packet\n",
		       path, policy->rules.n, n_s);
		return written() ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	if (checks_unavailable(""))
		return EXIT_FAILURE;
	printf("%s: %u rule%s in force, by polling, as the BPF edition is not loaded: for each new connection within a second, until this is ended\n",
	       path, policy->rules.n, n_s);
	return written() ? follow_policy(&policy->rules, 0) : EXIT_FAILURE;
}

int cmd_policy(const struct options *opts, char **operands)
{
	const char *path = operands[0] && operands[1] ? operands[1] : POLICY_FILE;
	struct policy policy;

	if (operands[0] && !strcmp(operands[0], "remove") && !operands[1])
		return detach_policy();
	if (!operands[0] || (strcmp(operands[0], "test") && strcmp(operands[0], "apply")) ||
	    (operands[1] && operands[2]))
		usage_error("policy: type dalbectl policy test [FILE], apply [FILE], or remove");
	if (!read_file(&policy, path))
		return EXIT_FAILURE;
	return *operands[0] == 't' ? test(&policy, opts) : apply(&policy, path);
}
