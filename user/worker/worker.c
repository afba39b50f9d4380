/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker.c - shut in, then one request after the other until the client goes away.
 * Each request has one line in a table. A request of the wrong shape ends the worker: the client
 * makes none, so something is very wrong. */
#include "worker/worker.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "sym/demangle.h"
#include "worker/compile.h"
#include "worker/kept.h"
#include "worker/map_reader.h"
#include "worker/mapping.h"
#include "worker/proto.h"
#include "worker/sandbox.h"
#include "worker/symbols.h"

#define LINES_NS (500 * NSEC_PER_MSEC) /* what lines may take in one request, about */

/* Tables come and go. Said once, malloc keeps to it: each larger block is given back to the kernel
 * when it is freed. Else the bound rises with what was freed, and the heap keeps the memory. */
#define LARGE_BLOCK_BYTES (128 << 10)

struct worker {
	int fd;
	struct kept kept;
	struct proto_message in, out;
	int rows_fd; /* goes along with the reply */
};

static enum worker_status do_rows(struct worker *w)
{
	struct proto_rows rows = { 0 };
	enum worker_status status = compile_rows(w->in.fds[0], &rows, &w->rows_fd);

	if (w->rows_fd >= 0) {
		w->out.fds[0] = w->rows_fd;
		w->out.fds_len = 1;
	}
	proto_put(&w->out, &rows, sizeof(rows));
	return status;
}

static enum worker_status do_load(struct worker *w)
{
	struct proto_symbols symbols = { 0 };
	struct symbols *made = NULL;
	enum worker_status status = compile_symbols(w->in.fds[0], &w->in.fds[1], w->in.fds_len - 1,
		w->in.request.flags & PROTO_LINES, &symbols, &made);

	if (status == WORKER_OK &&
		kept_put(&w->kept, KEPT_SYMBOLS, w->in.request.id, made, symbols.bytes) < 0)
		status = WORKER_MEMORY;
	kept_trim(&w->kept, WORKER_KEPT_BYTES_MAX);
	proto_put(&w->out, &symbols, sizeof(symbols));
	return status;
}

static bool put_name(struct worker *w, struct proto_answer *answer, const char *name)
{
	_cleanup_(freep) char *clear = NULL;

	if (w->in.request.flags & PROTO_DEMANGLE)
		clear = demangle(name);
	answer->name = clear ? clear : name;
	return proto_put_answer(&w->out, answer);
}

/* The inlined frames, then the symbol's own name: that is what the function is called without
 * lines, too. A frame that has no name is left out. All of them or none. */
static bool put_frames(struct worker *w, const struct proto_answer *symbol, const char *name,
	const struct inlined_frames *frames)
{
	uint32_t size = w->out.head.size;
	struct proto_answer answer = *symbol;

	for (size_t i = 0; i < frames->len; i++) {
		const struct inlined_frame *frame = &frames->all[i];

		answer.inlined = i + 1 < frames->len;
		answer.path = frame->path;
		answer.line = frame->line;
		if (answer.inlined && frame->name[0] == '\0')
			continue;
		if (!put_name(w, &answer, answer.inlined ? frame->name : name)) {
			w->out.head.size = size;
			return false;
		}
	}
	return true;
}

/* False: the reply is full, it is time to send it, or a file is wanted; else the first answer is
 * always put. */
static bool put_symbol(struct worker *w, uint32_t i, struct symbols *symbols)
{
	struct proto_answer answer = { .index = i };
	struct inlined_frames frames;
	enum inlined_result result = INLINED_NONE;
	uint64_t offset = proto_query(&w->in, i);
	struct elf_name name;

	if (!symbols_find(symbols, offset, &name))
		return true;
	answer.start = name.start;
	answer.source = (uint8_t)name.source;
	if (w->in.request.flags & PROTO_LINES)
		result = symbols_lines(symbols, offset, &frames);
	if (result == INLINED_WANTS) {
		w->out.reply.wants = 1;
		return false;
	}
	if (result == INLINED_GIVEN_UP && i > 0 && clock_ns(CLOCK_MONOTONIC) >= symbols->until_ns)
		return false;
	if (result == INLINED_FOUND && put_frames(w, &answer, name.name, &frames))
		return true;
	if (result == INLINED_FOUND && w->out.head.size > sizeof(w->out.reply))
		return false;
	w->out.reply.lines_given_up += result == INLINED_GIVEN_UP;
	return put_name(w, &answer, name.name);
}

static enum worker_status do_names(struct worker *w)
{
	struct kept_entry *entry = kept_find(&w->kept, KEPT_SYMBOLS, w->in.request.id);
	struct symbols *symbols;
	uint32_t i = 0;

	if (!entry)
		return WORKER_UNKNOWN;
	symbols = entry->what;
	symbols->until_ns = clock_ns(CLOCK_MONOTONIC) + LINES_NS;
	while (i < w->in.request.queries_len && put_symbol(w, i, symbols))
		i++;
	w->out.reply.answered = i;
	if (symbols->files) {
		symbols_rest(symbols);
		kept_resize(&w->kept, entry, symbols_memory(symbols));
		kept_trim(&w->kept, WORKER_KEPT_BYTES_MAX);
	}
	return WORKER_OK;
}

static enum worker_status do_wanted(struct worker *w)
{
	struct kept_entry *entry = kept_find(&w->kept, KEPT_SYMBOLS, w->in.request.id);
	struct proto_wanted wanted = { 0 };

	if (entry) {
		const struct debug_part *part = symbols_wanted(entry->what);

		wanted.kind = part->kind;
		wanted.build_id_len = (uint32_t)part->build_id.len;
		memcpy(wanted.build_id, part->build_id.bytes, part->build_id.len);
		memcpy(wanted.dir, part->dir, sizeof(wanted.dir));
		memcpy(wanted.name, part->name, sizeof(wanted.name));
	}
	proto_put(&w->out, &wanted, sizeof(wanted));
	return entry ? WORKER_OK : WORKER_UNKNOWN;
}

static enum worker_status do_give(struct worker *w)
{
	struct kept_entry *entry = kept_find(&w->kept, KEPT_SYMBOLS, w->in.request.id);
	struct symbols *symbols;

	if (!entry)
		return WORKER_UNKNOWN;
	symbols = entry->what;
	symbols->until_ns = clock_ns(CLOCK_MONOTONIC) + LINES_NS;
	symbols_give(symbols, w->in.fds_len > 0 ? w->in.fds[0] : -1);
	return WORKER_OK;
}

static enum worker_status do_object_drop(struct worker *w)
{
	kept_drop(&w->kept, KEPT_SYMBOLS, w->in.request.id);
	return WORKER_OK;
}

static enum worker_status find_map(struct worker *w, struct kept_entry **out)
{
	uint64_t id = w->in.request.id;
	struct kept_entry *entry = kept_find(&w->kept, KEPT_MAP, id);
	struct map_reader *reader;

	if (!entry) {
		if (map_reader_new(&reader) < 0 || kept_put(&w->kept, KEPT_MAP, id, reader, 0) < 0)
			return WORKER_MEMORY;
		entry = kept_find(&w->kept, KEPT_MAP, id);
	}
	*out = entry;
	return WORKER_OK;
}

static enum worker_status feed(struct worker *w, struct proto_map *out)
{
	struct kept_entry *entry;
	struct map_reader *reader;
	enum worker_status status = find_map(w, &entry);
	bool more;

	if (status != WORKER_OK)
		return status;
	reader = entry->what;
	if (w->in.request.flags & PROTO_DUMP)
		status = map_reader_feed_dump(reader, w->in.fds[0], &more);
	else
		status = map_reader_feed(reader, w->in.fds[0], &more);
	out->more = more;
	kept_resize(&w->kept, entry, map_reader_memory(reader));
	kept_trim(&w->kept, WORKER_KEPT_BYTES_MAX);
	return status;
}

static enum worker_status do_map_feed(struct worker *w)
{
	struct proto_map map = { 0 };
	enum worker_status status = feed(w, &map);

	proto_put(&w->out, &map, sizeof(map));
	return status;
}

/* False: the reply is full. */
static bool put_code(struct worker *w, uint32_t i, struct map_reader *reader)
{
	const struct proto_request *r = &w->in.request;
	struct proto_answer answer = { .index = i };
	struct worker_name name;

	if (!map_reader_find(reader, proto_query(&w->in, i), r->at_ns, &name))
		return true;
	answer.name = name.name;
	answer.source = name.source;
	if (r->flags & PROTO_LINES) {
		answer.path = name.path;
		answer.line = name.line;
	}
	return proto_put_answer(&w->out, &answer);
}

static enum worker_status do_map_names(struct worker *w)
{
	struct kept_entry *entry = kept_find(&w->kept, KEPT_MAP, w->in.request.id);
	uint32_t i = 0;

	if (!entry)
		return WORKER_UNKNOWN;
	while (i < w->in.request.queries_len && put_code(w, i, entry->what))
		i++;
	w->out.reply.answered = i;
	return WORKER_OK;
}

static enum worker_status do_map_drop(struct worker *w)
{
	kept_drop(&w->kept, KEPT_MAP, w->in.request.id);
	return WORKER_OK;
}

/* Each puts the reply's body and returns its status. */
static enum worker_status (*const handlers[PROTO_KINDS])(struct worker *w) = {
	[PROTO_ROWS] = do_rows,
	[PROTO_LOAD] = do_load,
	[PROTO_NAMES] = do_names,
	[PROTO_WANTED] = do_wanted,
	[PROTO_GIVE] = do_give,
	[PROTO_OBJECT_DROP] = do_object_drop,
	[PROTO_MAP_FEED] = do_map_feed,
	[PROTO_MAP_NAMES] = do_map_names,
	[PROTO_MAP_DROP] = do_map_drop,
};

static int answer(struct worker *w)
{
	int err;

	proto_begin_reply(&w->out, &w->in.head, WORKER_OK);
	w->out.reply.status = handlers[w->in.head.kind](w);
	w->out.reply.kept_bytes = w->kept.bytes;
	w->out.reply.kept_len = w->kept.all.len;
	w->out.reply.evicted_len = w->kept.evicted_len;
	err = proto_send(w->fd, &w->out);
	fd_close(&w->rows_fd);
	return err;
}

static enum worker_exit serve(struct worker *w)
{
	for (;;) {
		int err = proto_receive(w->fd, 0, &w->in);

		if (err == -ECONNRESET)
			return WORKER_EXIT_END;
		if (err < 0 || !proto_request_valid(&w->in))
			return WORKER_EXIT_PROTOCOL;
		if (answer(w) < 0)
			return WORKER_EXIT_END;
	}
}

static bool is_client(int fd)
{
	int domain = 0, type = 0;
	socklen_t size = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
		getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

/* A signal from a terminal or a service manager is for the client: it still wants names for its
 * last profile. The mask is inherited from the moment of the start. */
static void ignore_signals(void)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1,
		SIGUSR2 };
	sigset_t none;

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int say_hello(struct worker *w, uint32_t sandbox)
{
	struct proto_head to = { .kind = PROTO_HELLO };
	struct proto_hello hello = { .sandbox = sandbox };

	proto_begin_reply(&w->out, &to, WORKER_OK);
	proto_put(&w->out, &hello, sizeof(hello));
	return proto_send(w->fd, &w->out);
}

int worker_main(int socket_fd)
{
	_cleanup_(freep) struct worker *w = NULL;
	uint32_t sandbox;

	ignore_signals();
	if (!is_client(socket_fd))
		return WORKER_EXIT_SOCKET;
	prctl(PR_SET_NAME, "stoker-worker");
	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
	w = calloc(1, sizeof(*w));
	if (!w)
		return WORKER_EXIT_MEMORY;
	w->fd = socket_fd;
	w->rows_fd = -1;
	if (mapping_catch_faults() < 0 || sandbox_enter(&sandbox) < 0)
		return WORKER_EXIT_SANDBOX;
	if (say_hello(w, sandbox) < 0)
		return WORKER_EXIT_END;
	/* The kernel frees faster than we can: nothing of w outlives the process. */
	_exit((int)serve(w));
}
