/* SPDX-License-Identifier: Apache-2.0 */
/* ring_check.c - is each event that was due in the ring buffer, or counted as lost?
 * Usage: ring_check CGROUP2_FOLDER
 * Loads the product's programs with a ring of a page that nobody reads, makes events of every kind
 * until long after it is full, then reads it. What others on the host make meanwhile is counted on
 * both sides. Then it empties the ring and sees that what was lost is sent again, and that ticks
 * that lose their events add up. Prints a line a check: `ok NAME ...` or `not ok NAME ...`. Exits 1
 * when one is not ok, 2 when it cannot run. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "bpf/reasons.h"
#include "base/own.h"
#include "ring_check.skel.h"
#include "tests/ring/ring_check.h"

#define CGROUPS 300
#define EXECS 200
#define HZ 997
#define TICKS_MIN 500
#define SETTLE_TRIES 200
#define CPUS_MAX 1024
#define STACK_ROOM (64 * 1024)
#define TEXT_WORDS 5 /* before a string's characters */
#define COMPACT_ASCII (1 | 1 << 3 | 1 << 4) /* one byte a character */

#define KIND_NAME(id, name, text) [id] = (name),
static const char *const names[EVENT_KINDS_MAX] = { EVENT_LOSSES(KIND_NAME) };

struct check {
	struct ring_check_bpf *skel;
	struct ring_buffer *ring;
	uint64_t sent[EVENT_KINDS_MAX];
	/* Sent + lost - due before anything was made: others' events of when programs were being
	 * attached, which one side alone counted. */
	uint64_t base[EVENT_KINDS_MAX];
	struct bpf_link *clocks[CPUS_MAX];
	char folder[256], spinner_folder[300];
	int failed;
};

__attribute__((format(printf, 3, 4))) static void say(
	struct check *c, bool ok, const char *fmt, ...)
{
	va_list args;

	printf("%s", ok ? "ok " : "not ok ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	c->failed |= !ok;
}

static void die(const char *what)
{
	fprintf(stderr, "ring_check: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* ---- the programs ------------------------------------------------------------------------------
 */

static int on_event(void *ctx, void *data, size_t size)
{
	struct check *c = ctx;
	uint32_t kind = size >= sizeof(kind) ? *(uint32_t *)data : 0;

	c->sent[kind % EVENT_KINDS_MAX]++;
	return 0;
}

static void read_ring(struct check *c)
{
	if (ring_buffer__consume(c->ring) < 0)
		die("the ring buffer");
}

static uint64_t lost(const struct check *c, uint32_t kind)
{
	return __atomic_load_n(&c->skel->bss->events_lost[kind], __ATOMIC_SEQ_CST);
}

static uint64_t due(const struct check *c, uint32_t kind)
{
	return __atomic_load_n(&c->skel->bss->due[kind], __ATOMIC_SEQ_CST);
}

static void configure(struct ring_check_bpf *skel)
{
	const struct {
		struct bpf_map *map;
		uint32_t entries;
	} sizes[] = {
		{ skel->maps.events, RING_BYTES },
		{ skel->maps.counts_0, COUNTS_MAX },
		{ skel->maps.counts_1, COUNTS_MAX },
		{ skel->maps.objects, COUNTS_MAX },
		{ skel->maps.targets, 1 },
		{ skel->maps.target_cgroups, TARGETS_MAX },
		{ skel->maps.tick_counts, CPUS_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		bpf_map__set_max_entries(sizes[i].map, sizes[i].entries);
	/* No CPU's ids are another one's. */
	skel->rodata->counts_high = COUNTS_MAX;
	skel->rodata->id_stride = COUNTS_MAX;
	skel->rodata->ring_bytes = RING_BYTES;
	skel->rodata->filter = FILTER_CGROUP;
	skel->rodata->meets = FILTER_CGROUP;
	skel->rodata->page_shift = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	/* The kernels of this test iterate mappings. */
	bpf_program__set_autoload(skel->progs.scan_tasks, false);
}

static void attach(struct bpf_program *const *programs, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!bpf_program__attach(programs[i]))
			die(bpf_program__name(programs[i]));
}

static uint64_t off(struct check *c, uint32_t kind)
{
	read_ring(c);
	return c->sent[kind] + lost(c, kind) - due(c, kind);
}

/* An event that is under way is counted on one side for a moment. */
static bool adds_up(struct check *c, uint32_t kind)
{
	for (int i = 0; i < SETTLE_TRIES; i++) {
		if (off(c, kind) == c->base[kind])
			return true;
		usleep(10000);
	}
	return false;
}

static void note_base(struct check *c)
{
	for (uint32_t kind = 0; kind < EVENT_KINDS_MAX; kind++) {
		do {
			c->base[kind] = off(c, kind);
			usleep(50000);
		} while (c->base[kind] != off(c, kind));
	}
}

static void start(struct check *c)
{
	c->skel = ring_check_bpf__open();
	if (!c->skel)
		die("open");
	configure(c->skel);
	if (ring_check_bpf__load(c->skel) < 0)
		die("load");
	c->ring = ring_buffer__new(bpf_map__fd(c->skel->maps.events), on_event, c, NULL);
	if (!c->ring)
		die("ring");
	attach((struct bpf_program *[]){ c->skel->progs.exec, c->skel->progs.cgroup_made,
		       c->skel->progs.cgroup_removed, c->skel->progs.cgroup_renamed,
		       c->skel->progs.due_exec, c->skel->progs.due_made, c->skel->progs.due_removed,
		       c->skel->progs.due_renamed },
		8);
	note_base(c);
}

static void run(const struct check *c, struct bpf_program *program, uint32_t number)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	c->skel->bss->number = number;
	if (bpf_prog_test_run_opts(bpf_program__fd(program), &opts) < 0)
		die(bpf_program__name(program));
}

/* ---- what makes events --------------------------------------------------------------------- */

static void make_cgroup(const char *folder)
{
	if (mkdir(folder, 0755) < 0)
		die(folder);
}

static uint64_t number_of(const char *folder)
{
	struct stat st;

	if (stat(folder, &st) < 0)
		die(folder);
	return st.st_ino;
}

static void join_cgroup(const char *folder)
{
	char file[320];
	FILE *procs;

	snprintf(file, sizeof(file), "%s/cgroup.procs", folder);
	procs = fopen(file, "w");
	if (!procs || fprintf(procs, "0\n") < 0 || fclose(procs) != 0)
		die(file);
}

static void make_cgroups(const struct check *c)
{
	char folder[300];

	for (int i = 0; i < CGROUPS; i++) {
		snprintf(folder, sizeof(folder), "%s/a-cgroup-with-a-name-%d", c->folder, i);
		make_cgroup(folder);
	}
}

static void remove_cgroups(const struct check *c)
{
	char folder[300];

	for (int i = 0; i < CGROUPS; i++) {
		snprintf(folder, sizeof(folder), "%s/a-cgroup-with-a-name-%d", c->folder, i);
		if (rmdir(folder) < 0)
			die(folder);
	}
}

static void run_programs(int len)
{
	for (int i = 0; i < len; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			execl("/bin/true", "true", NULL);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
			die("/bin/true");
	}
}

/* Of a process: what the scan gives of it. */
static size_t scan(const struct check *c)
{
	union bpf_iter_link_info info = { .task.pid = (uint32_t)getpid() };
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
	struct bpf_link *link = bpf_program__attach_iter(c->skel->progs.scan, &opts);
	struct scan_mapping mappings[256];
	int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	size_t bytes = 0;
	ssize_t got;

	if (fd < 0)
		die("scan");
	while ((got = read(fd, (char *)mappings + bytes, sizeof(mappings) - bytes)) > 0)
		bytes += (size_t)got;
	close(fd);
	bpf_link__destroy(link);
	return bytes / sizeof(*mappings);
}

/* Mappings of code that a file holds, of this process. */
static size_t code_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096], rights[8], path[4096];
	size_t len = 0;

	while (maps && fgets(line, sizeof(line), maps))
		len += sscanf(line, "%*s %7s %*s %*s %*s %4095s", rights, path) == 2 &&
			rights[2] == 'x' && path[0] == '/';
	if (maps)
		fclose(maps);
	return len;
}

/* ---- checks ------------------------------------------------------------------------------------
 */

static void check_sums(struct check *c)
{
	for (uint32_t kind = 0; kind < EVENT_KINDS_MAX; kind++) {
		if (!names[kind])
			continue;
		say(c, adds_up(c, kind) && lost(c, kind) > 0,
			"full: %s: %" PRIu64 " due = %" PRIu64 " sent + %" PRIu64 " lost",
			names[kind], due(c, kind) + c->base[kind], c->sent[kind], lost(c, kind));
	}
}

static const char *page_place(const struct check *c, uint32_t page)
{
	struct rows_page value = { 0 };

	if (bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.row_pages), &page, &value) < 0)
		die("row_pages");
	return value.place == ROWS_PAGE_ABSENT   ? "absent"
		: value.place == ROWS_PAGE_ASKED ? "asked"
						 : "other";
}

/* A code whose name and file are "code" and "file". */
static void describe_code(struct check *c)
{
	static const struct language language = { .kind = LANGUAGE_CPYTHON,
		.code_type = 4711,
		.code_window = 2 * sizeof(uint64_t),
		.code_name = sizeof(uint64_t),
		.code_lines = 2 * sizeof(uint64_t),
		.code_first_line = 3 * sizeof(uint64_t),
		.text_ascii = TEXT_WORDS * sizeof(uint64_t) };
	static const uint64_t name[] = { 1, 1, 4, 0, COMPACT_ASCII, 0x65646f63 };
	static const uint64_t file[] = { 1, 1, 4, 0, COMPACT_ASCII, 0x656c6966 };
	static uint64_t code[2 + LANGUAGE_CODE_WINDOW / sizeof(uint64_t)] = { 1, 4711 };
	uint32_t index = MADE_LANGUAGE;

	code[2] = (uint64_t)(uintptr_t)file;
	code[3] = (uint64_t)(uintptr_t)name;
	c->skel->bss->code_at = (uint64_t)(uintptr_t)code;
	bpf_map_update_elem(bpf_map__fd(c->skel->maps.languages), &index, &language, BPF_ANY);
}

/* A ring that nobody reads takes some of each. */
static void fill(struct check *c)
{
	struct bpf_program *const programs[] = { c->skel->progs.make_task,
		c->skel->progs.make_stack, c->skel->progs.make_leaf, c->skel->progs.make_jit,
		c->skel->progs.make_code, c->skel->progs.make_tick, c->skel->progs.make_page,
		c->skel->progs.make_deferred, c->skel->progs.make_pressure };
	char room[STACK_ROOM];

	memset(room, 0, sizeof(room));
	describe_code(c);
	c->skel->bss->stack_pointer = (uint64_t)(uintptr_t)room;
	for (uint32_t number = 1; number <= RUNS; number++)
		for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
			run(c, programs[i], number);
	__asm__ volatile("" : : "r"(room) : "memory");
}

static size_t targets_len(const struct check *c)
{
	int map = bpf_map__fd(c->skel->maps.target_cgroups);
	uint64_t key, *last = NULL;
	size_t len = 0;

	for (; bpf_map_get_next_key(map, last, &key) == 0; last = &key)
		len++;
	return len;
}

/* With a target: what is below it is one, up to so many at a time. */
static void check_cgroups(struct check *c)
{
	uint64_t id = number_of(c->folder), before = due(c, EVENT_CGROUP), missed;
	uint8_t one = 1;

	bpf_map_update_elem(bpf_map__fd(c->skel->maps.target_cgroups), &id, &one, BPF_ANY);
	make_cgroup(c->spinner_folder);
	make_cgroups(c);
	missed = c->skel->bss->targets_lost[TARGET_LOST_CGROUP];
	say(c, targets_len(c) == TARGETS_MAX && missed == CGROUPS + 2 - TARGETS_MAX,
		"targets: %d cgroups made, %" PRIu64 " had no room", CGROUPS + 1, missed);
	remove_cgroups(c);
	say(c, targets_len(c) == 2, "targets: %zu when those were removed", targets_len(c));
	say(c, due(c, EVENT_CGROUP) - before >= 2 * CGROUPS + 1,
		"tracepoints: %" PRIu64 " events of cgroups", due(c, EVENT_CGROUP) - before);
}

static void check_scan(struct check *c, bool full)
{
	uint64_t before = lost(c, EVENT_OBJECT), sent = c->sent[EVENT_OBJECT];
	size_t mappings = code_mappings(), len = scan(c);

	if (full) {
		/* Each mapping of a file tries again. */
		c->skel->bss->due[EVENT_OBJECT] += mappings;
		say(c, lost(c, EVENT_OBJECT) - before == mappings && c->skel->bss->objects_len == 0,
			"scan: %zu mappings of code, %" PRIu64 " events lost, %u files known",
			mappings, lost(c, EVENT_OBJECT) - before, c->skel->bss->objects_len);
		return;
	}
	read_ring(c);
	sent = c->sent[EVENT_OBJECT] - sent;
	say(c, len >= mappings && sent > 0 && sent == c->skel->bss->objects_len,
		"scan: %zu mappings given, %" PRIu64 " files sent again", len, sent);
}

/* It is sent by the first of two runs, and known at the second. */
static void check_sent_once(
	struct check *c, const char *when, uint32_t kind, struct bpf_program *program)
{
	uint64_t sent = c->sent[kind];

	run(c, program, RUNS);
	run(c, program, RUNS);
	c->skel->bss->due[kind]--;
	read_ring(c);
	say(c, c->sent[kind] == sent + 1, "%s%s: is sent once more", when, names[kind]);
}

/* What was lost is sent when it is needed next. */
static void check_again(struct check *c)
{
	say(c, strcmp(page_place(c, RUNS), "absent") == 0, "page: is %s", page_place(c, RUNS));
	check_sent_once(c, "", EVENT_TASK, c->skel->progs.make_task);
	check_sent_once(c, "", EVENT_STACK, c->skel->progs.make_stack);
	check_sent_once(c, "", EVENT_LEAF, c->skel->progs.make_leaf);
	check_sent_once(c, "", EVENT_JIT, c->skel->progs.make_jit);
	check_sent_once(c, "", EVENT_CODE, c->skel->progs.make_code);
	check_sent_once(c, "", EVENT_PAGE, c->skel->progs.make_page);
	say(c, strcmp(page_place(c, RUNS), "asked") == 0, "page: is %s", page_place(c, RUNS));
}

/* In the next epoch, too: then nothing promises that user space has it. A task keeps its id. */
static void check_epoch(struct check *c)
{
	uint32_t task;

	run(c, c->skel->progs.make_task, RUNS);
	c->skel->bss->due[EVENT_TASK]--;
	task = c->skel->bss->made_task;
	c->skel->data->epoch++;
	check_sent_once(c, "epoch: ", EVENT_TASK, c->skel->progs.make_task);
	check_sent_once(c, "epoch: ", EVENT_STACK, c->skel->progs.make_stack);
	check_sent_once(c, "epoch: ", EVENT_LEAF, c->skel->progs.make_leaf);
	say(c, c->skel->bss->made_task == task && task != 0, "epoch: the task is still %u", task);
}

static void check_descendants(struct check *c)
{
	uint32_t parent = (uint32_t)getppid();
	uint64_t missed;
	uint8_t one = 1;

	bpf_map_update_elem(bpf_map__fd(c->skel->maps.targets), &parent, &one, BPF_ANY);
	for (uint32_t number = 1; number <= RUNS; number++)
		run(c, c->skel->progs.make_descendant, number | 1U << 31);
	missed = c->skel->bss->targets_lost[TARGET_LOST_PROCESS];
	say(c, missed == RUNS, "targets: %" PRIu64 " of %d descendants had no room", missed, RUNS);
}

/* ---- ticks -------------------------------------------------------------------------------------
 */

static void attach_clock(struct check *c, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000 / HZ,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 && errno == ENODEV)
		return; /* not online */
	if (fd >= 0)
		c->clocks[cpu] = bpf_program__attach_perf_event(c->skel->progs.sample, fd);
	if (!c->clocks[cpu])
		die("clock");
}

static void sum_ticks(const struct check *c, struct tick_stats *sum)
{
	*sum = (struct tick_stats){ 0 };
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++) {
		struct tick_stats one;

		if (bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.tick_counts), &cpu, &one) < 0)
			die("tick_counts");
		sum->ticks += one.ticks;
		sum->samples += one.samples;
		sum->idle += one.idle;
		sum->filtered += one.filtered;
		for (size_t i = 0; i < ARRAY_SIZE(one.lost); i++)
			sum->lost[i] += one.lost[i];
	}
}

/* In a cgroup that was made when its event was lost. */
static pid_t start_spinner(const struct check *c)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	join_cgroup(c->spinner_folder);
	for (volatile uint64_t x = 0;; x++)
		;
}

static void check_ticks(struct check *c)
{
	uint64_t before, in_ticks;
	struct tick_stats sum;
	int cpus = libbpf_num_possible_cpus();
	pid_t pid;

	if (cpus > CPUS_MAX)
		cpus = CPUS_MAX;
	fill(c); /* the ring, once more */
	before = lost(c, EVENT_TASK) + lost(c, EVENT_STACK) + lost(c, EVENT_LEAF);
	pid = start_spinner(c);
	for (int cpu = 0; cpu < cpus; cpu++)
		attach_clock(c, cpu);
	do {
		usleep(20000);
		sum_ticks(c, &sum);
	} while (sum.lost[LOST_RING_FULL] < TICKS_MIN && waitpid(pid, NULL, WNOHANG) == 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int cpu = 0; cpu < cpus; cpu++)
		bpf_link__destroy(c->clocks[cpu]);
	sum_ticks(c, &sum);
	in_ticks = lost(c, EVENT_TASK) + lost(c, EVENT_STACK) + lost(c, EVENT_LEAF) - before;
	say(c, sum.ticks == sum.samples + sum.idle + sum.filtered + sum.lost[LOST_RING_FULL],
		"ticks: %llu = %llu samples + %llu idle + %llu filtered + %llu ring_full",
		sum.ticks, sum.samples, sum.idle, sum.filtered, sum.lost[LOST_RING_FULL]);
	say(c, sum.lost[LOST_RING_FULL] >= TICKS_MIN && in_ticks == sum.lost[LOST_RING_FULL],
		"ticks: %" PRIu64 " events were lost for %llu ticks", in_ticks,
		sum.lost[LOST_RING_FULL]);
}

int main(int argc, char **argv)
{
	struct check c = { 0 };

	if (argc != 2)
		return 2;
	snprintf(c.folder, sizeof(c.folder), "%s/stoker-ring-%d", argv[1], (int)getpid());
	snprintf(c.spinner_folder, sizeof(c.spinner_folder), "%s/spinner", c.folder);
	make_cgroup(c.folder);
	start(&c);
	fill(&c);
	check_cgroups(&c);
	join_cgroup(c.folder); /* what runs in the target is met */
	run_programs(EXECS);
	check_scan(&c, true);
	read_ring(&c);
	check_sums(&c);
	check_again(&c);
	check_epoch(&c);
	check_scan(&c, false);
	check_descendants(&c);
	check_ticks(&c);
	join_cgroup(argv[1]);
	rmdir(c.spinner_folder);
	rmdir(c.folder);
	ring_buffer__free(c.ring);
	ring_check_bpf__destroy(c.skel);
	return c.failed;
}
