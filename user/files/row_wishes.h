/* SPDX-License-Identifier: Apache-2.0 */
/* files/row_wishes.h - requests for single pages of rows: of those that a tick or a deferred sample
 * met first. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct event_page;
struct object;
struct objects;
struct publish;
struct unwind_rows_view;
struct worker_client;
struct worker_rows;

struct row_wishes {
	struct objects *objects;
	struct publish *publish;
	struct worker_client *worker;
	uint64_t account; /* of whose samples the requests are; 0: unknown */
};

/* Requests the page of this number in the object's file, unless it is there. If it cannot be
 * requested, BPF may ask for it again. ctx: a struct row_wishes. */
void row_wishes_page(void *ctx, uint32_t id, uint64_t number);
/* Requests the file's rows: an outline or a table. 0 or as worker_client_rows. */
int row_wishes_file(struct worker_client *worker, const struct object *object);
/* Do the rows say that the pages cannot be compiled one by one? Then the table is requested. */
bool row_wishes_table(
	struct worker_client *worker, struct object *object, const struct worker_rows *rows);
/* All pages of a file that has few: most are hit, and each that is missing defers a sample. */
void row_wishes_few(struct worker_client *worker, const struct object *object,
	const struct unwind_rows_view *rows);
/* A tick met this page, which is absent: loads it, or requests it. */
int row_wishes_tick(const struct row_wishes *wishes, const struct event_page *event);
