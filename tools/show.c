// SPDX-License-Identifier: GPL-2.0-only
/* dalbectl get and watch: what connections are doing. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "human.h"
#include "json.h"
#include "libdalbe.h"
#include "targets.h"

struct row {
	pid_t pid;
	int fd;
	char peer[TCPSOCK_NAME_LEN];
	struct dalbe_state state;
};

struct rows {
	struct row *row;
	size_t n, room;
	bool failed;
};

static void add_row(const struct target_socket *socket, void *arg)
{
	struct rows *rows = arg;
	struct dalbe_state state;
	struct row *row;

	if (dalbe_get_state(socket->fd, &state)) {
		if (!socket->named && errno == ENOPROTOOPT)
			return;
		complain("%d:%d: %s", socket->pid, socket->number,
			 dalbe_strerror(DALBE_OP_GET_STATE, errno));
		rows->failed = true;
		return;
	}
	if (rows->n == rows->room) {
		rows->room = rows->room ? 2 * rows->room : 16;
		row = realloc(rows->row, rows->room * sizeof(*row));
		if (!row)
			abort();
		rows->row = row;
	}
	row = &rows->row[rows->n++];
	*row = (struct row){
		.pid = socket->pid,
		.fd = socket->number,
		.state = state,
	};
	memcpy(row->peer, socket->tcp.peer, sizeof(row->peer));
}

static const char *const after_names[] = { "best-effort", "scavenger", "keep" };

static void row_json(const struct row *row, struct json *js)
{
	const struct dalbe_state *state = &row->state;

	json_begin(js, NULL, '{');
	json_int(js, "pid", row->pid);
	json_int(js, "fd", row->fd);
	json_string(js, "peer", row->peer);
	json_string(js, "status", dalbe_status_name(state->status));
	json_bool(js, "app_limited", state->flags & DALBE_STATE_APP_LIMITED);
	json_string(js, "controller", dalbe_controller_name(state->controller));
	json_string(js, "after", state->after_deadline < 3 ?
		    after_names[state->after_deadline] : "unknown");
	json_uint(js, "tw_ms", state->tw_ms);
	json_uint(js, "goal_bytes", state->goal_bytes);
	json_uint(js, "bytes_done", state->bytes_done);
	json_uint(js, "deadline_ns", state->deadline_ns);
	json_int(js, "time_left_ns", state->time_left_ns);
	json_uint(js, "target_Bps", state->target_Bps);
	json_uint(js, "rate_Bps", state->rate_Bps);
	json_real(js, "w", state->w_ppm / 1e6, 6);
	json_real(js, "wmin", state->wmin_ppm / 1e6, 6);
	json_real(js, "phi", state->phi_ppm / 1e6, 6);
	json_real(js, "g_ms", state->g_ns / 1e6, 6);
	json_uint(js, "srtt_us", state->srtt_us);
	json_uint(js, "min_rtt_us", state->min_rtt_us);
	json_uint(js, "cwnd", state->cwnd);
	json_uint(js, "updates", state->updates);
	json_uint(js, "backoffs_delay", state->backoffs_delay);
	json_uint(js, "backoffs_loss", state->backoffs_loss);
	json_uint(js, "loss_episodes", state->loss_episodes);
	json_uint(js, "loss_answers", state->loss_answers);
	json_string(js, "regime", dalbe_regime_name(state->regime));
	json_real(js, "drained", state->drained_ppm / 1e6, 6);
	json_uint(js, "level_Bps", state->level_Bps);
	json_uint(js, "yields", state->yields);
	json_uint(js, "resumes", state->resumes);
	json_end(js, '}');
}

static void print_json(const struct rows *rows)
{
	struct json js = { .out = stdout };

	json_begin(&js, NULL, '{');
	json_real(&js, "boottime_s", (double)boottime_ns() / 1e9, 3);
	json_begin(&js, "connections", '[');
	for (size_t i = 0; i < rows->n; i++)
		row_json(&rows->row[i], &js);
	json_end(&js, ']');
	json_end(&js, '}');
	putchar('\n');
}

#define ROW_FORMAT \
	"%-12s %-21s %-10s %-18s %4s %8s %11s %11s %6s %-9s %7s %11s %8s %9s %8s"

static void end_line(bool terminal)
{
	puts(terminal ? "\033[K" : "");	/* erase what stood there before */
}

static void print_header(bool terminal)
{
	printf(ROW_FORMAT, "PID:FD", "PEER", "STATUS", "DONE", "", "LEFT",
	       "TARGET", "RATE", "w", "REGIME", "DRAINED", "LEVEL", "G ms",
	       "CUTS d/l", "SRTT ms");
	end_line(terminal);
}

static void print_row(const struct row *row, bool terminal)
{
	const struct dalbe_state *state = &row->state;
	char name[24], done[40], percent[8] = "-", left[HUMAN_LEN] = "-";
	char target[HUMAN_LEN] = "-", rate[HUMAN_LEN], w[12], drained[16] = "-";
	char level[HUMAN_LEN] = "-", g[12], cuts[44], srtt[16];
	char a[HUMAN_LEN], b[HUMAN_LEN];

	snprintf(name, sizeof(name), "%d:%d", row->pid, row->fd);
	snprintf(done, sizeof(done), "-");
	if (state->goal_bytes) {
		double ratio = (double)state->bytes_done /
			       (double)state->goal_bytes;

		snprintf(done, sizeof(done), "%s/%s",
			 human_size(state->bytes_done, a),
			 human_size(state->goal_bytes, b));
		/* Cut, not rounded: 100% means all of it. */
		snprintf(percent, sizeof(percent), "%.0f%%",
			 ratio >= 1 ? 100.0 : (double)(int)(ratio * 100));
		human_duration(state->time_left_ns, left);
		human_rate(state->target_Bps, target);
	}
	human_rate(state->rate_Bps, rate);
	/* Without control there is none. */
	snprintf(w, sizeof(w), state->w_ppm ? "%.3f" : "-", state->w_ppm / 1e6);
	/* Nothing drained, and no reason to yield: no test yet. */
	if (state->drained_ppm || state->yields)
		snprintf(drained, sizeof(drained), "%.0f%%",
			 state->drained_ppm / 1e4);
	if (state->level_Bps)
		human_rate(state->level_Bps, level);
	snprintf(g, sizeof(g), "%.3f", state->g_ns / 1e6);
	snprintf(cuts, sizeof(cuts), "%llu/%llu",
		 (unsigned long long)state->backoffs_delay,
		 (unsigned long long)state->backoffs_loss);
	snprintf(srtt, sizeof(srtt), "%.1f", state->srtt_us / 1e3);
	printf(ROW_FORMAT, name, row->peer[0] ? row->peer : "-",
	       dalbe_status_name(state->status), done, percent, left, target,
	       rate, w, state->regime == DALBE_REGIME_NONE ? "-" :
	       dalbe_regime_name(state->regime), drained, level, g, cuts, srtt);
	end_line(terminal);
}

int cmd_get(const struct options *opts, char **operands)
{
	struct rows rows = { 0 };
	int denied = targets_each(operands, false, add_row, &rows);

	rows.failed |= denied < 0;
	if (opts->json) {
		print_json(&rows);
	} else if (rows.n) {
		print_header(false);
		for (size_t i = 0; i < rows.n; i++)
			print_row(&rows.row[i], false);
	} else if (!rows.failed) {
		if (denied)
			complain("no connection with dalbe_cdg found, but %d process%s could not be looked into; type sudo dalbectl get",
				 denied, denied == 1 ? "" : "es");
		else
			complain("no connection with dalbe_cdg found; give one a goal with dalbectl run or dalbectl set");
	}
	free(rows.row);
	return rows.failed || !rows.n ? EXIT_FAILURE : EXIT_SUCCESS;
}

static bool all_done(const struct rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		if (rows->row[i].state.status != DALBE_STATUS_DONE)
			return false;
	}
	return true;
}

/* Sleep until the next multiple of interval_ns, so that errors do not add up. */
static void sleep_until(uint64_t due_ns)
{
	struct timespec due = {
		.tv_sec = (time_t)(due_ns / NSEC_PER_SEC),
		.tv_nsec = (long)(due_ns % NSEC_PER_SEC),
	};

	while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &due, NULL) ==
	       EINTR)
		;
}

int cmd_watch(const struct options *opts, char **operands)
{
	bool terminal = isatty(STDOUT_FILENO) && !opts->json;
	uint64_t due_ns = boottime_ns();
	size_t lines = 0;
	bool first = true;

	for (;; first = false) {
		struct rows rows = { 0 };
		bool over;

		/* What was there at first may end: that is no error. */
		if (!first) {
			due_ns += opts->interval_ns;
			if (due_ns < boottime_ns())
				due_ns = boottime_ns();	/* was suspended */
			sleep_until(due_ns);
		}
		rows.failed |= targets_each(operands, !first, add_row, &rows) < 0;
		over = all_done(&rows);
		if (first && !rows.n) {
			if (!rows.failed)
				complain("%s: no connection with dalbe_cdg; see dalbectl get for those that have",
					 operands[0]);
			return EXIT_FAILURE;
		}
		if (!rows.n) {
			free(rows.row);
			return EXIT_SUCCESS;
		}
		if (opts->json) {
			print_json(&rows);
		} else {
			if (terminal && lines)
				printf("\033[%zuA", lines);
			if (terminal || first)
				print_header(terminal);
			for (size_t i = 0; i < rows.n; i++)
				print_row(&rows.row[i], terminal);
			if (terminal)
				fputs("\033[J", stdout);
			lines = rows.n + 1;
		}
		fflush(stdout);
		free(rows.row);
		if (over)
			return EXIT_SUCCESS;
	}
}
