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
	nth_fd = -1;
	return strtoul(text, NULL, 10);
}

/* Those of which some allocations fail; NULL: none. */
static const char *faulty_caches[2];

static void cache_write(const char *cache, const char *text)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/failslab", cache);
	file_write(path, text);
}

/**
 * fault_cache - let allocations from a slab cache fail, whoever asks
 * @cache: kept; one of two at most
 * @percent: so many of the atomic ones, here and from all caches that were named before; 1 to 100
 */
void fault_cache(const char *cache, unsigned int percent)
{
	char probability[16];
	size_t i = 0;

	while (faulty_caches[i])
		CHECK_OP(++i, <, ARRAY_SIZE(faulty_caches));
	faulty_caches[i] = cache;
	cache_write(cache, "1");
	snprintf(probability, sizeof(probability), "%u", percent);
	file_write(FAILSLAB "cache-filter", "Y");
	file_write(FAILSLAB "task-filter", "N");
	file_write(FAILSLAB "times", "-1");
	file_write(FAILSLAB "probability", probability);
}

/* No allocation fails from now on. */
void fault_none(void)
{
	if (nth_fd >= 0)
		fault_disarm();
	for (size_t i = 0; i < ARRAY_SIZE(faulty_caches) && faulty_caches[i]; i++) {
		file_write(FAILSLAB "probability", "0");
		file_write(FAILSLAB "cache-filter", "N");
		file_write(FAILSLAB "times", "1");
		cache_write(faulty_caches[i], "0");
		faulty_caches[i] = NULL;
	}
}
