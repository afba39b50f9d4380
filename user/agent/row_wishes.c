/* SPDX-License-Identifier: Apache-2.0 */
/* agent/row_wishes.c - a page is requested from the object's descriptor, which stands for its
 * device, inode and generation; the worker compares the time of writing. */
#include "agent/row_wishes.h"

#include "agent/objects.h"
#include "client/client.h"
#include "unwind/publish.h"

void row_wishes_page(void *ctx, uint32_t id, uint64_t number)
{
	const struct row_wishes *wishes = ctx;
	const struct object *object = objects_find(wishes->objects, id);
	int err = -1;

	if (!object || !publish_lacks_page(wishes->publish, object->id, number))
		return;
	if (object->state == OBJECT_OPENED)
		err = worker_client_page(wishes->worker, object->id, object->fd,
			object->key.mtime_ns, (uint32_t)number, wishes->account);
	if (err < 0)
		publish_page_late(wishes->publish, object->id, (uint32_t)number);
}
