/* SPDX-License-Identifier: Apache-2.0 */
/* stoker_file.c - the file of a whole profile. The bytes are such a file, or, with an odd first
 * byte, the lists of one piece, which only then have no checksum to guess. What is read, all or the
 * part before the damage, is written in every format, and read again from its own. */
#include <errno.h>
#include <zstd.h>

#include "fuzz.h"
#include "profile/stoker_format.h"
#include "profile/stoker_reader.h"
#include "sink/sink.h"

#define PACKED_MAX (1 << 17)
#define WORK_MAX 20000 /* samples and frames of stacks: the other formats would be slow */

static void put_frame(struct buf *out, const void *data, size_t size)
{
	const uint32_t head[2] = { STOKER_MAGIC, (uint32_t)size };

	buf_put(out, head, sizeof(head));
	buf_put(out, data, size);
}

static void make_file(const uint8_t *lists, size_t size, struct buf *out)
{
	_cleanup_(buf_done) struct buf piece = BUF_INIT;
	char *packed = malloc(PACKED_MAX);
	size_t len = ZSTD_compress(packed, PACKED_MAX, lists, size, 1);

	must(packed && !ZSTD_isError(len));
	put_frame(out, STOKER_NAME "\0", strlen(STOKER_NAME) + 1);
	buf_put_uleb(&piece, size);
	buf_put(&piece, packed, len);
	put_frame(out, piece.data, piece.len);
	free(packed);
}

static int take(void *ctx, const struct buf *bytes)
{
	(void)ctx;
	touch(bytes->data, bytes->len);
	return 0;
}

static void write_all_formats(const struct profile *p)
{
	static const struct sink_options options = { .by = { PROFILE_KEY_COMM }, .by_len = 1 };

	for (const struct sink *sink = sink_list(); sink->name; sink++) {
		struct sink_file file;

		must(sink_file_open(&file, sink, &options) == 0);
		file.out.take = take;
		must(sink_file_put(&file, p) == 0);
		must(sink_file_end(&file) == 0);
		sink_file_done(&file);
	}
}

static void read_again(const struct profile *p)
{
	static const struct sink_options options;
	_cleanup_(buf_done) struct buf file = BUF_INIT;
	_cleanup_(profile_done) struct profile again = { 0 };
	struct stoker_found found;

	must(stoker_write(p, &options, &file) == 0);
	must(profile_init(&again) == 0);
	must(stoker_read((struct bytes){ (const uint8_t *)file.data, file.len }, &again, &found) ==
		0);
	must(again.samples.len == p->samples.len && again.ticks.len == p->ticks.len &&
		again.events.len == p->events.len && again.kinds_len == p->kinds_len);
	for (uint32_t kind = 0; kind < p->kinds_len; kind++)
		must(profile_kind_total(&again, kind) == profile_kind_total(p, kind));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(buf_done) struct buf made = BUF_INIT;
	_cleanup_(profile_done) struct profile p = { 0 };
	struct bytes file = { data, size };
	struct stoker_found found;
	int err;

	if (size > 0 && data[0] % 2 == 1) {
		make_file(data + 1, size - 1, &made);
		file = (struct bytes){ (const uint8_t *)made.data, made.len };
	}
	must(profile_init(&p) == 0);
	err = stoker_read(file, &p, &found);
	must((err == -EBADMSG || err == -EFBIG) == (found.what != NULL));
	must(found.at <= file.len);
	read_again(&p);
	if (p.samples.len + p.ticks.len + p.frame_ids.len < WORK_MAX)
		write_all_formats(&p);
	return 0;
}
