// SPDX-License-Identifier: GPL-2.0-only
/* A table of tests that reports in TAP; see harness.h. */
#include "harness.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum outcome { PASSED, FAILED, SKIPPED };

static jmp_buf leave_test;
static char turn[128];
static char reason[512];
static pid_t children[8];	/* that the test has started and not ended; 0: none */

/* Written into the kernel's log, so that a report there has an author. */
static void announce(const char *name)
{
	int kmsg = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	char line[128];

	snprintf(line, sizeof(line), "dalbe_guest_test: %s\n", name);
	if (kmsg < 0 || write(kmsg, line, strlen(line)) < 0)
		harness_note("cannot name the test in the kernel's log: %s",
			     harness_errno(errno));
	close(kmsg);
}

/* A comment in the report. */
void harness_note(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

void harness_turn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(turn, sizeof(turn), fmt, ap);
	va_end(ap);
}

/* End the running test, which has failed. */
void harness_fail(const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	va_list ap;
	int n;

	n = snprintf(reason, sizeof(reason), "%s:%d: %s%s",
		     base ? base + 1 : file, line, turn, *turn ? ": " : "");
	va_start(ap, fmt);
	vsnprintf(reason + n, sizeof(reason) - n, fmt, ap);
	va_end(ap);
	longjmp(leave_test, FAILED);
}

/* End the running test: what it needs is not in this kernel. */
void harness_skip(const char *why)
{
	snprintf(reason, sizeof(reason), "%s", why);
	longjmp(leave_test, SKIPPED);
}

/* "EINVAL", "success"; valid until the program ends. */
const char *harness_errno(int err)
{
	const char *name = err ? strerrorname_np(err) : "success";

	return name ? name : "unknown errno";
}

pid_t harness_start_child(void (*run)(const void *arg), const void *arg)
{
	size_t i = 0;
	pid_t pid;

	while (children[i])
		CHECK_OP(++i, <, ARRAY_SIZE(children));
	fflush(stdout);
	pid = TRY(fork());
	if (!pid) {
		if (setjmp(leave_test)) {
			harness_note("child: %s", reason);
			_exit(EXIT_FAILURE);
		}
		run(arg);
		_exit(EXIT_SUCCESS);
	}
	children[i] = pid;
	return pid;
}

void harness_end_child(pid_t pid)
{
	int status;

	TRY(waitpid(pid, &status, 0));
	for (size_t i = 0; i < ARRAY_SIZE(children); i++)
		if (children[i] == pid)
			children[i] = 0;
	CHECK_EQ(status, 0);
}

void harness_in_child(void (*run)(const void *arg), const void *arg)
{
	harness_end_child(harness_start_child(run, arg));
}

/* A test that has failed, or was skipped, may leave children. */
static void kill_children(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
		if (!children[i])
			continue;
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
		children[i] = 0;
	}
}

static enum outcome run_one(const struct test *test, void (*prepare)(void),
			    void (*finish)(void), int first_fd)
{
	volatile enum outcome outcome;

	*turn = '\0';
	announce(test->name);
	outcome = setjmp(leave_test);
	if (outcome == PASSED) {
		prepare();
		test->run();
	}
	kill_children();
	if (setjmp(leave_test))
		outcome = FAILED;
	else
		finish();
	close_range(first_fd, ~0U, 0);
	return outcome;
}

/* @only: parts of names, with | between them; NULL: all are wanted. */
static bool wanted(const char *name, const char *only)
{
	char parts[256], *rest = parts, *part;

	if (!only)
		return true;
	snprintf(parts, sizeof(parts), "%s", only);
	while ((part = strsep(&rest, "|")))
		if (strstr(name, part))
			return true;
	return false;
}

/**
 * harness_run - run tests and report them on stdout
 * @tables: of tests
 * @count: how many tables
 * @only: run the tests whose name contains this, or one of these with | between them; NULL: all
 * @prepare: called before each test, and part of it
 * @finish: called after each test, also one that has failed, before what it opened is closed; part
 *	of it as well
 *
 * Return: how many failed; 1 if there was none to run.
 */
unsigned int harness_run(const struct test *const tables[], size_t count,
			 const char *only, void (*prepare)(void), void (*finish)(void))
{
	int first_fd = TRY(dup(STDERR_FILENO));
	unsigned int failed = 0, ran = 0;
	const struct test *test;

	close(first_fd);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < count; i++) {
		for (test = tables[i]; test->name; test++) {
			if (!wanted(test->name, only))
				continue;
			ran++;
			switch (run_one(test, prepare, finish, first_fd)) {
			case PASSED:
				printf("ok - %s\n", test->name);
				break;
			case SKIPPED:
				printf("ok - %s # SKIP %s\n", test->name,
				       reason);
				break;
			case FAILED:
				printf("# %s\nnot ok - %s\n", reason,
				       test->name);
				failed++;
				break;
			}
		}
	}
	if (!ran)
		printf("not ok - there is a test to run\n");
	return ran ? failed : 1;
}
