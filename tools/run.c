// SPDX-License-Identifier: GPL-2.0-only
/*
 * dalbectl run: start an unmodified program and give its connections a goal.
 *
 * The program runs as an ordinary child in our own process group, so that the
 * terminal treats it as if we were not there. Nothing is injected: static and
 * dynamic programs are alike.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "commands.h"
#include "human.h"
#include "learn.h"
#include "libdalbe.h"
#include "notify.h"
#include "progress.h"
#include "record.h"
#include "transfer.h"

/*
 * Passed on to the program when somebody sends them to us. Those of the
 * terminal (SIGTSTP, SIGWINCH) reach the whole group by themselves.
 */
static const int forwarded[] = {
	SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT,
};

/*
 * On a busy machine, sockets of other programs end all the time. Having heard
 * of one, hear of the next ones together, this much later.
 */
#define DEAF_NS	(20 * NSEC_PER_MSEC)

/*
 * Returns a signalfd of SIGCHLD and the signals to forward, which are blocked
 * from now on; *original is the mask that the program must get.
 */
static int open_signals(sigset_t *original)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
		sigaddset(&set, forwarded[i]);
	sigprocmask(SIG_BLOCK, &set, original);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Returns 0, or an errno as posix_spawnp() does. */
static int start(char **program, const sigset_t *mask, const struct progress *progress,
		 pid_t *child)
{
	posix_spawn_file_actions_t files;
	struct sigaction pipe_action;
	posix_spawnattr_t attr;
	short flags = POSIX_SPAWN_SETSIGMASK;
	sigset_t defaults;
	int err;

	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, mask);
	/* We survive a reader of stderr that went away; not its decision. */
	sigaction(SIGPIPE, NULL, &pipe_action);
	signal(SIGPIPE, SIG_IGN);
	if (pipe_action.sa_handler == SIG_DFL) {
		sigemptyset(&defaults);
		sigaddset(&defaults, SIGPIPE);
		posix_spawnattr_setsigdefault(&attr, &defaults);
		flags |= POSIX_SPAWN_SETSIGDEF;
	}
	posix_spawnattr_setflags(&attr, flags);
	posix_spawn_file_actions_init(&files);
	for (int i = 0; i < 2 && progress->streams[i].theirs >= 0; i++)
		posix_spawn_file_actions_adddup2(&files, progress->streams[i].theirs, i + 1);
	err = posix_spawnp(child, program[0], &files, &attr, program, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return err;
}

/* Say why start() failed; returns our exit status. */
static int not_started(const char *program, int err)
{
	switch (err) {
	case ENOENT:
		if (strchr(program, '/') && !access(program, F_OK)) {
			complain("'%s': its interpreter is not found; of a script look at the first line, also for a carriage return, of a binary whether it is for this system",
				 program);
			return EXIT_NOT_FOUND;
		}
		complain("'%s': not found; type the name of a program in $PATH, or its path",
			 program);
		return EXIT_NOT_FOUND;
	case EAGAIN:
	case ENOMEM:
		complain("cannot start '%s': %s; try again with fewer programs running",
			 program, strerror(err));
		return EXIT_RUN_FAILED;
	case ENOEXEC:
		complain("'%s': %s; begin a script with #!/bin/sh, or type sh before it",
			 program, strerror(err));
		return EXIT_CANNOT_EXEC;
	default:
		complain("'%s': %s; type the path of an executable program",
			 program, strerror(err));
		return EXIT_CANNOT_EXEC;
	}
}

/* As a shell reports it. */
static int exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

/* Reap all that has ended; true when the program has, with its status. */
static bool reap(pid_t child, int *status)
{
	bool ended = false;
	int any_status;
	pid_t pid;

	/* Orphaned descendants are ours as well: we are their subreaper. */
	while ((pid = waitpid(-1, &any_status, WNOHANG)) > 0) {
		if (pid == child) {
			*status = any_status;
			ended = true;
		}
	}
	return ended;
}

/* Handle what is pending; true when the program has ended. */
static bool handle_signals(int signal_fd, pid_t child, int *status)
{
	struct signalfd_siginfo info;
	bool ended = false;

	while (read(signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			ended |= reap(child, status);
		/*
		 * Ctrl-C comes from the kernel's terminal driver, and the
		 * program has got it too, unless it is in a process group of
		 * its own (timeout(1) is): one is enough. An alarm that was set
		 * before we started comes from the kernel to us alone.
		 */
		else if (info.ssi_code != SI_KERNEL || info.ssi_signo == SIGALRM ||
			 getpgid(child) != getpgrp())
			kill(child, (int)info.ssi_signo);
	}
	return ended;
}

/*
 * Sleep until the next look is due, at until_ns or when a connection of the
 * transfer ends. True when the program has ended.
 */
static bool wait_until(uint64_t until_ns, struct transfer *t, struct progress *progress,
		       int signal_fd, int notify_fd, pid_t child, int *status)
{
	uint64_t now_ns, deaf_until_ns = 0;

	while ((now_ns = boottime_ns()) < until_ns) {
		bool deaf = now_ns < deaf_until_ns;
		uint64_t wake_ns = deaf && deaf_until_ns < until_ns ?
				   deaf_until_ns : until_ns;
		struct timespec wait = {
			.tv_sec = (time_t)((wake_ns - now_ns) / NSEC_PER_SEC),
			.tv_nsec = (long)((wake_ns - now_ns) % NSEC_PER_SEC),
		};
		struct pollfd pollfds[] = {
			{ .fd = signal_fd, .events = POLLIN },
			progress_awaits(progress, 0),
			progress_awaits(progress, 1),
			{ .fd = notify_fd, .events = POLLIN },
			{ .fd = transfer_fd(t), .events = POLLIN },
		};

		if (ppoll(pollfds, deaf ? 4 : 5, &wait, NULL) <= 0)
			continue;
		for (size_t i = 0; i < 2; i++) {
			if (pollfds[1 + i].revents && pollfds[1 + i].events == POLLIN)
				progress_read(progress, i);
		}
		if (pollfds[3].revents)
			notify_pass_on(notify_fd);
		if (pollfds[0].revents &&
		    handle_signals(signal_fd, child, status))
			return true;
		if (!deaf && pollfds[4].revents) {
			if (transfer_ended_one(t))
				return false;
			deaf_until_ns = boottime_ns() + DEAF_NS;
		}
	}
	return false;
}

/* Until --not-before. A signal ends us as it would have ended the program. */
static void wait_to_start(const struct options *opts)
{
	const struct timespec at = {
		.tv_sec = (time_t)(opts->not_before_ns / NSEC_PER_SEC),
		.tv_nsec = (long)(opts->not_before_ns % NSEC_PER_SEC),
	};

	while (boottime_ns() < opts->not_before_ns)
		clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &at, NULL);
}

/* The record of a job with a name, while it runs. */
struct kept {
	struct progress progress;
	struct record run;
	uint64_t begun_ns;
	uint64_t rated_ns, rated_done;	/* start of the interval for the next rate */
};

/* The interval of the most that a job was seen to carry: shorter ones hold bursts. */
#define MOST_NS	(10 * NSEC_PER_SEC)

/* Nothing but earlier runs tells a size that is too large from a right one, before the end. */
static void doubt_size(const struct options *opts, uint64_t learned)
{
	char size[HUMAN_LEN], earlier[HUMAN_LEN];

	if (!opts->quiet && !opts->progress && learned && opts->size_bytes / 2 > learned)
		announce(LOG_INFO, "%s: %s are more than twice the %s that its earlier runs tell of; if they are too much others pay for it: type --size auto, or --progress",
			 opts->name, human_size(opts->size_bytes, size),
			 human_size(learned, earlier));
}

/* Learn the size, where that is wanted. Where nothing is known of it this run has no goal. */
static void begin_record(struct kept *kept, struct options *opts)
{
	static struct records runs;
	char size[HUMAN_LEN];
	struct timespec now;
	uint64_t learned;

	*kept = (struct kept){ .begun_ns = boottime_ns() };
	progress_init(&kept->progress);
	clock_gettime(CLOCK_REALTIME, &now);
	kept->run.start_s = now.tv_sec;
	kept->rated_ns = kept->begun_ns;
	if (opts->deadline_ns)
		kept->run.deadline_s = now.tv_sec +
			(int64_t)(opts->deadline_ns - kept->begun_ns) / (int64_t)NSEC_PER_SEC;
	if (!opts->name)
		return;
	if (records_read(opts->name, &runs))
		complain("warning: %s: cannot read the record in %s: %s", opts->name,
			 record_directory(), strerror(errno));
	learned = learn_size(&runs);
	if (!opts->size_auto) {
		doubt_size(opts, learned);
		return;
	}
	opts->size_bytes = learned;
	if (learned) {
		if (!opts->quiet)
			announce(LOG_INFO, "%s: taken for %s, by its earlier runs", opts->name,
				 human_size(learned, size));
		return;
	}
	if (!opts->quiet)
		announce(LOG_INFO, "%s: no earlier run tells its size; this one %s, and tells the next",
			 opts->name, opts->progress ? "goes by what the program says of itself" :
						      "competes as any program");
	/* With windows, a job without a goal competes within them, and is a scavenger outside. */
	opts->plain |= !opts->windows.n && !opts->progress;
}

/* Look at the most that it carries, and correct its size. */
static void follow_record(struct kept *kept, struct transfer *t, const struct options *opts)
{
	uint64_t now_ns = boottime_ns(), done = transfer_done(t);

	if (now_ns - kept->rated_ns >= MOST_NS) {
		uint64_t rate_Bps = (uint64_t)((double)(done - kept->rated_done) * 1e9 /
					       (double)(now_ns - kept->rated_ns));

		if (rate_Bps > kept->run.most_Bps)
			kept->run.most_Bps = rate_Bps;
		kept->rated_ns = now_ns;
		kept->rated_done = done;
	}
	if (opts->progress && kept->progress.fraction > 0)
		transfer_resize(t, learn_estimate(opts->size_bytes, done, kept->progress.fraction));
}

/* Keep it. That this fails is no failure of the job. */
static void end_record(struct kept *kept, const struct transfer *t, const struct options *opts,
		       int status)
{
	struct record *run = &kept->run;
	struct transfer_sum sum;
	int64_t took_ns;
	char *port;

	if (!opts->name)
		return;
	transfer_record(t, &sum);
	took_ns = (int64_t)(sum.end_ns - sum.start_ns);
	run->end_s = run->start_s + (took_ns + (int64_t)NSEC_PER_SEC / 2) / (int64_t)NSEC_PER_SEC;
	if (opts->deadline_ns)
		run->late_s = (double)(int64_t)(sum.end_ns - opts->deadline_ns) / 1e9;
	run->bytes = sum.bytes;
	run->goal_bytes = opts->size_bytes;
	run->rate_Bps = took_ns > 0 ? (uint64_t)((double)sum.bytes * 1e9 / (double)took_ns) : 0;
	if (run->most_Bps < run->rate_Bps)
		run->most_Bps = run->rate_Bps;
	run->status = status;
	snprintf(run->to, sizeof(run->to), "%s", sum.peer);
	port = strrchr(run->to, ':');
	if (port)
		*port = '\0';
	if (record_add(opts->name, run))
		complain("warning: %s: cannot write the record in %s: %s", opts->name,
			 record_directory(), strerror(errno));
}

/* Look at the program until it has ended. Returns whether --stop-at has ended it. */
static bool follow(struct transfer *t, const struct options *opts, struct kept *kept,
		   int signal_fd, int notify_fd, pid_t child, int *status)
{
	uint64_t until_ns, stop_ns = opts->stop_at_ns ? opts->stop_at_ns : UINT64_MAX;
	bool stopped = false;

	for (;;) {
		until_ns = boottime_ns() + transfer_poll(t, getpid());
		follow_record(kept, t, opts);
		if (until_ns > stop_ns)
			until_ns = stop_ns;
		if (wait_until(until_ns, t, &kept->progress, signal_fd, notify_fd, child, status))
			return stopped;
		if (boottime_ns() < stop_ns)
			continue;
		kill(child, SIGTERM);
		kill(child, SIGCONT);	/* it may have been stopped, as by Ctrl-Z */
		stop_ns = UINT64_MAX;
		stopped = true;
	}
}

/* The reason that kept the program from success, if any. */
static void print_failure(bool stopped, int status, char *line, size_t len)
{
	*line = '\0';
	if (stopped)
		snprintf(line, len, "the program was ended by --stop-at: ");
	else if (WIFSIGNALED(status))
		snprintf(line, len, "the program was ended by signal %d: ",
			 WTERMSIG(status));
	else if (WEXITSTATUS(status))
		snprintf(line, len, "the program failed with status %d: ",
			 WEXITSTATUS(status));
}

static void cannot_write(const struct options *opts)
{
	complain("cannot write '%s': %s; type another --json-file",
		 opts->json_path, strerror(errno));
}

/* Tell before the transfer, not after it. */
static bool can_report(const struct options *opts)
{
	struct stat st;
	bool there = opts->json_path && !stat(opts->json_path, &st);
	FILE *out;

	/* To open a FIFO is to wait for its reader, and to close it is the end of file there. */
	if (!opts->json_path || (there && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return true;
	out = fopen(opts->json_path, "ae");
	if (!out || fclose(out)) {
		cannot_write(opts);
		return false;
	}
	if (!there)	/* others may take the file for the summary */
		unlink(opts->json_path);
	return true;
}

/* False if the summary could not be written to --json-file. */
static bool report(const struct transfer *t, const struct options *opts,
		   char **program, bool stopped, int status)
{
	struct json js = { .out = stderr };
	char failure[64], line[256];
	bool failed;

	if (!opts->quiet && (!opts->json || opts->json_path)) {
		print_failure(stopped, status, failure, sizeof(failure));
		transfer_print(t, stopped || status, line, sizeof(line));
		announce(stopped || status || transfer_is_late(t) ? LOG_WARNING : LOG_NOTICE,
			 "%s%s%s%s", opts->name ? opts->name : "", opts->name ? ": " : "",
			 failure, line);
	}
	if (!opts->json)
		return true;
	if (opts->json_path) {
		js.out = fopen(opts->json_path, "we");
		if (!js.out) {
			cannot_write(opts);
			return false;
		}
	}
	json_begin(&js, NULL, '{');
	json_begin(&js, "program", '[');
	for (char **arg = program; *arg; arg++)
		json_string(&js, NULL, *arg);
	json_end(&js, ']');
	json_int(&js, "exit_status", exit_status(status));
	json_bool(&js, "stopped", stopped);
	transfer_json(t, &js);
	json_end(&js, '}');
	fputc('\n', js.out);
	if (!opts->json_path)
		return true;
	failed = ferror(js.out);
	failed |= fclose(js.out) != 0;
	if (failed)
		cannot_write(opts);
	return !failed;
}

/*
 * A shell ends its script on Ctrl-C only if the command was ended by it, too: a status of 130
 * would say that the command has handled it.
 */
static void end_as(int status)
{
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	sigset_t set;

	if (sig != SIGINT && sig != SIGQUIT)
		return;
	prctl(PR_SET_DUMPABLE, 0);	/* one core file is enough */
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int cmd_run(const struct options *given, char **program)
{
	struct options learned = *given;
	const struct options *opts = &learned;
	struct kept kept;
	struct transfer *t;
	int signal_fd, notify_fd, err, status = 0, late = 0;
	bool reported, stopped;
	sigset_t original;
	pid_t child;

	if (!can_report(opts))
		return EXIT_RUN_FAILED;
	wait_to_start(opts);
	begin_record(&kept, &learned);
	if (opts->name)
		plan_warn(opts);
	/* Daemons that the program leaves behind stay our descendants. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal_fd = open_signals(&original);
	t = transfer_new(opts);
	if (signal_fd < 0 || !t || (opts->progress && progress_open(&kept.progress))) {
		complain("cannot start: %s; try again with fewer programs running",
			 strerror(errno));
		transfer_free(t);
		return EXIT_RUN_FAILED;
	}
	notify_fd = notify_open();
	err = start(notify_arguments(program), &original, &kept.progress, &child);
	progress_started(&kept.progress);
	if (err) {
		transfer_free(t);
		return not_started(*program, err);
	}

	stopped = follow(t, opts, &kept, signal_fd, notify_fd, child, &status);
	progress_finish(&kept.progress);
	if (notify_fd >= 0)
		notify_pass_on(notify_fd);
	transfer_finish(t, getpid());
	end_record(&kept, t, opts, exit_status(status));
	reported = report(t, opts, program, stopped, status);
	if (opts->fail_late && !status)
		late = transfer_is_late(t) ? EXIT_LATE :
		       transfer_end(t) != TRANSFER_DONE ? EXIT_UNFINISHED : 0;
	transfer_free(t);
	if (stopped)
		return EXIT_LATE;
	end_as(status);
	if (!status && !reported)
		return EXIT_RUN_FAILED;
	return late ? late : exit_status(status);
}
