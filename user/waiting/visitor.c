/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/visitor.c - loads the visiting program with the sampler's maps, and reads its passes.
 * Invariant: variables are the program's own, as only maps can be shared. Sums of both and the
 * sampler's epochs are copied before each read of the iterator, and the visit's share of a sum is
 * added to the sampler's after: the program runs in that read alone, and no other thread raises an
 * epoch. */
#include "waiting/visitor.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "sample.skel.h"
#include "sampler/kernel_features.h"
#include "sampler/kernel_types.h"
#include "sampler/map_sizes.h"
#include "sampler/object_ids.h"
#include "sampler/sampler.h"
#include "visit.skel.h"
#include "waiting/direct_map.h"

#define READ_BYTES (64U << 10)

struct visitor {
	struct sampler *sampler;
	const struct sample_bpf *skel; /* the sampler's; NULL: maps of its own, for a trial */
	struct visit_bpf *own;
	struct bpf_link *link;
	bool kernel_alone;
	struct why lacks;
	uint64_t passes, cpu_ns;
	uint8_t *bytes; /* READ_BYTES and a record that is not whole yet */
};

/* ---- loading ------------------------------------------------------------------------------- */

static int open_skeleton(
	void *ctx, const struct bpf_object_open_opts *opts, struct bpf_object **out)
{
	struct visitor *v = ctx;

	visit_bpf__destroy(v->own);
	v->own = visit_bpf__open_opts(opts);
	if (!v->own)
		return -errno;
	*out = v->own->obj;
	return 0;
}

static bool is_own(const struct visitor *v, const struct bpf_map *map)
{
	return bpf_map__is_internal(map) || map == v->own->maps.scratches ||
		map == v->own->maps.language_scratches;
}

/* One pass at a time: it needs one scratch, and not one for each CPU. */
static int share_maps(struct visitor *v)
{
	struct bpf_map *map, *shared;
	int err = bpf_map__set_type(v->own->maps.scratches, BPF_MAP_TYPE_ARRAY);

	if (err == 0)
		err = bpf_map__set_type(v->own->maps.language_scratches, BPF_MAP_TYPE_ARRAY);
	bpf_object__for_each_map(map, v->own->obj)
	{
		shared = is_own(v, map)
			? NULL
			: bpf_object__find_map_by_name(v->skel->obj, bpf_map__name(map));
		if (err == 0 && shared)
			err = bpf_map__reuse_fd(map, bpf_map__fd(shared));
	}
	return err;
}

#define COPY_CONSTANT(field) \
	memcpy((void *)&v->own->rodata->field, (const void *)&v->skel->rodata->field, \
		sizeof(v->own->rodata->field))

static void configure(struct visitor *v)
{
	COPY_CONSTANT(mix_before);
	COPY_CONSTANT(mix_after);
	COPY_CONSTANT(stacks_secret);
	COPY_CONSTANT(id_stride);
	COPY_CONSTANT(page_shift);
	COPY_CONSTANT(pidns_inum);
	COPY_CONSTANT(v1_hierarchies);
	COPY_CONSTANT(v1_len);
	COPY_CONSTANT(self_tgid);
	COPY_CONSTANT(meets);
	COPY_CONSTANT(keep_tid);
	COPY_CONSTANT(ring_bytes);
	COPY_CONSTANT(objects_scan_max);
}

/* With the walk of user halves, or without. */
static int load(struct visitor *v, const struct btf *types, bool whole)
{
	_cleanup_fd_ int fd = -1;
	int err = kernel_types_open(types, open_skeleton, v, &fd);

	if (err < 0)
		return err;
	bpf_program__set_autoload(v->own->progs.visit, whole);
	bpf_program__set_autoload(v->own->progs.memory_ask, whole);
	if (v->skel) {
		configure(v);
		err = share_maps(v);
	}
	return err < 0 ? err : visit_bpf__load(v->own);
}

/* ---- memory of others ---------------------------------------------------------------------- */

static int ask_page(
	void *ctx, uint64_t base, uint32_t top, const void *addr, void *out, uint64_t *root)
{
	struct visitor *v = ctx;
	const uint64_t args[] = { (uint64_t)(uintptr_t)addr };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));
	int err;

	v->own->bss->direct_map = base;
	v->own->bss->page_top = top;
	err = bpf_prog_test_run_opts(bpf_program__fd(v->own->progs.memory_ask), &opts);
	if (err < 0)
		return err;
	*root = v->own->bss->memory_root;
	memcpy(out, v->own->bss->memory_answer, sizeof(v->own->bss->memory_answer));
	return v->own->bss->memory_answered != 0;
}

static int find_memory(struct visitor *v)
{
	const struct direct_map_asker asker = { ask_page, v };
	struct direct_map map;
	int err = direct_map_find(&asker, &map, &v->lacks);

	if (err == 0) {
		v->own->bss->direct_map = map.base;
		v->own->bss->page_top = map.top;
		v->own->data->memory_end = map.memory_end;
	}
	return err;
}

static int load_any(struct visitor *v, const struct btf *types, struct why *why)
{
	int err = load(v, types, true);

	if (err == 0)
		return 0;
	v->kernel_alone = true;
	why_set(&v->lacks, err, "the kernel refuses the program that walks them: %s",
		err_text(err));
	visit_bpf__destroy(v->own);
	v->own = NULL;
	err = load(v, types, false);
	return err < 0 ? why_set(why, err, "cannot load the BPF program: %s", err_text(err)) : 0;
}

/* Loads the program, and finds memory for it. */
static int prepare(struct visitor *v, struct why *why)
{
	struct kernel_features kernel = { 0 };
	struct btf *types = NULL;
	int err = kernel_features_load(&kernel, &types, why);

	if (err == 0 && !kernel.iterates_tasks)
		err = why_set(why, -EOPNOTSUPP, "the kernel has no BPF iterator of tasks");
	if (err == 0)
		err = load_any(v, types, why);
	btf__free(types);
	if (err == 0 && !v->kernel_alone)
		v->kernel_alone = find_memory(v) < 0;
	return err;
}

int visitor_open(struct sampler *sampler, struct visitor **out, struct why *why)
{
	struct visitor *v = calloc(1, sizeof(*v));
	int err = v && (v->bytes = malloc(2 * READ_BYTES))
		? 0
		: why_set(why, -ENOMEM, "out of memory");

	if (v) {
		v->sampler = sampler;
		v->skel = sampler_skeleton(sampler);
	}
	if (err == 0)
		err = prepare(v, why);
	if (err == 0) {
		v->link = bpf_program__attach_iter(
			v->kernel_alone ? v->own->progs.visit_kernel : v->own->progs.visit, NULL);
		if (!v->link)
			err = why_set(why, -errno, "cannot attach the iterator: %s",
				err_text(errno));
	}
	if (err < 0) {
		visitor_free(v);
		return err;
	}
	object_ids_of_visits(sampler, (uint64_t *)v->own->bss->object_ids);
	*out = v;
	return 0;
}

int visitor_try(struct why *lacks)
{
	struct visitor v = { 0 };
	struct why why;
	int err = prepare(&v, &why);

	if (err < 0)
		return why_set(lacks, err, "%s", why.text);
	err = v.kernel_alone ? why_set(lacks, 1, "%s", v.lacks.text) : 0;
	visit_bpf__destroy(v.own);
	return err;
}

void visitor_free(struct visitor *v)
{
	if (!v)
		return;
	if (v->sampler)
		object_ids_of_visits(v->sampler, NULL);
	bpf_link__destroy(v->link);
	visit_bpf__destroy(v->own);
	free(v->bytes);
	free(v);
}

const char *visitor_lacks(const struct visitor *v)
{
	return v->kernel_alone ? v->lacks.text : NULL;
}

/* ---- passes -------------------------------------------------------------------------------- */

/* Both programs add to these. */
struct sums {
	uint64_t objects_len, tally_bytes;
	uint64_t events_lost[EVENT_KINDS_MAX];
	uint64_t turns[SHARE_VISIT];
};

#define LOAD(from) __atomic_load_n(&(from), __ATOMIC_RELAXED)
#define ADD(to, what) __atomic_fetch_add(&(to), (what), __ATOMIC_RELAXED)

static void copy_in(struct visitor *v, struct sums *was)
{
	*was = (struct sums){
		.objects_len = LOAD(v->skel->bss->objects_len),
		.tally_bytes = LOAD(v->skel->bss->tally_bytes),
	};
	v->own->bss->objects_len = (uint32_t)was->objects_len;
	v->own->bss->tally_bytes = was->tally_bytes;
	memset(v->own->bss->events_lost, 0, sizeof(v->own->bss->events_lost));
	for (size_t i = 0; i < SHARE_VISIT; i++)
		v->own->bss->share_turns[i] = was->turns[i] = LOAD(v->skel->bss->share_turns[i]);
	v->own->bss->tables_epoch = LOAD(v->skel->bss->tables_epoch);
	v->own->bss->rules_epoch = LOAD(v->skel->bss->rules_epoch);
	v->own->bss->places_epoch = LOAD(v->skel->bss->places_epoch);
	v->own->bss->v1_live = LOAD(v->skel->bss->v1_live);
	v->own->data->epoch = LOAD(v->skel->data->epoch);
	v->own->data->second = sampler_second(v->sampler);
}

static void copy_out(struct visitor *v, const struct sums *was)
{
	ADD(v->skel->bss->objects_len, v->own->bss->objects_len - (uint32_t)was->objects_len);
	ADD(v->skel->bss->tally_bytes, v->own->bss->tally_bytes - was->tally_bytes);
	for (size_t i = 0; i < EVENT_KINDS_MAX; i++)
		if (v->own->bss->events_lost[i])
			ADD(v->skel->bss->events_lost[i], v->own->bss->events_lost[i]);
	for (size_t i = 0; i < SHARE_VISIT; i++)
		if (v->own->bss->share_turns[i] != was->turns[i])
			ADD(v->skel->bss->share_turns[i],
				v->own->bss->share_turns[i] - was->turns[i]);
}

/* Passes on the whole records of `used` bytes. The bytes of them, or fn's error. */
static ssize_t take(struct visitor *v, size_t used, visitor_fn *fn, void *ctx)
{
	size_t at = 0, len;
	int err = 0;

	while (err == 0 && used - at >= sizeof(struct visit_record)) {
		const struct visit_record *r = (const void *)(v->bytes + at);
		const uint64_t *frames = (const uint64_t *)(r + 1);
		const struct visit_resource *waits_for = NULL;

		len = sizeof(*r) + (r->kernel_len + (size_t)r->user_len) * sizeof(*frames);
		if (r->flags & VISIT_RESOURCE) {
			waits_for = (const void *)(v->bytes + at + len);
			len += sizeof(*waits_for);
		}
		if (used - at < len)
			break;
		err = fn(ctx, r, frames, frames + r->kernel_len, waits_for);
		at += len;
	}
	return err < 0 ? err : (ssize_t)at;
}

static ssize_t read_some(struct visitor *v, int fd, size_t used)
{
	uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct sums was;
	ssize_t len;

	copy_in(v, &was);
	len = read(fd, v->bytes + used, 2 * READ_BYTES - used);
	if (len < 0)
		len = -errno;
	copy_out(v, &was);
	v->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	return len;
}

/* A read of many tasks that all are left out ends with EAGAIN, and goes on. */
static int read_all(struct visitor *v, int fd, visitor_fn *fn, void *ctx)
{
	size_t used = 0;
	ssize_t len, taken;
	int err = 0;

	while (err == 0 && (len = read_some(v, fd, used)) != 0) {
		if (len < 0) {
			err = len == -EAGAIN || len == -EINTR ? 0 : (int)len;
			continue;
		}
		used += (size_t)len;
		err = sampler_poll(v->sampler); /* first what the records name */
		taken = err < 0 ? err : take(v, used, fn, ctx);
		if (taken < 0)
			return (int)taken;
		used -= (size_t)taken;
		memmove(v->bytes, v->bytes + taken, used);
	}
	return err;
}

int visitor_pass(struct visitor *v, visitor_fn *fn, void *ctx)
{
	_cleanup_fd_ int fd = bpf_iter_create(bpf_link__fd(v->link));
	uint64_t *turn = (uint64_t *)&v->own->bss->share_turns[SHARE_VISIT];
	int err;

	if (fd < 0)
		return -errno;
	v->passes++;
	v->own->bss->pass_walk_ns = 0;
	v->own->bss->pass_clock_ns = 0;
	*turn = ((*turn >> SHARE_TURN_SHIFT) + 1) << SHARE_TURN_SHIFT;
	err = read_all(v, fd, fn, ctx);
	if (err < 0)
		visitor_again(v);
	return err;
}

void visitor_again(struct visitor *v)
{
	v->own->bss->visit_salt++;
}

uint64_t visitor_refused(const struct visitor *v)
{
	return v->own->bss->visit_totals.refused;
}

void visitor_stats(const struct visitor *v, struct visitor_stats *out)
{
	const struct visit_totals *totals = (const void *)&v->own->bss->visit_totals;
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);
	struct bpf_map *map;

	*out = (struct visitor_stats){
		.passes = v->passes,
		.threads = totals->threads,
		.same = totals->same,
		.walked = totals->walked,
		.moved = totals->moved,
		.refused = totals->refused,
		.unread = totals->unread,
		.walk_ns = totals->walk_ns,
		.cpu_ns = v->cpu_ns,
	};
	if (bpf_obj_get_info_by_fd(bpf_program__fd(v->kernel_alone ? v->own->progs.visit_kernel
								    : v->own->progs.visit),
		    &info, &len) == 0)
		out->run_ns = info.run_time_ns;
	bpf_object__for_each_map(map, v->own->obj)
	{
		if (is_own(v, map) ||
			!bpf_object__find_map_by_name(v->skel->obj, bpf_map__name(map)))
			out->memory_bytes += map_sizes_bytes(bpf_map__fd(map));
	}
}
