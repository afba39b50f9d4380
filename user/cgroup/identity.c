/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup/identity.c - compares the path's parts with the tables below, from the root on: a later
 * match replaces an earlier one. A container resets the rest, but stays in its pod. */
#include "cgroup/identity.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"

#define ID_DIGITS 64
#define HEX "0123456789abcdef"

/* A run of a path. */
struct part {
	const char *at;
	size_t len;
};

static bool part_is(struct part p, const char *text)
{
	return p.at && strlen(text) == p.len && memcmp(p.at, text, p.len) == 0;
}

static bool drop_prefix(struct part *p, const char *prefix)
{
	size_t len = strlen(prefix);

	if (p->len < len || memcmp(p->at, prefix, len) != 0)
		return false;
	p->at += len;
	p->len -= len;
	return true;
}

static bool drop_suffix(struct part *p, const char *suffix)
{
	size_t len = strlen(suffix);

	if (p->len < len || memcmp(p->at + p->len - len, suffix, len) != 0)
		return false;
	p->len -= len;
	return true;
}

/* Its characters are all of the set. */
static bool part_of(struct part p, const char *set)
{
	for (size_t i = 0; i < p.len; i++)
		if (p.at[i] == '\0' || !strchr(set, p.at[i]))
			return false;
	return p.len > 0;
}

static bool is_id(struct part p)
{
	return p.len == ID_DIGITS && part_of(p, HEX);
}

static bool copy(struct part p, char *out, size_t size)
{
	if (p.len >= size)
		return false;
	memcpy(out, p.at, p.len);
	out[p.len] = '\0';
	return true;
}

/* ---- containers ---------------------------------------------------------------------------- */

static const struct rule {
	const char *prefix, *suffix;
	enum cgroup_kind kind;
	bool any_id;
} rules[] = {
	{ "docker-", ".scope", CGROUP_DOCKER, false },
	{ "cri-containerd-", ".scope", CGROUP_CONTAINERD, true },
	{ "cri-containerd-", "", CGROUP_CONTAINERD, false },
	{ "nerdctl-", ".scope", CGROUP_CONTAINERD, true },
	{ "crio-", ".scope", CGROUP_CRIO, true },
	{ "crio-", "", CGROUP_CRIO, false },
	{ "libpod-payload-", "", CGROUP_PODMAN, false },
	{ "libpod-", ".scope", CGROUP_PODMAN, false },
	{ "libpod-", "", CGROUP_PODMAN, false },
	{ "lxc.payload.", "", CGROUP_LXC, true },
	{ "systemd-nspawn@", ".service", CGROUP_MACHINE, true },
	{ "machine-", ".scope", CGROUP_MACHINE, true },
};

/* Names in a folder of the runtime's. */
static const struct folder {
	const char *name;
	enum cgroup_kind kind;
	bool any_id;
} folders[] = {
	{ "docker", CGROUP_DOCKER, false },
	{ "lxc", CGROUP_LXC, true },
	{ "lxc.payload", CGROUP_LXC, true },
};

/* The monitor of a container is no container. */
static bool is_monitor(struct part id)
{
	return drop_prefix(&id, "conmon-");
}

static bool match_rule(const struct rule *rule, struct part *p)
{
	struct part id = *p;

	if (!drop_prefix(&id, rule->prefix) || !drop_suffix(&id, rule->suffix) || id.len == 0 ||
		is_monitor(id) || !(rule->any_id || is_id(id)))
		return false;
	*p = id;
	return true;
}

/* CGROUP_ROOT: it is none. */
static enum cgroup_kind container_kind(struct part parent, struct part *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (match_rule(&rules[i], p))
			return rules[i].kind;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (part_is(parent, folders[i].name) &&
			(folders[i].any_id ? p->len > 0 : is_id(*p)))
			return folders[i].kind;
	return is_id(*p) ? CGROUP_CONTAINER : CGROUP_ROOT;
}

static int hex_digit(char c)
{
	const char *at = c ? strchr(HEX, c) : NULL;

	return at ? (int)(at - HEX) : -1;
}

/* systemd writes `\x2d` for `-`: systemd.unit(5), "String escaping". */
static void unescape(char *text)
{
	char *out = text;

	while (*text) {
		int high = text[0] == '\\' && text[1] == 'x' ? hex_digit(text[2]) : -1;
		int low = high >= 0 ? hex_digit(text[3]) : -1;

		if (low >= 0 && (high | low) != 0) {
			*out++ = (char)(high << 4 | low);
			text += 4;
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
}

static bool take_container(
	struct cgroup_identity *id, struct part parent, struct part p, size_t end)
{
	struct part name = p;
	enum cgroup_kind kind = container_kind(parent, &name);

	if (kind == CGROUP_ROOT || !copy(name, id->container, sizeof(id->container)))
		return false;
	if (kind == CGROUP_MACHINE)
		unescape(id->container);
	/* Podman's pods are folders that are named as containers are. */
	if (id->container_len > 0 && !(kind == CGROUP_PODMAN && id->kind == CGROUP_CONTAINER))
		id->nested = true;
	id->kind = kind;
	id->container_len = end;
	id->unit[0] = '\0';
	id->unit_len = 0;
	return true;
}

/* ---- pods ---------------------------------------------------------------------------------- */

static void take_uid(struct cgroup_identity *id, struct part uid, size_t end)
{
	if (!part_of(uid, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.") ||
		!copy(uid, id->pod_uid, sizeof(id->pod_uid)))
		return;
	for (char *c = id->pod_uid; *c; c++)
		if (*c == '_')
			*c = '-';
	id->pod_len = end;
	id->pod_nested = id->container_len > 0 || id->has_user;
	if (!cgroup_is_container(id->kind))
		id->kind = CGROUP_POD;
}

static enum cgroup_qos qos_of(struct part p)
{
	if (part_is(p, "burstable"))
		return CGROUP_BURSTABLE;
	return part_is(p, "besteffort") ? CGROUP_BESTEFFORT : CGROUP_QOS_NONE;
}

/* [kubelet-]kubepods[-QOS][-podUID].slice */
static bool take_pod_slice(struct cgroup_identity *id, struct part p, size_t end)
{
	static const char *const classes[] = { "burstable", "besteffort" };

	if (!drop_suffix(&p, ".slice"))
		return false;
	drop_prefix(&p, "kubelet-");
	if (!drop_prefix(&p, "kubepods"))
		return false;
	id->qos = CGROUP_GUARANTEED;
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		struct part rest = p;

		if (!drop_prefix(&rest, "-") || !drop_prefix(&rest, classes[i]))
			continue;
		p = rest;
		id->qos = i == 0 ? CGROUP_BURSTABLE : CGROUP_BESTEFFORT;
	}
	if (drop_prefix(&p, "-pod"))
		take_uid(id, p, end);
	return true;
}

/* kubepods, QOS, podUID as folders. */
static bool take_pod_folder(struct cgroup_identity *id, struct part p, size_t end, bool *kubepods)
{
	if (part_is(p, "kubepods") || part_is(p, "kubelet-kubepods")) {
		*kubepods = true;
		id->qos = CGROUP_GUARANTEED;
		return true;
	}
	if (!*kubepods)
		return false;
	if (qos_of(p) != CGROUP_QOS_NONE) {
		id->qos = qos_of(p);
		return true;
	}
	if (!drop_prefix(&p, "pod"))
		return false;
	take_uid(id, p, end);
	*kubepods = false;
	return true;
}

struct walk {
	struct cgroup_identity *id;
	struct part parent;
	size_t outer;  /* length of the name of the first unit that is no slice */
	bool kubepods; /* the next parts are QoS classes and pods */
};

/* ---- systemd ------------------------------------------------------------------------------- */

static const struct {
	const char *suffix;
	enum cgroup_kind kind;
} units[] = {
	{ ".service", CGROUP_SERVICE },
	{ ".scope", CGROUP_SCOPE },
	{ ".slice", CGROUP_SLICE },
	{ ".mount", CGROUP_SERVICE },
	{ ".socket", CGROUP_SERVICE },
	{ ".swap", CGROUP_SERVICE },
};

/* user-UID.slice, user@UID.service */
static void take_user(struct cgroup_identity *id, struct part p)
{
	char digits[12];

	if (!(drop_prefix(&p, "user-") && drop_suffix(&p, ".slice")) &&
		!(drop_prefix(&p, "user@") && drop_suffix(&p, ".service")))
		return;
	if (!part_of(p, "0123456789") || !copy(p, digits, sizeof(digits)))
		return;
	id->has_user = true;
	id->user = (uid_t)strtoul(digits, NULL, 10);
}

static bool is_session(struct part p)
{
	return drop_prefix(&p, "session-") && drop_suffix(&p, ".scope");
}

/* systemd puts its units into slices. One below a service or scope was made by whoever runs in
 * that, and may have any name: so the name begins with that one's. */
static bool name_unit(struct cgroup_identity *id, size_t outer, struct part p)
{
	if (outer == 0)
		return copy(p, id->unit, sizeof(id->unit));
	if (outer + 1 + p.len >= sizeof(id->unit))
		return false;
	id->unit[outer] = '/';
	return copy(p, id->unit + outer + 1, sizeof(id->unit) - outer - 1);
}

static void take_unit(struct walk *w, struct part p, size_t end)
{
	struct cgroup_identity *id = w->id;
	size_t outer = id->unit[0] ? w->outer : 0;

	if (id->container_len == 0)
		take_user(id, p);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		struct part name = p;

		if (!drop_suffix(&name, units[i].suffix) || name.len == 0 ||
			!name_unit(id, outer, p))
			continue;
		id->unit_len = end;
		w->outer = outer > 0 || units[i].kind == CGROUP_SLICE ? outer : p.len;
		if (id->kind < CGROUP_POD)
			id->kind = is_session(p) ? CGROUP_SESSION : units[i].kind;
		return;
	}
}

/* ---- the whole path ------------------------------------------------------------------------- */

static void take_part(struct walk *w, struct part p, size_t end)
{
	struct cgroup_identity *id = w->id;

	if (!take_pod_slice(id, p, end) && !take_pod_folder(id, p, end, &w->kubepods) &&
		!take_container(id, w->parent, p, end))
		take_unit(w, p, end);
	w->parent = p;
}

/* SLICE:RUNTIME:ID, where a runtime that makes folders was given a name for systemd. */
static bool take_triple(struct walk *w, struct part p, size_t end)
{
	const char *first = memchr(p.at, ':', p.len);
	const char *second =
		first ? memchr(first + 1, ':', (size_t)(p.at + p.len - first - 1)) : NULL;
	char name[CGROUP_NAME_MAX];
	struct part slice = p, scope = { name, 0 };

	if (!second)
		return false;
	slice.len = (size_t)(first - p.at);
	scope.len = p.len - slice.len - 1;
	if (!copy((struct part){ first + 1, scope.len }, name, sizeof(name)))
		return false;
	name[second - first - 1] = '-';
	if (scope.len + strlen(".scope") >= sizeof(name))
		return false;
	memcpy(name + scope.len, ".scope", sizeof(".scope"));
	scope.len += strlen(".scope");
	take_part(w, slice, end);
	take_container(w->id, w->parent, scope, end);
	w->parent = p;
	return true;
}

size_t cgroup_identify_until(const char *path, bool (*is_it)(const struct cgroup_identity *id),
	struct cgroup_identity *out)
{
	struct walk w = { .id = out };
	size_t at = 0, end = 0, parts = 0;

	*out = (struct cgroup_identity){ .kind = CGROUP_ROOT };
	while (path[at] && end == 0 && parts < CGROUP_PARTS_MAX) {
		struct part p = { path + at, strcspn(path + at, "/") };

		if (p.len > 0) {
			if (out->kind == CGROUP_ROOT)
				out->kind = CGROUP_OTHER;
			if (!take_triple(&w, p, at + p.len))
				take_part(&w, p, at + p.len);
			if (is_it(out))
				end = at + p.len;
			parts++;
		}
		at += p.len + (path[at + p.len] == '/');
	}
	if (out->pod_uid[0] == '\0')
		out->qos = CGROUP_QOS_NONE;
	return end;
}

static bool is_never(const struct cgroup_identity *id)
{
	(void)id;
	return false;
}

void cgroup_identify(const char *path, struct cgroup_identity *out)
{
	(void)cgroup_identify_until(path, is_never, out);
}

static const char *const kind_names[CGROUP_KINDS] = {
	[CGROUP_ROOT] = "host",
	[CGROUP_OTHER] = "cgroup",
	[CGROUP_SERVICE] = "service",
	[CGROUP_SCOPE] = "scope",
	[CGROUP_SLICE] = "slice",
	[CGROUP_SESSION] = "session",
	[CGROUP_POD] = "pod",
	[CGROUP_DOCKER] = "docker",
	[CGROUP_CONTAINERD] = "containerd",
	[CGROUP_CRIO] = "cri-o",
	[CGROUP_PODMAN] = "podman",
	[CGROUP_LXC] = "lxc",
	[CGROUP_MACHINE] = "machine",
	[CGROUP_CONTAINER] = "container",
};

const char *cgroup_kind_name(enum cgroup_kind kind)
{
	return (unsigned int)kind < CGROUP_KINDS ? kind_names[kind] : "?";
}
