/* SPDX-License-Identifier: Apache-2.0 */
/* worker/proc_maps.c - reads the text whole, then line by line: the kernel wrote it, so a line that
 * is none is passed over. */
#include "worker/proc_maps.h"

#include <errno.h>

#include "base/buf.h"
#include "base/fd.h"
#include "proc/maps.h"

struct reading {
	struct mappings_facts facts;
	struct buf list;
	uint64_t guard_end;
	bool wants_list;
};

static void take(void *ctx, const struct maps_entry *entry)
{
	struct reading *r = ctx;

	mappings_note(entry, &r->facts);
	if (r->wants_list)
		mappings_put(entry, &r->guard_end, &r->list);
}

static void reading_done(struct reading *r)
{
	buf_done(&r->list);
}

enum worker_status proc_maps_read(int fd, int memory, struct proto_mappings *out)
{
	_cleanup_(reading_done) struct reading r = { .wants_list = memory >= 0,
		.list.max_bytes = MAPPINGS_LIST_BYTES_MAX };
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	int err = fd_read_all(fd, MAPPINGS_TEXT_BYTES_MAX, &text);

	if (err == 0)
		maps_parse(buf_text(&text), take, &r);
	if (err == 0)
		err = buf_err(&r.list);
	if (err == 0 && r.list.len > 0)
		err = fd_write_all(memory, r.list.data, r.list.len);
	if (err < 0)
		return err == -EFBIG    ? WORKER_TOO_LARGE
			: err == -ENOMEM ? WORKER_MEMORY
					 : WORKER_UNREADABLE;
	*out = (struct proto_mappings){ r.list.len, r.facts };
	return WORKER_OK;
}
