/* SPDX-License-Identifier: Apache-2.0 */
/* perf_text.c - perf text as a file may have it: what is read is written again in every format, and
 * as perf text read again it has as many samples. */
#include "fuzz.h"
#include "profile/perf_reader.h"
#include "profile/slice.h"
#include "sink/sink.h"

static void write_all(const struct profile *p, struct buf *text)
{
	static const struct sink_options options = { .by = { PROFILE_KEY_TID }, .by_len = 1 };

	for (const struct sink *sink = sink_list(); sink->name; sink++) {
		struct sink_file file;

		must(sink_file_open(&file, sink, &options) == 0);
		must(sink_file_put(&file, p) == 0);
		must(sink_file_end(&file) == 0);
		if (sink->stream == &perf_text_stream)
			must(buf_put(text, file.out.buf.data, file.out.buf.len) == 0);
		sink_file_done(&file);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(profile_done) struct profile first = { 0 };
	_cleanup_(profile_done) struct profile second = { 0 };
	_cleanup_(profile_done) struct profile part = { 0 };
	struct perf_counts counts;

	must(profile_init(&first) == 0 && profile_init(&second) == 0 && profile_init(&part) == 0);
	must(perf_read((struct bytes){ data, size }, NULL, &first, &counts) == 0);
	must(counts.samples == profile_total(&first));
	write_all(&first, &text);
	must(perf_read((struct bytes){ (const uint8_t *)text.data, text.len }, NULL, &second,
		     &counts) == 0);
	must(counts.bad == 0 && second.ticks.len == first.ticks.len);
	must(profile_slice(&first, 1000, 1000000000000, &part) == 0);
	must(part.ticks.len <= first.ticks.len);
	return 0;
}
