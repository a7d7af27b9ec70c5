// SPDX-License-Identifier: GPL-2.0-only
/* The policy file. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "human.h"
#include "options.h"
#include "policy.h"

#define CGROUPS		"/sys/fs/cgroup"
#define WORDS_MAX	32

/* The words of one line, and what is read of them. */
struct reading {
	char *words[WORDS_MAX + 1];
	size_t n, at;
	struct dalbe_rule rule;
	unsigned int asks;
	char *err;
};

static int wrong(char *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int wrong(char *err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err, POLICY_ERR_LEN, format, args);
	va_end(args);
	return -1;
}

/* The word after the one that is read; NULL with a phrase. */
static const char *value(struct reading *r, const char *example)
{
	if (r->at < r->n)
		return r->words[r->at++];
	wrong(r->err, "'%s': something has to follow; type for example %s", r->words[r->at - 1],
	      example);
	return NULL;
}

static void set_mask(uint32_t *mask, unsigned int bits)
{
	for (int i = 0; i < 4; i++) {
		unsigned int here = bits < 32 ? bits : 32;

		mask[i] = here ? htonl(~0u << (32 - here)) : 0;
		bits -= here;
	}
}

static void map_ipv4(struct in_addr from, uint32_t *addr)
{
	memset(addr, 0, 2 * sizeof(*addr));
	addr[2] = htonl(0xffff);
	addr[3] = from.s_addr;
}

/* Returns the length of such an address, in bits; 0: it is none. */
static unsigned int parse_address(const char *text, uint32_t *addr)
{
	struct in_addr four;

	if (inet_pton(AF_INET, text, &four) == 1) {
		map_ipv4(four, addr);
		return 32;
	}
	return inet_pton(AF_INET6, text, addr) == 1 ? 128 : 0;
}

static int take_to(struct reading *r)
{
	const char *text = value(r, "to 192.0.2.0/24");
	char address[INET6_ADDRSTRLEN + 1], ignored[HUMAN_ERR_LEN];
	unsigned int length;
	const char *slash;
	uint64_t bits;

	if (!text)
		return -1;
	slash = strchrnul(text, '/');
	snprintf(address, sizeof(address), "%.*s", (int)(slash - text), text);
	length = parse_address(address, r->rule.addr);
	bits = length;
	if (!length || (*slash && human_parse_fixed(slash + 1, 1, 0, length, &bits, ignored)))
		return wrong(r->err, "'%.80s' is no address; type one as 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32, not a name",
			     text);
	set_mask(r->rule.mask, (unsigned int)bits + 128 - length);
	for (int i = 0; i < 4; i++) {
		if (r->rule.addr[i] & ~r->rule.mask[i])
			return wrong(r->err, "'%.80s' has bits behind the first %u; type the network's first address, or /%u for this one alone",
				     text, (unsigned int)bits, length);
	}
	return 0;
}

static int take_ports(struct reading *r, uint16_t *ports)
{
	const char *text = value(r, "port 873");
	unsigned int from = 0, to = 0;
	int len = 0;

	if (!text)
		return -1;
	if (strspn(text, "0123456789-") == strlen(text)) {
		if (sscanf(text, "%5u%n-%5u%n", &from, &len, &to, &len) == 1)
			to = from;
	}
	if (!len || text[len] || !from || from > to || to > UINT16_MAX)
		return wrong(r->err, "'%.80s' is no port; type a number from 1 to 65535, or two as 8000-8099",
			     text);
	ports[0] = (uint16_t)from;
	ports[1] = (uint16_t)to;
	return 0;
}

int policy_parse_user(const char *text, uint32_t *uid, char *err)
{
	struct passwd *user = getpwnam(text);
	uint64_t number;
	char ignored[HUMAN_ERR_LEN];

	if (user)
		*uid = user->pw_uid;
	else if (!human_parse_fixed(text, 1, 0, UINT32_MAX - 1, &number, ignored))
		*uid = (uint32_t)number;
	else
		return wrong(err, "'%.80s': no such user; type a name that id(1) knows, or a number",
			     text);
	return 0;
}

int policy_parse_cgroup(const char *text, struct dalbe_conn *conn, uint32_t *depth, char *err)
{
	__u64 name[DALBE_NAME_WORDS];
	const char *path = text;
	size_t len;

	*depth = 0;
	memset(conn->cgroup, 0, sizeof(conn->cgroup));
	if (!strncmp(path, CGROUPS, strlen(CGROUPS)))
		path += strlen(CGROUPS);
	if (*path != '/')
		return wrong(err, "'%.80s' is no cgroup; type its path below " CGROUPS ", as /system.slice/nginx.service",
			     text);
	while (*(path += strspn(path, "/"))) {
		len = strcspn(path, "/");
		if (len >= sizeof(name))
			return wrong(err, "'%.80s': a name in it has more than 63 bytes; type a cgroup above it",
				     text);
		if (++*depth > DALBE_DEPTH_MAX)
			return wrong(err, "'%.80s' has more than %d names; type a cgroup above it",
				     text, DALBE_DEPTH_MAX);
		memset(name, 0, sizeof(name));
		memcpy(name, path, len);
		conn->cgroup[*depth] = conn->cgroup[*depth - 1] + rule_hash(name, *depth);
		path += len;
	}
	return 0;
}

static int take_cgroup(struct reading *r)
{
	const char *text = value(r, "cgroup /system.slice/nginx.service");
	struct dalbe_conn conn;

	if (!text || policy_parse_cgroup(text, &conn, &r->rule.depth, r->err))
		return -1;
	if (strchr(text, '*'))
		return wrong(r->err, "'%.80s': a rule is for the cgroups below as well; type the path without *",
			     text);
	r->rule.cgroup = conn.cgroup[r->rule.depth];
	return 0;
}

static int take_user(struct reading *r)
{
	const char *text = value(r, "user backup");

	r->rule.by_user = 1;
	return text ? policy_parse_user(text, &r->rule.uid, r->err) : -1;
}

static int take_weight(struct reading *r)
{
	const char *text = value(r, "weight 0.3");
	char err[HUMAN_ERR_LEN];
	uint64_t ppm;

	if (!text)
		return -1;
	if (human_parse_fixed(text, 1000000, DALBE_WMIN_MIN_PPM, DALBE_WMIN_MAX_PPM, &ppm, err))
		return wrong(r->err, "'weight %.80s': %s", text, err);
	r->rule.params.flags |= DALBE_PARAM_WMIN;
	r->rule.params.wmin_ppm = (uint32_t)ppm;
	return 0;
}

static int take_goal(struct reading *r)
{
	static const char example[] = "goal 300M within 90s";
	const char *size = value(r, example);
	const char *within = size ? value(r, example) : NULL;
	const char *time = within ? value(r, example) : NULL;
	char err[HUMAN_ERR_LEN];
	uint64_t time_ns;

	if (!time)
		return -1;
	if (strcmp(within, "within"))
		return wrong(r->err, "'goal %.80s %.80s': the time is missing; type for example %s",
			     size, within, example);
	if (human_parse_size(size, (uint64_t *)&r->rule.bytes, err))
		return wrong(r->err, "'goal %.80s': %s", size, err);
	if (human_parse_duration(time, &time_ns, err))
		return wrong(r->err, "'within %.80s': %s", time, err);
	r->rule.time_ns = time_ns;
	return 0;
}

/* The first word: what the rule gives. */
static int take_action(struct reading *r)
{
	const char *word = r->words[r->at++];
	struct dalbe_params *params = &r->rule.params;

	if (!strcmp(word, "plain")) {
		r->rule.plain = 1;
		return 0;
	}
	if (!strcmp(word, "goal"))
		return take_goal(r);
	params->flags |= DALBE_PARAM_CONTROLLER;
	params->controller = DALBE_CONTROLLER_WEIGHT;
	if (!strcmp(word, "scavenger"))
		return 0;
	if (!strcmp(word, "weight"))
		return take_weight(r);
	return wrong(r->err, "'%.80s' is nothing that a rule can give; begin the line with scavenger, weight W, goal SIZE within TIME, or plain",
		     word);
}

static int take_condition(struct reading *r)
{
	static const struct {
		const char *word;
		unsigned int bit;
	} conditions[] = {
		{ "to", POLICY_TO }, { "port", POLICY_PORT }, { "own-port", POLICY_OWN_PORT },
		{ "user", POLICY_USER }, { "cgroup", POLICY_CGROUP },
	};
	const char *word = r->words[r->at++];
	unsigned int bit = 0;

	for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++) {
		if (!strcmp(word, conditions[i].word))
			bit = conditions[i].bit;
	}
	if (r->asks & bit)
		return wrong(r->err, "'%s' is there twice; type a second line for the second",
			     word);
	r->asks |= bit;
	switch (bit) {
	case POLICY_TO:
		return take_to(r);
	case POLICY_PORT:
		return take_ports(r, r->rule.port);
	case POLICY_OWN_PORT:
		return take_ports(r, r->rule.own_port);
	case POLICY_USER:
		return take_user(r);
	case POLICY_CGROUP:
		return take_cgroup(r);
	}
	return wrong(r->err, "'%.80s': unknown word; type one of to, port, own-port, user, cgroup, and a value",
		     word);
}

int policy_add(struct policy *policy, unsigned int number, const char *line, char *err)
{
	struct reading r = { .err = err, .rule.port[1] = UINT16_MAX,
			     .rule.own_port[1] = UINT16_MAX };
	struct policy_line *kept;
	static const char blanks[] = " \t\r";
	char text[1024], *save;

	if (snprintf(text, sizeof(text), "%s", line) >= (int)sizeof(text))
		return wrong(err, "it has more than %zu bytes; type a shorter one", sizeof(text));
	text[strcspn(text, "#\n")] = '\0';
	for (char *word = strtok_r(text, blanks, &save); word;
	     word = strtok_r(NULL, blanks, &save)) {
		if (r.n == WORDS_MAX)
			return wrong(err, "it has more than %d words; type a shorter one",
				     WORDS_MAX);
		r.words[r.n++] = word;
	}
	if (!r.n)
		return 0;
	if (policy->rules.n == DALBE_RULES_MAX)
		return wrong(err, "it is one rule too many; %d is the most, so join some",
			     DALBE_RULES_MAX);
	if (take_action(&r))
		return -1;
	while (r.at < r.n) {
		if (take_condition(&r))
			return -1;
	}
	kept = &policy->lines[policy->rules.n];
	*kept = (struct policy_line){ .number = number, .asks = r.asks };
	for (size_t i = 0, len = 0; i < r.n && len < sizeof(kept->text); i++)
		len += (size_t)snprintf(kept->text + len, sizeof(kept->text) - len, "%s%s",
					i ? " " : "", r.words[i]);
	policy->rules.by_cgroup |= r.rule.depth != 0;
	policy->rules.rules[policy->rules.n++] = r.rule;
	return 0;
}

int policy_read(struct policy *policy, const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL, err[POLICY_ERR_LEN];
	unsigned int number = 0;
	size_t size = 0;
	int n_wrong = 0;

	*policy = (struct policy){ 0 };
	if (!file) {
		complain("'%s': %s; type the path of a file with a rule on each line, as scavenger port 873",
			 path, strerror(errno));
		return -1;
	}
	while (getline(&line, &size, file) >= 0) {
		if (!policy_add(policy, ++number, line, err))
			continue;
		complain("%s:%u: %s", path, number, err);
		n_wrong++;
	}
	if (ferror(file)) {
		complain("'%s': %s; type the path of a file", path, strerror(errno));
		n_wrong = -1;
	}
	free(line);
	fclose(file);
	return n_wrong;
}

int policy_parse_peer(const char *text, uint32_t *addr, uint16_t *port, char *err)
{
	char address[INET6_ADDRSTRLEN + 1], ignored[HUMAN_ERR_LEN];
	const char *colon = strrchr(text, ':');
	bool bracket = *text == '[';
	uint64_t number = 0;
	size_t len;

	if (colon && (bracket ? colon[-1] != ']' : strchr(text, ':') != colon))
		colon = NULL;	/* it belongs to the address */
	len = colon ? (size_t)(colon - text) : strlen(text);
	if (bracket && len >= 2 && text[len - 1] == ']')
		snprintf(address, sizeof(address), "%.*s", (int)len - 2, text + 1);
	else
		snprintf(address, sizeof(address), "%.*s", (int)len, text);
	if (!parse_address(address, addr) ||
	    (colon && human_parse_fixed(colon + 1, 1, 1, UINT16_MAX, &number, ignored)))
		return wrong(err, "it is no address with a port; type for example 192.0.2.7:873 or [2001:db8::7]:873");
	*port = (uint16_t)number;
	return 0;
}

bool policy_address(const struct sockaddr_storage *from, uint32_t *addr, uint16_t *port)
{
	const struct sockaddr_in *four = (const void *)from;
	const struct sockaddr_in6 *six = (const void *)from;

	if (from->ss_family == AF_INET) {
		map_ipv4(four->sin_addr, addr);
		*port = ntohs(four->sin_port);
	} else if (from->ss_family == AF_INET6) {
		memcpy(addr, &six->sin6_addr, 16);
		*port = ntohs(six->sin6_port);
	}
	return from->ss_family == AF_INET || from->ss_family == AF_INET6;
}

unsigned int policy_against(const struct dalbe_rule *rule, const struct dalbe_conn *conn)
{
	return (rule_to_holds(rule, conn) ? 0 : POLICY_TO) |
	       (rule_port_holds(rule, conn) ? 0 : POLICY_PORT) |
	       (rule_own_port_holds(rule, conn) ? 0 : POLICY_OWN_PORT) |
	       (rule_user_holds(rule, conn) ? 0 : POLICY_USER) |
	       (rule_cgroup_holds(rule, conn) ? 0 : POLICY_CGROUP);
}

/*
 * @a holds for all that @b holds for. Of cgroups one below the other is not known by its hash: then
 * nothing is said.
 */
static bool holds_for_all_of(const struct dalbe_rule *a, const struct dalbe_rule *b)
{
	for (int i = 0; i < 4; i++) {
		if ((a->mask[i] & b->mask[i]) != a->mask[i] ||
		    (a->addr[i] ^ b->addr[i]) & a->mask[i])
			return false;
	}
	return a->port[0] <= b->port[0] && a->port[1] >= b->port[1] &&
	       a->own_port[0] <= b->own_port[0] && a->own_port[1] >= b->own_port[1] &&
	       (!a->by_user || (b->by_user && a->uid == b->uid)) &&
	       (!a->depth || (a->depth == b->depth && a->cgroup == b->cgroup));
}

int policy_hidden_by(const struct policy *policy, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (holds_for_all_of(&policy->rules.rules[k], &policy->rules.rules[i]))
			return (int)k;
	}
	return -1;
}
