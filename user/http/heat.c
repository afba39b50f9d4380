/* SPDX-License-Identifier: Apache-2.0 */
/* http/heat.c - a table of rows (containers, or whatever the first label is) by cells of
 * time. Rows beyond the hottest are in the sum alone. */
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
		struct row *row = get_row(h, store_text(h->store, group->name));

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
	int err = 0;

	for (size_t i = 0; err == 0 && i < store_len(h->store); i++) {
		const struct store_entry *entry = store_entry(h->store, i);

		if (!counts(h, entry))
			continue;
		if (first)
			err = put_in_cell(h, entry, n);
		each_group(h, entry, n / h->per_cell, first ? add_to_row : add_to_cell);
		n++;
	}
	return err;
}

static int hotter(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	return left->cpu_s < right->cpu_s ? 1 : left->cpu_s > right->cpu_s ? -1 : 0;
}

/* Rows stay in the order of their names till all is added. */
static int choose_rows(struct heat *h)
{
	VEC(struct row) sorted = { 0 };
	int err = 0;

	vec_each (&h->rows, row) {
		struct row *slot = vec_add(&sorted);

		if (slot)
			*slot = *row;
		else
			err = -ENOMEM;
	}
	if (sorted.len > 0)
		qsort(sorted.data, sorted.len, sizeof(*sorted.data), hotter);
	for (size_t i = 0; i < sorted.len && i < ROWS_MAX && err == 0; i++) {
		struct row *row = &h->rows.data[sorted.data[i].name];

		row->cells = calloc(h->cells.len + 1, sizeof(*row->cells));
		err = row->cells ? 0 : -ENOMEM;
	}
	vec_done(&sorted);
	return err;
}

static double cell_seconds(const struct cell *cell)
{
	return (double)(cell->end_ns - cell->start_ns + 1) / 1e9;
}

static int put_numbers(const struct heat *h, const struct row *row, struct buf *out)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < h->cells.len; i++) {
		const struct cell *cell = &h->cells.data[i];

		err = buf_printf(out, "%s%.4g", i > 0 ? "," : "",
			(row ? row->cells[i] : cell->cpu_s) / cell_seconds(cell));
	}
	return err;
}

static int put_row(const struct heat *h, const struct row *row, bool comma, struct buf *out)
{
	double all = 0;
	int err = buf_puts(out, comma ? ",\n{\"name\":" : "\n{\"name\":");

	vec_each (&h->cells, cell)
		all += cell->cpu_s;
	if (err == 0)
		err = json_put(out, row ? strtab_get(&h->names, row->name) : "");
	if (err == 0)
		err = buf_printf(out, ",\"cpu_s\":%.6g,\"cpus\":[", row ? row->cpu_s : all);
	if (err == 0)
		err = put_numbers(h, row, out);
	return err < 0 ? err : buf_puts(out, "]}");
}

static int put_head(const struct heat *h, struct buf *out)
{
	_cleanup_(freep) char *key = strndup(h->by, strcspn(h->by, ","));
	int err = key ? buf_puts(out, "{\"key\":") : -ENOMEM;

	if (err == 0)
		err = json_put(out, key);
	if (err == 0)
		err = buf_printf(out, ",\"since\":%.3f,\"until\":%.3f,\"cells\":[",
			(double)h->args->since_ns / 1e9, (double)h->args->until_ns / 1e9);
	for (size_t i = 0; err == 0 && i < h->cells.len; i++)
		err = buf_printf(out, "%s[%.3f,%.3f]", i > 0 ? "," : "",
			(double)h->cells.data[i].start_ns / 1e9,
			(double)h->cells.data[i].end_ns / 1e9);
	return err < 0 ? err : buf_puts(out, "],\"rows\":[");
}

static int put_all(struct heat *h, struct buf *out)
{
	int err = put_head(h, out);
	bool comma = false;

	if (h->rows.len > 0)
		qsort(h->rows.data, h->rows.len, sizeof(*h->rows.data), hotter);
	vec_each (&h->rows, row) {
		if (err < 0 || !row->cells)
			continue;
		err = put_row(h, row, comma, out);
		comma = true;
	}
	if (err == 0)
		err = buf_puts(out, "],\"all\":");
	if (err == 0)
		err = put_row(h, NULL, false, out);
	return err < 0 ? err : buf_puts(out, "}\n");
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
	int err = strtab_init(&h.names);

	h.per_cell = (entries + cells - 1) / cells;
	if (h.per_cell == 0)
		h.per_cell = 1;
	if (err == 0)
		err = walk(&h, true);
	if (err == 0)
		err = choose_rows(&h);
	if (err == 0)
		err = walk(&h, false);
	if (err == 0)
		err = put_all(&h, out);
	done(&h);
	return err;
}
