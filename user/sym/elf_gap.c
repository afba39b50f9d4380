/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_gap.c - follows instructions from the start of a function to its end.
 * A return, trap or jump ends a function unless a branch of the same function leads to the next
 * instruction. A tail call looks like a jump within the function: one to an aligned place after
 * padding is taken for a tail call. A call that does not return looks like any other: one is taken
 * for the end if padding follows that nothing jumps over. A wrong guess of this kind ends a
 * function early. Invariant: each byte is read a bounded number of times. */
#include "sym/elf_gap.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "elf/flow.h"

#define PADDED 2 /* the instruction before is padding */
#define TARGET 4 /* a branch or jump leads here */
#define OWN 8    /* one of the current function */
#define INSN 16  /* an instruction begins here */
#define TURNS 32 /* ... which does not only lead to the next one */
#define FUNCTION_ALIGN 16
#define SIGNAL_RETURN_BYTES 9
#define HLT 0xf4
#define UD2 0x0b0f

struct function {
	const struct elf_gap *gap;
	VEC(uint32_t) own; /* places that have the mark OWN */
};

/* ---- one instruction ------------------------------------------------------------------------- */

/* An unreadable instruction is skipped by one byte. */
static struct flow read_at(const struct elf_gap *gap, uint32_t at)
{
	struct cursor c = cursor_init(gap->file.data, gap->file.len);
	struct flow flow;

	cursor_seek(&c, at);
	c = cursor_sub(&c, gap->end - at);
	if (!flow_read(gap->machine, &c, at, &flow))
		flow = (struct flow){ .kind = FLOW_NEXT, .length = 1 };
	return flow;
}

static uint8_t *mark_at(const struct elf_gap *gap, uint64_t at)
{
	bool inside = at >= gap->start && at < gap->end;

	return inside ? &gap->marks[at - gap->start] : NULL;
}

static bool has(const struct elf_gap *gap, uint64_t at, uint8_t mark)
{
	const uint8_t *marks = mark_at(gap, at);

	return marks && (*marks & mark);
}

/* The end of an instruction, or the known beginning that it runs into. */
static uint32_t end_of(const struct elf_gap *gap, uint32_t at, uint32_t length)
{
	uint32_t end = at + 1;

	while (end < at + length && end < gap->end && !has(gap, end, ELF_GAP_START))
		end++;
	return end;
}

/* From any place to the next that is no padding, or is a known beginning. */
static uint32_t skip_padding(const struct elf_gap *gap, uint32_t at)
{
	while (at < gap->end && !has(gap, at, ELF_GAP_START)) {
		struct flow flow = read_at(gap, at);
		bool zero = gap->file.data[at] == 0;

		if (flow.kind != FLOW_PADDING && !zero)
			break;
		at = zero ? at + 1 : end_of(gap, at, flow.length);
	}
	return at;
}

/* ---- the first reading ----------------------------------------------------------------------- */

void elf_gap_read(struct elf_gap *gap)
{
	for (uint32_t at = gap->start, end; at < gap->end; at = end) {
		struct flow flow = read_at(gap, at);
		uint8_t *to = flow.direct ? mark_at(gap, flow.target) : NULL, *after;

		end = end_of(gap, at, flow.length);
		after = mark_at(gap, end);
		*mark_at(gap, at) |= flow.kind == FLOW_NEXT ? INSN : INSN | TURNS;
		if (to && flow.kind != FLOW_CALL)
			*to |= TARGET;
		if (after && flow.kind == FLOW_PADDING)
			*after |= PADDED;
	}
}

void elf_gap_called(struct elf_gap *gap, uint32_t offset)
{
	uint8_t *marks = mark_at(gap, offset);

	if (marks && (*marks & INSN) && read_at(gap, offset).kind != FLOW_PADDING)
		*marks |= ELF_GAP_START;
}

bool elf_gap_has(const struct elf_gap *gap, uint32_t offset)
{
	return has(gap, offset, INSN);
}

/* ---- one function ---------------------------------------------------------------------------- */

/* Does the jump lead on within the function? */
static bool is_own(const struct elf_gap *gap, const struct flow *flow, uint32_t after)
{
	if (!flow->direct || flow->kind == FLOW_CALL || flow->target < after)
		return false;
	if (flow->kind == FLOW_BRANCH)
		return true;
	return flow->target > skip_padding(gap, after) &&
		!(flow->target % FUNCTION_ALIGN == 0 && has(gap, flow->target, PADDED));
}

static int note_own(struct function *f, const struct flow *flow, uint32_t after)
{
	uint8_t *marks = is_own(f->gap, flow, after) ? mark_at(f->gap, flow->target) : NULL;
	uint32_t *slot;

	if (!marks || (*marks & OWN))
		return 0;
	slot = vec_add(&f->own);
	if (!slot)
		return -ENOMEM;
	*slot = (uint32_t)flow->target;
	*marks |= OWN;
	return 0;
}

/* A call of a function that begins with a trap, as __stack_chk_fail of musl, does not return. */
static bool calls_trap(const struct elf_gap *gap, const struct flow *flow)
{
	struct cursor c = cursor_init(gap->file.data, gap->file.len);
	uint16_t code;

	if (!flow->direct || gap->machine != EM_X86_64)
		return false;
	cursor_seek(&c, flow->target);
	code = cursor_u16(&c);
	return (code & 0xff) == HLT || code == UD2;
}

static bool goes_on(const struct elf_gap *gap, const struct flow *flow, uint32_t after)
{
	uint32_t next = after;

	switch (flow->kind) {
	case FLOW_NEXT:
	case FLOW_PADDING:
	case FLOW_BRANCH:
		return true;
	case FLOW_CALL:
		if (calls_trap(gap, flow))
			break;
		next = skip_padding(gap, after);
		return next == after || next % FUNCTION_ALIGN != 0 || has(gap, next, TARGET);
	case FLOW_INDIRECT:
		/* of a jump table */
		if (after % FUNCTION_ALIGN != 0 && skip_padding(gap, after) == after)
			return true;
		break;
	case FLOW_JUMP:
	case FLOW_END:
		break;
	}
	return has(gap, after, OWN) || has(gap, skip_padding(gap, after), OWN);
}

/* -ENOMEM */
static int find_end(struct function *f, uint32_t start, uint32_t *out)
{
	const struct elf_gap *gap = f->gap;
	uint32_t at = start, after;
	int err = 0;

	while (err == 0 && at < gap->end) {
		struct flow flow;

		if (has(gap, at, INSN) && !has(gap, at, TURNS)) {
			do
				at++;
			while (at < gap->end && !has(gap, at, INSN | ELF_GAP_START));
			if (has(gap, at, ELF_GAP_START))
				break;
			continue;
		}
		flow = read_at(gap, at);
		after = at = end_of(gap, at, flow.length);
		if (has(gap, after, ELF_GAP_START) || !goes_on(gap, &flow, after))
			break;
		err = note_own(f, &flow, after);
	}
	*out = at;
	vec_each (&f->own, place)
		*mark_at(gap, *place) &= (uint8_t)~OWN;
	f->own.len = 0;
	return err;
}

/* `mov $15,%rax; syscall`: where a signal handler returns to. Nothing calls it, and the place
 * before its return address, where callers are looked up, is the padding before it. */
static bool is_signal_return(const struct elf_gap *gap, uint32_t at)
{
	static const uint8_t code[SIGNAL_RETURN_BYTES] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f,
		0x05 };
	struct cursor c = cursor_init(gap->file.data, gap->end);
	struct bytes found;

	cursor_seek(&c, at);
	found = cursor_bytes(&c, sizeof(code));
	return gap->machine == EM_X86_64 && !c.bad && memcmp(found.data, code, sizeof(code)) == 0;
}

int elf_gap_divide(struct elf_gap *gap, struct elf_functions *out)
{
	struct function f = { .gap = gap };
	uint32_t at = gap->start;
	int err = 0;

	while (err == 0) {
		uint32_t before = at;
		struct elf_function *added;
		bool trampoline;

		at = skip_padding(gap, at);
		if (at >= gap->end)
			break;
		added = vec_add(&out->all);
		if (!added) {
			err = -ENOMEM;
			break;
		}
		trampoline = is_signal_return(gap, at);
		added->start = at;
		added->at = trampoline && at > before ? at - 1 : at;
		if (trampoline)
			at = end_of(gap, at, SIGNAL_RETURN_BYTES);
		else
			err = find_end(&f, at, &at);
		added->end = at;
	}
	vec_done(&f.own);
	return err;
}
