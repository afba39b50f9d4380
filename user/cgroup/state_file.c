/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup/state_file.c - jansson parses, with its own limit of depth. This file looks up fields, and
 * ignores fields of a wrong type. The tables list the keys. */
#include "cgroup/state_file.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/cursor.h"
#include "base/own.h"

static void json_release(json_t **slot)
{
	json_decref(*slot);
}

/* Too long is as good as not there: a name that is cut would be another one. */
static void set_text(char *out, size_t size, const char *text, size_t len)
{
	if (out[0] != '\0' || len >= size)
		return;
	memcpy(out, text, len);
	out[len] = '\0';
}

static void set_json(char *out, size_t size, const json_t *value)
{
	const char *text = json_string_value(value);

	if (text)
		set_text(out, size, text, strlen(text));
}

/* ---- annotations and labels ------------------------------------------------------------------ */

enum field { FIELD_NAME, FIELD_IMAGE, FIELD_POD, FIELD_NAMESPACE };

static const struct {
	enum state_runtime runtime;
	const char *key;
	enum field field;
} keys[] = {
	{ STATE_CRI, "io.kubernetes.cri.container-name", FIELD_NAME },
	{ STATE_CRI, "io.kubernetes.cri.image-name", FIELD_IMAGE },
	{ STATE_CRI, "io.kubernetes.cri.sandbox-name", FIELD_POD },
	{ STATE_CRI, "io.kubernetes.cri.sandbox-namespace", FIELD_NAMESPACE },
	{ STATE_CRIO, "io.kubernetes.container.name", FIELD_NAME },
	{ STATE_CRIO, "io.kubernetes.cri-o.ImageName", FIELD_IMAGE },
	{ STATE_CRIO, "io.kubernetes.pod.name", FIELD_POD },
	{ STATE_CRIO, "io.kubernetes.pod.namespace", FIELD_NAMESPACE },
	{ STATE_KUBELET, "io.kubernetes.container.name", FIELD_NAME },
	{ STATE_KUBELET, "io.kubernetes.pod.name", FIELD_POD },
	{ STATE_KUBELET, "io.kubernetes.pod.namespace", FIELD_NAMESPACE },
	{ STATE_NERDCTL, "nerdctl/name", FIELD_NAME },
};

static const struct {
	const char *pod_uid, *type, *pause;
} pods[STATE_RUNTIMES] = {
	[STATE_CRI] = { "io.kubernetes.cri.sandbox-uid", "io.kubernetes.cri.container-type",
		"sandbox" },
	[STATE_CRIO] = { "io.kubernetes.pod.uid", "io.kubernetes.cri-o.ContainerType", "sandbox" },
	[STATE_KUBELET] = { "io.kubernetes.pod.uid", "io.kubernetes.docker.type", "podsandbox" },
};

static void set_field(struct state_facts *f, enum field field, const json_t *value)
{
	switch (field) {
	case FIELD_NAME:
		set_json(f->name, sizeof(f->name), value);
		return;
	case FIELD_IMAGE:
		set_json(f->image, sizeof(f->image), value);
		return;
	case FIELD_POD:
		set_json(f->pod, sizeof(f->pod), value);
		return;
	case FIELD_NAMESPACE:
		set_json(f->namespace_, sizeof(f->namespace_), value);
		return;
	}
}

static void keep_label(struct state_facts *f, const char *key, const char *value)
{
	size_t key_len = strlen(key) + 1, value_len = strlen(value) + 1;

	if (key_len + value_len > sizeof(f->labels) - f->labels_len)
		return;
	memcpy(f->labels + f->labels_len, key, key_len);
	memcpy(f->labels + f->labels_len + key_len, value, value_len);
	f->labels_len += (uint32_t)(key_len + value_len);
}

static const char *text_of(const json_t *labels, const char *key)
{
	return key ? json_string_value(json_object_get(labels, key)) : NULL;
}

/* A runtime's own file is found by the container's id. But Docker's labels are those that the
 * container was started with: only of a container in that very pod they are kubelet's. */
static bool is_of_pod(const struct state_query *q, const json_t *labels)
{
	const char *uid = text_of(labels, pods[q->runtime].pod_uid);

	if (q->runtime == STATE_KUBELET)
		return uid && q->pod_uid[0] && strcmp(uid, q->pod_uid) == 0;
	return !uid || !q->pod_uid[0] || strcmp(uid, q->pod_uid) == 0;
}

static void take_keys(struct state_facts *f, const struct state_query *q, const json_t *labels)
{
	const char *type = text_of(labels, pods[q->runtime].type);
	bool is_ours = is_of_pod(q, labels);

	f->pause |= is_ours && type && strcmp(type, pods[q->runtime].pause) == 0;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const json_t *value =
			keys[i].runtime == q->runtime ? json_object_get(labels, keys[i].key) : NULL;

		if (is_ours)
			set_field(f, keys[i].field, value);
		f->other_pod |= value && !is_ours;
	}
}

/* An object of text: what the runtime's keys mean, and all of it as labels. */
static void take_labels(struct state_facts *f, const struct state_query *q, json_t *labels)
{
	const char *key;
	json_t *value;

	take_keys(f, q, labels);
	json_object_foreach (labels, key, value) {
		if (json_is_string(value))
			keep_label(f, key, json_string_value(value));
	}
}

/* ---- config.json of a bundle ----------------------------------------------------------------- */

/* Files that the engine itself mounts, from the folder that it has for the container: `depth`
 * folders up is what is looked for. */
static const struct {
	const char *destination, *below;
	int up;
} engine_mounts[] = {
	{ "/etc/hostname", "/containers/", 1 },
	{ "/etc/hosts", "/containers/", 1 },
	{ "/etc/resolv.conf", "/containers/", 1 },
	{ "/dev/shm", "-containers/", 3 },
};

/* The source's folder, if it is that of this container: …/containers/ID/hostname is Docker's,
 * …/overlay-containers/ID/userdata/shm that of containers/storage. */
static void take_mount(
	struct state_facts *f, const char *id, const char *source, const char *below, int up)
{
	const char *at = strstr(source, below), *next;
	size_t len = strlen(source);

	while (at && (next = strstr(at + 1, below)))
		at = next;
	if (source[0] != '/' || !at || strncmp(at + strlen(below), id, strlen(id)) != 0 ||
		at[strlen(below) + strlen(id)] != '/')
		return;
	for (; up > 0; up--) {
		while (len > 0 && source[len - 1] != '/')
			len--;
		len -= len > 0;
	}
	set_text(f->dir, sizeof(f->dir), source, len);
}

static int parse_oci(const json_t *root, const struct state_query *q, struct state_facts *f)
{
	const json_t *mounts = json_object_get(root, "mounts"), *mount;
	size_t index;

	if (!json_is_object(root) || !json_object_get(root, "ociVersion"))
		return -EBADMSG;
	take_labels(f, q, json_object_get(root, "annotations"));
	json_array_foreach ((json_t *)mounts, index, mount) {
		const char *to = json_string_value(json_object_get(mount, "destination"));
		const char *from = json_string_value(json_object_get(mount, "source"));

		for (size_t i = 0; to && from && i < ARRAY_SIZE(engine_mounts); i++)
			if (strcmp(to, engine_mounts[i].destination) == 0)
				take_mount(f, q->container, from, engine_mounts[i].below,
					engine_mounts[i].up);
	}
	return 0;
}

/* ---- Docker ---------------------------------------------------------------------------------- */

static int parse_docker(const json_t *root, const struct state_query *q, struct state_facts *f)
{
	const json_t *config = json_object_get(root, "Config");
	const char *name = json_string_value(json_object_get(root, "Name"));
	const char *its_id = json_string_value(json_object_get(root, "ID"));

	if (!its_id)
		its_id = json_string_value(json_object_get(root, "Id"));
	if (!json_is_object(root) || !name)
		return -EBADMSG;
	if (its_id && strcmp(its_id, q->container) != 0)
		return -ENOENT;
	/* kubelet's labels are better names than what it has Docker call its containers. */
	take_labels(f, q, json_object_get(config, "Labels"));
	name += name[0] == '/';
	set_text(f->name, sizeof(f->name), name, strlen(name));
	set_json(f->image, sizeof(f->image), json_object_get(config, "Image"));
	return 0;
}

/* ---- containers/storage ---------------------------------------------------------------------- */

/* JSON in a string of JSON. */
static void take_metadata(struct state_facts *f, const json_t *metadata)
{
	const char *text = json_string_value(metadata);
	_cleanup_(json_release) json_t *inner = text ? json_loads(text, 0, NULL) : NULL;

	set_json(f->image, sizeof(f->image), json_object_get(inner, "image-name"));
	set_json(f->pod, sizeof(f->pod), json_object_get(inner, "pod-name"));
}

static int parse_storage(const json_t *root, const struct state_query *q, struct state_facts *f)
{
	const json_t *entry;
	size_t index;

	if (!json_is_array(root))
		return -EBADMSG;
	json_array_foreach ((json_t *)root, index, entry) {
		const char *its_id = json_string_value(json_object_get(entry, "id"));

		if (!its_id || strcmp(its_id, q->container) != 0)
			continue;
		take_metadata(f, json_object_get(entry, "metadata"));
		set_json(f->name, sizeof(f->name),
			json_array_get(json_object_get(entry, "names"), 0));
		return 0;
	}
	return -ENOENT;
}

/* ---- conmon ---------------------------------------------------------------------------------- */

/* conmon(8): -c ID, -n NAME, -b BUNDLE; arguments after --exit-command are podman's. */
static int parse_conmon(const char *text, size_t len, const char *id, struct state_facts *f)
{
	struct cursor c = cursor_init(text, len);
	const char *program = cursor_str(&c), *base = strrchr(program, '/');
	bool ours = false;

	if (strcmp(base ? base + 1 : program, "conmon") != 0)
		return -EBADMSG;
	while (cursor_left(&c) > 0) {
		const char *option = cursor_str(&c), *value;

		if (strcmp(option, "--exit-command") == 0)
			break;
		if (strcmp(option, "-c") != 0 && strcmp(option, "-n") != 0 &&
			strcmp(option, "-b") != 0)
			continue;
		value = cursor_str(&c);
		ours |= option[1] == 'c' && strcmp(value, id) == 0;
		if (option[1] == 'n')
			set_text(f->name, sizeof(f->name), value, strlen(value));
		if (option[1] == 'b' && value[0] == '/')
			set_text(f->dir, sizeof(f->dir), value, strlen(value));
	}
	return ours ? 0 : -ENOENT;
}

/* ---- all ------------------------------------------------------------------------------------- */

int state_file_parse(
	const struct state_query *query, const char *text, size_t len, struct state_facts *out)
{
	static int (*const parsers[])(
		const json_t *root, const struct state_query *q, struct state_facts *f) = {
		[STATE_OCI] = parse_oci,
		[STATE_DOCKER] = parse_docker,
		[STATE_STORAGE] = parse_storage,
	};
	_cleanup_(json_release) json_t *root = NULL;
	struct state_facts facts = { 0 };
	json_error_t error;
	int err;

	if (query->kind == STATE_CONMON) {
		err = parse_conmon(text, len, query->container, &facts);
	} else {
		root = json_loadb(text, len, 0, &error);
		if (!root)
			return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM
										   : -EBADMSG;
		err = parsers[query->kind](root, query, &facts);
	}
	if (err == 0)
		*out = facts;
	return err;
}

static void merge_text(char *out, size_t size, const char *text)
{
	set_text(out, size, text, strlen(text));
}

void state_facts_merge(struct state_facts *f, const struct state_facts *other)
{
	merge_text(f->name, sizeof(f->name), other->name);
	merge_text(f->image, sizeof(f->image), other->image);
	merge_text(f->pod, sizeof(f->pod), other->pod);
	merge_text(f->namespace_, sizeof(f->namespace_), other->namespace_);
	merge_text(f->dir, sizeof(f->dir), other->dir);
	f->pause |= other->pause;
	f->other_pod |= other->other_pod;
	if (f->labels_len == 0) {
		memcpy(f->labels, other->labels, other->labels_len);
		f->labels_len = other->labels_len;
	}
}

static bool is_text(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

bool state_facts_valid(const struct state_facts *f)
{
	size_t strings = 0;

	if (!is_text(f->name, sizeof(f->name)) || !is_text(f->image, sizeof(f->image)) ||
		!is_text(f->pod, sizeof(f->pod)) ||
		!is_text(f->namespace_, sizeof(f->namespace_)) ||
		!is_text(f->dir, sizeof(f->dir)) || f->pause > 1 || f->other_pod > 1 ||
		f->labels_len > sizeof(f->labels))
		return false;
	if (f->dir[0] != '\0' && f->dir[0] != '/')
		return false;
	for (uint32_t i = 0; i < f->labels_len; i++)
		strings += f->labels[i] == '\0';
	return strings % 2 == 0 && (f->labels_len == 0 || f->labels[f->labels_len - 1] == '\0');
}

bool state_query_valid(const struct state_query *q)
{
	return (uint32_t)q->kind < STATE_KINDS && (uint32_t)q->runtime < STATE_RUNTIMES &&
		is_text(q->container, sizeof(q->container)) &&
		is_text(q->pod_uid, sizeof(q->pod_uid));
}
