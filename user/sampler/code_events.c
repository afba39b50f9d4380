/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/code_events.c - a dummy event never ticks; its ring receives its CPU's changes of kernel
 * code. A program may be loaded on one CPU and freed on another, so the records of all rings are
 * sorted by time before they are passed on. Invariant: a record is read only within the bounds that
 * the kernel gives, and its room is returned at once. */
#include "sampler/code_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/vec.h"

#define NAME_MAX_BYTES 512 /* KSYM_NAME_LEN */
#define WAKEUP_PART 2      /* of a ring: when that much waits, we are woken */
#define RECORD_BYTES_MAX (NAME_MAX_BYTES + 64)

struct code_ring {
	int fd;
	struct perf_event_mmap_page *page; /* the ring is the next page */
};

struct change {
	uint64_t order; /* of one time, as they were read */
	struct code_event event;
	char name[NAME_MAX_BYTES];
};

struct batch {
	VEC(struct change) all;
	bool lost;
};

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void close_ring(struct code_ring *ring)
{
	if (ring->page)
		munmap(ring->page, 2 * page_bytes());
	ring->page = NULL;
	fd_close(&ring->fd);
}

static void open_ring(struct code_ring *ring, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr),
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.ksymbol = 1,
		.exclude_user = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)page_bytes() / WAKEUP_PART,
	};
	void *pages;

	ring->page = NULL;
	ring->fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return;
	pages = mmap(NULL, 2 * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (pages == MAP_FAILED)
		close_ring(ring);
	else
		ring->page = pages;
}

int code_events_open(struct code_events *events)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	events->cpus = cpus > 0 ? (int)cpus : 1;
	events->rings = calloc((size_t)events->cpus, sizeof(*events->rings));
	if (!events->rings) {
		events->cpus = 0;
		return -ENOMEM;
	}
	for (int cpu = 0; cpu < events->cpus; cpu++)
		open_ring(&events->rings[cpu], cpu);
	return 0;
}

int code_events_watch(const struct code_events *events, int epoll_fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	for (int cpu = 0; cpu < events->cpus; cpu++)
		if (events->rings[cpu].page &&
			epoll_ctl(epoll_fd, EPOLL_CTL_ADD, events->rings[cpu].fd, &event) < 0)
			return -errno;
	return 0;
}

void code_events_close(struct code_events *events)
{
	for (int cpu = 0; cpu < events->cpus; cpu++)
		close_ring(&events->rings[cpu]);
	free(events->rings);
	*events = (struct code_events){ 0 };
}

/* ---- reading --------------------------------------------------------------------------------- */

static int add_record(struct batch *batch, const void *record, size_t size)
{
	struct cursor c = cursor_init(record, size);
	uint32_t type = cursor_u32(&c);
	struct change *change;
	struct bytes name;

	cursor_skip(&c, 4);
	batch->lost = batch->lost || type == PERF_RECORD_LOST;
	if (type != PERF_RECORD_KSYMBOL)
		return 0;
	change = vec_add(&batch->all);
	if (!change)
		return -ENOMEM;
	change->event.start = cursor_u64(&c);
	change->event.size = cursor_u32(&c);
	cursor_skip(&c, 2);
	change->event.gone = cursor_u16(&c) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	name = cursor_bytes(&c, cursor_left(&c) > 8 ? cursor_left(&c) - 8 : 0);
	change->event.at_ns = cursor_u64(&c);
	change->order = batch->all.len;
	if (c.bad)
		batch->all.len--;
	else if (name.len > 0)
		memcpy(change->name, name.data,
			name.len < sizeof(change->name) ? name.len : sizeof(change->name) - 1);
	return 0;
}

/* size bytes of the ring from at on, which may lie around its end. */
static void copy(const struct code_ring *ring, uint64_t at, void *out, size_t size)
{
	const char *data = (const char *)ring->page + page_bytes();
	size_t from = at % page_bytes(), first = page_bytes() - from;

	first = first < size ? first : size;
	memcpy(out, data + from, first);
	memcpy((char *)out + first, data, size - first);
}

static int read_ring(const struct code_ring *ring, struct batch *batch)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	int err = 0;

	while (err == 0 && head - tail >= sizeof(struct perf_event_header)) {
		char record[RECORD_BYTES_MAX];
		struct perf_event_header header;

		copy(ring, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		if (header.size <= sizeof(record)) {
			copy(ring, tail, record, header.size);
			err = add_record(batch, record, header.size);
		}
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
	return err;
}

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->event.at_ns != y->event.at_ns)
		return x->event.at_ns < y->event.at_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

int code_events_poll(
	struct code_events *events, int (*fn)(void *ctx, const struct code_event *event), void *ctx)
{
	struct batch batch = { 0 };
	int err = 0;

	for (int cpu = 0; cpu < events->cpus && err == 0; cpu++)
		if (events->rings[cpu].page)
			err = read_ring(&events->rings[cpu], &batch);
	if (batch.all.len > 1)
		qsort(batch.all.data, batch.all.len, sizeof(*batch.all.data), by_time);
	vec_each (&batch.all, change) {
		change->event.name = change->name;
		if (err == 0)
			err = fn(ctx, &change->event);
	}
	vec_done(&batch.all);
	return err < 0 ? err : batch.lost;
}
