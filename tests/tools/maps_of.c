/* SPDX-License-Identifier: Apache-2.0 */
/* maps_of.c - do the maps of unwind tables of a running stoker agree with each other?
 * Usage: maps_of PID SECONDS
 * Looks at them again and again for so long, or until the process ends. They change meanwhile, so
 * what is wrong counts when it is still wrong a second later. Prints how often it looked, the most
 * objects, tables and pages, how long an object waited for its table at the most, and how many
 * waited at the last look. Exit 1: they do not agree. Takes CAP_SYS_ADMIN, to open maps by their
 * ids. */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "maps_check.h"

#define OBJECTS_MAX 16384
#define LOOK_NS (100 * NSEC_PER_MSEC)
#define TEXT_MAX 4096

struct maps {
	int objects;
	const struct rows_page *pages;
	const uint8_t *slabs;
	uint64_t slabs_bytes;
};

struct waiting {
	uint32_t id;
	uint64_t since_ns;
};

struct watch {
	struct maps maps;
	struct maps_object seen[OBJECTS_MAX];
	size_t len;
	struct waiting waiting[OBJECTS_MAX];
	size_t waiting_len;
	uint64_t looks, objects, tables, pages, waited_ns;
	char wrong[TEXT_MAX];
};

static int map_id_of(int pid, const char *fd)
{
	char path[300], line[256];
	int id = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", pid, fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "map_id: %d", &id) == 1)
			break;
	if (file)
		fclose(file);
	return id;
}

static void take_map(struct maps *maps, int fd)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);
	size_t size;
	void *mapped;

	if (bpf_obj_get_info_by_fd(fd, &info, &len) < 0)
		return;
	size = (size_t)info.max_entries * info.value_size;
	if (strcmp(info.name, "objects") == 0)
		maps->objects = fd;
	if (strcmp(info.name, "row_pages") != 0 && strcmp(info.name, "row_slabs") != 0)
		return;
	mapped = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return;
	if (strcmp(info.name, "row_pages") == 0)
		maps->pages = mapped;
	else
		maps->slabs = mapped;
	if (mapped == maps->slabs)
		maps->slabs_bytes = size;
}

static bool find_maps(int pid, struct maps *maps)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	*maps = (struct maps){ .objects = -1 };
	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		int id = map_id_of(pid, entry->d_name);
		int fd = id > 0 ? bpf_map_get_fd_by_id((uint32_t)id) : -1;

		if (fd >= 0)
			take_map(maps, fd);
	}
	if (dir)
		closedir(dir);
	return maps->objects >= 0 && maps->pages && maps->slabs;
}

static void read_objects(struct watch *w)
{
	struct object_key key, next;
	bool first = true;

	w->len = 0;
	while (w->len < OBJECTS_MAX &&
		bpf_map_get_next_key(w->maps.objects, first ? NULL : &key, &next) == 0) {
		struct maps_object *object = &w->seen[w->len];

		object->key = key = next;
		first = false;
		if (bpf_map_lookup_elem(w->maps.objects, &key, &object->value) == 0)
			w->len++;
	}
}

static void note_wrong(void *ctx, const char *text)
{
	struct watch *w = ctx;
	size_t used = strlen(w->wrong);

	snprintf(w->wrong + used, sizeof(w->wrong) - used, "%s\n", text);
}

static bool look(struct watch *w)
{
	struct maps_seen seen = {
		.objects = w->seen,
		.pages = w->maps.pages,
		.pages_len = ROWS_PAGES_MAX,
		.slabs = w->maps.slabs,
		.slabs_bytes = w->maps.slabs_bytes,
		.rules_len = ROWS_RULES_MAX,
		.complain = note_wrong,
		.ctx = w,
	};

	read_objects(w);
	w->wrong[0] = '\0';
	seen.objects_len = w->len;
	return maps_check(&seen);
}

/* Since when the object waits, if it did the last time. */
static uint64_t since(const struct watch *w, uint32_t id, uint64_t now)
{
	for (size_t i = 0; i < w->waiting_len; i++)
		if (w->waiting[i].id == id)
			return w->waiting[i].since_ns;
	return now;
}

static void note(struct watch *w)
{
	static struct waiting now_waiting[OBJECTS_MAX];
	uint64_t now = clock_ns(CLOCK_MONOTONIC), tables = 0, pages = 0;
	size_t len = 0;

	for (size_t i = 0; i < w->len; i++) {
		const struct object_value *v = &w->seen[i].value;

		tables += v->table == TABLE_READY;
		pages += v->pages_len;
		if (v->table != TABLE_PENDING)
			continue;
		now_waiting[len] = (struct waiting){ v->id, since(w, v->id, now) };
		if (now - now_waiting[len].since_ns > w->waited_ns)
			w->waited_ns = now - now_waiting[len].since_ns;
		len++;
	}
	memcpy(w->waiting, now_waiting, len * sizeof(*now_waiting));
	w->waiting_len = len;
	w->looks++;
	w->objects = w->len > w->objects ? w->len : w->objects;
	w->tables = tables > w->tables ? tables : w->tables;
	w->pages = pages > w->pages ? pages : w->pages;
}

/* False: what is wrong stays wrong. */
static bool look_for_a_second(struct watch *w)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + NSEC_PER_SEC;

	while (!look(w)) {
		if (clock_ns(CLOCK_MONOTONIC) > end)
			return false;
		usleep(20000);
	}
	return true;
}

int main(int argc, char **argv)
{
	static struct watch w;
	int pid = argc > 2 ? atoi(argv[1]) : 0;
	uint64_t end =
		clock_ns(CLOCK_MONOTONIC) + (argc > 2 ? (uint64_t)atoi(argv[2]) : 0) * NSEC_PER_SEC;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	if (pid <= 0 || !find_maps(pid, &w.maps)) {
		fprintf(stderr, "maps_of: process %d has no maps of unwind tables: %s\n", pid,
			strerror(errno));
		return 2;
	}
	do {
		if (!look_for_a_second(&w)) {
			printf("%s", w.wrong);
			return 1;
		}
		note(&w);
		usleep(LOOK_NS / 1000);
	} while (clock_ns(CLOCK_MONOTONIC) < end && access(path, F_OK) == 0);
	printf("{\"looks\":%llu,\"objects\":%llu,\"tables\":%llu,\"pages\":%llu,\"waited_ms\":%llu,"
	       "\"waiting\":%zu}\n",
		(unsigned long long)w.looks, (unsigned long long)w.objects,
		(unsigned long long)w.tables, (unsigned long long)w.pages,
		(unsigned long long)w.waited_ns / NSEC_PER_MSEC, w.waiting_len);
	return 0;
}
