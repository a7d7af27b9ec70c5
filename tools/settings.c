// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settings by sysctl's names, net.dalbe.*, for dalbectl set and get: of the module in /proc/sys, of
 * the BPF edition in a map that is pinned.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "array.h"
#include "bpf.h"
#include "commands.h"
#include "human.h"

#define PROC	"/proc/sys/net/dalbe"
#define MAP	DALBE_PINS "/maps/settings"

/* Of the BPF edition; kernel/defaults.c has the module's. */
static const struct {
	const char *name;
	size_t offset;
	uint32_t least, most;
} settings[] = {
#define SETTING(name, least, most) { #name, offsetof(struct dalbe_defaults, name), least, most }
	SETTING(controller, DALBE_CONTROLLER_PID, DALBE_CONTROLLER_FLOOR),
	SETTING(tw_ms, 0, DALBE_TW_MAX_MS),
	SETTING(wmin_ppm, DALBE_WMIN_MIN_PPM, DALBE_WMIN_MAX_PPM),
	SETTING(limit_increase, 0, 1),
	SETTING(after_deadline, 0, DALBE_AFTER_KEEP),
	SETTING(hystart, 0, 3),
	SETTING(idle_g_us, 0, DALBE_G_MAX_NS / 1000),
};

/* bpf(2) on the one element of the map; -1 with errno. */
static int bpf_element(int command, struct dalbe_defaults *values)
{
	union bpf_attr attr = { .pathname = (uintptr_t)MAP };
	int fd = (int)syscall(SYS_bpf, BPF_OBJ_GET, &attr, sizeof(attr)), ret, err;
	uint32_t key = 0;

	if (fd < 0)
		return -1;
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)fd;
	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)values;
	ret = (int)syscall(SYS_bpf, command, &attr, sizeof(attr));
	err = errno;
	close(fd);
	errno = err;
	return ret;
}

static bool failed(const char *name)
{
	complain("net.dalbe.%s: %s", name,
		 errno == EACCES || errno == EPERM ? "not permitted: type sudo dalbectl" :
		 errno == ENOENT ? NO_EDITION :
		 errno == EINVAL ? "out of range: see dalbe(7)" : strerror(errno));
	return false;
}

/* The module's; value: NULL to print it. */
static bool of_module(const char *name, const char *value)
{
	char path[256], line[64] = "";
	bool good;
	FILE *file;

	snprintf(path, sizeof(path), PROC "/%s", name);
	file = fopen(path, value ? "we" : "re");
	if (!file && errno == ENOENT) {
		complain("the module has no net.dalbe.%s; see dalbe(7)", name);
		return false;
	}
	if (!file)
		return failed(name);
	good = value ? fputs(value, file) >= 0 : !!fgets(line, sizeof(line), file);
	if (fclose(file) || !good)
		return failed(name);
	if (!value)
		printf("net.dalbe.%s = %s", name, line);
	return true;
}

static bool of_bpf(const char *name, const char *value)
{
	struct dalbe_defaults values;
	char err[HUMAN_ERR_LEN];
	uint32_t *field;
	uint64_t number;
	size_t i = 0;

	if (bpf_element(BPF_MAP_LOOKUP_ELEM, &values))
		return failed(name);
	while (i < ARRAY_SIZE(settings) && strcmp(settings[i].name, name))
		i++;
	if (i == ARRAY_SIZE(settings)) {
		complain("the BPF edition has no net.dalbe.%s; see dalbe(7)", name);
		return false;
	}
	field = (uint32_t *)((char *)&values + settings[i].offset);
	if (!value) {
		printf("net.dalbe.%s = %u\n", name, *field);
		return true;
	}
	if (human_parse_fixed(value, 1, settings[i].least, settings[i].most, &number, err)) {
		complain("'net.dalbe.%s=%.40s': %s", name, value, err);
		return false;
	}
	if (!strcmp(name, "tw_ms") && number && number < DALBE_TW_MIN_MS) {
		complain("'net.dalbe.%s=%.40s': it is out of range; type 0, or %u to %u", name,
			 value, DALBE_TW_MIN_MS, DALBE_TW_MAX_MS);
		return false;
	}
	*field = (uint32_t)number;
	return !bpf_element(BPF_MAP_UPDATE_ELEM, &values) || failed(name);
}

bool settings_named(const char *word)
{
	return word && !strncmp(word, "net.dalbe.", strlen("net.dalbe."));
}

int cmd_settings(bool set, char **words)
{
	bool module = !access(PROC, F_OK), good = true;

	for (; *words; words++) {
		char *name = *words + strlen("net.dalbe."), *value = strchr(*words, '=');

		if (!settings_named(*words) || strchr(*words, '/') || set != !!value)
			usage_error("'%.80s' is no setting; type for example %s", *words,
				    set ? "net.dalbe.wmin_ppm=20000" : "net.dalbe.wmin_ppm");
		if (value)
			*value++ = '\0';
		good &= module ? of_module(name, value) : of_bpf(name, value);
	}
	return written() && good ? EXIT_SUCCESS : EXIT_FAILURE;
}
