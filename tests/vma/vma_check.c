/* SPDX-License-Identifier: Apache-2.0 */
/* vma_check.c - does the walk of bpf/vma.bpf.h say what /proc/PID/maps says?
 * Usage: vma_check VMA_CHECK.BPF.O HZ SECONDS
 * Every tick of every CPU brings answers of the walk; each is held against a reading of the maps.
 * An answer is compared if the reading is known to be true of its tick: the mappings had one
 * generation before the reading and at the tick after it. Of a mapping that stays while all around
 * it changes (churnmaps.c), and of all where the kernel has no generations, it is enough that it
 * was the same in the readings before and after. All other answers count as changed, or gone with
 * the process. Prints the first answers that differ, a line a program (`load NAME COMPARED AGREED
 * DIFFERED CHANGED GONE`) and the total. Exits 1 when too few agree or were compared, 2 when it
 * cannot run. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <linux/magic.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/vec.h"
#include "proc/maps.h"
#include "proc/status.h"
#include "tests/vma/vma_check.h"

#define AGREED_MIN 0.999
#define COMPARED_MIN 5000
#define DIFFERENCES_SHOWN 20
#define POLL_MS 20
#define READING_APART_NS (40 * NSEC_PER_MSEC)
#define READING_REST 5 /* a process is not read for so many times what its last reading took */
#define PROCESSES_MAX 2048
#define TICKS_MAX 4096 /* kept of one process between two readings */
#define MAPS_BYTES_MAX (64 << 20)
#define KERNEL_HALF (1ULL << 63) /* [vsyscall] is in the text and in no tree */

struct tally {
	uint64_t compared, agreed, changed, gone;
};

struct load {
	char comm[COMM_BYTES];
	struct tally tally;
};

/* /proc/PID/maps between two moments. Mappings are as answers, sorted. */
struct reading {
	VEC(struct vma_answer) mappings;
	uint64_t begin_ns, end_ns;
	bool failed; /* no memory */
};

/* A process image. */
struct process {
	uint64_t start_ns, mm;
	uint32_t tgid, exec_id;
	uint64_t generation_before; /* of the last tick before the reading */
	struct reading *last;       /* NULL: not read yet */
	VEC(struct vma_tick) early; /* before that first reading */
	VEC(struct vma_tick) ticks; /* since it */
};

struct check {
	VEC(struct process *) processes;
	VEC(struct load) loads;
	struct tally total;
	uint64_t ticks, lost, dropped, readings, shown;
	bool has_generations; /* a tick had one */
};

static void reading_free(struct reading *reading)
{
	if (!reading)
		return;
	vec_done(&reading->mappings);
	free(reading);
}
DEFINE_CLEANUP(struct reading, reading_free)

static void process_free(struct process *p)
{
	reading_free(p->last);
	vec_done(&p->early);
	vec_done(&p->ticks);
	free(p);
}

/* ---- reading ------------------------------------------------------------------------------ */

static void take_mapping(void *ctx, const struct maps_entry *entry)
{
	struct reading *reading = ctx;
	struct vma_answer *m;

	if (entry->start >= KERNEL_HALF)
		return;
	m = vec_add(&reading->mappings);
	if (!m) {
		reading->failed = true;
		return;
	}
	m->start = entry->start;
	m->end = entry->end;
	m->file_offset = entry->file_offset;
	m->ino = entry->ino;
	m->dev = entry->dev;
	m->found = 1;
	m->executable = entry->executable;
	m->shared = entry->shared;
}

/* Is the process still the one that the tick saw? */
static bool is_same(const struct process *p)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK), start;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", p->tgid);
	if (fd_read_path(path, MAPS_BYTES_MAX, &text) || !text.data ||
		status_parse_start(text.data, &start))
		return false;
	return start == p->start_ns / (NSEC_PER_SEC / hz);
}

/* NULL: the process is gone. */
static struct reading *read_maps(const struct process *p)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(reading_freep) struct reading *reading = calloc(1, sizeof(*reading));
	char path[64];

	if (!reading)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", p->tgid);
	reading->begin_ns = clock_ns(CLOCK_MONOTONIC);
	if (fd_read_path(path, MAPS_BYTES_MAX, &text) || text.len == 0)
		return NULL;
	reading->end_ns = clock_ns(CLOCK_MONOTONIC);
	if (!is_same(p))
		return NULL;
	if (maps_parse(text.data, take_mapping, reading) || reading->failed)
		return NULL;
	return TAKE_PTR(reading);
}

/* What a reading says of addr, in the form of an answer. */
static struct vma_answer reading_answer(const struct reading *reading, uint64_t addr)
{
	size_t low = 0, high = reading->mappings.len;
	struct vma_answer none = { 0 };

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct vma_answer *m = &reading->mappings.data[mid];

		if (addr >= m->end)
			low = mid + 1;
		else if (addr < m->start)
			high = mid;
		else
			return *m;
	}
	return none;
}

/* ---- comparing ---------------------------------------------------------------------------- */

static bool answers_alike(const struct vma_answer *a, const struct vma_answer *b)
{
	return a->found == b->found && a->start == b->start && a->end == b->end &&
		a->file_offset == b->file_offset && a->executable == b->executable &&
		a->shared == b->shared;
}

static bool answers_same(const struct vma_answer *a, const struct vma_answer *b)
{
	return answers_alike(a, b) && a->ino == b->ino && a->dev == b->dev;
}

/* Of a file in an overlay, maps names the overlay's inode and the kernel maps that of the layer:
 * what else they say must do. -errno: the process is gone, say. */
static int is_in_overlay(const struct vma_tick *tick, const struct vma_answer *m)
{
	struct statfs fs;
	char path[96];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", tick->tgid, m->start, m->end);
	if (statfs(path, &fs))
		return -errno;
	return fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

static void print_answer(const char *who, const struct vma_answer *a)
{
	if (!a->found) {
		printf("  %s no mapping\n", who);
		return;
	}
	printf("  %s %llx-%llx offset %llx dev %x:%x ino %llu%s%s\n", who, a->start, a->end,
		a->file_offset, a->dev >> 20, a->dev & 0xfffff, a->ino,
		a->executable ? " executable" : "", a->shared ? " shared" : "");
}

static struct tally *load_tally(struct check *check, const char *comm)
{
	struct load *load;

	vec_each (&check->loads, known) {
		if (strncmp(known->comm, comm, COMM_BYTES) == 0)
			return &known->tally;
	}
	load = vec_add(&check->loads);
	if (!load)
		exit(2);
	memcpy(load->comm, comm, COMM_BYTES);
	return &load->tally;
}

static void compare(struct check *check, struct tally *tally, const struct vma_tick *tick,
	const struct vma_answer *answer, const struct vma_answer *truth, bool exact)
{
	int same = answers_same(answer, truth);

	if (!same && answers_alike(answer, truth) && truth->ino)
		same = is_in_overlay(tick, truth);
	if (same < 0) {
		tally->gone++;
		return;
	}
	tally->compared++;
	if (same) {
		tally->agreed++;
		return;
	}
	if (check->shown++ >= DIFFERENCES_SHOWN)
		return;
	printf("differs: %.*s %u at %llx (answer %td of %u), %s\n", COMM_BYTES, tick->comm,
		tick->tgid, answer->addr, answer - tick->answers, tick->answers_len,
		exact ? "reading of the same generation" : "same before and after");
	print_answer("walk", answer);
	print_answer("maps", truth);
}

/* Was `before` read while the mappings were as at the tick? */
static bool is_exact(const struct process *p, const struct vma_tick *tick)
{
	return p->last && tick->generation && tick->generation == p->generation_before &&
		tick->at_ns > p->last->end_ns;
}

/* Was it the same before and after the tick, in a way that tells what it was then? What came and
 * went in between leaves no trace in the readings. */
static bool is_kept(const struct check *check, uint64_t addr, const struct vma_answer *before,
	const struct vma_answer *after)
{
	if (!before->found || !answers_same(before, after))
		return false;
	return churn_stays(addr) || !check->has_generations;
}

/* Judges a tick by the last reading and the one after it. after is NULL when the process is gone;
 * exact: the last reading is known to be true of the tick. */
static void judge(struct check *check, const struct process *p, const struct vma_tick *tick,
	const struct reading *after, bool exact)
{
	struct tally *tally = load_tally(check, tick->comm);
	bool between = p->last && after && tick->at_ns > p->last->end_ns;

	for (uint32_t i = 0; i < tick->answers_len && i < ANSWERS_MAX; i++) {
		const struct vma_answer *answer = &tick->answers[i];
		struct vma_answer truth = { 0 }, later = { 0 };

		if (p->last)
			truth = reading_answer(p->last, answer->addr);
		if (after)
			later = reading_answer(after, answer->addr);
		if (exact || (between && is_kept(check, answer->addr, &truth, &later)))
			compare(check, tally, tick, answer, &truth, exact);
		else if (after)
			tally->changed++;
		else
			tally->gone++;
	}
}

/* Ticks from before the first reading: it is true of them if the generation still is theirs. */
static void judge_early(struct check *check, struct process *p, const struct reading *after)
{
	uint64_t generation = 0;

	vec_each (&p->ticks, tick) {
		if (tick->generation && tick->at_ns > p->last->end_ns) {
			generation = tick->generation;
			break;
		}
	}
	vec_each (&p->early, tick)
		judge(check, p, tick, after, generation && tick->generation == generation);
	vec_done(&p->early);
}

static int keep_early(struct process *p)
{
	vec_each (&p->ticks, tick) {
		struct vma_tick *kept = vec_add(&p->early);

		if (!kept)
			return -ENOMEM;
		*kept = *tick;
	}
	return 0;
}

/* Reads the maps and judges what came since the last reading. False: the process is gone. */
static bool settle(struct check *check, struct process *p)
{
	struct reading *now = read_maps(p);

	check->readings++;
	if (p->last) {
		judge_early(check, p, now);
		vec_each (&p->ticks, tick)
			judge(check, p, tick, now, is_exact(p, tick));
	} else if (!now) {
		vec_each (&p->ticks, tick)
			judge(check, p, tick, NULL, false);
	} else if (keep_early(p)) {
		exit(2);
	}
	vec_each (&p->ticks, tick)
		p->generation_before = tick->generation;
	p->ticks.len = 0;
	reading_free(p->last);
	p->last = now;
	return now != NULL;
}

/* ---- ticks -------------------------------------------------------------------------------- */

static struct process *process_of(struct check *check, const struct vma_tick *tick)
{
	struct process *p, **slot;

	vec_each (&check->processes, known) {
		p = *known;
		if (p->tgid == tick->tgid && p->start_ns == tick->start_ns && p->mm == tick->mm &&
			p->exec_id == tick->exec_id)
			return p;
	}
	if (check->processes.len >= PROCESSES_MAX)
		return NULL;
	p = calloc(1, sizeof(*p));
	slot = vec_add(&check->processes);
	if (!p || !slot)
		exit(2);
	p->tgid = tick->tgid;
	p->start_ns = tick->start_ns;
	p->mm = tick->mm;
	p->exec_id = tick->exec_id;
	return *slot = p;
}

static int take_tick(void *ctx, void *data, size_t size)
{
	struct check *check = ctx;
	const struct vma_tick *tick = data;
	struct vma_tick *kept;
	struct process *p;

	if (size < sizeof(*tick) || tick->tgid == (uint32_t)getpid())
		return 0;
	check->ticks++;
	check->lost += tick->lost;
	check->has_generations |= tick->generation != 0;
	p = process_of(check, tick);
	if (!p || p->ticks.len >= TICKS_MAX) {
		check->dropped++;
		return 0;
	}
	kept = vec_add(&p->ticks);
	if (!kept)
		exit(2);
	*kept = *tick;
	return 0;
}

static bool is_due(const struct process *p, uint64_t now_ns)
{
	uint64_t took;

	if (p->ticks.len == 0)
		return false;
	if (!p->last)
		return true;
	took = p->last->end_ns - p->last->begin_ns;
	return now_ns > p->last->end_ns + READING_APART_NS + READING_REST * took;
}

static void settle_all(struct check *check, bool at_end)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	size_t kept = 0;

	for (size_t i = 0; i < check->processes.len; i++) {
		struct process *p = check->processes.data[i];

		if ((at_end || is_due(p, now_ns)) && !settle(check, p))
			process_free(p);
		else
			check->processes.data[kept++] = p;
	}
	check->processes.len = kept;
}

/* ---- the run ------------------------------------------------------------------------------ */

static int attach(struct bpf_program *program, int cpu, unsigned int hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = hz,
		.freq = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno == ENODEV ? 0 : -errno; /* not online */
	return bpf_program__attach_perf_event(program, fd) ? 0 : -errno;
}

static int run(struct check *check, struct bpf_object *object, unsigned int hz, uint64_t span_ns)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, "on_tick");
	int map = bpf_object__find_map_fd_by_name(object, "ticks"), error = 0;
	struct ring_buffer *ring = ring_buffer__new(map, take_tick, check, NULL);
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + span_ns;

	if (!ring || !program)
		return -ENOENT;
	for (int cpu = 0; !error && cpu < libbpf_num_possible_cpus(); cpu++)
		error = attach(program, cpu, hz);
	while (!error && clock_ns(CLOCK_MONOTONIC) < end_ns) {
		error = ring_buffer__poll(ring, POLL_MS);
		error = error < 0 && error != -EINTR ? error : 0;
		settle_all(check, false);
	}
	ring_buffer__consume(ring);
	settle_all(check, true);
	ring_buffer__free(ring);
	return error;
}

static void print_tally(const char *name, int name_len, const struct tally *t)
{
	printf("%.*s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", name_len, name,
		t->compared, t->agreed, t->compared - t->agreed, t->changed, t->gone);
}

static int report(struct check *check)
{
	struct tally *sum = &check->total;

	vec_each (&check->loads, load) {
		char name[COMM_BYTES + 8];

		sum->compared += load->tally.compared;
		sum->agreed += load->tally.agreed;
		sum->changed += load->tally.changed;
		sum->gone += load->tally.gone;
		snprintf(name, sizeof(name), "load %.*s", COMM_BYTES, load->comm);
		for (char *c = name + 5; *c; c++)
			*c = *c == ' ' ? '_' : *c;
		print_tally(name, (int)sizeof(name), &load->tally);
	}
	print_tally("total", 5, sum);
	printf("%" PRIu64 " ticks, %" PRIu64 " lost, %" PRIu64 " dropped, %" PRIu64 " readings; "
	       "%.4f %% agree\n",
		check->ticks, check->lost, check->dropped, check->readings,
		sum->compared ? 100.0 * (double)sum->agreed / (double)sum->compared : 0.0);
	return sum->compared < COMPARED_MIN ||
		(double)sum->agreed < AGREED_MIN * (double)sum->compared;
}

int main(int argc, char **argv)
{
	struct check check = { 0 };
	struct bpf_object *object;
	int error;

	if (argc != 4)
		return 2;
	object = bpf_object__open_file(argv[1], NULL);
	if (!object || bpf_object__load(object)) {
		fprintf(stderr, "vma_check: cannot load %s: %s\n", argv[1], strerror(errno));
		return 2;
	}
	error = run(&check, object, (unsigned int)atoi(argv[2]),
		(uint64_t)atoi(argv[3]) * NSEC_PER_SEC);
	bpf_object__close(object);
	if (error) {
		fprintf(stderr, "vma_check: %s\n", strerror(-error));
		return 2;
	}
	error = report(&check);
	vec_each (&check.processes, p)
		process_free(*p);
	vec_done(&check.processes);
	vec_done(&check.loads);
	return error;
}
