/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_unit.c - divides the code of one unit that neither FDEs nor sized symbols cover.
 * Invariant: the functions of a unit are the same whichever other symbols of the file are known. So
 * a sized symbol that begins before `from` counts only if it reaches into the unit, because only
 * then a pick (sym/elf_pick.h) takes it. Reading may begin within an instruction; a few
 * instructions later it is in step. sym/elf_gap.c divides a run. */
#include "sym/elf_unit.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "elf/flow.h"

#define LISTS_IN_MEMORY 32   /* the file's pages that so many have read stay */
#define PADDING_BYTES_MAX 64 /* between functions */
#define FUNCTION_ALIGN 16
#define CALLS_BYTES (1U << 14) /* searched for calls before and after what is read */
#define CALL_OPCODE 0xe8       /* x86-64, followed by 4 bytes of distance */
#define CALL_BYTES 5
#define CALL_WORD 0x25 /* arm64: the high 6 bits of a word */
#define WORD_BYTES 4
#define INT3 0xcc
#define RET 0xc3

int elf_unit_init(struct elf_functions *functions, const struct elf_candidates *candidates,
	struct elf_unit *out)
{
	uint32_t furthest = 0;

	*out = (struct elf_unit){ .functions = functions, .candidates = candidates };
	out->marks = malloc(ELF_FUNCTIONS_BEFORE + ELF_FUNCTIONS_UNIT);
	if (!out->marks || vec_reserve(&out->reach, candidates->all.len) < 0)
		return -ENOMEM;
	vec_each (&candidates->all, one) {
		if (!one->unsized && one->end > furthest)
			furthest = one->end;
		*vec_add(&out->reach) = furthest;
	}
	return 0;
}

void elf_unit_done(struct elf_unit *unit)
{
	vec_done(&unit->reach);
	vec_done(&unit->runs);
	free(unit->marks);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* The first candidate that starts at or after the offset. */
static size_t first_candidate(const struct elf_unit *unit, uint32_t offset)
{
	size_t low = 0, high = unit->candidates->all.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (unit->candidates->all.data[middle].start < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Are these bytes all found in instructions that do nothing? */
static bool is_padding(const struct elf_unit *unit, uint32_t start, uint32_t end)
{
	static const uint8_t x86[] = { 0, 0x90, INT3, 0x66, 0x2e, 0x0f, 0x1f, 0x40, 0x44, 0x80,
		0x84 };
	static const uint8_t arm64[] = { 0, 0x1f, 0x20, 0x03, 0xd5 };
	const struct image *image = unit->functions->image;
	bool is_x86 = image->machine == EM_X86_64;

	if (end - start > PADDING_BYTES_MAX)
		return false;
	for (uint32_t at = start; at < end; at++)
		if (!memchr(is_x86 ? x86 : arm64, image->file.data[at],
			    is_x86 ? sizeof(x86) : sizeof(arm64)))
			return false;
	return true;
}

/* The first executable range that reaches beyond the offset. */
static size_t first_code(const struct elf_unit *unit, uint32_t offset)
{
	return elf_ranges_find(unit->functions->code.data, unit->functions->code.len, offset);
}

static bool has_code(const struct elf_unit *unit, size_t i, uint32_t before)
{
	return i < unit->functions->code.len && unit->functions->code.data[i].start < before;
}

/* The bytes of the unit in which runs are listed, and the sized symbols up to a place. */
struct lister {
	struct elf_unit *unit;
	uint32_t at, end;
	size_t candidate; /* the candidates before this one are in `cover` */
	uint32_t cover;   /* the furthest end */
};

static int add_run(struct lister *l, uint32_t start, uint32_t end)
{
	struct elf_unit *unit = l->unit;
	struct elf_gap *run;

	if (start >= end || end <= l->at || start >= l->end || is_padding(unit, start, end))
		return 0;
	run = vec_add(&unit->runs);
	if (!run)
		return -ENOMEM;
	*run = (struct elf_gap){ .file = unit->functions->image->file,
		.machine = unit->functions->image->machine,
		.start = start,
		.end = end };
	return 0;
}

/* The runs of code without an FDE, which calls come by rising start. */
static int add_runs(struct lister *l, uint32_t start, uint32_t end)
{
	const struct elf_candidates *candidates = l->unit->candidates;
	int err = 0;

	for (; err == 0 && l->candidate < candidates->all.len; l->candidate++) {
		const struct elf_candidate *one = &candidates->all.data[l->candidate];

		if (one->start >= end)
			break;
		/* A pick has the stubs only of a unit in which there are some. */
		if (one->unsized || (one->source == ELF_SYM_PLT && one->end <= l->unit->start))
			continue;
		err = add_run(l, l->cover > start ? l->cover : start, one->start);
		l->cover = one->end > l->cover ? one->end : l->cover;
	}
	return err < 0 ? err : add_run(l, l->cover > start ? l->cover : start, end);
}

static int list_in(struct lister *l, const struct elf_range *code)
{
	struct elf_unit *unit = l->unit;
	uint32_t from = unit->from > code->start ? unit->from : code->start;
	uint32_t until = unit->end < code->end ? unit->end : code->end;
	uint32_t at = l->at > from ? l->at : from;
	int err = 0;

	while (err == 0 && at < until && at < l->end) {
		struct elf_extent extent = elf_frames_find(&unit->functions->frames, at);

		if (!extent.function)
			err = add_runs(l, extent.start > from ? extent.start : from,
				extent.end < until ? extent.end : until);
		at = extent.end;
	}
	return err;
}

int elf_unit_list(struct elf_unit *unit, uint32_t at, uint32_t end)
{
	struct lister l = { .unit = unit, .at = at, .end = end };
	int err = 0;

	unit->runs.len = 0;
	if (++unit->lists % LISTS_IN_MEMORY == 0)
		image_pass(unit->functions->image);
	unit->start = at - at % ELF_FUNCTIONS_UNIT;
	unit->end = unit->start < UINT32_MAX - ELF_FUNCTIONS_UNIT ? unit->start + ELF_FUNCTIONS_UNIT
								  : UINT32_MAX;
	unit->from = unit->start > ELF_FUNCTIONS_BEFORE ? unit->start - ELF_FUNCTIONS_BEFORE : 0;
	l.candidate = first_candidate(unit, unit->from);
	if (l.candidate > 0 && unit->reach.data[l.candidate - 1] > unit->start)
		l.cover = unit->reach.data[l.candidate - 1];
	for (size_t i = first_code(unit, at); err == 0 && has_code(unit, i, end); i++)
		err = list_in(&l, &unit->functions->code.data[i]);
	return err;
}

/* ---- where reading begins -------------------------------------------------------------------- */

/* Linkers fill the space between functions with int3, which is in no function. */
static bool is_after_padding(const struct elf_gap *run, uint32_t at)
{
	const uint8_t *bytes = run->file.data;

	return run->machine == EM_X86_64 && at - run->start >= 2 && bytes[at - 1] == INT3 &&
		(bytes[at - 2] == INT3 || bytes[at - 2] == RET);
}

/* From the last known beginning at or before the unit; the run's start if there is none. */
static void cut_front(const struct elf_unit *unit, struct elf_gap *run)
{
	const struct elf_candidate *all = unit->candidates->all.data;
	size_t i = first_candidate(unit, unit->start + 1);
	uint32_t at = unit->start - unit->start % FUNCTION_ALIGN;

	if (run->start >= unit->start)
		return;
	while (at > run->start && at - run->start >= FUNCTION_ALIGN && !is_after_padding(run, at))
		at -= FUNCTION_ALIGN;
	if (!is_after_padding(run, at))
		at = run->start;
	for (; i > 0 && all[i - 1].start > at; i--)
		if (all[i - 1].unsized)
			at = all[i - 1].start;
	run->start = at;
}

static void mark_symbols(const struct elf_unit *unit, struct elf_gap *run)
{
	const struct elf_candidate *all = unit->candidates->all.data;
	size_t i = first_candidate(unit, run->start);

	for (; i < unit->candidates->all.len && all[i].start < run->end; i++)
		if (all[i].unsized)
			run->marks[all[i].start - run->start] |= ELF_GAP_START;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The run at a file offset; NULL. */
static struct elf_gap *find_run(const struct elf_unit *unit, uint64_t offset)
{
	size_t low = 0, high = unit->runs.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (unit->runs.data[middle].start <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && offset < unit->runs.data[low - 1].end ? &unit->runs.data[low - 1] : NULL;
}

/* The target of a call at this place; false: there is none. */
static bool read_call(const struct image *image, uint32_t at, uint64_t *target)
{
	struct cursor code = cursor_init(image->file.data, image->file.len);
	bool x86 = image->machine == EM_X86_64;
	uint32_t word;

	cursor_seek(&code, at + x86);
	word = cursor_u32(&code);
	if (x86)
		*target = at + CALL_BYTES + (uint64_t)(int32_t)word;
	else
		*target = at + (uint64_t)((int64_t)(int32_t)(word << 6) >> 4);
	return !code.bad && (x86 || word >> 26 == CALL_WORD);
}

/* Bytes within an instruction of a run are no call, and a call of the next instruction
 * reads the program counter. */
static void note_call(const struct elf_unit *unit, uint32_t at)
{
	const struct elf_gap *from = find_run(unit, at);
	struct elf_gap *to;
	uint64_t target;

	if (!read_call(unit->functions->image, at, &target) || target == at + CALL_BYTES ||
		target < unit->from || target >= unit->end || (from && !elf_gap_has(from, at)))
		return;
	to = find_run(unit, target);
	if (to)
		elf_gap_called(to, (uint32_t)target);
}

/* In code of known functions all bytes that look like a call count. */
static void note_calls(const struct elf_unit *unit, uint32_t start, uint32_t end)
{
	const struct image *image = unit->functions->image;

	if (image->machine != EM_X86_64) {
		for (uint32_t at = start; at + WORD_BYTES <= end; at += WORD_BYTES)
			note_call(unit, at);
		return;
	}
	for (uint32_t at = start; at + CALL_BYTES <= end; at++) {
		struct cursor c = cursor_init(image->file.data, image->file.len);
		struct bytes bytes;
		const uint8_t *next;

		cursor_seek(&c, at);
		bytes = cursor_bytes(&c, end - at);
		next = memchr(bytes.data, CALL_OPCODE, bytes.len);
		if (!next)
			return;
		at += (uint32_t)(next - bytes.data);
		note_call(unit, at);
	}
}

/* ---- division -------------------------------------------------------------------------------- */

/* Functions from the first on, of the bytes before the unit too: only what is in it stays. */
static void keep_own(const struct elf_unit *unit, size_t first)
{
	struct elf_function *all = unit->functions->all.data;
	size_t kept = first;

	for (size_t i = first; i < unit->functions->all.len; i++) {
		if (all[i].end <= unit->start)
			continue;
		all[kept] = all[i];
		if (all[kept].at < unit->start)
			all[kept].at = unit->start;
		kept++;
	}
	unit->functions->all.len = kept;
}

int elf_unit_divide(struct elf_unit *unit)
{
	size_t first = unit->functions->all.len;
	int err = 0;

	memset(unit->marks, 0, unit->end - unit->from);
	vec_each (&unit->runs, run) {
		cut_front(unit, run);
		run->marks = unit->marks + (run->start - unit->from);
		mark_symbols(unit, run);
		elf_gap_read(run);
	}
	for (size_t i = first_code(unit, unit->from); has_code(unit, i, unit->end); i++) {
		const struct elf_range *code = &unit->functions->code.data[i];
		uint32_t from = unit->from > CALLS_BYTES ? unit->from - CALLS_BYTES : 0;
		uint32_t until =
			unit->end < UINT32_MAX - CALLS_BYTES ? unit->end + CALLS_BYTES : UINT32_MAX;

		from = from > code->start ? from : code->start;
		until = until < code->end ? until : code->end;
		note_calls(unit, from, until);
	}
	vec_each (&unit->runs, run)
		if (err == 0)
			err = elf_gap_divide(run, unit->functions);
	keep_own(unit, first);
	return err;
}
