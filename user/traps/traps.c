/* SPDX-License-Identifier: Apache-2.0 */
/* traps/traps.c - the past is a list of pieces, each with its own rate; pieces that no trap needs
 * any more are dropped. A capture copies from them when it begins, and from each interval until it
 * ends. */
#include "traps/traps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/vec.h"
#include "traps/narrow.h"
#include "traps/still.h"
#include "waiting/walls.h"
#include "traps/watch.h"

/* Over a shorter time a value depends more on who else uses the CPUs than on what is watched. */
#define LOOK_NS NSEC_PER_SEC

struct piece {
	struct profile profile;
	uint64_t ended_ns;
};

struct traps {
	const struct rules *rules;
	struct log *log;
	struct watches watches;
	struct thread_times times;
	struct watch_sources from; /* of the current turn */
	uint64_t captured;
	uint64_t looked_ns; /* CLOCK_MONOTONIC */
	struct piece *pieces[TRAPS_PIECES_MAX];
	size_t pieces_len;
	VEC(struct trap_capture *) captures;
	uint64_t ended_ns; /* the last interval */
	bool said_refused;
	struct account_traps stats;
};

static void piece_free(struct piece *piece)
{
	if (!piece)
		return;
	profile_done(&piece->profile);
	free(piece);
}
DEFINE_CLEANUP(struct piece, piece_free)

void trap_capture_free(struct trap_capture *c)
{
	if (!c)
		return;
	profile_done(&c->profile);
	profile_done(&c->waits_before.profile);
	profile_done(&c->waits_after.profile);
	hash_done(&c->waits_before.still);
	hash_done(&c->waits_after.still);
	free(c->container);
	free(c->pod);
	free(c->namespace_);
	vec_done(&c->pids);
	free(c);
}
DEFINE_CLEANUP(struct trap_capture, trap_capture_free)

int traps_new(const struct rules *rules, struct log *log, struct traps **out)
{
	struct traps *traps = calloc(1, sizeof(*traps));
	int err = traps ? watches_init(&traps->watches, log) : -ENOMEM;

	if (err < 0) {
		traps_free(traps);
		return err;
	}
	traps->rules = rules;
	traps->log = log;
	*out = traps;
	return 0;
}

void traps_free(struct traps *traps)
{
	if (!traps)
		return;
	for (size_t i = 0; i < traps->pieces_len; i++)
		piece_free(traps->pieces[i]);
	vec_each (&traps->captures, c)
		trap_capture_free(*c);
	vec_done(&traps->captures);
	watches_done(&traps->watches);
	free(traps);
}

void traps_reload(struct traps *traps, const struct rules *before, const struct rules *rules)
{
	watches_reload(&traps->watches, before, rules);
	traps->rules = rules;
}

struct account_traps *traps_stats(struct traps *traps)
{
	traps->stats.rules = traps->rules->len;
	traps->stats.watched = traps->watches.all.len;
	return &traps->stats;
}

/* ---- it fires ------------------------------------------------------------------------------- */

/* The host may have started since. */
static uint64_t ago(uint64_t now_ns, uint64_t ns)
{
	return now_ns > ns ? now_ns - ns : 0;
}

static int copy_text(char **to, const char *text)
{
	*to = text ? strdup(text) : NULL;
	return text && !*to ? -ENOMEM : 0;
}

static void add_threads(struct trap_threads *sum, const struct thread_time *time)
{
	thread_split_add(&sum->split, &time->split);
	sum->split.throttled_ns += time->split.throttled_ns;
	sum->past_ns += time->past_ns;
	sum->threads = time->threads;
}

/* Values that lie in the time before it fired as a whole. */
static void add_before(struct trap_capture *c, const struct watch *watch)
{
	uint64_t first =
		watch->times_len > WATCH_TIMES_MAX ? watch->times_len - WATCH_TIMES_MAX : 0;

	for (uint64_t i = first; i < watch->times_len; i++) {
		const struct watch_time *t = &watch->times[i % WATCH_TIMES_MAX];

		if (t->at_ns - t->time.past_ns + NSEC_PER_SEC / 2 >= c->since_ns)
			add_threads(&c->before, &t->time);
	}
}

static struct thread_whose whose_of(const struct trap_capture *c)
{
	return (struct thread_whose){ c->container, c->pod, c->namespace_,
		c->rule.comm[0] ? c->rule.comm : NULL, c->pid };
}

/* Of those that are being captured, after a visit. */
static void follow_captures(struct traps *traps)
{
	vec_each (&traps->captures, slot) {
		struct trap_capture *c = *slot;
		const struct thread_whose whose = whose_of(c);
		struct thread_time time;

		if (!c->done && traps->times.visited_ns > c->fired_ns &&
			thread_times_of(&traps->times, traps->from.waiting, traps->from.containers,
				&whose, &time, whose.pid || whose.comm ? &c->pids : NULL))
			add_threads(&c->after, &time);
	}
}

static int capture_new(
	const struct traps *traps, const struct watch *watch, struct trap_capture **out)
{
	const struct thread_whose whose = watch_whose(watch);
	struct thread_time time;
	_cleanup_(trap_capture_freep) struct trap_capture *c = calloc(1, sizeof(*c));
	int err = c ? profile_init(&c->profile) : -ENOMEM;

	if (err == 0)
		err = profile_init(&c->waits_before.profile);
	if (err == 0)
		err = profile_init(&c->waits_after.profile);
	if (err == 0)
		err = copy_text(&c->container, watch->container);
	if (err == 0)
		err = copy_text(&c->pod, watch->pod);
	if (err == 0)
		err = copy_text(&c->namespace_, watch->namespace_);
	if (err < 0)
		return err;
	c->rule = traps->rules->all[watch->rule];
	c->trap = watch->trap;
	c->pid = watch->pid;
	watch_put_name(watch, c->name, sizeof(c->name));
	c->fired_ns = watch->trap.last_ns;
	c->fired_real_ns = clock_ns(CLOCK_REALTIME);
	c->since_ns = ago(c->fired_ns, c->rule.before_ns);
	c->until_ns = c->fired_ns + c->rule.capture_ns;
	add_before(c, watch);
	if (whose.pid || whose.comm)
		(void)thread_times_of(&traps->times, traps->from.waiting, traps->from.containers,
			&whose, &time, &c->pids);
	*out = TAKE_PTR(c);
	return 0;
}

static void say_fired(const struct traps *traps, const struct trap_capture *c)
{
	const struct rule *rule = &c->rule;
	char limit[64];

	rule_put_limit(rule, limit, sizeof(limit));
	log_note(traps->log, "trap %s: %s of %s is %.1f %%, %s: capturing %.3g s at %u Hz",
		rule->name, rule_metric_name(rule->metric), c->name,
		(double)c->trap.values[(c->trap.values_len - 1) % TRAP_VALUES_MAX].permille / 10,
		limit, (double)rule->capture_ns / 1e9, (unsigned)rule->hz);
}

static void refuse_capture(struct traps *traps, struct watch *watch)
{
	char name[TRAPS_NAME_MAX];

	traps->stats.refused++;
	trap_refuse(&watch->trap);
	watch_put_name(watch, name, sizeof(name));
	if (!traps->said_refused)
		log_warn(traps->log,
			"trap %s: no capture of %s, because %d others are being captured or "
			"written; further refusals are only counted",
			traps->rules->all[watch->rule].name, name, TRAPS_CAPTURES_MAX);
	traps->said_refused = true;
}

static void on_fired(void *ctx, struct watch *watch)
{
	struct traps *traps = ctx;
	_cleanup_(trap_capture_freep) struct trap_capture *c = NULL;
	const struct rule *rule = &traps->rules->all[watch->rule];
	struct trap_capture **slot;

	if (rule->count > 0 && traps->captured >= rule->count)
		return;
	traps->stats.fired++;
	if (traps->captures.len >= TRAPS_CAPTURES_MAX || capture_new(traps, watch, &c) < 0) {
		refuse_capture(traps, watch);
		return;
	}
	slot = vec_add(&traps->captures);
	if (!slot) {
		refuse_capture(traps, watch);
		return;
	}
	*slot = TAKE_PTR(c);
	traps->captured++;
	say_fired(traps, *slot);
}

int traps_tick(struct traps *traps, struct containers *containers, struct waiting *waiting,
	uint64_t now_ns)
{
	int err;

	if (now_ns - traps->looked_ns < LOOK_NS)
		return 0;
	traps->looked_ns = now_ns;
	traps->ended_ns = traps->ended_ns ? traps->ended_ns : now_ns;
	traps->from = (struct watch_sources){ &traps->times, waiting, containers,
		traps->rules->len > 0 &&
			thread_times_visit(&traps->times, waiting, containers, now_ns) };
	err = watches_follow(&traps->watches, traps->rules, &traps->from, now_ns);
	if (traps->from.visited)
		follow_captures(traps);
	watches_read(&traps->watches, traps->rules, &traps->from, now_ns, on_fired, traps);
	return err;
}

uint64_t traps_due_ns(const struct traps *traps)
{
	return traps->looked_ns + LOOK_NS;
}

uint64_t traps_cut_ns(const struct traps *traps)
{
	uint64_t cut_ns = CLOCK_NEVER_NS;

	vec_each (&traps->captures, c)
		if (!(*c)->done)
			cut_ns = clock_sooner(cut_ns, (*c)->begun ? (*c)->until_ns : 0);
	for (size_t i = 0; i < traps->rules->len; i++)
		if (traps->rules->all[i].metric == RULE_STILL && traps->ended_ns > 0)
			cut_ns = clock_sooner(cut_ns,
				traps->ended_ns + still_interval_ns(traps->rules->all[i].for_ns));
	return cut_ns;
}

uint32_t traps_hz(const struct traps *traps, uint64_t now_ns)
{
	uint64_t hz = 0;

	vec_each (&traps->captures, c)
		if (!(*c)->done && (*c)->until_ns > now_ns && (*c)->rule.hz > hz)
			hz = (*c)->rule.hz;
	return (uint32_t)hz;
}

/* ---- intervals ------------------------------------------------------------------------------ */

static void note_rate(struct trap_capture *c, const struct profile *profile)
{
	uint64_t since_ns =
		profile->start_tick_ns > c->since_ns ? profile->start_tick_ns : c->since_ns;
	uint32_t hz = (uint32_t)(NSEC_PER_SEC / profile->kinds[0].period_ns);

	if (c->rates_len == TRAPS_RATES_MAX ||
		(c->rates_len > 0 && c->rates[c->rates_len - 1].hz == hz))
		return;
	c->rates[c->rates_len++] = (struct trap_rate){ since_ns, hz };
}

/* So much of the profile's time, which ends at ended_ns, is in the capture. */
static uint64_t part_of(
	const struct trap_capture *c, const struct profile *profile, uint64_t ended_ns)
{
	uint64_t since_ns = profile->start_tick_ns > c->since_ns ? profile->start_tick_ns
								 : c->since_ns;
	uint64_t until_ns = ended_ns < c->until_ns ? ended_ns : c->until_ns;

	return until_ns > since_ns ? until_ns - since_ns : 0;
}

static int add(struct trap_capture *c, const struct profile *profile, uint64_t ended_ns,
	struct trap_waits *waits)
{
	const struct thread_whose whose = whose_of(c);
	struct slice range = c->slice;
	int err;

	note_rate(c, profile);
	err = whose.pid || whose.comm
		? narrow_add_slice(profile, &c->pids, &c->slice, &c->profile)
		: profile_add_slice(profile, &c->slice, &c->profile);
	if (range.since_ns < profile->start_tick_ns)
		range.since_ns = profile->start_tick_ns;
	waits->past_ns += part_of(c, profile, ended_ns);
	return err < 0
		? err
		: narrow_add_waits(profile, &whose, &c->pids, &range, &waits->profile);
}

/* Fills in what is known of the capture when it begins. */
static void begin(struct traps *traps, struct trap_capture *c, const struct profile *profile)
{
	uint64_t hz = NSEC_PER_SEC / profile->kinds[0].period_ns, real_ns, since_ns;

	hz = c->rule.hz > hz ? c->rule.hz : hz;
	for (size_t i = 0; i < traps->pieces_len; i++)
		if (NSEC_PER_SEC / traps->pieces[i]->profile.kinds[0].period_ns > hz)
			hz = NSEC_PER_SEC / traps->pieces[i]->profile.kinds[0].period_ns;
	since_ns = traps->pieces_len > 0 ? traps->pieces[0]->profile.start_tick_ns
					 : profile->start_tick_ns;
	if (c->since_ns < since_ns)
		c->since_ns = since_ns;
	real_ns = c->fired_real_ns - (c->fired_ns - c->since_ns);
	c->slice = (struct slice){
		.since_ns = c->since_ns,
		.until_ns = c->until_ns,
		.container = c->container,
		.pod = c->pod,
		.namespace_ = c->namespace_,
		.period_ns = NSEC_PER_SEC / hz,
		.ticks_max = TRAPS_TICKS_MAX,
		.other_kinds = true,
	};
	c->profile.kinds[0].period_ns = c->slice.period_ns;
	c->profile.start_ns = real_ns;
	c->profile.start_tick_ns = c->since_ns;
	c->profile.duration_ns = c->until_ns - c->since_ns;
	c->begun = true;
}

static void finish(struct trap_capture *c, uint64_t ended_ns)
{
	if (ended_ns < c->until_ns)
		c->until_ns = ended_ns > c->since_ns ? ended_ns : c->since_ns;
	c->profile.duration_ns = c->until_ns - c->since_ns;
	profile_sort(&c->profile);
	c->done = true;
}

static int note_one(void *ctx, uint32_t tid, uint64_t still_ns)
{
	struct trap_waits *waits = ctx;

	return still_ns >= TRAPS_STILL_NS ? hash_put(&waits->still, tid, still_ns) : 0;
}

static int note_still(struct trap_waits *waits, const struct walls *walls)
{
	hash_clear(&waits->still);
	return walls_each(walls, note_one, waits);
}

static int add_interval(struct traps *traps, struct trap_capture *c, const struct profile *profile,
	const struct walls *walls, uint64_t ended_ns)
{
	struct trap_waits *waits = c->begun ? &c->waits_after : &c->waits_before;
	int err = 0;

	if (c->done)
		return 0;
	if (!c->begun) {
		begin(traps, c, profile);
		for (size_t i = 0; i < traps->pieces_len && err == 0; i++)
			if (traps->pieces[i]->ended_ns > c->since_ns)
				err = add(c, &traps->pieces[i]->profile,
					traps->pieces[i]->ended_ns, waits);
	}
	if (err == 0)
		err = add(c, profile, ended_ns, waits);
	if (err == 0)
		err = note_still(waits, walls);
	if (c->until_ns <= ended_ns || err < 0)
		finish(c, ended_ns);
	return err;
}

static uint64_t before_max_ns(const struct rules *rules)
{
	uint64_t most_ns = 0;

	for (size_t i = 0; i < rules->len; i++)
		if (rules->all[i].before_ns > most_ns)
			most_ns = rules->all[i].before_ns;
	return most_ns;
}

static void forget(struct traps *traps, uint64_t since_ns)
{
	size_t old = 0;

	while (old < traps->pieces_len &&
		(traps->pieces[old]->ended_ns < since_ns ||
			traps->pieces_len - old >= TRAPS_PIECES_MAX))
		piece_free(traps->pieces[old++]);
	traps->pieces_len -= old;
	memmove(traps->pieces, traps->pieces + old, traps->pieces_len * sizeof(struct piece *));
}

/* The interval's last seconds are kept. */
static int keep(struct traps *traps, const struct profile *profile, uint64_t ended_ns)
{
	uint64_t since_ns = ago(ended_ns, before_max_ns(traps->rules));
	struct slice slice = {
		.since_ns = since_ns, .until_ns = UINT64_MAX, .other_kinds = true
	};
	_cleanup_(piece_freep) struct piece *piece = calloc(1, sizeof(*piece));
	int err = piece ? profile_init(&piece->profile) : -ENOMEM;

	forget(traps, since_ns);
	if (err == 0)
		err = profile_add_slice(profile, &slice, &piece->profile);
	if (err < 0)
		return err;
	piece->profile.kinds[0].period_ns = profile->kinds[0].period_ns;
	piece->profile.start_tick_ns =
		profile->start_tick_ns > since_ns ? profile->start_tick_ns : since_ns;
	piece->profile.duration_ns = profile->duration_ns;
	piece->ended_ns = ended_ns;
	traps->pieces[traps->pieces_len++] = TAKE_PTR(piece);
	return 0;
}

/* It fires in the interval in which it is seen, so this comes first. */
static int judge_still(struct traps *traps, const struct profile *profile,
	const struct walls *walls, uint64_t now_ns)
{
	int err = 0;

	vec_each (&traps->watches.all, watch) {
		const struct rule *rule = &traps->rules->all[watch->rule];
		struct trap_rule at_once = watches_rule(&traps->watches, rule);
		struct still still = { .profile = profile,
			.walls = walls,
			.least_ns = rule->for_ns,
			.whose = watch_whose(watch) };

		if (rule->metric != RULE_STILL || err < 0)
			continue;
		at_once.for_ns = 0; /* the value is of that time */
		err = still_find(&still, &traps->from);
		if (err == -ENOENT)
			trap_skip(&watch->trap, now_ns);
		else if (err == 0 && trap_feed(&watch->trap, &at_once, now_ns, still.permille))
			on_fired(traps, watch);
		err = err == -ENOENT ? 0 : err;
	}
	return err;
}

/* A capture that ends has what its threads did up to then, too. */
static void visit_at_end(struct traps *traps, uint64_t ended_ns)
{
	bool ends = false;

	vec_each (&traps->captures, slot)
		ends |= !(*slot)->done && (*slot)->begun && (*slot)->until_ns <= ended_ns;
	if (!ends)
		return;
	traps->times.due_ns = 0;
	if (thread_times_visit(
		    &traps->times, traps->from.waiting, traps->from.containers, ended_ns))
		follow_captures(traps);
}

int traps_take(struct traps *traps, const struct profile *profile, const struct walls *walls,
	uint64_t ended_ns)
{
	int err = judge_still(traps, profile, walls, ended_ns), keep_err;

	traps->ended_ns = ended_ns;
	visit_at_end(traps, ended_ns);
	vec_each (&traps->captures, c) {
		int one = add_interval(traps, *c, profile, walls, ended_ns);

		err = err < 0 ? err : one;
	}
	keep_err = keep(traps, profile, ended_ns);
	return err < 0 ? err : keep_err;
}

struct trap_capture *traps_next(struct traps *traps, bool last)
{
	for (size_t i = 0; i < traps->captures.len; i++) {
		struct trap_capture *capture = traps->captures.data[i];

		if (!capture->done && !(last && capture->begun))
			continue;
		if (!capture->done)
			finish(capture, traps->ended_ns);
		traps->captures.data[i] = traps->captures.data[--traps->captures.len];
		return capture;
	}
	return NULL;
}

unsigned int traps_bundle_number(const char *file, const char *name)
{
	size_t len = strlen(name), digits;

	if (strncmp(file, name, len) != 0 || file[len] != '-')
		return 0;
	digits = strspn(file + len + 1, "0123456789");
	if (digits < TRAPS_NUMBER_DIGITS || digits > 9 || file[len + 1 + digits] != '-' ||
		strspn(file + len + 2 + digits, "0123456789TZ") != strlen(file + len + 2 + digits))
		return 0;
	return (unsigned int)strtoul(file + len + 1, NULL, 10);
}
