/* SPDX-License-Identifier: Apache-2.0 */
/* http/heat.c - a table of rows (containers, or another first label) by cells of time. The coldest
 * rows are part of the sum alone. */
#include "http/heat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "sink/json.h"

#define ROWS_MAX 40
#define NAMES_MAX 4096
#define CELLS_DEFAULT 240

struct cell {
	uint64_t start_ns, end_ns;
	double cpu_s;
};

struct row {
	uint32_t name; /* in names */
	double cpu_s;
	double *cells; /* cpu_s of each; NULL: not shown */
};

struct heat {
	const struct store *store;
	const struct http_args *args;
	const char *by; /* of the newest that counts */
	size_t per_cell;
	VEC(struct cell) cells;
	VEC(struct row) rows; /* by the name's id */
	struct strtab names;
};

static bool counts(const struct heat *h, const struct store_entry *entry)
{
	uint64_t middle = entry->start_ns + (entry->end_ns - entry->start_ns) / 2;

	return middle >= h->args->since_ns && middle < h->args->until_ns;
}

/* The rows of segments that are labelled otherwise would mean something else. */
static bool is_alike(const struct heat *h, const struct store_entry *entry)
{
	const char *by = store_text(h->store, entry->by);
	size_t len = strcspn(h->by, ",");

	return strcspn(by, ",") == len && memcmp(by, h->by, len) == 0;
}

static size_t count_entries(struct heat *h)
{
	size_t n = 0;

	for (size_t i = 0; i < store_len(h->store); i++) {
		if (!counts(h, store_entry(h->store, i)))
			continue;
		h->by = store_text(h->store, store_entry(h->store, i)->by);
		n++;
	}
	return n;
}

/* NULL: out of memory, or too many; the latter are in the sum alone. */
static struct row *get_row(struct heat *h, const char *name)
{
	struct row *row;
	uint32_t id;

	if (strtab_put(&h->names, name, strlen(name), &id) < 0 || id >= NAMES_MAX)
		return NULL;
	while (h->rows.len <= id) {
		row = vec_add(&h->rows);
		if (!row)
			return NULL;
		row->name = (uint32_t)h->rows.len - 1;
	}
	return &h->rows.data[id];
}

typedef void (*group_fn)(struct row *row, size_t cell, double cpu_s);

static void add_to_row(struct row *row, size_t cell, double cpu_s)
{
	(void)cell;
	row->cpu_s += cpu_s;
}

static void add_to_cell(struct row *row, size_t cell, double cpu_s)
{
	if (row->cells)
		row->cells[cell] += cpu_s;
}

static void each_group(struct heat *h, const struct store_entry *entry, size_t cell, group_fn add)
{
	for (size_t i = 0; is_alike(h, entry) && i < entry->groups_len; i++) {
		const struct store_group *group = store_group(h->store, entry, i);
		struct row *row = group->kind == 0
			? get_row(h, store_text(h->store, group->name))
			: NULL;

		if (row)
			add(row, cell, (double)group->samples / (entry->hz > 0 ? entry->hz : 1));
	}
}

static int put_in_cell(struct heat *h, const struct store_entry *entry, size_t i)
{
	struct cell *cell =
		i % h->per_cell > 0 && h->cells.len > 0 ? &h->cells.data[h->cells.len - 1] : NULL;

	if (!cell) {
		cell = vec_add(&h->cells);
		if (!cell)
			return -ENOMEM;
		cell->start_ns = entry->start_ns;
	}
	if (entry->end_ns > cell->end_ns)
		cell->end_ns = entry->end_ns;
	cell->cpu_s += (double)entry->samples / (entry->hz > 0 ? entry->hz : 1);
	return 0;
}

static int walk(struct heat *h, bool first)
{
	size_t n = 0;

	for (size_t i = 0; i < store_len(h->store); i++) {
		const struct store_entry *entry = store_entry(h->store, i);

		if (!counts(h, entry))
			continue;
		if (first && put_in_cell(h, entry, n) < 0)
			return -ENOMEM;
		each_group(h, entry, n / h->per_cell, first ? add_to_row : add_to_cell);
		n++;
	}
	return 0;
}

static int hotter(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	return left->cpu_s < right->cpu_s ? 1 : left->cpu_s > right->cpu_s ? -1 : 0;
}

/* Rows stay in the order of their names till all is added. */
static int choose_rows(struct heat *h)
{
	size_t len = h->rows.len;
	_cleanup_(freep) struct row *sorted = calloc(len + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < len; i++)
		sorted[i] = h->rows.data[i];
	qsort(sorted, len, sizeof(*sorted), hotter);
	for (size_t i = 0; i < len && i < ROWS_MAX; i++) {
		struct row *row = &h->rows.data[sorted[i].name];

		row->cells = calloc(h->cells.len + 1, sizeof(*row->cells));
		if (!row->cells)
			return -ENOMEM;
	}
	return 0;
}

static double cell_seconds(const struct cell *cell)
{
	return (double)(cell->end_ns - cell->start_ns + 1) / 1e9;
}

static void put_numbers(const struct heat *h, const struct row *row, struct buf *out)
{
	for (size_t i = 0; i < h->cells.len; i++) {
		const struct cell *cell = &h->cells.data[i];

		buf_printf(out, "%s%.4g", i > 0 ? "," : "",
			(row ? row->cells[i] : cell->cpu_s) / cell_seconds(cell));
	}
}

static void put_row(const struct heat *h, const struct row *row, bool comma, struct buf *out)
{
	double all = 0;

	buf_puts(out, comma ? ",\n{\"name\":" : "\n{\"name\":");
	vec_each (&h->cells, cell)
		all += cell->cpu_s;
	json_put(out, row ? strtab_get(&h->names, row->name) : "");
	buf_printf(out, ",\"cpu_s\":%.6g,\"cpus\":[", row ? row->cpu_s : all);
	put_numbers(h, row, out);
	buf_puts(out, "]}");
}

static void put_head(const struct heat *h, struct buf *out)
{
	_cleanup_(freep) char *key = strndup(h->by, strcspn(h->by, ","));

	buf_fail(out, key ? 0 : -ENOMEM);
	buf_puts(out, "{\"key\":");
	json_put(out, key ? key : "");
	buf_printf(out, ",\"since\":%.3f,\"until\":%.3f,\"cells\":[",
		(double)h->args->since_ns / 1e9, (double)h->args->until_ns / 1e9);
	for (size_t i = 0; i < h->cells.len; i++)
		buf_printf(out, "%s[%.3f,%.3f]", i > 0 ? "," : "",
			(double)h->cells.data[i].start_ns / 1e9,
			(double)h->cells.data[i].end_ns / 1e9);
	buf_puts(out, "],\"rows\":[");
}

static void put_all(struct heat *h, struct buf *out)
{
	bool comma = false;

	put_head(h, out);
	if (h->rows.len > 0)
		qsort(h->rows.data, h->rows.len, sizeof(*h->rows.data), hotter);
	vec_each (&h->rows, row) {
		if (!row->cells)
			continue;
		put_row(h, row, comma, out);
		comma = true;
	}
	buf_puts(out, "],\"all\":");
	put_row(h, NULL, false, out);
	buf_puts(out, "}\n");
}

static void done(struct heat *h)
{
	vec_each (&h->rows, row)
		free(row->cells);
	vec_done(&h->rows);
	vec_done(&h->cells);
	strtab_done(&h->names);
}

int http_heat_write(const struct store *store, const struct http_args *args, struct buf *out)
{
	struct heat h = { .store = store, .args = args, .by = "" };
	size_t cells = args->cells > 0 ? args->cells : CELLS_DEFAULT, entries = count_entries(&h);

	h.per_cell = (entries + cells - 1) / cells;
	if (h.per_cell == 0)
		h.per_cell = 1;
	if (strtab_init(&h.names) < 0 || walk(&h, true) < 0 || choose_rows(&h) < 0 ||
		walk(&h, false) < 0)
		buf_fail(out, -ENOMEM);
	else
		put_all(&h, out);
	done(&h);
	return buf_err(out);
}
