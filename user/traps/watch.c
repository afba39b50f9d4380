/* SPDX-License-Identifier: Apache-2.0 */
/* traps/watch.c - matches containers again when they changed or one got a name. A trap's name
 * selects containers with exactly that name; without any, those whose name or id begins with it. A
 * pattern matches the whole name. A command without a container is watched in each container, unit
 * or cgroup that has it, by its labels: a busy process would hide one of the same name elsewhere
 * that is idle. Whoever makes many of them has half of the free places at most. */
#include "traps/watch.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "containers/container_list.h"
#include "containers/containers.h"
#include "waiting/waiting.h"

#define AGAIN_NS (10 * NSEC_PER_SEC) /* a pod's name may come without a change */
/* Threads that wanted a CPU for less than one part in so many of the time have no value. */
#define WATCHES_WANTED_PART 100

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

struct thread_whose watch_whose(const struct watch *watch)
{
	return (struct thread_whose){ watch->container, watch->pod, watch->namespace_, watch->comm,
		watch->pid };
}

void watch_put_name(const struct watch *watch, char *out, size_t size)
{
	const char *place = watch->container ? watch->container
		: watch->pod                 ? watch->pod
					     : watch->path;

	if (watch->pid)
		snprintf(out, size, "process %u", watch->pid);
	else if (watch->comm && place)
		snprintf(out, size, "processes %s in %s", watch->comm, place);
	else if (watch->comm)
		snprintf(out, size, "processes %s", watch->comm);
	else
		snprintf(out, size, "%s", place ? place : "the host");
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
	share_done(&watches->placed);
}

static void drop(struct watches *watches, size_t at)
{
	const struct watch *watch = &watches->all.data[at];

	if (watch->charged)
		share_return(&watches->placed, watch->account, 1);
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

		if (rule == UINT32_MAX || now->all[rule].metric != old->metric ||
			now->all[rule].pid != old->pid ||
			strcmp(now->all[rule].comm, old->comm) != 0) {
			drop(watches, i);
			continue;
		}
		watch->rule = rule;
		watch->comm = now->all[rule].comm[0] ? now->all[rule].comm : NULL;
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

/* A pod is known by its containers, which have its name. */
static enum container_match match_pod(const struct container_list_item *item, const char *name)
{
	return strcmp(item->identity.pod_uid, name) == 0
		? container_list_weigh(item, CONTAINER_MATCH_WHOLE)
		: container_list_match_pod(item, name);
}

/* A pod has the folder that its containers' folders are in, if there is one. */
static char *path_of(const struct rule *rule, const struct containers_item *item)
{
	size_t len = item->identity->pod_len;

	return rule->pod[0] && len > 0 ? strndup(item->path, len) : strdup(item->path);
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
	*slot = (struct candidate){ rule, match, path_of(&look->rules->all[rule], item),
		item->cgroup };
	return slot->path ? 0 : -ENOMEM;
}

static int on_item(void *ctx, const struct containers_item *item)
{
	struct look *look = ctx;
	struct container_list_item listed = { .cgroup = item->cgroup,
		.path = (char *)item->path,
		.identity = *item->identity,
		.facts = (struct state_facts *)item->facts };
	bool is_container = container_list_is_container(&listed);
	int err = 0;

	if (!is_container && !container_list_is_unit(&listed))
		return 0;
	for (uint32_t i = 0; i < look->rules->len && err == 0; i++) {
		const struct rule *rule = &look->rules->all[i];

		if (rule->unit[0])
			err = add_candidate(look, i,
				container_list_match_unit(&listed, rule->unit), item);
		else if (!is_container)
			continue;
		else if (rule->pod[0])
			err = add_candidate(look, i, match_pod(&listed, rule->pod), item);
		else if (rule->container[0])
			err = add_candidate(look, i, match_item(&listed, rule->container), item);
	}
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

static void warn_full(struct watches *watches, const struct rule *rule)
{
	if (!watches->said_full)
		log_warn(watches->log,
			"more than %d containers to watch: trap %s and others do not see all of "
			"them",
			WATCHES_MAX, rule->name);
	watches->said_full = true;
}

static int open_meter(struct watches *watches, const struct rule *rule, const char *path,
	const struct watch_sources *from, uint64_t now_ns, struct meter *meter)
{
	struct why why;
	int err;

	if (rule->metric == RULE_STILL) /* judged by stacks */
		err = 0;
	else if (!rule_is_of_threads(rule))
		err = meter_open(meter, &watches->mounts, rule->metric, path, now_ns, &why);
	else
		err = from->waiting ? 0
				    : why_set(&why, -ENOENT, "this kernel does not provide %s",
					      rule_metric_name(rule->metric));
	if (err < 0)
		warn_missing(watches, rule->metric, &why);
	return err;
}

static int add_watch(struct watches *watches, const struct rules *rules, uint32_t rule,
	const char *path, const struct watch_sources *from, uint64_t now_ns)
{
	const struct rule *trap = &rules->all[rule];
	struct watch watch = { .rule = rule,
		.seen = true,
		.pid = (uint32_t)trap->pid,
		.comm = trap->comm[0] ? trap->comm : NULL,
		.meter = METER_INIT };
	struct watch *slot;

	if (watches->all.len >= WATCHES_MAX) {
		warn_full(watches, trap);
		return 0;
	}
	if (open_meter(watches, trap, path, from, now_ns, &watch.meter) < 0)
		return 0;
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

static int want(struct watches *watches, const struct rules *rules, const struct candidate *c,
	const struct watch_sources *from, uint64_t now_ns)
{
	struct watch *watch = find_watch(watches, c->rule, c->path);
	int err = watch ? 0 : add_watch(watches, rules, c->rule, c->path, from, now_ns);

	watch = watch ? watch : find_watch(watches, c->rule, c->path);
	if (watch) {
		watch->seen = true;
		watch->cgroup = c->cgroup;
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

/* As profiles have it. A pod's samples have the labels of its containers. */
static int label(struct watch *watch, const struct rule *rule, struct containers *containers)
{
	struct containers_labels labels;
	int err = 0;

	if (!watch->path)
		return 0;
	containers_labels(containers, watch->cgroup, &labels);
	if (rule->pod[0] == '\0')
		err = set_text(&watch->container, labels.container);
	if (err == 0)
		err = set_text(&watch->pod, labels.pod);
	return err == 0 ? set_text(&watch->namespace_, labels.namespace_) : err;
}

/* ---- a command in each container ------------------------------------------------------------- */

static struct watch *find_place(
	struct watches *watches, uint32_t rule, const struct containers_labels *labels)
{
	vec_each (&watches->all, watch)
		if (watch->rule == rule && watch->container &&
			strcmp(watch->container, labels->container) == 0 &&
			strcmp(watch->pod, labels->pod) == 0 &&
			strcmp(watch->namespace_, labels->namespace_) == 0)
			return watch;
	return NULL;
}

/* The other watches leave so many places. */
static bool has_room(const struct watches *watches, uint64_t account)
{
	uint64_t others = watches->all.len - watches->placed.used;

	return !share_refuses(&watches->placed, account, 1, WATCHES_MAX - others);
}

static int want_place(struct watches *watches, const struct rules *rules, uint32_t rule,
	const struct containers_labels *labels, const struct watch_sources *from, uint64_t now_ns)
{
	struct watch *watch = find_place(watches, rule, labels);
	size_t len = watches->all.len;
	int err = 0;

	if (watch) {
		watch->seen = true;
		return 0;
	}
	if (has_room(watches, labels->account))
		err = add_watch(watches, rules, rule, NULL, from, now_ns);
	else
		warn_full(watches, &rules->all[rule]);
	if (err < 0 || watches->all.len == len)
		return err;
	watch = &watches->all.data[len];
	watch->account = labels->account;
	err = share_charge(&watches->placed, watch->account, 1);
	watch->charged = err == 0;
	if (err == 0)
		err = set_text(&watch->container, labels->container);
	if (err == 0)
		err = set_text(&watch->pod, labels->pod);
	if (err == 0)
		err = set_text(&watch->namespace_, labels->namespace_);
	if (err < 0)
		drop(watches, len);
	return err;
}

/* In the containers that had it at the latest visit. */
static int follow_command(struct watches *watches, const struct rules *rules, uint32_t rule,
	const struct watch_sources *from, uint64_t now_ns)
{
	size_t len;
	const struct wait_sum *all = waiting_processes(from->waiting, &len);
	uint32_t visit = thread_times_latest(all, len);
	int err = 0;

	for (size_t i = 0; i < len && err == 0; i++) {
		struct containers_labels labels;

		if (all[i].visit != visit || strcmp(all[i].comm, rules->all[rule].comm) != 0)
			continue;
		containers_labels(from->containers, all[i].cgroup, &labels);
		err = want_place(watches, rules, rule, &labels, from, now_ns);
	}
	return err;
}

static int follow_commands(struct watches *watches, const struct rules *rules,
	const struct watch_sources *from, uint64_t now_ns)
{
	struct meter none = METER_INIT;
	int err = 0;

	for (uint32_t i = 0; i < rules->len && err == 0; i++)
		if (rule_is_of_each(&rules->all[i]) &&
			open_meter(watches, &rules->all[i], NULL, from, now_ns, &none) == 0)
			err = follow_command(watches, rules, i, from, now_ns);
	return err;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool is_of_host(const struct rule *rule)
{
	return !rule->container[0] && !rule->pod[0] && !rule->unit[0] && !rule->comm[0];
}

static int look_through(struct watches *watches, const struct rules *rules,
	const struct watch_sources *from, uint64_t now_ns)
{
	_cleanup_(look_done) struct look look = { .rules = rules };
	int err = containers_each(from->containers, on_item, &look);

	/* Where a command has ended it may begin again, before the trap's rest is over. */
	vec_each (&watches->all, watch)
		watch->seen = rule_is_of_each(&rules->all[watch->rule]) &&
			now_ns < watch->trap.rests_ns;
	if (err == 0)
		err = follow_commands(watches, rules, from, now_ns);
	for (uint32_t i = 0; i < rules->len && err == 0; i++)
		if (is_of_host(&rules->all[i]))
			err = want(watches, rules, &(struct candidate){ .rule = i }, from, now_ns);
	vec_each (&look.found, c)
		if (err == 0 && c->match == look.best[c->rule])
			err = want(watches, rules, c, from, now_ns);
	for (size_t i = watches->all.len; i-- > 0;) {
		struct watch *watch = &watches->all.data[i];

		if (!watch->seen)
			drop(watches, i);
		else if (err == 0)
			err = label(watch, &rules->all[watch->rule], from->containers);
	}
	return err;
}

int watches_follow(struct watches *watches, const struct rules *rules,
	const struct watch_sources *from, uint64_t now_ns)
{
	struct containers_stats stats;
	uint64_t changes;

	containers_stats(from->containers, &stats);
	changes = (stats.made + stats.removed + stats.renamed) << 20 | (stats.named & 0xfffff);
	if (watches->begun && changes == watches->changes && now_ns < watches->again_ns)
		return from->visited ? follow_commands(watches, rules, from, now_ns) : 0;
	watches->begun = true;
	watches->started_ns = watches->started_ns ? watches->started_ns : now_ns;
	watches->again_ns = now_ns + AGAIN_NS;
	watches->changes = changes;
	return look_through(watches, rules, from, now_ns);
}

/* ---- values --------------------------------------------------------------------------------- */

enum reading {
	READ_VALUE,
	READ_UNKNOWN, /* the kernel did not answer */
	READ_ABSENT,  /* the subject is not there, or was not all of the time */
};

static enum reading value_of_threads(struct watch *watch, enum rule_metric metric,
	const struct thread_time *t, uint64_t *permille)
{
	double wanted_ns = (double)(t->split.running_ns + t->split.runnable_ns);
	double past_ns = (double)t->past_ns, part_ns, whole_ns;

	if (watch->pid && watch->start_ns != t->start_ns) {
		watch->start_ns = t->start_ns; /* another process has that pid */
		return READ_ABSENT;
	}
	part_ns = metric == RULE_CPU     ? (double)t->split.running_ns
		: metric == RULE_BLOCKED ? (double)t->split.blocked_ns
					 : (double)t->split.runnable_ns;
	whole_ns = metric == RULE_BLOCKED ? (double)t->split.wall_ns
		: metric == RULE_RUNNABLE ? wanted_ns
					  : past_ns;
	/* Of next to nothing any share may wait. */
	if (metric == RULE_RUNNABLE && wanted_ns * WATCHES_WANTED_PART < past_ns)
		part_ns = 0;
	*permille = whole_ns > 0 ? (uint64_t)(part_ns * 1000.0 / whole_ns) : 0;
	return READ_VALUE;
}

/* A cgroup stays for a while when its processes are gone, and then it uses no CPU. */
static bool is_there(const struct watches *watches, const struct watch *watch, bool has_threads)
{
	return !watch->path || has_threads || meter_has_tasks(&watches->mounts, watch->path);
}

static void keep_time(struct watch *watch, const struct thread_time *time, uint64_t now_ns)
{
	watch->times[watch->times_len++ % WATCH_TIMES_MAX] = (struct watch_time){ now_ns, *time };
}

static enum reading read_value(struct watches *watches, struct watch *watch,
	const struct rule *rule, const struct watch_sources *from, uint64_t now_ns,
	uint64_t *permille)
{
	const struct thread_whose whose = watch_whose(watch);
	struct thread_time time;
	bool known =
		thread_times_of(from->times, from->waiting, from->containers, &whose, &time, NULL);

	if (known && from->visited)
		keep_time(watch, &time, now_ns);
	if (rule_is_of_threads(rule) && time.past_ns == 0)
		return READ_UNKNOWN;
	if (rule_is_of_threads(rule))
		return known ? value_of_threads(watch, rule->metric, &time, permille) : READ_ABSENT;
	if (meter_read(&watch->meter, now_ns, permille) < 0) {
		watch->stale = true;
		return READ_UNKNOWN;
	}
	/* Its counter goes on where there is nobody. */
	return is_there(watches, watch, known) ? READ_VALUE : READ_ABSENT;
}

/* Another cgroup may have the path by now. */
static void drop_stale(struct watches *watches)
{
	for (size_t i = watches->all.len; i-- > 0;) {
		if (!watches->all.data[i].stale)
			continue;
		drop(watches, i);
		watches->begun = false;
	}
}

struct trap_rule watches_rule(const struct watches *watches, const struct rule *rule)
{
	uint64_t before_ns =
		rule->before_ns < WATCHES_BEFORE_NS ? rule->before_ns : WATCHES_BEFORE_NS;

	return (struct trap_rule){
		.above = rule->above,
		.below = rule->below,
		.for_ns = rule->for_ns,
		.cooldown_ns = rule->cooldown_ns,
		.not_before_ns = watches->started_ns + before_ns,
		.once = rule->once,
	};
}

void watches_read(struct watches *watches, const struct rules *rules,
	const struct watch_sources *from, uint64_t now_ns,
	void (*fired)(void *ctx, struct watch *watch), void *ctx)
{
	vec_each (&watches->all, watch) {
		const struct rule *trap = &rules->all[watch->rule];
		const struct trap_rule rule = watches_rule(watches, trap);
		uint64_t permille;

		if (trap->metric == RULE_STILL || now_ns - watch->trap.last_ns < WATCHES_VALUE_NS)
			continue; /* judged by stacks; or new: no time was measured yet */
		if (rule_is_of_threads(trap) && from->waiting && !from->visited)
			continue;
		switch (read_value(watches, watch, trap, from, now_ns, &permille)) {
		case READ_VALUE:
			if (trap_feed(&watch->trap, &rule, now_ns, permille))
				fired(ctx, watch);
			break;
		case READ_UNKNOWN:
			trap_skip(&watch->trap, now_ns);
			break;
		case READ_ABSENT: /* a condition ends with its subject */
			trap_begin(&watch->trap, now_ns);
			break;
		}
	}
	drop_stale(watches);
}
