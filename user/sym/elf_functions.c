/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_functions.c - chooses the code of a file that is divided into functions.
 * FDEs decide first. Where there is none, the pick is extended by the symbols on which the division
 * depends, and sym/elf_unit.c divides. Invariant: the time is bounded by the wanted blocks, or
 * by ELF_FUNCTIONS_UNITS_MAX, and not by the size of the file. */
#include "sym/elf_functions.h"

#include <elf.h>
#include <errno.h>

#include "base/own.h"
#include "base/radix.h"
#include "elf/flow.h"
#include "sym/elf_candidates.h"
#include "sym/elf_pick.h"
#include "sym/elf_unit.h"

#define BLOCK_BYTES (1U << BLOCK_SHIFT)

/* ---- code ------------------------------------------------------------------------------------ */

static int add_code(struct elf_functions *functions, uint64_t start, uint64_t size)
{
	uint64_t len = functions->image->file.len;
	struct elf_range *range;

	len = len < UINT32_MAX ? len : UINT32_MAX;
	if (start >= len || size == 0)
		return 0;
	range = vec_add(&functions->code);
	if (!range)
		return -ENOMEM;
	*range = (struct elf_range){ (uint32_t)start,
		(uint32_t)(size < len - start ? start + size : len) };
	return 0;
}

static int list_code(struct elf_functions *functions)
{
	const struct image *image = functions->image;
	int err = 0;

	for (size_t i = 0; err == 0 && i < image_sections(image); i++) {
		const struct image_section *s = image_section_at(image, i);

		if (s->type == SHT_PROGBITS && (s->flags & SHF_EXECINSTR))
			err = add_code(functions, s->file_offset, s->size);
	}
	for (size_t i = 0; err == 0 && image_sections(image) == 0 && i < image_segments(image);
		i++) {
		const struct image_segment *s = image_segment(image, i);

		if (s->type == PT_LOAD && (s->flags & PF_X))
			err = add_code(functions, s->file_offset, s->file_size);
	}
	return err < 0 ? err : elf_ranges_settle(functions->code.data, &functions->code.len, true);
}

int elf_functions_open(struct image *image, struct elf_functions *out)
{
	int err;

	*out = (struct elf_functions){ .image = image };
	err = elf_frames_open(image, &out->frames);
	out->dropped = out->frames.dropped;
	return err < 0 ? err : list_code(out);
}

void elf_functions_done(struct elf_functions *functions)
{
	elf_frames_done(&functions->frames);
	vec_done(&functions->code);
	vec_done(&functions->all);
}

bool elf_functions_divides(const struct elf_functions *functions, uint32_t offset)
{
	size_t i = elf_ranges_find(functions->code.data, functions->code.len, offset);

	return flow_knows(functions->image->machine) && i < functions->code.len &&
		functions->code.data[i].start <= offset;
}

/* ---- what is wanted -------------------------------------------------------------------------- */

static bool is_known(const uint32_t *known, size_t len, uint64_t at)
{
	size_t low = 0, high = len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (known[middle] <= at >> BLOCK_SHIFT)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && known[low - 1] == at >> BLOCK_SHIFT;
}

/* The next unit from *at on with wanted code to be divided; *at is after it. 1; 0: none; -ENOMEM */
static int next_unit(struct elf_unit *unit, const struct blocks *want, const uint32_t *known,
	size_t known_len, uint64_t *at)
{
	for (; blocks_next(want, *at, at) && *at < UINT32_MAX - BLOCK_BYTES; *at += BLOCK_BYTES) {
		int err;

		if (is_known(known, known_len, *at))
			continue;
		err = elf_unit_list(unit, (uint32_t)*at, (uint32_t)*at + BLOCK_BYTES);
		if (err < 0)
			return err;
		if (unit->runs.len == 0)
			continue;
		*at = unit->end;
		return 1;
	}
	return 0;
}

static bool want_unit(struct elf_pick *pick, const struct elf_unit *unit)
{
	bool grown = false;

	for (uint64_t at = unit->from; at < unit->end; at += BLOCK_BYTES) {
		bool has = blocks_has(at < unit->start ? &pick->starts : &pick->want, at);

		grown = grown || (!has && at < unit->functions->image->file.len);
		if (at < unit->start)
			elf_pick_want_start(pick, at);
		else
			elf_pick_want(pick, at);
	}
	return grown;
}

int elf_functions_want(struct elf_functions *functions, const struct elf_candidates *candidates,
	const uint32_t *known, size_t known_len, struct elf_pick *pick)
{
	_cleanup_(elf_unit_done) struct elf_unit unit = { 0 };
	int err = elf_unit_init(functions, candidates, &unit);
	bool grown = false;
	uint64_t at = 0;

	if (!flow_knows(functions->image->machine))
		return 0;
	while (err >= 0 && (err = next_unit(&unit, &pick->want, known, known_len, &at)) == 1)
		grown = want_unit(pick, &unit) || grown;
	return err < 0 ? err : grown;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* The part of the function that is in the code. */
static int add_frame(struct elf_functions *functions, const struct elf_extent *extent,
	const struct elf_range *code)
{
	uint32_t at = extent->start > code->start ? extent->start : code->start;
	size_t len = functions->all.len;
	struct elf_function *added;

	if (len > 0 && functions->all.data[len - 1].at == at)
		return 0;
	added = vec_add(&functions->all);
	if (!added)
		return -ENOMEM;
	added->at = at;
	added->start = extent->start;
	added->end = extent->end < code->end ? extent->end : code->end;
	return 0;
}

/* The functions of FDEs with a byte of [at, end). */
static int add_frames(struct elf_functions *functions, uint32_t at, uint32_t end)
{
	size_t i = elf_ranges_find(functions->code.data, functions->code.len, at);
	int err = 0;

	for (; err == 0 && i < functions->code.len; i++) {
		const struct elf_range *code = &functions->code.data[i];

		at = at > code->start ? at : code->start;
		while (err == 0 && at < end && at < code->end) {
			struct elf_extent extent = elf_frames_find(&functions->frames, at);

			if (extent.function)
				err = add_frame(functions, &extent, code);
			at = extent.end;
		}
		if (code->end >= end)
			break;
	}
	return err;
}

static int list_frames(struct elf_functions *functions, const struct blocks *want)
{
	uint64_t at = 0;
	int err = 0;

	if (!want)
		return add_frames(functions, 0, UINT32_MAX);
	for (; err == 0 && blocks_next(want, at, &at) && at < UINT32_MAX - BLOCK_BYTES;
		at += BLOCK_BYTES)
		err = add_frames(functions, (uint32_t)at, (uint32_t)at + BLOCK_BYTES);
	return err;
}

/* Divides the runs of a unit, if there is room. */
static int divide(struct elf_unit *unit)
{
	struct elf_functions *functions = unit->functions;

	if (unit->runs.len == 0)
		return 0;
	if (functions->units >= ELF_FUNCTIONS_UNITS_MAX) {
		functions->dropped++;
		return 0;
	}
	functions->units++;
	return elf_unit_divide(unit);
}

static int divide_all(struct elf_unit *unit)
{
	uint32_t done = 0;
	int err = 0;

	vec_each (&unit->functions->code, code) {
		uint32_t at = code->start - code->start % ELF_FUNCTIONS_UNIT;

		for (at = at < done ? done : at; err == 0 && at < code->end; at = done) {
			err = elf_unit_list(unit, at, at + 1);
			if (err == 0)
				err = elf_unit_list(unit, unit->start, unit->end);
			if (err == 0)
				err = divide(unit);
			done = unit->end;
		}
	}
	return err;
}

static int divide_wanted(
	struct elf_unit *unit, const struct blocks *want, const uint32_t *known, size_t known_len)
{
	uint64_t at = 0;
	int err;

	while ((err = next_unit(unit, want, known, known_len, &at)) == 1) {
		err = elf_unit_list(unit, unit->start, unit->end);
		if (err == 0)
			err = divide(unit);
		if (err < 0)
			break;
	}
	return err;
}

int elf_functions_list(struct elf_functions *functions, const struct elf_candidates *candidates,
	const uint32_t *known, size_t known_len, const struct blocks *want, bool all_frames)
{
	_cleanup_(elf_unit_done) struct elf_unit unit = { 0 };
	int err = elf_unit_init(functions, candidates, &unit);

	if (err == 0)
		err = list_frames(functions, all_frames ? NULL : want);
	if (err == 0 && flow_knows(functions->image->machine))
		err = want ? divide_wanted(&unit, want, known, known_len) : divide_all(&unit);
	if (err < 0 || functions->all.len == 0)
		return err;
	return radix_sort32(functions->all.data, functions->all.len, sizeof(struct elf_function));
}

/* ---- look-up --------------------------------------------------------------------------------- */

const struct elf_function *elf_functions_find(
	const struct elf_function *all, size_t len, uint64_t offset)
{
	size_t low = 0, high = len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].at <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && offset < all[low - 1].end ? &all[low - 1] : NULL;
}
