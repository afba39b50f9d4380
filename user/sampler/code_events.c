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
#include <unistd.h>

#include "base/cursor.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/vec.h"
#include "sampler/clocks.h"

#define NAME_MAX_BYTES 512 /* KSYM_NAME_LEN */
#define RECORD_BYTES_MAX (NAME_MAX_BYTES + 64)

struct code_ring {
	int fd;
	uint32_t opened; /* number of the CPU's clock that it was opened after */
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

/* The CPU's ring, which may be one before its absence, stays where no new one can be opened. */
static void open_ring(struct code_events *events, int cpu)
{
	const struct cpu_clock event = { .cpu = cpu, .cgroup_fd = -1, .code = true };
	struct code_ring *ring = &events->rings[cpu];
	_cleanup_fd_ int fd = -1;
	void *page;

	ring->opened = events->clocks->opened[cpu];
	if (clocks_event(events->clocks, &event, &fd) < 0)
		return;
	page = mmap(NULL, 2 * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return;
	close_ring(ring);
	ring->page = page;
	ring->fd = TAKE_FD(fd);
}

static int watch_ring(const struct code_events *events, const struct code_ring *ring)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (!ring->page || events->epoll_fd < 0)
		return 0;
	return epoll_ctl(events->epoll_fd, EPOLL_CTL_ADD, ring->fd, &event) < 0 ? -errno : 0;
}

int code_events_open(struct code_events *events, const struct clocks *clocks)
{
	*events = (struct code_events){ .cpus = clocks->cpus_max,
		.epoll_fd = -1,
		.clocks = clocks,
		.opened_sum = clocks->opened_sum };
	events->rings = calloc((size_t)events->cpus, sizeof(*events->rings));
	if (!events->rings) {
		events->cpus = 0;
		return -ENOMEM;
	}
	for (int cpu = 0; cpu < events->cpus; cpu++)
		events->rings[cpu].fd = -1;
	for (int cpu = 0; cpu < events->cpus; cpu++)
		if (clocks->opened[cpu] > 0)
			open_ring(events, cpu);
	return 0;
}

int code_events_watch(struct code_events *events, int epoll_fd)
{
	int err = 0;

	events->epoll_fd = epoll_fd;
	for (int cpu = 0; cpu < events->cpus && err == 0; cpu++)
		err = watch_ring(events, &events->rings[cpu]);
	return err;
}

/* For CPUs that came: what is left in their old rings has been read. */
static void follow_clocks(struct code_events *events)
{
	events->opened_sum = events->clocks->opened_sum;
	for (int cpu = 0; cpu < events->cpus; cpu++) {
		if (events->rings[cpu].opened == events->clocks->opened[cpu])
			continue;
		open_ring(events, cpu);
		(void)watch_ring(events, &events->rings[cpu]); /* else it is read at each poll */
	}
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
	if (events->opened_sum != events->clocks->opened_sum) {
		follow_clocks(events);
		batch.lost = true;
	}
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
