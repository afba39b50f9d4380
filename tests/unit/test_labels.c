/* SPDX-License-Identifier: Apache-2.0 */
/* test_labels.c - sets of labels: well-known and free keys, and their limits. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "make_profile.h"
#include "profile/slice.h"

static void put(struct profile *p, struct profile_labels *set, const char *key, const char *value)
{
	assert_int_equal(
		profile_labels_put(p, set, key, strlen(key), value, strlen(value)), 0);
}

static uint32_t intern(struct profile *p, const struct profile_labels *set)
{
	uint32_t id;

	assert_int_equal(profile_labels(p, set, &id), 0);
	return id;
}

static const char *text_of(const struct profile *p, uint32_t set, const char *key)
{
	uint32_t id = profile_key_find(p, key, strlen(key));

	return id == PROFILE_NO_KEY ? NULL : profile_label_text(p, set, id);
}

static void equal_labels_are_one_set_whatever_their_order(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	struct profile_labels one = { 0 }, two = { 0 };

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	put(&p, &one, "comm", "web");
	put(&p, &one, "route", "/a");
	put(&p, &one, "tenant", "x");
	profile_labels_set_number(&one, PROFILE_KEY_PID, 7);
	put(&p, &two, "tenant", "y");
	put(&p, &two, "pid", "7");
	put(&p, &two, "route", "/a");
	put(&p, &two, "comm", "web");
	assert_int_equal(intern(&p, &one), 0);
	assert_int_equal(intern(&p, &two), 1);
	put(&p, &two, "tenant", "x");
	assert_int_equal(intern(&p, &two), 0);
	assert_int_equal(p.labels.len, 2);
	assert_int_equal(profile_labels_free(&p, 0), 2);
	assert_int_equal(p.labels_cut, 0);
}

static void a_label_is_found_by_its_key(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	struct profile_labels set = { 0 };
	uint32_t id;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	make_labels(&p, &set, "web", 7, -1);
	put(&p, &set, "http.route", "/a b;c");
	id = intern(&p, &set);
	assert_string_equal(profile_label_text(&p, id, PROFILE_KEY_COMM), "web");
	assert_int_equal(profile_label_number(&p, id, PROFILE_KEY_PID), 7);
	assert_int_equal(profile_label_number(&p, id, PROFILE_KEY_TID), -1);
	assert_int_equal(profile_label(&p, id, PROFILE_KEY_POD), 0);
	assert_string_equal(text_of(&p, id, "http.route"), "/a b;c");
	assert_null(text_of(&p, id, "route"));
}

static void unknown_removes_a_label(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	struct profile_labels set = { 0 };

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	make_labels(&p, &set, "web", 7, 8);
	put(&p, &set, "route", "/a");
	put(&p, &set, "route", "");
	put(&p, &set, "tid", "none");
	put(&p, &set, "pid", "2147483648");
	profile_labels_set(&set, PROFILE_KEY_COMM, 0);
	assert_int_equal(set.len, 0);
	profile_labels_set_number(&set, PROFILE_KEY_CPU, -1);
	assert_int_equal(set.len, 0);
}

static void what_limits_leave_out_is_counted(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 };
	struct profile_labels set = { 0 };
	char name[PROFILE_KEY_BYTES_MAX + 2], value[PROFILE_VALUE_BYTES_MAX + 2];
	uint32_t free_max = PROFILE_KEYS_MAX - PROFILE_KEYS, id;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	make_labels(&p, &set, "web", 7, 8);
	for (uint32_t i = 0; i < free_max + 5; i++) {
		snprintf(name, sizeof(name), "k%u", i);
		put(&p, &set, name, "v");
	}
	assert_int_equal(p.free_keys.len, free_max);
	assert_int_equal(set.len, 3 + PROFILE_FREE_MAX);
	assert_int_equal(p.labels_cut, free_max + 5 - PROFILE_FREE_MAX);
	put(&p, &set, "k3", "another");
	put(&p, &set, "pod", "well-known labels have no limit");
	assert_int_equal(p.labels_cut, free_max + 5 - PROFILE_FREE_MAX);
	id = intern(&p, &set);
	assert_string_equal(text_of(&p, id, "k3"), "another");

	p.labels_cut = 0;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	put(&p, &set, name, "v");
	put(&p, &set, "two words", "v");
	put(&p, &set, "a,b", "v");
	put(&p, &set, "", "v");
	assert_int_equal(p.labels_cut, 4);
	memset(value, 'v', sizeof(value));
	memcpy(value + PROFILE_VALUE_BYTES_MAX - 1, "\xc3\xa9", 3);
	put(&p, &set, "k3", value);
	assert_int_equal(p.labels_cut, 5);
	id = intern(&p, &set);
	assert_int_equal(strlen(text_of(&p, id, "k3")), PROFILE_VALUE_BYTES_MAX - 1);
}

static void a_part_of_a_profile_has_its_labels(void **state)
{
	_cleanup_(profile_done) struct profile p = { 0 }, part = { 0 };
	struct profile_labels set = { 0 };
	uint32_t frame, stack, other;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	assert_int_equal(profile_init(&part), 0);
	put(&p, &set, "other", "x");
	other = intern(&p, &set);
	set.len = 0;
	make_labels(&p, &set, "web", 7, 8);
	put(&p, &set, "route", "/a");
	frame = make_frame(&p, "f", PROFILE_NATIVE);
	assert_int_equal(profile_stack(&p, &frame, 1, &stack), 0);
	assert_int_equal(profile_tick(&p, stack, intern(&p, &set), 0, 10), 0);
	assert_int_equal(profile_tick(&p, stack, other, 0, 1000), 0);
	assert_int_equal(profile_slice(&p, 0, 500, &part), 0);
	assert_int_equal(part.labels.len, 1);
	assert_int_equal(part.free_keys.len, 1);
	assert_string_equal(text_of(&part, 0, "route"), "/a");
	assert_int_equal(profile_label_number(&part, 0, PROFILE_KEY_TID), 8);
}

static void a_word_of_a_list_names_a_key(void **state)
{
	static const struct {
		const char *word, *name;
	} rows[] = {
		{ "comm", "comm" },
		{ "label:http.route", "http.route" },
		{ "label:comm", "comm" },
		{ "route", NULL },
		{ "label:", NULL },
		{ "label:a b", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *name;
		size_t len;
		bool is = profile_key_word(rows[i].word, strlen(rows[i].word), &name, &len);

		if (is != (rows[i].name != NULL) ||
			(is && (len != strlen(rows[i].name) || strncmp(name, rows[i].name, len))))
			fail_msg("%s", rows[i].word);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_labels_are_one_set_whatever_their_order),
		cmocka_unit_test(a_label_is_found_by_its_key),
		cmocka_unit_test(unknown_removes_a_label),
		cmocka_unit_test(what_limits_leave_out_is_counted),
		cmocka_unit_test(a_part_of_a_profile_has_its_labels),
		cmocka_unit_test(a_word_of_a_list_names_a_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
