/* SPDX-License-Identifier: Apache-2.0 */
/* client/mappings.c - first an opener, then a worker. */
#include "client/mappings.h"

#include <errno.h>

#include "base/clock.h"
#include "base/fd.h"
#include "client/client.h"
#include "client/opener_call.h"

#define WAIT_NS (500 * NSEC_PER_MSEC) /* for the worker */

static bool is_list(const struct buf *list)
{
	struct cursor c = cursor_init(list->data, list->len);
	struct mappings_entry mapping = { 0 };

	while (mappings_next(&c, &mapping))
		;
	return !c.bad;
}

bool mappings_take(int memory, uint64_t bytes, struct buf *list)
{
	_cleanup_fd_ int fd = fd_seal(memory);

	return fd >= 0 && fd_read_all(fd, bytes, list) == 0 && list->len == bytes && is_list(list);
}

static int read_mappings(struct worker_client *client, const struct opener_process *process,
	uint64_t id, struct mappings_facts *facts, struct buf *list)
{
	_cleanup_fd_ int fd = -1;
	struct worker_mappings query = { .id = id };
	int err = opener_call_copy(
		worker_client_call(client), process, "maps", MAPPINGS_TEXT_BYTES_MAX, &fd);

	if (err < 0)
		return err;
	query.fd = fd;
	query.until_ns = clock_ns(CLOCK_MONOTONIC) + WAIT_NS;
	return worker_client_mappings(client, &query, facts, list) == WORKER_OK ? 0 : -EAGAIN;
}

int worker_client_dump(struct worker_client *client, const struct opener_process *process,
	uint64_t id, struct opener_found *found, pid_t *number, struct mappings_library *jvm)
{
	struct mappings_facts facts;
	const struct mappings_dump *dump = &facts.dump;
	int err = read_mappings(client, process, id, &facts, NULL);

	if (err == 0 && jvm)
		*jvm = facts.jvm;
	if (err < 0 || dump->end == 0)
		return err < 0 ? err : -ENOENT;
	err = opener_call_mapped(worker_client_call(client),
		&(struct opener_mapping){
			*process, .vm_start = dump->start, .vm_end = dump->end, .ino = dump->ino },
		found);
	if (err == 0)
		*number = (pid_t)dump->number;
	return err;
}

int worker_client_list(struct worker_client *client, const struct opener_process *process,
	uint64_t id, struct buf *list)
{
	struct mappings_facts facts;

	return read_mappings(client, process, id, &facts, list);
}
