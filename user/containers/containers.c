/* SPDX-License-Identifier: Apache-2.0 */
/* containers/containers.c - two tables: cgroups by id, and containers by the path of their
 * outermost folder. A container is removed with its last cgroup. */
#include "containers/containers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/own.h"
#include "base/vec.h"
#include "cgroup/tree.h"
#include "containers/cgroup_shares.h"
#include "containers/container.h"
#include "containers/name_search.h"
#include "sampler/tally.h"

#define POLL_NS (50 * NSEC_PER_MSEC)   /* for all files of one poll */
/* For events that were lost. The second time sees what was under way at the first. */
#define RESCANS 2
#define RESCAN_APART_NS NSEC_PER_SEC
#define RESCAN_COST_PART 20 /* rescans take 1/20 of the time at the most */

struct containers {
	const struct cgroup_tree *tree;
	const struct sampler *sampler; /* may be NULL */
	struct container_state state;
	struct hash by_id;      /* cgroup id → struct cgroup_entry * */
	struct share places;    /* entries of each account */
	struct hash by_path;    /* key → struct container * */
	struct name_search search;
	uint64_t last_serial;
	uint32_t interval;
	uint32_t scan, rescans_due;
	uint64_t rescan_ns; /* not before */
	struct containers_stats stats;
	struct cgroup_identity identity; /* of the last labels */
	struct state_facts facts;        /* of the last item */
	char label[CGROUP_NAME_MAX], nested[2 * CGROUP_NAME_MAX], users[3 * CGROUP_NAME_MAX];
	char pod[2 * CGROUP_NAME_MAX];
};

/* ---- containers ------------------------------------------------------------------------------ */

static struct container *find_container(const struct containers *all, uint64_t key)
{
	uint64_t *found = hash_find(&all->by_path, key);

	return found ? (struct container *)(uintptr_t)*found : NULL;
}

static int add_container(
	struct containers *all, const char *path, size_t len, uint64_t key, struct container **out)
{
	struct container *c = container_new(path, len, ++all->last_serial);

	if (!c || name_search_add(&all->search, key) < 0 ||
		hash_put(&all->by_path, key, (uintptr_t)c) < 0) {
		container_free(c);
		return -ENOMEM;
	}
	*out = c;
	return 0;
}

/* The container that a cgroup belongs to, if any. */
static int take_container(struct containers *all, struct cgroup_entry *entry)
{
	struct cgroup_identity id;
	struct container *c;
	uint64_t key;
	size_t len;

	if (cgroup_shares_charge(&all->places, entry, all->sampler) < 0)
		return -ENOMEM;
	cgroup_identify(entry->path, &id);
	len = container_part(entry->path, &id);
	if (len == 0)
		return 0;
	key = hash_bytes(entry->path, len);
	c = find_container(all, key);
	if (!c && add_container(all, entry->path, len, key, &c) < 0)
		return -ENOMEM;
	c->refs++;
	c->cgroup = entry->id;
	entry->container = c;
	return 0;
}

static void drop_container(struct containers *all, struct cgroup_entry *entry)
{
	struct container *c = entry->container;

	cgroup_shares_return(&all->places, entry, all->sampler);
	entry->container = NULL;
	if (!c || --c->refs > 0)
		return;
	hash_del(&all->by_path, hash_bytes(c->path, strlen(c->path)));
	container_free(c);
}

/* ---- cgroups --------------------------------------------------------------------------------- */

static struct cgroup_entry *find_entry(const struct containers *all, uint64_t id)
{
	uint64_t *found = hash_find(&all->by_id, id);

	return found ? (struct cgroup_entry *)(uintptr_t)*found : NULL;
}

static void entry_free(struct containers *all, struct cgroup_entry *entry)
{
	if (!entry)
		return;
	drop_container(all, entry);
	free(entry->path);
	free(entry);
}

static void forget(struct containers *all, struct cgroup_entry *entry)
{
	hash_del(&all->by_id, entry->id);
	entry_free(all, entry);
}

/* The account with the most entries gives some of them, and gets no more itself. */
static bool has_place(struct containers *all, const char *path)
{
	VEC(struct cgroup_entry *) givers = { 0 };

	if (all->places.used < share_room(CONTAINERS_CGROUPS_MAX))
		return true;
	if (share_may_take(&all->places, container_account(path)) &&
		vec_reserve(&givers, all->by_id.len) == 0) {
		givers.len = cgroup_shares_givers(&all->by_id, &all->places, givers.data);
		vec_each (&givers, entry)
			forget(all, *entry);
		all->stats.refused += givers.len;
	}
	vec_done(&givers);
	return all->places.used < share_room(CONTAINERS_CGROUPS_MAX);
}

static int add_entry(
	struct containers *all, uint64_t id, const char *path, struct cgroup_entry **out)
{
	struct cgroup_entry *entry;

	if (!has_place(all, path)) {
		all->stats.refused++;
		return -ENOSPC;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	*entry = (struct cgroup_entry){ .id = id, .path = strdup(path), .used = all->interval };
	if (!entry->path || take_container(all, entry) < 0 ||
		hash_put(&all->by_id, id, (uintptr_t)entry) < 0) {
		entry_free(all, entry);
		return -ENOMEM;
	}
	*out = entry;
	return 0;
}

static int set_path(struct containers *all, struct cgroup_entry *entry, const char *path)
{
	char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	drop_container(all, entry);
	free(entry->path);
	entry->path = copy;
	return take_container(all, entry);
}

int containers_new(
	struct worker_client *worker, const struct cgroup_tree *tree, struct containers **out)
{
	struct containers *all = calloc(1, sizeof(*all));
	int err;

	if (!all)
		return -ENOMEM;
	all->tree = tree;
	all->search.by_path = &all->by_path;
	err = container_state_init(&all->state, worker);
	if (err < 0) {
		containers_free(all);
		return err;
	}
	*out = all;
	return 0;
}

void containers_free(struct containers *all)
{
	if (!all)
		return;
	hash_each (&all->by_id, slot)
		entry_free(all, (struct cgroup_entry *)(uintptr_t)slot->value);
	hash_done(&all->by_id);
	hash_done(&all->by_path);
	share_done(&all->places);
	name_search_done(&all->search);
	container_state_done(&all->state);
	free(all);
}

/* ---- what happens ---------------------------------------------------------------------------- */

/* Has it another name? The mounted part may begin anywhere above it. */
static bool is_renamed(const struct cgroup_entry *entry, const char *path)
{
	size_t known = strlen(entry->path), len = strlen(path);

	if (strcmp(path, "/") == 0)
		return false;
	return known < len ? strcmp(path + len - known, entry->path) != 0
			   : strcmp(entry->path + known - len, path) != 0;
}

static int on_scanned(void *ctx, uint64_t id, const char *path)
{
	struct containers *all = ctx;
	struct cgroup_entry *entry = find_entry(all, id);
	int err = 0;

	if (!entry)
		err = add_entry(all, id, path, &entry);
	else if (is_renamed(entry, path))
		err = set_path(all, entry, path);
	if (err < 0)
		return err == -ENOSPC ? 0 : err;
	entry->scan = all->scan;
	entry->gone = false;
	return 0;
}

void containers_use(
	struct containers *all, struct inquiry *inquiry, const struct sampler *sampler)
{
	all->state.inquiry = inquiry;
	all->sampler = sampler;
}

int containers_scan(struct containers *all)
{
	all->scan++;
	return all->tree ? cgroup_tree_scan(all->tree, on_scanned, all) : 0;
}

/* Its last sample came before this event, and was read before it. */
static void remove_entry(struct containers *all, struct cgroup_entry *entry)
{
	entry->gone = true;
	if (!entry->sampled)
		forget(all, entry);
}

static void remove_lost(struct containers *all)
{
	VEC(struct cgroup_entry *) lost = { 0 };

	hash_each (&all->by_id, slot) {
		struct cgroup_entry *entry = (struct cgroup_entry *)(uintptr_t)slot->value, **at;

		if (entry->gone || entry->scan == all->scan ||
			!cgroup_tree_is_gone(
				all->tree, entry->id, entry->outside ? NULL : entry->path))
			continue;
		at = vec_add(&lost);
		if (at)
			*at = entry;
	}
	vec_each (&lost, entry)
		remove_entry(all, *entry);
	vec_done(&lost);
}

/* Makes good for lost events, when it is time to: cgroups that came, went and were renamed. */
static void rescan(struct containers *all)
{
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC), cost_ns;

	if (all->rescans_due == 0 || !all->tree || begin_ns < all->rescan_ns)
		return;
	all->rescans_due--;
	all->stats.rescans++;
	/* Out of memory: what was met so far is known. */
	(void)containers_scan(all);
	remove_lost(all);
	cost_ns = clock_ns(CLOCK_MONOTONIC) - begin_ns;
	all->rescan_ns = begin_ns + RESCAN_APART_NS + cost_ns * RESCAN_COST_PART;
}

/* The parts of its path that were its parent's, too. */
static int rename_below(struct containers *all, const char *old, const char *fresh)
{
	size_t old_len = strlen(old);
	int err = 0;

	hash_each (&all->by_id, slot) {
		struct cgroup_entry *entry = (struct cgroup_entry *)(uintptr_t)slot->value;
		char path[CGROUP_TREE_PATH_MAX];

		if (err < 0 || strncmp(entry->path, old, old_len) != 0 ||
			entry->path[old_len] != '/')
			continue;
		snprintf(path, sizeof(path), "%s%s", fresh, entry->path + old_len);
		err = set_path(all, entry, path);
	}
	return err;
}

static int on_renamed(struct containers *all, struct cgroup_entry *entry, const char *path)
{
	_cleanup_(freep) char *old = strdup(entry->path);
	int err = old ? set_path(all, entry, path) : -ENOMEM;

	all->stats.renamed++;
	return err < 0 ? err : rename_below(all, old, path);
}

/* A cgroup that was made during the scan of the existing ones may be known already. */
static int on_made(
	struct containers *all, struct cgroup_entry *entry, uint64_t id, const char *path)
{
	int err = 0;

	all->stats.made++;
	if (!entry && path[0])
		err = add_entry(all, id, path, &entry);
	return err == -ENOSPC ? 0 : err;
}

int containers_changed(struct containers *all, const struct event_cgroup *event)
{
	struct cgroup_entry *entry = find_entry(all, event->id);
	char path[CGROUP_TREE_PATH_MAX];
	const char *known = event->path;

	/* Perhaps it was cut, or could not be read. */
	if ((!known[0] || strlen(known) >= CGROUP_PATH_MAX - 1) && all->tree &&
		(event->change == CGROUP_MADE || event->change == CGROUP_RENAMED) &&
		cgroup_tree_path(all->tree, event->id, path) == 0)
		known = path;
	if (event->change == CGROUP_LOST)
		all->rescans_due = RESCANS;
	if (event->change == CGROUP_MADE)
		return on_made(all, entry, event->id, known);
	if (entry && event->change == CGROUP_RENAMED && known[0])
		return on_renamed(all, entry, known);
	all->stats.removed += event->change == CGROUP_REMOVED;
	if (entry && event->change == CGROUP_REMOVED)
		remove_entry(all, entry);
	return 0;
}

int containers_sampled(struct containers *all, uint64_t cgroup, uint32_t tgid)
{
	struct cgroup_entry *entry = find_entry(all, cgroup);
	char path[CGROUP_TREE_PATH_MAX];
	bool outside;
	int err;

	if (!entry) {
		outside = !all->tree || cgroup_tree_path(all->tree, cgroup, path) < 0;
		if (outside && container_path_by_process(cgroup, tgid, path) < 0)
			return 0;
		err = add_entry(all, cgroup, path, &entry);
		if (err < 0)
			return err;
		entry->outside = outside;
	}
	entry->sampled = true;
	return CONTAINERS_KNOWN;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void search_names(struct containers *all, bool all_now, uint64_t until_ns)
{
	const struct name_search_world world = { &all->state, all->tree };

	name_search_run(&all->search, &world, all_now, until_ns);
}

void containers_poll(struct containers *all)
{
	rescan(all);
	search_names(all, false, clock_ns(CLOCK_MONOTONIC) + POLL_NS);
}

uint64_t containers_due_ns(const struct containers *all)
{
	uint64_t due_ns = name_search_due_ns(&all->search);

	return all->rescans_due > 0 && all->tree ? clock_sooner(due_ns, all->rescan_ns) : due_ns;
}

static void complete_pod(struct container *c, const struct container *other)
{
	c->pod = strdup(other->pod);
	if (!c->namespace_ && other->namespace_)
		c->namespace_ = strdup(other->namespace_);
}

/* Often one container alone knows the pod's name: the others with the same pod uid get it, too. */
static void complete_pods(struct containers *all)
{
	struct hash by_pod = HASH_INIT;

	hash_each (&all->by_path, slot) {
		const struct container *c = (struct container *)(uintptr_t)slot->value;

		/* Out of memory: that pod has no name. */
		if (c->pod)
			(void)hash_put(&by_pod, container_pod(c), (uintptr_t)c);
	}
	hash_each (&all->by_path, slot) {
		struct container *c = (struct container *)(uintptr_t)slot->value;
		uint64_t pod = c->pod ? 0 : container_pod(c);
		uint64_t *other = pod ? hash_find(&by_pod, pod) : NULL;

		if (other)
			complete_pod(c, (struct container *)(uintptr_t)*other);
	}
	hash_done(&by_pod);
}

void containers_settle(struct containers *all, uint64_t until_ns)
{
	rescan(all);
	search_names(all, true, until_ns);
	complete_pods(all);
}

/* ---- labels ---------------------------------------------------------------------------------- */

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static const char *container_label(
	struct containers *all, const struct cgroup_entry *entry, const struct cgroup_identity *id)
{
	const struct container *c = entry->container;

	if (c && c->name)
		return c->name;
	if (c && c->pause)
		return "pause";
	if (cgroup_is_container(id->kind))
		return container_short_id(id->container, all->label);
	if (id->kind == CGROUP_OTHER && c && c->found)
		return strrchr(entry->path, '/') + 1;
	if (id->kind == CGROUP_ROOT ||
		(id->kind == CGROUP_OTHER && cgroup_tree_is_doubted(all->tree, entry->id)))
		return "host";
	if (id->unit[0])
		return id->unit;
	/* A path has as many bytes as whoever makes cgroups likes. */
	if (strlen(entry->path) < sizeof(all->label))
		return entry->path;
	snprintf(all->label, sizeof(all->label), "%.*s...", (int)sizeof(all->label) - 4,
		entry->path);
	return all->label;
}

/* Who is in a container names others in it as he likes, so their label begins with its own. */
static const char *outer_label(
	struct containers *all, const char *path, const char *label, char *out, size_t size)
{
	struct cgroup_identity id;
	const struct container *outer =
		find_container(all, hash_bytes(path, container_outermost(path, &id)));
	char text[CGROUP_NAME_MAX];

	snprintf(out, size, "%s/%s",
		outer && outer->name ? outer->name : container_short_id(id.container, text),
		label);
	return out;
}

/* A user names his containers as he likes, too. */
static const char *users_label(struct containers *all, uid_t user, const char *label)
{
	snprintf(all->users, sizeof(all->users), "user@%u.service/%s", user, label);
	return all->users;
}

/* So is a pod below either: `OUTER/POD`. */
static const char *nested_pod(struct containers *all, const char *path,
	const struct cgroup_identity *id, const char *pod)
{
	if (!id->has_user)
		return outer_label(all, path, pod, all->pod, sizeof(all->pod));
	snprintf(all->pod, sizeof(all->pod), "user@%u.service/%s", id->user, pod);
	return all->pod;
}

void containers_labels(struct containers *all, uint64_t cgroup, struct containers_labels *out)
{
	const struct cgroup_entry *entry = find_entry(all, cgroup);
	struct cgroup_identity *id = &all->identity;
	const struct container *c = entry ? entry->container : NULL;

	*out = (struct containers_labels){ all->tree ? "[unknown]" : "host", "", "", "", "", 0 };
	if (!entry)
		return;
	out->account = entry->account;
	cgroup_identify(entry->path, id);
	out->container = container_label(all, entry, id);
	if (id->nested)
		out->container = outer_label(all, entry->path, out->container, all->nested,
			sizeof(all->nested));
	if (id->has_user && cgroup_is_container(id->kind))
		out->container = users_label(all, id->user, out->container);
	out->pod = c && c->pod ? c->pod : id->pod_uid;
	if (id->pod_nested)
		out->pod = nested_pod(all, entry->path, id, out->pod);
	out->namespace_ = c ? or_empty(c->namespace_) : "";
	out->image = c ? or_empty(c->image) : "";
	out->unit = id->unit;
}

uint64_t containers_account(const struct containers *all, uint64_t cgroup)
{
	const struct cgroup_entry *entry = find_entry(all, cgroup);

	return entry ? entry->account : 0;
}

/* ---- the end of an interval ------------------------------------------------------------------ */

void containers_next(struct containers *all, const struct tally *tally)
{
	VEC(uint64_t) old = { 0 };

	all->interval++;
	vec_each (&tally->tasks, task) {
		struct cgroup_entry *entry = task->live ? find_entry(all, task->key.cgroup) : NULL;

		if (entry)
			entry->used = all->interval;
	}
	hash_each (&all->by_id, slot) {
		const struct cgroup_entry *entry = (struct cgroup_entry *)(uintptr_t)slot->value;
		uint64_t *id = entry->gone && entry->used != all->interval ? vec_add(&old) : NULL;

		if (id)
			*id = entry->id;
	}
	vec_each (&old, id)
		forget(all, find_entry(all, *id));
	vec_done(&old);
}

void containers_stats(const struct containers *all, struct containers_stats *out)
{
	*out = all->stats;
	out->files = all->state.stats;
	out->postponed = all->search.postponed;
	out->cgroups = all->by_id.len;
	out->containers = out->named = 0;
	hash_each (&all->by_path, slot) {
		const struct container *c = (struct container *)(uintptr_t)slot->value;
		struct cgroup_identity id;

		cgroup_identify(c->path, &id);
		out->containers += cgroup_is_container(id.kind) || c->found;
		out->named += c->name != NULL;
	}
}

int containers_each(
	struct containers *all, int (*fn)(void *ctx, const struct containers_item *item), void *ctx)
{
	int err = 0;

	hash_each (&all->by_id, slot) {
		const struct cgroup_entry *entry = (struct cgroup_entry *)(uintptr_t)slot->value;
		struct cgroup_identity id;
		struct containers_item item = { entry->id, entry->path, &id, NULL };

		if (entry->gone || err < 0)
			continue;
		cgroup_identify(entry->path, &id);
		item.facts = container_facts(entry->container, &all->facts);
		err = fn(ctx, &item);
	}
	return err;
}
