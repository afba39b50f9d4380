/* SPDX-License-Identifier: Apache-2.0 */
/* Inlined frames: libraries of several compilers and versions of DWARF, units made by hand, and all
 * of them spoilt. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/own.h"
#include "dwarf/dwarf_const.h"
#include "make_elf.h"
#include "dwarf/cover.h"
#include "dwarf/inlined.h"

#define TEXT MAKE_ELF_TEXT_VADDR

/* ---- libraries ------------------------------------------------------------------------------ */

struct library {
	struct buf bytes;
	struct image image;
};

static void library_parse(struct library *l)
{
	struct why why;

	assert_int_equal(image_init_part(&l->image, l->bytes.data, l->bytes.len, &why), 0);
}

static void library_load(struct library *l, const char *path)
{
	*l = (struct library){ .bytes = BUF_INIT };
	assert_int_equal(fd_read_path(path, 1 << 20, &l->bytes), 0);
	library_parse(l);
}

static void library_done(struct library *l)
{
	image_done(&l->image);
	buf_done(&l->bytes);
}

/* "name file:line < name file:line", innermost first, or what inlined_find returned else. */
static const char *tell(struct inlined *inlined, uint64_t vaddr, struct buf *out)
{
	struct inlined_frames frames;
	int result = inlined_find(inlined, vaddr, &frames);

	buf_clear(out);
	if (result != INLINED_FOUND)
		buf_printf(out, "%d", result);
	for (size_t i = 0; result == INLINED_FOUND && i < frames.len; i++)
		buf_printf(out, "%s%s %s:%u", i ? " < " : "", frames.all[i].name,
			frames.all[i].file, frames.all[i].line);
	return out->data;
}

#define PUT "shop::(anonymous namespace)::till::put inline.cc:"
#define TIMES(n) "shop::(anonymous namespace)::times<" #n "> inline.cc:"
#define MANGLED_PUT "_ZN4shop12_GLOBAL__N_14till3putEl inline.cc:"
#define MANGLED_TIMES(n) "_ZN4shop12_GLOBAL__N_15timesILi" #n "EEEll inline.cc:"
#define PAY "_ZN4shop4desk3payEl inline.cc:"
#define SELL "_ZN4shop4sellERNS_4deskEl inline.cc:"

static const struct golden {
	const char *path, *alt, *split;
	struct {
		uint64_t vaddr;
		const char *frames;
	} places[6];
} goldens[] = {
	{ "tests/golden/inline-5.so", NULL, NULL,
		{ { 0x1027, SELL "53" }, { 0x1041, PUT "25 < " PAY "45 < " SELL "54" },
			{ 0x1084, TIMES(5) "31 < " SELL "56" },
			{ 0x1099, "half inline.cc:63 < plain inline.cc:70" },
			{ 0x110f, "plain inline.cc:71" }, { 0x1112, "1" } } },
	{ "tests/golden/inline-2.so", NULL, NULL,
		{ { 0x101f, "1" }, { 0x1020, SELL "52" },
			{ 0x104d, TIMES(3) "31 < " PAY "46 < " SELL "54" },
			{ 0x10d0, "half inline.cc:64 < plain inline.cc:70" } } },
	{ "tests/golden/inline-4.so", NULL, NULL,
		{ { 0x1038, MANGLED_PUT "0 < " PAY "45 < " SELL "54" },
			{ 0x1075, MANGLED_TIMES(5) "31 < " SELL "56" },
			{ 0x10b8, "_ZL4halfl inline.cc:63 < plain inline.cc:70" } } },
	{ "tests/golden/inline-dwz.so", "tests/golden/inline-dwz.alt", NULL,
		{ { 0x1041, PUT "25 < " PAY "45 < " SELL "54" },
			{ 0x10d0, "half inline.cc:64 < plain inline.cc:70" } } },
	{ "tests/golden/inline-dwz.so", NULL, NULL,
		{ { 0x1041, "put inline.cc:25 < pay inline.cc:45 <  inline.cc:54" } } },
	{ "tests/golden/inline-split.so", NULL, "tests/golden/inline-split.dwo",
		{ { 0x1040, MANGLED_PUT "25 < " PAY "45 < " SELL "54" },
			{ 0x10db, "_ZL4halfl inline.cc:64 < plain inline.cc:70" } } },
	{ "tests/golden/inline-split.so", NULL, NULL, { { 0x1040, " inline.cc:25" } } },
};

struct opened {
	struct library main, alt, split;
	struct image *splits[1];
	struct inlined_input input;
};

static void opened_init(struct opened *o, const struct golden *g)
{
	*o = (struct opened){ 0 };
	library_load(&o->main, g->path);
	o->input.image = &o->main.image;
	if (g->alt) {
		library_load(&o->alt, g->alt);
		o->input.alt = &o->alt.image;
	}
	if (g->split) {
		library_load(&o->split, g->split);
		o->splits[0] = &o->split.image;
		o->input.splits = o->splits;
		o->input.splits_len = 1;
	}
}

static void opened_done(struct opened *o)
{
	library_done(&o->main);
	library_done(&o->alt);
	library_done(&o->split);
}

static void frames_are_found_in_what_each_compiler_writes(void **state)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(goldens); i++) {
		struct opened o;
		struct inlined *inlined;

		opened_init(&o, &goldens[i]);
		assert_int_equal(inlined_open(&o.input, &inlined), 0);
		for (size_t p = 0; p < ARRAY_SIZE(goldens[i].places); p++) {
			if (!goldens[i].places[p].frames)
				break;
			print_message("%s %#lx\n", goldens[i].path, goldens[i].places[p].vaddr);
			assert_string_equal(tell(inlined, goldens[i].places[p].vaddr, &text),
				goldens[i].places[p].frames);
		}
		inlined_free(inlined);
		opened_done(&o);
	}
}

static void a_file_without_debugging_information_is_told_so(void **state)
{
	struct library l;
	struct inlined *inlined = NULL;
	struct inlined_input input = { .image = &l.image };

	(void)state;
	library_load(&l, "tests/golden/cfi-x86_64.so");
	assert_int_equal(inlined_open(&input, &inlined), -ENODATA);
	assert_null(inlined);
	library_done(&l);
}

/* ---- spoilt --------------------------------------------------------------------------------- */

static uint32_t roll(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* Some bytes of some debug section become others. */
static void spoil(struct library *l, uint32_t *dice)
{
	for (uint32_t n = roll(dice) % 8 + 1; n > 0; n--) {
		const struct image_section *s =
			image_section_at(&l->image, roll(dice) % image_sections(&l->image));

		if (strncmp(s->name, ".debug", 6) == 0 && s->size > 0)
			l->bytes.data[s->file_offset + roll(dice) % s->size] =
				roll(dice) & 1 ? (char)roll(dice) : (char)0xff;
	}
}

static void ask_everything(const struct inlined_input *input)
{
	struct inlined *inlined;

	if (inlined_open(input, &inlined) < 0)
		return;
	for (uint64_t vaddr = 0x1000; vaddr < 0x1120; vaddr += 3) {
		struct inlined_frames frames = { .len = 0 };
		int result = inlined_find(inlined, vaddr, &frames);

		assert_in_range(result, INLINED_FOUND, INLINED_GIVEN_UP);
		assert_true(frames.len <= INLINED_FRAMES_MAX);
		for (size_t i = 0; i < frames.len; i++)
			assert_true(
				strlen(frames.all[i].name) + strlen(frames.all[i].path) < 1 << 20);
	}
	inlined_free(inlined);
}

static void spoilt_libraries_cost_no_more_than_their_frames(void **state)
{
	const char *rounds = getenv("INLINE_ROUNDS");
	uint32_t dice = (uint32_t)(rounds ? atoi(rounds) : 0) + 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(goldens); i++) {
		for (int round = 0; round < (rounds ? atoi(rounds) : 400); round++) {
			struct opened o;

			opened_init(&o, &goldens[i]);
			o.input.work_max = 1 << 20;
			spoil(&o.main, &dice);
			if (goldens[i].split)
				spoil(&o.split, &dice);
			if (goldens[i].alt)
				spoil(&o.alt, &dice);
			ask_everything(&o.input);
			opened_done(&o);
		}
	}
}

/* ---- made by hand --------------------------------------------------------------------------- */

struct made {
	struct buf info, abbrev;
	size_t unit; /* where its header is */
	struct library library;
};

enum { CODE_UNIT = 1, CODE_FUNCTION, CODE_INLINED, CODE_ABSTRACT };

static void put(struct buf *b, const void *data, size_t size)
{
	assert_int_equal(buf_put(b, data, size), 0);
}

static void put_number(struct buf *b, uint64_t value, size_t size)
{
	put(b, &value, size);
}

/* Number, tag, whether it has children, pairs of attribute and form. */
static const unsigned char abbrevs[] = { CODE_UNIT, 0x11, 1, DW_AT_low_pc, DW_FORM_addr,
	DW_AT_high_pc, DW_FORM_data8, 0, 0, CODE_FUNCTION, DW_TAG_subprogram, 1, DW_AT_low_pc,
	DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, DW_AT_name, DW_FORM_string, 0, 0, CODE_INLINED,
	DW_TAG_inlined_subroutine, 1, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4,
	DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_call_line, DW_FORM_data2, 0, 0, CODE_ABSTRACT,
	DW_TAG_subprogram, 0, DW_AT_abstract_origin, DW_FORM_ref4, 0, 0, 0 };

static void unit_begin(struct made *m, uint64_t low, uint64_t size)
{
	m->unit = m->info.len;
	put_number(&m->info, 0, 4);
	put_number(&m->info, 4, 2);
	put_number(&m->info, 0, 4);
	put_number(&m->info, 8, 1);
	put_number(&m->info, CODE_UNIT, 1);
	put_number(&m->info, low, 8);
	put_number(&m->info, size, 8);
}

static void unit_end(struct made *m)
{
	uint32_t len = (uint32_t)(m->info.len + 1 - m->unit - 4);

	put_number(&m->info, 0, 1);
	memcpy(m->info.data + m->unit, &len, sizeof(len));
}

static uint32_t function(struct made *m, uint64_t low, uint32_t size, const char *name)
{
	uint32_t at = (uint32_t)(m->info.len - m->unit);

	put_number(&m->info, CODE_FUNCTION, 1);
	put_number(&m->info, low, 8);
	put_number(&m->info, size, 4);
	put(&m->info, name, strlen(name) + 1);
	return at;
}

static void inlined_at(struct made *m, uint64_t low, uint32_t size, uint32_t origin, uint16_t line)
{
	put_number(&m->info, CODE_INLINED, 1);
	put_number(&m->info, low, 8);
	put_number(&m->info, size, 4);
	put_number(&m->info, origin, 4);
	put_number(&m->info, line, 2);
}

static void close_die(struct made *m)
{
	put_number(&m->info, 0, 1);
}

static struct inlined *open_made(struct made *m, struct inlined_input *input)
{
	struct make_elf elf;
	struct inlined *inlined;

	make_elf_init(&elf);
	make_elf_section(&elf, ".debug_info", SHT_PROGBITS, 0, m->info.data, m->info.len);
	make_elf_section(&elf, ".debug_abbrev", SHT_PROGBITS, 0, abbrevs, sizeof(abbrevs));
	make_elf_finish(&elf);
	m->library.bytes = elf.file;
	elf.file = (struct buf)BUF_INIT;
	make_elf_done(&elf);
	library_parse(&m->library);
	input->image = &m->library.image;
	assert_int_equal(inlined_open(input, &inlined), 0);
	return inlined;
}

static void made_done(struct made *m)
{
	buf_done(&m->info);
	library_done(&m->library);
}

static void the_deepest_of_overlapping_scopes_is_the_innermost(void **state)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(made_done) struct made m = { .unit = 0 };
	struct inlined_input input = { 0 };
	struct inlined *inlined;
	uint32_t leaf;

	(void)state;
	unit_begin(&m, TEXT, 0x100);
	leaf = function(&m, TEXT + 0x80, 0x10, "leaf");
	close_die(&m);
	function(&m, TEXT, 0x80, "outer");
	inlined_at(&m, TEXT + 0x10, 0x20, leaf, 7);
	inlined_at(&m, TEXT + 0x18, 0x20, leaf, 8); /* reaches over its parent's end */
	close_die(&m);
	close_die(&m);
	inlined_at(&m, TEXT + 0x28, 0x20, leaf, 9); /* and over a sibling's */
	close_die(&m);
	close_die(&m);
	unit_end(&m);
	inlined = open_made(&m, &input);
	assert_string_equal(tell(inlined, TEXT + 0xf, &text), "outer :0");
	assert_string_equal(tell(inlined, TEXT + 0x10, &text), "leaf :0 < outer :7");
	assert_string_equal(tell(inlined, TEXT + 0x20, &text), "leaf :0 < leaf :8 < outer :7");
	assert_string_equal(tell(inlined, TEXT + 0x37, &text), "leaf :0 < leaf :8 < outer :7");
	assert_string_equal(tell(inlined, TEXT + 0x38, &text), "leaf :0 < outer :9");
	assert_string_equal(tell(inlined, TEXT + 0x48, &text), "outer :0");
	assert_string_equal(tell(inlined, TEXT + 0x80, &text), "leaf :0");
	assert_string_equal(tell(inlined, TEXT + 0x90, &text), "1");
	inlined_free(inlined);
}

static void what_is_in_a_dropped_function_is_dropped(void **state)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(made_done) struct made m = { .unit = 0 };
	struct inlined_input input = { 0 };
	struct inlined *inlined;
	uint32_t gone;

	(void)state;
	unit_begin(&m, TEXT, 0x100);
	gone = function(&m, 0, TEXT + 0x100, "gone");
	inlined_at(&m, TEXT, 0x100, gone, 3);
	close_die(&m);
	close_die(&m);
	function(&m, TEXT, 0x10, "kept");
	close_die(&m);
	unit_end(&m);
	inlined = open_made(&m, &input);
	assert_string_equal(tell(inlined, TEXT, &text), "kept :0");
	assert_string_equal(tell(inlined, TEXT + 0x20, &text), "1");
	inlined_free(inlined);
}

static void a_circle_of_origins_has_no_name(void **state)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(made_done) struct made m = { .unit = 0 };
	struct inlined_input input = { 0 };
	struct inlined *inlined;
	uint32_t self;

	(void)state;
	unit_begin(&m, TEXT, 0x100);
	self = (uint32_t)(m.info.len - m.unit);
	put_number(&m.info, CODE_ABSTRACT, 1);
	put_number(&m.info, self, 4);
	function(&m, TEXT, 0x10, "round");
	inlined_at(&m, TEXT, 4, self, 5);
	close_die(&m);
	inlined_at(&m, TEXT + 4, 4, 0x7fffffff, 6);
	close_die(&m);
	close_die(&m);
	unit_end(&m);
	inlined = open_made(&m, &input);
	assert_string_equal(tell(inlined, TEXT + 8, &text), "round :0");
	/* It has neither name nor file, and so there is nothing to say of it. */
	assert_string_equal(tell(inlined, TEXT, &text), "1");
	assert_string_equal(tell(inlined, TEXT + 4, &text), "1");
	inlined_free(inlined);
}

static void frames_beyond_the_limit_are_left_out_in_front_of_the_last(void **state)
{
	_cleanup_(made_done) struct made m = { .unit = 0 };
	struct inlined_input input = { 0 };
	struct inlined_frames frames;
	struct inlined *inlined;
	uint32_t self;

	(void)state;
	unit_begin(&m, TEXT, 0x100);
	self = function(&m, TEXT, 0x100, "deep");
	for (uint16_t i = 1; i <= 1000; i++)
		inlined_at(&m, TEXT, 0x80, self, i);
	for (int i = 0; i < 1001; i++)
		close_die(&m);
	unit_end(&m);
	inlined = open_made(&m, &input);
	assert_int_equal(inlined_find(inlined, TEXT, &frames), INLINED_FOUND);
	assert_int_equal(frames.len, INLINED_FRAMES_MAX);
	assert_int_equal(frames.all[INLINED_FRAMES_MAX - 1].line, 1);
	inlined_free(inlined);
}

/* ---- limits --------------------------------------------------------------------------------- */

#define UNITS 64
#define FUNCTIONS 200

static void make_many(struct made *m)
{
	for (uint32_t u = 0; u < UNITS; u++) {
		unit_begin(m, TEXT + u * FUNCTIONS, FUNCTIONS);
		for (uint32_t f = 0; f < FUNCTIONS; f++) {
			char name[32];

			snprintf(name, sizeof(name), "f%u_%u", u, f);
			function(m, TEXT + u * FUNCTIONS + f, 1, name);
			close_die(m);
		}
		unit_end(m);
	}
}

static void units_and_names_make_room_for_others(void **state)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(made_done) struct made m = { .unit = 0 };
	struct inlined_input input = { .memory_max = 64 << 10 };
	struct inlined_stats stats, fresh;
	struct inlined *inlined;

	(void)state;
	make_many(&m);
	inlined = open_made(&m, &input);
	inlined_stats(inlined, &fresh);
	assert_int_equal(fresh.units, UNITS);
	for (uint32_t i = 0; i < 2 * UNITS * FUNCTIONS; i++) {
		uint32_t u = i / FUNCTIONS % UNITS, f = i % FUNCTIONS;
		char name[32];

		snprintf(name, sizeof(name), "f%u_%u :0", u, f);
		assert_string_equal(tell(inlined, TEXT + u * FUNCTIONS + f, &text), name);
	}
	inlined_stats(inlined, &stats);
	assert_in_range(stats.units_loaded, 2 * UNITS, 4 * UNITS);
	assert_in_range(stats.memory_bytes, 0, fresh.memory_bytes + (96 << 10));
	inlined_free(inlined);
}

static void a_unit_that_is_too_large_is_given_up_for_good(void **state)
{
	static const struct {
		size_t memory_max;
		uint64_t work_max;
	} table[] = { { 1024, 0 }, { 0, 3000 } };
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(made_done) struct made m = { .unit = 0 };

	(void)state;
	make_many(&m);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct inlined_input input = { .memory_max = table[i].memory_max,
			.work_max = table[i].work_max };
		struct inlined_stats stats;
		struct inlined *inlined;

		library_done(&m.library);
		inlined = open_made(&m, &input);
		for (int n = 0; n < 5; n++)
			assert_string_equal(tell(inlined, TEXT, &text), "2");
		inlined_stats(inlined, &stats);
		assert_int_equal(stats.units_given_up, 1);
		assert_int_equal(stats.units_loaded, 0);
		inlined_free(inlined);
	}
}

struct watch {
	bool stop;
	int asked;
};

static bool is_over(void *ctx)
{
	struct watch *watch = ctx;

	watch->asked++;
	return watch->stop;
}

static void a_unit_that_takes_too_long_is_tried_again_but_not_for_ever(void **state)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(made_done) struct made m = { .unit = 0 };
	struct watch watch = { 0 };
	struct inlined_input input = { .stop = is_over, .ctx = &watch };
	struct inlined *inlined;
	int asked;

	(void)state;
	unit_begin(&m, TEXT, 0x100);
	for (uint32_t i = 0; i < 20000; i++) {
		function(&m, TEXT + i % 0x100, 1, "same");
		close_die(&m);
	}
	unit_end(&m);
	inlined = open_made(&m, &input);
	watch = (struct watch){ .stop = true };
	assert_string_equal(tell(inlined, TEXT, &text), "2");
	assert_int_equal(watch.asked, 1);
	watch.stop = false;
	assert_string_equal(tell(inlined, TEXT, &text), "same :0");
	inlined_free(inlined);

	library_done(&m.library);
	inlined = open_made(&m, &input);
	watch = (struct watch){ .stop = true };
	for (int i = 0; i < 10; i++)
		assert_string_equal(tell(inlined, TEXT, &text), "2");
	asked = watch.asked;
	watch.stop = false;
	assert_string_equal(tell(inlined, TEXT, &text), "2");
	assert_int_equal(watch.asked, asked);
	inlined_free(inlined);
}

/* ---- cover ---------------------------------------------------------------------------------- */

static uint32_t owner(const struct cover_range *ranges, size_t len, uint64_t at)
{
	const struct cover_range *best = NULL;

	for (size_t i = 0; i < len; i++)
		if (at >= ranges[i].start && at < ranges[i].end &&
			(!best || ranges[i].depth > best->depth ||
				(ranges[i].depth == best->depth && ranges[i].owner < best->owner)))
			best = &ranges[i];
	return best ? best->owner : COVER_NONE;
}

static void a_cover_agrees_with_a_search_of_all_ranges(void **state)
{
	uint32_t dice = 1;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct cover_range ranges[24];
		size_t len = roll(&dice) % ARRAY_SIZE(ranges);
		struct cover cover;

		for (uint32_t i = 0; i < len; i++) {
			ranges[i].start = 1000 + roll(&dice) % 64;
			ranges[i].end = ranges[i].start + roll(&dice) % 16; /* empty too */
			ranges[i].depth = roll(&dice) % 4;
			ranges[i].owner = i;
		}
		assert_int_equal(cover_make(ranges, len, &cover), 0);
		for (uint64_t at = 990; at < 1090; at++)
			assert_int_equal(cover_find(&cover, at), owner(ranges, len, at));
		for (size_t i = 1; i < cover.pieces.len; i++)
			assert_int_not_equal(
				cover.pieces.data[i].owner, cover.pieces.data[i - 1].owner);
		cover_done(&cover);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_found_in_what_each_compiler_writes),
		cmocka_unit_test(a_file_without_debugging_information_is_told_so),
		cmocka_unit_test(spoilt_libraries_cost_no_more_than_their_frames),
		cmocka_unit_test(the_deepest_of_overlapping_scopes_is_the_innermost),
		cmocka_unit_test(what_is_in_a_dropped_function_is_dropped),
		cmocka_unit_test(a_circle_of_origins_has_no_name),
		cmocka_unit_test(frames_beyond_the_limit_are_left_out_in_front_of_the_last),
		cmocka_unit_test(units_and_names_make_room_for_others),
		cmocka_unit_test(a_unit_that_is_too_large_is_given_up_for_good),
		cmocka_unit_test(a_unit_that_takes_too_long_is_tried_again_but_not_for_ever),
		cmocka_unit_test(a_cover_agrees_with_a_search_of_all_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
