/* SPDX-License-Identifier: Apache-2.0 */
/* tests/step/record.c - writes what a walk asked for as it asks, and the top of the stack, so a
 * fixture holds little more than that: a walk that asks for anything else is another walk. */
#include "record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/reasons.h"
#include "unwind/walk.h"

#define GPRS 16
#define STACK_BYTES 2048
#define CALL_BYTES 8
#define LINK_MAP_REAL 40 /* l_real: a link map's own address */

static const char *name_at(struct space *space, uint64_t addr, uint64_t *offset)
{
	const struct mapping *m = space_find(space, addr);

	*offset = 0;
	return m && m->object ? object_symbol(m->object, addr - m->start + m->file_offset, offset)
			      : "?";
}

/* The top of the stack, the code that its words may return to, and the loader's link maps that they
 * are: so that a walk that goes wrong does so as it would there. */
static void record_stack(struct record *r, struct space *space)
{
	uint32_t len = space->stack_len < STACK_BYTES ? space->stack_len : STACK_BYTES;
	uint8_t code[CALL_BYTES + 1];

	record_memory(r, space->stack_base, space->stack, len);
	for (uint32_t i = 0; i + 8 <= len; i += 8) {
		const struct mapping *m;
		uint64_t word, real;

		memcpy(&word, space->stack + i, sizeof(word));
		m = space_find(space, word);
		if (m && m->executable &&
			space_read(space, word - CALL_BYTES, code, sizeof(code)) == 0)
			record_memory(r, word - CALL_BYTES, code, sizeof(code));
		else if (m && space_read(space, word + LINK_MAP_REAL, &real, sizeof(real)) == 0 &&
			real == word)
			record_memory(r, word + LINK_MAP_REAL, &real, sizeof(real));
	}
}

int record_begin(struct record *r, struct space *space, uint64_t pc)
{
	uint64_t offset;

	if (r->done || strcmp(name_at(space, pc, &offset), r->function) != 0)
		return 0;
	if (r->skip > 0) {
		r->skip--;
		return 0;
	}
	r->done = 1;
	r->file = fopen(r->path, "w");
	if (!r->file) {
		perror(r->path);
		exit(2);
	}
	fprintf(r->file, "# %s at %s+%#" PRIx64 "\n", r->title, r->function, offset);
	record_stack(r, space);
	return 1;
}

void record_rule(
	struct record *r, uint32_t object, uint64_t file_offset, const struct unwind_rule *rule)
{
	fprintf(r->file, "rule %u %" PRIu64 " %u %u %u %u %d %d %d %d\n", object, file_offset,
		rule->cfa, rule->cfa_reg, rule->ra, rule->fp, rule->cfa_off, rule->cfa_add,
		rule->ra_off, rule->fp_off);
}

void record_memory(struct record *r, uint64_t addr, const void *bytes, uint32_t size)
{
	fprintf(r->file, "memory %" PRIx64 " ", addr);
	for (uint32_t i = 0; i < size; i++)
		fprintf(r->file, "%02x", ((const uint8_t *)bytes)[i]);
	fputc('\n', r->file);
}

static void write_frame(struct record *r, struct space *space, uint64_t frame)
{
	uint64_t payload = frame & FRAME_PAYLOAD_MASK, offset;
	uint32_t object = (uint32_t)(payload >> FRAME_OBJECT_SHIFT);
	const char *guess = frame & FRAME_BY_GUESS ? " guess" : "";
	const char *chain = frame & FRAME_BY_CHAIN ? " chain" : "";
	const struct mapping *m;

	if (FRAME_KIND(frame) != FRAME_FILE) {
		fprintf(r->file, "frame 0 %" PRIu64 " ?%s%s\n", payload, guess, chain);
		return;
	}
	m = &space->mappings.data[object - 1];
	payload &= FRAME_OFFSET_MASK;
	fprintf(r->file, "frame %u %" PRIu64 " %s%s%s\n", object, payload,
		object_symbol(m->object, payload, &offset), guess, chain);
}

void record_end(struct record *r, struct space *space, const struct event_deferred *deferred,
	const struct walk_stack *stack, uint32_t end)
{
	static const char *const ends[] = {
#define X(id, name, text) [id] = name,
		STACK_ENDS(X)
#undef X
	};

	fprintf(r->file, "regs %llx %llx %llx %llx", deferred->pc, deferred->sp, deferred->fp,
		deferred->start_stack);
	for (int i = 0; i < GPRS; i++)
		fprintf(r->file, " %llx", deferred->gpr[i]);
	fputc('\n', r->file);
	vec_each (&space->code, m) {
		const struct object *o =
			m->object ? space->mappings.data[m->object - 1].object : NULL;

		fprintf(r->file, "code %llx %llx %llx %u %u %s\n", m->start, m->end, m->file_offset,
			m->object, o && o->rows ? TABLE_READY : TABLE_NONE, o ? o->name : "?");
	}
	for (uint32_t i = 0; i < stack->frames_len; i++)
		write_frame(r, space, stack->frames[i]);
	fprintf(r->file, "end %s\n", ends[end]);
	fclose(r->file);
	r->file = NULL;
}
