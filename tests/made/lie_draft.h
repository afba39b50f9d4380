/* SPDX-License-Identifier: Apache-2.0 */
/* lie_draft.h - a worker's reply before it is sent: made honestly, then lied in. */
#pragma once

#include "lie_fields.h"
#include "made_rows.h"

/* What an honest worker says of everything. */
#define HONEST_SYMBOLS 100
#define HONEST_CALL 77
#define HONEST_NAME "honest_function" /* of as many bytes as an answer's field has */
#define HONEST_PATH "/src/a_source.c"
#define HONEST_LINK "honest.debug"
/* That of CPython 3.12, for 3.99. */
#define HONEST_TABLE                                                              \
	"stoker-table 1\nruntime cpython\nversion 3.99\nruntime.interpreters 40\n" \
	"interpreter.threads 72\nthread.next 8\nthread.id 136\nthread.link 56\n"   \
	"link.frame 0\nframe.code 0\nframe.previous 8\nframe.place 56\n"           \
	"frame.end 70\nplace address\nsegment shim\nsegment.value 3\n"             \
	"code.file 112\ncode.name 128\ncode.lines 136\ncode.first_line 68\n"       \
	"code.first 192\ntext.ascii 40\ntext.other 56\ntext.shift 2\n"
#define HONEST_FACT "honest fact"
#define HONEST_CODE 0x7f0000001000UL /* where a page of it is mapped */

#define LIE_FDS_MAX 20       /* descriptors of one message */
#define DRAFT_ANSWERS_MAX 64 /* that are remembered, to be lied about */

struct lie_draft {
	struct proto_message m; /* without descriptors; of its bytes, head.size are made */
	uint32_t len;           /* of what is sent: there may be more of it than m has */
	uint32_t answers[DRAFT_ANSWERS_MAX], answers_len;
	uint32_t extra_fds;
	struct made_shape shape; /* of rows */
	struct made_rows rows;   /* for the memory; bytes NULL: nothing is written there */
	size_t memory_size;
	int memory_lie; /* enum lie_memory; -1: none */
	bool silent, gone, ends, twice, unasked;
};

/* wants: names with lines want a file first, which is counted down. */
void lie_draft_make(struct lie_draft *draft, const struct proto_head *to,
	const struct proto_message *request, const struct made_shape *shape, unsigned int *wants);
void lie_draft_tell(
	struct lie_draft *draft, struct lie_target *target, unsigned int value, uint32_t any);
/* Writes what is for the memory that came with the request. A byte of it that stays mapped, to be
 * unmapped; NULL: none does. */
void *lie_draft_write(const struct lie_draft *draft, int memory);
void lie_draft_done(struct lie_draft *draft);
