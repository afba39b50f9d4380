/* SPDX-License-Identifier: Apache-2.0 */
/* wire/mappings.c - both ends of the list: a worker writes it out of the kernel's text, in which a
 * process chooses the paths and how many mappings there are; the agent reads numbers and names. */
#include "wire/mappings.h"

#include <limits.h>
#include <string.h>

#include "jitmap/jitdump.h"
#include "proc/maps.h"

#define JVM_LIBRARY "/libjvm.so"

static bool is_jvm(const char *path)
{
	size_t len = strlen(path), end = strlen(JVM_LIBRARY);

	return len >= end && strcmp(path + len - end, JVM_LIBRARY) == 0;
}

void mappings_note(const struct maps_entry *entry, struct mappings_facts *facts)
{
	pid_t number;

	if (!entry->executable || entry->ino == 0)
		return;
	number = jitdump_number(entry->path);
	if (number > 0)
		facts->dump = (struct mappings_dump){
			entry->start, entry->end, entry->ino, (uint64_t)number
		};
	else if (facts->jvm.ino == 0 && is_jvm(entry->path))
		facts->jvm = (struct mappings_library){
			entry->start, entry->end, entry->file_offset, entry->ino, entry->dev
		};
}

static bool dump_valid(const struct mappings_dump *dump)
{
	if (dump->end == 0)
		return dump->start == 0 && dump->ino == 0 && dump->number == 0;
	return dump->start < dump->end && dump->ino != 0 && dump->number > 0 &&
		dump->number <= INT_MAX;
}

static bool library_valid(const struct mappings_library *library)
{
	if (library->ino == 0)
		return library->start == 0 && library->end == 0 && library->file_offset == 0;
	return library->start < library->end;
}

bool mappings_facts_valid(const struct mappings_facts *facts)
{
	return dump_valid(&facts->dump) && library_valid(&facts->jvm);
}

static int put(const struct maps_entry *entry, enum mapping_kind kind, struct buf *list)
{
	const uint64_t numbers[] = { entry->start, entry->end, entry->file_offset };
	const char *path = kind == MAPPING_FILE ? entry->path : "";
	uint32_t what = kind;

	buf_put(list, numbers, sizeof(numbers));
	buf_put(list, &what, sizeof(what));
	return buf_put(list, path, strlen(path) + 1);
}

int mappings_put(const struct maps_entry *entry, uint64_t *guard_end, struct buf *list)
{
	bool guarded = *guard_end == entry->start || strcmp(entry->path, "[stack]") == 0;

	if (!entry->readable && !entry->writable && !entry->executable)
		*guard_end = entry->end;
	if (entry->executable)
		return put(entry, maps_is_anon_code(entry) ? MAPPING_CODE : MAPPING_FILE, list);
	if (entry->ino == 0 && entry->writable && !entry->shared && guarded)
		return put(entry, MAPPING_STACK, list);
	return 0;
}

bool mappings_next(struct cursor *list, struct mappings_entry *out)
{
	struct mappings_entry next;

	if (cursor_left(list) == 0 || list->bad)
		return false;
	next.start = cursor_u64(list);
	next.end = cursor_u64(list);
	next.file_offset = cursor_u64(list);
	next.kind = cursor_u32(list);
	next.path = cursor_str(list);
	if (!list->bad)
		list->bad = next.start < out->end || next.end <= next.start ||
			next.kind >= MAPPING_KINDS || strchr(next.path, '\n');
	if (!list->bad)
		*out = next;
	return !list->bad;
}
