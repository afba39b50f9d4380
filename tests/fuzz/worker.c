/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c - the whole worker, but for its sandbox: requests of all kinds, one after the other,
 * about files that are as they come. Each reply must be one that the agent takes. Input: a byte,
 * the number of requests; each as 4 bytes: its kind, flags, id and files, what is asked for; 4
 * bytes: where the second file begins; the files, one behind the other. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/fd.h"
#include "fuzz.h"
#include "service_done.h"
#include "unwind/rows.h"
#include "worker/mapping.h"
#include "worker/service.h"
#include "wire/codes.h"

#define REQUESTS_MAX 12
#define QUERIES 24
#define FILES 2

static int file_of(struct bytes bytes)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	must(fd >= 0 && (bytes.len == 0 || fd_write_all(fd, bytes.data, bytes.len) == 0));
	return fd;
}

/* Some addresses, of which a few are likely to be in the file. */
static void put_queries(struct proto_message *m, uint8_t seed, size_t size)
{
	for (uint64_t i = 0; i < QUERIES; i++) {
		uint64_t at = i * (size / QUERIES) + seed;

		if (seed & 0x80)
			at = 0x10000000 + (i * seed << (seed & 3));
		must(proto_put(m, &at, sizeof(at)));
		m->request.queries_len++;
	}
}

static void put_calls(struct proto_message *m, uint8_t seed, size_t size)
{
	for (uint64_t i = 0; i < QUERIES; i++) {
		const struct elf_call_query query = {
			.kind = (i + seed) % ELF_CALL_KINDS,
			.from = i * (size / QUERIES) + seed,
			.to = i % 4 ? size / (i + 1) : UINT64_MAX - (seed & 1),
		};

		must(proto_put(m, &query, sizeof(query)));
		m->request.queries_len += PROTO_CALL_QUERIES;
	}
}

static bool has_memory(const struct proto_message *m)
{
	return m->head.kind == PROTO_ROWS || m->head.kind == PROTO_METHODS ||
		(m->head.kind == PROTO_MAPPINGS && (m->request.flags & PROTO_WHOLE));
}

static void put_fd(struct proto_message *m, int fd)
{
	m->fds[m->fds_len] = dup(fd);
	must(m->fds[m->fds_len++] >= 0);
}

/* 0 or 1 is the first or the second file, 2 both, 3 none. */
static void put_fds(struct proto_message *m, const int *fds, unsigned int which)
{
	if (which != 3)
		put_fd(m, fds[which == 1]);
	if (which == 2)
		put_fd(m, fds[1]);
}

static void read_rows(const struct proto_message *m, int memory)
{
	const struct proto_rows *rows = proto_body(m);
	struct unwind_rows_view view;
	void *bytes;

	if (rows->rows_bytes == 0)
		return;
	bytes = mmap(NULL, rows->rows_bytes, PROT_READ, MAP_PRIVATE, memory, 0);
	must(bytes != MAP_FAILED);
	must(unwind_rows_view(bytes, rows->rows_bytes, &view) == 0);
	munmap(bytes, rows->rows_bytes);
}

static void read_names(const struct proto_message *m)
{
	struct cursor c = proto_answers(m);
	struct proto_answer answer;

	while (proto_next_answer(&c, &answer)) {
		touch_text(answer.name);
		touch_text(answer.path);
	}
}

/* Some of the script is the code. */
static void put_code(struct proto_message *m, struct cursor *script, uint8_t seed)
{
	struct event_code code = { .language = LANGUAGE_CPYTHON };
	const uint64_t places[] = { seed, seed * 7, FRAME_PLACE_MASK };
	struct bytes all = cursor_bytes(
		script, cursor_left(script) < sizeof(code) ? cursor_left(script) : sizeof(code));

	if (all.len > 0)
		memcpy(&code, all.data, all.len);
	code.language = LANGUAGE_CPYTHON;
	code.name_width = 1U << (code.name_width % 3);
	code.file_width = 1U << (code.file_width % 3);
	code.name_bytes %= CODE_NAME_BYTES + 1;
	code.file_bytes %= CODE_FILE_BYTES + 1;
	code.lines_bytes %= CODE_LINES_BYTES + 1;
	proto_put_code(m, &code, places, ARRAY_SIZE(places));
}

static void ask(struct service *s, struct cursor *script, const int *fds, size_t size)
{
	_cleanup_fd_ int memory = file_of((struct bytes){ 0 });
	uint8_t kind = cursor_u8(script), flags = cursor_u8(script), which = cursor_u8(script);
	uint8_t seed = cursor_u8(script);

	proto_close_fds(&s->in);
	proto_begin_request(&s->in, kind % PROTO_KINDS, which & 3);
	s->in.request.flags = flags & (PROTO_DEMANGLE | PROTO_LINES | PROTO_DUMP | PROTO_WHOLE);
	s->in.request.at_ns = flags & 8 ? seed : UINT64_MAX;
	if (s->in.head.kind == PROTO_NAMES || s->in.head.kind == PROTO_MAP_NAMES ||
		(s->in.head.kind == PROTO_LOAD && seed))
		put_queries(&s->in, seed, size);
	if (s->in.head.kind == PROTO_CALLS)
		put_calls(&s->in, seed, size);
	if (s->in.head.kind == PROTO_CODES)
		put_code(&s->in, script, seed);
	if (s->in.head.kind != PROTO_NAMES && s->in.head.kind != PROTO_MAP_NAMES)
		put_fds(&s->in, fds, which >> 2 & 3);
	if (has_memory(&s->in))
		put_fd(&s->in, memory);
	if (s->in.head.kind == PROTO_STATE) {
		const struct state_query query = {
			.kind = seed, .runtime = seed >> 4, .container = "c1", .pod_uid = "p1"
		};

		must(proto_put_state(&s->in, &query));
	}
	if (!proto_request_valid(&s->in))
		return;
	service_answer(s);
	must(proto_reply_valid(&s->out, &s->in.request));
	if (s->out.head.kind == PROTO_ROWS && s->out.reply.status == WORKER_OK)
		read_rows(&s->out, memory);
	if (s->out.head.kind == PROTO_NAMES || s->out.head.kind == PROTO_MAP_NAMES)
		read_names(&s->out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct service service;
	struct cursor c = cursor_init(data, size), script;
	uint8_t requests = cursor_u8(&c) % (REQUESTS_MAX + 1);
	size_t first;
	int fds[FILES];

	script = cursor_sub(&c, 4UL * requests);
	first = cursor_u32(&c);
	if (c.bad)
		return 0;
	must(mapping_catch_faults() == 0);
	if (first > cursor_left(&c))
		first = cursor_left(&c);
	fds[0] = file_of(cursor_bytes(&c, first));
	fds[1] = file_of(cursor_bytes(&c, cursor_left(&c)));
	for (uint8_t i = 0; i < requests; i++)
		ask(&service, &script, fds, size);
	service_done(&service);
	for (size_t i = 0; i < FILES; i++)
		fd_close(&fds[i]);
	return 0;
}
