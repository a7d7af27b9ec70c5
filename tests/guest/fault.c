// SPDX-License-Identifier: GPL-2.0-only
/* Failing allocations on request; see fault.h. */
#include "fault.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

#define FAIL_NTH	"/proc/thread-self/fail-nth"
#define FAILSLAB	"/sys/kernel/debug/failslab/"

static void file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		FAIL("cannot write %s to %s: %s", text, path,
		     harness_errno(errno));
	close(fd);
}

/**
 * fault_require - skip the test where allocations cannot be made to fail
 * @sleeping_too: let those fail as well that may sleep; else atomic ones only
 */
void fault_require(bool sleeping_too)
{
	if (access(FAIL_NTH, W_OK) || access(FAILSLAB, F_OK))
		harness_skip("kernel without CONFIG_FAILSLAB");
	file_write(FAILSLAB "ignore-gfp-wait", sleeping_too ? "N" : "Y");
	file_write(FAILSLAB "verbose", "0");
	file_write(FAILSLAB "probability", "0");
}

/* Let the @nth allocation from now on fail, counted from 1. The file is opened
 * first: opening and closing allocate as well.
 */
static int nth_fd = -1;

void fault_arm(unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	nth_fd = TRY(open(FAIL_NTH, O_RDWR | O_CLOEXEC));
	TRY(pwrite(nth_fd, text, len, 0));
}

unsigned int fault_disarm(void)
{
	char text[16] = "";

	TRY(pread(nth_fd, text, sizeof(text) - 1, 0));
	TRY(pwrite(nth_fd, "0", 1, 0));
	close(nth_fd);
	return strtoul(text, NULL, 10);
}

/* Let so many of the atomic allocations from a slab cache fail, whoever asks. */
void fault_cache(const char *cache, unsigned int percent)
{
	char path[96], probability[16];
	bool on = percent;

	snprintf(probability, sizeof(probability), "%u", percent);

	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/failslab", cache);
	file_write(path, on ? "1" : "0");
	file_write(FAILSLAB "cache-filter", on ? "Y" : "N");
	file_write(FAILSLAB "task-filter", "N");
	file_write(FAILSLAB "times", on ? "-1" : "1");
	file_write(FAILSLAB "probability", probability);
}
