/* SPDX-License-Identifier: Apache-2.0 */
/* test_evidence.c - what is kept of a process: of this one. */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/evidence.h"
#include "base/own.h"
#include "worker_client.h"

#define PAGE 4096UL

struct fixture {
	struct told told;
	struct evidence *evidence;
	struct buf text;
	uint8_t *code, *stack; /* a page of each, the stack's above a guard */
};

static int setup(void **state)
{
	static struct fixture f;
	uint8_t *room =
		mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	f = (struct fixture){ .stack = room + PAGE };
	f.code = mmap(
		NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED || f.code == MAP_FAILED ||
		mprotect(f.stack, PAGE, PROT_READ | PROT_WRITE) < 0)
		return -1;
	*state = &f;
	told_open_with(&f.told, (struct worker_client_options){ 0 });
	if (evidence_new(&f.evidence) < 0)
		return -1;
	evidence_ask(f.evidence, f.told.client);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	evidence_free(f->evidence);
	told_close(&f->told);
	buf_done(&f->text);
	munmap(f->code, PAGE);
	munmap(f->stack - PAGE, 2 * PAGE);
	return 0;
}

static const char *copy(struct fixture *f)
{
	evidence_process(f->evidence, (uint32_t)getpid(), 0);
	evidence_copy(f->evidence, true);
	buf_clear(&f->text);
	assert_int_equal(evidence_write(f->evidence, &f->text), 0);
	return f->text.data;
}

/* Number of lines that begin with this. */
static int count(const char *text, const char *start)
{
	int n = 0;

	for (const char *at = text; (at = strstr(at, start)); at++)
		n += at == text || at[-1] == '\n';
	return n;
}

static void code_without_a_file_is_kept_with_each_change(void **state)
{
	struct fixture *f = *state;
	char start[64], line[128];

	snprintf(start, sizeof(start), "code %d %lx ", getpid(), (unsigned long)f->code);
	assert_int_equal(count(copy(f), start), 0);
	memcpy(f->code + 2, "\xe8\x01\xff", 3);
	snprintf(line, sizeof(line), "%s0000e801ff00", start);
	assert_int_equal(count(copy(f), line), 1);
	assert_int_equal(count(copy(f), start), 1);
	f->code[0] = 0xc3;
	assert_int_equal(count(copy(f), start), 2);
	snprintf(line, sizeof(line), "%sc300e801ff00", start);
	assert_int_equal(count(f->text.data, line), 1);
	assert_int_equal(evidence_counts(f->evidence).code_bytes, 2 * PAGE);
}

/* Data of a stack may be anybody's secrets. */
static void of_a_stack_only_addresses_of_code_are_kept(void **state)
{
	struct fixture *f = *state;
	uint64_t *words = (uint64_t *)(f->stack + PAGE - 64);
	char start[64], line[128];

	words[1] = (uint64_t)f->code + 5;
	memcpy(&words[2], "password", 8);
	words[3] = (uint64_t)f->stack;
	snprintf(start, sizeof(start), "top %d %lx ", getpid(), (unsigned long)f->stack + PAGE);
	copy(f);
	assert_int_equal(count(f->text.data, start), 1);
	snprintf(line, sizeof(line), "%s%lx %lx\n", start, (unsigned long)&words[1],
		(unsigned long)f->code + 5);
	assert_int_equal(count(f->text.data, line), 1);
}

static void mappings_of_code_have_their_file(void **state)
{
	struct fixture *f = *state;
	char path[4096], name[4200];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(len > 0);
	path[len] = '\0';
	snprintf(name, sizeof(name), " %s\n", path);
	assert_non_null(strstr(copy(f), name));
	assert_int_equal(strncmp(f->text.data, "# 1 processes, ", 15), 0);
}

static void what_is_over_a_limit_is_counted(void **state)
{
	struct fixture *f = *state;
	size_t size = EVIDENCE_CODE_BYTES_MAX + 8 * PAGE;
	uint8_t *large = mmap(
		NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct evidence_counts counts;

	assert_ptr_not_equal(large, MAP_FAILED);
	for (size_t i = 0; i < size; i += PAGE)
		large[i] = 1;
	evidence_process(f->evidence, (uint32_t)getpid(), 0);
	evidence_copy(f->evidence, true);
	munmap(large, size);
	counts = evidence_counts(f->evidence);
	assert_int_equal(counts.code_bytes, EVIDENCE_CODE_BYTES_MAX);
	assert_in_range(counts.bytes_left_out, 8 * PAGE, 9 * PAGE); /* f->code may be one */
	for (uint32_t i = 1; i <= EVIDENCE_PROCESSES_MAX; i++)
		evidence_process(f->evidence, i, 1 + i);
	counts = evidence_counts(f->evidence);
	assert_int_equal(counts.processes, EVIDENCE_PROCESSES_MAX);
	assert_int_equal(counts.tasks_left_out, 1);
}

static void a_process_that_ended_is_left_alone(void **state)
{
	struct fixture *f = *state;

	evidence_process(NULL, 1, 1);
	evidence_process(f->evidence, (uint32_t)getpid(), 77); /* it began at another time */
	evidence_copy(f->evidence, true);
	assert_int_equal(evidence_counts(f->evidence).copies_failed, 0);
	assert_int_equal(evidence_write(f->evidence, &f->text), 0);
	assert_string_equal(strchr(f->text.data, '\n'), "\n");
}

int main(int argc, char **argv)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(code_without_a_file_is_kept_with_each_change),
		TEST(of_a_stack_only_addresses_of_code_are_kept),
		TEST(mappings_of_code_have_their_file),
		TEST(what_is_over_a_limit_is_counted),
		TEST(a_process_that_ended_is_left_alone),
	};

	worker_client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
