/* SPDX-License-Identifier: Apache-2.0 */
/* publish_driver.c - a small host: some files, each met by BPF, compiled, published, forgotten and
 * met again, as the agent does it. After each step the maps must be consistent; after the last one,
 * with nothing failing any more, BPF must have been told of all. */
#include "publish_driver.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/own.h"
#include "bpf/reasons.h"
#include "made_maps.h"
#include "made_rows.h"
#include "rows_find.h"
#include "unwind/publish.h"

#define FILES 12
#define KEPT_BYTES (3U << 20)
#define RULES 96 /* in the map: room for them is short, too */
#define ROWS_MUTATIONS_MAX 8

struct file {
	struct object_key key;
	uint32_t id;           /* the agent's; 0: it does not know the file */
	bool told;             /* rows, or that there are none, were published under the id */
	struct made_rows rows; /* the last that were published without an error */
	bool paged;            /* as an outline */
};

struct drive {
	struct made_maps *made;
	struct publish *publish;
	struct file files[FILES];
	uint32_t next_id;
	uint64_t failing; /* allocations, while publish.c runs */
	struct cursor in;
};

/* What is tested is called with allocations that fail; we are not. */
#define TRIED(d, call)                                 \
	({                                             \
		__typeof__(call) _result;              \
		failing_allocations((d)->failing);     \
		_result = call;                        \
		(d)->failing = failing_allocations(0); \
		_result;                               \
	})

static void wrong(void *ctx, const char *text)
{
	(void)ctx;
	fprintf(stderr, "publish_drive: %s\n", text);
	abort();
}

static void must_be(bool holds, const char *text)
{
	if (!holds)
		wrong(NULL, text);
}

/* ---- what BPF would find --------------------------------------------------------------------
 */

/* Row by row, from the page's first: slower than the searches that it is held against. */
static struct unwind_rule search(struct drive *d, const uint8_t *page, uint64_t offset)
{
	uint32_t chunk = 0, at = (uint32_t)(offset & ((1U << ROWS_PAGE_SHIFT) - 1));
	uint16_t first[ROWS_CHUNKS + 1], rule = 0;
	const uint8_t *rules = page + sizeof(first), *starts;

	memcpy(first, page, sizeof(first));
	starts = rules + 2 * (size_t)first[ROWS_CHUNKS];
	for (uint32_t row = 0; row < first[ROWS_CHUNKS]; row++) {
		while (row >= first[chunk + 1])
			chunk++;
		if ((chunk << ROWS_CHUNK_SHIFT) + starts[row] > at)
			break;
		memcpy(&rule, rules + 2 * (size_t)row, sizeof(rule));
	}
	must_be(memcmp(&d->made->rules[rule], publish_rule(d->publish, rule),
			sizeof(struct unwind_rule)) == 0,
		"BPF has another rule than user space");
	return d->made->rules[rule];
}

/* A rule that there was no room for is said to be unsupported. */
static bool same_rule(struct drive *d, struct unwind_rule is, struct unwind_rule must)
{
	struct publish_stats stats;

	if (memcmp(&is, &must, sizeof(is)) == 0)
		return true;
	publish_stats(d->publish, &stats);
	return stats.rules_refused > 0 && is.cfa == CFA_UNSUPPORTED;
}

static const uint8_t *bytes_of(const struct drive *d, uint32_t page)
{
	return d->made->slabs + ((uint64_t)d->made->pages[page].place << ROWS_PLACE_SHIFT);
}

/* A page that is there has the rows that were published last, and no others. */
static void hold_against_rows(
	struct drive *d, const struct file *file, const struct object_value *value)
{
	const struct unwind_rows_view *view = &file->rows.view;

	for (uint32_t i = 0; i < view->head->pages_len; i += 1 + view->head->pages_len / 4) {
		uint32_t page = value->page_base + view->pages[i].number - value->page_first;
		uint64_t offset = (uint64_t)view->pages[i].number << ROWS_PAGE_SHIFT;
		struct unwind_rule is, must;

		must_be(page - value->page_base < value->pages_len,
			"a page of the rows is missing");
		must_be(d->made->pages[page].place != ROWS_PAGE_EMPTY,
			"a page that has rows is said to be empty");
		if (d->made->pages[page].place < ROWS_PAGE_EMPTY)
			continue;
		for (uint64_t at = offset; at < offset + (1U << ROWS_PAGE_SHIFT); at += 24571) {
			is = search(d, bytes_of(d, page), at);
			must = rows_find(view, at);
			must_be(same_rule(d, is, must),
				"a page has other rows than were published");
		}
	}
}

static void check_file(struct drive *d, const struct file *file)
{
	struct maps_object *object = made_find(d->made, &file->key);

	if (object && file->id && object->value.id == file->id &&
		object->value.table == TABLE_READY && file->rows.bytes)
		hold_against_rows(d, file, &object->value);
}

/* All that the maps have, and after the last step all rows. */
static void check(struct drive *d, bool last)
{
	struct publish_stats stats;

	publish_stats(d->publish, &stats);
	made_is_consistent(d->made, stats.unsettled > 0, !last, wrong, NULL);
	must_be(d->made->objects_len <= MADE_OBJECTS_MAX, "BPF's objects are miscounted");
	for (size_t i = 0; i < FILES && last; i++)
		check_file(d, &d->files[i]);
}

/* ---- steps ------------------------------------------------------------------------------------
 */

static struct file *any_file(struct drive *d)
{
	return &d->files[cursor_u8(&d->in) % FILES];
}

static void meet(struct drive *d, struct file *file)
{
	bool known = made_find(d->made, &file->key) != NULL;
	struct object_value *value = made_meet(d->made, &file->key, d->next_id);

	if (!value || known)
		return;
	/* What the agent knows by its key keeps its first id. */
	if (!file->id)
		file->id = d->next_id;
	file->told = false;
	d->next_id++;
}

static void take_shape(struct cursor *in, struct made_shape *out)
{
	static const uint32_t rows_lens[] = { 1, 3, 40, 300, 2000, 20000 };
	uint8_t pages = cursor_u8(in), apart = cursor_u8(in), rows = cursor_u8(in);
	uint8_t rules = cursor_u8(in);

	out->first = cursor_u8(in) * 16U;
	*out = (struct made_shape){
		.first = out->first,
		.pages = rows % 6 < 3 ? pages : pages % 12,
		.apart = apart < 200 ? 1 : apart - 199U,
		.rows_len = rows_lens[rows % 6],
		.rules_len = 1 + rules % 64U + (rules == 255 ? 9000 : 0),
		.flavour = rules / 64 + out->first / 16 % 16 * 4,
	};
}

/* As a worker that lies could change them. */
static void spoil(struct cursor *in, struct made_rows *rows)
{
	uint8_t changes = cursor_u8(in);

	if (changes < 160)
		return;
	for (uint32_t i = 0; i < changes % ROWS_MUTATIONS_MAX && rows->size > 0; i++) {
		uint32_t at = (uint32_t)cursor_u8(in) << 8 | cursor_u8(in);

		if (cursor_u8(in) & 1)
			at %= sizeof(struct unwind_rows_head) + 4 * sizeof(struct unwind_rows_page);
		((uint8_t *)rows->bytes)[at % rows->size] = cursor_u8(in);
	}
}

/* After an error it may be what was there before, or the new rows, which BPF hears of later. */
static void keep(struct file *file, const struct made_rows *rows, bool paged, int err)
{
	struct made_rows unknown = *rows;

	made_rows_free(&file->rows);
	file->paged = paged;
	if (err == 0)
		file->rows = *rows;
	else
		made_rows_free(&unknown);
}

static void publish(struct drive *d)
{
	struct file *file = any_file(d);
	struct made_shape shape;
	struct made_rows rows;
	int err;

	take_shape(&d->in, &shape);
	if (!file->id)
		meet(d, file);
	if (!file->id)
		return;
	made_rows_make(&shape, &rows);
	spoil(&d->in, &rows);
	if (unwind_rows_view(rows.bytes, rows.size, &rows.view) < 0) {
		made_rows_free(&rows);
		return;
	}
	err = TRIED(d, publish_rows(d->publish, &file->key, file->id, &rows.view));
	file->told = err == 0;
	keep(file, &rows, false, err);
}

/* The pages that the object has come later. */
static void publish_outline(struct drive *d)
{
	struct file *file = any_file(d);
	struct made_rows rows, outline;
	struct made_shape shape;
	int err;

	take_shape(&d->in, &shape);
	if (!file->id)
		meet(d, file);
	if (!file->id || shape.pages == 0)
		return;
	made_rows_make(&shape, &rows);
	if (unwind_rows_view(rows.bytes, rows.size, &rows.view) < 0) {
		made_rows_free(&rows);
		return;
	}
	made_rows_outline(&rows.view, &outline);
	must_be(unwind_rows_view(outline.bytes, outline.size, &outline.view) == 0,
		"an outline is refused");
	err = TRIED(d, publish_rows(d->publish, &file->key, file->id, &outline.view));
	made_rows_free(&outline);
	file->told = err == 0;
	keep(file, &rows, true, err);
}

/* As a worker makes them, for an object that may be another one by now. */
static void publish_pages_of(
	struct drive *d, const struct file *file, const uint32_t *numbers, size_t len, bool spoilt)
{
	struct made_rows pages;

	made_rows_pages(&file->rows.view, numbers, len, &pages);
	if (spoilt)
		spoil(&d->in, &pages);
	if (unwind_rows_view(pages.bytes, pages.size, &pages.view) == 0 &&
		(!spoilt || pages.view.head->kind == UNWIND_ROWS_PAGES))
		TRIED(d, publish_rows(d->publish, &file->key, file->id, &pages.view));
	made_rows_free(&pages);
}

static void give_pages(struct drive *d)
{
	struct file *file = any_file(d);
	uint32_t numbers[8], at = cursor_u8(&d->in);
	size_t len = 0;

	if (!file->id || !file->rows.bytes || !file->paged)
		return;
	at += unwind_rows_first(&file->rows.view);
	for (; len < ARRAY_SIZE(numbers); at += 1 + cursor_u8(&d->in) % 16)
		numbers[len++] = at > 3 ? at - 3 : at;
	for (size_t i = 1; i < len; i++)
		if (numbers[i] <= numbers[i - 1])
			numbers[i] = numbers[i - 1] + 1;
	publish_pages_of(d, file, numbers, len, false);
}

/* Of any file, whole or not: what does not belong to the object changes nothing, and no page is
 * true that a worker lied about. */
static void give_false_pages(struct drive *d)
{
	struct file *file = any_file(d);
	uint32_t number = cursor_u8(&d->in);

	if (!file->id || !file->rows.bytes)
		return;
	number += unwind_rows_first(&file->rows.view);
	publish_pages_of(d, file, &number, 1, true);
	if (file->paged)
		made_rows_free(&file->rows);
}

static void say_none(struct drive *d)
{
	struct file *file = any_file(d);

	if (!file->id)
		return;
	file->told = TRIED(d, publish_none(d->publish, &file->key, file->id)) == 0;
	if (publish_table(d->publish, file->id) != TABLE_READY)
		made_rows_free(&file->rows);
}

static void drop(struct drive *d)
{
	struct publish_object gone[FILES];
	uint32_t which = (uint32_t)cursor_u8(&d->in) << 8 | cursor_u8(&d->in);
	size_t len = 0;

	for (size_t i = 0; i < FILES; i++) {
		struct file *file = &d->files[i];

		if (!(which & 1U << i) || !file->id)
			continue;
		gone[len++] = (struct publish_object){ file->key, file->id };
		file->id = 0;
		file->told = false;
		made_rows_free(&file->rows);
	}
	TRIED(d, (publish_drop(d->publish, gone, len), 0));
}

/* As BPF asks for a page of an object that it takes for ready. */
static void need_page(struct drive *d)
{
	struct file *file = any_file(d);
	struct maps_object *object = made_find(d->made, &file->key);
	uint32_t nth = cursor_u8(&d->in), page, number;
	int outcome;

	if (!object || object->value.table != TABLE_READY || object->value.pages_len == 0)
		return;
	page = object->value.page_base + nth % object->value.pages_len;
	if (!made_ask(d->made, page))
		return;
	outcome = TRIED(d, publish_page(d->publish, object->value.id, page));
	number = publish_page_number(d->publish, object->value.id, page);
	if (outcome == PUBLISH_NOT_COMPILED && file->id == object->value.id && file->rows.bytes &&
		file->paged && nth % 4 != 0)
		publish_pages_of(d, file, &number, 1, false);
	else if (outcome == PUBLISH_NOT_COMPILED)
		publish_page_late(d->publish, object->value.id, number);
	if (outcome != PUBLISH_NOT_KEPT)
		must_be(d->made->pages[page].place != ROWS_PAGE_ASKED, "a page is asked for ever");
}

static void any_page(struct drive *d)
{
	uint32_t id = cursor_u8(&d->in), page = (uint32_t)cursor_u8(&d->in) << 8;

	page |= cursor_u8(&d->in);
	TRIED(d, publish_page(d->publish, id, id & 1 ? page : ~page));
}

static void look_up(struct drive *d)
{
	const struct file *file = any_file(d);
	uint64_t offset = (uint64_t)cursor_u8(&d->in) << 20 | (uint64_t)cursor_u8(&d->in) << 12;
	struct bytes data;
	struct unwind_rule is, must;

	if (TRIED(d, publish_find_page(d->publish, file->id, offset, &data)) != END_NONE ||
		!data.data || !file->rows.bytes)
		return;
	is = search(d, data.data, offset);
	must = rows_find(&file->rows.view, offset);
	must_be(same_rule(d, is, must), "a walk finds other rows than were published");
}

static void pass_time(struct drive *d)
{
	uint32_t used = cursor_u8(&d->in);

	d->made->second++;
	for (uint32_t page = used; used > 0 && page < MADE_PAGES; page += used)
		d->made->pages[page].used = d->made->second;
	publish_settle(d->publish);
	publish_unmap(d->publish);
	check_file(d, &d->files[used % FILES]);
}

static void fail_some(struct drive *d)
{
	d->made->failing = cursor_u8(&d->in);
	d->failing = cursor_u8(&d->in);
	d->failing <<= cursor_u8(&d->in) % 8;
}

/* Accounts 0 to 3 use files, some of them many. */
static void charge(struct drive *d)
{
	const struct file *file = any_file(d);

	publish_charge(d->publish, file->id, cursor_u8(&d->in) % 4);
}

static void step(struct drive *d)
{
	uint8_t what = cursor_u8(&d->in);

	if (what >= 248) {
		charge(d);
		return;
	}
	switch (what < 204 ? what % 12 : 12 + what % 4) {
	case 0:
	case 1:
	case 2:
		publish(d);
		break;
	case 3:
		say_none(d);
		break;
	case 4:
		drop(d);
		break;
	case 5:
	case 6:
		need_page(d);
		break;
	case 7:
		any_page(d);
		break;
	case 8:
		look_up(d);
		break;
	case 9:
		pass_time(d);
		break;
	case 10:
		fail_some(d);
		break;
	case 12:
		publish_outline(d);
		break;
	case 13:
	case 14:
		give_pages(d);
		break;
	case 15:
		give_false_pages(d);
		break;
	default:
		meet(d, any_file(d));
		break;
	}
}

/* Nothing fails any more: BPF waits for nothing that was answered. */
static void settle(struct drive *d)
{
	struct publish_stats stats;

	d->made->failing = 0;
	publish_settle(d->publish);
	publish_stats(d->publish, &stats);
	must_be(stats.unsettled == 0, "an update is never tried again");
	check(d, true);
	for (size_t i = 0; i < FILES; i++) {
		const struct file *file = &d->files[i];
		struct maps_object *object = made_find(d->made, &file->key);

		if (object && file->id && file->told && object->value.id == file->id)
			must_be(object->value.table != TABLE_PENDING,
				"a table is pending for ever");
	}
}

static void drop_all(struct drive *d)
{
	struct publish_stats stats;

	for (size_t i = 0; i < FILES; i++) {
		const struct publish_object gone = { d->files[i].key, d->files[i].id };

		if (gone.id)
			publish_drop(d->publish, &gone, 1);
		made_rows_free(&d->files[i].rows);
		d->files[i].id = 0;
	}
	check(d, true);
	publish_stats(d->publish, &stats);
	must_be(stats.tables == 0 && stats.bytes == 0 && stats.rows == 0, "something is left");
	must_be(stats.kept_bytes == 0, "kept rows are miscounted");
	must_be(stats.rules == 2, "rules are held that no rows refer to");
}

void publish_drive(const uint8_t *data, size_t size)
{
	struct drive d = { .made = made_maps_new(), .next_id = OBJECT_FIRST };

	d.in = cursor_init(data, size);
	d.made->maps.rules_len = RULES;
	d.made->maps.kept_max = KEPT_BYTES;
	for (size_t i = 0; i < FILES; i++)
		d.files[i].key = (struct object_key){ .ino = i + 1, .dev = 1 };
	/* Not even a beginning is sure of its memory. */
	fail_some(&d);
	if (TRIED(&d, publish_new(&d.made->maps, &d.publish)) == 0) {
		while (cursor_left(&d.in) > 0) {
			step(&d);
			check(&d, false);
		}
		settle(&d);
		drop_all(&d);
		publish_free(d.publish);
	}
	free(d.made);
}
