/* SPDX-License-Identifier: Apache-2.0 */
/* containers/target.c - a whole name or id wins over the beginning of another one. If the target
 * has several cgroups, or one that no perf event can attach to, BPF filters instead. */
#include "containers/target.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/cpu_clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "cgroup/tree.h"
#include "containers/cgroup_view.h"
#include "containers/container_list.h"

#define LISTED_MAX 24

DEFINE_CLEANUP(struct cgroup_tree, cgroup_tree_free)

struct search {
	enum target_kind kind;
	const char *word, *name; /* as in `target = container NAME` */
	struct container_list list;
	VEC(const struct container_list_item *) found;
};

static void search_done(struct search *s)
{
	container_list_done(&s->list);
	vec_done(&s->found);
}

/* ---- who is meant -----------------------------------------------------------------------------
 */

static enum container_match match(const struct search *s, const struct container_list_item *item)
{
	switch (s->kind) {
	case TARGET_CONTAINER:
		return container_list_is_container(item) ? container_list_match(item, s->name)
							 : CONTAINER_MATCH_NO;
	case TARGET_POD:
		return container_list_match_pod(item, s->name);
	case TARGET_UNIT:
		return container_list_match_unit(item, s->name);
	default:
		return CONTAINER_MATCH_NO;
	}
}

static int search(struct search *s)
{
	enum container_match best = CONTAINER_MATCH_INNER_BEGINNING;

	vec_each (&s->list.all, item) {
		enum container_match m = match(s, item);
		const struct container_list_item **slot;

		if (m < best)
			continue;
		if (m > best)
			s->found.len = 0;
		best = m;
		slot = vec_add(&s->found);
		if (!slot)
			return -ENOMEM;
		*slot = item;
	}
	return 0;
}

/* ---- what there is ----------------------------------------------------------------------------
 */

static bool is_listed(enum target_kind kind, const struct container_list_item *item)
{
	if (kind == TARGET_UNIT)
		return container_list_is_unit(item);
	if (kind == TARGET_POD)
		return container_list_is_container(item) && item->facts && item->facts->pod[0];
	return container_list_is_container(item);
}

static bool has_name(const struct container_list_item *item)
{
	return strcmp(container_list_name(item), item->identity.container) != 0;
}

static int put_item(struct buf *out, enum target_kind kind, const struct container_list_item *item)
{
	const struct state_facts *f = item->facts;
	const struct cgroup_identity *id = &item->identity;

	if (kind == TARGET_UNIT)
		return buf_printf(out, "%s (%s)", id->unit, item->path);
	if (kind == TARGET_POD)
		return buf_printf(
			out, "%s%s%s", f->namespace_, f->namespace_[0] ? "/" : "", f->pod);
	if (!has_name(item))
		return buf_printf(out, "%s (%s)", id->container, cgroup_kind_name(id->kind));
	return buf_printf(out, "%s (%s %.12s%s%s)", container_list_name(item),
		cgroup_kind_name(id->kind), id->container[0] ? id->container : item->path,
		f && f->pod[0] ? ", pod " : "", f ? f->pod : "");
}

struct listing {
	struct buf text;
	size_t listed, more;
};

static void list_one(
	struct listing *l, enum target_kind kind, const struct container_list_item *item)
{
	_cleanup_(buf_done) struct buf one = BUF_INIT;

	if (put_item(&one, kind, item) < 0 || !one.data)
		return;
	/* Containers of one pod. */
	if (kind == TARGET_POD && l->text.data && strstr(l->text.data, one.data))
		return;
	if (l->listed >= LISTED_MAX || l->text.len + one.len > WHY_MAX - 128) {
		l->more++;
		return;
	}
	buf_printf(&l->text, "%s%s", l->listed++ > 0 ? ", " : "", one.data);
}

static int explain(
	int err, const struct search *s, const char *what, struct listing *l, struct why *why)
{
	if (l->more > 0)
		buf_printf(&l->text, " and %zu more; see `stoker ps`", l->more);
	return why_set(why, err, "%s %s: %s%s", s->word, s->name, what,
		l->text.data ? l->text.data : "none");
}

static void list_all(struct listing *l, const struct search *s, bool named)
{
	vec_each (&s->list.all, item)
		if (is_listed(s->kind, item) && has_name(item) == named)
			list_one(l, s->kind, item);
}

/* Those with a name first: what somebody means has one. */
static int explain_none(const struct search *s, struct why *why)
{
	struct listing l = { .text = BUF_INIT };
	int err;

	list_all(&l, s, true);
	list_all(&l, s, false);
	err = explain(-ENOENT, s, "not found; candidates: ", &l, why);
	buf_done(&l.text);
	return err;
}

static int explain_many(const struct search *s, struct why *why)
{
	struct listing l = { .text = BUF_INIT };
	int err;

	vec_each (&s->found, item)
		list_one(&l, s->kind, *item);
	err = explain(-ENOTUNIQ, s, "ambiguous; candidates: ", &l, why);
	buf_done(&l.text);
	return err;
}

/* ---- its cgroups ------------------------------------------------------------------------------
 */

struct gathering {
	struct target *target;
	const char *path; /* of which all below is wanted, with itself */
	uint64_t hierarchy;
};

static int gather(void *ctx, uint64_t id, const char *path)
{
	struct gathering *g = ctx;
	size_t len = strlen(g->path);
	uint64_t *slot;

	if (id >> CGROUP_HIERARCHY_SHIFT != g->hierarchy || strncmp(path, g->path, len) != 0 ||
		(path[len] != '/' && path[len] != '\0' && len > 1))
		return 0;
	slot = vec_add(&g->target->cgroups);
	if (!slot)
		return -ENOMEM;
	*slot = id;
	return 0;
}

static int add_cgroup(
	const struct cgroup_tree *tree, uint64_t id, const char *path, struct target *out)
{
	struct gathering g = { out, path, id >> CGROUP_HIERARCHY_SHIFT };

	if (out->alive_fd < 0)
		cgroup_tree_open_id(tree, id, &out->alive_fd);
	return cgroup_tree_scan(tree, gather, &g);
}

/* A perf event binds to a cgroup only if a controller was enabled below the root of v2 once. */
static bool can_be_bound(int fd)
{
	const struct cpu_clock clock = {
		.period_ns = NSEC_PER_SEC, .cpu = sched_getcpu(), .cgroup_fd = fd
	};
	_cleanup_fd_ int event = -1;

	return cpu_clock_open(&clock, &event) != -ENOENT;
}

static int take_cgroup(
	const struct cgroup_tree *tree, uint64_t id, const char *path, struct target *out)
{
	int err = cgroup_tree_open_perf(tree, id, path, &out->fd);

	if (err == 0 && !can_be_bound(out->fd)) {
		fd_close(&out->fd);
		err = -ENOTSUP;
	}
	out->path = strdup(path);
	if (!out->path)
		return -ENOMEM;
	return err < 0 && err != -ENOTSUP ? err : add_cgroup(tree, id, path, out);
}

/* A pod's own folder, where its containers have one above them. */
static int take_pod(
	const struct cgroup_tree *tree, const struct search *s, struct target *out, struct why *why)
{
	const struct container_list_item *first = s->found.data[0];
	const char *name = strchr(s->name, '/');
	bool same_folder = first->identity.pod_len > 0;
	int err = 0;

	vec_each (&s->found, item) {
		const struct container_list_item *other = *item;

		if (!name && first->facts && other->facts &&
			strcmp(first->facts->namespace_, other->facts->namespace_) != 0)
			return explain_many(s, why);
		same_folder &= other->identity.pod_len == first->identity.pod_len &&
			strncmp(other->path, first->path, first->identity.pod_len) == 0;
	}
	if (same_folder) {
		_cleanup_(freep) char *folder = strndup(first->path, first->identity.pod_len);
		char path[CGROUP_TREE_PATH_MAX];
		uint64_t id;

		err = folder ? cgroup_tree_find(tree, folder, &id, path, why) : -ENOMEM;
		return err < 0 ? err : take_cgroup(tree, id, path, out);
	}
	if (s->found.len == 1)
		return take_cgroup(tree, first->cgroup, first->path, out);
	vec_each (&s->found, item)
		if (err == 0)
			err = add_cgroup(tree, (*item)->cgroup, (*item)->path, out);
	return err;
}

static int take_found(
	const struct cgroup_tree *tree, const struct search *s, struct target *out, struct why *why)
{
	if (s->found.len == 0)
		return explain_none(s, why);
	if (s->kind == TARGET_POD)
		return take_pod(tree, s, out, why);
	if (s->found.len > 1)
		return explain_many(s, why);
	return take_cgroup(tree, s->found.data[0]->cgroup, s->found.data[0]->path, out);
}

static int find_cgroup(
	const struct cgroup_tree *tree, const char *name, struct target *out, struct why *why)
{
	char path[CGROUP_TREE_PATH_MAX];
	uint64_t id;
	int err = cgroup_tree_find(tree, name, &id, path, why);

	if (err < 0)
		return err;
	err = take_cgroup(tree, id, path, out);
	return err < 0 ? why_set(why, err, "cgroup %s: %s", name, err_text(err)) : 0;
}

int target_find(struct worker_client *worker, enum target_kind kind, const char *name,
	struct target *out, struct why *why)
{
	static const char *const words[] = { "", "cgroup", "container", "pod", "unit" };
	_cleanup_(cgroup_tree_freep) struct cgroup_tree *tree = NULL;
	_cleanup_(search_done) struct search s = {
		.kind = kind,
		.word = words[kind],
		.name = name,
	};
	int err = cgroup_tree_open(cgroup_view(), &tree, why);

	if (err < 0)
		return why_set(why, err, "%s: no cgroup hierarchy is mounted", words[kind]);
	if (name[0] == '\0')
		return why_set(why, -EINVAL, "%s: the name is missing", words[kind]);
	if (kind == TARGET_CGROUP)
		return find_cgroup(tree, name, out, why);
	err = container_list_read(worker, tree, &s.list, why);
	if (err < 0)
		return err;
	why->text[0] = '\0';
	err = search(&s);
	if (err == 0)
		err = take_found(tree, &s, out, why);
	if (err < 0 && why->text[0] == '\0')
		return why_set(why, err, "%s %s: %s", words[kind], name, err_text(err));
	return err;
}

void target_done(struct target *target)
{
	fd_close(&target->fd);
	fd_close(&target->alive_fd);
	vec_done(&target->cgroups);
	free(target->path);
	target->path = NULL;
}

const char *target_parse(const char *text, enum target_kind *kind)
{
	static const struct {
		const char *word;
		enum target_kind kind;
	} kinds[] = { { "cgroup ", TARGET_CGROUP }, { "container ", TARGET_CONTAINER },
		{ "pod ", TARGET_POD }, { "unit ", TARGET_UNIT } };

	if (strcmp(text, "all") == 0) {
		*kind = TARGET_NONE;
		return text;
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t len = strlen(kinds[i].word);
		const char *name = text + len;

		if (strncmp(text, kinds[i].word, len) != 0)
			continue;
		name += strspn(name, " ");
		*kind = kinds[i].kind;
		return *name ? name : NULL;
	}
	return NULL;
}

bool target_exists(const struct target *target)
{
	return target->alive_fd < 0 || faccessat(target->alive_fd, "cgroup.procs", F_OK, 0) == 0;
}
