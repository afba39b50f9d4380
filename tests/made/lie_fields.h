/* SPDX-License-Identifier: Apache-2.0 */
/* lie_fields.h - every field of every reply of a worker, and what else there is to lie about.
 * Fields are listed once, in X-macros in lie_fields.c; a field that is added to a reply and not
 * listed stops the build, by the sizes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/proto.h"

/* What a number is replaced by, one after the other, or a text. */
#define LIE_VALUES 16
#define LIE_PAGE_ROWS 40 /* of each page of rows that is lied about */

/* Where a field is. */
enum lie_part {
	LIE_REPLY,     /* struct proto_reply, at the beginning of each */
	LIE_BODY,      /* the struct behind it */
	LIE_ANSWER,    /* of names: one of the answers, as it is on the wire */
	LIE_ROWS_HEAD, /* what follows is in the memory that is handed over with rows */
	LIE_ROWS_PAGE,
	LIE_ROWS_RULE,
	LIE_ROWS_DATA,
	LIE_MESSAGE, /* no field: enum lie_message */
	LIE_MEMORY,  /* no field: enum lie_memory */
};

struct lie_field {
	const char *name;
	uint32_t offset;
	uint32_t width; /* bytes of a number; 1: of text too */
	uint32_t len;   /* so many of them */
	bool text;
	bool certain; /* whatever else stands there, the worker is to be lost over it */
};

/* Lies about a message as a whole. Over each the worker is to be lost. */
#define LIE_MESSAGES(X)                                  \
	X(LIE_EMPTY, "no bytes")                         \
	X(LIE_EMPTY_FD, "no bytes, and a descriptor")    \
	X(LIE_HEAD_ONLY, "the head alone")               \
	X(LIE_NO_BODY, "the reply without a body")       \
	X(LIE_CUT, "the last byte is missing")           \
	X(LIE_CUT_UNSAID, "and is said to be there")     \
	X(LIE_HALF, "half of it")                        \
	X(LIE_TAIL_1, "one byte more")                   \
	X(LIE_TAIL_8, "eight bytes more")                \
	X(LIE_TAIL_UNSAID, "bytes more than it says")    \
	X(LIE_FULL, "as long as can be")                 \
	X(LIE_TOO_LONG, "longer than can be")            \
	X(LIE_FD_1, "one descriptor more")               \
	X(LIE_FDS_2, "two more")                         \
	X(LIE_FDS_9, "as many as a message can have")    \
	X(LIE_FDS_20, "more than a message can have")    \
	X(LIE_OTHER_KIND, "a reply of another kind")     \
	X(LIE_TWICE, "twice")                            \
	X(LIE_UNASKED, "and something nobody asked for") \
	X(LIE_SILENT, "no reply")                        \
	X(LIE_GONE, "ends without a reply")              \
	X(LIE_LAST_WORDS, "replies and ends")

/* Lies about the memory that comes with rows; likewise. */
#define LIE_MEMORIES(X)                                     \
	X(LIE_SHORT, "shorter than it says")                \
	X(LIE_LONG, "longer than it says")                  \
	X(LIE_NO_BYTES, "of no bytes")                      \
	X(LIE_HOLE, "a hole")                               \
	X(LIE_MAPPED, "mapped to be written")               \
	X(LIE_SEALED, "sealed against seals")               \
	X(LIE_HALF_TABLE, "half of the table, and says so") \
	X(LIE_TABLE_TAIL, "bytes behind the table, and says so")

#define LIE_ID(id, text) id,
enum lie_message { LIE_MESSAGES(LIE_ID) LIE_MESSAGES_LEN };
enum lie_memory { LIE_MEMORIES(LIE_ID) LIE_MEMORIES_LEN };
#undef LIE_ID

struct lie_target {
	enum proto_kind kind;
	enum lie_part part;
	const struct lie_field *field; /* NULL: what */
	unsigned int what;             /* enum lie_message, enum lie_memory */
	uint64_t lies;
};

#define LIE_TARGETS_MAX 1024

/* All there are. */
size_t lie_targets(struct lie_target out[LIE_TARGETS_MAX]);
const char *lie_kind_name(enum proto_kind kind);
const char *lie_part_name(enum lie_part part);
/* Those of struct fetch_answer (files/fetch.h): of the process that fetches, which is no worker.
 */
size_t lie_fetch_fields(const struct lie_field **out);
/* The field's name, or what the lie is. */
const char *lie_target_name(const struct lie_target *target);
/* Must the worker be lost over it? */
bool lie_target_is_certain(const struct lie_target *target);
/* Puts the value-th lie in the field's place: one of its elements, if it has several. base: of the
 * struct. It is never what was there. */
void lie_in_field(uint8_t *base, const struct lie_field *field, unsigned int value, uint32_t any);
