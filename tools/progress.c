// SPDX-License-Identifier: GPL-2.0-only
/* The program's own words about how far it is. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "array.h"
#include "json.h"
#include "progress.h"

/*
 * "  1,234,567  45%   10.00MB/s    0:00:10 (xfr#5, to-chk=1000/2000)": of an increment the percents
 * stay low, as those are of the whole tree, and of one large file the count of files stays 0.
 */
static bool rsync_says(const char *line, double *fraction)
{
	const char *percent = strchr(line, '%'), *files = strstr(line, "to-chk=");
	unsigned long long left, all;
	double part;

	if (!percent || percent == line || !strstr(percent, "/s "))
		return false;
	while (percent > line && strchr("0123456789", percent[-1]))
		percent--;
	part = strtod(percent, NULL) / 100;
	if (files && sscanf(files, "to-chk=%llu/%llu", &left, &all) == 2 && all && left <= all &&
	    1 - (double)left / (double)all > part)
		part = 1 - (double)left / (double)all;
	*fraction = part;
	return true;
}

static bool restic_says(const char *line, double *fraction)
{
	const char *type = json_find(line, "message_type");
	const char *part = json_find(line, "percent_done");

	if (!type || strncmp(type, "\"status\"", 8) || !part)
		return false;
	*fraction = strtod(part, NULL);
	return true;
}

static bool rclone_says(const char *line, double *fraction)
{
	const char *stats = json_find(line, "stats");
	const char *bytes = stats ? json_find(stats, "bytes") : NULL;
	const char *total = stats ? json_find(stats, "totalBytes") : NULL;

	if (!bytes || !total || strtod(total, NULL) <= 0)
		return false;
	*fraction = strtod(bytes, NULL) / strtod(total, NULL);
	return true;
}

bool progress_of_line(const char *line, double *fraction)
{
	double part;

	if (*line == '{' ? !restic_says(line, &part) && !rclone_says(line, &part) :
			   !rsync_says(line, &part))
		return false;
	if (!(part >= 0 && part <= 1))
		return false;
	*fraction = part;
	return true;
}

void progress_init(struct progress *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->streams); i++)
		p->streams[i] = (struct progress_stream){ .ours = -1, .theirs = -1 };
	p->fraction = 0;
}

int progress_open(struct progress *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->streams); i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC))
			return -1;
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		p->streams[i].ours = ends[0];
		p->streams[i].theirs = ends[1];
		p->streams[i].len = 0;
	}
	return 0;
}

void progress_started(struct progress *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->streams); i++) {
		if (p->streams[i].theirs >= 0)
			close(p->streams[i].theirs);
		p->streams[i].theirs = -1;
	}
}

static int to(size_t i)
{
	return i ? STDERR_FILENO : STDOUT_FILENO;
}

struct pollfd progress_awaits(const struct progress *p, size_t i)
{
	struct pollfd pollfd = { .fd = to(i), .events = POLLOUT };

	if (p->streams[i].ours < 0 || poll(&pollfd, 1, 0) > 0)
		pollfd = (struct pollfd){ .fd = p->streams[i].ours, .events = POLLIN };
	return pollfd;
}

/* Our own may not block, as somebody else's terminal: then we wait, as the program would. */
static bool write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);
		struct pollfd pollfd = { .fd = fd, .events = POLLOUT };

		if (n < 0 && errno == EAGAIN)
			poll(&pollfd, 1, -1);
		else if (n < 0 && errno != EINTR)
			return false;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	return true;
}

static void look_for_lines(struct progress *p, struct progress_stream *s, const char *text,
			   size_t n)
{
	for (; n; n--, text++) {
		if (*text != '\n' && *text != '\r') {
			if (s->len < PROGRESS_LINE - 1)
				s->line[s->len++] = *text;
			continue;
		}
		s->line[s->len] = '\0';
		s->len = 0;
		progress_of_line(s->line, &p->fraction);
	}
}

size_t progress_read(struct progress *p, size_t i)
{
	struct progress_stream *s = &p->streams[i];
	char text[PIPE_BUF];	/* a pipe that can be written to takes so much */
	ssize_t n;

	if (s->ours < 0)
		return 0;
	n = read(s->ours, text, sizeof(text));
	if (n > 0) {
		look_for_lines(p, s, text, (size_t)n);
		/* A reader who went away: the program is to learn of it, too. */
		if (write_all(to(i), text, (size_t)n))
			return (size_t)n;
	} else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return 0;
	}
	close(s->ours);
	s->ours = -1;
	return 0;
}

void progress_finish(struct progress *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->streams); i++) {
		int left = 0;
		size_t n;

		if (p->streams[i].ours < 0)
			continue;
		/* Later text is of a process that was left behind, and may never end. */
		ioctl(p->streams[i].ours, FIONREAD, &left);
		while (left > 0 && (n = progress_read(p, i)))
			left -= (int)n;
		if (p->streams[i].ours >= 0)
			close(p->streams[i].ours);
		p->streams[i].ours = -1;
	}
}
