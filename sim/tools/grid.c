// SPDX-License-Identifier: GPL-2.0-only
/*
 * One scenario from the command line, and a line of figures, so that a script can make tables:
 *
 *	gcc -O2 -I. -Iport/user -o grid sim/tools/grid.c sim/[a-z]*.c core/[a-z]*.c
 *	./grid rate=20 rtt=50 buf=0.125 disc=codel ours=2 theirs=2 w=0.01 seeds=6
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim/pure.h"

#define BITS_PER_PACKET	12000.0	/* 1500 bytes */

/* What is asked for, with defaults; any may be given as key=value. */
static struct option {
	const char *name;
	double value;
	const char *help;
} options[] = {
	{ "rate", 10, "Mbit/s" },
	{ "rtt", 50, "ms" },
	{ "buf", 1, "BDP; or with bufpkts packets" },
	{ "bufpkts", 0, "packets, instead of buf" },
	{ "disc", 0, "tail, codel, pie, fq" },
	{ "ours", 2, "flows" },
	{ "theirs", 2, "flows" },
	{ "w", 0.01, "weight, 0 .. 1" },
	{ "base", 0, "of ours: scavenger, cdg, cubic, vegas, reno" },
	{ "their", 0, "base of theirs: likewise; without it cubic" },
	{ "nohystart", 0, "1: theirs have none" },
	{ "from", 60, "s: theirs come" },
	{ "to", 180, "s: and leave" },
	{ "end", 240, "s" },
	{ "seeds", 6, "runs, with seeds from 'seed' on" },
	{ "seed", 100, "the first" },
	{ "loss", 0, "ppm" },
	{ "stall", 0, "ms" },
	{ "every", 0, "ms" },
	{ "jitter", 0, "us" },
	{ "delack", 1, "0: the receiver acknowledges each packet" },
	{ "oursfrom", 0, "s" },
	{ "oursstep", 0, "s" },
	{ "oursstay", 0, "s" },
	{ "theirsstep", 0, "s" },
	{ "hosts", 1, "that ours are on" },
	{ "rev", 0, "Mbit/s of the way back" },
	{ "revbuf", 1, "BDP" },
	{ "revfrom", 0, "s" },
	{ "revto", 0, "s" },
	{ "lies", 0, "1: the receiver lies" },
	{ "nots", 0, "1: no timestamps" },
	{ "short", 0, "Mbit/s of short flows" },
	{ "shortsize", 50, "packets" },
	{ "udp", 0, "Mbit/s" },
	{ "udpon", 0, "ms" },
	{ "udpoff", 0, "ms" },
	{ "beta", 0, "1: w inflates what a loss costs" },
	{ "series", 0, "s: print packets per flow in such intervals, of the first seed" },
	{ "head", 0, "1: print the columns' names before" },
};

static struct drive_step steps[DRIVE_STEPS_MAX];

static double get(const char *name)
{
	u32 n;

	for (n = 0; n < ARRAY_SIZE(options); n++)
		if (!strcmp(options[n].name, name))
			return options[n].value;
	fprintf(stderr, "grid: no option '%s'\n", name);
	exit(2);
}

static u32 ms(const char *name)
{
	return get(name) * 1000 + 0.5;
}

static u32 pps(double mbit_s)
{
	return mbit_s * 1e6 / BITS_PER_PACKET;
}

static const struct lbe_base *base(double which)
{
	static const struct lbe_base *const bases[] = {
		NULL, &scavenger_base, &cdg_base, &cubic_base, &vegas_base, &least_base,
	};

	return bases[(u32)which];
}

static double word(const char *value)
{
	static const char *const words[] = {
		"tail", "codel", "pie", "fq", NULL, "scavenger", "cdg", "cubic", "vegas", "reno",
	};
	char *rest;
	double number;
	u32 n;

	for (n = 0; n < ARRAY_SIZE(words); n++)
		if (words[n] && !strcmp(value, words[n]))
			return n < 4 ? n : n - 4;
	number = strtod(value, &rest);
	if (*rest || rest == value) {
		fprintf(stderr, "grid: '%s' is no number, discipline or base\n", value);
		exit(2);
	}
	return number;
}

static void usage(void)
{
	u32 n;

	puts("type: grid [KEY=VALUE...]\n");
	for (n = 0; n < ARRAY_SIZE(options); n++)
		printf("  %-11s %-6g %s\n", options[n].name, options[n].value, options[n].help);
	puts("  step               S:MBIT_S, up to eight times: from then on this rate");
	exit(0);
}

static void add_step(const char *value)
{
	double at_s, mbit_s;
	u32 n;

	for (n = 0; n < DRIVE_STEPS_MAX && steps[n].rate_pps; n++)
		;
	if (n == DRIVE_STEPS_MAX || sscanf(value, "%lf:%lf", &at_s, &mbit_s) != 2) {
		fprintf(stderr, "grid: step=%s: type S:MBIT_S, up to %d times\n", value,
			DRIVE_STEPS_MAX);
		exit(2);
	}
	steps[n] = (struct drive_step) { .at_ms = at_s * 1000 + 0.5, .rate_pps = pps(mbit_s) };
}

static void parse(char *argument)
{
	char *value = strchr(argument, '=');
	u32 n;

	if (!value)
		usage();
	*value++ = 0;
	if (!strcmp(argument, "step")) {
		add_step(value);
		return;
	}
	get(argument);
	for (n = 0; n < ARRAY_SIZE(options); n++)
		if (!strcmp(options[n].name, argument))
			options[n].value = word(value);
}

static struct drive_in scenario(void)
{
	struct drive_in in = {
		.rate_pps = pps(get("rate")), .base_us = get("rtt") * 1000 + 0.5,
		.ours = get("ours"), .theirs = get("theirs"), .w_q16 = get("w") * Q16_ONE,
		.base = base(get("base")), .their_base = base(get("their")), .beta = get("beta"),
		.no_hystart = get("nohystart"), .loss_ppm = get("loss"), .stall_ms = get("stall"),
		.stall_every_ms = get("every"), .ours_from_ms = ms("oursfrom"),
		.ours_step_ms = ms("oursstep"), .ours_stay_ms = ms("oursstay"),
		.theirs_step_ms = ms("theirsstep"), .hosts = get("hosts"), .from_ms = ms("from"),
		.to_ms = ms("to"), .end_ms = ms("end"), .discipline = get("disc"),
		.jitter_us = get("jitter"), .delayed_acks = get("delack"),
		.reverse_pps = pps(get("rev")),
		.reverse_from_ms = ms("revfrom"), .reverse_to_ms = ms("revto"),
		.lies = get("lies"), .no_timestamps = get("nots"), .short_pps = pps(get("short")),
		.short_packets = get("shortsize"), .udp_pps = pps(get("udp")),
		.udp_on_ms = get("udpon"), .udp_off_ms = get("udpoff"),
	};

	memcpy(in.steps, steps, sizeof(steps));
	in.buffer = get("bufpkts") ?: max(get("buf") * in.rate_pps * in.base_us / 1e6, 4.0);
	in.reverse_buffer = max(get("revbuf") * in.reverse_pps * in.base_us / 1e6, 4.0);
	if (in.ours + in.theirs > DRIVE_FLOWS_MAX) {
		fprintf(stderr, "grid: more than %d flows\n", DRIVE_FLOWS_MAX);
		exit(2);
	}
	return in;
}

static void print_series(struct drive_in *in)
{
	u32 flows = in->ours + in->theirs, rows, row, n;
	struct drive_out out;

	in->series_ms = ms("series");
	rows = in->end_ms / in->series_ms;
	in->series = calloc(rows * flows + 1, sizeof(u32));
	drive(in, &out);
	for (row = 0; row < rows; row++) {
		printf("%8.1f", row * get("series"));
		for (n = 0; n < flows; n++)
			printf(" %6u", in->series[row * flows + n]);
		putchar('\n');
	}
	free(in->series);
}

/* Packets that the link can serve in this time. */
static double most(const struct drive_in *in, u32 from_ms, u32 to_ms)
{
	u32 n, rate_pps = in->rate_pps, at_ms = from_ms;
	double sum = 0;

	for (n = 0; n < DRIVE_STEPS_MAX && in->steps[n].rate_pps; n++) {
		u32 step_ms = clamp_t(u32, in->steps[n].at_ms, at_ms, to_ms);

		sum += (step_ms - at_ms) / 1000.0 * rate_pps;
		at_ms = step_ms;
		rate_pps = in->steps[n].rate_pps;
	}
	return sum + (to_ms - at_ms) / 1000.0 * rate_pps;
}

int main(int argc, char **argv)
{
	double alone = 0, share = 0, harm = 0, after = 0, fair = 0, yields = 0, queue = 0;
	double queue_alone = 0, silent = 0, theirs = 0, drops = 0, shorts = 0, packets = 0;
	struct drive_in in, without;
	u32 n, seeds;

	for (n = 1; n < argc; n++)
		parse(argv[n]);
	in = scenario();
	in.seed = get("seed");
	if (get("series")) {
		print_series(&in);
		return 0;
	}
	seeds = get("seeds");
	for (n = 0; n < seeds; n++, in.seed++) {
		double middle = (in.from_ms + in.to_ms) / 2;
		struct drive_out out, other;

		drive(&in, &out);
		without = in;
		without.ours = 0;
		drive(&without, &other);
		alone += out.alone / max(most(&in, in.ours_from_ms, in.from_ms), 1.0);
		share += out.ours / max(out.ours + (double)out.theirs, 1.0);
		harm += other.theirs ? 1 - out.theirs / (double)other.theirs : 0;
		theirs += other.theirs / max(most(&in, middle, in.to_ms), 1.0);
		after += out.after / max(most(&in, in.to_ms, in.end_ms), 1.0);
		fair += out.most ? out.least / (double)out.most : 0;
		yields += out.yields;
		queue += out.queue_mean_us / 1000.0;
		queue_alone += out.queue_alone_us / 1000.0;
		silent = max(silent, out.silent_ms / 1000.0);
		drops += out.drops_ours;
		shorts += out.short_ms;
		packets += out.packets + other.packets;
	}
	if (get("head"))
		printf("%7s %7s %7s %8s %7s %4s %7s %7s %7s %9s %6s %8s %8s\n", "alone%", "share%",
		       "harm%", "without%", "after%", "l/m", "yields", "qalone", "queue",
		       "silent_s", "drops", "short_ms", "packets");
	printf("%7.1f %7.2f %7.2f %8.1f %7.1f %4.2f %7.1f %7.2f %7.2f %9.1f %6.0f %8.0f %8.0f\n",
	       100 * alone / seeds, 100 * share / seeds, 100 * harm / seeds,
	       100 * theirs / seeds, 100 * after / seeds, fair / seeds, yields / seeds,
	       queue_alone / seeds, queue / seeds, silent, drops / seeds, shorts / seeds, packets);
	return 0;
}
