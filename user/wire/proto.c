/* SPDX-License-Identifier: Apache-2.0 */
/* wire/proto.c - builds, sends, receives and checks messages. One table has the limits of queries
 * and descriptors of each kind; a message within them and of its stated size is valid, and its
 * readers need no further checks. Others interpret messages. */
#include "wire/proto.h"
#include "wire/codes.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/own.h"
#include "language/java_reply.h"
#include "sym/elf_sym.h"
#include "unwind/rows.h"
#include "wire/name.h"

struct shape {
	uint32_t queries_max;
	uint32_t fds_min, fds_max;
	uint32_t body_bytes; /* of the reply; 0: names or nothing */
	bool names;
	uint32_t group; /* of queries: body_bytes for each group of so many; 0: once */
};

static const struct shape shapes[PROTO_KINDS] = {
	[PROTO_HELLO] = { .body_bytes = sizeof(struct proto_hello) },
	[PROTO_ROWS] = { .queries_max = PROTO_PAGES_MAX,
		.fds_min = 2,
		.fds_max = 2,
		.body_bytes = sizeof(struct proto_rows) },
	[PROTO_LOAD] = { .queries_max = PROTO_QUERIES_MAX,
		.fds_min = 1,
		.fds_max = PROTO_FDS_MAX,
		.body_bytes = sizeof(struct proto_symbols) },
	[PROTO_NAMES] = { .queries_max = PROTO_QUERIES_MAX, .names = true },
	[PROTO_WANTED] = { .body_bytes = sizeof(struct proto_wanted) },
	[PROTO_GIVE] = { .fds_max = 1 },
	[PROTO_MAP_FEED] = { .fds_min = 1, .fds_max = 1, .body_bytes = sizeof(struct proto_map) },
	[PROTO_MAP_NAMES] = { .queries_max = PROTO_QUERIES_MAX, .names = true },
	[PROTO_DROP] = { .queries_max = PROTO_QUERIES_MAX },
	[PROTO_STATE] = { .queries_max = PROTO_STATE_QUERIES,
		.fds_min = 1,
		.fds_max = 1,
		.body_bytes = sizeof(struct proto_state) },
	[PROTO_MAPPINGS] = { .fds_min = 1,
		.fds_max = 2,
		.body_bytes = sizeof(struct proto_mappings) },
	[PROTO_CALLS] = { .queries_max = PROTO_CALLS_MAX * PROTO_CALL_QUERIES,
		.fds_min = 1,
		.fds_max = 1,
		.body_bytes = sizeof(struct elf_call),
		.group = PROTO_CALL_QUERIES },
	[PROTO_CODES] = { .queries_max = PROTO_QUERIES_MAX, .names = true },
	[PROTO_METHODS] = { .fds_min = 2,
		.fds_max = 2,
		.body_bytes = sizeof(struct proto_methods) },
	[PROTO_LANGUAGE] = { .fds_min = 1,
		.fds_max = 1,
		.body_bytes = sizeof(struct proto_language) },
};

_Static_assert(sizeof(struct proto_rows) % 8 == 0 && sizeof(struct proto_symbols) % 8 == 0 &&
		sizeof(struct proto_map) % 8 == 0 && sizeof(struct proto_wanted) % 8 == 0 &&
		sizeof(struct proto_reply) % 8 == 0 && sizeof(struct proto_state) % 8 == 0 &&
		sizeof(struct proto_mappings) % 8 == 0 && sizeof(struct proto_methods) % 8 == 0 &&
		sizeof(struct state_query) % 8 == 0 && sizeof(struct proto_language) % 8 == 0,
	"no padding that is not named, and bodies lie aligned");
_Static_assert(
	sizeof(struct proto_request) + PROTO_QUERIES_MAX * sizeof(uint64_t) <= PROTO_BYTES_MAX,
	"the largest request fits");

const char *worker_status_text(enum worker_status status)
{
#define STATUS_TEXT(id, text) [id] = (text),
	static const char *const texts[] = { WORKER_STATUS_LIST(STATUS_TEXT) };
#undef STATUS_TEXT

	return (unsigned int)status < WORKER_STATUSES ? texts[status] : "?";
}

void proto_begin_request(struct proto_message *m, enum proto_kind kind, uint64_t id)
{
	m->request = (struct proto_request){
		.head = { .kind = kind, .size = sizeof(m->request) },
		.id = id,
	};
	m->fds_len = 0;
}

void proto_begin_reply(
	struct proto_message *m, const struct proto_head *to, enum worker_status status)
{
	m->reply = (struct proto_reply){
		.head = { .kind = to->kind, .seq = to->seq, .size = sizeof(m->reply) },
		.status = status,
	};
	m->fds_len = 0;
}

bool proto_put(struct proto_message *m, const void *data, size_t size)
{
	if (size > PROTO_BYTES_MAX - m->head.size)
		return false;
	memcpy((char *)m->bytes + m->head.size, data, size);
	m->head.size += (uint32_t)size;
	return true;
}

bool proto_put_answer(struct proto_message *m, const struct proto_answer *answer)
{
	uint32_t size = m->head.size;
	const char *path = answer->path ? answer->path : "";

	if (proto_put(m, &answer->index, sizeof(answer->index)) &&
		proto_put(m, &answer->start, sizeof(answer->start)) &&
		proto_put(m, &answer->line, sizeof(answer->line)) &&
		proto_put(m, &answer->source, sizeof(answer->source)) &&
		proto_put(m, &answer->inlined, sizeof(answer->inlined)) &&
		proto_put(m, answer->name, strlen(answer->name) + 1) &&
		proto_put(m, path, strlen(path) + 1))
		return true;
	m->head.size = size;
	return false;
}

int proto_send(int fd, int flags, const struct proto_message *m)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(m->fds))];
	} control = { 0 };
	struct iovec part = { (void *)m->bytes, m->head.size };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t len;

	if (m->fds_len > 0) {
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(m->fds_len * sizeof(int));
		memcpy(CMSG_DATA(&control.head), m->fds, m->fds_len * sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(m->fds_len * sizeof(int));
	}
	do
		len = sendmsg(fd, &msg, flags | MSG_NOSIGNAL);
	while (len < 0 && errno == EINTR);
	return len < 0 ? -errno : 0;
}

void proto_close_fds(struct proto_message *m)
{
	for (size_t i = 0; i < m->fds_len; i++)
		fd_close(&m->fds[i]);
	m->fds_len = 0;
}

/* The kernel never gives more than there is room for in `control`, which is for PROTO_FDS_MAX. */
static void take_fds(struct msghdr *msg, struct proto_message *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return;
	m->fds_len = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(m->fds, CMSG_DATA(c), m->fds_len * sizeof(int));
}

static int receive(int fd, int flags, bool takes_fds, struct proto_message *m)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(m->fds))];
	} control;
	struct iovec part = { m->bytes, PROTO_BYTES_MAX };
	struct msghdr msg = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = takes_fds ? &control : NULL,
		/* Not CMSG_SPACE: its padding has room for one descriptor more. */
		.msg_controllen = takes_fds ? CMSG_LEN(sizeof(m->fds)) : 0,
	};
	ssize_t len;

	proto_close_fds(m);
	do
		len = recvmsg(fd, &msg, flags | MSG_CMSG_CLOEXEC);
	while (len < 0 && errno == EINTR);
	if (len < 0)
		return -errno;
	take_fds(&msg, m);
	if (len == 0)
		return -ECONNRESET;
	if ((msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || (size_t)len < sizeof(m->head) ||
		m->head.size != (size_t)len)
		return -EBADMSG;
	return 0;
}

int proto_receive(int fd, int flags, struct proto_message *m)
{
	return receive(fd, flags, true, m);
}

int proto_receive_reply(int fd, int flags, struct proto_message *m)
{
	return receive(fd, flags, false, m);
}

/* Numbers of pages, which rise. */
static bool rows_request_valid(const struct proto_message *m)
{
	for (uint32_t i = 0; i < m->request.queries_len; i++)
		if (proto_query(m, i) > UNWIND_ROWS_PAGE_MAX ||
			(i > 0 && proto_query(m, i) <= proto_query(m, i - 1)))
			return false;
	return true;
}

static bool state_request_valid(const struct proto_message *m)
{
	return m->request.queries_len == PROTO_STATE_QUERIES &&
		state_query_valid(proto_state_query(m));
}

static bool calls_request_valid(const struct proto_message *m)
{
	if (m->request.queries_len % PROTO_CALL_QUERIES != 0)
		return false;
	for (uint32_t i = 0; i < m->request.queries_len; i += PROTO_CALL_QUERIES)
		if (proto_query(m, i) >= ELF_CALL_KINDS)
			return false;
	return true;
}

bool proto_request_valid(const struct proto_message *m)
{
	const struct proto_request *r = &m->request;
	const struct shape *shape;

	if (r->head.size < sizeof(*r) || r->head.kind == PROTO_HELLO || r->head.kind >= PROTO_KINDS)
		return false;
	shape = &shapes[r->head.kind];
	return r->queries_len <= shape->queries_max &&
		r->head.size == sizeof(*r) + r->queries_len * sizeof(uint64_t) &&
		m->fds_len >= shape->fds_min && m->fds_len <= shape->fds_max &&
		(r->flags &
			~(PROTO_DEMANGLE | PROTO_LINES | PROTO_DUMP | PROTO_WHOLE | PROTO_SPARE)) ==
		0 &&
		(r->head.kind != PROTO_ROWS || rows_request_valid(m)) &&
		(r->head.kind != PROTO_MAPPINGS ||
			(m->fds_len == 2) == ((r->flags & PROTO_WHOLE) != 0)) &&
		(r->head.kind != PROTO_STATE || state_request_valid(m)) &&
		(r->head.kind != PROTO_CALLS || calls_request_valid(m)) &&
		(r->head.kind != PROTO_CODES || proto_codes_valid(m));
}

/* The agent makes paths with it. */
static bool is_file_name(const char *name)
{
	return !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static const char *rows_fault(const struct proto_message *m)
{
	const struct proto_rows *rows = proto_body(m);

	/* A file that is of no use has no rows either, for the same reason. */
	if (rows->rows_status >= WORKER_STATUSES_SENT ||
		(m->reply.status != WORKER_OK && rows->rows_status != m->reply.status))
		return "rows with a wrong status";
	if (rows->build_id_len > sizeof(rows->build_id))
		return "rows with a build ID that is too long";
	if (!memchr(rows->debuglink, '\0', sizeof(rows->debuglink)) ||
		!is_file_name(rows->debuglink))
		return "rows with a debug link that is no file name";
	if ((rows->rows_bytes > 0) != (rows->rows_status == WORKER_OK))
		return "rows without their table, or a table without rows";
	return NULL;
}

static const char *symbols_fault(const struct proto_message *m)
{
	const struct proto_symbols *symbols = proto_body(m);

	for (size_t i = 0; i < sizeof(symbols->debug); i++)
		if (symbols->debug[i] >= WORKER_DEBUGS)
			return "symbols with an unknown state of a debug file";
	return NULL;
}

static const char *wanted_fault(const struct proto_message *m)
{
	const struct proto_wanted *wanted = proto_body(m);
	bool valid = wanted->kind < DEBUG_PART_KINDS &&
		wanted->build_id_len <= BUILD_ID_BYTES_MAX &&
		memchr(wanted->dir, '\0', sizeof(wanted->dir)) &&
		memchr(wanted->name, '\0', sizeof(wanted->name));

	return valid ? NULL : "a malformed wish for a file";
}

static const char *state_fault(const struct proto_message *m)
{
	const struct proto_state *state = proto_body(m);

	return state_facts_valid(&state->facts) ? NULL : "malformed facts of a container";
}

static const char *mappings_fault(const struct proto_message *m, const struct proto_request *to)
{
	const struct proto_mappings *mappings = proto_body(m);
	bool valid = mappings_facts_valid(&mappings->facts) &&
		mappings->list_bytes <= MAPPINGS_LIST_BYTES_MAX &&
		(mappings->list_bytes == 0 || (to->flags & PROTO_WHOLE));

	return valid ? NULL : "malformed mappings of a process";
}

static const char *language_fault(const struct proto_message *m)
{
	const struct proto_language *language = proto_body(m);
	const struct cpython_table *table = &language->table;

	if (table->fault >= CPYTHON_TABLE_FAULTS_LEN ||
		(m->reply.status == WORKER_OK && table->fault == CPYTHON_TABLE_OK &&
			cpython_table_check(table) != CPYTHON_TABLE_OK))
		return "a malformed table of a language runtime";
	return NULL;
}

static const char *methods_fault(const struct proto_message *m)
{
	const struct proto_methods *methods = proto_body(m);

	return methods->bytes <= JAVA_REPLY_BYTES_MAX ? NULL : "too large tables of methods";
}

static const char *calls_fault(const struct proto_message *m, uint32_t len)
{
	const struct elf_call *calls = proto_body(m);

	for (uint32_t i = 0; i < len; i++)
		if (calls[i].verdict >= ELF_CALL_VERDICTS)
			return "an unknown verdict on a call";
	return NULL;
}

/* The reader has tables by source. */
static bool is_source(uint32_t kind, uint8_t source)
{
	if (kind == PROTO_CODES)
		return source == 0;
	return kind == PROTO_NAMES ? source >= ELF_SYM_SYMTAB && source <= ELF_SYM_R2R
				   : source < WORKER_MAP_SOURCES;
}

/* The agent opens the wanted files for the worker, so a worker may want some only where a request
 * allows it. */
static bool wants_valid(const struct proto_message *m, const struct proto_request *to)
{
	bool may_want = to->head.kind == PROTO_NAMES && (to->flags & PROTO_LINES);

	return m->reply.wants <= may_want;
}

static const char *answers_fault(const struct proto_message *m)
{
	struct cursor c = proto_answers(m);
	struct proto_answer answer;
	uint32_t next = 0;
	bool inlined = false;

	while (proto_next_answer(&c, &answer)) {
		if (answer.index < next || answer.index >= m->reply.answered ||
			(inlined && answer.index != next))
			return "names in a wrong order";
		if (!is_source(m->head.kind, answer.source) || answer.inlined > 1)
			return "a name of an unknown kind";
		inlined = answer.inlined;
		next = answer.index + !inlined;
	}
	return c.bad || inlined ? "names that end too early" : NULL;
}

static const char *names_fault(const struct proto_message *m, const struct proto_request *to)
{
	const struct proto_reply *r = &m->reply;

	if (!wants_valid(m, to))
		return "a wish for a file that is not allowed";
	if (r->answered > to->queries_len)
		return "more names than requested";
	if (r->lines_given_up > r->answered)
		return "more names without lines than names";
	/* A reply without an answer would be asked for again for ever. */
	if (r->status == WORKER_OK && r->answered == 0 && to->queries_len > 0 && r->wants == 0)
		return "names that answer nothing";
	return answers_fault(m);
}

static const char *body_fault(
	const struct proto_message *m, const struct proto_request *to, uint32_t bodies)
{
	switch (m->head.kind) {
	case PROTO_CALLS:
		return calls_fault(m, bodies);
	case PROTO_ROWS:
		return rows_fault(m);
	case PROTO_WANTED:
		return wanted_fault(m);
	case PROTO_MAPPINGS:
		return mappings_fault(m, to);
	case PROTO_METHODS:
		return methods_fault(m);
	case PROTO_LANGUAGE:
		return language_fault(m);
	case PROTO_STATE:
		return state_fault(m);
	case PROTO_LOAD:
		return symbols_fault(m);
	default:
		return NULL;
	}
}

const char *proto_reply_fault(const struct proto_message *m, const struct proto_request *to)
{
	const struct proto_reply *r = &m->reply;
	const struct shape *shape;
	uint32_t bodies;

	if (r->head.size < sizeof(*r) || r->head.kind != to->head.kind ||
		r->head.seq != to->head.seq || r->head.kind >= PROTO_KINDS)
		return "the reply to another request";
	if (r->status >= WORKER_STATUSES_SENT)
		return "an unknown status";
	shape = &shapes[r->head.kind];
	if (m->fds_len > 0)
		return "a reply with a descriptor";
	if (shape->names)
		return names_fault(m, to);
	bodies = shape->group ? to->queries_len / shape->group : 1;
	if (r->head.size != sizeof(*r) + bodies * shape->body_bytes)
		return "a reply of another size";
	return body_fault(m, to, bodies);
}

const uint64_t *proto_queries(const struct proto_message *m)
{
	return &m->bytes[sizeof(m->request) / sizeof(uint64_t)];
}

bool proto_put_state(struct proto_message *m, const struct state_query *query)
{
	m->request.queries_len = PROTO_STATE_QUERIES;
	return proto_put(m, query, sizeof(*query));
}

const struct state_query *proto_state_query(const struct proto_message *m)
{
	return (const struct state_query *)proto_queries(m);
}

uint64_t proto_query(const struct proto_message *m, uint32_t i)
{
	return proto_queries(m)[i];
}

const void *proto_body(const struct proto_message *m)
{
	return &m->bytes[sizeof(m->reply) / sizeof(uint64_t)];
}

struct cursor proto_answers(const struct proto_message *m)
{
	return cursor_init(proto_body(m), m->head.size - sizeof(m->reply));
}

bool proto_next_answer(struct cursor *c, struct proto_answer *out)
{
	if (cursor_left(c) == 0)
		return false;
	out->index = cursor_u32(c);
	out->start = cursor_u64(c);
	out->line = cursor_u32(c);
	out->source = cursor_u8(c);
	out->inlined = cursor_u8(c);
	out->name = cursor_str(c);
	out->path = cursor_str(c);
	return !c->bad;
}
