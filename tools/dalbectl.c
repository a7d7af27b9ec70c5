// SPDX-License-Identifier: GPL-2.0-only
/* dalbectl: give TCP connections of any program a size and a deadline. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "checks.h"
#include "commands.h"

static const struct {
	struct command command;
	int (*function)(const struct options *opts, char **operands);
} commands[] = {
	{ { "run", CMD_RUN,
	    "--size SIZE --deadline TIME [OPTIONS] -- PROGRAM [ARGUMENT...]",
	    "Start a program and give its TCP connections a goal.",
	    "--scavenger stands in the place of a goal: no size, no deadline. So does\n"
	    "--window alone: within its hours the program competes as any other. Several\n"
	    "connections share the goal. The exit status is the program's, 128 + N when\n"
	    "signal N ended it, 127 when it is not found, 126 when it cannot be executed,\n"
	    "125 when dalbectl itself fails, 2 for a bad option.\n" },
	  cmd_run },
	{ { "set", CMD_SET, "[OPTIONS] PID|PID:FD",
	    "Give connections of a running program a goal, or parameters.",
	    "PID stands for all TCP connections of the process and its descendants, which\n"
	    "have the goal together. The congestion control dalbe_cdg is selected\n"
	    "where it is not yet. net.dalbe.NAME=VALUE... in the place of all that: settings of\n"
	    "the machine, by sysctl's names, of either edition (root).\n" },
	  cmd_set },
	{ { "get", CMD_GET, "[OPTIONS] [PID|PID:FD]...",
	    "Show what connections with a congestion control of dalbe are doing.",
	    "Without operands: all connections of this user's processes.\n" },
	  cmd_get },
	{ { "watch", CMD_WATCH, "[OPTIONS] PID|PID:FD",
	    "Show it repeatedly, until the goal is reached or the program ends.",
	    "On a terminal the table is redrawn in place.\n" },
	  cmd_watch },
	{ { "clear", CMD_CLEAR, "PID|PID:FD",
	    "Forget the goal: the connections get the default congestion control again.", "" },
	  cmd_clear },
	{ { "attach", CMD_ATTACH, "[--cgroup PATH|--unit NAME|--pid PID OPTIONS]",
	    "Put each new connection of a service under a policy (root).",
	    "The goal, or --scavenger, is for each connection, from its beginning on, until\n"
	    "detach or a reboot; connections that are there stay as they are. Without an\n"
	    "option: list what is attached.\n" },
	  cmd_attach },
	{ { "detach", CMD_DETACH, "--cgroup PATH|--unit NAME",
	    "Take that back: connections that are there keep what they have.", "" },
	  cmd_detach },
	{ { "plan", CMD_PLAN, "[OPTIONS] NAME[=SIZE]@[FROM-]TIME...",
	    "Say whether jobs fit, by what earlier runs have carried (run --name).",
	    "All jobs share one line. Without FROM one is taken to begin now, without SIZE it is that of\n"
	    "--size auto. The exit status is 1 where one does not fit, or nothing is known.\n" },
	  cmd_plan },
	{ { "report", CMD_REPORT, "[OPTIONS]",
	    "Show what became of the last 24 hours' jobs (run --name).",
	    "Those that have not run, though they did in the last eight days, are told, too.\n" },
	  cmd_report },
	{ { "policy", CMD_POLICY, "test|apply|remove [OPTIONS] [FILE]",
	    "Put each new connection of this machine under the rules of a file.",
	    "FILE is /etc/dalbe/policy.conf where none is named. On each line a rule, of which\n"
	    "the first that holds decides: scavenger, weight W, goal SIZE within TIME or plain,\n"
	    "and what it is for: to ADDR/LEN, port N, own-port N, user NAME, cgroup PATH; N can\n"
	    "be a range, 8000-8099. test checks the file, and tells which line decides and why;\n"
	    "apply puts it in force, by BPF where that edition is loaded, else by polling.\n" },
	  cmd_policy },
};

static void print_help(void)
{
	puts("Usage: dalbectl COMMAND [OPTION]... [OPERAND]...\n"
	     "Tell TCP connections how much to send by when; until then they give way.\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		printf("  %-6s  %s\n", commands[i].command.name,
		       commands[i].command.summary);
	puts("\n"
	     "  --help     this text; dalbectl COMMAND --help for one command\n"
	     "  --version  the version\n"
	     "\n"
	     "Where there is no module, root types dalbectl load [CGROUP], upgrade, and unload:\n"
	     "that is the BPF edition.\n"
	     "\n"
	     "Example: dalbectl run --size-of backup.tar --deadline 06:00 -- \\\n"
	     "                rsync backup.tar host:");
}

bool loader_path(char *path, size_t size)
{
	static const char loader[] = "/../lib/dalbe/dalbe-load";
	ssize_t len = readlink("/proc/self/exe", path, size - sizeof(loader));

	if (len <= 0)
		return false;
	path[len] = '\0';
	strcpy(strrchr(path, '/'), loader);
	return !access(path, X_OK);
}

/* "load", "upgrade" and "unload" are bpf/'s, which is installed where that edition is wanted. */
static int load_bpf(char **argv)
{
	char path[4096];

	if (loader_path(path, sizeof(path))) {
		argv[0] = path;
		execv(path, argv);
	}
	complain("the BPF edition is not installed: cannot execute lib/dalbe/dalbe-load: %s",
		 strerror(errno));
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct options opts;

	/* A parent that ignores SIGCHLD would have our children reaped. */
	signal(SIGCHLD, SIG_DFL);
	if (argc < 2)
		usage_error("the command is missing; type dalbectl --help for the list");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_help();
		return written() ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("dalbectl " DALBE_VERSION);
		return written() ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	if (!strcmp(argv[1], "load") || !strcmp(argv[1], "upgrade") || !strcmp(argv[1], "unload"))
		return load_bpf(argv);
	if (settings_named(argv[2]) && (!strcmp(argv[1], "set") || !strcmp(argv[1], "get")))
		return cmd_settings(*argv[1] == 's', argv + 2);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		int first, status;

		if (strcmp(argv[1], commands[i].command.name))
			continue;
		first = options_parse(&commands[i].command, argc - 1, argv + 1,
				      &opts);
		if (commands[i].command.bit &
		    (CMD_ATTACH | CMD_DETACH | CMD_PLAN | CMD_REPORT | CMD_POLICY))
			return commands[i].function(&opts, argv + 1 + first);
		opts.plain = checks_unavailable(!opts.or_plain ? "" : opts.deadline_ns ?
					 "warning: the program runs without a goal: " :
					 "warning: the program runs as no scavenger: ");
		if (opts.plain && !opts.or_plain)
			return commands[i].command.bit & CMD_RUN ?
			       EXIT_RUN_FAILED : EXIT_FAILURE;
		if (opts.passed && !opts.plain)
			complain("warning: the program runs without a goal: the deadline %.80s has passed",
				 opts.passed);
		if (commands[i].command.bit & CMD_RUN && !opts.plain)
			checks_warn_of_proxy();
		status = commands[i].function(&opts, argv + 1 + first);
		if (commands[i].command.bit & CMD_GET && !opts.json && !argv[1 + first])
			attach_list("attached:");
		return status;
	}
	usage_error("unknown command '%.80s'; type one of run, set, get, watch, clear, attach, detach, plan, report, policy, load, upgrade, unload",
		    argv[1]);
}
