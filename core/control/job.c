// SPDX-License-Identifier: GPL-2.0-only
/*
 * A job: one goal of several connections.
 *
 *	connection --- part: bytes, time, price ---+
 *	connection --- part -----------------------+--> sum over Tw --> control.c --> w
 *	connection --- part -----------------------+                                  |
 *	     ^                                                                        |
 *	     +------------------------------- copy of the control --------------------+
 *
 * A goal that is divided among connections has a controller in each: each learns for itself, from
 * an eighth of the bytes, and those whose part was too small compete at w = 1 while the others
 * have time. Here the needed rate and the carried rate are the job's.
 */
#include "core/control/job.h"

/* The Tw begins at the last one's end. */
static void job_begin_tw(struct job *job, u64 now_us, u32 srtt_us)
{
	u64 tw_us = div_u64(control_tw_ns(&job->control, srtt_us), NSEC_PER_USEC);

	job->tw = (struct job_tw) {
		.start_us = now_us,
		.end_us = now_us + tw_us,
		.limited_until_us = now_us,
	};
}

/* The first goal becomes the job's. A connection may have done something for the job before that,
 * and left again: one whose user is another.
 */
static void job_take_goal(struct job *job, const struct control *first, u64 now_us, u32 srtt_us)
{
	if (job->control.goal.bytes)
		return;
	job->control = *first;
	job->bytes_done = fp_add(job->bytes_done, first->goal.done);
	job_begin_tw(job, now_us, srtt_us);
}

/**
 * job_init - a job without a goal
 * @job: the job
 */
void job_init(struct job *job)
{
	memset(job, 0, sizeof(*job));
	port_lock_init(&job->lock);
}

/**
 * job_begin - a connection takes part
 * @job: the job
 * @copy: the connection's control, which has been started with a goal, and becomes a copy of the
 *	job's. Where the job has no goal yet, this one becomes the job's
 * @now_us: TCP's clock
 * @srtt_us: smoothed RTT
 */
void job_begin(struct job *job, struct control *copy, u64 now_us, u32 srtt_us)
{
	port_lock(&job->lock);
	job_take_goal(job, copy, now_us, srtt_us);
	*copy = job->control;
	port_unlock(&job->lock);
}

/**
 * job_change_goal - other bytes or another deadline for all of its connections
 * @job: the job
 * @bytes: size in all, with what is done
 * @now_ns: time
 * @deadline_ns: soft deadline
 */
void job_change_goal(struct job *job, u64 bytes, u64 now_ns, u64 deadline_ns)
{
	port_lock(&job->lock);
	control_change_goal(&job->control, bytes, now_ns, deadline_ns);
	if (job->bytes_done < bytes)
		job->done_ns = 0;
	else if (!job->done_ns)
		job->done_ns = now_ns;
	port_unlock(&job->lock);
}

/**
 * job_configure - other parameters for all of its connections
 * @job: the job
 * @config: controller and its parameters
 */
void job_configure(struct job *job, const struct control_config *config)
{
	port_lock(&job->lock);
	control_configure(&job->control, config);
	port_unlock(&job->lock);
}

static void job_count_bytes(struct job *job, u64 bytes, u64 now_ns)
{
	job->bytes_done = fp_add(job->bytes_done, bytes);
	if (!job->done_ns && job->control.goal.bytes &&
	    job->bytes_done >= job->control.goal.bytes)
		job->done_ns = now_ns;
}

/**
 * job_add - a connection takes part no more
 * @job: the job
 * @bytes: acknowledged since its last part
 * @now_ns: time
 */
void job_add(struct job *job, u64 bytes, u64 now_ns)
{
	port_lock(&job->lock);
	job_count_bytes(job, bytes, now_ns);
	port_unlock(&job->lock);
}

static u64 job_part_start_us(const struct job_part *part)
{
	u64 elapsed_us = div_u64(part->sample.elapsed_ns, NSEC_PER_USEC);

	return part->now_us - min(elapsed_us, part->now_us);
}

static void job_add_price(u64 *sum_q40, u64 price_q40, u32 rounds)
{
	*sum_q40 = fp_add(*sum_q40, fp_mul_div(price_q40, rounds, 1));
}

/* Add a part to the Tw. A part that had nothing under way has no price. */
static void job_count(struct job *job, const struct job_part *part)
{
	const struct control_sample *s = &part->sample;
	u64 from_us = max(job_part_start_us(part), job->tw.limited_until_us);
	struct job_tw *tw = &job->tw;
	u32 rounds = max(s->rounds, 1u);

	job_count_bytes(job, s->bytes_done, s->now_ns);
	if (!part->busy_us)
		return;
	tw->busy_us += part->busy_us;
	tw->rounds += rounds;
	tw->rounds_beside += s->others_seen ? rounds : 0;
	tw->losses += s->losses;
	job_add_price(&tw->price_sum_q40, s->price_q40, rounds);
	job_add_price(&tw->standard_sum_q40, s->price_standard_q40, rounds);
	job_add_price(&tw->phi_price_sum_q40, s->phi_price_q40, rounds);
	if (s->app_limited || part->now_us <= from_us)
		return;
	tw->limited_us += part->now_us - from_us;
	tw->limited_until_us = part->now_us;
}

/* Tw has ended: w for the next. */
static void job_update(struct job *job, struct job_part *part, const struct control_model *model)
{
	const struct job_tw *tw = &job->tw;
	u64 elapsed_us = part->now_us - min(part->now_us, tw->start_us);
	struct control_model several = *model;
	struct control_sample *s = &part->sample;

	several.connections_q16 = max_t(u64, fp_mul_div(tw->busy_us, Q16_ONE,
							max(elapsed_us, 1ull)), Q16_ONE);
	s->bytes_done = job->bytes_done;
	s->elapsed_ns = elapsed_us * NSEC_PER_USEC;
	if (tw->rounds) {
		s->price_q40 = div_u64(tw->price_sum_q40, tw->rounds);
		s->price_standard_q40 = div_u64(tw->standard_sum_q40, tw->rounds);
		s->phi_price_q40 = div_u64(tw->phi_price_sum_q40, tw->rounds);
	}
	s->rounds = tw->rounds;
	s->losses = tw->losses;
	s->others_seen = tw->rounds_beside > tw->rounds / 2;
	s->app_limited = tw->limited_us < elapsed_us / 2;
	control_update(&job->control, s, &several);
}

/**
 * job_hand_in - a connection tells what it has done since its last part
 * @job: the job
 * @copy: the connection's control: w may be another now. Where the job has no goal, as the
 *	connection has come over from another job, this one becomes the job's
 * @part: that; where w is set, its sample becomes the job's
 * @model: the base's steady state, for one connection
 *
 * To be called JOB_PARTS times per Tw, and when nothing is under way any more: so the job knows the
 * time at which its last byte was acknowledged.
 *
 * Return: true where w was set since the connection's last part: by this one, or by another's.
 */
bool job_hand_in(struct job *job, struct control *copy, struct job_part *part,
		 const struct control_model *model)
{
	u64 start_us = job_part_start_us(part);
	bool finished, renewed;

	port_lock(&job->lock);
	job_take_goal(job, copy, part->now_us, part->sample.srtt_us);
	job_count(job, part);
	finished = job->done_ns && job->control.status != DALBE_STATUS_DONE;
	renewed = finished || part->now_us >= job->tw.end_us;
	if (renewed) {
		job_update(job, part, model);
		job_begin_tw(job, part->now_us, part->sample.srtt_us);
	}
	renewed |= job->tw.start_us > start_us;
	*copy = job->control;
	port_unlock(&job->lock);
	return renewed;
}

/**
 * job_read - how is it doing?
 * @job: the job
 * @known: filled in
 */
void job_read(struct job *job, struct job_known *known)
{
	port_lock(&job->lock);
	*known = (struct job_known) {
		.control = job->control,
		.bytes_done = job->bytes_done,
		.done_ns = job->done_ns,
	};
	port_unlock(&job->lock);
}
