/* SPDX-License-Identifier: Apache-2.0 */
/* test_fit.c - profiles of more text than fits, and whose names go then. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "profile/fit.h"
#include "sink/sink.h"
#include "store/segment.h"

#define FRAMES 16
#define STACKS 64

/* Stacks of frames whose names are of so many bytes each; a short name is in each, too. */
static void fill(struct profile *p, size_t name_len)
{
	uint32_t ids[FRAMES + 1], stack, labels;
	struct profile_frame frame = { .class = PROFILE_NATIVE };
	struct profile_labels who = { 0 };
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
		struct fit_accounts one = { 0 };
		struct fit_limits limits = { .text_max = rows[i].text_max };
		struct fit_result result;

		fill(&p, rows[i].name_len);
		assert_int_equal(profile_fit(&p, &one, &limits, &result), 0);
		print_message("row %zu: %lu\n", i, (unsigned long)result.names_cut);
		assert_int_equal(result.names_cut > 0, rows[i].want < rows[i].name_len);
		assert_int_equal(result.samples_left_out, rows[i].text_max == 1 ? STACKS : 0);
		for (uint32_t id = 0; id < FRAMES; id++) {
			const char *name = profile_text(&p, p.frames.data[id].name);

			assert_int_equal(strlen(name), rows[i].want);
			if (result.names_cut > 0)
				assert_string_equal(name + rows[i].want - 3, "...");
		}
		assert_string_equal(profile_text(&p, p.frames.data[FRAMES].name), "short");
		profile_done(&p);
	}
}

/* Ticks that interrupt a function at other addresses. */
static void stacks_that_read_the_same_are_one_line(void **state)
{
	struct profile_frame frame = { .class = PROFILE_NATIVE };
	struct profile_labels who = { 0 };
	struct fit_accounts one = { 0 };
	struct fit_limits limits = { .text_max = 4 * sizeof("read_the_same") };
	struct fit_result result;
	struct profile p;
	uint32_t id, stack, labels;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	assert_int_equal(profile_string(&p, "read_the_same", &frame.name), 0);
	for (uint32_t i = 0; i < STACKS; i++) {
		frame.address = i;
		profile_labels_set_number(&who, PROFILE_KEY_PID, (int32_t)(i & 1));
		assert_int_equal(profile_frame(&p, &frame, &id), 0);
		assert_int_equal(profile_labels(&p, &who, &labels), 0);
		assert_int_equal(profile_stack(&p, &id, 1, &stack), 0);
		assert_int_equal(profile_add(&p, stack, labels, 1), 0);
	}
	assert_int_equal(profile_fit(&p, &one, &limits, &result), 0);
	assert_int_equal(result.samples_left_out, 0);
	/* Of two processes there are two lines. */
	limits.text_max = 2 * sizeof("read_the_same");
	assert_int_equal(profile_fit(&p, &one, &limits, &result), 0);
	assert_int_equal(result.samples_left_out, STACKS / 2);
	profile_done(&p);
}

static void a_name_is_cut_between_characters(void **state)
{
	struct strtab tab;
	char name[301];
	uint32_t id, plain, spared;

	(void)state;
	for (size_t i = 0; i < 300; i += 3)
		memcpy(name + i, "\xe2\x86\x92", 4);
	assert_int_equal(strtab_init(&tab), 0);
	assert_int_equal(strtab_puts(&tab, name, &id), 0);
	assert_int_equal(strtab_puts(&tab, "plain", &plain), 0);
	name[150] = 'z';
	assert_int_equal(strtab_puts(&tab, name, &spared), 0);
	assert_int_equal(strtab_cut(&tab, 100, (bool[]){ true, true, true, false }), 1);
	assert_int_equal(strlen(strtab_get(&tab, id)), 96 + 3);
	assert_memory_equal(strtab_get(&tab, id), name, 96);
	assert_string_equal(strtab_get(&tab, spared), name);
	assert_string_equal(strtab_get(&tab, plain), "plain");
	strtab_done(&tab);
}

/* ---- accounts ------------------------------------------------------------------------------- */

#define ACCOUNTS 5 /* containers c0 to c4; c4 is hostile */
#define HOSTILE 4
#define COMMON "a name that all of them have"

struct host {
	struct profile p;
	uint64_t of_labels[8192];
	size_t labels_len;
};

static uint64_t now;

static uint32_t any(uint32_t below)
{
	now = hash_mix(now + 0x9e3779b97f4a7c15);
	return (uint32_t)(now >> 32) % below;
}

static uint32_t frame(struct profile *p, const char *name)
{
	struct profile_frame frame = { .class = PROFILE_JIT };
	uint32_t id;

	assert_int_equal(profile_string(p, name, &frame.name), 0);
	assert_int_equal(profile_frame(p, &frame, &id), 0);
	return id;
}

/* A sample of this container, with a stack of these names and one that all have. */
static void put(struct host *h, uint32_t container, const char *comm, char names[][1001],
	uint32_t len, uint64_t value)
{
	struct profile_labels who = { 0 };
	int32_t pid = (int32_t)any(30000);
	uint32_t ids[64], stack, labels;
	char name[16];

	for (uint32_t i = 0; i < len; i++)
		ids[i] = frame(&h->p, names[i]);
	ids[len] = frame(&h->p, COMMON);
	snprintf(name, sizeof(name), "c%u", container);
	profile_labels_set_number(&who, PROFILE_KEY_PID, pid);
	assert_int_equal(profile_labels_text(&h->p, &who, PROFILE_KEY_CONTAINER, name), 0);
	assert_int_equal(profile_labels_text(&h->p, &who, PROFILE_KEY_COMM, comm), 0);
	assert_int_equal(profile_labels(&h->p, &who, &labels), 0);
	assert_int_equal(profile_stack(&h->p, ids, len + 1, &stack), 0);
	assert_int_equal(profile_add(&h->p, stack, labels, value), 0);
	assert_true(labels < ARRAY_SIZE(h->of_labels));
	h->of_labels[labels] = container + 100;
	h->labels_len = h->p.labels.len;
}

/* Names of so many random digits. */
static void put_random(struct host *h, uint32_t container, uint32_t samples, size_t name_len)
{
	char names[8][1001], comm[16];

	for (uint32_t i = 0; i < samples; i++) {
		for (uint32_t n = 0; n < 8; n++) {
			for (size_t at = 0; at < name_len; at++)
				names[n][at] = "0123456789abcdef"[any(16)];
			names[n][name_len] = '\0';
		}
		snprintf(comm, sizeof(comm), "comm%u", any(100000));
		put(h, container, comm, names, 1 + any(8), 1);
	}
}

/* As programs are: few names in many stacks, and some stacks that are much more frequent. */
static void put_plain(struct host *h, uint32_t container)
{
	char names[24][1001];

	for (uint32_t i = 0; i < 200; i++) {
		for (uint32_t n = 0; n < 24; n++)
			snprintf(names[n], 1001, "c%u::module::function_%u(int, char const *)",
				container, n < 20 ? any(3) + 3 * n : any(150));
		put(h, container, "server", names, 20 + any(4), 1 + any(50));
	}
}

static void make_host(struct host *h, uint32_t samples, size_t name_len)
{
	now = 7;
	h->labels_len = 0;
	memset(h->of_labels, 0, sizeof(h->of_labels));
	assert_int_equal(profile_init(&h->p), 0);
	for (uint32_t i = 0; i < HOSTILE; i++)
		put_plain(h, i);
	put_random(h, HOSTILE, samples, name_len);
}

static void fit(struct host *h, const struct fit_limits *limits, struct fit_result *result)
{
	struct fit_accounts accounts = { h->of_labels, h->labels_len };

	assert_int_equal(profile_fit(&h->p, &accounts, limits, result), 0);
}

static void write_text(struct host *h, struct buf *out)
{
	static const struct sink_options by = {
		.by = { PROFILE_KEY_CONTAINER, PROFILE_KEY_COMM }, .by_len = 2
	};

	assert_int_equal(folded_write(&h->p, &by, out), 0);
}

/* The lines of the others, in a buffer. */
static void lines_of_others(struct host *h, struct buf *out)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	char *rest = NULL;

	write_text(h, &text);
	for (char *line = strtok_r(text.data, "\n", &rest); line;
		line = strtok_r(NULL, "\n", &rest))
		if (strncmp(line, "c4;", 3) != 0)
			buf_printf(out, "%s\n", line);
	buf_putc(out, '\0');
}

static size_t packed_size(struct host *h)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT, out = BUF_INIT;
	struct segment_about about = { .host = "h", .by = "container,comm", .account = "" };

	write_text(h, &text);
	assert_int_equal(
		segment_write(&about, (struct bytes){ (const uint8_t *)text.data, text.len }, &out),
		0);
	return out.len;
}

static void only_whoever_has_too_much_loses_names(void **state)
{
	static const struct {
		uint32_t samples;
		size_t name_len;
		struct fit_limits limits;
	} rows[] = {
		{ 3000, 1000, { .text_max = 1500000 } },
		{ 3000, 1000, { .text_max = UINT64_MAX / 4, .stored_max = 200000 } },
		{ 3000, 90, { .text_max = UINT64_MAX / 4, .stored_max = 200000 } },
		{ 2000, 8, { .text_max = UINT64_MAX / 4, .stored_max = 60000 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(buf_done) struct buf before = BUF_INIT, after = BUF_INIT;
		struct fit_result result;
		struct host h;
		uint64_t total;

		make_host(&h, rows[i].samples, rows[i].name_len);
		lines_of_others(&h, &before);
		total = profile_total(&h.p);
		fit(&h, &rows[i].limits, &result);
		lines_of_others(&h, &after);
		print_message("row %zu: %lu cut, %lu left out\n", i,
			(unsigned long)result.names_cut, (unsigned long)result.samples_left_out);
		assert_string_equal(before.data, after.data);
		assert_int_equal(profile_total(&h.p), total);
		assert_true(result.samples_left_out > 0);
		assert_true(result.samples_left_out < rows[i].samples);
		assert_string_equal(
			profile_label_text(&h.p, result.largest, PROFILE_KEY_CONTAINER), "c4");
		assert_string_equal(
			profile_text(&h.p, h.p.frames.data[frame(&h.p, COMMON)].name), COMMON);
		profile_done(&h.p);
	}
}

/* A container with a cgroup for each sample, each of a long name. */
static void names_of_cgroups_are_their_accounts(void **state)
{
	const struct fit_limits limits = { UINT64_MAX / 4, 100000 };
	_cleanup_(buf_done) struct buf before = BUF_INIT, after = BUF_INIT, text = BUF_INIT;
	struct fit_result result;
	struct host h;
	uint64_t total;

	(void)state;
	make_host(&h, 0, 0);
	lines_of_others(&h, &before);
	for (uint32_t i = 0; i < 4000; i++) {
		struct profile_labels who = { 0 };
		char name[600];
		uint32_t labels, stack, id = frame(&h.p, COMMON);

		snprintf(name, sizeof(name), "c4;/%0500u", i);
		name[2] = '/';
		assert_int_equal(
			profile_labels_text(&h.p, &who, PROFILE_KEY_CONTAINER, name), 0);
		assert_int_equal(profile_labels(&h.p, &who, &labels), 0);
		assert_int_equal(profile_stack(&h.p, &id, 1, &stack), 0);
		assert_int_equal(profile_add(&h.p, stack, labels, 1), 0);
		h.of_labels[labels] = HOSTILE + 100;
		h.labels_len = h.p.labels.len;
	}
	total = profile_total(&h.p);
	fit(&h, &limits, &result);
	assert_int_equal(profile_total(&h.p), total);
	write_text(&h, &text);
	assert_non_null(strstr(text.data, "c4/" PROFILE_NAMES_LEFT_OUT));
	assert_true(packed_size(&h) <= limits.stored_max);
	for (char *rest = text.data, *line; (line = strsep(&rest, "\n"));)
		if (strncmp(line, "c4", 2) != 0)
			buf_printf(&after, "%s%s", line, rest ? "\n" : "");
	buf_putc(&after, '\0');
	assert_string_equal(before.data, after.data);
	profile_done(&h.p);
}

/* The estimate is of what the store writes, whatever the names are. */
static void the_packed_text_stays_below_its_limit(void **state)
{
	static const size_t name_lens[] = { 3, 8, 30, 90, 300, 1000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(name_lens); i++) {
		const struct fit_limits limits = { UINT64_MAX / 4, 250000 };
		struct fit_result result;
		struct host h;
		size_t before, after;

		make_host(&h, 4000, name_lens[i]);
		before = packed_size(&h);
		fit(&h, &limits, &result);
		after = packed_size(&h);
		print_message("names of %zu: %zu bytes became %zu\n", name_lens[i], before, after);
		assert_true(after <= limits.stored_max);
		profile_done(&h.p);
	}
}

/* What an ordinary host has is far below what it may have. */
static void what_fits_is_left_alone(void **state)
{
	_cleanup_(buf_done) struct buf before = BUF_INIT, after = BUF_INIT;
	const struct fit_limits limits = { PROFILE_TEXT_MAX, 250000 };
	struct fit_result result;
	struct host h;

	(void)state;
	make_host(&h, 0, 0);
	write_text(&h, &before);
	fit(&h, &limits, &result);
	write_text(&h, &after);
	assert_string_equal(before.data, after.data);
	assert_int_equal(result.names_cut + result.samples_left_out, 0);
	assert_int_equal(result.largest, UINT32_MAX);
	profile_done(&h.p);
}

static void rare_stacks_are_left_out_first(void **state)
{
	static char names[1][1001] = { "the one that counts" };
	const struct fit_limits limits = { UINT64_MAX / 4, 20000 };
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct fit_result result;
	struct host h;

	(void)state;
	make_host(&h, 0, 0);
	put_random(&h, HOSTILE, 1000, 50);
	put(&h, HOSTILE, "main", names, 1, 77);
	fit(&h, &limits, &result);
	write_text(&h, &text);
	assert_non_null(strstr(text.data, "\nc4;main;" COMMON "_[j];the one that counts_[j] 77\n"));
	assert_non_null(strstr(text.data, "\nc4;?;[names left out] "));
	profile_done(&h.p);
}

/* Nanoseconds of another kind are no more than samples of CPU time. */
static void large_units_do_not_push_out_small_ones(void **state)
{
	static char names[1][1001] = { "the one that counts" };
	const struct fit_limits limits = { UINT64_MAX / 4, 20000 };
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct fit_result result;
	uint32_t wall;
	struct host h;

	(void)state;
	make_host(&h, 0, 0);
	put_random(&h, HOSTILE, 1000, 50);
	assert_int_equal(profile_kind(&h.p, "wall", 4, &wall), 0);
	for (size_t i = 0, len = h.p.samples.len; i < len; i++)
		assert_int_equal(profile_add_kind(&h.p, h.p.samples.data[i].stack,
					 h.p.samples.data[i].labels, wall, 1000000000000),
			0);
	put(&h, HOSTILE, "main", names, 1, 77);
	fit(&h, &limits, &result);
	write_text(&h, &text);
	assert_non_null(strstr(text.data, ";the one that counts_[j] 77\n"));
	assert_true(result.samples_left_out > 0 && result.samples_left_out < 1000000);
	profile_done(&h.p);
}

/* Each wait is a larger part of its kind than any of the CPU samples of theirs. */
static void waits_do_not_push_out_what_ran(void **state)
{
	const struct fit_limits limits = { UINT64_MAX / 4, 60000 };
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct fit_result result;
	size_t ran;
	uint32_t wall;
	struct host h;

	(void)state;
	make_host(&h, 0, 0);
	put_random(&h, HOSTILE, 10, 50);
	ran = h.p.samples.len;
	put_random(&h, HOSTILE, 1000, 50);
	assert_int_equal(profile_kind(&h.p, "wall", 4, &wall), 0);
	for (size_t i = ran; i < h.p.samples.len; i++) {
		h.p.samples.data[i].kind = wall;
		h.p.samples.data[i].value = 1000000000;
	}
	fit(&h, &limits, &result);
	write_text(&h, &text); /* of what ran */
	assert_null(strstr(text.data, "[names left out]"));
	assert_true(result.samples_left_out > 0);
	profile_done(&h.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_cut_as_little_as_it_takes),
		cmocka_unit_test(stacks_that_read_the_same_are_one_line),
		cmocka_unit_test(a_name_is_cut_between_characters),
		cmocka_unit_test(only_whoever_has_too_much_loses_names),
		cmocka_unit_test(the_packed_text_stays_below_its_limit),
		cmocka_unit_test(names_of_cgroups_are_their_accounts),
		cmocka_unit_test(what_fits_is_left_alone),
		cmocka_unit_test(rare_stacks_are_left_out_first),
		cmocka_unit_test(large_units_do_not_push_out_small_ones),
		cmocka_unit_test(waits_do_not_push_out_what_ran),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
