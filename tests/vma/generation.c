/* SPDX-License-Identifier: Apache-2.0 */
/* generation.c - does the number of bpf/vma.bpf.h tell each change to a process's mappings?
 * Usage: generation GENERATION.BPF.O
 * Prints how this kernel numbers them: `none`, or `int` or `seqcount` after these were seen: the
 * same number as long as nothing changes, another one after each change, and 0 while another thread
 * is in the middle of a change. Exits 1, with the first that was not, or 2 when it cannot run. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/types.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/targets/burn.h"

#define CHANGES 100
#define ASKED_MAX 1000 /* for two that are the same: others may lock our mappings at times */
#define SECONDS_MAX 60
#define BUSY_BYTES (64UL << 20)

static uint32_t ask(int program)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err = bpf_prog_test_run_opts(program, &opts);

	if (err < 0) {
		fprintf(stderr, "generation: the program cannot be run: %d\n", err);
		_exit(2);
	}
	return opts.retval;
}

/* A change that joins nothing and splits nothing. */
static void *change(void *mapped)
{
	if (mapped && munmap(mapped, (size_t)getpagesize()) == 0)
		return NULL;
	return mmap(NULL, (size_t)getpagesize(), PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static bool stays(int program)
{
	uint32_t before = ask(program), now;

	for (int i = 0; i < ASKED_MAX; i++) {
		now = ask(program);
		if (now && now == before)
			return true;
		before = now;
	}
	return false;
}

static bool tells_each_change(int program)
{
	void *mapped = NULL;

	for (int i = 0; i < CHANGES; i++) {
		uint32_t before = ask(program);

		mapped = change(mapped);
		if (mapped == MAP_FAILED || ask(program) == before)
			return false;
	}
	return true;
}

/* Long changes, one after the other: the pages of a large mapping get other rights. */
static void *keep_changing(void *arg)
{
	atomic_bool *end = arg;
	char *busy = mmap(NULL, BUSY_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	while (busy != MAP_FAILED && !atomic_load(end)) {
		mprotect(busy, BUSY_BYTES, PROT_READ);
		mprotect(busy, BUSY_BYTES, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

static bool is_zero_during_a_change(int program)
{
	uint64_t deadline = deadline_in(SECONDS_MAX);
	atomic_bool end = false;
	bool zero = false;
	pthread_t thread;

	if (pthread_create(&thread, NULL, keep_changing, &end))
		return false;
	while (!zero && !is_past(deadline))
		zero = ask(program) == 0;
	atomic_store(&end, true);
	pthread_join(thread, NULL);
	return zero;
}

static const struct {
	bool (*holds)(int program);
	const char *otherwise;
} expected[] = {
	{ stays, "the number changes without a change" },
	{ tells_each_change, "a change has the number of the one before" },
	{ is_zero_during_a_change, "the number is never 0 while another thread changes mappings" },
};

/* As enum vma_numbers. */
static const char *const ways[] = { "none", "int", "seqcount" };

static struct bpf_object *load(const char *path)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);

	return object && bpf_object__load(object) == 0 ? object : NULL;
}

static int program_of(const struct bpf_object *object, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(object, name));
}

int main(int argc, char **argv)
{
	const struct bpf_object *object = argc == 2 ? load(argv[1]) : NULL;
	int program;
	uint32_t way;

	if (!object) {
		fprintf(stderr, "generation: usage: generation GENERATION.BPF.O, as root\n");
		return 2;
	}
	program = program_of(object, "ask");
	way = ask(program_of(object, "ask_way"));
	if (way >= sizeof(ways) / sizeof(ways[0])) {
		puts("a way without a name");
		return 1;
	}
	for (size_t i = 0; way && i < sizeof(expected) / sizeof(expected[0]); i++) {
		if (!expected[i].holds(program)) {
			printf("%s: %s\n", ways[way], expected[i].otherwise);
			return 1;
		}
	}
	puts(ways[way]);
	return 0;
}
