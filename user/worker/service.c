/* SPDX-License-Identifier: Apache-2.0 */
/* worker/service.c - each request has one line in a table. This file knows no sockets, sandboxes or
 * processes. */
#include "worker/service.h"
#include "wire/codes.h"

#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "sym/demangle.h"
#include "worker/compile.h"
#include "worker/java_reader.h"
#include "worker/map_reader.h"
#include "worker/proc_maps.h"
#include "worker/state_reader.h"
#include "worker/symbols.h"
#include "worker/table_reader.h"
#include "worker/worker.h"

/* Symbols of an object are made near what is asked for, as most of them never are; if that is asked
 * over and over, of all of it. It takes about as long as this many times. */
#define PICKS_MAX 16
#define LINES_NS (500 * NSEC_PER_MSEC) /* what lines may take in one request, about */

static enum worker_status do_rows(struct service *s)
{
	struct proto_rows rows = { 0 };
	const struct compile_pages pages = {
		.numbers = proto_queries(&s->in),
		.len = s->in.request.queries_len,
		.whole = s->in.request.flags & PROTO_WHOLE,
		.written_ns = s->in.request.at_ns,
	};
	enum worker_status status = compile_rows(s->in.fds[0], &pages, s->in.fds[1], &rows);

	proto_put(&s->out, &rows, sizeof(rows));
	return status;
}

static enum worker_status do_load(struct service *s)
{
	const struct kept_entry *entry = kept_find(&s->kept, KEPT_SYMBOLS, s->in.request.id);
	const struct symbols *before = entry ? entry->what : NULL;
	unsigned int picks = before ? before->picks + 1 : 1;
	const struct compile_wants wants = {
		.offsets = proto_queries(&s->in),
		.len = s->in.request.queries_len,
		.before = before ? before->sym : NULL,
		.whole = picks > PICKS_MAX || (s->in.request.flags & PROTO_WHOLE),
		.lines = s->in.request.flags & PROTO_LINES,
		.written_ns = s->in.request.at_ns,
	};
	struct proto_symbols symbols = { 0 };
	struct symbols *made = NULL;
	enum worker_status status = compile_symbols(
		s->in.fds[0], &s->in.fds[1], s->in.fds_len - 1, &wants, &symbols, &made);

	if (status == WORKER_OK)
		made->picks = picks;
	if (status == WORKER_OK &&
		kept_put(&s->kept, KEPT_SYMBOLS, s->in.request.id, made, symbols.bytes) < 0)
		status = WORKER_MEMORY;
	kept_trim(&s->kept, WORKER_KEPT_BYTES_MAX);
	if (s->in.request.flags & PROTO_SPARE)
		kept_trim_symbols(&s->kept, WORKER_SYMBOLS_BYTES_MAX);
	proto_put(&s->out, &symbols, sizeof(symbols));
	return status;
}

static bool put_name(struct service *s, struct proto_answer *answer, const char *name)
{
	_cleanup_(freep) char *clear = NULL;

	if (s->in.request.flags & PROTO_DEMANGLE)
		clear = demangle(name);
	answer->name = clear ? clear : name;
	return proto_put_answer(&s->out, answer);
}

/* The inlined frames, then the symbol's own name: that is what the function is called without
 * lines, too. A frame that has no name is left out. All of them or none. */
static bool put_frames(struct service *s, const struct proto_answer *symbol, const char *name,
	const struct inlined_frames *frames)
{
	uint32_t size = s->out.head.size;
	struct proto_answer answer = *symbol;

	for (size_t i = 0; i < frames->len; i++) {
		const struct inlined_frame *frame = &frames->all[i];

		answer.inlined = i + 1 < frames->len;
		answer.path = frame->path;
		answer.line = frame->line;
		if (answer.inlined && frame->name[0] == '\0')
			continue;
		if (!put_name(s, &answer, answer.inlined ? frame->name : name)) {
			s->out.head.size = size;
			return false;
		}
	}
	return true;
}

/* False: the reply is full, it is time to send it, or a file is wanted; else the first answer is
 * always put. */
static bool put_symbol(struct service *s, uint32_t i, struct symbols *symbols)
{
	struct proto_answer answer = { .index = i };
	struct inlined_frames frames;
	enum inlined_result result = INLINED_NONE;
	uint64_t offset = proto_query(&s->in, i);
	struct elf_name name;

	if (!symbols_find(symbols, offset, &name))
		return true;
	answer.start = name.start;
	answer.source = (uint8_t)name.source;
	if (s->in.request.flags & PROTO_LINES)
		result = symbols_lines(symbols, offset, &frames);
	if (result == INLINED_WANTS) {
		s->out.reply.wants = 1;
		return false;
	}
	if (result == INLINED_GIVEN_UP && i > 0 && clock_ns(CLOCK_MONOTONIC) >= symbols->until_ns)
		return false;
	if (result == INLINED_FOUND && put_frames(s, &answer, name.name, &frames))
		return true;
	if (result == INLINED_FOUND && s->out.head.size > sizeof(s->out.reply))
		return false;
	if (!put_name(s, &answer, name.name))
		return false;
	s->out.reply.lines_given_up += result == INLINED_GIVEN_UP;
	return true;
}

static bool knows_all(const struct symbols *symbols, const struct proto_message *m)
{
	for (uint32_t i = 0; i < m->request.queries_len; i++)
		if (!symbols_know(symbols, proto_query(m, i)))
			return false;
	return true;
}

static enum worker_status do_names(struct service *s)
{
	struct kept_entry *entry = kept_find(&s->kept, KEPT_SYMBOLS, s->in.request.id);
	struct symbols *symbols;
	uint32_t i = 0;

	if (!entry || !knows_all(entry->what, &s->in))
		return WORKER_UNKNOWN;
	symbols = entry->what;
	symbols->until_ns = clock_ns(CLOCK_MONOTONIC) + LINES_NS;
	while (i < s->in.request.queries_len && put_symbol(s, i, symbols))
		i++;
	s->out.reply.answered = i;
	if (symbols->files) {
		symbols_release(symbols);
		kept_resize(&s->kept, entry, symbols_memory(symbols));
		kept_trim(&s->kept, WORKER_KEPT_BYTES_MAX);
	}
	return WORKER_OK;
}

static enum worker_status do_wanted(struct service *s)
{
	struct kept_entry *entry = kept_find(&s->kept, KEPT_SYMBOLS, s->in.request.id);
	struct proto_wanted wanted = { 0 };

	if (entry) {
		const struct debug_part *part = symbols_wanted(entry->what);

		wanted.kind = part->kind;
		wanted.build_id_len = (uint32_t)part->build_id.len;
		memcpy(wanted.build_id, part->build_id.bytes, part->build_id.len);
		memcpy(wanted.dir, part->dir, sizeof(wanted.dir));
		memcpy(wanted.name, part->name, sizeof(wanted.name));
	}
	proto_put(&s->out, &wanted, sizeof(wanted));
	return entry ? WORKER_OK : WORKER_UNKNOWN;
}

static enum worker_status do_give(struct service *s)
{
	struct kept_entry *entry = kept_find(&s->kept, KEPT_SYMBOLS, s->in.request.id);
	struct symbols *symbols;

	if (!entry)
		return WORKER_UNKNOWN;
	symbols = entry->what;
	symbols->until_ns = clock_ns(CLOCK_MONOTONIC) + LINES_NS;
	symbols_give(symbols, s->in.fds_len > 0 ? s->in.fds[0] : -1);
	return WORKER_OK;
}

static enum worker_status find_map(struct service *s, struct kept_entry **out)
{
	uint64_t id = s->in.request.id;
	struct kept_entry *entry = kept_find(&s->kept, KEPT_MAP, id);
	struct map_reader *reader;

	if (!entry) {
		if (map_reader_new(&reader) < 0 || kept_put(&s->kept, KEPT_MAP, id, reader, 0) < 0)
			return WORKER_MEMORY;
		entry = kept_find(&s->kept, KEPT_MAP, id);
	}
	*out = entry;
	return WORKER_OK;
}

static enum worker_status feed(struct service *s, struct proto_map *out)
{
	struct kept_entry *entry;
	struct map_reader *reader;
	enum worker_status status = find_map(s, &entry);
	bool more;

	if (status != WORKER_OK)
		return status;
	reader = entry->what;
	if (s->in.request.flags & PROTO_DUMP)
		status = map_reader_feed_dump(reader, s->in.fds[0], &more);
	else
		status = map_reader_feed(reader, s->in.fds[0], &more);
	out->more = more;
	kept_resize(&s->kept, entry, map_reader_memory(reader));
	kept_trim(&s->kept, WORKER_KEPT_BYTES_MAX);
	return status;
}

static enum worker_status do_map_feed(struct service *s)
{
	struct proto_map map = { 0 };
	enum worker_status status = feed(s, &map);

	proto_put(&s->out, &map, sizeof(map));
	return status;
}

/* False: the reply is full. */
static bool put_code(struct service *s, uint32_t i, struct map_reader *reader)
{
	const struct proto_request *r = &s->in.request;
	struct proto_answer answer = { .index = i };
	struct worker_name name;

	if (!map_reader_find(reader, proto_query(&s->in, i), r->at_ns, &name))
		return true;
	answer.name = name.name;
	answer.source = name.source;
	if (r->flags & PROTO_LINES) {
		answer.path = name.path;
		answer.line = name.line;
	}
	return proto_put_answer(&s->out, &answer);
}

static enum worker_status do_map_names(struct service *s)
{
	struct kept_entry *entry = kept_find(&s->kept, KEPT_MAP, s->in.request.id);
	uint32_t i = 0;

	if (!entry)
		return WORKER_UNKNOWN;
	while (i < s->in.request.queries_len && put_code(s, i, entry->what))
		i++;
	s->out.reply.answered = i;
	return WORKER_OK;
}

static enum worker_status do_drop(struct service *s)
{
	for (uint32_t i = 0; i < s->in.request.queries_len; i++) {
		uint64_t id = proto_query(&s->in, i);

		kept_drop(&s->kept, id & PROTO_DROP_MAP ? KEPT_MAP : KEPT_SYMBOLS,
			id & ~PROTO_DROP_MAP);
	}
	return WORKER_OK;
}

static enum worker_status do_state(struct service *s)
{
	struct proto_state state = { 0 };
	enum worker_status status =
		state_reader_read(s->in.fds[0], proto_state_query(&s->in), &state.facts);

	proto_put(&s->out, &state, sizeof(state));
	return status;
}

static enum worker_status do_language(struct service *s)
{
	struct proto_language language = { 0 };
	enum worker_status status = table_reader_read(s->in.fds[0], &language.table);

	proto_put(&s->out, &language, sizeof(language));
	return status;
}

static enum worker_status do_mappings(struct service *s)
{
	struct proto_mappings mappings = { 0 };
	int memory = s->in.request.flags & PROTO_WHOLE ? s->in.fds[1] : -1;
	enum worker_status status = proc_maps_read(s->in.fds[0], memory, &mappings);

	proto_put(&s->out, &mappings, sizeof(mappings));
	return status;
}

static enum worker_status do_calls(struct service *s)
{
	struct elf_call calls[PROTO_CALLS_MAX];
	size_t len = s->in.request.queries_len / PROTO_CALL_QUERIES;
	enum worker_status status = compile_calls(
		s->in.fds[0], (const struct elf_call_query *)proto_queries(&s->in), len, calls);

	proto_put(&s->out, calls, len * sizeof(*calls));
	return status;
}

/* False: the reply is full. */
static bool put_places(
	struct service *s, const struct proto_code *code, struct proto_answer *answer)
{
	for (uint32_t i = 0; i < code->places_len; i++) {
		if (s->in.request.flags & PROTO_LINES)
			answer->line = code_line(code->code, (uint32_t)code->places[i]);
		if (!proto_put_answer(&s->out, answer))
			return false;
		answer->index++;
	}
	return true;
}

static enum worker_status do_codes(struct service *s)
{
	_cleanup_(buf_done) struct buf name = BUF_INIT, path = BUF_INIT;
	struct cursor c = proto_codes(&s->in);
	struct proto_answer answer = { 0 };
	struct proto_code code;
	bool room = true;

	while (room && proto_next_code(&c, &code)) {
		buf_clear(&name);
		buf_clear(&path);
		code_put_name(code.code, &name);
		if (s->in.request.flags & PROTO_LINES)
			code_put_file(code.code, &path);
		if (buf_err(&name) < 0 || buf_err(&path) < 0)
			return WORKER_MEMORY;
		answer.name = buf_text(&name);
		answer.path = buf_text(&path);
		room = put_places(s, &code, &answer);
	}
	s->out.reply.answered = answer.index;
	return WORKER_OK;
}

static enum worker_status do_methods(struct service *s)
{
	struct proto_methods methods = { 0 };
	enum worker_status status =
		java_reader_read(s->in.fds[0], s->in.fds[1], &methods);

	proto_put(&s->out, &methods, sizeof(methods));
	return status;
}

/* Each puts the reply's body and returns its status. */
static enum worker_status (*const handlers[PROTO_KINDS])(struct service *s) = {
	[PROTO_ROWS] = do_rows,
	[PROTO_LOAD] = do_load,
	[PROTO_NAMES] = do_names,
	[PROTO_WANTED] = do_wanted,
	[PROTO_GIVE] = do_give,
	[PROTO_MAP_FEED] = do_map_feed,
	[PROTO_MAP_NAMES] = do_map_names,
	[PROTO_DROP] = do_drop,
	[PROTO_STATE] = do_state,
	[PROTO_MAPPINGS] = do_mappings,
	[PROTO_CALLS] = do_calls,
	[PROTO_CODES] = do_codes,
	[PROTO_METHODS] = do_methods,
	[PROTO_LANGUAGE] = do_language,
};

void service_answer(struct service *s)
{
	proto_begin_reply(&s->out, &s->in.head, WORKER_OK);
	s->out.reply.status = handlers[s->in.head.kind](s);
	s->out.reply.kept_bytes = s->kept.bytes;
	s->out.reply.kept_len = s->kept.all.len;
	s->out.reply.evicted_len = s->kept.evicted_len;
}
