/* SPDX-License-Identifier: Apache-2.0 */
/* containers/container_list.c - one scan of the cgroups, and one reading of the runtimes' files. */
#include "containers/container_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "cgroup/tree.h"
#include "containers/containers.h"

#define WAIT_NS (3 * NSEC_PER_SEC)

DEFINE_CLEANUP(struct containers, containers_free)

struct reading {
	struct containers *containers;
	struct container_list *list;
};

static bool is_inner(const struct cgroup_identity *id)
{
	return id->nested || id->pod_nested || (id->has_user && cgroup_is_container(id->kind));
}

static int set_label(struct containers *containers, struct container_list_item *item)
{
	struct containers_labels labels;

	if (!is_inner(&item->identity))
		return 0;
	containers_labels(containers, item->cgroup, &labels);
	item->label = strdup(labels.container);
	return item->label ? 0 : -ENOMEM;
}

static int on_item(void *ctx, const struct containers_item *item)
{
	struct reading *reading = ctx;
	struct container_list_item *slot = vec_add(&reading->list->all);

	if (!slot)
		return -ENOMEM;
	slot->cgroup = item->cgroup;
	slot->identity = *item->identity;
	slot->path = strdup(item->path);
	if (!slot->path || set_label(reading->containers, slot) < 0)
		return -ENOMEM;
	if (!item->facts)
		return 0;
	slot->facts = malloc(sizeof(*slot->facts));
	if (!slot->facts)
		return -ENOMEM;
	*slot->facts = *item->facts;
	return 0;
}

static void item_done(struct container_list_item *item)
{
	free(item->path);
	free(item->label);
	free(item->facts);
}

static int by_path(const void *a, const void *b)
{
	const struct container_list_item *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : x->cgroup < y->cgroup ? -1 : x->cgroup > y->cgroup;
}

/* In v1 a cgroup has as many folders as there are hierarchies. */
static void drop_repeated(struct container_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->all.len; i++) {
		struct container_list_item *item = &list->all.data[i];

		if (kept > 0 && strcmp(list->all.data[kept - 1].path, item->path) == 0)
			item_done(item);
		else
			list->all.data[kept++] = *item;
	}
	list->all.len = kept;
}

int container_list_read(struct worker_client *worker, const struct cgroup_tree *tree,
	struct container_list *out, struct why *why)
{
	_cleanup_(containers_freep) struct containers *containers = NULL;
	int err = containers_new(worker, tree, &containers);

	*out = (struct container_list){ 0 };
	if (err == 0)
		err = containers_scan(containers);
	if (err == 0) {
		containers_settle(containers, clock_ns(CLOCK_MONOTONIC) + WAIT_NS);
		err = containers_each(
			containers, on_item, &(struct reading){ containers, out });
	}
	if (err < 0) {
		container_list_done(out);
		return why_set(why, err, "cannot list containers: %s", err_text(err));
	}
	if (out->all.len > 0)
		qsort(out->all.data, out->all.len, sizeof(*out->all.data), by_path);
	drop_repeated(out);
	return 0;
}

void container_list_done(struct container_list *list)
{
	vec_each (&list->all, item)
		item_done(item);
	vec_done(&list->all);
}

bool container_list_is_container(const struct container_list_item *item)
{
	if (item->identity.kind == CGROUP_OTHER)
		return item->facts != NULL;
	return cgroup_is_container(item->identity.kind) &&
		item->identity.container_len == strlen(item->path);
}

bool container_list_is_pod(const struct container_list_item *item)
{
	return item->identity.pod_len > 0 && item->identity.pod_len == strlen(item->path);
}

bool container_list_is_unit(const struct container_list_item *item)
{
	return item->identity.unit_len > 0 && item->identity.unit_len == strlen(item->path) &&
		item->identity.container_len == 0 && item->identity.pod_len == 0;
}

const char *container_list_name(const struct container_list_item *item)
{
	const struct cgroup_identity *id = &item->identity;
	const char *slash = strrchr(item->path, '/');

	if (item->label)
		return item->label;
	if (item->facts && item->facts->name[0])
		return item->facts->name;
	if (item->facts && item->facts->pause)
		return "pause";
	if (cgroup_is_container(id->kind))
		return id->container;
	if (id->kind == CGROUP_OTHER && item->facts && slash)
		return slash + 1;
	return id->unit[0] ? id->unit : item->path;
}

static enum container_match match_text(const char *text, const char *name)
{
	if (strcmp(text, name) == 0)
		return CONTAINER_MATCH_WHOLE;
	return strncmp(text, name, strlen(name)) == 0 ? CONTAINER_MATCH_BEGINNING
						      : CONTAINER_MATCH_NO;
}

enum container_match container_list_weigh(
	const struct container_list_item *item, enum container_match match)
{
	if (!is_inner(&item->identity))
		return match;
	return match == CONTAINER_MATCH_WHOLE       ? CONTAINER_MATCH_INNER
		: match == CONTAINER_MATCH_BEGINNING ? CONTAINER_MATCH_INNER_BEGINNING
						     : CONTAINER_MATCH_NO;
}

enum container_match container_list_match(const struct container_list_item *item, const char *name)
{
	enum container_match by_name = match_text(container_list_name(item), name);
	enum container_match by_id = match_text(item->identity.container, name);

	return container_list_weigh(item, by_name > by_id ? by_name : by_id);
}

/* Containers of a pod without a cgroup of its own stand for it. */
static enum container_match match_pod(const struct container_list_item *item, const char *name)
{
	const char *slash = strchr(name, '/'), *pod = slash ? slash + 1 : name;
	const struct state_facts *f = item->facts;

	if (container_list_is_pod(item) && strcmp(item->identity.pod_uid, name) == 0)
		return CONTAINER_MATCH_WHOLE;
	if (!container_list_is_container(item) || !f || strcmp(f->pod, pod) != 0 || !pod[0])
		return CONTAINER_MATCH_NO;
	return !slash ||
			(strncmp(f->namespace_, name, (size_t)(slash - name)) == 0 &&
				f->namespace_[slash - name] == '\0')
		? CONTAINER_MATCH_WHOLE
		: CONTAINER_MATCH_NO;
}

enum container_match container_list_match_pod(
	const struct container_list_item *item, const char *name)
{
	return container_list_weigh(item, match_pod(item, name));
}

enum container_match container_list_match_unit(
	const struct container_list_item *item, const char *name)
{
	const char *unit = item->identity.unit;
	size_t len = strlen(name);

	if (!container_list_is_unit(item))
		return CONTAINER_MATCH_NO;
	return strcmp(unit, name) == 0 ||
			(strncmp(unit, name, len) == 0 && strcmp(unit + len, ".service") == 0)
		? CONTAINER_MATCH_WHOLE
		: CONTAINER_MATCH_NO;
}
