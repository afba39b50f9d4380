/* SPDX-License-Identifier: Apache-2.0 */
/* language/java_method.c - a method leads to its unchanging part, that to its constants, and these
 * to symbols. All of the ranges that a step needs are asked for before the next one. */
#include "language/java_method.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "language/java_code.h"
#include "language/java_name.h"

#define LINES_BYTES_MAX 8192
#define LINES_MAX 4096
#define HAS_LINES 1
#define LONG_ENTRY 0xff

void java_methods_done(struct java_methods *m)
{
	vec_done(&m->all);
	hash_done(&m->at);
	vec_done(&m->lines);
	buf_done(&m->texts);
}

static uint64_t number_in(const uint8_t *bytes, size_t at, size_t width)
{
	uint64_t number = 0;

	memcpy(&number, bytes + at, width);
	return number;
}

static uint64_t word_at(struct java_image *image, uint64_t address)
{
	const uint8_t *bytes = java_image_at(image, address, sizeof(uint64_t));

	return bytes ? number_in(bytes, 0, sizeof(uint64_t)) : 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int by_bci(const void *a, const void *b)
{
	const struct java_line *x = a, *y = b;

	if (x->bci != y->bci)
		return x->bci < y->bci ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* Of lines that begin at one place the first one counts, so it is sorted by that, too. */
#define ORDER_SHIFT 16

static void sort_lines(struct java_methods *m, struct java_method *method)
{
	struct java_line *lines;
	uint32_t kept = 0;

	if (method->lines_len == 0)
		return;
	lines = m->lines.data + method->lines_first;
	for (uint32_t i = 0; i < method->lines_len; i++)
		lines[i].line |= i << ORDER_SHIFT;
	if (method->lines_len > 1)
		qsort(lines, method->lines_len, sizeof(*lines), by_bci);
	for (uint32_t i = 0; i < method->lines_len; i++) {
		if (kept > 0 && lines[kept - 1].bci == lines[i].bci)
			continue;
		lines[kept++] = (struct java_line){ lines[i].bci, (uint16_t)lines[i].line };
	}
	m->lines.len -= method->lines_len - kept;
	method->lines_len = kept;
}

/* The bytes may begin what follows the table, or miss its end. */
static void put_lines(struct java_methods *m, struct java_method *method, struct bytes bytes)
{
	struct cursor c = cursor_init(bytes.data, bytes.len);
	bool is_more = m->image->layout->version >= 20;
	int64_t bci = 0, line = 0;

	method->lines_first = (uint32_t)m->lines.len;
	while (cursor_left(&c) > 0 && method->lines_len < LINES_MAX) {
		uint8_t head = cursor_u8(&c);
		struct java_line *slot;

		if (head == 0)
			break;
		if (head == LONG_ENTRY) {
			bci += java_signed_number(&c, is_more);
			line += java_signed_number(&c, is_more);
		} else {
			bci += head >> 3;
			line += head & 7;
		}
		if (c.bad || bci < 0 || bci > UINT16_MAX || line < 0 || line > UINT16_MAX)
			break;
		slot = vec_add(&m->lines);
		if (!slot) {
			m->image->err = -ENOMEM;
			break;
		}
		*slot = (struct java_line){ (uint32_t)bci, (uint32_t)line };
		method->lines_len++;
	}
	sort_lines(m, method);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A symbol's text, cut where BPF cuts it. False: it is not there. */
static bool find_symbol(struct java_image *image, uint64_t symbol, struct bytes *out, bool *cut)
{
	const struct java_layout *l = image->layout;
	const uint8_t *bytes = java_image_at(
		image, symbol & ~1ULL, (size_t)l->symbol_body + CODE_NAME_BYTES);
	size_t len;

	if (!bytes)
		return false;
	len = (size_t)number_in(bytes, l->symbol_length, 2);
	*cut = len > CODE_NAME_BYTES;
	*out = (struct bytes){ bytes + l->symbol_body, *cut ? CODE_NAME_BYTES : len };
	return len > 0;
}

static uint32_t put_name(struct java_methods *m, const struct java_method *method,
	const bool cut[2])
{
	struct event_code code = { .language = LANGUAGE_HOTSPOT,
		.name_bytes = (uint16_t)method->name.len,
		.file_bytes = (uint16_t)method->class.len,
		.name_cut = cut[0],
		.file_cut = cut[1] };
	size_t at = m->texts.len;

	memcpy(code.name, method->name.data, method->name.len);
	memcpy(code.file, method->class.data, method->class.len);
	java_put_name(&code, &m->texts);
	buf_putc(&m->texts, '\0');
	return (uint32_t)at;
}

static uint32_t put_file(struct java_methods *m, struct bytes file)
{
	size_t at = m->texts.len;

	java_put_text(&m->texts, file.data, file.len);
	buf_putc(&m->texts, '\0');
	return (uint32_t)at;
}

/* The table of lines ends before the method's unchanging part does. */
static struct bytes find_lines(struct java_image *image, uint64_t at, const uint8_t *constant)
{
	const struct java_layout *l = image->layout;
	uint64_t begin = l->const_bytes + number_in(constant, l->const_code_size, 2);
	uint64_t end = 8 * number_in(constant, l->const_words, 4);
	struct bytes lines = { 0 };

	if (!(number_in(constant, l->const_flags, 1) & HAS_LINES) || end <= begin)
		return lines;
	lines.len = end - begin < LINES_BYTES_MAX ? (size_t)(end - begin) : LINES_BYTES_MAX;
	lines.data = java_image_at(image, at + begin, lines.len);
	if (!lines.data)
		lines.len = 0;
	return lines;
}

/* False: not all of it is there. */
static bool read_method(struct java_methods *m, struct java_method *out)
{
	struct java_image *image = m->image;
	const struct java_layout *l = image->layout;
	uint64_t at = word_at(image, out->address + l->method_const), pool, slots, source = 0;
	const uint8_t *constant = at ? java_image_at(image, at, JAVA_CONST_BYTES) : NULL, *head;
	struct bytes lines, file = { 0 };
	bool cut[2] = { 0 }, file_cut, is_there;

	pool = constant ? number_in(constant, l->const_constants, 8) : 0;
	head = pool ? java_image_at(image, pool, l->pool_bytes) : NULL;
	if (!head)
		return false;
	slots = pool + l->pool_bytes;
	lines = find_lines(image, at, constant);
	if (l->pool_source && number_in(head, l->pool_source, 2) != 0)
		source = word_at(image, slots + 8 * number_in(head, l->pool_source, 2));
	is_there = find_symbol(image,
		word_at(image, slots + 8 * number_in(constant, l->const_name, 2)), &out->name,
		&cut[0]);
	is_there &= find_symbol(image,
		word_at(image, number_in(head, l->pool_holder, 8) + l->klass_name), &out->class,
		&cut[1]);
	if (source)
		(void)find_symbol(image, source, &file, &file_cut);
	if (!is_there || image->wants.len > 0)
		return false;
	put_lines(m, out, lines);
	out->name_at = put_name(m, out, cut);
	out->file_at = put_file(m, file);
	if (buf_err(&m->texts) < 0)
		image->err = buf_err(&m->texts);
	return image->err == 0;
}

const struct java_method *java_method_find(struct java_methods *m, uint64_t address)
{
	const uint64_t *known = hash_find(&m->at, address);
	struct java_method *slot;

	if (known) {
		slot = &m->all.data[*known];
		return slot->is_whole ? slot : NULL;
	}
	slot = vec_add(&m->all);
	if (!slot || hash_put(&m->at, address, m->all.len - 1) < 0) {
		m->image->err = -ENOMEM;
		return NULL;
	}
	*slot = (struct java_method){ .address = address };
	slot->is_whole = read_method(m, slot);
	return slot->is_whole ? slot : NULL;
}

const char *java_method_name(const struct java_methods *m, const struct java_method *method)
{
	return buf_text(&m->texts) + method->name_at;
}

const char *java_method_file(const struct java_methods *m, const struct java_method *method)
{
	return buf_text(&m->texts) + method->file_at;
}

size_t java_method_lines(const struct java_methods *m, const struct java_method *method,
	const struct java_line **lines)
{
	*lines = method->lines_len > 0 ? m->lines.data + method->lines_first : NULL;
	return method->lines_len;
}

uint32_t java_method_line(
	const struct java_methods *m, const struct java_method *method, int64_t bci)
{
	const struct java_line *lines;
	size_t low = 0, high = java_method_lines(m, method, &lines);

	/* A method that is entered has not begun. */
	if (bci < 0)
		bci = 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lines[middle].bci <= bci)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? lines[low - 1].line : 0;
}
