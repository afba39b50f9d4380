/* SPDX-License-Identifier: Apache-2.0 */
/* traps/trapper.c - writes one bundle at a time; the others wait in memory. Their number is
 * limited, so traps that fire meanwhile may be refused. */
#include "traps/trapper.h"

#include <errno.h>

#include "base/clock.h"

int trapper_open(struct trapper *t, const struct rules *rules, uint64_t hz,
	const struct trap_bundle *bundle, struct why *why)
{
	int err;

	*t = (struct trapper){ .bundle = *bundle, .hz_max = rules_hz_max(rules, hz) };
	if (rules->len == 0)
		return 0;
	if (trap_bundle_check(bundle, why) < 0)
		log_warn(bundle->log, "traps: %s; until then their bundles are lost", why->text);
	err = traps_new(rules, bundle->log, &t->traps);
	return err < 0 ? why_set(why, err, "cannot set up traps: %s", err_text(err)) : 0;
}

void trapper_close(struct trapper *t)
{
	if (t->writer.pid > 0)
		child_leave(&t->writer);
	trap_capture_free(t->capture);
	traps_free(t->traps);
	*t = (struct trapper){ 0 };
}

void trapper_reload(struct trapper *t, const struct rules *before, const struct rules *rules)
{
	if (t->traps)
		traps_reload(t->traps, before, rules);
	if ((rules->len > 0 && !t->traps) || rules_hz_max(rules, 0) > t->hz_max ||
		(rules_of_processes(rules) && !rules_of_processes(before)))
		log_warn(t->bundle.log,
			"the first trap, the first with a pid or comm, and one with a higher hz "
			"than any before, need a restart");
}

/* Starts the next writer when the last one has ended. last: also for an unfinished capture. */
static void write_next(struct trapper *t, bool last, int wait_ms)
{
	struct account_traps *stats = traps_stats(t->traps);
	int end;

	if (t->writer.pid) {
		end = trap_bundle_end(&t->writer, wait_ms);
		if (end == -EAGAIN)
			return;
		stats->written += end > 0;
		stats->failed += end <= 0;
		trap_capture_free(t->capture);
	}
	t->capture = traps_next(t->traps, last);
	if (!t->capture || trap_bundle_start(&t->bundle, t->capture, &t->writer) == 0)
		return;
	log_error(t->bundle.log, "trap %s: its capture is lost: cannot start a process to write it",
		t->capture->rule.name);
	stats->failed++;
	trap_capture_free(t->capture);
	t->capture = NULL;
}

int trapper_tick(struct trapper *t, struct agent *agent, uint64_t now_ns)
{
	const struct agent_parts parts = agent_parts(agent);

	if (!t->traps)
		return 0;
	write_next(t, false, 0);
	return traps_tick(t->traps, parts.containers, parts.waiting, now_ns);
}

uint64_t trapper_due_ns(const struct trapper *t)
{
	return t->traps ? traps_due_ns(t->traps) : CLOCK_NEVER_NS;
}

int trapper_fd(const struct trapper *t)
{
	return t->writer.pid ? t->writer.pidfd : -1;
}

uint64_t trapper_cut_ns(const struct trapper *t)
{
	return t->traps ? traps_cut_ns(t->traps) : CLOCK_NEVER_NS;
}

uint32_t trapper_hz(const struct trapper *t, uint64_t now_ns)
{
	uint32_t hz = t->traps ? traps_hz(t->traps, now_ns) : 0;

	return hz < t->hz_max ? hz : t->hz_max;
}

int trapper_take(
	struct trapper *t, struct agent *agent, const struct profile *profile, uint64_t ended_ns)
{
	return t->traps ? traps_take(t->traps, profile, agent_parts(agent).walls, ended_ns) : 0;
}

void trapper_finish(struct trapper *t, uint64_t until_ns)
{
	struct trap_capture *left;
	uint64_t now_ns;

	if (!t->traps)
		return;
	do {
		now_ns = clock_ns(CLOCK_MONOTONIC);
		write_next(t, true,
			now_ns < until_ns ? (int)((until_ns - now_ns) / NSEC_PER_MSEC) : 0);
	} while (t->writer.pid && now_ns < until_ns);
	if (t->writer.pid)
		log_warn(t->bundle.log,
			"trap %s: its bundle is not written yet as sampling ends: its process "
			"goes on",
			t->capture->rule.name);
	while ((left = traps_next(t->traps, true))) {
		log_error(t->bundle.log, "trap %s: its capture is lost, as sampling ends",
			left->rule.name);
		trap_capture_free(left);
	}
}

const struct account_traps *trapper_stats(struct trapper *t)
{
	return t->traps ? traps_stats(t->traps) : NULL;
}
