/* SPDX-License-Identifier: Apache-2.0 */
/* rows_host.c - see rows_host.h. */
#include "rows_host.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/own.h"
#include "bpf/reasons.h"
#include "unwind/walk.h"

static void must(struct rows_host *host, bool holds, const char *text)
{
	if (!holds)
		host->wrong(NULL, text);
}

static uint32_t any(struct rows_host *host)
{
	host->any ^= host->any << 13;
	host->any ^= host->any >> 17;
	host->any ^= host->any << 5;
	return host->any;
}

void rows_host_init(
	struct rows_host *host, uint32_t seed, void (*wrong)(void *ctx, const char *text))
{
	*host = (struct rows_host){
		.made = made_maps_new(),
		.next_object = OBJECT_FIRST,
		.any = seed | 1,
		.wrong = wrong,
	};
	if (publish_new(&host->made->maps, &host->publish) < 0)
		abort();
}

void rows_host_done(struct rows_host *host)
{
	publish_free(host->publish);
	free(host->made);
}

static void check_maps(struct rows_host *host)
{
	struct publish_stats stats;

	publish_stats(host->publish, &stats);
	must(host, made_is_consistent(host->made, stats.unsettled > 0, false, host->wrong, NULL),
		"the maps contradict each other");
}

static int read_nothing(
	void *memory, const struct scan_mapping *m, uint64_t addr, void *dst, uint32_t size)
{
	(void)memory, (void)m, (void)addr, (void)dst, (void)size;
	return -EFAULT;
}

/* As BPF and walk.c use what was published: pages that are asked for, searches, a walk. */
static void use_rows(struct rows_host *host, const struct rows_object *object, uint32_t first_page)
{
	const struct maps_object *known = made_find(host->made, &object->key);
	const struct scan_mapping code = {
		.start = 1 << 20,
		.end = (1 << 20) + (16U << ROWS_PAGE_SHIFT),
		.file_offset = (uint64_t)first_page << ROWS_PAGE_SHIFT,
		.object = object->id,
	};
	struct walk_world world = { .read = read_nothing };
	uint64_t frames[STACK_USER_FRAMES_MAX];
	struct walk_stack walked = { .frames = frames };
	uint64_t *words = (void *)host->deferred.data;

	must(host, known != NULL, "BPF forgot the object");
	if (known->value.table == TABLE_READY && known->value.pages_len > 0) {
		uint32_t page = known->value.page_base + any(host) % known->value.pages_len;

		if (made_ask(host->made, page))
			publish_page(host->publish, object->id, page);
	}
	host->deferred.stack_bytes = 512;
	host->deferred.exact = 1;
	host->deferred.sp = host->deferred.fp = 1 << 30;
	host->deferred.pc = code.start + any(host) % (2U << ROWS_PAGE_SHIFT);
	for (size_t i = 0; i < 64; i++)
		words[i] = i % 3 ? code.start + any(host) % (2U << ROWS_PAGE_SHIFT)
				 : host->deferred.sp + 8 * (any(host) % 64);
	walk_published(host->publish, &world);
	walk_deferred(&world, &host->deferred, &code, 1, &walked);
	must(host, walked.frames_len <= STACK_USER_FRAMES_MAX, "a walk is too long");
	host->walked += walked.frames_len;
}

static void drop_objects(struct rows_host *host, uint32_t which)
{
	struct publish_object gone[ROWS_HOST_OBJECTS];
	size_t len = 0;

	for (uint32_t i = 0; i < ROWS_HOST_OBJECTS; i++) {
		if (!(which & 1U << i) || host->objects[i].id == 0)
			continue;
		gone[len++] = (struct publish_object){ host->objects[i].key, host->objects[i].id };
		host->objects[i].id = 0;
	}
	publish_drop(host->publish, gone, len);
}

static struct rows_object *meet(struct rows_host *host, uint64_t id)
{
	struct rows_object *object = &host->objects[id % ROWS_HOST_OBJECTS];

	if (object->id == 0) {
		object->id = host->next_object++;
		object->key.ino = object->id;
	}
	made_meet(host->made, &object->key, object->id);
	return object;
}

int rows_host_take(struct rows_host *host, const struct worker_rows *rows)
{
	int err = 1;
	struct rows_object *object = meet(host, rows->id);

	if (!rows->rows) {
		must(host, publish_none(host->publish, &object->key, object->id) == 0,
			"BPF is not told of a file without rows");
	} else {
		err = publish_rows(host->publish, &object->key, object->id, rows->rows);
		/* So many pages are more than there are here: then all others go. */
		if (err == -ENOSPC || err == -ENOMEM) {
			check_maps(host);
			drop_objects(host, ~0U);
			object = meet(host, rows->id);
			err = publish_rows(host->publish, &object->key, object->id, rows->rows);
		}
		must(host, err == 0 || err == -ENOSPC, "rows are not published");
		if (rows->rows->head->pages_len > 0)
			use_rows(host, object, rows->rows->pages[0].number);
	}
	check_maps(host);
	if (any(host) % 32 == 0)
		drop_objects(host, any(host));
	if (any(host) % 8 == 0)
		host->made->second++;
	publish_settle(host->publish);
	publish_unmap(host->publish);
	check_maps(host);
	return err;
}
