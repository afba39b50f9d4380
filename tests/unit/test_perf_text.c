/* SPDX-License-Identifier: Apache-2.0 */
/* test_perf_text.c - the text that a profile with times becomes, and what strangers may call
 * things.
 */
#include "unit.h"

#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "make_parts.h"
#include "sink/perf_words.h"
#include "sink/sink.h"

struct fixture {
	struct profile profile;
	struct sink_options options;
	struct buf text;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ 0 };
	*state = &f;
	return profile_init(&f.profile);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	profile_done(&f->profile);
	buf_done(&f->text);
	return 0;
}

static int take(void *ctx, const struct buf *bytes)
{
	return buf_put(ctx, bytes->data, bytes->len);
}

/* What comes behind the head. */
static const char *write_twice(struct fixture *f, uint32_t times)
{
	struct sink_file file;
	const char *body;

	assert_int_equal(sink_file_open(&file, sink_find("perf"), &f->options), 0);
	file.out.take = take;
	file.out.ctx = &f->text;
	while (times-- > 0)
		assert_int_equal(sink_file_put(&file, &f->profile), 0);
	assert_int_equal(sink_file_end(&file), 0);
	sink_file_done(&file);
	assert_true(f->text.len > 0);
	assert_int_equal(strncmp(f->text.data, "# ========\n", 11), 0);
	body = strstr(f->text.data, "# ========\n#\n");
	assert_non_null(body);
	return body + strlen("# ========\n#\n");
}

static void a_sample_is_a_head_its_frames_and_an_empty_line(void **state)
{
	struct fixture *f = *state;
	struct profile *p = &f->profile;
	uint32_t frames[] = {
		part_frame(p, "vfs_read", "", PROFILE_KERNEL, 0xffffffff81000010),
		part_frame(p, "ext4_read", "ext4", PROFILE_KERNEL, 0xffffffffc0000010),
		part_frame(p, "tiny", "app", PROFILE_INLINED, 0x1234),
		part_frame(p, "small", "app", PROFILE_INLINED, 0x1234),
		part_frame(p, "big", "app", PROFILE_NATIVE, 0x1234),
		part_frame(p, "JS:*f", "", PROFILE_JIT, 0x7f00),
		part_frame(p, "[truncated]", "", PROFILE_MARK, 0),
	};
	uint32_t stack = part_stack(p, frames, ARRAY_SIZE(frames));
	uint32_t labels = part_labels(p, "web", "node", 7, 8);

	p->kinds[0].period_ns = 10101010;
	assert_int_equal(profile_tick(p, stack, labels, 1, 12000345600), 0);
	assert_string_equal(write_twice(f, 1),
		"node 7/8 [001] 12.000345600:   10101010 cpu-clock: \n"
		"\tffffffff81000010 vfs_read ([kernel.kallsyms])\n"
		"\tffffffffc0000010 ext4_read ([ext4])\n"
		"\t1234 big->small->tiny (app)\n"
		"\t7f00 JS:*f (/tmp/perf-7.map)\n"
		"\t0 [truncated] ([unknown])\n"
		"\n");
}

static void profiles_follow_one_another_under_one_head(void **state)
{
	struct fixture *f = *state;
	uint32_t stack = part_stack(&f->profile, NULL, 0);
	uint32_t labels = part_labels(&f->profile, "", "", 7, -1);

	f->profile.kinds[0].period_ns = 1000;
	f->options.no_period = true;
	assert_int_equal(profile_tick(&f->profile, stack, labels, 12, 1), 0);
	assert_string_equal(write_twice(f, 2),
		":7 7/7 [012] 0.000000001: cpu-clock: \n\n"
		":7 7/7 [012] 0.000000001: cpu-clock: \n\n");
}

static void a_period_that_is_not_known_is_left_out(void **state)
{
	struct fixture *f = *state;
	uint32_t stack = part_stack(&f->profile, NULL, 0);
	uint32_t labels = part_labels(&f->profile, "", "", 7, -1);

	assert_int_equal(profile_tick(&f->profile, stack, labels, 12, 1), 0);
	assert_string_equal(write_twice(f, 1), ":7 7/7 [012] 0.000000001: cpu-clock: \n\n");
}

static void an_empty_profile_is_a_head(void **state)
{
	assert_string_equal(write_twice(*state, 1), "");
}

static void comms_are_found_by_every_reader(void **state)
{
	static const struct {
		const char *comm, *text;
	} rows[] = {
		{ "bash", "bash " },
		{ "", ":7 " },
		{ "x", "x  " },
		{ "\xc3\xa9", "\xc3\xa9  " },
		{ "\xff", "?  " },
		{ "tokio worker", "tokio worker " },
		{ "rs:action 13 qu", "rs:action_13_qu " },
		{ "worker 13", "worker_13 " },
		{ "a [b] c", "a_[b]_c " },
		{ " lead", "_lead " },
		{ "trail ", "trail_ " },
		{ "#x", "_x " },
		{ ":1 x", ":1_x " },
		{ "-1 x", "-1_x " },
		{ "7up", "7up " },
		{ "7/8", "7_8 " },
		{ "7x/8[9", "7x_8_9 " },
		{ "kworker/1:3", "kworker/1:3 " },
		{ "a\tb\n", "a?b? " },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		buf_clear(&f->text);
		perf_words_comm(&f->text, rows[i].comm, 7);
		assert_int_equal(buf_err(&f->text), 0);
		assert_string_equal(f->text.data, rows[i].text);
	}
}

static void symbols_and_modules_cannot_break_a_line(void **state)
{
	static const struct {
		void (*put)(struct buf *out, const char *name);
		const char *name, *text;
	} rows[] = {
		{ perf_words_symbol, "A::operator->()", "A::operator-_>()" },
		{ perf_words_symbol, "->->", "-_>-_>" },
		{ perf_words_symbol, "fn(u8) -> u8", "fn(u8) -_> u8" },
		{ perf_words_symbol, "a\nb\xff;c", "a?b?;c" },
		{ perf_words_symbol, "", "[unknown]" },
		{ perf_words_symbol, "  ", "[unknown]" },
		{ perf_words_symbol, " x", "_x" },
		{ perf_words_module, "lib x (1).so", "lib_x__1_.so" },
		{ perf_words_module, "gone.so (deleted)", "gone.so" },
		{ perf_words_module, "[vdso]", "[vdso]" },
		{ perf_words_kernel_module, "nf_tables", "[nf_tables]" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		buf_clear(&f->text);
		rows[i].put(&f->text, rows[i].name);
		assert_int_equal(buf_err(&f->text), 0);
		assert_string_equal(f->text.data, rows[i].text);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_sample_is_a_head_its_frames_and_an_empty_line),
		TEST(profiles_follow_one_another_under_one_head),
		TEST(a_period_that_is_not_known_is_left_out),
		TEST(an_empty_profile_is_a_head),
		TEST(comms_are_found_by_every_reader),
		TEST(symbols_and_modules_cannot_break_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
