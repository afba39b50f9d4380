/* SPDX-License-Identifier: Apache-2.0 */
/* worker/follower.c - a file continues what was read only if it is the same file, no shorter, and
 * the first and last bytes read are unchanged. Otherwise it was rewritten and earlier results are
 * invalid. The sink interprets the bytes. */
#include "worker/follower.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES 65536

static bool mark_holds(int fd, const struct follower_mark *mark)
{
	char now[FOLLOWER_MARK_BYTES];

	return mark->len == 0 ||
		(pread(fd, now, mark->len, (off_t)mark->offset) == (ssize_t)mark->len &&
			memcmp(now, mark->bytes, mark->len) == 0);
}

/* Remembers the bytes at both ends of what was read, now that len more were, at the offset. */
static void set_marks(struct follower *f, const char *bytes, size_t len)
{
	size_t mark = len < FOLLOWER_MARK_BYTES ? len : FOLLOWER_MARK_BYTES;

	if (f->offset == 0) {
		f->head = (struct follower_mark){ .len = mark };
		memcpy(f->head.bytes, bytes, mark);
	}
	f->tail = (struct follower_mark){ .offset = f->offset + len - mark, .len = mark };
	memcpy(f->tail.bytes, bytes + len - mark, mark);
}

static int restart(struct follower *f, const struct follower_sink *sink)
{
	f->offset = 0;
	f->head.len = f->tail.len = 0;
	f->broken = WORKER_OK;
	return sink->restart(sink->ctx);
}

static bool is_unchanged(const struct follower *f, const struct stat *st)
{
	return f->offset > 0 && f->dev == st->st_dev && f->ino == st->st_ino &&
		f->mtime.tv_sec == st->st_mtim.tv_sec && f->mtime.tv_nsec == st->st_mtim.tv_nsec &&
		f->offset == (uint64_t)st->st_size;
}

static bool is_continued(const struct follower *f, const struct stat *st, int fd)
{
	return f->dev == st->st_dev && f->ino == st->st_ino && f->offset <= (uint64_t)st->st_size &&
		mark_holds(fd, &f->head) && mark_holds(fd, &f->tail);
}

/* WORKER_MEMORY loses bytes of the file, so the next time begins anew. */
static enum worker_status refused(
	struct follower *f, const struct follower_sink *sink, enum worker_status status)
{
	if (status == WORKER_MEMORY)
		restart(f, sink);
	else
		f->broken = status;
	return status;
}

static enum worker_status read_on(
	struct follower *f, int fd, uint64_t end, const struct follower_sink *sink)
{
	char chunk[CHUNK_BYTES];

	while (f->offset < end) {
		ssize_t len = pread(fd, chunk, CHUNK_BYTES, (off_t)f->offset);
		enum worker_status status;

		if (len <= 0)
			return len == 0 ? WORKER_OK : WORKER_UNREADABLE;
		status = sink->take(sink->ctx, chunk, (size_t)len);
		if (status != WORKER_MEMORY) {
			set_marks(f, chunk, (size_t)len);
			f->offset += (uint64_t)len;
		}
		if (status != WORKER_OK)
			return refused(f, sink, status);
	}
	return WORKER_OK;
}

enum worker_status follower_feed(
	struct follower *f, int fd, const struct follower_sink *sink, bool *more)
{
	uint64_t end = sink->bytes_max;
	enum worker_status status;
	struct stat st;

	*more = false;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return WORKER_UNREADABLE;
	if (is_unchanged(f, &st))
		return f->broken;
	if (!is_continued(f, &st, fd) && restart(f, sink) < 0)
		return WORKER_MEMORY;
	if (f->broken)
		return f->broken;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->mtime = st.st_mtim;
	if (end - f->offset > FOLLOWER_FEED_BYTES)
		end = f->offset + FOLLOWER_FEED_BYTES;
	status = read_on(f, fd, end, sink);
	*more = status == WORKER_OK && f->offset < sink->bytes_max &&
		f->offset < (uint64_t)st.st_size;
	return status;
}
