/* SPDX-License-Identifier: Apache-2.0 */
/* client/client.c - one interface to all workers: started, watched and accounted together. The
 * queues of rows are in row_queue.c, names are in namer.c. The table of a large file may take
 * seconds, so large files have a worker of their own, which is started when there is one. */
#include "client/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "client/namer.h"
#include "client/openers.h"
#include "client/row_queue.h"
#include "client/stats.h"
#include "worker/pace.h"
#include "worker/sandbox.h"
#include "worker/worker.h"

#define UNWATCHED_NS (100 * NSEC_PER_MSEC)
#define HANG_NS (20 * NSEC_PER_SEC)
#define REFUSE_NS (10 * NSEC_PER_SEC)
#define RSS_MAX_KB (768UL << 10)
#define LOOK_NS NSEC_PER_SEC           /* from one look at memory to the next */

_Static_assert(WORKER_DEBUG_FILES_MAX == PROTO_DEBUG_MAX, "all debug files go in one request");

enum { ROWS_SMALL, ROWS_LARGE, ROWS_QUEUES };

struct worker_client {
	struct starter starter;
	struct starter clocks; /* as a guest of another; without a descriptor, ours is asked */
	struct openers *openers;
	struct row_queue rows[ROWS_QUEUES];
	struct namer namer;
	struct blame blame;
	struct pace pace;
	int epoll_fd;
	uint64_t watched_starts[WORKER_LANES];
	bool unwatched; /* a worker that epoll did not take */
	uint64_t rss_limit_kb;
	uint64_t rss_max_kb[WORKER_LANES];
	uint64_t look_ns, polled_ns;
	uint64_t looked_requests; /* at the latest look: memory grows by requests only */
};

static struct lane *lane_of(struct worker_client *client, int i)
{
	if (i == 1)
		return &client->namer.lane;
	return &client->rows[i == 0 ? ROWS_SMALL : ROWS_LARGE].lane;
}

/* ---- begin and end -------------------------------------------------------------------------- */

/* A lane's socket is another one after each start. */
static int watch(struct worker_client *client)
{
	struct epoll_event event = { .events = EPOLLIN };

	client->unwatched = false;
	for (int i = 0; i < WORKER_LANES; i++) {
		struct lane *lane = lane_of(client, i);

		if (lane->child.fd < 0 || client->watched_starts[i] == lane->starts)
			continue;
		if (epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, lane->child.fd, &event) < 0) {
			if (errno != ENOSPC)
				return -errno;
			client->unwatched = true; /* a limit of the user: looked at by time */
			continue;
		}
		client->watched_starts[i] = lane->starts;
	}
	return 0;
}

static int explain_loss(const struct lane *lane, struct why *why)
{
	int status = lane->end_status;

	if (lane->cause == LANE_HUNG || lane->cause == LANE_DROPPED)
		return why_set(why, -ETIMEDOUT, "the worker process does not start");
	if (lane->cause == LANE_ENDED && WIFSIGNALED(status))
		return why_set(why, -EPERM, "the worker process was killed by signal %d (%s)",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (lane->cause == LANE_ENDED && WEXITSTATUS(status) == WORKER_EXIT_SANDBOX)
		return why_set(why, -EPERM, "the worker process cannot enter its sandbox: %s",
			sandbox_failure(false));
	if (lane->cause == LANE_ENDED && access("/proc/self/exe", X_OK) < 0)
		return why_set(why, -errno,
			"cannot start the worker process (/proc/self/exe: %s): mount proc at /proc",
			err_text(errno));
	return why_set(why, -EPERM, "the worker process exited at its start, with status %d",
		WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static int begin(struct worker_client *client, bool fetches, struct why *why)
{
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + 2 * LANE_BEGIN_NS;
	struct epoll_event gone = { .events = 0 };
	const struct starter_duties duties = { .program = client->namer.lane.argument,
		.fetchers = fetches,
		.openers = true,
		.clocks = client->clocks.child.fd < 0 };
	const char *no_openers = sandbox_opener_failure();
	int err = 0;

	if (no_openers)
		return why_set(why, -EUSERS, "no file of a process can be opened: %s", no_openers);
	err = starter_open(&client->starter, &duties);
	/* EPOLLHUP is always reported. */
	if (err == 0 && client->starter.child.fd >= 0 &&
		epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, client->starter.child.fd, &gone) < 0)
		err = -errno;
	for (int i = 0; i < WORKER_LANES_STANDING && err == 0; i++)
		err = lane_start(lane_of(client, i));
	if (err == 0)
		err = watch(client);
	if (err < 0)
		return why_set(why, err, "cannot start a worker process: %s", fd_watch_text(err));
	for (int i = 0; i < WORKER_LANES_STANDING; i++) {
		struct lane *lane = lane_of(client, i);
		const struct proto_hello *hello = proto_body(&lane->in);
		enum lane_result result = lane_wait(lane, until_ns);

		if (result == LANE_LATE)
			return why_set(why, -ETIMEDOUT, "the worker process does not start");
		if (result == LANE_LOST)
			return explain_loss(lane, why);
		*(i == 0 ? &client->rows[ROWS_SMALL].sandbox : &client->namer.sandbox) =
			(uint32_t)hello->sandbox;
	}
	return 0;
}

int worker_client_open(
	const struct worker_client_options *options, struct worker_client **out, struct why *why)
{
	const char *argument = options->argument ? options->argument : WORKER_ARGUMENT;
	uint64_t hang_ns = options->hang_ns ? options->hang_ns : HANG_NS;
	struct worker_client *client = calloc(1, sizeof(*client));
	int err;

	if (!client)
		return why_set(why, -ENOMEM, "out of memory");
	client->starter = (struct starter)STARTER_INIT;
	client->clocks = (struct starter)STARTER_INIT;
	if (options->clocks_fd > 0)
		client->clocks.child.fd = options->clocks_fd;
	pace_init(&client->pace, clock_ns(CLOCK_MONOTONIC));
	client->namer.blame = &client->blame;
	client->rows[ROWS_LARGE].at_need = true;
	client->blame.refuse_ns = options->refuse_ns ? options->refuse_ns : REFUSE_NS;
	client->rss_limit_kb = options->rss_max_kb ? options->rss_max_kb : RSS_MAX_KB;
	for (int i = 0; i < ROWS_QUEUES; i++) {
		client->rows[i].blame = &client->blame;
		client->rows[i].written_max = client->rss_limit_kb << 10;
	}
	for (int i = 0; i < WORKER_LANES; i++)
		lane_init(lane_of(client, i), &client->starter, argument, hang_ns);
	client->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = client->epoll_fd < 0 ? why_set(why, -errno, "epoll: %s", err_text(errno))
				   : begin(client, options->fetches, why);
	if (err == 0)
		err = openers_new(&(struct openers_options){ .starter = &client->starter,
					  .account = options->account,
					  .epoll_fd = client->epoll_fd },
			&client->openers);
	if (err < 0)
		worker_client_free(client);
	else
		*out = client;
	return err;
}

void worker_client_listen(struct worker_client *client, worker_rows_fn on_rows, void *ctx)
{
	for (int i = 0; i < ROWS_QUEUES; i++) {
		client->rows[i].fn = on_rows;
		client->rows[i].ctx = ctx;
	}
}

int worker_client_clock(struct worker_client *client, const struct cpu_clock *clock, int *fd)
{
	return starter_clock(
		client->clocks.child.fd >= 0 ? &client->clocks : &client->starter, clock, fd);
}

bool worker_client_starter_lost(const struct worker_client *client)
{
	return client->starter.lost;
}

struct openers *worker_client_openers(struct worker_client *client)
{
	return client->openers;
}

struct opener_call *worker_client_call(struct worker_client *client)
{
	return openers_call(client->openers);
}

struct starter *worker_client_starter(struct worker_client *client)
{
	return &client->starter;
}

void worker_client_free(struct worker_client *client)
{
	if (!client)
		return;
	openers_free(client->openers);
	for (int i = 0; i < ROWS_QUEUES; i++)
		row_queue_done(&client->rows[i]);
	namer_done(&client->namer);
	starter_close(&client->starter);
	starter_close(&client->clocks);
	blame_done(&client->blame);
	fd_close(&client->epoll_fd);
	free(client);
}

/* ---- watch ---------------------------------------------------------------------------------- */

int worker_client_fd(const struct worker_client *client)
{
	return client->epoll_fd;
}

static uint64_t requests(const struct worker_client *client)
{
	uint64_t sum = client->namer.requests;

	for (int i = 0; i < ROWS_QUEUES; i++)
		sum += client->rows[i].requests;
	return sum;
}

/* Measures their cost, and decides whether they still may run before others. */
static void look_at_workers(struct worker_client *client)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	bool busy = false;
	double cpu_s = 0;

	for (int i = 0; i < WORKER_LANES; i++) {
		struct lane *lane = lane_of(client, i);
		uint64_t rss_kb, rss_max_kb;

		lane_memory(lane, &rss_kb, &rss_max_kb);
		if (rss_max_kb > client->rss_max_kb[i])
			client->rss_max_kb[i] = rss_max_kb;
		if (rss_kb > client->rss_limit_kb && !lane->busy)
			lane_drop(lane);
		cpu_s += lane_cpu_s(lane);
		busy |= lane->busy;
	}
	/* A busy worker is looked at again when it is not. */
	if (!busy)
		client->looked_requests = requests(client);
	if (pace_feed(&client->pace, now, (uint64_t)(cpu_s * 1e9)))
		starter_pace(&client->starter, client->pace.normal);
	client->look_ns = now + LOOK_NS;
}

int worker_client_poll(struct worker_client *client)
{
	starter_lost(&client->starter); /* else its socket would stay readable */
	openers_poll(client->openers);
	for (int i = 0; i < ROWS_QUEUES; i++)
		row_queue_poll(&client->rows[i]);
	namer_poll(&client->namer);
	client->polled_ns = clock_ns(CLOCK_MONOTONIC);
	if (client->looked_requests != requests(client) && client->polled_ns >= client->look_ns)
		look_at_workers(client);
	return watch(client);
}

uint64_t worker_client_due_ns(const struct worker_client *client)
{
	uint64_t due_ns = clock_sooner(
		lane_due_ns(&client->namer.lane), openers_due_ns(client->openers));

	for (int i = 0; i < ROWS_QUEUES; i++)
		due_ns = clock_sooner(
			due_ns, row_queue_due_ns(&client->rows[i], client->polled_ns));
	if (client->looked_requests != requests(client))
		due_ns = clock_sooner(due_ns, client->look_ns);
	if (client->unwatched)
		due_ns = clock_sooner(due_ns, client->polled_ns + UNWATCHED_NS);
	return due_ns;
}

const char *worker_client_fault(const struct worker_client *client)
{
	const char *fault = client->namer.lane.fault;

	for (int i = 0; i < ROWS_QUEUES && !fault; i++)
		fault = client->rows[i].lane.fault;
	return fault;
}

uint64_t worker_client_unsent(const struct worker_client *client)
{
	return client->starter.unsent;
}

uint64_t worker_client_stopped(const struct worker_client *client)
{
	return client->starter.stopped;
}

void worker_client_stats(struct worker_client *client, struct worker_stats *out)
{
	struct worker_stats stats = {
		.requests = requests(client),
		.refused = client->blame.refused,
		.openers_given_up = openers_given_up(client->openers),
		.unsent = worker_client_unsent(client),
		.stopped = worker_client_stopped(client),
		.late = client->namer.late,
		.lines_given_up = client->namer.lines_given_up,
		.symbol_loads = client->namer.loads,
		.symbol_ns = client->namer.loads_ns,
		.kept_bytes = client->namer.kept_bytes,
		.kept_len = client->namer.kept_len,
		.evicted = client->namer.evicted,
		.sandbox = client->rows[ROWS_SMALL].sandbox & client->namer.sandbox,
	};

	look_at_workers(client);
	stats.cpu_s += openers_cpu_s(client->openers);
	for (int i = 0; i < WORKER_LANES; i++) {
		const struct lane *lane = lane_of(client, i);

		stats.restarts += lane->restarts;
		for (int cause = 0; cause < LANE_CAUSES; cause++)
			stats.lost[cause] += lane->lost[cause];
		stats.cpu_s += lane_cpu_s(lane);
		stats.rss_max_kb += client->rss_max_kb[i];
		stats.pids[i] = lane->child.pid;
		if (lane->lost[LANE_ENDED] > 0)
			stats.end_status = lane->died_status;
	}
	*out = stats;
}

/* ---- the face ------------------------------------------------------------------------------- */

/* All of a file may have to be read for its table. A page of it does not take long. */
static struct row_queue *queue_for(struct worker_client *client, int fd)
{
	struct stat st;
	bool large = fstat(fd, &st) == 0 && (uint64_t)st.st_size > ROW_AHEAD_BYTES;

	return &client->rows[large ? ROWS_LARGE : ROWS_SMALL];
}

static int put_file(struct worker_client *client, uint64_t id, int fd, bool whole)
{
	struct row_queue *queue = queue_for(client, fd);
	int err = row_queue_put(queue, id, fd, whole);

	row_queue_kick(queue);
	return err;
}

int worker_client_rows(struct worker_client *client, uint64_t id, int fd)
{
	return put_file(client, id, fd, false);
}

int worker_client_table(struct worker_client *client, uint64_t id, int fd)
{
	return put_file(client, id, fd, true);
}

int worker_client_page(struct worker_client *client, uint64_t id, int fd, uint64_t written_ns,
	uint32_t number, uint64_t account)
{
	return row_queue_put_page(&client->rows[ROWS_SMALL], id, fd, written_ns, number, account);
}

void worker_client_kick(struct worker_client *client)
{
	for (int i = 0; i < ROWS_QUEUES; i++)
		row_queue_kick(&client->rows[i]);
}

void worker_client_want(
	struct worker_client *client, uint64_t id, uint32_t samples, uint64_t account)
{
	for (int i = 0; i < ROWS_QUEUES; i++)
		row_queue_want(&client->rows[i], id, samples, account);
}

size_t worker_client_pending(const struct worker_client *client)
{
	size_t pending = openers_pending(client->openers);

	for (int i = 0; i < ROWS_QUEUES; i++)
		pending += row_queue_len(&client->rows[i]);
	return pending;
}

int worker_client_names(struct worker_client *client, const struct worker_object *object,
	const struct worker_query *query, worker_name_fn fn, void *ctx, struct worker_symbols *out)
{
	return namer_names(&client->namer, object, query, fn, ctx, out);
}

int worker_client_map_names(struct worker_client *client, const struct worker_map *map,
	const struct worker_query *query, worker_name_fn fn, void *ctx,
	struct worker_map_status *out)
{
	const pid_t *worker = &client->namer.lane.child.pid;
	pid_t asked = *worker;
	uint64_t begun_ns = clock_process_ns(asked), now_ns;
	int err = namer_map_names(&client->namer, map, query, fn, ctx, out);

	/* It may be another one by now, or none. */
	now_ns = clock_process_ns(*worker);
	out->took_ns = *worker == asked && now_ns > begun_ns ? now_ns - begun_ns : 0;
	return err;
}

enum worker_status worker_client_state(
	struct worker_client *client, const struct worker_state *state, struct state_facts *out)
{
	return namer_state(&client->namer, state, out);
}

enum worker_status worker_client_mappings(struct worker_client *client,
	const struct worker_mappings *mappings, struct mappings_facts *facts, struct buf *list)
{
	return namer_mappings(&client->namer, mappings, facts, list);
}

enum worker_status worker_client_calls(
	struct worker_client *client, const struct worker_calls *calls, struct elf_call *out)
{
	return namer_calls(&client->namer, calls, out);
}

int worker_client_codes(struct worker_client *client, const struct worker_codes *codes,
	worker_name_fn fn, void *ctx, enum worker_status *status)
{
	return namer_codes(&client->namer, codes, fn, ctx, status);
}

enum worker_status worker_client_methods(
	struct worker_client *client, const struct worker_methods *methods, struct buf *reply)
{
	return namer_methods(&client->namer, methods, reply);
}

enum worker_status worker_client_language(
	struct worker_client *client, const struct worker_table *table, struct cpython_table *out)
{
	return namer_language(&client->namer, table, out);
}

void worker_client_drop(struct worker_client *client, uint64_t id)
{
	for (int i = 0; i < ROWS_QUEUES; i++)
		row_queue_drop(&client->rows[i], id);
	namer_drop(&client->namer, id);
}

void worker_client_drop_names(struct worker_client *client, uint64_t id)
{
	namer_drop(&client->namer, id);
}

void worker_client_drop_map(struct worker_client *client, uint64_t id)
{
	namer_drop_map(&client->namer, id);
}
