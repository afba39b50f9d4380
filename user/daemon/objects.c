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
#include "unwind/publish.h"
#include "unwind/rows.h"

#define VDSO_BYTES_MAX (16UL << 12)

struct objects {
	VEC(struct object *) all;
	struct hash by_id;
	struct publish *publish;
	uint64_t symbol_loads, load_ns, table_ns, eh_frame_bytes;
};

/* A file's bytes, or the vDSO's. */
struct contents {
	const void *data;
	size_t len;
	bool mapped;
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

	if (!slot)
		return -ENOMEM;
	if (hash_put(&objects->by_id, object->id, objects->all.len - 1) < 0) {
		objects->all.len--;
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
	int reason, err;

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
	object->key = event->key;
	err = put(objects, object);
	if (err == 0)
		TAKE_PTR(object);
	return err;
}

static void contents_done(struct contents *c)
{
	if (c->mapped)
		munmap((void *)c->data, c->len);
}

static int map_file(struct object *object, struct contents *out)
{
	struct stat st;
	void *data;

	if (fstat(object->fd, &st) < 0 || st.st_size <= 0)
		return -EIO;
	if ((uint64_t)st.st_size > OBJECT_FILE_BYTES_MAX)
		return -EFBIG;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, object->fd, 0);
	if (data == MAP_FAILED)
		return -errno;
	*out = (struct contents){ data, (size_t)st.st_size, true };
	return 0;
}

/* The vDSO's size is not told with its address, but its section headers stand at its end. */
static int find_vdso(struct contents *out)
{
	const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);
	uint64_t sections_at;
	uint16_t entry_size, entries;
	size_t size;

	if (!vdso)
		return -ENOENT;
	memcpy(&sections_at, vdso + 0x28, sizeof(sections_at)); /* e_shoff, e_shentsize, e_shnum */
	memcpy(&entry_size, vdso + 0x3a, sizeof(entry_size));
	memcpy(&entries, vdso + 0x3c, sizeof(entries));
	size = sections_at + (size_t)entry_size * entries;
	*out = (struct contents){ vdso, size < VDSO_BYTES_MAX ? size : VDSO_BYTES_MAX, false };
	return 0;
}

static enum object_reason reason_of(int err)
{
	return err == -EFBIG      ? OBJECT_TOO_LARGE
		: err == -ENOEXEC ? OBJECT_NOT_ELF
		: err == -EBADMSG ? OBJECT_DAMAGED
		: err == -ENOENT  ? OBJECT_GONE
				  : OBJECT_OPEN;
}

/* Opens the image for one use. The object fails for good when it cannot be read. */
static int open_image(struct object *object, struct contents *contents, struct image *image)
{
	struct why why;
	int err = object->id == OBJECT_VDSO ? find_vdso(contents) : map_file(object, contents);

	if (err == 0)
		err = image_init(image, contents->data, contents->len, &why);
	if (err < 0)
		fail(object, reason_of(err));
	return err;
}

static int load_symbols(struct object *object)
{
	_cleanup_(contents_done) struct contents contents = { 0 };
	struct image image;
	int err = open_image(object, &contents, &image);

	if (err < 0)
		return err;
	err = elf_sym_load(&image, NULL, ELF_SYM_SYMTAB, &object->symbols);
	image_done(&image);
	if (err < 0)
		fail(object, OBJECT_DAMAGED);
	return err;
}

static int build_rows(struct objects *objects, struct object *object, struct unwind_rows **out)
{
	_cleanup_(contents_done) struct contents contents = { 0 };
	const struct image_section *section;
	struct image image;
	struct why why;
	int err = open_image(object, &contents, &image);

	if (err < 0)
		return err;
	section = image_section_find(&image, ".eh_frame");
	objects->eh_frame_bytes += section ? section->size : 0;
	err = unwind_rows_build(&image, out, &why);
	image_done(&image);
	return err;
}

static int publish_object(struct objects *objects, struct object *object)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	uint64_t started = clock_ns(CLOCK_MONOTONIC);
	int err = object->state == OBJECT_FAILED ? -ENODATA : build_rows(objects, object, &rows);

	objects->table_ns += clock_ns(CLOCK_MONOTONIC) - started;
	object->table = true;
	if (err < 0)
		return publish_none(objects->publish, &object->key, object->id);
	return publish_rows(objects->publish, &object->key, object->id, &rows->view);
}

static struct object *find(struct objects *objects, uint32_t id)
{
	uint64_t *at = hash_find(&objects->by_id, id);

	return at ? objects->all.data[*at] : NULL;
}

int objects_publish(struct objects *objects, uint32_t id)
{
	struct object *object = find(objects, id);

	return object ? publish_object(objects, object) : -ENOENT;
}

const struct object *objects_get(struct objects *objects, uint32_t id)
{
	struct object *object = find(objects, id);
	uint64_t started;

	if (!object || object->state != OBJECT_MET)
		return object;
	started = clock_ns(CLOCK_MONOTONIC);
	if (load_symbols(object) == 0) {
		object->state = OBJECT_LOADED;
		objects->symbol_loads++;
	}
	objects->load_ns += clock_ns(CLOCK_MONOTONIC) - started;
	return object;
}

int objects_new(struct publish *publish, struct objects **out)
{
	_cleanup_(object_freep) struct object *vdso = object_new(OBJECT_VDSO, "[vdso]");
	struct objects *objects = calloc(1, sizeof(*objects));
	int err = objects && vdso ? put(objects, vdso) : -ENOMEM;

	if (err < 0) {
		free(objects);
		return err;
	}
	objects->publish = publish;
	*out = objects;
	return publish_object(objects, TAKE_PTR(vdso));
}

void objects_stats(const struct objects *objects, struct objects_stats *out)
{
	*out = (struct objects_stats){
		.symbol_loads = objects->symbol_loads,
		.load_ns = objects->load_ns,
		.table_ns = objects->table_ns,
		.eh_frame_bytes = objects->eh_frame_bytes,
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
