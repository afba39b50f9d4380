/* SPDX-License-Identifier: Apache-2.0 */
/* tests/step/space.c - what the stepper knows of the process, read from /proc. Files are read whole
 * and once, by path; the vDSO is read from memory. A file without rows stays without, as in the
 * agent, and is walked by frame pointer. Names are for reports: see symbols.c. */
#include "space.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "proc/maps.h"

#define FILE_BYTES_MAX (1UL << 30)
#define VDSO "[vdso]"

struct load {
	struct space *space;
	struct objects *objects;
};

static void object_free(struct object *o)
{
	unwind_rows_free(o->rows);
	if (o->is_elf)
		image_done(&o->image);
	if (o->has_debug)
		image_done(&o->debug_image);
	buf_done(&o->file);
	buf_done(&o->debug);
	vec_each (&o->names, name)
		free(*name);
	vec_done(&o->names);
	vec_done(&o->symbols);
	free(o->path);
	free(o);
}

void objects_done(struct objects *objects)
{
	vec_each (&objects->list, o)
		object_free(*o);
	vec_done(&objects->list);
}

int space_open(struct space *space, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	space->pid = pid;
	space->mem = open(path, O_RDWR | O_CLOEXEC);
	return space->mem < 0 ? -errno : 0;
}

void space_close(struct space *space)
{
	fd_close(&space->mem);
	vec_done(&space->mappings);
	vec_done(&space->code);
}

void space_refresh(struct space *space, uint64_t sp)
{
	ssize_t n = pread(space->mem, space->stack, sizeof(space->stack), (off_t)sp);

	space->stack_base = sp;
	space->stack_len = n > 0 ? (uint32_t)n : 0;
}

int space_read(const struct space *space, uint64_t addr, void *dst, uint32_t size)
{
	uint64_t at = addr - space->stack_base;

	if (addr >= space->stack_base && at < space->stack_len && size <= space->stack_len - at) {
		memcpy(dst, space->stack + at, size);
		return 0;
	}
	return pread(space->mem, dst, size, (off_t)addr) == (ssize_t)size ? 0 : -1;
}

int space_write_byte(const struct space *space, uint64_t addr, uint8_t byte)
{
	return pwrite(space->mem, &byte, 1, (off_t)addr) == 1 ? 0 : -1;
}

static int read_file(const struct space *space, const struct maps_entry *entry, struct buf *out)
{
	size_t size = entry->end - entry->start;
	char *room;

	if (strcmp(entry->path, VDSO) != 0)
		return fd_read_path(entry->path, FILE_BYTES_MAX, out);
	if (buf_reserve(out, size, &room) < 0 || space_read(space, entry->start, room, size) < 0)
		return -EIO;
	buf_commit(out, size);
	return 0;
}

static struct object *object_of(struct load *load, const struct maps_entry *entry)
{
	struct object **slot, *o;
	struct why why;
	int err;

	vec_each (&load->objects->list, known) {
		if (strcmp((*known)->path, entry->path) == 0)
			return *known;
	}
	slot = vec_add(&load->objects->list);
	o = *slot = calloc(1, sizeof(*o));
	o->path = strdup(entry->path);
	o->name = strrchr(o->path, '/') ? strrchr(o->path, '/') + 1 : o->path;
	err = read_file(load->space, entry, &o->file);
	if (err == 0)
		err = image_init(&o->image, o->file.data, o->file.len, &why);
	o->is_elf = err == 0;
	if (err == 0)
		err = unwind_rows_build(&o->image, &o->rows, &why);
	if (err < 0)
		fprintf(stderr, "step: %s has no rows: %s\n", o->path, err_text(err));
	return o;
}

static void take(void *ctx, const struct maps_entry *entry)
{
	struct load *load = ctx;
	struct mapping *m = vec_add(&load->space->mappings);
	bool vdso = strcmp(entry->path, VDSO) == 0;

	*m = (struct mapping){ .start = entry->start,
		.end = entry->end,
		.file_offset = vdso ? 0 : entry->file_offset,
		.executable = entry->executable };
	if (!m->executable)
		return;
	if ((vdso || entry->ino != 0) && !maps_is_anon_code(entry))
		m->object = object_of(load, entry);
	*(struct scan_mapping *)vec_add(&load->space->code) = (struct scan_mapping){
		.start = m->start,
		.end = m->end,
		.file_offset = m->file_offset,
		.object = m->object ? (uint32_t)load->space->mappings.len : 0,
	};
}

/* proc(5): the 28th field of stat; the 2nd, in parentheses, may hold blanks. */
static uint64_t read_start_stack(pid_t pid)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char path[64], *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (fd_read_path(path, FILE_BYTES_MAX, &text) < 0 || !(at = strrchr(text.data, ')')))
		return 0;
	for (int field = 2; field < 28 && at; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

void space_load(struct space *space, struct objects *objects)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct load load = { space, objects };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)space->pid);
	if (fd_read_path(path, FILE_BYTES_MAX, &text) < 0) {
		fprintf(stderr, "step: cannot read %s\n", path);
		exit(2);
	}
	if (space->start_stack == 0)
		space->start_stack = read_start_stack(space->pid);
	space->mappings.len = space->code.len = 0;
	space->last = NULL;
	maps_parse(text.data, take, &load);
}

const struct mapping *space_find(struct space *space, uint64_t addr)
{
	size_t from = 0, to = space->mappings.len;

	if (space->last && addr >= space->last->start && addr < space->last->end)
		return space->last;
	while (from < to) {
		size_t middle = (from + to) / 2;
		const struct mapping *m = &space->mappings.data[middle];

		if (addr < m->start) {
			to = middle;
		} else if (addr >= m->end) {
			from = middle + 1;
		} else {
			space->last = m;
			return m;
		}
	}
	return NULL;
}
