/* SPDX-License-Identifier: Apache-2.0 */
/* traps/watch.c - matches containers again when they changed or one got a name. A trap's name
 * selects containers with exactly that name; without any, those whose name or id begins with it. A
 * pattern matches the whole name. */
#include "traps/watch.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "containers/container_list.h"
#include "containers/containers.h"

#define AGAIN_NS (10 * NSEC_PER_SEC) /* a pod's name may come without a change */

struct candidate {
	uint32_t rule;
	enum container_match match;
	char *path;
	uint64_t cgroup;
};

struct look {
	const struct rules *rules;
	VEC(struct candidate) found;
	enum container_match best[RULES_MAX];
};

static void look_done(struct look *look)
{
	vec_each (&look->found, c)
		free(c->path);
	vec_done(&look->found);
}

static void watch_done(struct watch *watch)
{
	meter_close(&watch->meter);
	free(watch->path);
	free(watch->container);
	free(watch->pod);
	free(watch->namespace_);
}

const char *watch_name(const struct watch *watch)
{
	return !watch->path ? "the host" : watch->container ? watch->container : watch->path;
}

int watches_init(struct watches *watches, struct log *log)
{
	*watches = (struct watches){ .log = log };
	return meter_mounts_find(&watches->mounts);
}

void watches_done(struct watches *watches)
{
	vec_each (&watches->all, watch)
		watch_done(watch);
	vec_done(&watches->all);
}

static void drop(struct watches *watches, size_t at)
{
	watch_done(&watches->all.data[at]);
	watches->all.data[at] = watches->all.data[--watches->all.len];
}

static uint32_t find_rule(const struct rules *rules, const char *name)
{
	for (uint32_t i = 0; i < rules->len; i++)
		if (strcmp(rules->all[i].name, name) == 0)
			return i;
	return UINT32_MAX;
}

void watches_reload(struct watches *watches, const struct rules *before, const struct rules *now)
{
	for (size_t i = watches->all.len; i-- > 0;) {
		struct watch *watch = &watches->all.data[i];
		const struct rule *old = &before->all[watch->rule];
		uint32_t rule = find_rule(now, old->name);

		if (rule == UINT32_MAX || now->all[rule].metric != old->metric) {
			drop(watches, i);
			continue;
		}
		watch->rule = rule;
		trap_begin(&watch->trap, watch->trap.last_ns);
	}
	watches->begun = false;
}

/* ---- who is meant --------------------------------------------------------------------------- */

static enum container_match match_item(const struct container_list_item *item, const char *name)
{
	if (!strpbrk(name, "*?["))
		return container_list_match(item, name);
	return fnmatch(name, container_list_name(item), 0) == 0 ||
			fnmatch(name, item->identity.container, 0) == 0
		? container_list_weigh(item, CONTAINER_MATCH_WHOLE)
		: CONTAINER_MATCH_NO;
}

static int add_candidate(struct look *look, uint32_t rule, enum container_match match,
	const struct containers_item *item)
{
	struct candidate *slot;

	if (match == CONTAINER_MATCH_NO || match < look->best[rule])
		return 0;
	slot = vec_add(&look->found);
	if (!slot)
		return -ENOMEM;
	look->best[rule] = match;
	*slot = (struct candidate){ rule, match, strdup(item->path), item->cgroup };
	return slot->path ? 0 : -ENOMEM;
}

static int on_item(void *ctx, const struct containers_item *item)
{
	struct look *look = ctx;
	struct container_list_item listed = { .cgroup = item->cgroup,
		.path = (char *)item->path,
		.identity = *item->identity,
		.facts = (struct state_facts *)item->facts };
	int err = 0;

	if (!container_list_is_container(&listed))
		return 0;
	for (uint32_t i = 0; i < look->rules->len && err == 0; i++)
		if (look->rules->all[i].container[0])
			err = add_candidate(
				look, i, match_item(&listed, look->rules->all[i].container), item);
	return err;
}

/* ---- who is watched ------------------------------------------------------------------------- */

static struct watch *find_watch(struct watches *watches, uint32_t rule, const char *path)
{
	vec_each (&watches->all, watch)
		if (watch->rule == rule &&
			(path ? watch->path && strcmp(watch->path, path) == 0 : !watch->path))
			return watch;
	return NULL;
}

static void warn_missing(struct watches *watches, enum rule_metric metric, const struct why *why)
{
	/* Every cgroup reports CPU time: this one is gone already. */
	if (watches->missing & 1U << metric || metric == RULE_CPU)
		return;
	watches->missing |= 1U << metric;
	log_warn(watches->log, "%s: traps for it cannot fire", why->text);
}

static int add_watch(struct watches *watches, const struct rules *rules, uint32_t rule,
	const char *path, uint64_t now_ns)
{
	const struct rule *trap = &rules->all[rule];
	struct watch watch = { .rule = rule, .seen = true, .meter = METER_INIT }, *slot;
	struct why why;

	if (watches->all.len >= WATCHES_MAX) {
		if (!watches->said_full)
			log_warn(watches->log,
				"more than %d containers to watch: trap %s and "
				"others do not see all of them",
				WATCHES_MAX, trap->name);
		watches->said_full = true;
		return 0;
	}
	if (meter_open(&watch.meter, &watches->mounts, trap->metric, path, now_ns, &why) < 0) {
		warn_missing(watches, trap->metric, &why);
		return 0;
	}
	watch.path = path ? strdup(path) : NULL;
	slot = path && !watch.path ? NULL : vec_add(&watches->all);
	if (!slot) {
		watch_done(&watch);
		return -ENOMEM;
	}
	*slot = watch;
	trap_begin(&slot->trap, now_ns);
	return 0;
}

static int want(struct watches *watches, const struct rules *rules, uint32_t rule, const char *path,
	uint64_t cgroup, uint64_t now_ns)
{
	struct watch *watch = find_watch(watches, rule, path);
	int err = watch ? 0 : add_watch(watches, rules, rule, path, now_ns);

	watch = watch ? watch : find_watch(watches, rule, path);
	if (watch) {
		watch->seen = true;
		watch->cgroup = cgroup;
	}
	return err;
}

static int set_text(char **to, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

/* As profiles have it. */
static int label(struct watch *watch, struct containers *containers)
{
	struct containers_labels labels;
	int err;

	if (!watch->path)
		return 0;
	containers_labels(containers, watch->cgroup, &labels);
	err = set_text(&watch->container, labels.container);
	if (err == 0)
		err = set_text(&watch->pod, labels.pod);
	return err == 0 ? set_text(&watch->namespace_, labels.namespace_) : err;
}

static int look_through(struct watches *watches, const struct rules *rules,
	struct containers *containers, uint64_t now_ns)
{
	_cleanup_(look_done) struct look look = { .rules = rules };
	int err = containers_each(containers, on_item, &look);

	vec_each (&watches->all, watch)
		watch->seen = false;
	for (uint32_t i = 0; i < rules->len && err == 0; i++)
		if (rules->all[i].container[0] == '\0')
			err = want(watches, rules, i, NULL, 0, now_ns);
	vec_each (&look.found, c)
		if (err == 0 && c->match == look.best[c->rule])
			err = want(watches, rules, c->rule, c->path, c->cgroup, now_ns);
	for (size_t i = watches->all.len; i-- > 0;) {
		if (!watches->all.data[i].seen)
			drop(watches, i);
		else if (err == 0)
			err = label(&watches->all.data[i], containers);
	}
	return err;
}

int watches_follow(struct watches *watches, const struct rules *rules,
	struct containers *containers, uint64_t now_ns)
{
	struct containers_stats stats;
	uint64_t changes;

	containers_stats(containers, &stats);
	changes = (stats.made + stats.removed + stats.renamed) << 20 | (stats.named & 0xfffff);
	if (watches->begun && changes == watches->changes && now_ns < watches->again_ns)
		return 0;
	watches->begun = true;
	watches->started_ns = watches->started_ns ? watches->started_ns : now_ns;
	watches->again_ns = now_ns + AGAIN_NS;
	watches->changes = changes;
	return look_through(watches, rules, containers, now_ns);
}

void watches_read(struct watches *watches, const struct rules *rules, uint64_t now_ns,
	void (*fired)(void *ctx, struct watch *watch), void *ctx)
{
	vec_each (&watches->all, watch) {
		const struct rule *trap = &rules->all[watch->rule];
		uint64_t before_ns =
			trap->before_ns < WATCHES_BEFORE_NS ? trap->before_ns : WATCHES_BEFORE_NS;
		const struct trap_rule rule = {
			.above = trap->above,
			.below = trap->below,
			.for_ns = trap->for_ns,
			.cooldown_ns = trap->cooldown_ns,
			.not_before_ns = watches->started_ns + before_ns,
		};
		uint64_t permille;

		if (now_ns - watch->trap.last_ns < WATCHES_VALUE_NS)
			continue; /* new: no time was measured yet */
		if (meter_read(&watch->meter, now_ns, &permille) < 0)
			trap_skip(&watch->trap, now_ns);
		else if (trap_feed(&watch->trap, &rule, now_ns, permille))
			fired(ctx, watch);
	}
}
