/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/objects.c - object id → file → symbols. The descriptor is kept until the symbols are
 * loaded and then closed: what was in the file is by then in our memory. */
#include "daemon/objects.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <limits.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/vec.h"
#include "elf/image.h"
#include "proc/opener.h"

#define VDSO_BYTES_MAX (16UL << 12)

struct objects {
	VEC(struct object *) all;
	struct hash by_id;
	uint64_t symbol_loads, load_ns;
};

static void object_free(struct object *object)
{
	if (!object)
		return;
	fd_close(&object->fd);
	free(object->path);
	elf_sym_free(object->symbols);
	free(object);
}

DEFINE_CLEANUP(struct object, object_free)

static int put(struct objects *objects, struct object *object)
{
	struct object **slot = vec_add(&objects->all);

	if (!slot || hash_put(&objects->by_id, object->id, objects->all.len - 1) < 0) {
		object_free(object);
		return -ENOMEM;
	}
	*slot = object;
	return 0;
}

static struct object *object_new(uint32_t id, const char *name)
{
	struct object *object = calloc(1, sizeof(*object));

	if (!object)
		return NULL;
	object->id = id;
	object->fd = -1;
	snprintf(object->name, sizeof(object->name), "%s", name);
	return object;
}

int objects_new(struct objects **out)
{
	struct objects *objects = calloc(1, sizeof(*objects));
	struct object *vdso = object_new(OBJECT_VDSO, "[vdso]");

	if (!objects || !vdso) {
		free(objects);
		free(vdso);
		return -ENOMEM;
	}
	*out = objects;
	return put(objects, vdso);
}

void objects_free(struct objects *objects)
{
	if (!objects)
		return;
	vec_each (&objects->all, object)
		object_free(*object);
	vec_done(&objects->all);
	hash_done(&objects->by_id);
	free(objects);
}

static void fail(struct object *object, enum object_reason reason)
{
	object->state = OBJECT_FAILED;
	object->reason = reason;
	fd_close(&object->fd);
}

static void set_path(struct object *object, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t len = strlen(name);

	object->path = strdup(path);
	if (len > 10 && strcmp(name + len - 10, " (deleted)") == 0)
		len -= 10;
	if (len > 0)
		snprintf(object->name, sizeof(object->name), "%.*s", (int)len, name);
}

int objects_add(struct objects *objects, const struct event_object *event)
{
	_cleanup_(object_freep) struct object *object = NULL;
	struct opener_mapping mapping = {
		.process = { .pid = (pid_t)event->tgid, .start_ns = event->start_ns },
		.vm_start = event->vm_start,
		.vm_end = event->vm_end,
		.ino = event->key.ino,
	};
	char path[PATH_MAX] = "", name[OBJECT_NAME_LEN];
	int reason;

	if (hash_find(&objects->by_id, event->id))
		return 0;
	snprintf(name, sizeof(name), "%.*s", OBJECT_NAME_LEN - 1, event->name);
	object = object_new(event->id, name);
	if (!object)
		return -ENOMEM;
	reason = objects->all.len >= OBJECTS_OPEN_MAX
		? OBJECT_LIMIT
		: opener_mapped_file(&mapping, &object->fd, path, sizeof(path));
	if (reason != 0 || object->fd < 0)
		fail(object, (enum object_reason)reason);
	else
		set_path(object, path);
	return put(objects, TAKE_PTR(object));
}

static int load_image(struct object *object, const void *data, size_t len)
{
	struct image image;
	struct why why;
	int err = image_init(&image, data, len, &why);

	if (err < 0) {
		fail(object, err == -ENOEXEC ? OBJECT_NOT_ELF : OBJECT_DAMAGED);
		return err;
	}
	err = elf_sym_load(&image, NULL, ELF_SYM_SYMTAB, &object->symbols);
	image_done(&image);
	if (err < 0)
		fail(object, OBJECT_DAMAGED);
	return err;
}

static int load_file(struct object *object)
{
	struct stat st;
	void *data;
	int err;

	if (fstat(object->fd, &st) < 0 || st.st_size <= 0) {
		fail(object, OBJECT_OPEN);
		return -EIO;
	}
	if ((uint64_t)st.st_size > OBJECT_FILE_BYTES_MAX) {
		fail(object, OBJECT_TOO_LARGE);
		return -EFBIG;
	}
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, object->fd, 0);
	if (data == MAP_FAILED) {
		fail(object, OBJECT_OPEN);
		return -errno;
	}
	err = load_image(object, data, (size_t)st.st_size);
	munmap(data, (size_t)st.st_size);
	return err;
}

/* The vDSO's size is not told with its address, but its section headers stand at its end. */
static int load_vdso(struct object *object)
{
	const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);
	uint64_t sections_at;
	uint16_t entry_size, entries;
	size_t size;

	if (!vdso) {
		fail(object, OBJECT_GONE);
		return -ENOENT;
	}
	memcpy(&sections_at, vdso + 0x28, sizeof(sections_at)); /* e_shoff, e_shentsize, e_shnum */
	memcpy(&entry_size, vdso + 0x3a, sizeof(entry_size));
	memcpy(&entries, vdso + 0x3c, sizeof(entries));
	size = sections_at + (size_t)entry_size * entries;
	return load_image(object, vdso, size < VDSO_BYTES_MAX ? size : VDSO_BYTES_MAX);
}

const struct object *objects_get(struct objects *objects, uint32_t id)
{
	uint64_t *at = hash_find(&objects->by_id, id), started;
	struct object *object;
	int err;

	if (!at)
		return NULL;
	object = objects->all.data[*at];
	if (object->state != OBJECT_MET)
		return object;
	started = clock_ns(CLOCK_MONOTONIC);
	err = object->id == OBJECT_VDSO ? load_vdso(object) : load_file(object);
	objects->load_ns += clock_ns(CLOCK_MONOTONIC) - started;
	if (err == 0) {
		object->state = OBJECT_LOADED;
		objects->symbol_loads++;
		fd_close(&object->fd);
	}
	return object;
}

void objects_stats(const struct objects *objects, struct objects_stats *out)
{
	*out = (struct objects_stats){
		.symbol_loads = objects->symbol_loads,
		.load_ns = objects->load_ns,
	};
	vec_each (&objects->all, object) {
		struct elf_sym_stats stats = { 0 };

		if ((*object)->id != OBJECT_VDSO)
			out->known++;
		if ((*object)->state == OBJECT_FAILED)
			out->failed[(*object)->reason]++;
		if (!(*object)->symbols)
			continue;
		elf_sym_stats((*object)->symbols, &stats);
		out->loaded++;
		out->symbol_bytes += stats.memory_bytes;
	}
}
