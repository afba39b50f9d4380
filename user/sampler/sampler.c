/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/sampler.c - loads the program, sizes its maps, and drains them.
 * Invariant of the two count maps: BPF writes to one; the other is empty or being drained. After
 * the switch we wait until the ticks that run have ended, so none still writes to the map that is
 * read. A stack or task is sent before it is counted, so the ring buffer is emptied between the
 * switch and the reading. */
#include "sampler/sampler.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/own.h"
#include "sample.skel.h"
#include "sampler/clocks.h"
#include "sampler/cpu_costs.h"
#include "sampler/kernel_faults.h"
#include "sampler/kernel_features.h"
#include "sampler/kernel_types.h"
#include "sampler/map_sizes.h"
#include "sampler/places.h"
#include "sampler/scan.h"
#include "sampler/tick_counts.h"
#include "sampler/tracepoints.h"
#include "unwind/publish.h"

#define JIT_MAX 4096
#define SLABS_MIN 4
#define TREE_MAX 8192 /* descendants that are remembered */
#define DRAIN_BATCH 1024
#define TICK_LIMIT_NS 300000
#define TICK_LIMIT_OF_PERIOD 4 /* one part of it */

struct sampler {
	struct sample_bpf *skel;
	struct ring_buffer *ring;
	struct clocks clocks;
	struct tick_counts counts;
	struct row_maps_bpf row_maps;
	struct publish *publish;
	struct tracepoints tracepoints;
	struct events events;
	uint32_t cpus;
	uint32_t slabs;
	bool times;
	uint64_t tick_limit_ns;
	bool scan_tasks; /* the kernel has no iterator of mappings */
	struct scan_reader scans;
	uint64_t *visit_ids; /* NULL: nobody visits */
	uint64_t drained_bytes, polled_ns;
	struct count_key keys[DRAIN_BATCH];
	uint64_t values[DRAIN_BATCH];
};

/* libbpf's last warning, for the reason of a failed load. One loader at a time. */
static __thread struct why *libbpf_says;

static int keep_libbpf_words(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	size_t used;

	if (level != LIBBPF_WARN || !libbpf_says || libbpf_says->text[0] != '\0')
		return 0;
	vsnprintf(libbpf_says->text, sizeof(libbpf_says->text), fmt, ap);
	used = strcspn(libbpf_says->text, "\n");
	libbpf_says->text[used] = '\0';
	return 0;
}

static int size_maps(struct sampler *s, const struct sampler_options *o)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	struct map_sizes grown = map_sizes_pick(online > 0 ? (uint32_t)online : 1,
		o->hz_max > o->hz ? o->hz_max : o->hz, o->memory_bytes);
	const struct {
		struct bpf_map *map;
		uint32_t entries;
	} sizes[] = {
		{ s->skel->maps.counts_0, grown.counts },
		{ s->skel->maps.counts_1, grown.counts },
		{ s->skel->maps.objects, SAMPLER_OBJECTS_MAX },
		{ s->skel->maps.jit_sent, JIT_MAX },
		{ s->skel->maps.known_places, PLACES_MAX },
		{ s->skel->maps.targets, (uint32_t)o->ids_len + TREE_MAX },
		{ s->skel->maps.target_cgroups,
			o->cgroups_len ? (uint32_t)o->cgroups_len + TREE_MAX : 1 },
		{ s->skel->maps.tick_limits, o->share_ticks ? CPU_COSTS_CGROUPS_MAX : 1 },
		{ s->skel->maps.tick_counts, s->cpus },
		{ s->skel->maps.accounts, ACCOUNTS_MAX },
	};
	uint64_t used = grown.ring_bytes + ROWS_PAGES_MAX * sizeof(struct rows_page) +
		ROWS_RULES_MAX * sizeof(struct unwind_rule) + SLOTS_BYTES + KNOWN_STACKS_BYTES +
		KNOWN_TASKS_BYTES + OBJECT_ID_WORDS * sizeof(uint64_t);
	uint64_t cpu_bytes = bpf_map__value_size(s->skel->maps.scratches) +
		bpf_map__value_size(s->skel->maps.language_scratches);
	int err = bpf_map__set_max_entries(s->skel->maps.events, grown.ring_bytes);

	s->skel->rodata->counts_high = grown.counts / 2;
	s->skel->rodata->objects_scan_max = SAMPLER_OBJECTS_MAX / 2;
	s->skel->rodata->ring_bytes = grown.ring_bytes;
	used += cpu_bytes * s->cpus;
	for (size_t i = 0; i < ARRAY_SIZE(sizes) && err == 0; i++) {
		used += (uint64_t)sizes[i].entries *
			(bpf_map__key_size(sizes[i].map) + bpf_map__value_size(sizes[i].map) +
				MAP_SIZES_ENTRY_BYTES);
		err = bpf_map__set_max_entries(sizes[i].map, sizes[i].entries);
	}
	s->slabs = o->memory_bytes > used + SLABS_MIN * ROWS_SLAB_BYTES
		? (uint32_t)((o->memory_bytes - used) / ROWS_SLAB_BYTES)
		: SLABS_MIN;
	return err < 0 ? err : bpf_map__set_max_entries(s->skel->maps.row_slabs, s->slabs);
}

static void limit_ticks(struct sampler *s, uint32_t hz)
{
	uint64_t part = NSEC_PER_SEC / hz / TICK_LIMIT_OF_PERIOD, limit = s->tick_limit_ns;

	if (limit == 0)
		limit = part < TICK_LIMIT_NS ? part : TICK_LIMIT_NS;
	__atomic_store_n(
		&s->skel->data->walk_limit_ns, limit - limit / TICK_WALK_PARTS, __ATOMIC_RELAXED);
}

static int configure(struct sampler *s, const struct sampler_options *o)
{
	static const uint32_t filters[] = {
		[SAMPLER_ALL] = FILTER_NONE,
		[SAMPLER_TGIDS] = FILTER_TGID,
		[SAMPLER_TREE] = FILTER_TREE,
		[SAMPLER_TIDS] = FILTER_TID,
		[SAMPLER_CGROUP] = FILTER_NONE,
	};
	bool by_cgroup = o->target == SAMPLER_CGROUP && o->cgroup_fd < 0;

	s->skel->rodata->self_tgid = (uint32_t)getpid();
	s->skel->rodata->stacks_secret = hash_bytes("stacks", 6);
	s->skel->rodata->mix_before = hash_bytes("before", 6) | 1;
	s->skel->rodata->mix_after = hash_bytes("after", 5) | 1;
	s->skel->rodata->id_stride = map_sizes_id_stride(s->cpus + 1); /* for visits */
	s->skel->rodata->page_shift =
		(uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	s->skel->rodata->filter = by_cgroup ? FILTER_CGROUP : filters[o->target];
	s->skel->rodata->meets = o->cgroups_len > 0 ? FILTER_CGROUP : filters[o->target];
	s->skel->rodata->pidns_inum = o->pid_namespace;
	s->skel->rodata->v1_len = (uint32_t)o->v1_len;
	s->skel->bss->v1_live = o->v1_live;
	for (size_t i = 0; i < o->v1_len && i < CGROUP_V1_MAX; i++)
		s->skel->rodata->v1_hierarchies[i] = o->v1[i];
	s->skel->bss->period_ns =
		o->target == SAMPLER_CGROUP && !by_cgroup ? 0 : NSEC_PER_SEC / o->hz;
	limit_ticks(s, o->hz);
	s->skel->rodata->keep_tid = o->by_tid;
	s->skel->rodata->keep_cpu = o->by_cpu;
	s->skel->rodata->keep_times = o->times;
	s->skel->rodata->keep_user = o->user;
	s->skel->rodata->keep_kernel = o->kernel;
	return size_maps(s, o);
}

static int explain_load(
	int err, const struct kernel_features *kernel, const struct why *libbpf, struct why *why)
{
	/* EACCES is the verifier's word. */
	if (err == -EPERM)
		return why_set(why, err, "cannot load the BPF program (%s): %s", err_text(err),
			kernel_features_forbidden(kernel));
	return why_set(why, err, "cannot load the BPF program: %s; see `stoker doctor`",
		libbpf->text[0] ? libbpf->text : err_text(err));
}

static int open_skeleton(
	void *ctx, const struct bpf_object_open_opts *opts, struct bpf_object **out)
{
	struct sampler *s = ctx;

	sample_bpf__destroy(s->skel);
	s->skel = sample_bpf__open_opts(opts);
	if (!s->skel)
		return -errno;
	*out = s->skel->obj;
	return 0;
}

static int load_skeleton(struct sampler *s, const struct sampler_options *o,
	const struct kernel_features *kernel, const struct btf *types)
{
	_cleanup_fd_ int fd = -1;
	int err = kernel_types_open(types, open_skeleton, s, &fd);

	if (err < 0)
		return err;
	s->scan_tasks = !kernel->iterates_mappings;
	bpf_program__set_autoload(s->skel->progs.scan, !s->scan_tasks);
	bpf_program__set_autoload(s->skel->progs.scan_tasks, s->scan_tasks);
	bpf_program__set_autoload(s->skel->progs.name_ask, kernel->names_code);
	err = configure(s, o);
	return err < 0 ? err : sample_bpf__load(s->skel);
}

static int load(struct sampler *s, const struct sampler_options *o, struct why *why)
{
	struct why libbpf = { "" };
	const char *fault = kernel_faults_here();
	struct btf *types = NULL;
	struct kernel_features kernel = { 0 };
	int err = fault ? why_set(why, -EOPNOTSUPP, "%s", fault)
			: kernel_features_load(&kernel, &types, why);

	if (err < 0)
		return err;
	libbpf_says = &libbpf;
	libbpf_set_print(keep_libbpf_words);
	err = load_skeleton(s, o, &kernel, types);
	libbpf_says = NULL;
	btf__free(types);
	return err < 0 ? explain_load(err, &kernel, &libbpf, why) : 0;
}

static int put_all(struct bpf_map *map, const void *keys, size_t size, size_t len)
{
	uint8_t one = 1;
	int err = 0;

	for (size_t i = 0; i < len && err == 0; i++)
		err = bpf_map_update_elem(
			bpf_map__fd(map), (const char *)keys + i * size, &one, BPF_ANY);
	return err;
}

static int set_targets(struct sampler *s, const struct sampler_options *o)
{
	int err = put_all(s->skel->maps.targets, o->ids, sizeof(*o->ids), o->ids_len);

	return err < 0 ? err
		       : put_all(s->skel->maps.target_cgroups, o->cgroups, sizeof(*o->cgroups),
				 o->cgroups_len);
}

static void wait_for_ticks(void *ctx)
{
	const struct sampler *s = ctx;

	clocks_wait_for_ticks(&s->clocks);
}

static int open_publish(struct sampler *s)
{
	struct row_maps maps = {
		.slabs_len = s->slabs,
		.objects_len = &s->skel->bss->objects_len,
		.epoch = &s->skel->bss->tables_epoch,
		.rules_epoch = &s->skel->bss->rules_epoch,
		.second = &s->skel->data->second,
	};
	int err;

	s->row_maps = (struct row_maps_bpf){
		.objects = bpf_map__fd(s->skel->maps.objects),
		.slabs = bpf_map__fd(s->skel->maps.row_slabs),
		.pages = bpf_map__fd(s->skel->maps.row_pages),
		.rules = bpf_map__fd(s->skel->maps.row_rules),
		.languages = bpf_map__fd(s->skel->maps.languages),
		.wait_for_ticks = wait_for_ticks,
		.ticks_ctx = s,
	};
	err = row_maps_bpf_open(&s->row_maps, &maps);
	return err < 0 ? err : publish_new(&maps, &s->publish);
}

struct publish *sampler_publish(struct sampler *s)
{
	return s->publish;
}

uint64_t **sampler_visit_ids(struct sampler *s)
{
	return &s->visit_ids;
}

uint32_t sampler_second(struct sampler *s)
{
	uint32_t second = (uint32_t)(clock_ns(CLOCK_MONOTONIC) >> SECOND_SHIFT) + 1;

	__atomic_store_n(&s->skel->data->second, second, __ATOMIC_RELAXED);
	return second;
}

static int open_clocks(struct sampler *s, const struct sampler_options *o, struct why *why)
{
	const struct clocks_options options = {
		.prog_fd = bpf_program__fd(s->skel->progs.sample),
		.cgroup_fd = o->target == SAMPLER_CGROUP ? o->cgroup_fd : -1,
		.open = o->open_clock,
		.open_ctx = s->events.ctx,
		.hz = o->hz,
		.ticks = s->skel->bss->cpu_ticks,
		.period_ns = (uint64_t *)&s->skel->bss->period_ns,
		.unwatched = !tracepoints_watch_cpus(&s->tracepoints),
	};

	return clocks_open(&s->clocks, &options, why);
}

int sampler_open(const struct sampler_options *options, const struct sampler_events *events,
	void *ctx, struct tally *tally, struct sampler **out, struct why *why)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return why_set(why, -ENOMEM, "out of memory");
	s->events.callbacks = *events;
	s->events.ctx = ctx;
	s->events.tally = tally;
	s->times = options->times;
	s->tick_limit_ns = options->tick_limit_ns;
	s->scans = options->scans;
	err = map_sizes_cpus(&s->cpus, why);
	if (err == 0)
		err = load(s, options, why);
	if (err == 0) {
		s->ring = ring_buffer__new(
			bpf_map__fd(s->skel->maps.events), events_take, &s->events, NULL);
		err = s->ring ? set_targets(s, options) : -errno;
		if (err == 0)
			err = open_publish(s);
		if (err == 0)
			err = tick_counts_open(
				&s->counts, bpf_map__fd(s->skel->maps.tick_counts), s->cpus);
		if (err < 0)
			why_set(why, err, "cannot set up the BPF maps: %s", fd_watch_text(err));
	}
	if (err == 0) {
		sampler_second(s);
		tracepoints_attach(&s->tracepoints, s->skel);
		err = open_clocks(s, options, why);
	}
	if (err < 0) {
		sampler_free(s);
		return err;
	}
	*out = s;
	return 0;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	clocks_close(&s->clocks);
	tracepoints_detach(&s->tracepoints);
	publish_free(s->publish);
	row_maps_bpf_close(&s->row_maps);
	tick_counts_close(&s->counts);
	ring_buffer__free(s->ring);
	sample_bpf__destroy(s->skel);
	free(s);
}

int sampler_scan(struct sampler *s, uint32_t tgid,
	int (*take)(void *ctx, const struct scan_mapping *mapping), void *ctx)
{
	const struct scan scan = { s, s->skel, s->scan_tasks, take, ctx, s->scans };

	return scan_run(&scan, tgid);
}

const struct sample_bpf *sampler_skeleton(const struct sampler *s)
{
	return s->skel;
}

const struct clocks *sampler_clocks(const struct sampler *s)
{
	return &s->clocks;
}

int sampler_start(struct sampler *s, struct why *why)
{
	int err = clocks_start(&s->clocks);

	if (err < 0)
		return why_set(why, err, "cannot start the CPU clock: %s", err_text(err));
	return 0;
}

int sampler_set_hz(struct sampler *s, uint32_t hz)
{
	limit_ticks(s, hz);
	return clocks_set_hz(&s->clocks, hz);
}

void sampler_stop(struct sampler *s)
{
	clocks_stop(&s->clocks);
}

int sampler_fd(const struct sampler *s)
{
	return ring_buffer__epoll_fd(s->ring);
}

/* A table is empty, or emptier: its accounts hold nothing of its last tenth. */
static void begin_turn(struct sampler *s, enum share_what what)
{
	uint64_t *turn = (uint64_t *)&s->skel->bss->share_turns[what];
	uint64_t number = __atomic_load_n(turn, __ATOMIC_RELAXED) >> SHARE_TURN_SHIFT;

	__atomic_store_n(turn, (number + 1) << SHARE_TURN_SHIFT, __ATOMIC_RELAXED);
}

int sampler_poll(struct sampler *s)
{
	/* Read first: what was sent before the loss is taken before the loss is reported. */
	uint64_t lost = __atomic_load_n(&s->skel->bss->events_lost[EVENT_CGROUP], __ATOMIC_ACQUIRE);
	uint64_t tasks = s->events.unknown_tasks;
	int err;

	s->polled_ns = clock_ns(CLOCK_MONOTONIC);
	err = ring_buffer__consume(s->ring);
	if (s->events.unknown_tasks != tasks) /* others may follow, and wait for the next look */
		__atomic_store_n(&s->skel->bss->task_woken_ns, s->polled_ns, __ATOMIC_RELAXED);
	events_note_cgroups_lost(&s->events, lost);
	begin_turn(s, SHARE_EVENTS);
	begin_turn(s, SHARE_DEFERRED);
	__atomic_store_n(&s->skel->bss->tally_bytes, s->events.tally->bytes, __ATOMIC_RELAXED);
	return err < 0 ? err : 0;
}

uint64_t sampler_due_ns(const struct sampler *s)
{
	/* Until then new tasks do not wake us, and a tick takes its time. */
	uint64_t tasks_ns = __atomic_load_n(&s->skel->bss->task_woken_ns, __ATOMIC_RELAXED) +
		TASK_WAKEUP_NS + NSEC_PER_MSEC;

	return clock_sooner(
		s->clocks.check_ns, s->polled_ns < tasks_ns ? tasks_ns : CLOCK_NEVER_NS);
}

bool sampler_pressed(const struct sampler *s)
{
	uint32_t now = s->skel->bss->active_counts & 1;

	/* The event may have been lost. */
	return s->events.pressed ||
		__atomic_load_n(&s->skel->bss->counts_len[now], __ATOMIC_RELAXED) >=
		s->skel->rodata->counts_high;
}

void sampler_lost_ticks(struct sampler *s, int err, uint64_t ticks)
{
	if (err < 0)
		s->events.lost[tally_lost(err)] += ticks;
}

static void hand_over(struct sampler *s, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		uint32_t value = (uint32_t)s->values[i];
		int err = s->times ? tally_key(s->events.tally, &s->keys[i], value)
				   : tally_count(s->events.tally, &s->keys[i], value);

		s->drained_bytes += sizeof(s->keys[i]) + sizeof(s->values[i]);
		if (err == 0)
			tally_took(s->events.tally,
				s->values[i] >> COUNT_TIME_SHIFT << COUNT_TIME_UNIT_SHIFT);
		/* With times the value is an id, by which ticks name this key. A key that is lost
		 * shows in its ticks. */
		else if (!s->times)
			sampler_lost_ticks(s, err, value);
	}
}

static int drain_map(struct sampler *s, int fd)
{
	uint32_t at = 0, next = 0, len;
	bool first = true;
	int err;

	do {
		len = DRAIN_BATCH;
		err = bpf_map_lookup_and_delete_batch(
			fd, first ? NULL : &at, &next, s->keys, s->values, &len, NULL);
		if (err < 0 && err != -ENOENT)
			return err;
		hand_over(s, len);
		at = next;
		first = false;
	} while (err == 0);
	return 0;
}

int sampler_drain(struct sampler *s, bool last)
{
	uint32_t old = s->skel->bss->active_counts & 1;
	struct bpf_map *map = old ? s->skel->maps.counts_1 : s->skel->maps.counts_0;
	int err;

	__atomic_store_n(&s->skel->bss->active_counts, old ^ 1, __ATOMIC_SEQ_CST);
	wait_for_ticks(s);
	begin_turn(s, SHARE_COUNTS);
	s->events.pressed = false;
	err = sampler_poll(s);
	if (err == 0)
		err = drain_map(s, bpf_map__fd(map));
	if (s->times)
		s->events.lost[LOST_DRAIN] += tally_resolve(s->events.tally, last);
	__atomic_store_n(&s->skel->bss->counts_len[old], 0, __ATOMIC_SEQ_CST);
	return err;
}

void sampler_forget(struct sampler *s)
{
	__atomic_fetch_add(&s->skel->data->epoch, 1, __ATOMIC_SEQ_CST);
	begin_turn(s, SHARE_TALLY);
}

int sampler_follow_cpus(struct sampler *s)
{
	bool changed = __atomic_exchange_n(&s->skel->bss->cpus_changed, 0, __ATOMIC_SEQ_CST);

	return clocks_follow(&s->clocks, changed);
}

_Static_assert(LOST_REASONS_LEN <= ARRAY_SIZE(((struct tick_stats *)0)->lost),
	"BPF has a counter for each reason");

static void read_program(struct sampler *s, struct sampler_stats *out)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);
	struct bpf_map *map;

	if (bpf_obj_get_info_by_fd(bpf_program__fd(s->skel->progs.sample), &info, &len) == 0)
		out->run_ns = info.run_time_ns;
	bpf_object__for_each_map(map, s->skel->obj) out->memory_bytes +=
		map_sizes_bytes(bpf_map__fd(map));
}

/* The ticks that came and those that did not are all that were due. A count of periods by wall time
 * would differ by one where a clock starts or stops at the end of a period. */
static void count_ticks(struct sampler *s, struct sampler_stats *out,
	const struct clocks_time *time, const struct tick_stats *ticks)
{
	uint64_t seen = 0;

	out->samples = ticks->samples - s->events.lost[LOST_DRAIN] - s->events.lost[LOST_MEMORY];
	out->idle = ticks->idle;
	out->filtered = ticks->filtered;
	out->runs = ticks->ticks;
	for (size_t i = 0; i < LOST_REASONS_LEN; i++) {
		out->lost[i] = ticks->lost[i] + s->events.lost[i];
		seen += out->lost[i];
	}
	seen += out->samples + out->idle;
	out->skipped = time->skipped;
	out->stolen = time->stolen;
	/* A cgroup's clock runs with the cgroup: what was taken from it is not known. */
	if (s->clocks.cgroup_fd >= 0) {
		uint64_t came = seen + ticks->filtered;

		out->skipped = time->due > came ? time->due - came : 0;
		out->stolen = 0;
	}
	out->expected = seen + out->skipped;
}

void sampler_stats(struct sampler *s, struct sampler_stats *out)
{
	struct clocks_time time;
	struct tick_stats ticks;

	*out = (struct sampler_stats){ 0 };
	clocks_read(&s->clocks, &time);
	tick_counts_sum(&s->counts, &ticks);
	read_program(s, out);
	count_ticks(s, out, &time, &ticks);
	for (size_t i = 0; i < EVENT_KINDS_MAX; i++)
		out->events_lost[i] = s->skel->bss->events_lost[i] + s->events.dropped[i];
	for (size_t i = 0; i < TICK_PARTS; i++) {
		out->times[i].longest_ns = ticks.times[i].longest_ns;
		out->times[i].p999_ns = tick_times_permille(&ticks.times[i], 999);
	}
	memcpy(out->targets_lost, s->skel->bss->targets_lost, sizeof(out->targets_lost));
	out->cpus = time.cpus;
	out->running_s = (double)time.wall_ns / (double)NSEC_PER_SEC;
	out->bytes_out = cpu_costs_bytes(s) + s->drained_bytes;
	out->took_ns = cpu_costs_ns(s);
}
