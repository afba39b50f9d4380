/* SPDX-License-Identifier: Apache-2.0 */
/* agent/naming_codes.c - names places in code of languages: by the code's table, if it has one,
 * else a worker does by what BPF has sent. */
#include "agent/naming_batch.h"

#include <errno.h>
#include <string.h>

#include "client/codes.h"
#include "files/java_tables.h"
#include "language/java_table.h"

static const enum name_source code_sources[] = { NAME_CODE };

/* Names a place of HotSpot's code, with the methods that are inlined there, by its table. */
static int put_java(
	struct naming_batch *b, struct naming_place *place, const struct java_table *table)
{
	const struct java_frame *frame =
		java_table_find(table, (uint32_t)(place->address & FRAME_PLACE_MASK));
	int err = 0;

	while (frame && err == 0) {
		const struct java_frame *outer = java_table_outer(table, frame);
		const char *file = java_table_text(table, frame->file);
		const struct worker_name name = {
			.name = java_table_text(table, frame->name),
			.path = *file ? file : NULL,
			.line = frame->line,
			.inlined = outer != NULL,
		};

		err = naming_put_named(b, place, &name, NAME_CODE);
		frame = outer;
	}
	return err;
}

/* Names those that have a table. The places of a code follow each other. */
static int put_tables(struct naming_batch *b)
{
	struct naming *n = b->naming;
	const struct java_table *table = NULL;
	uint32_t last = 0;
	int err = 0;

	if (!n->lines)
		return 0;
	for (size_t i = 0; i < b->len && err == 0; i++) {
		uint32_t id = (uint32_t)(b->places[i].address >> FRAME_PLACE_BITS);

		if (id != last)
			table = java_tables_find(n->tables, id);
		last = id;
		if (table)
			err = put_java(b, &b->places[i], table);
	}
	return err;
}

/* The others. */
static int list_codes(struct naming_batch *b)
{
	struct naming *n = b->naming;
	uint32_t last = 0;

	n->codes.len = n->addresses.len = n->asked.len = 0;
	if (vec_reserve(&n->addresses, b->len) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < b->len; i++) {
		uint32_t id = (uint32_t)(b->places[i].address >> FRAME_PLACE_BITS);
		uint64_t *place;
		uint32_t *asked;
		struct proto_code *code;

		if (b->places[i].source >= 0)
			continue;
		place = vec_add(&n->addresses);
		asked = vec_add(&n->asked);
		code = id == last ? &n->codes.data[n->codes.len - 1] : vec_add(&n->codes);
		if (!place || !asked || !code)
			return -ENOMEM;
		*asked = (uint32_t)i;
		*place = b->places[i].address & FRAME_PLACE_MASK;
		if (id != last)
			*code = (struct proto_code){ tally_find_code(n->tally, id), place, 0 };
		code->places_len++;
		last = id;
	}
	return 0;
}

static int on_code_name(void *ctx, size_t index, const struct worker_name *name)
{
	struct naming_batch *b = ctx;

	return index < b->naming->asked.len ? naming_on_name(b, b->naming->asked.data[index], name)
					    : -EBADMSG;
}

/* HotSpot's interpreter, while it enters or leaves a method. */
static bool is_interpreter(const struct naming_batch *b, const struct naming_place *place)
{
	static const char name[] = "Interpreter";
	const struct event_code *code =
		tally_find_code(b->naming->tally, (uint32_t)(place->address >> FRAME_PLACE_BITS));

	return code && code->language == LANGUAGE_HOTSPOT && code->file_bytes == 0 &&
		code->name_bytes >= strlen(name) &&
		memcmp(code->name, name, strlen(name)) == 0 &&
		(code->name_bytes == strlen(name) || code->name[strlen(name)] == '\0');
}

#define UNREADABLE_CODE "[unreadable code]"

int naming_codes(struct naming_batch *b, uint64_t process)
{
	struct naming *n = b->naming;
	struct worker_codes codes = {
		.id = process,
		.lines = n->lines,
		.until_ns = n->until_ns,
	};
	enum worker_status status = WORKER_OK;
	int err = 0;

	b->frame.class = PROFILE_LANGUAGE;
	b->sources = code_sources;
	b->sources_len = ARRAY_SIZE(code_sources);
	if (process)
		err = put_tables(b);
	if (err == 0 && process)
		err = list_codes(b);
	codes.all = n->codes.data;
	codes.len = n->codes.len;
	if (err == 0 && process)
		err = worker_client_codes(n->worker, &codes, on_code_name, b, &status);
	for (size_t i = 0; i < b->len && err == 0; i++) {
		b->places[i].interpreter = is_interpreter(b, &b->places[i]);
		if (b->places[i].source < 0)
			err = naming_put_name(b, &b->places[i], UNREADABLE_CODE,
				UNNAMED(process ? UNNAMED_WORKER : UNNAMED_CODE));
	}
	return err;
}
