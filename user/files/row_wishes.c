/* SPDX-License-Identifier: Apache-2.0 */
/* files/row_wishes.c - a page is requested from the object's descriptor, which stands for its
 * device, inode and generation; the worker compares the time of writing. */
#include "files/row_wishes.h"

#include "files/objects.h"
#include "base/clock.h"
#include "client/client.h"
#include "files/file_time.h"
#include "unwind/publish.h"
#include "unwind/rows.h"

#define PAGES_FEW 64 /* 4 MiB of code */

static bool may_cost(const struct row_wishes *wishes, const struct object *object)
{
	return !file_time_refuses_more(objects_time(wishes->objects), wishes->publish, object,
		clock_ns(CLOCK_MONOTONIC));
}

void row_wishes_page(void *ctx, uint32_t id, uint64_t number)
{
	const struct row_wishes *wishes = ctx;
	const struct object *object = objects_find(wishes->objects, id);
	int err = -1;

	if (!object || object->wrong_index ||
		!publish_lacks_page(wishes->publish, object->id, number))
		return;
	if (object->state == OBJECT_OPENED && may_cost(wishes, object))
		err = worker_client_page(wishes->worker, object->id, object->fd,
			object->key.mtime_ns, (uint32_t)number, wishes->account);
	if (err < 0)
		publish_page_late(wishes->publish, object->id, (uint32_t)number);
}

int row_wishes_file(struct worker_client *worker, const struct object *object)
{
	return object->wrong_index ? worker_client_table(worker, object->id, object->fd)
				   : worker_client_rows(worker, object->id, object->fd);
}

bool row_wishes_table(
	struct worker_client *worker, struct object *object, const struct worker_rows *rows)
{
	if (rows->status != WORKER_OK || rows->rows_status != WORKER_WRONG_INDEX ||
		rows->pages_len == 0 || object->state != OBJECT_OPENED)
		return false;
	if (object->wrong_index)
		return true; /* the table was requested before */
	object->wrong_index = true;
	return row_wishes_file(worker, object) == 0;
}

void row_wishes_few(struct worker_client *worker, const struct object *object,
	const struct unwind_rows_view *rows)
{
	uint32_t span = rows->head->kind == UNWIND_ROWS_OUTLINE ? unwind_rows_span(rows) : 0;

	for (uint32_t i = 0; span <= PAGES_FEW && i < span; i++)
		worker_client_page(worker, object->id, object->fd, object->key.mtime_ns,
			unwind_rows_first(rows) + i, 0);
}

static int compile_again(const struct row_wishes *wishes, const struct event_page *event)
{
	const struct object *object = objects_find(wishes->objects, event->object);

	if (!object || may_cost(wishes, object))
		return objects_compile(wishes->objects, event->object);
	publish_page_late(wishes->publish, object->id,
		publish_page_number(wishes->publish, event->object, event->page));
	return 0;
}

int row_wishes_tick(const struct row_wishes *wishes, const struct event_page *event)
{
	int outcome = publish_page(wishes->publish, event->object, event->page);

	if (outcome == PUBLISH_NOT_COMPILED)
		row_wishes_page((void *)wishes, event->object,
			publish_page_number(wishes->publish, event->object, event->page));
	if (outcome == PUBLISH_NOT_KEPT)
		return compile_again(wishes, event);
	return outcome < 0 ? outcome : 0; /* PUBLISH_NO_SUCH_PAGE: the table is gone */
}
