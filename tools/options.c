// SPDX-License-Identifier: GPL-2.0-only
/* The options of dalbectl. */
#include <ctype.h>
#include <errno.h>
#include <fts.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "human.h"
#include "options.h"
#include "record.h"

enum option_id {
	OPT_SIZE = 256, OPT_SIZE_OF, OPT_DEADLINE, OPT_UPDATE, OPT_ALL, OPT_SCAVENGER,
	OPT_CONTROLLER,
	OPT_G, OPT_TW, OPT_WMIN, OPT_AFTER, OPT_GROUP, OPT_WINDOW, OPT_NOT_BEFORE, OPT_STOP_AT,
	OPT_DSCP, OPT_MAX_RATE, OPT_PORT, OPT_LOOPBACK,
	OPT_INTERVAL, OPT_JSON, OPT_JSON_FILE, OPT_QUIET, OPT_VERBOSE,
	OPT_OR_PLAIN, OPT_FAIL_LATE, OPT_CGROUP, OPT_UNIT, OPT_NAME, OPT_PROGRESS, OPT_PROMETHEUS,
	OPT_PID, OPT_TO, OPT_OWN_PORT, OPT_USER, OPT_HELP,
};

static const struct option_def {
	const char *name;
	char letter;		/* '\0': none */
	enum option_id id;
	int commands;
	const char *value;	/* NULL: takes none */
	const char *example;	/* a value to type */
	const char *help;
} defs[] = {
	{ "size", 0, OPT_SIZE, CMD_RUN | CMD_SET | CMD_ATTACH, "SIZE", "40G",
	  "how much will be sent: 40G, 300M, 2GiB, bytes; run: auto" },
	{ "size-of", 0, OPT_SIZE_OF, CMD_RUN | CMD_SET, "PATH", "backup.tar",
	  "the size of a file or directory tree; several add up" },
	{ "deadline", 0, OPT_DEADLINE, CMD_RUN | CMD_SET | CMD_ATTACH, "TIME", "+90m",
	  "by when: +90m, +1h30m, 06:00, '2030-01-31 06:00'" },
	{ "update", 0, OPT_UPDATE, CMD_SET, NULL, NULL,
	  "change the goal, keep the count of bytes done" },
	{ "all", 0, OPT_ALL, CMD_SET, NULL, NULL,
	  "with PID 1: every process of this machine" },
	{ "scavenger", 0, OPT_SCAVENGER, CMD_RUN | CMD_SET | CMD_ATTACH, NULL, NULL,
	  "take what others leave (--wmin); needs no goal" },
	{ "controller", 0, OPT_CONTROLLER, CMD_RUN | CMD_SET | CMD_ATTACH, "NAME", "mbc",
	  "how w is set: mbc, pid, floor, weight (--wmin), fixed (--g)" },
	{ "after", 0, OPT_AFTER, CMD_RUN | CMD_SET | CMD_ATTACH, "POLICY", "best-effort",
	  "past the deadline: best-effort, scavenger or keep" },
	{ "wmin", 0, OPT_WMIN, CMD_RUN | CMD_SET | CMD_ATTACH, "W", "0.05",
	  "lowest weight w, 0.001 to 1" },
	{ "tw", 0, OPT_TW, CMD_RUN | CMD_SET | CMD_ATTACH, "TIME", "10s",
	  "update period of w: 100ms to 10m, or auto" },
	{ "g", 0, OPT_G, CMD_RUN | CMD_SET, "MS", "3",
	  "CDG's scale G without a controller, 0.002 to 125 ms" },
	{ "group", 0, OPT_GROUP, CMD_RUN | CMD_SET | CMD_ATTACH, "N", "7",
	  "share a path with group N, whatever the destination; 0: none" },
	{ "window", 0, OPT_WINDOW, CMD_RUN | CMD_PLAN, "HOURS", "01:00-06:00",
	  "outside of 01:00-06:00, Mon-Fri@22:00-06:00, ... a scavenger" },
	{ "not-before", 0, OPT_NOT_BEFORE, CMD_RUN, "TIME", "01:00",
	  "when to start the program, as --deadline" },
	{ "stop-at", 0, OPT_STOP_AT, CMD_RUN, "TIME", "06:00",
	  "when to end it, by SIGTERM; then exit with 124" },
	{ "dscp", 0, OPT_DSCP, CMD_RUN, "CLASS", "le",
	  "mark packets: le (lower effort), cs0, af11, ..., 0 to 63" },
	{ "max-rate", 0, OPT_MAX_RATE, CMD_RUN, "RATE", "20Mbit/s",
	  "send no faster, all connections together: 20Mbit/s, 2.5MB/s" },
	{ "port", 0, OPT_PORT, CMD_RUN, "N", "873",
	  "only connections to this port of the peer" },
	{ "loopback", 0, OPT_LOOPBACK, CMD_RUN, NULL, NULL,
	  "connections to this machine itself as well" },
	{ "interval", 0, OPT_INTERVAL, CMD_WATCH, "TIME", "1s",
	  "time between two looks, 100ms or more (default 1s)" },
	{ "json", 0, OPT_JSON, CMD_RUN | CMD_GET | CMD_WATCH | CMD_PLAN | CMD_REPORT,
	  NULL, NULL, "print JSON (run: the summary, on stderr)" },
	{ "json-file", 0, OPT_JSON_FILE, CMD_RUN, "FILE", "summary.json",
	  "write the summary as JSON to FILE" },
	{ "quiet", 'q', OPT_QUIET, CMD_RUN, NULL, NULL,
	  "no summary on stderr" },
	{ "verbose", 'v', OPT_VERBOSE, CMD_GET | CMD_WATCH, NULL, NULL,
	  "all columns, wider than most terminals" },
	{ "or-plain", 0, OPT_OR_PLAIN, CMD_RUN, NULL, NULL,
	  "where no goal can be given, start the program all the same" },
	{ "fail-late", 0, OPT_FAIL_LATE, CMD_RUN, NULL, NULL,
	  "exit with 124 if late, with 123 if less than SIZE was sent" },
	{ "cgroup", 0, OPT_CGROUP, CMD_ATTACH | CMD_DETACH | CMD_POLICY, "PATH", "/sys/fs/cgroup/user.slice",
	  "new connections of the processes in this cgroup, and below it" },
	{ "unit", 0, OPT_UNIT, CMD_ATTACH | CMD_DETACH, "NAME", "nginx",
	  "of this unit of systemd's, also when it is started again" },
	{ "name", 0, OPT_NAME, CMD_RUN, "NAME", "nightly",
	  "keep a record of its runs: for --size auto, plan, report" },
	{ "progress", 0, OPT_PROGRESS, CMD_RUN, NULL, NULL,
	  "--size auto: read the program's progress from what it prints" },
	{ "prometheus", 0, OPT_PROMETHEUS, CMD_REPORT, NULL, NULL,
	  "print metrics, as node_exporter's textfile collector reads" },
	{ "pid", 0, OPT_PID, CMD_ATTACH, "PID", "1234",
	  "of this process and its descendants, until it ends, by polling" },
	{ "to", 0, OPT_TO, CMD_POLICY, "PEER", "192.0.2.7:873",
	  "ask about a connection to ADDR:PORT, or to ADDR" },
	{ "own-port", 0, OPT_OWN_PORT, CMD_POLICY, "N", "8080",
	  "with this port on our side, as a server's" },
	{ "user", 0, OPT_USER, CMD_POLICY, "NAME", "backup",
	  "of this user, by name or number" },
	{ "help", 'h', OPT_HELP, ~0, NULL, NULL, "this text" },
};

#define N_DEFS	ARRAY_SIZE(defs)

/*
 * Of a line for the journal, "<4>" and the like stand for how serious it is (sd-daemon(3)): where
 * our stderr is what systemd has named so.
 */
static const char *journal_prefix(int priority)
{
	static const char *const prefixes[] = { "<0>", "<1>", "<2>", "<3>", "<4>", "<5>", "<6>" };
	const char *journal = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	if (!journal || sscanf(journal, "%llu:%llu", &device, &inode) != 2 ||
	    fstat(STDERR_FILENO, &st) || st.st_dev != device || st.st_ino != inode)
		return "";
	return prefixes[priority];
}

static void vcomplain(int priority, const char *format, va_list args)
{
	char line[512];

	/* One line, and nothing for the terminal to obey, whatever was typed. */
	/* stderr is not buffered: one call, one line among the program's. */
	vsnprintf(line, sizeof(line), format, args);
	for (char *c = line; *c; c++) {
		if (iscntrl((unsigned char)*c))
			*c = '?';
	}
	fprintf(stderr, "%sdalbectl: %s\n", journal_prefix(priority), line);
}

void announce(int priority, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vcomplain(priority, format, args);
	va_end(args);
}

void complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vcomplain(LOG_WARNING, format, args);
	va_end(args);
}

void usage_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vcomplain(LOG_WARNING, format, args);
	va_end(args);
	exit(EXIT_USAGE);
}

/* The disk may be full, or the reader have gone. */
bool written(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return true;
	complain("cannot write to standard output: %s; look at where it goes",
		 strerror(errno));
	return false;
}

uint64_t boottime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/* completion.sh reads these lines. */
static void print_help(const struct command *cmd)
{
	printf("Usage: dalbectl %s %s\n%s\n\n", cmd->name, cmd->synopsis,
	       cmd->summary);
	for (size_t i = 0; i < N_DEFS; i++) {
		char left[40], letter[] = { ' ', '(', '-', (char)defs[i].letter, ')', '\0' };

		if (!(defs[i].commands & cmd->bit))
			continue;
		snprintf(left, sizeof(left), "--%s%s%s", defs[i].name,
			 defs[i].value ? " " : "",
			 defs[i].value ? defs[i].value : "");
		printf("  %-20s %s%s\n", left, defs[i].help, defs[i].letter ? letter : "");
	}
	printf("\n%s", cmd->details);
}

/* Apparent size of a file (or of what a link to it names), or of a tree. */
static uint64_t size_of(char *path)
{
	char *const roots[] = { path, NULL };
	uint64_t bytes = 0;
	struct stat st;
	FTSENT *entry;
	FTS *tree;

	if (stat(path, &st))
		usage_error("'--size-of %s': %s; type the path of a file or directory",
			    path, strerror(errno));
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		usage_error("'--size-of %s': neither file nor directory; type the size with --size",
			    path);
	tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	while (tree && (entry = fts_read(tree))) {
		if (entry->fts_info == FTS_F)
			bytes += (uint64_t)entry->fts_statp->st_size;
		if (entry->fts_info != FTS_DNR && entry->fts_info != FTS_NS &&
		    entry->fts_info != FTS_ERR)
			continue;
		/* Others write to this tree: what goes meanwhile will not be sent. */
		if (entry->fts_errno != ENOENT)
			usage_error("'--size-of': cannot read '%s'; make it readable, or type the size with --size",
				    entry->fts_path);
	}
	if (!tree || errno)
		usage_error("'--size-of %s': %s; type the size with --size",
			    path, strerror(errno));
	fts_close(tree);
	if (!bytes)
		usage_error("'--size-of %s': it is empty, and a goal needs at least one byte; type a size with --size",
			    path);
	return bytes;
}

static int parse_time(const char *text, uint64_t *boot_ns, char *err)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return human_parse_deadline(text, now, boottime_ns(), boot_ns, err);
}

static bool take_deadline(const char *text, struct options *opts, char *err)
{
	int ret = parse_time(text, &opts->deadline_ns, err);

	/* Refused when all options are known, unless --or-plain is among them. */
	opts->passed = ret == HUMAN_PASSED ? text : NULL;
	return !ret || opts->passed;
}

/* Known when the end is, which may be typed after it. */
static void take_not_before(struct options *opts)
{
	uint64_t end_ns = opts->stop_at_ns, now_ns = boottime_ns();
	char err[HUMAN_ERR_LEN];
	struct timespec now;

	if (opts->deadline_ns && !opts->passed && (!end_ns || opts->deadline_ns < end_ns))
		end_ns = opts->deadline_ns;
	clock_gettime(CLOCK_REALTIME, &now);
	if (human_parse_begin(opts->not_before, now, now_ns, end_ns, &opts->not_before_ns, err))
		usage_error("'--not-before %.80s': %s", opts->not_before, err);
	if (end_ns && end_ns <= opts->not_before_ns)
		usage_error("--not-before is after --%s; type an earlier one, or a date with it",
			    end_ns == opts->stop_at_ns ? "stop-at" : "deadline");
}

/* Somebody who types 06:00 just before or after midnight may mean the other day. */
static void tell_day(const struct options *opts)
{
	const char *text = opts->deadline_text;
	struct timespec now;
	struct tm today, then;
	int64_t left_ns = (int64_t)(opts->deadline_ns - boottime_ns());
	char left[HUMAN_LEN];
	time_t then_s;

	if (strspn(text, "0123456789:") < strlen(text) || opts->quiet)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	then_s = now.tv_sec + (left_ns + now.tv_nsec) / (int64_t)NSEC_PER_SEC;
	localtime_r(&now.tv_sec, &today);
	localtime_r(&then_s, &then);
	if (today.tm_yday != then.tm_yday)
		complain("%s is taken for tomorrow's, in %s", text, human_duration(left_ns, left));
}

static bool parse_tw(const char *text, uint32_t *tw_ms, char *err)
{
	uint64_t ns;

	*tw_ms = 0;
	if (!strcmp(text, "auto"))
		return true;
	if (human_parse_duration(text, &ns, err))
		return false;
	if (ns < DALBE_TW_MIN_MS * NSEC_PER_MSEC ||
	    ns > DALBE_TW_MAX_MS * NSEC_PER_MSEC) {
		snprintf(err, HUMAN_ERR_LEN,
			 "it is out of range; type a time from 100ms to 10m, or auto");
		return false;
	}
	*tw_ms = (uint32_t)(ns / NSEC_PER_MSEC);
	return true;
}

/* The index of text among names; -1 with a phrase in err. */
static int parse_name(const char *text, const char *const *names, char *err)
{
	int len;

	for (int i = 0; names[i]; i++) {
		if (!strcmp(text, names[i]))
			return i;
	}
	len = snprintf(err, HUMAN_ERR_LEN, "unknown name; type one of");
	for (int i = 0; names[i]; i++)
		len += snprintf(err + len, (size_t)(HUMAN_ERR_LEN - len),
				"%s %s", i ? "," : "", names[i]);
	return -1;
}

/* le (RFC 8622), ef, csN, afXY or a number. */
static bool parse_dscp(const char *text, uint8_t *dscp, char *err)
{
	uint64_t number;
	int class = 0, drop = 0, len = 0;

	if (!strcasecmp(text, "le"))
		number = 1;
	else if (!strcasecmp(text, "ef"))
		number = 46;
	else if (!strncasecmp(text, "cs", 2) && sscanf(text + 2, "%1d%n", &class, &len) == 1 &&
		 !text[2 + len] && class >= 0 && class <= 7)
		number = (uint64_t)class * 8;
	else if (!strncasecmp(text, "af", 2) &&
		 sscanf(text + 2, "%1d%1d%n", &class, &drop, &len) == 2 && !text[2 + len] &&
		 class >= 1 && class <= 4 && drop >= 1 && drop <= 3)
		number = (uint64_t)(class * 8 + drop * 2);
	else if (human_parse_fixed(text, 1, 0, 63, &number, err))
		goto unknown;
	*dscp = (uint8_t)number;
	return true;
unknown:
	snprintf(err, HUMAN_ERR_LEN,
		 "unknown class; type le, ef, cs0 to cs7, af11 to af43, or 0 to 63");
	return false;
}

/* Take one option's value; false with a phrase in err. */
static bool take_value(enum option_id id, char *value,
		       struct options *opts, char *err)
{
	static const char *const controllers[] = {
		"fixed", "pid", "mbc", "weight", "floor", NULL
	};
	static const char *const policies[] = {
		"best-effort", "scavenger", "keep", NULL
	};
	struct dalbe_params *params = &opts->params;
	uint64_t number;
	int index;

	switch (id) {
	case OPT_SIZE:
		opts->size_auto = !strcmp(value, "auto");
		return opts->size_auto || !human_parse_size(value, &opts->size_bytes, err);
	case OPT_SIZE_OF:
		opts->size_bytes += size_of(value);
		return true;
	case OPT_DEADLINE:
		opts->deadline_text = value;
		return take_deadline(value, opts, err);
	case OPT_SCAVENGER:
		params->flags |= DALBE_PARAM_CONTROLLER;
		params->controller = DALBE_CONTROLLER_WEIGHT;
		return true;
	case OPT_CONTROLLER:
		index = parse_name(value, controllers, err);
		params->flags |= DALBE_PARAM_CONTROLLER;
		params->controller = (uint32_t)index;
		return index >= 0;
	case OPT_AFTER:
		index = parse_name(value, policies, err);
		params->flags |= DALBE_PARAM_AFTER;
		params->after_deadline = (uint32_t)index;
		return index >= 0;
	case OPT_WMIN:
		if (human_parse_fixed(value, 1000000, DALBE_WMIN_MIN_PPM,
				      DALBE_WMIN_MAX_PPM, &number, err))
			return false;
		params->flags |= DALBE_PARAM_WMIN;
		params->wmin_ppm = (uint32_t)number;
		return true;
	case OPT_TW:
		params->flags |= DALBE_PARAM_TW;
		return parse_tw(value, &params->tw_ms, err);
	case OPT_G:
		if (human_parse_fixed(value, NSEC_PER_MSEC, DALBE_G_MIN_NS,
				      DALBE_G_MAX_NS, &number, err))
			return false;
		params->flags |= DALBE_PARAM_G;
		params->g_ns = (uint32_t)number;
		return true;
	case OPT_GROUP:
		if (human_parse_fixed(value, 1, 0, UINT32_MAX, &number, err))
			return false;
		opts->group_given = true;
		opts->group = (uint32_t)number;
		return true;
	case OPT_WINDOW:
		return !windows_add(&opts->windows, value, err);
	case OPT_NOT_BEFORE:
		opts->not_before = value;
		return true;
	case OPT_STOP_AT:
		return !parse_time(value, &opts->stop_at_ns, err);
	case OPT_DSCP:
		opts->dscp_given = true;
		return parse_dscp(value, &opts->dscp, err);
	case OPT_MAX_RATE:
		return !human_parse_rate(value, &opts->max_rate_Bps, err);
	case OPT_PORT:
		if (human_parse_fixed(value, 1, 1, UINT16_MAX, &number, err))
			return false;
		opts->port = (uint16_t)number;
		return true;
	case OPT_INTERVAL:
		if (human_parse_duration(value, &opts->interval_ns, err))
			return false;
		if (opts->interval_ns >= 100 * NSEC_PER_MSEC)
			return true;
		snprintf(err, HUMAN_ERR_LEN,
			 "it is too short; type 100ms or more");
		return false;
	case OPT_JSON_FILE:
		opts->json = true;
		opts->json_path = value;
		return true;
	case OPT_UPDATE:
		opts->update = true;
		return true;
	case OPT_ALL:
		opts->all = true;
		return true;
	case OPT_LOOPBACK:
		opts->loopback = true;
		return true;
	case OPT_JSON:
		opts->json = true;
		return true;
	case OPT_QUIET:
		opts->quiet = true;
		return true;
	case OPT_VERBOSE:
		opts->verbose = true;
		return true;
	case OPT_OR_PLAIN:
		opts->or_plain = true;
		return true;
	case OPT_FAIL_LATE:
		opts->fail_late = true;
		return true;
	case OPT_CGROUP:
		opts->cgroup = value;
		return true;
	case OPT_UNIT:
		opts->unit = value;
		return true;
	case OPT_NAME:
		opts->name = value;
		if (record_name_valid(value))
			return true;
		snprintf(err, HUMAN_ERR_LEN,
			 "it becomes a file's name; type letters, digits, . _ and -, 64 at most");
		return false;
	case OPT_PROGRESS:
		opts->progress = true;
		return true;
	case OPT_PROMETHEUS:
		opts->prometheus = true;
		return true;
	case OPT_PID:
		if (human_parse_fixed(value, 1, 1, INT32_MAX, &number, err))
			return false;
		opts->pid = (pid_t)number;
		return true;
	case OPT_TO:
		opts->to = value;
		return true;
	case OPT_OWN_PORT:
		if (human_parse_fixed(value, 1, 1, UINT16_MAX, &number, err))
			return false;
		opts->own_port = (uint16_t)number;
		return true;
	case OPT_USER:
		opts->user = value;
		return true;
	case OPT_HELP:
		break;
	}
	return true;
}

static void check_operands(const struct command *cmd,
			   const struct options *opts, char **operands)
{
	if (opts->size_auto && !(cmd->bit & CMD_RUN))
		usage_error("%s: --size auto is run's; type a size", cmd->name);
	if (cmd->bit & CMD_RUN) {
		if (opts->size_auto && !opts->name)
			usage_error("--size auto needs the job's name; type for example --name nightly");
		if (opts->progress && !opts->size_auto && !opts->size_bytes)
			usage_error("--progress corrects a size; type --size 40G with it, or --size auto --name NAME");
		if (opts->windows.n && options_scavenger(opts))
			usage_error("--window and a scavenger are both given; type a goal or nothing with --window: outside of it the job is a scavenger");
		if (!opts->size_bytes && !opts->size_auto && !options_scavenger(opts) &&
		    !opts->windows.n)
			usage_error("run: the goal is missing; type for example dalbectl run --size 40G --deadline +90m -- PROGRAM, or --scavenger instead of a goal");
		if (!opts->deadline_ns && opts->fail_late)
			usage_error("--fail-late needs a goal; type for example --size 40G --deadline +90m");
		if (!*operands)
			usage_error("run: the program is missing; type it after --, with its arguments");
		return;
	}
	if (cmd->bit & (CMD_ATTACH | CMD_DETACH)) {
		int places = !!opts->cgroup + !!opts->unit + !!opts->pid;

		if (*operands || places > 1 ||
		    (!places && (cmd->bit & CMD_DETACH || *opts->words)))
			usage_error("%s: the place is missing, or there are two; type --cgroup PATH or --unit NAME%s",
				    cmd->name, cmd->bit & CMD_ATTACH ? " or --pid PID" : "");
		return;
	}
	if (cmd->bit & CMD_REPORT && opts->json && opts->prometheus)
		usage_error("--json and --prometheus are both given; type only one of them");
	if (cmd->bit & (CMD_PLAN | CMD_REPORT | CMD_POLICY))
		return;
	if (!(cmd->bit & CMD_GET)) {
		if (!operands[0])
			usage_error("%s: the connection is missing; type PID or PID:FD, such as 1234:5",
				    cmd->name);
		if (operands[1])
			usage_error("%s: '%.80s' is one operand too many; type one PID or PID:FD",
				    cmd->name, operands[1]);
	}
	if ((cmd->bit & CMD_SET) && !opts->size_bytes && !opts->params.flags &&
	    !opts->group_given)
		usage_error("set: there is nothing to set; type for example --size 40G --deadline +90m");
	for (; *operands; operands++) {
		struct target target = options_target(*operands);

		if (cmd->bit & CMD_SET && target.pid == 1 && target.fd < 0 && !opts->all)
			usage_error("set: 1 stands for every process of this machine; type --all before it if that is meant");
	}
}

bool options_scavenger(const struct options *opts)
{
	return opts->params.flags & DALBE_PARAM_CONTROLLER &&
	       opts->params.controller == DALBE_CONTROLLER_WEIGHT;
}

int options_parse(const struct command *cmd, int argc, char **argv,
		  struct options *opts)
{
	struct option longs[N_DEFS + 1] = { 0 };
	char shorts[N_DEFS + 3], passed[HUMAN_ERR_LEN];
	bool size = false, size_of = false, scavenger = false, controller = false;
	size_t n = 0;

	/* '+': options end where the program to run begins. */
	strcpy(shorts, cmd->bit & CMD_RUN ? "+:" : ":");
	for (size_t i = 0; i < N_DEFS; i++) {
		if (!(defs[i].commands & cmd->bit))
			continue;
		strncat(shorts, &defs[i].letter, 1);
		longs[n++] = (struct option){
			.name = defs[i].name,
			.has_arg = defs[i].value ? required_argument :
						   no_argument,
			.val = (int)defs[i].id,
		};
	}

	*opts = (struct options){ .interval_ns = NSEC_PER_SEC };
	opterr = 0;
	for (;;) {
		const struct option_def *def = defs;
		char err[HUMAN_ERR_LEN] = "";
		int id = getopt_long(argc, argv, shorts, longs, NULL);

		if (id == -1)
			break;
		if (id == '?' || id == ':') {
			while (def < defs + N_DEFS && (int)def->id != optopt)
				def++;
			if (id == ':' && def < defs + N_DEFS)
				usage_error("'--%s' needs a value; type for example --%s %s",
					    def->name, def->name, def->example);
			if (id == '?' && def < defs + N_DEFS)
				usage_error("'--%s' takes no value; type --%s alone",
					    def->name, def->name);
			if (id == '?' && !optopt)
				usage_error("%s: unknown option '%.80s'; type dalbectl %s --help for the list",
					    cmd->name, argv[optind - 1],
					    cmd->name);
			usage_error("%s: unknown option '-%c'; type dalbectl %s --help for the list",
				    cmd->name, optopt, cmd->name);
		}
		while ((int)def->id != id && def->letter != id)
			def++;
		if (def->id == OPT_HELP) {
			print_help(cmd);
			exit(written() ? EXIT_SUCCESS : EXIT_FAILURE);
		}
		if (!take_value(def->id, optarg, opts, err))
			usage_error("'--%s %.80s': %s", def->name, optarg, err);
		if (id == OPT_DEADLINE)
			strcpy(passed, err);
		size |= id == OPT_SIZE;
		size_of |= id == OPT_SIZE_OF;
		scavenger |= id == OPT_SCAVENGER;
		controller |= id == OPT_CONTROLLER;
	}

	if (size && size_of)
		usage_error("--size and --size-of are both given; type only one of them");
	opts->words = argv + 1;
	if (cmd->bit & (CMD_RUN | CMD_ATTACH) && scavenger &&
	    (size || size_of || opts->deadline_ns))
		usage_error("--scavenger and a goal are both given; type either, or --after scavenger");
	if (scavenger && controller)
		usage_error("--scavenger and --controller are both given; type only one of them");
	if ((opts->size_bytes || opts->size_auto) && !opts->deadline_ns)
		usage_error("--deadline is missing; type for example --deadline +90m");
	if (opts->deadline_ns && !opts->size_bytes && !opts->size_auto)
		usage_error("the size is missing; type for example --size 40G or --size-of PATH");
	if (opts->update && !opts->size_bytes)
		usage_error("--update needs the new goal; type for example --update --size 40G --deadline +90m");
	/* attach refuses every time of the day, for another reason. */
	if (opts->passed && !opts->or_plain && !(cmd->bit & CMD_ATTACH))
		usage_error("'--deadline %.80s': %s", opts->deadline_text, passed);
	if (opts->not_before)
		take_not_before(opts);
	check_operands(cmd, opts, argv + optind);
	if (opts->deadline_text && !opts->passed)
		tell_day(opts);
	return optind;
}

struct target options_target(const char *text)
{
	struct target target = { .fd = -1 };
	int len = 0;

	/* %d takes signs and blanks as well, and wraps: digits and a colon, nine digits at most. */
	if (strlen(text) == strspn(text, "0123456789:")) {
		if (sscanf(text, "%9d%n:%9d%n", &target.pid, &len, &target.fd, &len) >= 1 &&
		    target.pid > 0 && !text[len])
			return target;
	}
	usage_error("'%.80s' names no connection; type PID or PID:FD, such as 1234:5",
		    text);
}
