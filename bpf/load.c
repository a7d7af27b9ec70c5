// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads dalbe.bpf.o, which lies beside this program, or unloads it. All that stays is pinned:
 *
 *	/sys/fs/bpf/dalbe/maps/dalbe_cdg	the congestion control
 *	                      /settings		bpf/flow.h, struct dalbe_defaults
 *	                      /paths		what is known of them
 *	                 /links/...		goals, in the cgroup and below it
 *
 *	usage: dalbe-load [-v] load [CGROUP] | unload
 *
 * -v says how many instructions the verifier has looked at in each program.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PINS		"/sys/fs/bpf/dalbe"
#define CGROUP		"/sys/fs/cgroup"
#define OBJECT		"dalbe.bpf.o"
#define LOG_SIZE	65536
#define LOG_STATISTICS	4	/* BPF_LOG_STATS */

static int complain(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

static int failed(const char *what)
{
	fprintf(stderr, "dalbe-load: %s: %s\n", what, strerror(errno));
	return 1;
}

static int refuse(const char *why)
{
	fprintf(stderr, "dalbe-load: %s\n", why);
	return 1;
}

static void remove_pins(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(path);
}

static int unload(void)
{
	int map = bpf_obj_get(PINS "/maps/dalbe_cdg"), key = 0;

	if (access(PINS, F_OK))
		return refuse("it is not loaded");
	/* no socket may choose it any more; those that have keep it until they end */
	if (map >= 0)
		bpf_map_delete_elem(map, &key);
	remove_pins(PINS "/links");
	remove_pins(PINS "/maps");
	return rmdir(PINS) ? failed(PINS) : 0;
}

/* The object beside this program. */
static struct bpf_object *open_object(void)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - sizeof(OBJECT));

	if (len < 0)
		return NULL;
	path[len] = '\0';
	strcpy(strrchr(path, '/') + 1, OBJECT);
	return bpf_object__open_file(path, NULL);
}

static void ask_for_statistics(struct bpf_object *object)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, object) {
		bpf_program__set_log_buf(prog, calloc(1, LOG_SIZE), LOG_SIZE);
		bpf_program__set_log_level(prog, LOG_STATISTICS);
	}
}

/* The kernel writes "processed N insns", in 7.2 after a line "processed A+B" of its parts. */
static void tell_statistics(struct bpf_object *object)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, object) {
		size_t size;
		const char *log = bpf_program__log_buf(prog, &size);
		const char *end = log ? strstr(log, " insns (limit") : NULL;

		while (end && end > log && end[-1] != ' ')
			end--;
		printf("%s: %zu instructions, the verifier looks at %ld\n",
		       bpf_program__name(prog), bpf_program__insn_cnt(prog),
		       end ? atol(end) : -1);
	}
}

static int pin_map(struct bpf_map *map, const char *name)
{
	char path[sizeof(PINS) + 64];

	snprintf(path, sizeof(path), PINS "/maps/%s", name);
	return bpf_map__pin(map, path) ? failed(path) : 0;
}

static int attach_maps(struct bpf_object *object)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, "dalbe_cdg");
	struct bpf_link *link = bpf_map__attach_struct_ops(map);

	if (!link)
		return errno == EEXIST ? refuse("there is a dalbe_cdg: is the module loaded?") :
					 failed("dalbe_cdg");
	bpf_link__disconnect(link);	/* it stays when we end: the map is what holds it */
	return pin_map(map, "dalbe_cdg") ||
	       pin_map(bpf_object__find_map_by_name(object, ".data.settings"), "settings") ||
	       pin_map(bpf_object__find_map_by_name(object, "paths"), "paths");
}

static int attach_hooks(struct bpf_object *object, int cgroup)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, object) {
		char path[sizeof(PINS) + 64];
		struct bpf_link *link;

		if (strncmp(bpf_program__section_name(prog), "cgroup/", strlen("cgroup/")))
			continue;
		snprintf(path, sizeof(path), PINS "/links/%s", bpf_program__name(prog));
		link = bpf_program__attach_cgroup(prog, cgroup);
		if (!link || bpf_link__pin(link, path))
			return failed(path);
	}
	return 0;
}

static int load(const char *cgroup_path, bool verbose)
{
	struct bpf_object *object;
	struct timespec tick;
	unsigned int hz;
	int cgroup, err;

	if (access("/sys/kernel/btf/vmlinux", F_OK))
		return refuse("this kernel has no BTF (CONFIG_DEBUG_INFO_BTF): use the module");
	cgroup = open(cgroup_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cgroup < 0)
		return failed(cgroup_path);
	if (!access(PINS, F_OK))
		return refuse("it is loaded; 'unload' first");
	object = open_object();
	if (!object)
		return failed(OBJECT);
	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	hz = 1000000000 / tick.tv_nsec;
	bpf_map__set_initial_value(bpf_object__find_map_by_name(object, ".rodata.hz"), &hz,
				   sizeof(hz));
	if (verbose)
		ask_for_statistics(object);
	err = bpf_object__load(object);
	if (verbose)
		tell_statistics(object);
	if (err)
		return failed("the kernel refuses it");
	if (mkdir(PINS, 0755) || mkdir(PINS "/maps", 0755) || mkdir(PINS "/links", 0755))
		return failed(PINS ": is the BPF file system mounted?");
	if (attach_maps(object) || attach_hooks(object, cgroup)) {
		unload();
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && !strcmp(argv[1], "-v");

	libbpf_set_print(complain);
	argv += verbose;
	argc -= verbose;
	if ((argc == 2 || argc == 3) && !strcmp(argv[1], "load"))
		return load(argc == 3 ? argv[2] : CGROUP, verbose);
	if (argc == 2 && !strcmp(argv[1], "unload"))
		return unload();
	fprintf(stderr, "usage: dalbe-load [-v] load [CGROUP] | unload\n");
	return 2;
}
