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
	free(c->container);
	free(c->pod);
	free(c->namespace_);
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

static int capture_new(
	const struct traps *traps, const struct watch *watch, struct trap_capture **out)
{
	_cleanup_(trap_capture_freep) struct trap_capture *c = calloc(1, sizeof(*c));
	int err = c ? profile_init(&c->profile) : -ENOMEM;

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
	c->fired_ns = watch->trap.last_ns;
	c->fired_real_ns = clock_ns(CLOCK_REALTIME);
	c->since_ns = ago(c->fired_ns, c->rule.before_ns);
	c->until_ns = c->fired_ns + c->rule.capture_ns;
	*out = TAKE_PTR(c);
	return 0;
}

static void say_fired(const struct traps *traps, const struct watch *watch)
{
	const struct rule *rule = &traps->rules->all[watch->rule];
	const struct trap *trap = &watch->trap;

	log_note(traps->log,
		"trap %s: %s of %s is %.1f %%, %s %.1f %% for %.0f s: capturing %.0f s at %u Hz",
		rule->name, rule_metric_name(rule->metric), watch_name(watch),
		(double)trap->values[(trap->values_len - 1) % TRAP_VALUES_MAX].permille / 10,
		rule->above ? "above" : "below",
		(double)(rule->above ? rule->above : rule->below) / 10, (double)rule->for_ns / 1e9,
		(double)rule->capture_ns / 1e9, (unsigned)rule->hz);
}

static void refuse_capture(struct traps *traps, struct watch *watch)
{
	traps->stats.refused++;
	trap_refuse(&watch->trap);
	if (!traps->said_refused)
		log_warn(traps->log,
			"trap %s: no capture of %s, because %d others are being captured or "
			"written; further refusals are only counted",
			traps->rules->all[watch->rule].name, watch_name(watch), TRAPS_CAPTURES_MAX);
	traps->said_refused = true;
}

static void on_fired(void *ctx, struct watch *watch)
{
	struct traps *traps = ctx;
	_cleanup_(trap_capture_freep) struct trap_capture *c = NULL;
	struct trap_capture **slot;

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
	say_fired(traps, watch);
}

int traps_tick(struct traps *traps, struct containers *containers, uint64_t now_ns)
{
	int err;

	if (now_ns - traps->looked_ns < LOOK_NS)
		return 0;
	traps->looked_ns = now_ns;
	err = watches_follow(&traps->watches, traps->rules, containers, now_ns);
	watches_read(&traps->watches, traps->rules, now_ns, on_fired, traps);
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

static int add(struct trap_capture *c, const struct profile *profile)
{
	note_rate(c, profile);
	return profile_add_slice(profile, &c->slice, &c->profile);
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

static int add_interval(struct traps *traps, struct trap_capture *c, const struct profile *profile,
	uint64_t ended_ns)
{
	int err = 0;

	if (c->done)
		return 0;
	if (!c->begun) {
		begin(traps, c, profile);
		for (size_t i = 0; i < traps->pieces_len && err == 0; i++)
			err = add(c, &traps->pieces[i]->profile);
	}
	if (err == 0)
		err = add(c, profile);
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
	struct slice slice = { .since_ns = since_ns, .until_ns = UINT64_MAX };
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
	piece->ended_ns = ended_ns;
	traps->pieces[traps->pieces_len++] = TAKE_PTR(piece);
	return 0;
}

int traps_take(struct traps *traps, const struct profile *profile, uint64_t ended_ns)
{
	int err = 0, keep_err;

	traps->ended_ns = ended_ns;
	vec_each (&traps->captures, c) {
		int one = add_interval(traps, *c, profile, ended_ns);

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
