// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of dalbe.ko through the interface that programs use, in the
 * guest that guest.sh has prepared. Each file test_*.c holds one table.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "fault.h"
#include "net.h"
#include "tests.h"

const char *module_path;

static const char usage[] =
"usage: dalbe_guest_test -m MODULE [-t TEXT]\n"
"\n"
"Runs the tests of the loaded module in a guest and reports them in TAP. The\n"
"namespaces of net.h must exist; guest.sh makes them.\n"
"\n"
"  -m MODULE  dalbe.ko, for the tests that unload and load it\n"
"  -t TEXT    only the tests whose name contains TEXT; those of \"horizon\" by this alone\n"
"  -h         this text\n"
"\n"
"Exit status: 0 if all passed, 1 if not, 2 for a usage error.\n";

static void prepare(void)
{
	link_set(&link_default);
	another_user();
}

int main(int argc, char **argv)
{
	const struct test *const tables[] = {
		tests_horizon, /* the first, and by name only */
		tests_bad_input, tests_goal, tests_status, tests_regime,
		tests_scavenger, tests_cubic, tests_vegas, tests_promises,
		tests_params, tests_sysctl, tests_lifetime, tests_counters, tests_paths, tests_job,
		tests_memory, tests_module,
	};
	const struct rlimit enough = { .rlim_cur = 32768, .rlim_max = 32768 };
	const char *only = NULL;
	int opt;

	while ((opt = getopt(argc, argv, "hm:t:")) != -1) {
		switch (opt) {
		case 'h':
			fputs(usage, stdout);
			return 0;
		case 'm':
			module_path = optarg;
			break;
		case 't':
			only = optarg;
			break;
		default:
			return 2;
		}
	}
	if (!module_path || optind < argc) {
		fputs("dalbe_guest_test: say -m MODULE; see dalbe_guest_test -h\n",
		      stderr);
		return 2;
	}
	if (setrlimit(RLIMIT_NOFILE, &enough) < 0) {
		perror("dalbe_guest_test: run it as root: RLIMIT_NOFILE");
		return 2;
	}
	return harness_run(tables + !only, ARRAY_SIZE(tables) - !only, only, prepare,
			   fault_none) ? 1 : 0;
}
