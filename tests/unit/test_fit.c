/* SPDX-License-Identifier: Apache-2.0 */
/* test_fit.c - profiles of more text than fits. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "profile/fit.h"

#define FRAMES 16
#define STACKS 64

/* Stacks of frames whose names are of so many bytes each; a short name is in each, too. */
static void fill(struct profile *p, size_t name_len)
{
	uint32_t ids[FRAMES + 1], stack, labels;
	struct profile_frame frame = { .class = PROFILE_NATIVE };
	struct profile_labels who = { .pid = -1, .tid = -1, .cpu = -1 };
	char name[8192];

	assert_int_equal(profile_init(p), 0);
	for (uint32_t i = 0; i < FRAMES; i++) {
		memset(name, 'x', name_len);
		snprintf(name + name_len - 3, 4, "%03u", i);
		assert_int_equal(profile_string(p, name, &frame.name), 0);
		assert_int_equal(profile_frame(p, &frame, &ids[i]), 0);
	}
	assert_int_equal(profile_string(p, "short", &frame.name), 0);
	assert_int_equal(profile_frame(p, &frame, &ids[FRAMES]), 0);
	assert_int_equal(profile_labels(p, &who, &labels), 0);
	for (uint32_t i = 0; i < STACKS; i++) {
		uint32_t was = ids[i % FRAMES];

		ids[i % FRAMES] = ids[(i + i / FRAMES) % FRAMES];
		assert_int_equal(profile_stack(p, ids, FRAMES + 1, &stack), 0);
		ids[i % FRAMES] = was;
		assert_int_equal(profile_add(p, stack, labels, 1), 0);
	}
}

static void names_are_cut_as_little_as_it_takes(void **state)
{
	static const struct {
		size_t name_len;
		uint64_t text_max;
		size_t want;
	} rows[] = {
		{ 4096, 1 << 19, 256 },
		{ 4096, 2 << 20, 1024 },
		{ 4096, 1 << 24, 4096 },
		{ 1000, 1 << 19, 256 },
		{ 4096, 1, 96 },
		{ 96, 1, 96 },
		{ 40, 1, 40 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct profile p;
		uint64_t cut;

		fill(&p, rows[i].name_len);
		cut = profile_fit(&p, rows[i].text_max);
		print_message("row %zu: %lu\n", i, (unsigned long)cut);
		assert_int_equal(cut, rows[i].want < rows[i].name_len ? FRAMES : 0);
		for (uint32_t id = 0; id < FRAMES; id++) {
			const char *name = profile_text(&p, p.frames.data[id].name);

			assert_int_equal(strlen(name), rows[i].want);
			if (cut)
				assert_string_equal(name + rows[i].want - 3, "...");
		}
		assert_string_equal(profile_text(&p, p.frames.data[FRAMES].name), "short");
		profile_done(&p);
	}
}

static void a_name_is_cut_between_characters(void **state)
{
	struct strtab tab;
	char name[301];
	uint32_t id, plain;

	(void)state;
	for (size_t i = 0; i < 300; i += 3)
		memcpy(name + i, "\xe2\x86\x92", 4);
	assert_int_equal(strtab_init(&tab), 0);
	assert_int_equal(strtab_puts(&tab, name, &id), 0);
	assert_int_equal(strtab_puts(&tab, "plain", &plain), 0);
	assert_int_equal(strtab_cut(&tab, 100), 1);
	assert_int_equal(strlen(strtab_get(&tab, id)), 96 + 3);
	assert_memory_equal(strtab_get(&tab, id), name, 96);
	assert_string_equal(strtab_get(&tab, plain), "plain");
	strtab_done(&tab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_cut_as_little_as_it_takes),
		cmocka_unit_test(a_name_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
