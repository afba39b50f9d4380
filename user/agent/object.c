/* SPDX-License-Identifier: Apache-2.0 */
/* agent/object.c - a failed object keeps its name and its reason, but no descriptor of the file. */
#include "agent/object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

#define DELETED " (deleted)"

void object_free(struct object *object)
{
	if (!object)
		return;
	fd_close(&object->fd);
	fd_close(&object->root_fd);
	debug_files_close(&object->debug_files);
	free(object->path);
	free(object);
}

struct object *object_new(uint32_t id, const char *name)
{
	struct object *object = calloc(1, sizeof(*object));

	if (!object)
		return NULL;
	object->id = id;
	object->fd = object->root_fd = -1;
	snprintf(object->name, sizeof(object->name), "%s", name);
	return object;
}

void object_fail(struct object *object, enum object_reason reason)
{
	object->state = OBJECT_FAILED;
	object->reason = reason;
	fd_close(&object->fd);
	fd_close(&object->root_fd);
}

void object_set_path(struct object *object, const char *path)
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
