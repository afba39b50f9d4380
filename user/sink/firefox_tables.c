/* SPDX-License-Identifier: Apache-2.0 */
/* sink/firefox_tables.c - all that a thread needs gets a number, and a table has a row for each
 * number, written column by column. */
#include "sink/firefox_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "sink/json.h"

#define NONE FIREFOX_NONE

/* By enum profile_class; MARK is Other. */
static const int categories[] = {
	[PROFILE_NATIVE] = 1,
	[PROFILE_KERNEL] = 2,
	[PROFILE_JIT] = 3,
	[PROFILE_INLINED] = 4,
	[PROFILE_LANGUAGE] = 5,
	[PROFILE_MARK] = 0,
};

static void met_done(struct firefox_met *met)
{
	vec_done(&met->keys);
	hash_done(&met->index);
}

static void met_clear(struct firefox_met *met)
{
	met->keys.len = 0;
	hash_clear(&met->index);
}

static bool same_function(const struct profile_frame *a, const struct profile_frame *b)
{
	return a->name == b->name && a->module == b->module && a->file == b->file;
}

static void find_functions(struct firefox_tables *w)
{
	const struct profile *p = w->profile;
	_cleanup_(hash_done) struct hash known = HASH_INIT;

	w->func_of = calloc(p->frames.len + 1, sizeof(*w->func_of));
	if (!w->func_of)
		buf_fail(w->out, -ENOMEM);
	for (size_t i = 0; w->func_of && i < p->frames.len; i++) {
		const struct profile_frame *f = &p->frames.data[i];
		const uint32_t what[] = { f->name, f->module, f->file };
		uint64_t key = hash_bytes(what, sizeof(what)), *have;

		while ((have = hash_find(&known, key)) && !same_function(&p->frames.data[*have], f))
			key++;
		w->func_of[i] = have ? (uint32_t)*have : (uint32_t)i;
		if (!have)
			buf_fail(w->out, hash_put(&known, key, i));
	}
}

/* ---- what is met
 * ------------------------------------------------------------------------------ */

/* The number of a key. Without memory the output fails, and the number has no meaning. */
static int64_t meet(struct firefox_tables *w, struct firefox_met *met, uint64_t key)
{
	uint64_t *have = hash_find(&met->index, key), *slot;

	if (have)
		return (int64_t)*have;
	slot = vec_add(&met->keys);
	if (!slot || hash_put(&met->index, key, met->keys.len - 1) < 0) {
		buf_fail(w->out, -ENOMEM);
		return NONE;
	}
	*slot = key;
	return (int64_t)met->keys.len - 1;
}

static int64_t meet_frame(struct firefox_tables *w, uint32_t frame)
{
	const struct profile_frame *f = &w->profile->frames.data[frame];

	meet(w, &w->funcs, w->func_of[frame]);
	meet(w, &w->strings, f->name);
	if (f->file)
		meet(w, &w->strings, f->file);
	if (f->module) {
		meet(w, &w->strings, f->module);
		meet(w, &w->resources, f->module);
	}
	return meet(w, &w->frames, frame);
}

/* A stack is the one below it, counted from 1, and a frame; NONE for one without frames. */
int64_t firefox_stack(struct firefox_tables *w, uint32_t stack)
{
	const struct profile *p = w->profile;
	const struct profile_stack *s = &p->stacks.data[stack];
	int64_t at = NONE;

	for (uint32_t i = s->len; i-- > 0;) {
		int64_t frame = meet_frame(w, p->frame_ids.data[s->first + i]);

		at = meet(w, &w->stacks, (uint64_t)(at + 1) << 32 | (uint64_t)frame);
	}
	return at;
}

static int64_t place_of(const struct firefox_met *met, uint64_t key)
{
	uint64_t *at = hash_find(&met->index, key);

	return at ? (int64_t)*at : NONE;
}

static const struct profile_frame *frame_at(const struct firefox_tables *w, uint64_t key)
{
	return &w->profile->frames.data[key];
}

static int64_t frame_address(const struct firefox_tables *w, uint64_t key)
{
	uint64_t address = frame_at(w, key)->address;

	/* A double has 53 bits, too few for the kernel's addresses. */
	return frame_at(w, key)->class == PROFILE_KERNEL ? 0
							 : (int64_t)(address & ((1ULL << 53) - 1));
}

static int64_t frame_category(const struct firefox_tables *w, uint64_t key)
{
	return categories[frame_at(w, key)->class];
}

static int64_t frame_func(const struct firefox_tables *w, uint64_t key)
{
	return place_of(&w->funcs, w->func_of[key]);
}

static int64_t frame_line(const struct firefox_tables *w, uint64_t key)
{
	return frame_at(w, key)->line ? (int64_t)frame_at(w, key)->line : NONE;
}

static int64_t func_name(const struct firefox_tables *w, uint64_t key)
{
	return place_of(&w->strings, frame_at(w, key)->name);
}

static int64_t func_file(const struct firefox_tables *w, uint64_t key)
{
	return frame_at(w, key)->file ? place_of(&w->strings, frame_at(w, key)->file) : NONE;
}

static int64_t string_of(const struct firefox_tables *w, uint64_t key)
{
	return place_of(&w->strings, key);
}

static int64_t stack_prefix(const struct firefox_tables *w, uint64_t key)
{
	(void)w;
	return (int64_t)(key >> 32) - 1;
}

static int64_t stack_frame(const struct firefox_tables *w, uint64_t key)
{
	(void)w;
	return (int64_t)(uint32_t)key;
}

static int64_t stack_category(const struct firefox_tables *w, uint64_t key)
{
	return frame_category(w, w->frames.keys.data[(uint32_t)key]);
}

/* -1 and not null: no library. */
static int64_t func_resource(const struct firefox_tables *w, uint64_t key)
{
	return frame_at(w, key)->module ? place_of(&w->resources, frame_at(w, key)->module) : NONE;
}

/* A column of a table: what it has in the row of a key. */
struct column {
	const char *name;
	int64_t (*value)(const struct firefox_tables *w, uint64_t key); /* NULL: NONE in all rows */
	const char *none;                                        /* what stands for NONE */
};

static const struct column stack_columns[] = {
	{ "prefix", stack_prefix, "null" },
	{ "frame", stack_frame, "" },
	{ "category", stack_category, "" },
	{ "subcategory", NULL, "0" },
	{ NULL, NULL, NULL },
};
static const struct column resource_columns[] = {
	{ "lib", NULL, "null" },
	{ "name", string_of, "" },
	{ "host", NULL, "null" },
	{ "type", NULL, "1" },
	{ NULL, NULL, NULL },
};
static const struct column frame_columns[] = {
	{ "address", frame_address, "" },
	{ "inlineDepth", NULL, "0" },
	{ "category", frame_category, "" },
	{ "subcategory", NULL, "0" },
	{ "func", frame_func, "" },
	{ "line", frame_line, "null" },
	{ "nativeSymbol", NULL, "null" },
	{ "innerWindowID", NULL, "null" },
	{ "implementation", NULL, "null" },
	{ "column", NULL, "null" },
	{ NULL, NULL, NULL },
};
static const struct column func_columns[] = {
	{ "name", func_name, "" },
	{ "isJS", NULL, "false" },
	{ "relevantForJS", NULL, "false" },
	{ "resource", func_resource, "-1" },
	{ "fileName", func_file, "null" },
	{ "lineNumber", NULL, "null" },
	{ "columnNumber", NULL, "null" },
	{ NULL, NULL, NULL },
};

void firefox_number(struct buf *out, int64_t number, const char *none)
{
	if (number == NONE)
		buf_puts(out, none);
	else
		buf_printf(out, "%lld", (long long)number);
}

static void put_column(
	struct firefox_tables *w, const struct column *column, const struct firefox_met *met)
{
	buf_printf(w->out, ",\"%s\":[", column->name);
	for (size_t i = 0; i < met->keys.len; i++) {
		int64_t value = column->value ? column->value(w, met->keys.data[i]) : NONE;

		if (i > 0)
			buf_putc(w->out, ',');
		firefox_number(w->out, value, column->none);
	}
	buf_putc(w->out, ']');
}

/* A row for each that was met. */
static void put_table(struct firefox_tables *w, const char *name, const struct firefox_met *met,
	const struct column *columns)
{
	buf_printf(w->out, ",\n\"%s\":{\"length\":%zu", name, met->keys.len);
	for (; columns->name; columns++)
		put_column(w, columns, met);
	buf_putc(w->out, '}');
}

static void put_strings(struct firefox_tables *w)
{
	buf_puts(w->out, ",\n\"stringArray\":[");
	for (size_t i = 0; i < w->strings.keys.len; i++) {
		const char *text = profile_text(w->profile, (uint32_t)w->strings.keys.data[i]);

		if (i > 0)
			buf_putc(w->out, ',');
		json_put(w->out, *text ? text : "?");
	}
	buf_putc(w->out, ']');
}

int firefox_tables_init(
	struct firefox_tables *w, const struct profile *profile, struct buf *out)
{
	*w = (struct firefox_tables){ .profile = profile, .out = out };
	find_functions(w);
	return buf_err(out);
}

void firefox_tables_done(struct firefox_tables *w)
{
	free(w->func_of);
	met_done(&w->frames);
	met_done(&w->funcs);
	met_done(&w->resources);
	met_done(&w->strings);
	met_done(&w->stacks);
}

void firefox_tables_clear(struct firefox_tables *w)
{
	met_clear(&w->frames);
	met_clear(&w->funcs);
	met_clear(&w->resources);
	met_clear(&w->strings);
	met_clear(&w->stacks);
}

int64_t firefox_string(struct firefox_tables *w, uint32_t string)
{
	return meet(w, &w->strings, string);
}

void firefox_tables_write(struct firefox_tables *w)
{
	put_table(w, "stackTable", &w->stacks, stack_columns);
	put_table(w, "resourceTable", &w->resources, resource_columns);
	put_table(w, "frameTable", &w->frames, frame_columns);
	put_table(w, "funcTable", &w->funcs, func_columns);
	put_strings(w);
}
