/* SPDX-License-Identifier: Apache-2.0 */
/* files/object.c - a failed object keeps its name and its reason, but no descriptor of the file. */
#include "files/object.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "proc/opener.h"
#include "sampler/file_key.h"
#include "wire/status.h"

#define DELETED " (deleted)"

void object_drop_debug_files(struct object *object)
{
	debug_files_close(&object->debug_files);
	object->debug_files = (struct debug_files){ 0 };
	vec_each (&object->sets, set)
		debug_files_close(&set->files);
	vec_done(&object->sets);
	hash_done(&object->seen);
	object->seen = (struct hash)HASH_INIT;
}

void object_free(struct object *object)
{
	if (!object)
		return;
	fd_close(&object->fd);
	object_drop_debug_files(object);
	free(object->path);
	free(object->link);
	free(object);
}

struct object *object_new(uint32_t id, const char *name)
{
	struct object *object = calloc(1, sizeof(*object));

	if (!object)
		return NULL;
	object->id = id;
	object->fd = -1;
	snprintf(object->name, sizeof(object->name), "%s", name);
	return object;
}

void object_fail(struct object *object, enum object_reason reason)
{
	object->state = OBJECT_FAILED;
	object->reason = reason;
	fd_close(&object->fd);
}

/* path: that of /proc/PID/map_files. */
static void set_path(struct object *object, const char *path)
{
	size_t len = strlen(path), deleted = strlen(DELETED);
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (len > deleted && strcmp(path + len - deleted, DELETED) == 0)
		len -= deleted;
	free(object->path); /* of the time before, if it was opened then */
	object->path = strndup(path, len);
	len -= (size_t)(name - path);
	if (len > 0)
		snprintf(object->name, sizeof(object->name), "%.*s", (int)len, name);
}

/* The process may have mapped another file at the same address meanwhile. What is taken for the
 * file gives names and rows to all who map it, so it must be that one by its whole key. */
static int prove(const struct object *object, struct sampler *sampler)
{
	int err = file_key_compare(sampler, object->fd, &object->key);

	if (err == -ESTALE)
		return OBJECT_CHANGED;
	return err < 0 ? OBJECT_UNPROVEN : 0;
}

void object_open(struct object *object, struct sampler *sampler, const struct event_object *event)
{
	const struct opener_mapping mapping = {
		.process = { .pid = (pid_t)event->tgid, .start_ns = event->start_ns },
		.vm_start = event->vm_start,
		.vm_end = event->vm_end,
		.ino = event->key.ino,
		.mtime_ns = event->key.mtime_ns,
	};
	char path[PATH_MAX] = "";
	int reason = opener_mapped_file(&mapping, &object->fd, path, sizeof(path));

	/* OBJECT_GONE is 0, too. */
	if (reason == 0 && object->fd >= 0)
		reason = prove(object, sampler);
	if (reason != 0 || object->fd < 0) {
		object_fail(object, (enum object_reason)reason);
		return;
	}
	object->state = OBJECT_OPENED;
	set_path(object, path);
}

bool object_is_forgotten(const struct object *object)
{
	return object->state == OBJECT_FAILED && object->reason == OBJECT_FORGOTTEN;
}

bool object_is_refused(const struct object *object)
{
	return object->state == OBJECT_FAILED && object->reason == OBJECT_LIMIT;
}

bool object_may_come_again(const struct object *object)
{
	return object->state == OBJECT_FAILED &&
		(object->reason == OBJECT_GONE || object->reason == OBJECT_CHANGED);
}

enum object_reason object_reason_of(uint32_t status)
{
	static const enum object_reason reasons[WORKER_STATUSES] = {
		[WORKER_NOT_ELF] = OBJECT_NOT_ELF,
		[WORKER_DAMAGED] = OBJECT_DAMAGED,
		[WORKER_TOO_LARGE] = OBJECT_TOO_LARGE,
		[WORKER_UNREADABLE] = OBJECT_OPEN,
		[WORKER_NO_DATA] = OBJECT_DAMAGED,
		[WORKER_MACHINE] = OBJECT_NOT_ELF,
		[WORKER_UNKNOWN] = OBJECT_DAMAGED,
		[WORKER_BYTE_ORDER] = OBJECT_DAMAGED,
		[WORKER_MEMORY] = OBJECT_TOO_LARGE,
		[WORKER_REFUSED] = OBJECT_REFUSED,
		[WORKER_LATE] = OBJECT_REFUSED,
		[WORKER_DOWN] = OBJECT_REFUSED,
	};

	return reasons[status];
}
