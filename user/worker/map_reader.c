/* SPDX-License-Identifier: Apache-2.0 */
/* worker/map_reader.c - a file is a continuation of what was read only if it is the same file, no
 * shorter, and the bytes at both ends of what was read are still the same. Else it was written anew
 * and so is what we know. */
#include "worker/map_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES 65536

int map_reader_new(struct map_reader **out)
{
	struct map_reader *reader = calloc(1, sizeof(*reader));
	int err = reader ? perfmap_init(&reader->map, &(struct perfmap_limits)PERFMAP_LIMITS)
			 : -ENOMEM;

	if (err < 0)
		free(reader);
	else
		*out = reader;
	return err;
}

void map_reader_free(struct map_reader *reader)
{
	if (reader)
		perfmap_done(&reader->map);
	free(reader);
}

static bool mark_holds(int fd, const struct map_reader_mark *mark)
{
	char now[MAP_READER_MARK_BYTES];

	return mark->len == 0 ||
		(pread(fd, now, mark->len, (off_t)mark->offset) == (ssize_t)mark->len &&
			memcmp(now, mark->bytes, mark->len) == 0);
}

/* Remembers the bytes at both ends of what was read, now that len more were, at the offset. */
static void set_marks(struct map_reader *r, const char *bytes, size_t len)
{
	size_t mark = len < MAP_READER_MARK_BYTES ? len : MAP_READER_MARK_BYTES;

	if (r->offset == 0) {
		r->head = (struct map_reader_mark){ .len = mark };
		memcpy(r->head.bytes, bytes, mark);
	}
	r->tail = (struct map_reader_mark){ .offset = r->offset + len - mark, .len = mark };
	memcpy(r->tail.bytes, bytes + len - mark, mark);
}

static int restart(struct map_reader *r)
{
	r->offset = 0;
	r->head.len = r->tail.len = 0;
	return perfmap_reset(&r->map);
}

static bool is_unchanged(const struct map_reader *r, const struct stat *st)
{
	return r->offset > 0 && r->dev == st->st_dev && r->ino == st->st_ino &&
		r->mtime.tv_sec == st->st_mtim.tv_sec && r->mtime.tv_nsec == st->st_mtim.tv_nsec &&
		r->offset == (uint64_t)st->st_size;
}

static bool is_continued(const struct map_reader *r, const struct stat *st, int fd)
{
	return r->dev == st->st_dev && r->ino == st->st_ino && r->offset <= (uint64_t)st->st_size &&
		mark_holds(fd, &r->head) && mark_holds(fd, &r->tail);
}

/* WORKER_MEMORY loses bytes of the file, so the next time begins anew. */
static enum worker_status out_of_memory(struct map_reader *r)
{
	restart(r);
	return WORKER_MEMORY;
}

enum worker_status map_reader_feed(struct map_reader *r, int fd, bool *more)
{
	char chunk[CHUNK_BYTES];
	uint64_t end = MAP_READER_BYTES_MAX;
	struct stat st;

	*more = false;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return WORKER_UNREADABLE;
	if (is_unchanged(r, &st))
		return WORKER_OK;
	if (!is_continued(r, &st, fd) && restart(r) < 0)
		return WORKER_MEMORY;
	r->dev = st.st_dev;
	r->ino = st.st_ino;
	r->mtime = st.st_mtim;
	if (end - r->offset > MAP_READER_FEED_BYTES)
		end = r->offset + MAP_READER_FEED_BYTES;
	while (r->offset < end) {
		ssize_t len = pread(fd, chunk, CHUNK_BYTES, (off_t)r->offset);

		if (len <= 0)
			return len == 0 ? WORKER_OK : WORKER_UNREADABLE;
		if (perfmap_feed(&r->map, chunk, (size_t)len) < 0)
			return out_of_memory(r);
		set_marks(r, chunk, (size_t)len);
		r->offset += (uint64_t)len;
	}
	*more = r->offset < MAP_READER_BYTES_MAX && r->offset < (uint64_t)st.st_size;
	return WORKER_OK;
}
