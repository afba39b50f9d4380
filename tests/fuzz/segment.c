/* SPDX-License-Identifier: Apache-2.0 */
/* segment.c - a segment's file, and the same bytes as a store's index. */
#include "fuzz.h"
#include "store/index.h"
#include "store/merge.h"
#include "store/segment.h"

#define TEXT_MAX (16 << 20) /* what a group may claim here: memory would be the first to go */

static void read_groups(struct segment *s)
{
	_cleanup_(merge_done) struct merge merge;
	size_t all = 0; /* another kind needs the text of all CPU samples */

	must(merge_init(&merge) == 0);
	for (size_t i = 0; i < s->groups.len; i++)
		all += s->groups.data[i].text_bytes;
	for (size_t i = 0; i < s->groups.len; i++) {
		_cleanup_(buf_done) struct buf text = BUF_INIT;

		touch_text(s->groups.data[i].name);
		if (s->groups.data[i].text_bytes > TEXT_MAX ||
			(s->groups.data[i].kind > 0 && all > TEXT_MAX) ||
			segment_read(s, i, &text) < 0)
			continue;
		must(text.len == s->groups.data[i].text_bytes);
		merge_add_text(&merge, (struct bytes){ (const uint8_t *)text.data, text.len }, 9);
	}
}

static void read_index(const uint8_t *data, size_t size)
{
	_cleanup_(index_done) struct index index;
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	must(index_init(&index) == 0);
	must(index_parse(&index, (struct bytes){ data, size }) == 0);
	vec_each (&index.entries, entry)
		must(index_put_line(&text, &index, entry) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct segment *s;
	struct why why;

	read_index(data, size);
	if (segment_open(data, size, &s, &why) < 0)
		return 0;
	touch(s->account.data, s->account.len);
	read_groups(s);
	segment_free(s);
	return 0;
}
