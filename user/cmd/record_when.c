/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/record_when.c - the loop is record's: it asks when an interval should end. The samples of an
 * interval go to the traps, which keep the last seconds. */
#include "cmd/record_when.h"

#include <errno.h>

#include "agent/agent.h"
#include "base/caps.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/own.h"
#include "output/place.h"

#define INTERVAL_NS (30 * NSEC_PER_SEC)
#define INTERVAL_TICKS 200000
#define FINISH_NS (10 * NSEC_PER_SEC)

int record_when_make_folder(const struct record_options *o, struct why *why)
{
	_as_user_ uint64_t rights = caps_pause();
	_cleanup_fd_ int dir = -1;

	(void)rights;
	return place_open_folder(o->bundle, true, &dir, why);
}

int record_when_open(
	struct record_when *w, const struct record_options *o, struct log *log, struct why *why)
{
	struct trap_bundle bundle = {
		.folder = o->bundle, .host = w->host.nodename, .sink = &o->sink, .log = log
	};
	int err;

	w->log = log;
	w->count = o->rule.count;
	w->interval_ends_ns = clock_ns(CLOCK_MONOTONIC) + INTERVAL_NS;
	w->rules.len = 1;
	w->rules.all[0] = o->rule;
	uname(&w->host);
	err = trap_bundle_try(&bundle, why);
	return err < 0 ? err : trapper_open(&w->trapper, &w->rules, o->hz, &bundle, why);
}

void record_when_close(struct record_when *w)
{
	trapper_close(&w->trapper);
}

static void say_waiting(struct record_when *w)
{
	const struct rule *rule = &w->rules.all[0];
	char limit[64];

	rule_put_limit(rule, limit, sizeof(limit));
	log_note(w->log, "waiting for %s %s%s", rule_metric_name(rule->metric), limit,
		trapper_stats(&w->trapper)->watched > 0 ? "" : "; what it is of is not there yet");
	w->said = true;
}

int record_when_tick(struct record_when *w, struct agent *agent, uint64_t now_ns)
{
	int err = trapper_tick(&w->trapper, agent, now_ns);

	if (w->rules.len > 0 && !w->said)
		say_waiting(w);
	return err;
}

uint64_t record_when_due_ns(const struct record_when *w)
{
	uint64_t due_ns = clock_sooner(trapper_due_ns(&w->trapper), trapper_cut_ns(&w->trapper));

	return w->rules.len > 0 ? clock_sooner(due_ns, w->interval_ends_ns) : CLOCK_NEVER_NS;
}

bool record_when_is_due(const struct record_when *w, struct agent *agent, uint64_t now_ns)
{
	return w->rules.len > 0 &&
		(now_ns >= w->interval_ends_ns || now_ns >= trapper_cut_ns(&w->trapper) ||
			agent_ticks(agent) >= INTERVAL_TICKS);
}

int record_when_take(struct record_when *w, struct agent *agent, struct why *why)
{
	_cleanup_(profile_done) struct profile profile;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	int err = profile_init(&profile);

	w->interval_ends_ns = now_ns + INTERVAL_NS;
	if (err < 0)
		return why_set(why, err, "cannot make a profile: %s", err_text(err));
	err = agent_profile(agent, &profile);
	if (err < 0)
		log_warn(w->log, "the profile is incomplete: %s", err_text(err));
	err = trapper_take(&w->trapper, agent, &profile, now_ns);
	return err < 0 ? why_set(why, err, "a capture is incomplete: %s", err_text(err)) : 0;
}

bool record_when_is_over(struct record_when *w)
{
	const struct account_traps *stats = trapper_stats(&w->trapper);

	return stats && w->count > 0 && stats->written + stats->failed >= w->count;
}

int record_when_finish(struct record_when *w, bool by_signal, struct why *why)
{
	const struct account_traps *stats;

	trapper_finish(&w->trapper, clock_ns(CLOCK_MONOTONIC) + FINISH_NS);
	stats = trapper_stats(&w->trapper);
	if (stats->failed > 0)
		return why_set(why, -EIO, "bundles that were not written: %llu",
			(unsigned long long)stats->failed);
	if (stats->written > 0 || by_signal)
		return 0;
	return why_set(why, -ENODATA,
		stats->fired > 0 ? "no bundle was written"
				 : "the condition of --when never held: there is no bundle");
}
