/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/thread_reader.c - each pass is an iterator of its own, made of the link that was attached
 * while there were the rights for it. */
#include "waiting/thread_reader.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "sampler/kernel_features.h"
#include "sampler/kernel_types.h"
#include "threads.skel.h"
#include "waiting/thread_room.h"

#define READ_BYTES (256U << 10)
#define PASS_BYTES_MAX (THREAD_TABLE_MAX * sizeof(struct thread_record) + READ_BYTES)

struct thread_reader {
	struct threads_bpf *skel;
	struct bpf_link *link;
	uint8_t *bytes; /* of the latest pass */
	size_t room;
	struct thread_room records;
	uint32_t pass;
};

static int open_skeleton(
	void *ctx, const struct bpf_object_open_opts *opts, struct bpf_object **out)
{
	struct thread_reader *r = ctx;

	threads_bpf__destroy(r->skel);
	r->skel = threads_bpf__open_opts(opts);
	if (!r->skel)
		return -errno;
	*out = r->skel->obj;
	return 0;
}

static void configure(struct thread_reader *r, const struct thread_reader_options *options)
{
	r->skel->rodata->pidns_inum = options->pid_namespace;
	for (size_t i = 0; i < options->v1_len && i < CGROUP_V1_MAX; i++) {
		r->skel->rodata->v1_hierarchies[i] = options->v1[i];
		r->skel->rodata->v1_len = (uint32_t)i + 1;
		r->skel->bss->v1_live |= 1U << i; /* cgroups may be made there later */
	}
}

static int load(struct thread_reader *r, const struct thread_reader_options *options,
	const struct btf *types)
{
	_cleanup_fd_ int fd = -1;
	int err = kernel_types_open(types, open_skeleton, r, &fd);

	if (err < 0)
		return err;
	configure(r, options);
	err = threads_bpf__load(r->skel);
	if (err < 0)
		return err;
	r->link = bpf_program__attach_iter(r->skel->progs.threads, NULL);
	return r->link ? 0 : -errno;
}

int thread_reader_open(
	const struct thread_reader_options *options, struct thread_reader **out, struct why *why)
{
	struct thread_reader *r = calloc(1, sizeof(*r));
	struct kernel_features kernel = { 0 };
	struct btf *types = NULL;
	int err = r ? kernel_features_load(&kernel, &types, why)
		    : why_set(why, -ENOMEM, "out of memory");

	if (err == 0 && !kernel.iterates_tasks)
		err = why_set(why, -EOPNOTSUPP, "the kernel has no BPF iterator of tasks");
	else if (err == 0 && (err = load(r, options, types)) < 0)
		why_set(why, err, "cannot load the BPF program: %s", err_text(err));
	btf__free(types);
	if (err < 0) {
		thread_reader_free(r);
		return err;
	}
	*out = r;
	return 0;
}

void thread_reader_free(struct thread_reader *r)
{
	if (!r)
		return;
	bpf_link__destroy(r->link);
	threads_bpf__destroy(r->skel);
	thread_room_done(&r->records);
	free(r->bytes);
	free(r);
}

static int make_room(struct thread_reader *r, size_t used)
{
	size_t room = r->room ? 2 * r->room : READ_BYTES;
	uint8_t *bytes;

	if (r->room - used >= READ_BYTES || r->room >= PASS_BYTES_MAX)
		return 0;
	bytes = realloc(r->bytes, room < PASS_BYTES_MAX ? room : PASS_BYTES_MAX);
	if (!bytes)
		return -ENOMEM;
	r->bytes = bytes;
	r->room = room < PASS_BYTES_MAX ? room : PASS_BYTES_MAX;
	return 0;
}

/* Records from the byte `had` on stay where there is room. The bytes in use then, or -ENOMEM. */
static ssize_t take(
	struct thread_reader *r, size_t had, size_t used, const struct thread_takers *takers)
{
	const size_t one = sizeof(struct thread_record);
	size_t rest = used % one;
	long kept = thread_room_take(&r->records, (struct thread_record *)r->bytes, had / one,
		used / one, takers);

	if (kept < 0)
		return kept;
	memmove(r->bytes + (size_t)kept * one, r->bytes + used - rest, rest);
	return (ssize_t)((size_t)kept * one + rest);
}

/* To the iterator's end. A read of many tasks that all are left out ends with EAGAIN, and goes
 * on. */
static int read_all(struct thread_reader *r, int fd, const struct thread_takers *takers,
	struct thread_pass *out)
{
	size_t used = 0;
	ssize_t len = 1, taken;
	int err = 0;

	while (err == 0 && len != 0) {
		err = make_room(r, used);
		if (err < 0)
			break;
		len = read(fd, r->bytes + used, r->room - used);
		if (len < 0 && errno != EAGAIN && errno != EINTR)
			err = -errno;
		taken = len > 0 ? take(r, used, used + (size_t)len, takers) : (ssize_t)used;
		if (taken < 0)
			return (int)taken;
		used = (size_t)taken;
	}
	out->bytes = r->bytes;
	out->len = used;
	out->refused = r->records.refused;
	return err;
}

int thread_reader_pass(struct thread_reader *r, const struct thread_takers *takers,
	struct thread_pass *out)
{
	_cleanup_fd_ int fd = -1;

	*out = (struct thread_pass){ 0 };
	thread_room_begin(&r->records, THREAD_TABLE_MAX);
	r->skel->bss->pass = ++r->pass;
	fd = bpf_iter_create(bpf_link__fd(r->link));
	if (fd < 0)
		return -errno;
	out->cpus = r->skel->bss->cpus;
	out->cpus_len = THREADS_CPUS_MAX;
	out->boot_ns = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
	return read_all(r, fd, takers, out);
}
