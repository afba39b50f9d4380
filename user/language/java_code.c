/* SPDX-License-Identifier: Apache-2.0 */
/* language/java_code.c - a code has descriptions of places; each leads to a scope, which has a
 * method, a place in its bytecode, and the scope that it is a part of. Scopes are written before
 * those that refer to them, so a chain has no cycles. A code whose tables are malformed has
 * the name of its method alone. */
#include "language/java_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/own.h"
#include "language/java_image.h"
#include "language/java_method.h"
#include "language/java_reply.h"
#include "language/java_table.h"

#define PLACE_BYTES 16 /* of a PcDesc: place, scope, two others */
#define SCOPE_BYTES 15 /* three numbers */
#define SCOPES_BYTES_MAX (JAVA_RANGE_BYTES_MAX - SCOPE_BYTES)
#define METADATA_MAX 16384
#define FRAMES_MAX 8192
#define NONE UINT32_MAX

struct scope {
	uint32_t sender; /* index; NONE: it is the outermost */
	uint32_t method; /* index in the metadata, from 1 on */
	int64_t bci;
	uint32_t frame; /* when it is made; else NONE */
	uint32_t depth; /* number of those that it is a part of */
};

struct maker {
	struct java_image *image;
	struct java_methods methods;
	const struct java_wanted *code;
	struct bytes places, scopes_data;
	uint64_t metadata;
	struct hash scope_at; /* offset → index */
	VEC(struct scope) scopes;
	VEC(struct java_place) out_places;
	VEC(struct java_frame) frames;
	struct hash frame_at;
	struct hash text_at;
	struct buf text;
};

static void maker_done(struct maker *m)
{
	java_methods_done(&m->methods);
	hash_done(&m->scope_at);
	vec_done(&m->scopes);
	vec_done(&m->out_places);
	vec_done(&m->frames);
	hash_done(&m->frame_at);
	hash_done(&m->text_at);
	buf_done(&m->text);
}

static void begin_code(struct maker *m, const struct java_wanted *code)
{
	m->code = code;
	m->places = m->scopes_data = (struct bytes){ 0 };
	hash_clear(&m->scope_at);
	m->scopes.len = m->out_places.len = m->frames.len = 0;
	hash_clear(&m->frame_at);
	hash_clear(&m->text_at);
	buf_clear(&m->text);
}

/* ---- numbers --------------------------------------------------------------------------------- */

#define BITS 6
#define LOW 192 /* from this on a byte is not the last */
#define LENGTH_MAX 5

uint32_t java_number(struct cursor *c, bool is_more)
{
	uint32_t low = LOW - is_more, sum = 0, shift = 0;

	for (int i = 0; i < LENGTH_MAX; i++) {
		uint32_t byte = (uint32_t)cursor_u8(c) - is_more;

		sum += byte << shift;
		shift += BITS;
		if (byte < low)
			break;
	}
	return sum;
}

int64_t java_signed_number(struct cursor *c, bool is_more)
{
	uint32_t sum = java_number(c, is_more);

	return sum & 1 ? -(int64_t)(sum >> 1) - 1 : (int64_t)(sum >> 1);
}

static uint64_t number_in(const uint8_t *bytes, size_t at, size_t width)
{
	uint64_t number = 0;

	memcpy(&number, bytes + at, width);
	return number;
}

/* ---- what is read ---------------------------------------------------------------------------- */

/* The blob from its beginning on. NULL: it is not there yet, or it is not that code. */
static const uint8_t *find_blob(struct maker *m)
{
	const struct java_layout *l = m->image->layout;
	struct java_range range = java_proof_range(l, m->code->blob);
	const uint8_t *bytes =
		java_image_at(m->image, range.start, (size_t)(range.end - range.start));

	if (!bytes || !java_proves(l, m->code, bytes, (size_t)(range.end - range.start)))
		return NULL;
	return bytes + l->block_bytes;
}

/* The end of the scopes is nowhere described; the last one that a place leads to is. */
static size_t scopes_bytes(struct bytes places)
{
	uint32_t last = 0;

	for (size_t at = 0; at + PLACE_BYTES <= places.len; at += PLACE_BYTES) {
		uint32_t scope = (uint32_t)number_in(places.data, at + 4, 4);

		if (scope <= SCOPES_BYTES_MAX && scope > last)
			last = scope;
	}
	return last + SCOPE_BYTES;
}

/* False: they are not there yet, or malformed. */
static bool find_tables(struct maker *m, const uint8_t *blob)
{
	const struct java_layout *l = m->image->layout;
	uint64_t tables = l->tables ? number_in(blob, l->tables, 8) : m->code->blob;
	uint64_t begin = number_in(blob, l->pcs, 4), end = number_in(blob, l->pcs_end, 4), scopes;

	if (l->tables) {
		scopes = tables + number_in(blob, l->scopes_data, 4);
		m->metadata = number_in(blob, l->metadata, 8) +
			number_in(blob, l->relocation_bytes, 4);
	} else {
		scopes = number_in(blob, l->scopes_data, 8);
		m->metadata = m->code->blob + number_in(blob, l->metadata, 4);
	}
	if (tables == 0 || end <= begin || end - begin > JAVA_RANGE_BYTES_MAX)
		return false;
	m->places.len = (size_t)(end - begin);
	m->places.data = java_image_at(m->image, tables + begin, m->places.len);
	if (!m->places.data)
		return false;
	m->scopes_data.len = scopes_bytes(m->places);
	m->scopes_data.data = java_image_at(m->image, scopes, m->scopes_data.len);
	return m->scopes_data.data != NULL;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

/* Puts the scope at an offset and the scopes around it. NONE: no scope is at this offset, or
 * memory is short. */
static uint32_t put_scope(struct maker *m, uint32_t offset, uint32_t depth)
{
	struct cursor c = cursor_init(m->scopes_data.data, m->scopes_data.len);
	const uint64_t *known = hash_find(&m->scope_at, offset);
	bool is_more = m->image->layout->version >= 20;
	struct scope scope = { .sender = NONE, .frame = NONE }, *slot;
	uint32_t sender;

	if (known)
		return (uint32_t)*known;
	cursor_seek(&c, offset);
	sender = java_number(&c, is_more);
	scope.method = java_number(&c, is_more);
	scope.bci = (int64_t)java_number(&c, is_more) - 1;
	if (c.bad || offset == 0 || sender >= offset || scope.method == 0 ||
		scope.method > METADATA_MAX || depth >= JAVA_DEPTH_MAX)
		return NONE;
	if (sender != 0) {
		scope.sender = put_scope(m, sender, depth + 1);
		if (scope.sender == NONE)
			return NONE;
		/* Of those that are known it may be a part, too. */
		scope.depth = m->scopes.data[scope.sender].depth + 1;
		if (scope.depth >= JAVA_DEPTH_MAX)
			return NONE;
	}
	slot = vec_add(&m->scopes);
	if (!slot || hash_put(&m->scope_at, offset, m->scopes.len - 1) < 0) {
		m->image->err = -ENOMEM;
		return NONE;
	}
	*slot = scope;
	return (uint32_t)m->scopes.len - 1;
}

static uint32_t scope_of_place(struct maker *m, size_t at)
{
	uint32_t offset = (uint32_t)number_in(m->places.data, at + 4, 4);

	return offset <= SCOPES_BYTES_MAX ? put_scope(m, offset, 0) : NONE;
}

/* The address of the scope's method. 0: it is not there yet. */
static uint64_t method_of(struct maker *m, const struct scope *scope)
{
	const uint8_t *word =
		java_image_at(m->image, m->metadata + 8ULL * (scope->method - 1), 8);

	return word ? number_in(word, 0, 8) : 0;
}

/* Finds all methods, so that all that they want is known. */
static void want_methods(struct maker *m)
{
	for (size_t at = 0; at + PLACE_BYTES <= m->places.len; at += PLACE_BYTES)
		(void)scope_of_place(m, at);
	vec_each (&m->scopes, scope) {
		uint64_t method = method_of(m, scope);

		if (method)
			(void)java_method_find(&m->methods, method);
	}
}

/* ---- the table ------------------------------------------------------------------------------- */

static uint32_t put_text(struct maker *m, const char *text)
{
	uint64_t key = hash_bytes(text, strlen(text));
	const uint64_t *known = hash_find(&m->text_at, key);
	size_t at = m->text.len;

	if (known && strcmp(m->text.data + *known, text) == 0)
		return (uint32_t)*known;
	if (!known && hash_put(&m->text_at, key, at) < 0)
		buf_fail(&m->text, -ENOMEM);
	buf_put(&m->text, text, strlen(text) + 1);
	return (uint32_t)at;
}

/* A frame that is a part of another one; outer NONE: of none. */
static uint32_t put_frame(
	struct maker *m, const struct java_method *method, uint32_t line, uint32_t outer)
{
	const uint64_t words[] = { method->address, line, outer };
	uint64_t key = hash_bytes(words, sizeof(words));
	const uint64_t *known = hash_find(&m->frame_at, key);
	uint32_t at = (uint32_t)m->frames.len;
	struct java_frame *slot;

	if (known)
		return (uint32_t)*known;
	slot = at < FRAMES_MAX ? vec_add(&m->frames) : NULL;
	if (!slot || hash_put(&m->frame_at, key, at) < 0)
		return NONE;
	*slot = (struct java_frame){ put_text(m, java_method_name(&m->methods, method)),
		put_text(m, java_method_file(&m->methods, method)), line,
		outer == NONE ? at : outer };
	return at;
}

/* NONE: a method of the chain has no name, or there is no room. */
static uint32_t frame_of(struct maker *m, uint32_t scope_at)
{
	struct scope *scope = &m->scopes.data[scope_at];
	uint64_t address = method_of(m, scope);
	const struct java_method *method;
	uint32_t outer = NONE;

	if (scope->frame != NONE)
		return scope->frame;
	if (scope->sender == NONE && address != m->code->method)
		return NONE;
	if (scope->sender != NONE) {
		outer = frame_of(m, scope->sender);
		if (outer == NONE)
			return NONE;
	}
	method = java_method_find(&m->methods, address);
	if (!method)
		return NONE;
	scope->frame = put_frame(
		m, method, java_method_line(&m->methods, method, scope->bci), outer);
	return scope->frame;
}

/* Places that follow each other and have one frame are one. */
static void put_place(struct maker *m, uint32_t end, uint32_t frame)
{
	struct java_place *last =
		m->out_places.len > 0 ? &m->out_places.data[m->out_places.len - 1] : NULL;
	struct java_place *slot;

	if (last && end <= last->end)
		return;
	if (last && last->frame == frame) {
		last->end = end;
		return;
	}
	slot = vec_add(&m->out_places);
	if (slot)
		*slot = (struct java_place){ end, frame };
	else
		m->image->err = -ENOMEM;
}

/* Before its frame is there, a code is where its method begins. */
static void put_prologue(struct maker *m, const struct java_method *method, const uint8_t *blob)
{
	const struct java_layout *l = m->image->layout;
	uint32_t complete = l->code_is_offset ? (uint32_t)number_in(blob, l->frame_complete, 2)
						 : (uint32_t)number_in(blob, l->frame_complete, 4);
	uint32_t frame = put_frame(m, method, java_method_line(&m->methods, method, 0), NONE);

	if (complete > 0 && complete < INT16_MAX && frame != NONE)
		put_place(m, complete - 1, frame);
}

/* Where in the code handlers begin, after all that was compiled. */
static uint32_t code_end(const struct maker *m, const uint8_t *blob)
{
	const struct java_layout *l = m->image->layout;
	uint64_t begin = l->code_is_offset ? number_in(blob, l->code, 4)
					   : number_in(blob, l->code, 8) - m->code->blob;
	uint64_t end = number_in(blob, l->stub, 4);

	return l->stub && end > begin && end - begin < INT32_MAX ? (uint32_t)(end - begin) : 0;
}

/* Places up to this one have no scope: they are of the compiled method, near the line of the last
 * frame. */
static void put_near(struct maker *m, uint32_t end, uint32_t frame)
{
	const struct java_method *method = java_method_find(&m->methods, m->code->method);

	while (m->frames.data[frame].outer != frame)
		frame = m->frames.data[frame].outer;
	frame = put_frame(m, method, m->frames.data[frame].line, NONE);
	if (frame != NONE)
		put_place(m, end, frame);
}

#define PLACE_LAST INT32_MAX

static void put_places(struct maker *m, const uint8_t *blob)
{
	uint32_t last = 0, limit = code_end(m, blob);

	for (size_t at = 0; at + PLACE_BYTES <= m->places.len; at += PLACE_BYTES) {
		int32_t end = (int32_t)number_in(m->places.data, at, 4);
		uint32_t scope, frame;

		if (end < 0 || end == PLACE_LAST)
			continue;
		if (number_in(m->places.data, at + 4, 4) == 0) {
			put_near(m, (uint32_t)end < limit ? (uint32_t)end : limit, last);
			continue;
		}
		scope = scope_of_place(m, at);
		frame = scope == NONE ? NONE : frame_of(m, scope);
		last = frame == NONE ? 0 : frame;
		put_place(m, (uint32_t)end, last);
	}
	if (limit > 0)
		put_near(m, limit - 1, last);
}

/* Interpreted code: a place is one of the bytecode. */
static void put_lines(struct maker *m, const struct java_method *method)
{
	const struct java_line *lines;
	size_t len = java_method_lines(&m->methods, method, &lines);

	if (len > 0 && lines[0].bci > 0)
		put_place(m, lines[0].bci - 1, 0);
	for (size_t i = 0; i < len; i++) {
		uint32_t frame = put_frame(m, method, lines[i].line, NONE);

		put_place(m, i + 1 < len ? lines[i + 1].bci - 1 : UINT16_MAX,
			frame == NONE ? 0 : frame);
	}
}

static int put_table(struct maker *m, struct buf *out)
{
	struct java_table table = { .places_len = (uint32_t)m->out_places.len,
		.frames_len = (uint32_t)m->frames.len };
	size_t fixed = sizeof(table) + m->out_places.len * sizeof(struct java_place) +
		m->frames.len * sizeof(struct java_frame);
	uint64_t bytes;

	buf_putc(&m->text, '\0'); /* the last byte is a text's end, whatever its length */
	while (buf_err(&m->text) == 0 && (fixed + m->text.len) % 8 != 0)
		buf_putc(&m->text, '\0');
	if (buf_err(&m->text) < 0)
		return buf_err(&m->text);
	bytes = fixed + m->text.len;
	if (bytes > JAVA_TABLE_BYTES_MAX)
		bytes = 0;
	buf_put(out, &bytes, sizeof(bytes));
	if (bytes == 0)
		return buf_err(out);
	table.bytes = (uint32_t)bytes;
	table.text_bytes = (uint32_t)m->text.len;
	buf_put(out, &table, sizeof(table));
	buf_put(out, m->out_places.data, m->out_places.len * sizeof(struct java_place));
	buf_put(out, m->frames.data, m->frames.len * sizeof(struct java_frame));
	return buf_append(out, &m->text);
}

/* Is it the method that BPF saw? Another one may have its place by now. */
static bool is_same(const struct java_wanted *code, const struct java_method *method)
{
	return method->name.len == code->name_bytes && method->class.len == code->class_bytes &&
		memcmp(method->name.data, code->name, code->name_bytes) == 0 &&
		memcmp(method->class.data, code->class, code->class_bytes) == 0;
}

/* Without what it wants the table is not whole, and is made again. */
static int make_table(struct maker *m, const struct java_wanted *code, struct buf *out)
{
	const uint64_t none = 0;
	const struct java_method *method;
	const uint8_t *blob = NULL;
	bool lacks_blob = false;

	begin_code(m, code);
	if (code->blob && m->image->layout->has_scopes) {
		blob = find_blob(m);
		lacks_blob = !blob;
		if (blob && find_tables(m, blob))
			want_methods(m);
		else
			m->places.len = 0;
	}
	method = java_method_find(&m->methods, code->method);
	if (!method || !is_same(code, method) || lacks_blob)
		return buf_put(out, &none, sizeof(none));
	(void)put_frame(m, method, 0, NONE);
	if (m->places.len > 0) {
		put_prologue(m, method, blob);
		put_places(m, blob);
	} else if (!code->blob) {
		put_lines(m, method);
	}
	return put_table(m, out);
}

static int read_all(struct java_image *image, struct buf *out)
{
	_cleanup_(maker_done) struct maker m = { .image = image, .methods.image = image };
	struct java_reply reply = { .tables_len = (uint32_t)image->codes_len };
	size_t begins = out->len;

	buf_put(out, &reply, sizeof(reply));
	for (size_t i = 0; i < image->codes_len && buf_err(out) == 0; i++) {
		int err = make_table(&m, &image->codes[i], out);

		if (err < 0)
			return err;
	}
	if (image->err < 0 || buf_err(out) < 0)
		return image->err < 0 ? image->err : buf_err(out);
	if (image->wants.len == 0)
		return 0;
	if (image->wants.len + image->ranges_len > JAVA_RANGES_MAX)
		return -EFBIG;
	out->len = begins;
	reply = (struct java_reply){ .ranges_len = (uint32_t)image->wants.len };
	buf_put(out, &reply, sizeof(reply));
	return buf_put(out, image->wants.data, image->wants.len * sizeof(struct java_range));
}

int java_code_read(const void *data, size_t size, struct buf *out)
{
	_cleanup_(java_image_done) struct java_image image = { 0 };
	int err = java_image_open(&image, data, size);

	return err < 0 ? err : read_all(&image, out);
}
