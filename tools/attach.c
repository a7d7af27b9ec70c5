// SPDX-License-Identifier: GPL-2.0-only
/*
 * dalbectl attach and detach: new connections of a cgroup, or of a unit of systemd's, are under a
 * policy before their first data packet. A program of BPF does it, which bpf/ loads; where there is
 * none, or a process is named, follow.c looks for them instead.
 *
 * Names of what is attached are files of STATE, for all to read, as the BPF file system is root's;
 * in each, the options that were typed. A service gets another cgroup each time it starts, so a
 * drop-in has this command typed again before it does.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf.h"
#include "checks.h"
#include "commands.h"
#include "follow.h"
#include "human.h"
#include "libdalbe.h"
#include "policy.h"

#define STATE		"/run/dalbe"
#define POLICY_KEY	"policy"	/* no cgroup and no unit has this one */
#define BPF_FS		"/sys/fs/bpf"
#define BPF_MAGIC	0xcafe4a11
#define CGROUP2_MAGIC	0x63677270

#define NOT_MOUNTED \
	"no BPF file system is mounted, or this kernel has none: sudo mount -t bpf none " BPF_FS
#define NO_POLICY \
	"no policy is in force by BPF; one by polling ends with its dalbectl policy apply"
#define MODULE \
	"of the module a program of BPF can choose dalbe_cdg and no more: make that a scavenger with sudo sysctl net.dalbe.scavenger=1 and type --scavenger alone; for the rest, unload it and type sudo dalbectl load"

struct place {
	char name[NAME_MAX + 1];	/* of the unit; empty: a cgroup of the user's */
	char cgroup[PATH_MAX];		/* empty: the unit does not run */
	char key[NAME_MAX + 1];		/* a file name for it */
};

static bool is_filesystem(const char *path, long magic)
{
	struct statfs fs;

	return !statfs(path, &fs) && (long)fs.f_type == magic;
}

/* In a BPF file system names have no dot. */
static bool make_key(struct place *place)
{
	size_t len = 0;

	for (const char *c = *place->name ? place->name : place->cgroup; *c; c++) {
		if (len + 4 > sizeof(place->key))
			return false;
		len += (size_t)sprintf(place->key + len, isalnum((unsigned char)*c) ? "%c" : "_%02x",
				       (unsigned char)*c);
	}
	return true;
}

static const char *cgroup_root(void)
{
	return is_filesystem("/sys/fs/cgroup", CGROUP2_MAGIC) ? "/sys/fs/cgroup" :
								"/sys/fs/cgroup/unified";
}

/* Ask systemd for the unit's whole name and its cgroup; false after a message. */
static bool find_unit(const char *unit, struct place *place)
{
	char command[512], line[PATH_MAX], path[PATH_MAX] = "", state[64] = "";
	bool valid = true;
	FILE *out;

	for (const char *c = unit; *c; c++)	/* it becomes a word of a shell's */
		valid &= isalnum((unsigned char)*c) || strchr(":_.@\\-", *c);
	if (!valid || strlen(unit) > 250)
		usage_error("'--unit %.80s': no unit has this name; type for example --unit nginx",
			    unit);
	snprintf(command, sizeof(command),
		 "systemctl show -p Id -p LoadState -p ControlGroup -- '%s' 2>/dev/null", unit);
	out = popen(command, "re");
	while (out && fgets(line, sizeof(line), out)) {
		if (sscanf(line, "Id=%255s", place->name) != 1 &&
		    sscanf(line, "LoadState=%63s", state) != 1 &&
		    sscanf(line, "ControlGroup=%4095s", path) != 1)
			continue;
	}
	if (out)
		pclose(out);
	if (strcmp(state, "loaded")) {
		complain("'%s': systemd knows no such unit; find it with systemctl list-units",
			 unit);
		return false;
	}
	if (*path)
		snprintf(place->cgroup, sizeof(place->cgroup), "%s%s", cgroup_root(), path);
	return true;
}

/* False after a message. */
static bool find_place(const struct options *opts, struct place *place)
{
	*place = (struct place){ 0 };
	if (opts->unit) {
		if (!find_unit(opts->unit, place))
			return false;
	} else if (!realpath(opts->cgroup, place->cgroup)) {
		complain("'%s': %s; type the path of a cgroup, below /sys/fs/cgroup", opts->cgroup,
			 strerror(errno));
		return false;
	}
	if (*place->cgroup && !is_filesystem(place->cgroup, CGROUP2_MAGIC)) {
		complain("'%s' is no cgroup of version 2; see mount -t cgroup2 for where those are, if this kernel has them",
			 place->cgroup);
		return false;
	}
	if (make_key(place))
		return true;
	complain("the name is too long; type that of a cgroup above it");
	return false;
}

/* Returns a sentence on what attach needs and the host lacks; NULL: all is there. */
static const char *missing(const struct options *opts, struct dalbe_policy *policy)
{
	char line[16] = "";
	FILE *scavenger;

	if (!is_filesystem(BPF_FS, BPF_MAGIC))
		return NOT_MOUNTED;
	if (geteuid() || access(BPF_FS, W_OK))
		return "not permitted: type sudo dalbectl";
	if (!access(DALBE_PINS "/maps", F_OK))
		return NULL;
	scavenger = fopen("/proc/sys/net/dalbe/scavenger", "re");
	if (!scavenger)
		return NO_EDITION;
	if (!fgets(line, sizeof(line), scavenger))
		*line = '\0';
	fclose(scavenger);
	policy->only_cc = 1;
	if (*line == '1' && opts->params.flags == DALBE_PARAM_CONTROLLER && !opts->group_given &&
	    options_scavenger(opts))
		return NULL;
	return MODULE;
}

static bool spawn(char *const *argv, bool search)
{
	int status, err;
	pid_t pid;

	err = (search ? posix_spawnp : posix_spawn)(&pid, argv[0], NULL, NULL, argv, environ);
	if (!err && waitpid(pid, &status, 0) == pid)
		return !status;
	complain("cannot execute %s: %s", argv[0], strerror(err));
	return false;
}

/* Attach to the cgroup that is there; false after a message. */
static bool attach_cgroup(const struct place *place, const struct dalbe_policy *policy)
{
	char loader[PATH_MAX], digits[2 * sizeof(*policy) + 1];
	char *const argv[] = { loader, "attach", (char *)place->key, (char *)place->cgroup, digits,
			       NULL };

	for (size_t i = 0; i < sizeof(*policy); i++)
		sprintf(digits + 2 * i, "%02x", ((const unsigned char *)policy)[i]);
	if (!loader_path(loader, sizeof(loader))) {
		complain("cannot find lib/dalbe/dalbe-load: %s", strerror(errno));
		return false;
	}
	return spawn(argv, false);
}

/* The options as typed, quoted for systemd, which takes a shell's quotes. */
static void print_words(FILE *out, char **words)
{
	for (; *words; words++) {
		fputs(" \"", out);
		for (const char *c = *words; *c; c++) {
			if (strchr("\"\\", *c))
				fputc('\\', out);
			if (strchr("%$", *c))
				fputc(*c, out);
			fputc(*c, out);
		}
		fputc('"', out);
	}
	fputc('\n', out);
}

/* Replace a file, but not by the same. Returns 0: it was the same, 1: not, or -1 with errno. */
static int put_file(const char *path, const char *text)
{
	char old[8192] = "";
	FILE *file = fopen(path, "re");

	if (file) {
		old[fread(old, 1, sizeof(old) - 1, file)] = '\0';
		fclose(file);
		if (!strcmp(old, text))
			return 0;
	}
	file = fopen(path, "we");
	if (!file)
		return -1;
	fputs(text, file);
	return fclose(file) ? -1 : 1;
}

static void drop_in_path(const struct place *place, char *folder, char *path)
{
	snprintf(folder, PATH_MAX, "/run/systemd/system/%s.d", place->name);
	snprintf(path, PATH_MAX, "/run/systemd/system/%s.d/dalbe.conf", place->name);
}

static void reload_systemd(void)
{
	char *const argv[] = { "systemctl", "daemon-reload", NULL };

	spawn(argv, true);
}

/* So that a restart keeps it. */
static bool put_drop_in(const struct place *place, char **words)
{
	char self[PATH_MAX], folder[PATH_MAX], path[PATH_MAX], *text = NULL;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int put;

	self[len > 0 ? len : 0] = '\0';
	/* "-+": as root, and the service starts also where this fails */
	fprintf(out, "# by dalbectl attach; dalbectl detach removes it\n[Service]\nExecStartPre=-+%s attach",
		self);
	print_words(out, words);
	fclose(out);
	drop_in_path(place, folder, path);
	mkdir(folder, 0755);
	put = put_file(path, text);
	free(text);
	if (put < 0)
		complain("cannot write %s: %s", path, strerror(errno));
	if (put > 0)
		reload_systemd();
	return put >= 0;
}

static bool put_state(const struct place *place, char **words)
{
	char path[PATH_MAX], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int put;

	for (; *words; words++)
		fprintf(out, " %s", *words);
	fclose(out);
	mkdir(STATE, 0755);
	snprintf(path, sizeof(path), STATE "/%s", place->key);
	put = put_file(path, text);
	free(text);
	if (put < 0)
		complain("cannot write %s: %s", path, strerror(errno));
	return put >= 0;
}

unsigned int attach_list(const char *prefix)
{
	DIR *dir = opendir(STATE);
	unsigned int n = 0;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char path[PATH_MAX], line[4096] = "";
		FILE *file;

		snprintf(path, sizeof(path), STATE "/%s", entry->d_name);
		file = *entry->d_name == '.' ? NULL : fopen(path, "re");
		if (!file)
			continue;
		if (fgets(line, sizeof(line), file)) {
			if (!strcmp(entry->d_name, POLICY_KEY))
				printf("dalbectl%s\n", line);
			else
				printf("%s%s\n", prefix, line);
			n++;
		}
		fclose(file);
	}
	if (dir)
		closedir(dir);
	return n;
}

/* Without BPF: in the foreground, as nothing stays when we end. Returns an exit status. */
static int poll_place(const struct options *opts, struct dalbe_policy *policy)
{
	char err[POLICY_ERR_LEN];
	struct dalbe_conn conn;
	struct place place;

	if (opts->pid) {
		if (kill(opts->pid, 0) && errno == ESRCH) {
			complain("%d: there is no such process; find it with pgrep -a NAME",
				 opts->pid);
			return EXIT_FAILURE;
		}
	} else {
		struct dalbe_rule *rule = &policy->rules[0];

		if (!find_place(opts, &place))
			return EXIT_FAILURE;
		if (!*place.cgroup) {
			complain("%s does not run; start it first, as only BPF waits for that",
				 place.name);
			return EXIT_FAILURE;
		}
		if (policy_parse_cgroup(place.cgroup + strlen(cgroup_root()), &conn, &rule->depth,
					err)) {
			complain("%s", err);
			return EXIT_FAILURE;
		}
		rule->cgroup = conn.cgroup[rule->depth];
		policy->by_cgroup = rule->depth != 0;
	}
	if (checks_unavailable(""))
		return EXIT_FAILURE;
	printf("attached by polling: each new connection within a second, until %s ended\n",
	       opts->pid ? "the process or this is" : "this is");
	return written() ? follow_policy(policy, opts->pid) : EXIT_FAILURE;
}

bool attach_policy(const struct dalbe_policy *policy, const char *path)
{
	char *words[4] = { "policy", "apply", realpath(path, NULL) };
	struct place place = { .key = POLICY_KEY };

	if (geteuid()) {
		complain("not permitted: type sudo dalbectl");
		return false;
	}
	strcpy(place.cgroup, cgroup_root());
	return attach_cgroup(&place, policy) && put_state(&place, words);
}

int detach_policy(void)
{
	if (unlink(STATE "/" POLICY_KEY)) {
		complain("%s", errno == ENOENT ? NO_POLICY : "not permitted: type sudo dalbectl");
		return EXIT_FAILURE;
	}
	unlink(DALBE_PINS "/attached/" POLICY_KEY);
	return EXIT_SUCCESS;
}

int cmd_attach(const struct options *opts, char **operands)
{
	struct dalbe_policy policy = {
		.n = 1, .rules[0] = {
			.bytes = opts->size_bytes, .params = opts->params, .group = opts->group,
			.port[1] = UINT16_MAX, .own_port[1] = UINT16_MAX,
		},
	};
	char err[HUMAN_ERR_LEN];
	uint64_t time_ns = 0;
	struct place place;
	const char *why;

	(void)operands;
	if (!opts->cgroup && !opts->unit && !opts->pid) {
		if (!attach_list("dalbectl attach"))
			complain("nothing is attached; type for example sudo dalbectl attach --unit nginx --scavenger");
		return written() ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	if (!opts->size_bytes && !options_scavenger(opts))
		usage_error("attach: the goal is missing; type for example --size 300M --deadline +90s, for each connection, or --scavenger instead of a goal");
	if (opts->size_bytes && (*opts->deadline_text != '+' ||
				 human_parse_duration(opts->deadline_text + 1, &time_ns, err)))
		usage_error("'--deadline %.80s': it counts from each connection's beginning; type for example --deadline +90s",
			    opts->deadline_text);
	policy.rules[0].time_ns = time_ns;
	if (opts->pid)
		return poll_place(opts, &policy);
	why = missing(opts, &policy);
	if (why) {
		complain("%s", why);
		return geteuid() || access("/proc/sys/net/dalbe", F_OK) ?
		       EXIT_FAILURE : poll_place(opts, &policy);
	}
	if (!find_place(opts, &place))
		return EXIT_FAILURE;
	if ((*place.cgroup && !attach_cgroup(&place, &policy)) || !put_state(&place, opts->words))
		return EXIT_FAILURE;
	if (strstr(place.name, ".service") && !put_drop_in(&place, opts->words))
		return EXIT_FAILURE;
	if (!*place.cgroup)
		complain("%s does not run: it is attached when it starts", place.name);
	return EXIT_SUCCESS;
}

int cmd_detach(const struct options *opts, char **operands)
{
	char path[PATH_MAX], folder[PATH_MAX];
	struct place place;

	(void)operands;
	if (!find_place(opts, &place))
		return EXIT_FAILURE;
	snprintf(path, sizeof(path), STATE "/%s", place.key);
	if (unlink(path)) {
		complain("%s: %s", *place.name ? place.name : place.cgroup, errno == ENOENT ?
			 "it is not attached; dalbectl attach lists what is" :
			 "not permitted: type sudo dalbectl");
		return EXIT_FAILURE;
	}
	snprintf(path, sizeof(path), DALBE_PINS "/attached/%s", place.key);
	unlink(path);	/* the program goes with its link */
	if (*place.name) {
		drop_in_path(&place, folder, path);
		if (!unlink(path)) {
			rmdir(folder);
			reload_systemd();
		}
	}
	return EXIT_SUCCESS;
}
