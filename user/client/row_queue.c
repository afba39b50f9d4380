/* SPDX-License-Identifier: Apache-2.0 */
/* client/row_queue.c - one file a request, and a few requests ahead. A worker has one thread and
 * answers in order, so a loss has one suspect. A worker's result is sealed before it is mapped: it
 * can no longer change or shrink, so the check remains valid. */
#include "client/row_queue.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "worker/sandbox.h"

_Static_assert(ROW_JOB_PAGES <= PROTO_PAGES_MAX, "a job is one request");
_Static_assert(sizeof(((struct debug_link *)0)->name) == PROTO_FILE_NAME_MAX + 1, "a link's name");

#define QUEUE_NS (200 * NSEC_PER_MSEC) /* until a queue that no worker works on is continued */
#define BLOCK_BYTES 512 /* of st_blocks */

static void close_memory(struct row_queue *queue)
{
	for (size_t i = 0; i < queue->asked_len; i++)
		fd_close(&queue->memory[i]);
}

void row_queue_done(struct row_queue *queue)
{
	close_memory(queue);
	lane_done(&queue->lane);
	vec_done(&queue->jobs);
	share_turns_done(&queue->turns);
}

/* ---- accounts ------------------------------------------------------------------------------- */

/* The worker's CPU time since its last answer, by the kernel's clock: what it says itself may be a
 * lie. */
static uint64_t spend(struct row_queue *queue)
{
	uint64_t now_ns = lane_worker_ns(&queue->lane), before_ns = queue->spent_ns;

	if (queue->lane.child.pid != queue->spent_pid)
		before_ns = 0;
	queue->spent_pid = queue->lane.child.pid;
	queue->spent_ns = now_ns;
	return now_ns > before_ns ? now_ns - before_ns : 0;
}

/* Who took least pays for what many want. */
static void pay(const struct row_queue *queue, struct row_job *job, uint64_t account)
{
	if (account != 0 &&
		(job->account == 0 ||
			share_turns(&queue->turns, account) <
				share_turns(&queue->turns, job->account)))
		job->account = account;
}

/* ---- the queue ------------------------------------------------------------------------------ */

size_t row_queue_len(const struct row_queue *queue)
{
	size_t len = queue->jobs.len - queue->next - queue->dropped;

	for (size_t i = 0; i < queue->asked_len; i++)
		len += queue->asked[i].fd >= 0;
	return len;
}

static int put_job(struct row_queue *queue, const struct row_job *job)
{
	struct row_job *slot;

	if (queue->jobs.len - queue->next >= WORKER_QUEUE_MAX)
		return -ENOSPC;
	if (queue->next > 0 && queue->next >= queue->jobs.len / 2) {
		queue->jobs.len -= queue->next;
		memmove(queue->jobs.data, queue->jobs.data + queue->next,
			queue->jobs.len * sizeof(*queue->jobs.data));
		queue->next = 0;
	}
	slot = vec_add(&queue->jobs);
	if (!slot)
		return -ENOMEM;
	*slot = *job;
	return 0;
}

int row_queue_put(struct row_queue *queue, uint64_t id, int fd, bool whole)
{
	struct row_job job = { .id = id, .fd = fd, .whole = whole };
	struct stat st;

	if (fstat(fd, &st) == 0)
		job.bytes = (uint64_t)st.st_size;
	return put_job(queue, &job);
}

/* The place of a number among those of a job, where it is or would be. */
static uint32_t place_of(const struct row_job *job, uint32_t number)
{
	uint32_t i = 0;

	while (i < job->pages_len && job->pages[i] < number)
		i++;
	return i;
}

static bool has_page(const struct row_job *job, uint64_t id, uint32_t number)
{
	uint32_t i = place_of(job, number);

	return job->id == id && job->fd >= 0 && i < job->pages_len && job->pages[i] == number;
}

static void add_page(struct row_job *job, uint32_t number)
{
	uint32_t i = place_of(job, number);

	memmove(&job->pages[i + 1], &job->pages[i], (job->pages_len - i) * sizeof(job->pages[0]));
	job->pages[i] = number;
	job->pages_len++;
}

/* A queued request of this file that has the page, or else room for it. May be NULL. */
static struct row_job *find_pages(struct row_queue *queue, uint64_t id, uint32_t number)
{
	struct row_job *roomy = NULL;

	for (size_t i = queue->next; i < queue->jobs.len; i++) {
		struct row_job *job = &queue->jobs.data[i];

		if (has_page(job, id, number))
			return job;
		if (job->id == id && job->fd >= 0 && job->pages_len > 0 &&
			job->pages_len < ROW_JOB_PAGES)
			roomy = job;
	}
	return roomy;
}

int row_queue_put_page(struct row_queue *queue, uint64_t id, int fd, uint64_t written_ns,
	uint32_t number, uint64_t account)
{
	const struct row_job new = { .id = id,
		.fd = fd,
		.written_ns = written_ns,
		.wanted = 1,
		.account = account,
		.pages_len = 1,
		.pages = { number } };
	struct row_job *job;

	for (size_t i = 0; i < queue->asked_len; i++)
		if (has_page(&queue->asked[i], id, number))
			return 0;
	queue->wanted = true;
	job = find_pages(queue, id, number);
	/* The last places are for new files: without a table all of their stacks are cut. */
	if (!job && queue->jobs.len - queue->next >= share_room(WORKER_QUEUE_MAX))
		return -ENOSPC;
	if (!job)
		return put_job(queue, &new);
	job->wanted++;
	pay(queue, job, account);
	if (!has_page(job, id, number))
		add_page(job, number);
	return 0;
}

static void drop_waiting(struct row_queue *queue, uint64_t id)
{
	for (size_t i = queue->next; i < queue->jobs.len; i++) {
		struct row_job *job = &queue->jobs.data[i];

		if (job->id == id && job->fd >= 0) {
			job->fd = -1;
			queue->dropped++;
		}
	}
}

/* Drops the object's requests but the answered one, which is the first. */
static void drop_others(struct row_queue *queue, uint64_t id)
{
	for (size_t i = 1; i < queue->asked_len; i++)
		if (queue->asked[i].id == id)
			queue->asked[i].fd = -1;
	drop_waiting(queue, id);
}

void row_queue_drop(struct row_queue *queue, uint64_t id)
{
	blame_forgive(queue->blame, BLAME_ROWS, id);
	for (size_t i = 0; i < queue->asked_len; i++)
		if (queue->asked[i].id == id)
			queue->asked[i].fd = -1;
	drop_waiting(queue, id);
}

void row_queue_want(struct row_queue *queue, uint64_t id, uint32_t by, uint64_t account)
{
	for (size_t i = queue->next; i < queue->jobs.len; i++) {
		struct row_job *job = &queue->jobs.data[i];

		if (job->id != id || job->fd < 0 || job->pages_len > 0)
			continue;
		job->wanted += by;
		pay(queue, job, account);
		queue->wanted = true;
		return;
	}
}

static bool goes_before(
	const struct row_queue *queue, const struct row_job *a, const struct row_job *b)
{
	uint64_t a_turns = share_turns(&queue->turns, a->account);
	uint64_t b_turns = share_turns(&queue->turns, b->account);

	return a_turns != b_turns ? a_turns < b_turns : a->wanted > b->wanted;
}

static void bring_forward(struct row_queue *queue)
{
	struct row_job *first = queue->jobs.data + queue->next, *most = first, was;

	if (!queue->wanted && !queue->turns.uneven)
		return;
	queue->wanted = false;
	for (size_t i = queue->next; i < queue->jobs.len; i++) {
		struct row_job *job = &queue->jobs.data[i];

		queue->wanted |= job->wanted > 0;
		if (job->fd >= 0 && (most->fd < 0 || goes_before(queue, job, most)))
			most = job;
	}
	was = *first;
	*first = *most;
	*most = was;
}

/* Which is next; NULL: none waits. */
static const struct row_job *first_job(struct row_queue *queue)
{
	if (queue->next < queue->jobs.len)
		bring_forward(queue);
	for (; queue->next < queue->jobs.len; queue->next++) {
		if (queue->jobs.data[queue->next].fd >= 0)
			return &queue->jobs.data[queue->next];
		queue->dropped--;
	}
	return NULL;
}

/* ---- results -------------------------------------------------------------------------------- */

static void report_failure(
	struct row_queue *queue, const struct row_job *job, enum worker_status status)
{
	struct worker_rows rows = {
		.id = job->id,
		.status = status,
		.rows_status = status,
		.ns = job->spent_ns,
	};

	queue->fn(queue->ctx, &rows);
}

/* Takes the memory. A mapping of what the worker wrote, or NULL: not what it says, but *fault. */
static void *map_rows(
	int memory, uint64_t size, struct unwind_rows_view *view, const char **fault)
{
	_cleanup_fd_ int fd = fd_seal(memory);
	struct stat st;
	void *bytes;

	*fault = "rows in memory that it keeps mapped, or of another size";
	if (fd < 0 || fstat(fd, &st) < 0 || (uint64_t)st.st_size != size ||
		size > SANDBOX_FILE_BYTES_MAX)
		return NULL;
	*fault = "rows that cannot be mapped";
	bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return NULL;
	*fault = "malformed rows";
	if (unwind_rows_view(bytes, size, view) == 0)
		return bytes;
	munmap(bytes, size);
	return NULL;
}

/* A table answers a file that has no index, too. */
static bool is_answer(const struct row_job *job, const struct unwind_rows_view *view)
{
	if (view->head->kind == UNWIND_ROWS_TABLE)
		return job->pages_len == 0;
	if (view->head->kind == UNWIND_ROWS_OUTLINE)
		return job->pages_len == 0 && !job->whole;
	if (job->pages_len == 0 || view->head->pages_len != job->pages_len)
		return false;
	for (uint32_t i = 0; i < job->pages_len; i++)
		if (view->pages[i].number != job->pages[i])
			return false;
	return true;
}

/* NULL, or what is wrong with the reply. */
static const char *report_rows(struct row_queue *queue)
{
	const struct proto_rows *body = proto_body(&queue->lane.in);
	struct unwind_rows_view view;
	const char *fault;
	void *bytes = NULL;
	struct worker_rows rows = {
		.id = queue->asked[0].id,
		.status = (enum worker_status)queue->lane.in.reply.status,
		.rows_status = (enum worker_status)body->rows_status,
		.rows_bytes = body->rows_bytes,
		.link.crc = body->debuglink_crc,
		.contents = body->contents,
		.cpython = body->cpython,
		.hotspot = body->hotspot,
		.eh_frame_bytes = body->eh_frame_bytes,
		.ns = spend(queue),
	};
	const struct row_job *job = &queue->asked[0];

	if (body->rows_bytes > 0) {
		bytes = map_rows(TAKE_FD(queue->memory[0]), body->rows_bytes, &view, &fault);
		if (!bytes)
			return fault;
		rows.rows = &view;
		if (!is_answer(&queue->asked[0], &view)) {
			munmap(bytes, body->rows_bytes);
			return "rows of other pages than requested";
		}
	}
	rows.build_id.len = body->build_id_len;
	memcpy(rows.build_id.bytes, body->build_id, body->build_id_len);
	memcpy(rows.link.name, body->debuglink, sizeof(rows.link.name));
	/* The caller closes a file that is refused: its number may soon be that of another. */
	if (rows.status != WORKER_OK || rows.rows_status == WORKER_WRONG_INDEX)
		drop_others(queue, rows.id);
	share_turns_charge(&queue->turns, job->account, rows.ns, clock_ns(CLOCK_MONOTONIC));
	rows.ns += job->spent_ns;
	rows.pages = job->pages;
	rows.pages_len = job->pages_len;
	if (job->fd >= 0)
		queue->fn(queue->ctx, &rows);
	if (bytes)
		munmap(bytes, body->rows_bytes);
	return NULL;
}

/* ---- the worker ----------------------------------------------------------------------------- */

/* The worker takes requests in their order: the first one was its last. It is tried again, or
 * refused; those that were sent ahead are tried again. */
static void on_loss(struct row_queue *queue)
{
	struct row_job lost[1 + LANE_AHEAD_MAX];
	size_t len = queue->asked_len;

	memcpy(lost, queue->asked, len * sizeof(lost[0]));
	close_memory(queue);
	if (len > 0) {
		uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
		uint64_t took_ns = now_ns - queue->lane.asked_ns;

		share_turns_charge(&queue->turns, lost[0].account, took_ns, now_ns);
		lost[0].spent_ns += took_ns;
	}
	queue->asked_len = 0;
	blame_loss(queue->blame, &queue->lane, BLAME_ROWS);
	for (size_t i = 0; i < len; i++) {
		lost[i].wanted++; /* as the file whose turn had come */
		queue->wanted = true;
		if (lost[i].fd >= 0 &&
			(blame_refuses(queue->blame, BLAME_ROWS, lost[i].id) ||
				put_job(queue, &lost[i]) < 0))
			report_failure(queue, &lost[i], WORKER_REFUSED);
	}
}

/* Memory that was written stays as long as the worker maps it, in no account of the worker's
 * memory, whatever its replies say: so all of it counts. */
static void note_written(struct row_queue *queue)
{
	struct stat st;

	if (fstat(queue->memory[0], &st) == 0)
		queue->lane.written_bytes += (uint64_t)st.st_blocks * BLOCK_BYTES;
}

static void on_reply(struct row_queue *queue)
{
	const struct proto_hello *hello = proto_body(&queue->lane.in);
	const char *fault;

	if (queue->lane.in.head.kind == PROTO_HELLO) {
		queue->sandbox = (uint32_t)hello->sandbox;
		spend(queue);
		return;
	}
	note_written(queue);
	fault = report_rows(queue);
	if (fault) {
		lane_accuse(&queue->lane, fault);
		on_loss(queue);
		return;
	}
	blame_forgive(queue->blame, BLAME_ROWS, queue->asked[0].id);
	fd_close(&queue->memory[0]);
	queue->asked_len--;
	memmove(&queue->asked[0], &queue->asked[1], queue->asked_len * sizeof(queue->asked[0]));
	memmove(&queue->memory[0], &queue->memory[1], queue->asked_len * sizeof(int));
	if (queue->lane.written_bytes > queue->written_max) {
		lane_drop(&queue->lane);
		on_loss(queue);
	}
}

static int send_job(struct row_queue *queue, const struct row_job *job)
{
	struct proto_message *m = &queue->lane.out;
	_cleanup_fd_ int memory = fd_memory("rows");
	int err;

	if (memory < 0)
		return memory;
	proto_begin_request(m, PROTO_ROWS, job->id);
	m->fds[0] = job->fd;
	m->fds[1] = memory;
	m->fds_len = 2;
	m->request.at_ns = job->written_ns;
	m->request.flags = job->whole ? PROTO_WHOLE : 0;
	m->request.queries_len = job->pages_len;
	for (uint32_t i = 0; i < job->pages_len; i++) {
		const uint64_t number = job->pages[i];

		proto_put(m, &number, sizeof(number));
	}
	err = lane_send(&queue->lane);
	if (err < 0)
		return err;
	queue->requests++;
	queue->memory[queue->asked_len] = TAKE_FD(memory);
	queue->asked[queue->asked_len++] = *job;
	return 0;
}

/* May it be sent now? Not before the hello of the worker, and nothing before or after what may take
 * seconds: until its end nobody could come first. */
static bool has_room(const struct row_queue *queue, const struct row_job *job)
{
	uint64_t bytes = job->bytes;

	for (size_t i = 0; i < queue->asked_len; i++)
		bytes += queue->asked[i].bytes;
	if (queue->lane.child.pid == 0 || (queue->lane.busy && queue->asked_len == 0))
		return false;
	return queue->asked_len == 0 ||
		(queue->asked_len < ARRAY_SIZE(queue->asked) && bytes <= ROW_AHEAD_BYTES);
}

/* False: there is nothing to send, or nobody to send it to. */
static bool send_next(struct row_queue *queue)
{
	const struct row_job *job = first_job(queue);
	int err;

	if (!job || !has_room(queue, job))
		return false;
	if (blame_refuses(queue->blame, BLAME_ROWS, job->id)) {
		queue->next++;
		report_failure(queue, job, WORKER_REFUSED);
		return true;
	}
	err = send_job(queue, job);
	if (err == -ENOTCONN || err == -ETOOMANYREFS)
		return false;
	queue->next++;
	if (err < 0)
		report_failure(queue, job, WORKER_DOWN);
	return true;
}

void row_queue_kick(struct row_queue *queue)
{
	const struct row_job *job = first_job(queue);

	if (job && has_room(queue, job) && !blame_holds(queue->blame, BLAME_ROWS, job->id) &&
		send_job(queue, job) == 0)
		queue->next++;
}

/* A worker may be found lost when it is sent something. Nobody answers what it was sent before, and
 * a new one's first answer is to another request. */
static bool has_worker(struct row_queue *queue)
{
	bool needed;

	if (queue->lane.child.pid == 0 && queue->asked_len > 0)
		on_loss(queue);
	needed = !queue->at_need || queue->lane.child.pid != 0 || first_job(queue);
	return needed && lane_start(&queue->lane) == 0;
}

/* When a worker that has nothing to do is ended. */
static uint64_t rest_ns(const struct row_queue *queue)
{
	bool idle = queue->lane.child.pid != 0 && !queue->lane.busy && row_queue_len(queue) == 0;

	return queue->at_need && idle ? queue->lane.asked_ns + ROW_IDLE_NS : CLOCK_NEVER_NS;
}

uint64_t row_queue_due_ns(const struct row_queue *queue, uint64_t polled_ns)
{
	const struct lane *lane = &queue->lane;
	bool waits = row_queue_len(queue) > 0;
	uint64_t due_ns = clock_sooner(lane_due_ns(lane), rest_ns(queue));

	if (lane->child.pid == 0)
		return queue->at_need && !waits ? CLOCK_NEVER_NS : due_ns;
	return waits && !lane->busy ? clock_sooner(due_ns, polled_ns + QUEUE_NS) : due_ns;
}

static void poll_worker(struct row_queue *queue)
{
	/* Requests that a callback repeats wait for the next poll. */
	size_t left = queue->jobs.len - queue->next + 1;

	while (has_worker(queue)) {
		switch (lane_wait(&queue->lane, 0)) {
		case LANE_REPLY:
			on_reply(queue);
			break;
		case LANE_LOST:
			on_loss(queue);
			break;
		case LANE_LATE:
			if (left-- == 0 || !send_next(queue))
				return;
			break;
		}
	}
}

void row_queue_poll(struct row_queue *queue)
{
	poll_worker(queue);
	if (rest_ns(queue) <= clock_ns(CLOCK_MONOTONIC))
		lane_rest(&queue->lane);
}
