/* SPDX-License-Identifier: Apache-2.0 */
/* A worker that answers honestly is never judged a liar: the agent's queue of rows and its namer
 * ask the worker's own functions about spoilt files, which another thread changes meanwhile.
 * HONEST=100000 in the environment for more than a short run; HONEST_SEED for other ones;
 * HONEST_FILES=FOLDER for files 0, 1, ... of tests/hostile/make as they are.
 * LINK: -Wl,--wrap=lane_start,--wrap=lane_send,--wrap=lane_wait,--wrap=lane_done,--wrap=lane_accuse
 * LINK: -Wl,--wrap=clock_gettime,--wrap=symbols_lines */
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "client/blame.h"
#include "client/namer.h"
#include "client/row_queue.h"
#include "service_done.h"
#include "unwind/rows.h"
#include "worker/mapping.h"
#include "worker/service.h"
#include "worker/state_reader.h"
#include "worker/symbols.h"

#define ROUNDS_SHORT 400
#define FILE_BYTES_MAX (64UL << 20)
#define QUERIES_MAX 6000
#define SENT_MAX (1 + LANE_AHEAD_MAX)

static const char *const golden[] = { "cfi-x86_64.so", "cfi-arm64.so", "inline-2.so", "inline-4.so",
	"inline-5.so", "inline-dwz.so", "inline-split.so", "assembly.dll", "inline-dwz.alt" };

static struct row_queue rows;
static struct namer namer;
static struct blame blame;
static struct worker {
	struct service service;
	struct proto_message sent[SENT_MAX];
	size_t sent_len;
} workers[2];
static uint64_t seed, jumps_ns, replies;
static uint64_t jump_of = 64;
static bool may_jump, no_lines;
static char result[160];

/* ---- chance --------------------------------------------------------------------------------- */

static uint64_t any_of(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 8;
}

static uint64_t any(uint64_t below)
{
	return any_of(&seed) % below;
}

/* ---- what the linker puts between the agent and the worker ---------------------------------- */

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
enum inlined_result __real_symbols_lines(
	struct symbols *symbols, uint64_t file_offset, struct inlined_frames *out);
enum inlined_result __wrap_symbols_lines(
	struct symbols *symbols, uint64_t file_offset, struct inlined_frames *out);
int __wrap_lane_start(struct lane *lane);
int __wrap_lane_send(struct lane *lane);
enum lane_result __wrap_lane_wait(struct lane *lane, uint64_t until_ns);
void __wrap_lane_done(struct lane *lane);
void __wrap_lane_accuse(struct lane *lane, const char *fault);

/* A second goes by now and then, as on a busy machine. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	int err = __real_clock_gettime(clock, out);

	if (may_jump && any(jump_of) == 0)
		jumps_ns += NSEC_PER_SEC;
	out->tv_sec += (time_t)(jumps_ns / NSEC_PER_SEC);
	return err;
}

/* Each of a unit that is too much work. */
enum inlined_result __wrap_symbols_lines(
	struct symbols *symbols, uint64_t file_offset, struct inlined_frames *out)
{
	return no_lines ? INLINED_GIVEN_UP : __real_symbols_lines(symbols, file_offset, out);
}

int __wrap_lane_start(struct lane *lane)
{
	lane->child.pid = 1;
	return 0;
}

static struct worker *worker_of(const struct lane *lane)
{
	return &workers[lane == &rows.lane];
}

int __wrap_lane_send(struct lane *lane)
{
	struct worker *worker = worker_of(lane);
	struct proto_message *m = &worker->sent[worker->sent_len++];

	assert_true(worker->sent_len <= SENT_MAX);
	lane->out.head.seq = ++lane->seq;
	assert_true(proto_request_valid(&lane->out));
	memcpy(m, &lane->out, sizeof(*m));
	for (size_t i = 0; i < m->fds_len; i++) {
		m->fds[i] = fcntl(m->fds[i], F_DUPFD_CLOEXEC, 0);
		assert_true(m->fds[i] >= 0);
	}
	lane->busy = true;
	return 0;
}

static void answer(struct worker *worker, struct lane *lane)
{
	struct service *service = &worker->service;

	proto_close_fds(&service->in);
	memcpy(&service->in, &worker->sent[0], sizeof(service->in));
	memmove(&worker->sent[0], &worker->sent[1], --worker->sent_len * sizeof(worker->sent[0]));
	may_jump = true;
	service_answer(service);
	may_jump = false;
	lane->asked = service->in.request;
	lane->asked_ns = clock_ns(CLOCK_MONOTONIC);
	proto_close_fds(&lane->in);
	memcpy(&lane->in, &service->out, sizeof(lane->in));
	service->out.fds_len = 0;
	lane->busy = worker->sent_len > 0;
}

enum lane_result __wrap_lane_wait(struct lane *lane, uint64_t until_ns)
{
	const char *fault;

	(void)until_ns;
	if (worker_of(lane)->sent_len == 0)
		return LANE_LATE;
	answer(worker_of(lane), lane);
	replies++;
	fault = proto_reply_fault(&lane->in, &lane->asked);
	if (fault)
		print_error("kind %u, status %u, %u of %u answered: %s\n", lane->asked.head.kind,
			lane->in.reply.status, lane->in.reply.answered, lane->asked.queries_len,
			fault);
	assert_null(fault);
	return LANE_REPLY;
}

void __wrap_lane_done(struct lane *lane)
{
	proto_close_fds(&lane->in);
}

void __wrap_lane_accuse(struct lane *lane, const char *fault)
{
	print_error("object %llu, %u pages requested: %s\n", (unsigned long long)lane->asked.id,
		lane->asked.queries_len, fault);
	fail();
}

/* ---- files ---------------------------------------------------------------------------------- */

static void read_file(const char *path, struct buf *out)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fd_read_all(fd, FILE_BYTES_MAX, out), 0);
}

static void spoil(struct buf *file)
{
	uint64_t times = 1ULL << any(8), way = any(6);
	size_t headers = file->len < 4096 ? file->len : 4096;

	if (way == 0)
		file->len = 64 + any(file->len - 64);
	for (uint64_t i = 0; way > 1 && i < times; i++) {
		static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
		size_t at = way == 2 ? any(64) : way == 3 ? file->len - 1 - any(headers) :
							    any(file->len);

		file->data[at] = (char)(any(2) ? values[any(sizeof(values))] : any(256));
	}
}

static int spoilt_file(void)
{
	_cleanup_(buf_done) struct buf file = BUF_INIT;
	const char *folder = getenv("HONEST_FILES");
	char path[512];
	int fd = memfd_create("honest", MFD_CLOEXEC);

	if (folder)
		snprintf(path, sizeof(path), "%s/%d", folder, (int)any(10000));
	else if (any(8) == 0)
		snprintf(path, sizeof(path), "/proc/self/exe");
	else
		snprintf(path, sizeof(path), "tests/golden/%s", golden[any(ARRAY_SIZE(golden))]);
	assert_true(fd >= 0);
	read_file(path, &file);
	if (!folder || any(4) == 0)
		spoil(&file);
	assert_int_equal(fd_write_all(fd, file.data, file.len), 0);
	return fd;
}

static struct changer {
	_Atomic int fd; /* -1: nothing is to be changed */
	atomic_bool busy, ended;
	uint64_t seed;
	size_t bytes;
} changer = { .fd = -1, .seed = 77 };

static void *change(void *arg)
{
	struct changer *c = arg;

	while (!atomic_load(&c->ended)) {
		int fd;
		size_t at = any_of(&c->seed) % c->bytes, len = 1 + any_of(&c->seed) % 8;
		uint64_t bytes = any_of(&c->seed);

		atomic_store(&c->busy, true);
		fd = atomic_load(&c->fd);
		if (fd >= 0 && any_of(&c->seed) % 4096 == 0)
			(void)!ftruncate(fd, (off_t)at);
		else if (fd >= 0 && at + len <= c->bytes)
			(void)!pwrite(fd, &bytes, len, (off_t)at);
		atomic_store(&c->busy, false);
	}
	return NULL;
}

static void begin_changes(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	changer.bytes = (size_t)st.st_size;
	atomic_store(&changer.fd, fd);
}

static void end_changes(void)
{
	atomic_store(&changer.fd, -1);
	while (atomic_load(&changer.busy))
		;
}

/* ---- questions ------------------------------------------------------------------------------ */

static uint64_t written_ns(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (uint64_t)st.st_mtim.tv_sec * NSEC_PER_SEC + (uint64_t)st.st_mtim.tv_nsec;
}

static void on_rows(void *ctx, const struct worker_rows *told)
{
	(void)ctx;
	(void)told;
}

static int on_name(void *ctx, size_t index, const struct worker_name *name)
{
	(void)ctx;
	assert_true(index < QUERIES_MAX && strlen(name->name) < PROTO_BYTES_MAX);
	return 0;
}

static int on_part(void *ctx, const struct debug_part *part)
{
	(void)ctx;
	(void)part;
	return any(2) ? open("tests/golden/inline-dwz.alt", O_RDONLY | O_CLOEXEC) : -1;
}

static void ask_rows(uint64_t id, int fd)
{
	assert_int_equal(row_queue_put(&rows, id, fd, any(2)), 0);
	for (uint64_t i = any(2) * any(100); i > 0; i--)
		assert_int_equal(row_queue_put_page(&rows, id, fd, any(4) ? 0 : written_ns(fd),
					 (uint32_t)(any(16) ? any(40) : any(1U << 20)), 0),
			0);
	for (int i = 0; i < 64 && row_queue_len(&rows) > 0; i++)
		row_queue_poll(&rows);
	row_queue_drop(&rows, id);
}

/* Mostly near one another, so that many are in one unit. */
static size_t make_queries(uint64_t *at, int fd)
{
	uint64_t bytes, first, far = any(2) ? 32 : UINT64_MAX;
	size_t len = any(4) ? 1 + any(20) : 1 + any(QUERIES_MAX);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	bytes = (uint64_t)st.st_size + 1;
	first = any(2) ? 0x1000 + any(0x100) : any(bytes);
	for (size_t i = 0; i < len; i++)
		at[i] = any(far) ? first + any(any(2) ? 16 : 256) : any(bytes);
	return len;
}

static void ask_names(uint64_t id, int fd)
{
	static uint64_t at[QUERIES_MAX];
	struct worker_object object = { .id = id, .fd = fd };
	struct worker_map map = {
		.id = id, .fd = fd, .dump_fd = any(2) ? fd : -1, .at_ns = any(9)
	};
	struct worker_query query = { .addresses = at,
		.len = make_queries(at, fd),
		.demangle = any(2),
		.until_ns = UINT64_MAX,
		.spare = any(8) == 0,
		.lines_until_ns = any(4) ? UINT64_MAX : 0,
		.open_part = on_part };
	struct worker_symbols symbols;
	struct worker_map_status status;

	for (uint64_t times = 1 + any(3); times > 0; times--)
		assert_int_equal(
			namer_names(&namer, &object, &query, on_name, NULL, &symbols), 0);
	assert_int_equal(namer_map_names(&namer, &map, &query, on_name, NULL, &status), 0);
}

static void ask_calls(uint64_t id, int fd)
{
	struct elf_call_query queries[64];
	struct elf_call calls[ARRAY_SIZE(queries)];
	const struct worker_calls asked = { .id = id,
		.fd = fd,
		.queries = queries,
		.len = 1 + any(ARRAY_SIZE(queries)),
		.until_ns = UINT64_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++)
		queries[i] = (struct elf_call_query){ any(ELF_CALL_KINDS), 0x1000 + any(0x1000),
			any(8) ? 0x1000 + any(0x1000) : ELF_CALL_OUTSIDE };
	namer_calls(&namer, &asked, calls);
}

/* ---- the tests ------------------------------------------------------------------------------ */

static void ask_all(uint64_t id)
{
	_cleanup_fd_ int fd = spoilt_file();

	jump_of = any(4) ? 1ULL << any(8) : UINT64_MAX;
	no_lines = any(8) == 0;
	namer_drop(&namer, id);
	namer_drop_map(&namer, id);
	for (uint64_t times = 1 + any(4); times > 0; times--) {
		if (any(4) == 0)
			begin_changes(fd);
		ask_rows(id, fd);
		ask_names(id, fd);
		if (any(4) == 0)
			ask_calls(id, fd);
		end_changes();
	}
}

static int setup(void **state)
{
	const char *seed_text = getenv("HONEST_SEED");

	(void)state;
	seed = (seed_text ? strtoull(seed_text, NULL, 10) : 1) * 0x9e3779b97f4a7c15ULL | 1;
	blame = (struct blame){ 0 };
	rows = (struct row_queue){ .blame = &blame, .fn = on_rows };
	namer = (struct namer){ .blame = &blame };
	no_lines = false;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	row_queue_done(&rows);
	namer_done(&namer);
	blame_done(&blame);
	for (size_t i = 0; i < ARRAY_SIZE(workers); i++)
		service_done(&workers[i].service);
	return 0;
}

static void honest_replies_about_spoilt_files_are_taken(void **state)
{
	const char *text = getenv("HONEST");
	uint64_t rounds = text ? strtoull(text, NULL, 10) : ROUNDS_SHORT;
	pthread_t thread;

	(void)state;
	/* Not before: cmocka has a handler of its own around each test. */
	assert_int_equal(mapping_catch_faults(), 0);
	changer.seed ^= seed;
	changer.bytes = 1;
	assert_int_equal(pthread_create(&thread, NULL, change, &changer), 0);
	for (uint64_t i = 0; i < rounds; i++)
		ask_all(1 + any(1000));
	atomic_store(&changer.ended, true);
	pthread_join(thread, NULL);
	snprintf(result, sizeof(result), "%llu replies about %llu files, %llu names without lines",
		(unsigned long long)replies, (unsigned long long)rounds,
		(unsigned long long)namer.lines_given_up);
	print_message("%s\n", result);
}

/* The name that no longer fits a reply is not counted in it. */
static void names_without_lines_may_be_more_than_fit_a_reply(void **state)
{
	static uint64_t at[PROTO_QUERIES_MAX];
	_cleanup_fd_ int fd = open("tests/golden/inline-5.so", O_RDONLY | O_CLOEXEC);
	struct worker_object object = { .id = 1, .fd = fd };
	const struct worker_query query = { .addresses = at,
		.len = ARRAY_SIZE(at),
		.demangle = true,
		.until_ns = UINT64_MAX,
		.lines_until_ns = UINT64_MAX };
	struct worker_symbols symbols;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		at[i] = 0x1041;
	no_lines = true;
	jump_of = UINT64_MAX;
	assert_int_equal(namer_names(&namer, &object, &query, on_name, NULL, &symbols), 0);
	assert_int_equal(symbols.status, WORKER_OK);
	assert_int_equal(namer.lines_given_up, ARRAY_SIZE(at));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(honest_replies_about_spoilt_files_are_taken),
		TEST(names_without_lines_may_be_more_than_fit_a_reply),
	};

	state_reader_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
