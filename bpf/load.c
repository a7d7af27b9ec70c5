// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads the objects that lie beside this program. All that stays is pinned:
 *
 *	/sys/fs/bpf/dalbe/maps/settings		tools/bpf.h, struct dalbe_defaults
 *	                      /paths		what is known of them
 *	                      /goals, flows	of sockets
 *	                      /dalbe_cdg	the congestion control, before Linux 6.4
 *	                 /links/dalbe_cdg	the same since, which another version can take over
 *	                       /dalbe_...	goals by setsockopt(2), in the cgroup and below it
 *	                 /attached/NAME		new connections of another cgroup: attach.bpf.c
 *
 *	usage: dalbe-load [-v] load [CGROUP] | upgrade | unload | attach NAME CGROUP POLICY
 *
 * -v says how many instructions the verifier has looked at in each program. POLICY is a struct
 * dalbe_policy, in hexadecimal digits.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
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

#include "tools/bpf.h"

#define PINS		DALBE_PINS
#define CGROUP		"/sys/fs/cgroup"
#define OBJECT		"dalbe.bpf.o"
#define ATTACH_OBJECT	"attach.bpf.o"
#define STRUCT_OPS	44	/* enum bpf_attach_type, since Linux 6.4 */
#define LINK		0x2000	/* BPF_F_LINK */

static const char *const kept[] = { "settings", "paths", "goals", "flows", NULL };

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

static const char *pin(const char *folder, const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), PINS "/%s/%s", folder, name);
	return path;
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

static bool loaded(void)
{
	return !access(PINS "/maps", F_OK);
}

static int take_back(void)
{
	int map = bpf_obj_get(PINS "/maps/dalbe_cdg"), key = 0;

	/* no socket may choose it any more; those that have keep it until they end */
	if (map >= 0)
		bpf_map_delete_elem(map, &key);
	remove_pins(PINS "/links");
	remove_pins(PINS "/maps");
	return rmdir(PINS) && errno != ENOTEMPTY ? failed(PINS) : 0;
}

static int unload(void)
{
	if (!loaded())
		return refuse("it is not loaded");
	if (rmdir(PINS "/attached") && errno == ENOTEMPTY)
		return refuse("it is attached to services: dalbectl attach lists them, detach first");
	return take_back();
}

/* An object beside this program. */
static struct bpf_object *open_object(const char *name)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 32);
	struct bpf_object *object;

	if (len < 0)
		return NULL;
	path[len] = '\0';
	strcpy(strrchr(path, '/') + 1, name);
	object = bpf_object__open_file(path, NULL);
	if (!object)
		failed(path);
	return object;
}

static struct bpf_map *map_of(struct bpf_object *object, const char *name)
{
	return bpf_object__find_map_by_name(object, strcmp(name, "settings") ? name :
						    ".data.settings");
}

static void tell_statistics(struct bpf_object *object)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, object) {
		struct bpf_prog_info info = {};
		unsigned int size = sizeof(info);

		if (!bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &size))
			printf("%s: %zu instructions, the verifier looks at %u\n",
			       bpf_program__name(prog), bpf_program__insn_cnt(prog),
			       info.verified_insns);
	}
}

static void print_type(void *out, const char *format, va_list args)
{
	vfprintf(out, format, args);
}

/* A type and those that it is made of, in C: what two versions of a map have alike, or have not. */
static char *in_c(const struct btf *btf, unsigned int type)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct btf_dump *dump = btf_dump__new(btf, print_type, out, NULL);

	btf_dump__dump_type(dump, type);
	btf_dump__free(dump);
	fclose(out);
	return text;
}

/* The object goes on with the map that is pinned, if its values lie there as they do here. */
static bool keep_map(struct bpf_object *object, const char *name)
{
	struct bpf_map *map = map_of(object, name);
	int fd = bpf_obj_get(pin("maps", name));
	struct bpf_map_info info = {};
	unsigned int size = sizeof(info);

	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size) && info.btf_id &&
	       info.value_size == bpf_map__value_size(map) &&
	       !strcmp(in_c(btf__load_from_kernel_by_id(info.btf_id), info.btf_value_type_id),
		       in_c(bpf_object__btf(object), bpf_map__btf_value_type_id(map))) &&
	       !bpf_map__reuse_fd(map, fd);
}

static int pin_again(int fd, const char *folder, const char *name)
{
	const char *path = pin(folder, name);

	unlink(path);
	return fd < 0 || bpf_obj_pin(fd, path) ? failed(path) : 0;
}

/* Has the kernel links of struct_ops? A congestion control can be changed by those alone. */
static bool has_links(void)
{
	struct btf *btf = btf__load_vmlinux_btf();

	return btf__find_by_name_kind(btf, "bpf_struct_ops_link", BTF_KIND_STRUCT) > 0;
}

static int attach_cc(struct bpf_object *object, int old_link)
{
	struct bpf_map *map = map_of(object, "dalbe_cdg");
	/* what this does besides writing the map depends on libbpf's version; the link is ours */
	struct bpf_link *link = bpf_map__attach_struct_ops(map);
	int fd = bpf_map__fd(map);

	if (old_link >= 0)
		return bpf_link_update(old_link, fd, NULL) ? failed("dalbe_cdg") : 0;
	if (link && bpf_map__map_flags(map) & LINK)
		fd = bpf_link__fd(link) != fd ? bpf_link__fd(link) :
						bpf_link_create(fd, 0, STRUCT_OPS, NULL);
	if (!link || fd < 0)
		return errno == EEXIST ? refuse("there is a dalbe_cdg: is the module loaded?") :
					 failed("dalbe_cdg");
	bpf_link__disconnect(link);	/* it stays when we end */
	return pin_again(fd, bpf_map__map_flags(map) & LINK ? "links" : "maps", "dalbe_cdg");
}

static int attach_hooks(struct bpf_object *object, int cgroup)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, object) {
		const char *name = bpf_program__name(prog);
		int fd = bpf_program__fd(prog), link;

		if (strncmp(bpf_program__section_name(prog), "cgroup/", strlen("cgroup/")))
			continue;
		link = cgroup < 0 ? bpf_obj_get(pin("links", name)) :
			bpf_link_create(fd, cgroup, bpf_program__expected_attach_type(prog), NULL);
		if (cgroup < 0 ? bpf_link_update(link, fd, NULL) : pin_again(link, "links", name))
			return failed(name);
	}
	return 0;
}

/* The maps of before go on where they can: else connections that are there cannot be changed. */
static int keep_maps(struct bpf_object *object)
{
	bool attached = rmdir(PINS "/attached") && errno == ENOTEMPTY;

	for (const char *const *name = kept; *name; name++) {
		if (keep_map(object, *name))
			continue;
		if (attached && !strcmp(*name, "goals"))
			return refuse("this version has other goals, and services are attached: detach, upgrade, attach again");
		fprintf(stderr, "dalbe-load: this version has other %s: it begins without those of before\n",
			*name);
	}
	return 0;
}

/* @cgroup_path: NULL: another version takes over from the one that is loaded */
static int load_edition(const char *cgroup_path, bool verbose)
{
	int cgroup = -1, old_link = -1, err;
	struct bpf_object *object;
	struct timespec tick;
	unsigned int hz;

	if (access("/sys/kernel/btf/vmlinux", F_OK))
		return refuse("this kernel has no BTF (CONFIG_DEBUG_INFO_BTF): use the module");
	if (cgroup_path) {
		cgroup = open(cgroup_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (cgroup < 0)
			return failed(cgroup_path);
		if (loaded())
			return refuse("it is loaded; 'upgrade', or 'unload' first");
	} else {
		if (!loaded())
			return refuse("it is not loaded");
		old_link = bpf_obj_get(PINS "/links/dalbe_cdg");
	}
	if (!cgroup_path && old_link < 0)
		return refuse("before Linux 6.4 a congestion control cannot be changed under its connections: unload it and load it again, and they keep the old one");
	object = open_object(OBJECT);
	if (!object || (!cgroup_path && keep_maps(object)))
		return 1;
	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	hz = 1000000000 / tick.tv_nsec;
	bpf_map__set_initial_value(map_of(object, ".rodata.hz"), &hz, sizeof(hz));
	if (has_links())
		bpf_map__set_map_flags(map_of(object, "dalbe_cdg"), LINK);
	if (bpf_object__load(object))
		return failed("the kernel refuses it");
	if (verbose)
		tell_statistics(object);
	mkdir(PINS, 0755);
	if (cgroup_path && (mkdir(PINS "/maps", 0755) || mkdir(PINS "/links", 0755)))
		return failed(PINS ": is the BPF file system mounted?");
	err = attach_cc(object, old_link) || attach_hooks(object, cgroup);
	for (const char *const *name = kept; *name && !err; name++)
		err = pin_again(bpf_map__fd(map_of(object, *name)), "maps", *name);
	if (err && cgroup_path)	/* services may be attached, by the module */
		take_back();
	return err;
}

static int attach(const char *name, const char *cgroup_path, const char *text)
{
	int cgroup = open(cgroup_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct bpf_object *object = open_object(ATTACH_OBJECT);
	struct dalbe_policy policy;
	struct bpf_program *prog;

	for (size_t i = 0; i < sizeof(policy); i++) {
		if (sscanf(text + 2 * i, "%2hhx", (unsigned char *)&policy + i) != 1)
			return refuse("this is of another version than dalbectl");
	}
	if (cgroup < 0)
		return failed(cgroup_path);
	if (!object)
		return 1;
	bpf_map__set_initial_value(map_of(object, ".rodata.policy"), &policy, sizeof(policy));
	if (!policy.only_cc && !keep_map(object, "goals"))
		return refuse("the BPF edition that is loaded is of another version: dalbectl upgrade");
	if (bpf_object__load(object))
		return failed("the kernel refuses it");
	mkdir(PINS, 0755);
	mkdir(PINS "/attached", 0755);
	prog = bpf_object__find_program_by_name(object, "dalbe_attached");
	return pin_again(bpf_link_create(bpf_program__fd(prog), cgroup, BPF_CGROUP_SOCK_OPS, NULL),
			 "attached", name);
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && !strcmp(argv[1], "-v");

	libbpf_set_print(complain);
	argv += verbose;
	argc -= verbose;
	if ((argc == 2 || argc == 3) && !strcmp(argv[1], "load"))
		return load_edition(argc == 3 ? argv[2] : CGROUP, verbose);
	if (argc == 2 && !strcmp(argv[1], "upgrade"))
		return load_edition(NULL, verbose);
	if (argc == 2 && !strcmp(argv[1], "unload"))
		return unload();
	if (argc == 5 && !strcmp(argv[1], "attach"))
		return attach(argv[2], argv[3], argv[4]);
	fprintf(stderr, "usage: dalbe-load [-v] load [CGROUP] | upgrade | unload\n");
	return 2;
}
