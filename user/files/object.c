/* SPDX-License-Identifier: Apache-2.0 */
/* files/object.c - a failed object keeps its name and its reason, but no descriptor of the file. */
#include "files/object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/fd.h"
#include "client/openers.h"
#include "client/worker_rows.h"
#include "sampler/sampler.h"
#include "wire/status.h"

#define DELETED " (deleted)"
#define FDS_OTHER 512 /* for all that is no object; a file takes two, with a debug file */
#define FDS_LEAST 80  /* of these, where few are allowed: 67 on two CPUs, and files in memory */

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

static void close_file(struct object *object)
{
	fd_close(&object->fd);
	if (object->openers)
		openers_drop_copy(object->openers, object->copier, object->copied);
	object->openers = NULL;
}

void object_free(struct object *object)
{
	if (!object)
		return;
	close_file(object);
	object_drop_debug_files(object);
	free(object->path);
	free(object->link);
	free(object->hotspot);
	free(object->trial);
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

void object_meet_again(struct object *object, const struct event_object *event, uint32_t second)
{
	object->met = second;
	object->process = (struct opener_process){ (pid_t)event->tgid, event->start_ns };
	object->base = event->vm_start - event->file_offset;
}

struct object *object_meet(const struct event_object *event, uint32_t second)
{
	char name[OBJECT_NAME_LEN];
	struct object *object;

	snprintf(name, sizeof(name), "%.*s", OBJECT_NAME_LEN - 1, event->name);
	object = object_new(event->id, name);
	if (!object)
		return NULL;
	object->key = event->key;
	object_meet_again(object, event, second);
	return object;
}

void object_fail(struct object *object, enum object_reason reason)
{
	object->state = OBJECT_FAILED;
	object->reason = reason;
	close_file(object);
}

/* path: that of /proc/PID/map_files, as the process sees it. Any user may mount a file where it has
 * another name: such a path is not the file's. */
static void set_path(struct object *object, const char *path)
{
	size_t len = strlen(path), deleted = strlen(DELETED);
	const char *slash = strrchr(path, '/');
	char name[OBJECT_NAME_LEN];

	if (len > deleted && strcmp(path + len - deleted, DELETED) == 0)
		len -= deleted;
	snprintf(name, sizeof(name), "%.*s", (int)(slash ? path + len - slash - 1 : (ptrdiff_t)len),
		slash ? slash + 1 : path);
	if (object->name[0] == '\0')
		memcpy(object->name, name, sizeof(name));
	free(object->path); /* of the time before, if it was opened then */
	object->path = strndup(path, strcmp(name, object->name) == 0 ? len : 0);
}

void object_take(struct object *object, struct openers *openers, struct openers_answer *answer)
{
	if (answer->fd < 0) {
		object_fail(object, answer->reason);
		object->again = answer->again;
		return;
	}
	object->fd = TAKE_FD(answer->fd);
	object->uid = answer->uid;
	object->openers = answer->copied > 0 ? openers : NULL;
	object->copied = answer->copied;
	object->copier = answer->account;
	object->state = OBJECT_OPENED;
	set_path(object, answer->path);
}

bool object_is_forgotten(const struct object *object)
{
	return object->state == OBJECT_FAILED && object->reason == OBJECT_FORGOTTEN;
}

bool object_lacks_place(const struct object *object)
{
	return object->state == OBJECT_FAILED && object->reason == OBJECT_LIMIT;
}

bool object_lacks_time(const struct object *object)
{
	return object->state == OBJECT_FAILED && object->reason == OBJECT_TIME;
}

bool object_is_refused(const struct object *object)
{
	return object_lacks_place(object) || object_lacks_time(object);
}

bool object_is_hung(const struct object *object)
{
	return object->state == OBJECT_FAILED && object->reason == OBJECT_HUNG;
}

bool object_waits(const struct object *object)
{
	return object_is_refused(object) || object_is_hung(object);
}

bool object_is_due(const struct object *object, uint32_t second)
{
	return object_is_refused(object) ||
		(object_is_hung(object) && second - object->met >= OBJECT_HUNG_SECONDS);
}

bool object_may_come_again(const struct object *object)
{
	return object->state == OBJECT_FAILED &&
		(object->reason == OBJECT_GONE || object->reason == OBJECT_CHANGED ||
			(object->reason == OBJECT_HUNG && object->again));
}

void object_count_debug_files(const struct object *object, uint64_t *found, uint64_t *used,
	uint64_t refused[DEBUG_REASONS_LEN], uint64_t unread[FILE_REASONS_LEN])
{
	debug_files_count(&object->debug_files, found, used, refused);
	vec_each (&object->sets, set)
		debug_files_count(&set->files, found, used, refused);
	for (int reason = 0; reason < FILE_REASONS_LEN; reason++)
		unread[reason] += object->debug_files.unread[reason];
}

void object_learn(struct object *object, const struct worker_rows *rows)
{
	object->build_id = rows->build_id;
	object->contents = rows->contents;
	object->known = true;
	free(object->link);
	object->link = rows->link.name[0] ? strdup(rows->link.name) : NULL;
}

void object_refuse(struct object *object, uint32_t status)
{
	if (status < WORKER_REFUSED)
		object_fail(object, object_reason_of(status));
	else
		object->reason = object_reason_of(status);
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
		[WORKER_WRONG_INDEX] = OBJECT_DAMAGED,
		[WORKER_MEMORY] = OBJECT_TOO_LARGE,
		[WORKER_REFUSED] = OBJECT_REFUSED,
		[WORKER_LATE] = OBJECT_REFUSED,
		[WORKER_DOWN] = OBJECT_REFUSED,
	};

	return reasons[status];
}

size_t object_places(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 ||
		files.rlim_cur >= 2 * SAMPLER_OBJECTS_MAX + FDS_OTHER)
		return SAMPLER_OBJECTS_MAX;
	if (files.rlim_cur > 2 * FDS_OTHER)
		return (files.rlim_cur - FDS_OTHER) / 2;
	if (files.rlim_cur >= FDS_OTHER)
		return FDS_OTHER / 2;
	return files.rlim_cur > FDS_LEAST + 16 ? (files.rlim_cur - FDS_LEAST) / 2 : 8;
}
