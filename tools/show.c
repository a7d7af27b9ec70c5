// SPDX-License-Identifier: GPL-2.0-only
/* dalbectl get and watch: what connections are doing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "commands.h"
#include "human.h"
#include "json.h"
#include "libdalbe.h"
#include "targets.h"

struct row {
	pid_t pid;
	int fd;
	size_t connections;	/* of a job: more than one where the row is theirs */
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
		.connections = 1,
		.state = state,
	};
	memcpy(row->peer, socket->tcp.peer, sizeof(row->peer));
}

/* The first row of a job becomes that of all of its connections, and the others go. */
static void join_jobs(struct rows *rows)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->n; i++) {
		const struct row *row = &rows->row[i];
		size_t of = 0;

		while (of < kept && (!row->state.job || rows->row[of].state.job != row->state.job))
			of++;
		if (of < kept)
			rows->row[of].connections++;
		else
			rows->row[kept++] = *row;
	}
	rows->n = kept;
}

static const char *const after_names[] = { "best-effort", "scavenger", "keep" };

/* Of a job these are those of all of its connections. */
static void goal_json(const struct dalbe_state *state, struct json *js)
{
	json_uint(js, "job", state->job);
	json_string(js, "status", human_status(state));
	json_uint(js, "goal_bytes", state->goal_bytes);
	json_uint(js, "bytes_done", state->bytes_done);
	json_uint(js, "deadline_ns", state->deadline_ns);
	json_int(js, "time_left_ns", state->time_left_ns);
	json_uint(js, "target_Bps", state->target_Bps);
	json_uint(js, "rate_Bps", state->rate_Bps);
	json_real(js, "w", state->w_ppm / 1e6, 6);
}

static void job_json(const struct row *row, struct json *js)
{
	if (!row->state.job)
		return;
	json_begin(js, NULL, '{');
	json_uint(js, "connections", row->connections);
	goal_json(&row->state, js);
	json_end(js, '}');
}

static void row_json(const struct row *row, struct json *js)
{
	const struct dalbe_state *state = &row->state;

	json_begin(js, NULL, '{');
	json_int(js, "pid", row->pid);
	json_int(js, "fd", row->fd);
	json_string(js, "peer", row->peer);
	goal_json(state, js);
	json_bool(js, "app_limited", state->flags & DALBE_STATE_APP_LIMITED);
	json_string(js, "controller", dalbe_controller_name(state->controller));
	json_string(js, "after", state->after_deadline < 3 ?
		    after_names[state->after_deadline] : "unknown");
	json_uint(js, "tw_ms", state->tw_ms);
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
	json_real(js, "ours", state->ours_ppm / 1e6, 6);
	json_uint(js, "level_Bps", state->level_Bps);
	json_uint(js, "yields", state->yields);
	json_uint(js, "path_flows", state->path_flows);
	json_uint(js, "group", state->group);
	json_uint(js, "carried_Bps", (uint64_t)state->carried_kBps * 1000);
	json_end(js, '}');
}

/* Leaves the rows of connections joined. */
static void print_json(struct rows *rows)
{
	struct json js = { .out = stdout };

	json_begin(&js, NULL, '{');
	json_real(&js, "boottime_s", (double)boottime_ns() / 1e9, 3);
	json_begin(&js, "connections", '[');
	for (size_t i = 0; i < rows->n; i++)
		row_json(&rows->row[i], &js);
	json_end(&js, ']');
	join_jobs(rows);
	json_begin(&js, "jobs", '[');
	for (size_t i = 0; i < rows->n; i++)
		job_json(&rows->row[i], &js);
	json_end(&js, ']');
	json_end(&js, '}');
	putchar('\n');
}

/* PID:FD to DEADLINE take 80 columns together. */
static const struct column {
	const char *name;
	int width;		/* negative: flush left */
	bool wide;		/* with --verbose only */
} columns[] = {
	{ "PID:FD", -10, false }, { "PEER", -21, false },
	{ "STATUS", -10, false }, { "DONE", 4, false }, { "RATE", 11, false },
	{ "ARRIVES", 9, false }, { "DEADLINE", 9, false },
	{ "BYTES", 15, true }, { "TARGET", 11, true }, { "w", 5, true },
	{ "REGIME", -9, true }, { "OURS", 7, true }, { "LEVEL", 11, true },
	{ "FLOWS", 5, true },
	{ "G ms", 7, true }, { "CUTS d/l", 8, true }, { "SRTT ms", 7, true },
};

#define N_COLUMNS	ARRAY_SIZE(columns)
#define CELL_LEN	TCPSOCK_NAME_LEN

/* Where a table goes. */
struct screen {
	bool verbose;
	size_t width, height;	/* 0: no terminal, no limits */
	bool in_place;		/* over what stands there */
};

static struct screen look_at_screen(const struct options *opts)
{
	struct screen screen = { .verbose = opts->verbose };
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return screen;
	screen.width = 80;
	screen.height = 24;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return screen;
	if (size.ws_col)
		screen.width = size.ws_col;
	if (size.ws_row)
		screen.height = size.ws_row;
	return screen;
}

/* Returns how many lines of the screen that takes. */
static size_t print_cells(const struct screen *screen,
			  char cells[N_COLUMNS][CELL_LEN])
{
	char line[N_COLUMNS * CELL_LEN];
	size_t len = 0;

	for (size_t i = 0; i < N_COLUMNS; i++) {
		if (columns[i].wide && !screen->verbose)
			continue;
		len += (size_t)snprintf(line + len, sizeof(line) - len, "%s%*s",
					len ? " " : "", columns[i].width,
					cells[i]);
	}
	if (!screen->verbose && screen->width && len > screen->width)
		len = screen->width;
	printf("%.*s", (int)len, line);
	/* The rest of the line; not when it is full, and the cursor still on it. */
	puts(screen->in_place && len % screen->width ? "\033[K" : "");
	return screen->width ? (len + screen->width - 1) / screen->width : 1;
}

static size_t print_header(const struct screen *screen)
{
	char cells[N_COLUMNS][CELL_LEN];

	for (size_t i = 0; i < N_COLUMNS; i++)
		snprintf(cells[i], CELL_LEN, "%s", columns[i].name);
	return print_cells(screen, cells);
}

/* The local clock's time ahead_ns from now. */
static void format_clock(int64_t ahead_ns, char *buf)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	human_clock(now, ahead_ns, buf);
}

/* When the last byte will be acknowledged at the present rate, or was. */
static void format_arrival(const struct dalbe_state *state, int64_t left_ns,
			   char *buf)
{
	double ns;

	if (state->status == DALBE_STATUS_DONE) {
		format_clock(left_ns - state->time_left_ns, buf);
		return;
	}
	if (!state->rate_Bps || state->bytes_done >= state->goal_bytes)
		return;
	ns = (double)(state->goal_bytes - state->bytes_done) /
	     (double)state->rate_Bps * (double)NSEC_PER_SEC;
	if (ns < (double)INT64_MAX)
		format_clock((int64_t)ns, buf);
}

static void format_goal(const struct dalbe_state *state, char *percent,
			char *arrives, char *deadline, char *bytes, char *target)
{
	double ratio = (double)state->bytes_done / (double)state->goal_bytes;
	int64_t left_ns = (int64_t)(state->deadline_ns - boottime_ns());
	char a[HUMAN_LEN], b[HUMAN_LEN];

	/* Cut, not rounded: 100% means all of it. */
	snprintf(percent, CELL_LEN, "%.0f%%",
		 ratio >= 1 ? 100.0 : (double)(int)(ratio * 100));
	format_arrival(state, left_ns, arrives);
	format_clock(left_ns, deadline);
	snprintf(bytes, CELL_LEN, "%s/%s", human_size(state->bytes_done, a),
		 human_size(state->goal_bytes, b));
	human_rate(state->target_Bps, target);
}

/* An IPv6 peer may be too long for its column: its end tells more. */
static void format_peer(const struct screen *screen, const char *peer, char *buf)
{
	size_t len = strlen(peer), room = 21;

	if (!screen->verbose && len > room)
		snprintf(buf, CELL_LEN, "..%s", peer + len - (room - 2));
	else if (len)
		snprintf(buf, CELL_LEN, "%s", peer);
}

static size_t print_row(const struct screen *screen, const struct row *row)
{
	const struct dalbe_state *state = &row->state;
	char cells[N_COLUMNS][CELL_LEN];
	enum {
		NAME, PEER, STATUS, DONE, RATE, ARRIVES, DEADLINE, BYTES,
		TARGET, W, REGIME, OURS, LEVEL, FLOWS, G, CUTS, SRTT,
	};

	for (size_t i = 0; i < N_COLUMNS; i++)
		strcpy(cells[i], "-");
	if (row->connections > 1) {
		snprintf(cells[NAME], CELL_LEN, "%d", row->pid);
		snprintf(cells[PEER], CELL_LEN, "%zu connections", row->connections);
	} else {
		snprintf(cells[NAME], CELL_LEN, "%d:%d", row->pid, row->fd);
		format_peer(screen, row->peer, cells[PEER]);
	}
	snprintf(cells[STATUS], CELL_LEN, "%s", human_status(state));
	if (state->goal_bytes)
		format_goal(state, cells[DONE], cells[ARRIVES], cells[DEADLINE],
			    cells[BYTES], cells[TARGET]);
	/* Without control there is neither. */
	if (state->rate_Bps || state->w_ppm)
		human_rate(state->rate_Bps, cells[RATE]);
	if (state->w_ppm)
		snprintf(cells[W], CELL_LEN, "%.3f", state->w_ppm / 1e6);
	if (state->regime != DALBE_REGIME_NONE)
		snprintf(cells[REGIME], CELL_LEN, "%s",
			 dalbe_regime_name(state->regime));
	/* Nothing is known yet; or contended, where it is for others. */
	if (state->ours_ppm)
		snprintf(cells[OURS], CELL_LEN, "%.0f%%",
			 state->ours_ppm / 1e4);
	if (state->level_Bps)
		human_rate(state->level_Bps, cells[LEVEL]);
	if (state->path_flows)
		snprintf(cells[FLOWS], CELL_LEN, "%u", state->path_flows);
	snprintf(cells[G], CELL_LEN, "%.3f", state->g_ns / 1e6);
	snprintf(cells[CUTS], CELL_LEN, "%llu/%llu",
		 (unsigned long long)state->backoffs_delay,
		 (unsigned long long)state->backoffs_loss);
	snprintf(cells[SRTT], CELL_LEN, "%.1f", state->srtt_us / 1e3);
	return print_cells(screen, cells);
}

int cmd_get(const struct options *opts, char **operands)
{
	struct rows rows = { 0 };
	int denied = targets_each(operands, false, add_row, &rows);

	rows.failed |= denied < 0;
	if (opts->json) {
		print_json(&rows);
	} else if (rows.n) {
		struct screen screen = look_at_screen(opts);

		if (!screen.verbose)
			join_jobs(&rows);
		print_header(&screen);
		for (size_t i = 0; i < rows.n; i++)
			print_row(&screen, &rows.row[i]);
	} else if (!rows.failed) {
		if (denied)
			complain("no connection of dalbe found, but %d process%s could not be looked into; type sudo dalbectl get",
				 denied, denied == 1 ? "" : "es");
		else
			complain("no connection of dalbe found; give one a goal with dalbectl run or dalbectl set");
	}
	free(rows.row);
	return !written() || rows.failed || !rows.n ? EXIT_FAILURE : EXIT_SUCCESS;
}

static bool all_done(const struct rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		if (rows->row[i].state.status != DALBE_STATUS_DONE)
			return false;
	}
	return true;
}

/* As many rows as the screen has room for, from its top, in one piece. */
static void redraw(struct screen *screen, const struct rows *rows, bool first)
{
	size_t lines;

	screen->in_place = true;
	/* Push out what stands there, so that it can be scrolled back to. */
	for (size_t i = 0; first && i < screen->height; i++)
		putchar('\n');
	fputs("\033[H", stdout);
	lines = print_header(screen);
	for (size_t i = 0; i < rows->n; i++) {
		bool last = i + 1 == rows->n;

		/* Rows are as long as the header; the cursor needs a line. */
		if ((i + 2) * lines + !last + 1 > screen->height) {
			printf("... %zu more\033[K\n", rows->n - i);
			break;
		}
		print_row(screen, &rows->row[i]);
	}
	/* Not from the top: tmux would keep what is cleared there. */
	fputs("\033[J", stdout);
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
	static char whole_screen[1 << 16];
	uint64_t due_ns = boottime_ns();
	bool first = true;

	/* One write for each table: no flicker. */
	setvbuf(stdout, whole_screen, _IOFBF, sizeof(whole_screen));
	for (;; first = false) {
		struct rows rows = { 0 };
		struct screen screen;
		bool over;

		/* A connection that was there at first may end: no error. */
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
				complain("%s: no connection of dalbe yet; try again once it is connected, or see dalbectl get",
					 operands[0]);
			return EXIT_FAILURE;
		}
		if (!rows.n) {
			free(rows.row);
			return EXIT_SUCCESS;
		}
		screen = look_at_screen(opts);
		if (!opts->json && !screen.verbose)
			join_jobs(&rows);
		if (opts->json) {
			print_json(&rows);
		} else if (screen.width) {
			redraw(&screen, &rows, first);
		} else {
			if (first)
				print_header(&screen);
			for (size_t i = 0; i < rows.n; i++)
				print_row(&screen, &rows.row[i]);
		}
		free(rows.row);
		if (!written())
			return EXIT_FAILURE;
		if (over)
			return EXIT_SUCCESS;
	}
}
