/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The options of dalbectl: one table, from which getopt_long(3), the help of
 * every command and the messages about bad options are made.
 */
#ifndef DALBE_OPTIONS_H
#define DALBE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dalbe_ctl.h"
#include "window.h"

/* Exit statuses. Those of run are what env(1) and timeout(1) use. */
enum {
	EXIT_USAGE = 2,			/* a bad option or operand */
	EXIT_UNFINISHED = 123,		/* run --fail-late: in time, but less */
	EXIT_LATE = 124,		/* run --fail-late, --stop-at */
	EXIT_RUN_FAILED = 125,		/* run could not start anything */
	EXIT_CANNOT_EXEC = 126,
	EXIT_NOT_FOUND = 127,
};

/* Commands, as bits: which of them know an option. */
enum command_bit {
	CMD_RUN = 1 << 0,
	CMD_SET = 1 << 1,
	CMD_GET = 1 << 2,
	CMD_WATCH = 1 << 3,
	CMD_CLEAR = 1 << 4,
	CMD_ATTACH = 1 << 5,
	CMD_DETACH = 1 << 6,
	CMD_PLAN = 1 << 7,
	CMD_REPORT = 1 << 8,
	CMD_POLICY = 1 << 9,
};

struct command {
	const char *name;
	enum command_bit bit;
	const char *synopsis;		/* what follows the options */
	const char *summary;		/* one line */
	const char *details;		/* the rest of the help */
};

struct options {
	uint64_t size_bytes;		/* 0: no goal */
	bool size_auto;			/* learned, perhaps not yet */
	const char *name;		/* run: in the record; NULL: it is not kept */
	bool progress;			/* run: read what the program says */
	bool prometheus;		/* report */
	uint64_t deadline_ns;		/* on CLOCK_BOOTTIME, 0: no goal; passed: or negative */
	const char *passed;		/* run --or-plain: a deadline that is, as it was typed */
	const char *not_before;		/* run: as it was typed; NULL: at once */
	uint64_t not_before_ns;		/* as deadline_ns */
	uint64_t stop_at_ns;		/* 0: never */
	uint64_t max_rate_Bps;		/* run: 0: any */
	struct windows windows;		/* in which it competes; none: always */
	struct dalbe_params params;	/* flags say which were given */
	uint64_t interval_ns;		/* watch */
	const char *json_path;		/* run: NULL is stderr */
	uint32_t group;			/* 0: none */
	uint16_t port;			/* 0: any */
	uint8_t dscp;
	bool dscp_given;
	bool group_given;
	bool update;
	bool all;			/* set: PID 1 is meant */
	bool json;
	bool loopback;
	bool quiet;
	bool verbose;
	bool or_plain;			/* run: rather than not at all */
	bool plain;			/* that is so: no goals */
	bool fail_late;
	const char *deadline_text;	/* attach, and the next */
	const char *cgroup;
	const char *unit;
	pid_t pid;			/* attach; 0: none */
	const char *to;			/* policy test: a connection, and the next two */
	const char *user;
	uint16_t own_port;
	char **words;			/* what follows the command */
};

/* A connection on the command line: PID, or PID:FD. */
struct target {
	pid_t pid;
	int fd;				/* -1: all its sockets */
};

/*
 * Parse what follows the command's name (argv[0]). Returns the index of the
 * first operand. Does not return on --help, or after a message about a bad
 * option or operand (EXIT_USAGE).
 */
int options_parse(const struct command *cmd, int argc, char **argv,
		  struct options *opts);

/* The controller that needs no goal. */
bool options_scavenger(const struct options *opts);

/* Parse an operand; does not return if it is none. */
struct target options_target(const char *text);

/* CLOCK_BOOTTIME in nanoseconds. */
uint64_t boottime_ns(void);

/*
 * Print "dalbectl: ..." as one line on stderr. In the journal its priority is that of syslog(3),
 * and complain()'s a warning.
 */
void announce(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether all that we printed has reached stdout; false after a message. */
bool written(void);

/* As complain(), and exit with EXIT_USAGE. */
void usage_error(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));

#endif
