/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/record_output.c - sends a format's bytes to the clerk in pieces, so a long capture is never
 * in memory as a whole. After a failure nothing more is written, and the clerk removes the file.
 * With --interval the next interval begins a new file. How a file is written is left to
 * output/output.c. */
#include "cmd/record_output.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "agent/account.h"
#include "agent/agent.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "cmd/log_lost.h"
#include "daemon/perf_maps.h"
#include "output/clerk.h"
#include "sink/sink.h"

static int put_piece(void *ctx, const struct buf *bytes)
{
	struct record_output *o = ctx;

	return clerk_put(o->clerk, bytes, &o->why);
}

static int begin(struct record_output *o, const struct profile *profile, struct why *why)
{
	time_t when = (time_t)(profile->start_ns / NSEC_PER_SEC);
	int err = o->file_index > 0
		? clerk_begin_file(o->clerk, o->file_index - 1, when, o->path, why)
		: clerk_begin(o->clerk, when, o->path, why);

	if (err < 0)
		return err;
	o->open = true;
	o->samples = o->stacks = o->profiles = o->untimed = 0;
	err = sink_file_open(&o->file, o->sink, o->options);
	o->file.out.take = put_piece;
	o->file.out.ctx = o;
	return err < 0 ? why_set(why, err, "cannot write the profile: %s", err_text(err)) : 0;
}

/* *why: the clerk's error if it had one. */
static int fail(struct record_output *o, int err, struct why *why)
{
	struct why aborted;

	o->failed = err;
	o->lost_samples += o->open ? o->samples : 0;
	if (o->open)
		clerk_abort(o->clerk, &aborted);
	sink_file_done(&o->file);
	o->open = false;
	if (!o->why.text[0])
		why_set(&o->why, err, "cannot write the profile: %s", err_text(err));
	*why = o->why;
	return err;
}

int record_output_prepare(const struct record_output *o, struct agent *agent,
	struct perf_maps *maps, struct profile *profile)
{
	_cleanup_(buf_done) struct buf json = BUF_INIT;
	struct account account;
	int err = o->kinds ? profile_choose_kinds(profile, o->kinds) : 0;

	if (err < 0 || !(o->sink->holds & SINK_ACCOUNT))
		return err;
	agent_account(agent, &account);
	perf_maps_stats(maps, &account.jit);
	err = account_write_json(&account, &json);
	return err < 0 ? err : profile_string(profile, buf_text(&json), &profile->account);
}

int record_output_put(struct record_output *o, const struct profile *profile, struct why *why)
{
	int err;

	if (o->failed < 0) {
		o->lost_samples += profile_total(profile);
		*why = o->why;
		return o->failed;
	}
	o->why.text[0] = '\0';
	if (!o->open) {
		err = begin(o, profile, &o->why);
		if (err < 0) {
			o->lost_samples += profile_total(profile);
			return fail(o, err, why);
		}
	}
	o->samples += profile_total(profile);
	err = sink_file_put(&o->file, profile);
	if (err < 0)
		return fail(o, err, why);
	o->stacks += profile->stacks.len;
	o->untimed += profile->ticks_dropped;
	o->profiles++;
	return 0;
}

static void log_file(const struct record_output *o, struct log *log)
{
	struct why why;

	if (o->untimed > 0)
		log_warn(log,
			"%llu samples were counted without their times, whose number is limited",
			(unsigned long long)o->untimed);
	if (strcmp(o->path, "-") == 0)
		return;
	/* A bundle has all of its files. */
	if (o->kinds && sink_check_waits(o->sink, o->path, &why) < 0) {
		log_warn(log, "%s is empty: waits have no times, which the format %s needs",
			o->path, o->sink->name);
		return;
	}
	/* A format may have fewer: folded lines have names and no addresses. */
	if (o->kinds)
		log_note(log, "wrote %s: %.1f s of waiting, %llu stacks by address", o->path,
			(double)o->samples / 1e9, (unsigned long long)o->stacks);
	else if (o->profiles == 1)
		log_note(log, "wrote %s: %llu samples, %llu stacks by address", o->path,
			(unsigned long long)o->samples, (unsigned long long)o->stacks);
	else
		log_note(log, "wrote %s: %llu samples", o->path, (unsigned long long)o->samples);
}

int record_output_end(struct record_output *o, struct log *log, struct why *why)
{
	int err;

	if (!o->open)
		return 0;
	err = sink_file_end(&o->file);
	if (err == 0)
		err = clerk_end(o->clerk, &o->why);
	if (err < 0)
		return fail(o, err, why);
	log_lost(log, o->path, o->sink, &o->file.lost);
	sink_file_done(&o->file);
	o->open = false;
	log_file(o, log);
	return 0;
}

void record_output_lose(struct record_output *o, int err, const struct why *why, struct log *log)
{
	if (err == 0) {
		o->lost_err = 0;
		return;
	}
	if (o->intervals_lost++ == 0)
		o->lost_why = *why;
	if (o->lost_err != err)
		log_warn(log, "an interval was not written: %s; sampling goes on", why->text);
	o->lost_err = err;
	o->failed = 0;
}

int record_output_lost(const struct record_output *o, struct why *why)
{
	if (o->intervals_lost == 0)
		return 0;
	return why_set(why, -EIO,
		"intervals that were not written: %llu, with %llu samples; the first: %s",
		(unsigned long long)o->intervals_lost, (unsigned long long)o->lost_samples,
		o->lost_why.text);
}

void record_output_done(struct record_output *o)
{
	struct why why;

	if (o->open)
		clerk_abort(o->clerk, &why);
	sink_file_done(&o->file);
	o->open = false;
}
