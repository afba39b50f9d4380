/* SPDX-License-Identifier: Apache-2.0 */
/* test_language_trials.c - a file's table whose processes end, have not begun, or look wrong is not
 * given to BPF: other processes are sought, more and more seldom.
 * LINK: -Wl,--wrap=opener_call_words,--wrap=clock_gettime
 * LINK: -Wl,--wrap=publish_language,--wrap=publish_drop */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"
#include "client/opener_call.h"
#include "client/worker_rows.h"
#include "files/file_time.h"
#include "files/languages.h"
#include "files/objects.h"
#include "language/cpython_trial.h"
#include "lie_draft.h"
#include "unwind/publish.h"

#define SECONDS_MAX 4000

static struct object *object;
static struct languages *languages;
static struct file_time file_time;
static uint64_t now_ns, word;
static int read_err;
static unsigned int reads, published, dropped;

struct object *objects_at(const struct objects *objects, size_t i)
{
	(void)objects;
	return i == 0 ? object : NULL;
}

struct file_time *objects_time(struct objects *objects)
{
	(void)objects;
	return &file_time;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	(void)clock;
	*out = (struct timespec){ (time_t)(now_ns / NSEC_PER_SEC), (long)(now_ns % NSEC_PER_SEC) };
	return 0;
}

/* All of the process's memory is the word. */
int __wrap_opener_call_words(struct opener_call *call, const struct opener_process *process,
	const uint64_t *addresses, size_t len, uint64_t *words);
int __wrap_opener_call_words(struct opener_call *call, const struct opener_process *process,
	const uint64_t *addresses, size_t len, uint64_t *words)
{
	(void)call, (void)process, (void)addresses;
	reads++;
	for (size_t i = 0; i < len && read_err == 0; i++)
		words[i] = word;
	return read_err;
}

int __wrap_publish_language(struct publish *publish, const struct object_key *key, uint32_t id,
	uint64_t account, const struct language *language);
int __wrap_publish_language(struct publish *publish, const struct object_key *key, uint32_t id,
	uint64_t account, const struct language *language)
{
	(void)publish, (void)key, (void)id, (void)account, (void)language;
	published++;
	return 0;
}

void __wrap_publish_drop(
	struct publish *publish, const struct publish_object *objects, size_t len);
void __wrap_publish_drop(
	struct publish *publish, const struct publish_object *objects, size_t len)
{
	(void)publish, (void)objects, (void)len;
	dropped++;
}

/* A worker has read the file, as a process was met with it. */
static void meet(uint32_t version)
{
	const struct worker_rows rows = { .contents = WORKER_IS_CPYTHON,
		.cpython = { .version = version, .runtime = 4096 } };

	languages_describe(languages, object, &rows);
}

static void run_seconds(unsigned int seconds)
{
	while (seconds-- > 0) {
		now_ns += NSEC_PER_SEC;
		languages_run(languages, NULL, now_ns);
	}
}

static int setup(void **state)
{
	static const char text[] = HONEST_TABLE;
	struct language_file *file;
	struct language_files *files;

	(void)state;
	now_ns = NSEC_PER_SEC;
	read_err = 0;
	reads = published = dropped = 0;
	object = object_new(100, "libpython3.99.so");
	assert_non_null(object);
	assert_int_equal(languages_new("", NULL, &languages), 0);
	files = (struct language_files *)languages_files(languages);
	file = vec_add(&files->all);
	*file = (struct language_file){ .name = strdup("a.table"), .used = true };
	cpython_table_parse(text, strlen(text), &file->table);
	assert_int_equal(file->table.fault, CPYTHON_TABLE_OK);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	languages_free(languages);
	object_free(object);
	return 0;
}

static struct languages_stats stats(void)
{
	struct languages_stats s;

	languages_stats(languages, &s);
	return s;
}

static void a_version_without_a_table_is_counted_once(void **state)
{
	(void)state;
	meet(98);
	meet(98);
	assert_int_equal(object->language, LANGUAGE_UNKNOWN);
	assert_int_equal(stats().unknown, 1);
	assert_int_equal(languages_due_ns(languages), CLOCK_NEVER_NS);
	assert_int_equal(published, 0);
}

static void a_built_in_table_is_tried_on_nobody(void **state)
{
	(void)state;
	meet(11);
	assert_int_equal(object->language, LANGUAGE_KNOWN);
	assert_int_equal(published, 1);
	assert_int_equal(reads, 0);
}

static void of_processes_that_end_others_are_sought_ever_more_seldom(void **state)
{
	unsigned int before;

	(void)state;
	read_err = -ESRCH;
	for (unsigned int i = 0; i < 20; i++) {
		before = dropped;
		meet(99);
		for (unsigned int n = 0; n < SECONDS_MAX && dropped == before; n++)
			run_seconds(1);
		assert_int_equal(dropped, before + 1);
		/* Once: then BPF meets the file when somebody maps it. */
		run_seconds(100);
		assert_int_equal(dropped, before + 1);
	}
	assert_true(now_ns > 5000 * NSEC_PER_SEC);
	assert_int_equal(stats().tried, 1);
	assert_int_equal(stats().wrong, 0);
	assert_int_equal(published, 0);
}

static void a_process_that_has_not_begun_is_waited_for(void **state)
{
	(void)state;
	word = 0;
	meet(99);
	run_seconds(20);
	assert_int_equal(dropped, 0);
	assert_in_range(reads, 10, 100);
	run_seconds(40);
	assert_int_equal(dropped, 1);
	assert_int_equal(stats().wrong, 0);
}

static void three_processes_that_look_wrong_condemn_the_table(void **state)
{
	(void)state;
	word = 0x1001; /* no address of a struct */
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(stats().wrong, 0);
		meet(99);
		run_seconds(60);
		assert_int_equal(dropped, i + 1);
	}
	assert_int_equal(object->language, LANGUAGE_WRONG);
	meet(99);
	run_seconds(600);
	assert_int_equal(stats().wrong, 1);
	assert_int_equal(published, 0);
	/* What a process can cost: reads have a limit for each look. */
	assert_true(reads < 1000);
}

/* Whose files took more time than their share waits. */
static void an_account_that_owes_time_waits(void **state)
{
	(void)state;
	file_time_limit(&file_time, 10);
	file_time_charge(&file_time, 0, 100 * FILE_TIME_MAX_NS);
	meet(99);
	run_seconds(2);
	assert_int_equal(reads, 0);
	file_time_done(&file_time);
	file_time = (struct file_time){ 0 };
	run_seconds(2);
	assert_true(reads > 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_version_without_a_table_is_counted_once),
		TEST(a_built_in_table_is_tried_on_nobody),
		TEST(of_processes_that_end_others_are_sought_ever_more_seldom),
		TEST(a_process_that_has_not_begun_is_waited_for),
		TEST(three_processes_that_look_wrong_condemn_the_table),
		TEST(an_account_that_owes_time_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
