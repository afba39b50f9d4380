/* SPDX-License-Identifier: Apache-2.0 */
/* test_perf_reader.c - perf text of several writers, and what it reads as when it is written
 * folded.
 */
#include "unit.h"

#include <string.h>

#include "base/own.h"
#include "profile/perf_reader.h"
#include "profile/slice.h"
#include "sink/sink.h"

static struct bytes bytes_of(const char *text)
{
	return (struct bytes){ (const uint8_t *)text, strlen(text) };
}

static void expect_folded(const struct profile *p, const char *want)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct sink_options options = {
		.by = { PROFILE_KEY_COMM, PROFILE_KEY_PID, PROFILE_KEY_TID }, .by_len = 3
	};

	assert_int_equal(folded_write(p, &options, &out), 0);
	assert_string_equal(out.data ? out.data : "", want);
}

static void expect(const char *text, const char *want, uint64_t bad)
{
	_cleanup_(profile_done) struct profile p;
	struct perf_counts counts;

	assert_int_equal(profile_init(&p), 0);
	assert_int_equal(perf_read(bytes_of(text), NULL, &p, &counts), 0);
	if (counts.bad != bad)
		fail_msg("%llu lines were left out of:\n%s", (unsigned long long)counts.bad, text);
	expect_folded(&p, want);
}

static void samples_of_several_writers_are_read(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "node 7/8 [001] 12.000345600:   10101010 cpu-clock: \n"
		  "\tffffffff81000010 vfs_read ([kernel.kallsyms])\n"
		  "\t1234 big->small->tiny (app)\n"
		  "\t7f00 JS:*f (/tmp/perf-7.map)\n"
		  "\t99 operator-_>+0x12 (libx.so)\n"
		  "\t7f [anon]+0x7f (/tmp/perf-7.map)\n"
		  "\t1 my lib.so+0x1 (my_lib.so)\n"
		  "\t1f0 libx.so+0x1f0 (libx.so)\n"
		  "\t0 [truncated] ([unknown])\n\n",
			"node;7;8;[truncated];libx.so+0x1f0;my "
			"lib.so+0x1;[anon]+0x7f_[j];operator->;JS:*f_[j];big;small_[i];"
			"tiny_[i];vfs_read_[k] 1\n" },
		/* perf's own: blanks before a comm and a frame, no pid, an offset, a deleted file.
		 */
		{ "         swapper     0 [000]  4711.123456:     250000 cycles:P: \n"
		  "        ffffffffa1 native_halt+0x1f ([kernel.kallsyms])\n"
		  "            55d0 main+0x8 (/usr/bin/my app (deleted))\n"
		  "            7f00 [unknown] (/usr/lib/libc.so.6)\n"
		  "\n",
			"swapper;0;0;[unknown];main;native_halt_[k] 1\n" },
		{ "rs:action 13 qu  9/10 [003] 1.5: cpu-clock: \n\t10 f (a)\n",
			"rs:action 13 qu;9;10;f 1\n" },
		{ ":7 7/7 [012] 0.000000001: cpu-clock: \n\n:7 7/7 [012] 0.1: cpu-clock: \n\n",
			":7;7;7 2\n" },
		{ "a 1/1 [0] 1.0: x: \n\t1 f (m)\nb 2/2 [0] 1.1: x: \r\n\t1 g (m)\r\n",
			"a;1;1;f 1\nb;2;2;g 1\n" },
		/* perf's own without -g: the place on the head's line, no line between. */
		{ "   dd   41 38463.515191:    1001001 cpu-clock:  ff21f2fa7 fault+0xd7 "
		  "([kernel])\n"
		  "   dd   41 38463.516185:    1001001 cpu-clock:      55d0 main+0x1 (/bin/dd)\n",
			"dd;41;41;fault_[k] 1\ndd;41;41;main 1\n" },
		{ "a 1/1 [0] 1.0: sched:sched_switch: prev_comm=a prev_pid=1 (x)\n\t1 f (m)\n\n",
			"a;1;1;f 1\n" },
		/* an empty line before the frames */
		{ "a 1/1 [0] 1.0: x:\n\n\t1 f (m)\n\nb 2/2 [0] 1.1: x:\n\n",
			"a;1;1;f 1\nb;2;2 1\n" },
		/* without times, and no line between */
		{ "  dd 5 cycles: \n  dd 5 cycles: \n\n f1 5/6 [000]   12 cycles:\n\t1 f (m)\n",
			"dd;5;5 2\nf1;5;6;f 1\n" },
		{ "#a 1/1 1.0: x: \n\n#b 2/2 1.1: x: \n\n# c 3/3 1.2: x: \n",
			"?a;1;1 1\n?b;2;2 1\n" },
		{ "# comment\n", "" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		expect(rows[i].text, rows[i].want, 0);
}

/* Texts without stacks, and with some: each head is a sample, whatever its comm reads as. */
static void a_comm_that_reads_as_an_address_is_no_frame(void **state)
{
	static const char *const comms[] = { "dd", "a", "f1", "DB worker", "cafe babe", "5",
		"DB (1) x", "[0] 7", "" };
	static const char *const heads[] = {
		"%16s     5 [000]     1.200000:          1 cycles:u: \n",
		"%s 5 1.2: cycles:u: \n",
		"\t%s 5/7 [000] 1.2: cycles:u: \n",
		" %s 5/7 1.2:\n",
		" %s     5/7     [000] d..2. 1.2: 1 cycles:u:\r\n",
		" %s 5 [001] 2026-01-31 10:00:00.123456 1.2: sched:sched_switch: a:1 ==> b:2 (x)\n",
		" %s 5 [000] 1.2: 1 cycles:u:  ff21 fault+0x1 ([k])\n",
		" %s 5 [000] 1.2:  ff21 fault+0x1\n",
	};
	static const char *const between[] = { "", "\n", "\n\t10 f (m)\n\n", "\t10 f (m)\n",
		"\t10 f (m)\n\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(comms) * ARRAY_SIZE(heads) * ARRAY_SIZE(between); i++) {
		_cleanup_(profile_done) struct profile p;
		_cleanup_(buf_done) struct buf text = BUF_INIT;
		const char *comm = comms[i % ARRAY_SIZE(comms)];
		const char *head = heads[i / ARRAY_SIZE(comms) % ARRAY_SIZE(heads)];
		const char *next = between[i / ARRAY_SIZE(comms) / ARRAY_SIZE(heads)];
		struct perf_counts counts;

		for (int n = 0; n < 3; n++) {
			buf_printf(&text, head, comm);
			buf_puts(&text, n == 2 ? "\t10 f (m)\n" : next);
		}
		assert_int_equal(profile_init(&p), 0);
		assert_int_equal(perf_read(bytes_of(buf_text(&text)), NULL, &p, &counts), 0);
		if (profile_total(&p) != 3)
			fail_msg("%llu samples in:\n%s", (unsigned long long)profile_total(&p),
				buf_text(&text));
	}
}

/* Each is the first frame of a sample, and the second: of the same stack. */
static void a_symbol_that_looks_like_a_head_is_a_frame(void **state)
{
	static const struct {
		const char *line, *name;
	} rows[] = {
		{ "55d0 operator()(int, char) const+0x12 (/lib/x.so)",
			"operator()(int, char) const" },
		{ "55d0 std::map<int, a::b>::at 5 1.2 (x)", "std::map<int, a::b>::at 5 1.2" },
		{ "dd <a::b as c::d>::{{closure}} 7: x: (x)", "<a::b as c::d>::{{closure}} 7: x:" },
		{ "5 Lapp/Main;::run 5 [000] cycles: (/tmp/perf-7.map)",
			"Lapp/Main;::run 5 [000] cycles:" },
		{ "12 5 [000] 1.2: f (m)", "5 [000] 1.2: f" },
		{ "12 1.2: x: f (m)", "1.2: x: f" },
		{ "ffffffffc0a10000 5 [000] 1.2: x: y ([mod])", "5 [000] 1.2: x: y" },
		{ "7f3a12345678 main 5 [000] 1.2: cycles: (m)", "main 5 [000] 1.2: cycles:" },
		{ "1 f (/path with 5 [000] in it)", "f" },
		{ "1 f (/with 5 [000] 1.2: cycles: in it)", "f" },
		{ "1 f (/a 5 1.2:)", "f" },
		{ "1 f 5 cycles: (m)", "f 5 cycles:" },
		{ "1 f 5 cycles:", "f 5 cycles:" },
		{ "5 [unknown] ([unknown])", "[unknown]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(profile_done) struct profile p;
		_cleanup_(buf_done) struct buf text = BUF_INIT;
		struct perf_counts counts;

		buf_printf(&text, "a 1/1 1.0: x: \n\t%s\n\t%s\n\n", rows[i].line, rows[i].line);
		assert_int_equal(profile_init(&p), 0);
		assert_int_equal(perf_read(bytes_of(buf_text(&text)), NULL, &p, &counts), 0);
		if (profile_total(&p) != 1 || p.stacks.len != 1)
			fail_msg("%llu samples: %s", (unsigned long long)profile_total(&p),
				rows[i].line);
		for (uint32_t n = 0; n < 2; n++)
			assert_string_equal(
				profile_text(&p, profile_stack_frame(&p, 0, n)->name),
				rows[i].name);
	}
}

/* Only names in brackets are parts of the kernel: /usr/bin/[ is a program. */
static void a_module_is_of_the_kernel_or_of_a_process(void **state)
{
	static const struct {
		const char *written;
		uint32_t class;
		const char *module;
	} rows[] = {
		{ "[kernel.kallsyms]", PROFILE_KERNEL, "" },
		{ "[kernel.kallsyms].init.text", PROFILE_KERNEL, "" },
		{ "[guest.kernel.kallsyms]", PROFILE_KERNEL, "guest.kernel.kallsyms" },
		{ "[nf_tables]", PROFILE_KERNEL, "nf_tables" },
		{ "[nf_tables].init.text", PROFILE_KERNEL, "nf_tables" },
		{ "/lib/modules/6.1/nf_tables.ko", PROFILE_KERNEL, "nf_tables.ko" },
		{ "/lib/modules/6.1/[nf.ko", PROFILE_KERNEL, "[nf.ko" },
		{ "[", PROFILE_NATIVE, "[" },
		{ "/usr/bin/[", PROFILE_NATIVE, "[" },
		{ "[x", PROFILE_NATIVE, "[x" },
		{ "[.so", PROFILE_NATIVE, "[.so" },
		{ "[x].so", PROFILE_NATIVE, "[x].so" },
		{ "[kernel.kallsyms]x", PROFILE_NATIVE, "[kernel.kallsyms]x" },
		{ "[vdso]", PROFILE_NATIVE, "[vdso]" },
		{ "[heap]", PROFILE_NATIVE, "[heap]" },
		{ "[unknown]", PROFILE_NATIVE, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(profile_done) struct profile p;
		_cleanup_(buf_done) struct buf text = BUF_INIT;
		const struct profile_frame *frame;
		struct perf_counts counts;

		assert_int_equal(profile_init(&p), 0);
		buf_printf(&text, "a 1/1 1.0: x: \n\t1 main (%s)\n\n", rows[i].written);
		assert_int_equal(perf_read(bytes_of(buf_text(&text)), NULL, &p, &counts), 0);
		frame = profile_stack_frame(&p, 0, 0);
		if (frame->class != rows[i].class)
			fail_msg("%s: class %u", rows[i].written, frame->class);
		assert_string_equal(profile_text(&p, frame->module), rows[i].module);
	}
}

/* C++ has names of more than ten thousand bytes, which differ at their ends. */
#define TWO_EVENTS                                                  \
	"a 1/1 [0] 1.0: instructions: \n\t1 f (m)\n\n"              \
	"a 1/1 [0] 1.1:    20 cycles:u: \n\t1 f (m)\n\t2 g (m)\n\n" \
	"a 1/1 [0] 1.2: instructions: \n\t1 f (m)\n\n"              \
	"a 1/1 [0] 1.3:\n\t1 f (m)\n\n"

static void samples_of_several_events_are_never_added_up(void **state)
{
	static const struct {
		const char *event, *want;
	} rows[] = {
		{ NULL, "a;1;1;f 2\n" },
		{ "instructions", "a;1;1;f 2\n" },
		{ "cycles:u", "a;1;1;g;f 1\n" },
		{ "", "a;1;1;f 1\n" },
		{ "cycles", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(profile_done) struct profile p;
		struct perf_counts counts;

		assert_int_equal(profile_init(&p), 0);
		assert_int_equal(perf_read(bytes_of(TWO_EVENTS), rows[i].event, &p, &counts), 0);
		expect_folded(&p, rows[i].want);
		assert_int_equal(counts.samples, profile_total(&p));
		assert_int_equal(counts.bad, 0);
		assert_int_equal(counts.events_len, 3);
		assert_int_equal(counts.events[0].samples, 2);
		assert_int_equal(counts.events[1].samples, 1);
		assert_int_equal(counts.events[1].name.len, strlen("cycles:u"));
	}
}

static void events_without_end_are_counted_together(void **state)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(profile_done) struct profile p;
	struct perf_counts counts;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	for (int i = 0; i < PERF_EVENTS_MAX + 3; i++)
		buf_printf(&text, "a 1/1 [0] 1.0: e%d: \n\t1 f (m)\n\n", i);
	assert_int_equal(perf_read(bytes_of(buf_text(&text)), "e17", &p, &counts), 0);
	assert_int_equal(counts.events_len, PERF_EVENTS_MAX);
	assert_int_equal(counts.further, 3);
	assert_int_equal(profile_total(&p), 1);
}

/* Written as perf text again, a sample has the event that it was read with. */
static void an_event_keeps_its_name(void **state)
{
	_cleanup_(profile_done) struct profile p;
	_cleanup_(profile_done) struct profile part;
	struct perf_counts counts;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	assert_int_equal(profile_init(&part), 0);
	assert_int_equal(perf_read(bytes_of(TWO_EVENTS), "cycles:u", &p, &counts), 0);
	assert_string_equal(profile_text(&p, p.kinds[0].name), "cycles:u");
	assert_int_equal(profile_slice(&p, 0, 1000000000, &part), 0);
	assert_string_equal(profile_text(&part, part.kinds[0].name), "cycles:u");
}

static void text_without_times_has_samples_without_times(void **state)
{
	static const char text[] =
		"java 19983 cycles:\nffffffff81 f ([kernel.kallsyms])\n 2 main (m)\n\n"
		"java 7/8 [001]   1234 cycles: \n\t3 main (m)\n\n"
		"java 7/8 1.0: cycles: \n\n";
	_cleanup_(profile_done) struct profile p;
	struct perf_counts counts;

	(void)state;
	assert_true(perf_looks_like(bytes_of(text)));
	assert_int_equal(profile_init(&p), 0);
	assert_int_equal(perf_read(bytes_of(text), NULL, &p, &counts), 0);
	expect_folded(&p, "java;19983;19983;main;f_[k] 1\njava;7;8;main 1\n");
	assert_int_equal(p.ticks.len, 0);
	assert_int_equal(counts.bad_at, 8);
}

/* Before or after the text's one CPU there may be samples without any. */
static void a_sample_has_the_cpu_that_its_head_names(void **state)
{
	static const struct sink_options options = { .by = { PROFILE_KEY_CPU, PROFILE_KEY_TID },
		.by_len = 2 };
	_cleanup_(profile_done) struct profile p;
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct perf_counts counts;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	assert_int_equal(perf_read(bytes_of("a 1/1 1.0: x: \n\t1 f (m)\n\n"
					    "a 1/1 [000] 1.1: x: \n\t1 f (m)\n\n"
					    "a 1/1 [012] 1.2: x: \n\t1 f (m)\n\n"
					    "a 1/1 [4294967294] 1.3: x: \n\t1 f (m)\n\n"),
				 NULL, &p, &counts),
		0);
	assert_int_equal(folded_write(&p, &options, &out), 0);
	assert_string_equal(out.data, "0;1;f 1\n12;1;f 1\n?;1;f 2\n");
}

static void names_are_read_to_their_end(void **state)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(buf_done) struct buf want = BUF_INIT;
	char name[20001];

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(
		buf_printf(&text, "a 1/2 [000] 1.5: cpu-clock: \n\t1 %s1 (m)\n\t1 %s2 (m)\n\n",
			name, name),
		0);
	assert_int_equal(buf_printf(&want, "a;1;2;%s2;%s1 1\n", name, name), 0);
	expect(text.data, want.data, 0);
}

/* perf script --show-mmap-events --show-task-events --show-lost-events --show-switch-events. */
static void records_between_samples_are_no_samples(void **state)
{
	(void)state;
	expect("swapper     0     0.000000: PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x12) @ "
	       "0xffffffff81000000]: x [kernel.kallsyms]_text\n"
	       "retp  62 14.214976: PERF_RECORD_COMM exec: retp:62/62\n"
	       "retp  62 14.214977: PERF_RECORD_FORK(1462:1462):(1458:1458)\n"
	       "retp  62 14.215828:    2004008 cpu-clock:ppp: \n"
	       "\t11b0 mid+0x20 (/tmp/retp)\n"
	       "  dd  62 14.215899: PERF_RECORD_MMAP2 62/62: [0x56(0x1000) @ 0x1000]: r-xp /dd\n"
	       "retp  62 14.215900: PERF_RECORD_COMM: retp:62/62\n"
	       "retp  62 14.215901: PERF_RECORD_MMAP2 62/62: [0x56(0x1000) @ 0x1000 fe:00 99 42]: "
	       "r-xp /tmp/bin/retp\n"
	       "retp  62 14.215902: PERF_RECORD_LOST lost 3\n"
	       "retp  62 [000] 14.215903: PERF_RECORD_SWITCH_CPU_WIDE OUT  next pid/tid:     0/0\n"
	       "retp  62 14.225828:    2004008 cpu-clock:ppp: \n"
	       "\t1170 tiny+0x0 (/tmp/retp)\n\n",
		"retp;62;62;mid 1\nretp;62;62;tiny 1\n", 0);
}

static void lines_that_are_neither_are_left_out(void **state)
{
	static const char *const rows[] = { "words\n", "\t10 frame (without a sample)\n",
		"a 1/1 [000] 1: x: \n", "a 99999999999/1 [0] 1.0: x:\n", "1.0: x:\n",
		"a 1 99999999999999999999.0: x:\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		expect(rows[i], "", 1);
}

static void a_part_of_the_time_has_the_samples_of_that_part(void **state)
{
	_cleanup_(profile_done) struct profile p;
	_cleanup_(profile_done) struct profile part;
	struct perf_counts counts;

	(void)state;
	assert_int_equal(profile_init(&p), 0);
	assert_int_equal(profile_init(&part), 0);
	assert_int_equal(perf_read(bytes_of("# started at : 10.000000000\n"
					    "a 1/1 [0] 10.5: x: \n\t1 f (m)\n\n"
					    "a 1/1 [0] 12.0: x: \n\t1 late (m)\n\n"
					    "b 2/2 [1] 11.0: x: \n\t1 g (m)\n\n"
					    "a 1/1 [0] 11.999: x: \n\t1 f (m)\n\n"),
				 NULL, &p, &counts),
		0);
	assert_int_equal(p.start_tick_ns, 10000000000);
	assert_int_equal(profile_slice(&p, 1000000000, 2000000000, &part), 0);
	expect_folded(&part, "a;1;1;f 1\nb;2;2;g 1\n");
	assert_int_equal(part.ticks.len, 2);
	assert_int_equal(part.frames.len, 2);
}

/* Of other events the number before the event says how many of them, not how long. */
static void the_period_is_known_of_clocks_alone(void **state)
{
	static const struct {
		const char *text;
		uint64_t period_ns;
	} rows[] = {
		{ "a 1/1 [0] 1.5:   10101010 cpu-clock: \n\t1 f (m)\n\n", 10101010 },
		{ "a 1/1 [0] 1.5:   2004008 task-clock:ppp: \n\t1 f (m)\n\n", 2004008 },
		{ "a 1/1 [0] 1.5:          1 cycles:P: \n\t1 f (m)\n\n", 0 },
		{ "a 1/1 [0] 1.5: cpu-clock: \n\t1 f (m)\n\n", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(profile_done) struct profile p;
		struct perf_counts counts;

		assert_int_equal(profile_init(&p), 0);
		assert_int_equal(perf_read(bytes_of(rows[i].text), NULL, &p, &counts), 0);
		if (p.kinds[0].period_ns != rows[i].period_ns)
			fail_msg("%s: %llu", rows[i].text,
				(unsigned long long)p.kinds[0].period_ns);
	}
}

static void perf_text_is_told_from_folded(void **state)
{
	(void)state;
	assert_true(perf_looks_like(bytes_of("# ========\n# captured")));
	assert_true(perf_looks_like(bytes_of("# x\n\na 1/2 [000] 1.2: e: \n")));
	assert_false(perf_looks_like(bytes_of("a;b;c 1\n")));
	assert_false(perf_looks_like(bytes_of("")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_of_several_writers_are_read),
		cmocka_unit_test(a_comm_that_reads_as_an_address_is_no_frame),
		cmocka_unit_test(a_symbol_that_looks_like_a_head_is_a_frame),
		cmocka_unit_test(a_module_is_of_the_kernel_or_of_a_process),
		cmocka_unit_test(samples_of_several_events_are_never_added_up),
		cmocka_unit_test(events_without_end_are_counted_together),
		cmocka_unit_test(an_event_keeps_its_name),
		cmocka_unit_test(text_without_times_has_samples_without_times),
		cmocka_unit_test(a_sample_has_the_cpu_that_its_head_names),
		cmocka_unit_test(names_are_read_to_their_end),
		cmocka_unit_test(lines_that_are_neither_are_left_out),
		cmocka_unit_test(records_between_samples_are_no_samples),
		cmocka_unit_test(a_part_of_the_time_has_the_samples_of_that_part),
		cmocka_unit_test(the_period_is_known_of_clocks_alone),
		cmocka_unit_test(perf_text_is_told_from_folded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
