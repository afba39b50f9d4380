/* SPDX-License-Identifier: Apache-2.0 */
/* worker/map_reader.c - two followers and their parsers. A broken jitdump does not affect the perf
 * map, nor the other way round. */
#include "worker/map_reader.h"

#include <errno.h>
#include <stdlib.h>

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
	if (!reader)
		return;
	perfmap_done(&reader->map);
	if (reader->dump)
		jitdump_done(reader->dump);
	free(reader->dump);
	free(reader);
}

/* ---- the perf map --------------------------------------------------------------------------- */

static enum worker_status take_map(void *ctx, const char *bytes, size_t len)
{
	struct map_reader *reader = ctx;

	return perfmap_feed(&reader->map, bytes, len) < 0 ? WORKER_MEMORY : WORKER_OK;
}

static int restart_map(void *ctx)
{
	struct map_reader *reader = ctx;

	return perfmap_reset(&reader->map);
}

enum worker_status map_reader_feed(struct map_reader *reader, int fd, bool *more)
{
	const struct follower_sink sink = { take_map, restart_map, reader, MAP_READER_BYTES_MAX };

	return follower_feed(&reader->map_file, fd, &sink, more);
}

/* ---- the jitdump ---------------------------------------------------------------------------- */

static enum worker_status take_dump(void *ctx, const char *bytes, size_t len)
{
	struct map_reader *reader = ctx;
	struct why why;

	switch (jitdump_feed(reader->dump, bytes, len, &why)) {
	case 0:
		return WORKER_OK;
	case -ENOMEM:
		return WORKER_MEMORY;
	case -ENOTSUP:
		return WORKER_BYTE_ORDER;
	default:
		return WORKER_DAMAGED;
	}
}

static int restart_dump(void *ctx)
{
	struct map_reader *reader = ctx;

	return jitdump_reset(reader->dump);
}

static int want_dump(struct map_reader *reader)
{
	int err;

	if (reader->dump)
		return 0;
	reader->dump = calloc(1, sizeof(*reader->dump));
	if (!reader->dump)
		return -ENOMEM;
	err = jitdump_init(reader->dump, &(struct jitdump_limits)JITDUMP_LIMITS);
	if (err < 0) {
		free(reader->dump);
		reader->dump = NULL;
	}
	return err;
}

enum worker_status map_reader_feed_dump(struct map_reader *reader, int fd, bool *more)
{
	const struct follower_sink sink = { take_dump, restart_dump, reader,
		MAP_READER_DUMP_BYTES_MAX };

	*more = false;
	if (want_dump(reader) < 0)
		return WORKER_MEMORY;
	return follower_feed(&reader->dump_file, fd, &sink, more);
}

/* ---- names ---------------------------------------------------------------------------------- */

bool map_reader_find(
	struct map_reader *reader, uint64_t addr, uint64_t at_ns, struct worker_name *out)
{
	struct jitdump_name found;
	const char *name;

	if (reader->dump && jitdump_find(reader->dump, addr, at_ns, &found)) {
		*out = (struct worker_name){
			.name = found.name,
			.source = WORKER_JITDUMP,
			.path = found.file,
			.line = found.line,
		};
		return true;
	}
	if (!perfmap_find(&reader->map, addr, &name))
		return false;
	*out = (struct worker_name){ .name = name, .source = WORKER_PERF_MAP, .path = "" };
	return true;
}

size_t map_reader_memory(const struct map_reader *reader)
{
	struct perfmap_stats map;
	struct jitdump_stats dump = { 0 };

	perfmap_stats(&reader->map, &map);
	if (reader->dump)
		jitdump_stats(reader->dump, &dump);
	return sizeof(*reader) + map.memory_bytes + dump.memory_bytes;
}
