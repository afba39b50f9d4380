/* SPDX-License-Identifier: Apache-2.0 */
/* folded.c - folded stacks as a file may have them, packed or not: what is read is written again
 * and read again, and is the same. */
#include <errno.h>

#include "fuzz.h"
#include "profile/folded_reader.h"
#include "sink/decompress.h"
#include "sink/html.h"

#define TEXT_MAX (1 << 20)
#define TOO_LARGE UINT64_MAX

static uint64_t read_again(const struct buf *text, struct profile *p)
{
	struct folded_counts counts;
	int err;

	must(profile_init(p) == 0);
	err = folded_read((struct bytes){ (const uint8_t *)text->data, text->len }, p, &counts);
	must(err == 0 || (err == -ERANGE && counts.large_at > 0));
	if (err < 0)
		return TOO_LARGE;
	must(counts.bad == 0 || counts.bad_at > 0);
	return profile_total(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A text of several kinds has a line that names the first, and the rest is left out. */
	static const struct sink_options options = { .lines_only = true };
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(buf_done) struct buf first = BUF_INIT;
	_cleanup_(buf_done) struct buf second = BUF_INIT;
	_cleanup_(buf_done) struct buf page = BUF_INIT;
	_cleanup_(profile_done) struct profile a = { 0 };
	_cleanup_(profile_done) struct profile b = { 0 };
	uint64_t total;

	if (decompress((struct bytes){ data, size }, TEXT_MAX, &text) < 0)
		return 0;
	total = read_again(&text, &a);
	if (total == TOO_LARGE)
		return 0;
	must(folded_write(&a, &options, &first) == 0);
	must(read_again(&first, &b) == total / (a.kinds[0].scale / b.kinds[0].scale));
	must(folded_write(&b, &options, &second) == 0);
	must(first.len == second.len &&
		(first.len == 0 || memcmp(first.data, second.data, first.len) == 0));
	must(html_write(&a, &options, &page) == 0);
	buf_clear(&page);
	must(svg_write(&a, &options, &page) == 0);
	return 0;
}
