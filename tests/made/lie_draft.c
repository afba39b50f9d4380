/* SPDX-License-Identifier: Apache-2.0 */
/* lie_draft.c - see lie_draft.h. */
#include "lie_draft.h"
#include "wire/codes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "language/java_reply.h"
#include "proc/maps.h"
#include "sym/elf_sym.h"
#include "wire/name.h"

#define ANSWER_BYTES 50

static void must(bool holds, const char *text)
{
	if (holds)
		return;
	fprintf(stderr, "lie_draft: %s\n", text);
	abort();
}

/* ---- honest replies ------------------------------------------------------------------------- */

static void put_rows(struct lie_draft *d)
{
	struct proto_rows body = {
		.eh_frame_bytes = 4096,
		.debuglink_crc = 1,
		.debuglink = HONEST_LINK,
		.build_id = { 1, 2, 3 },
		.build_id_len = 20,
		.contents = WORKER_HAS_SYMBOLS,
	};

	made_rows_make(&d->shape, &d->rows);
	body.rows_bytes = d->memory_size = d->rows.size;
	proto_put(&d->m, &body, sizeof(body));
}

static bool put_answer(struct lie_draft *d, uint32_t index, uint64_t start, bool inlined)
{
	struct proto_answer answer = {
		.name = HONEST_NAME,
		.path = HONEST_PATH,
		.start = start,
		.index = index,
		.line = 42,
		.source = d->m.head.kind == PROTO_NAMES ? ELF_SYM_SYMTAB : WORKER_PERF_MAP,
		.inlined = inlined,
	};
	uint32_t at = d->m.head.size;

	if (!proto_put_answer(&d->m, &answer))
		return false;
	/* A field that is new to the wire is none that is lied about: see lie_fields.c. */
	must(d->m.head.size - at == ANSWER_BYTES, "an answer has a field that nobody lies about");
	if (d->answers_len < DRAFT_ANSWERS_MAX)
		d->answers[d->answers_len++] = at;
	return true;
}

/* One is wanted after the first answer. */
static void put_names(struct lie_draft *d, const struct proto_message *in, unsigned int *wants)
{
	bool lines = in->request.flags & PROTO_LINES;
	uint32_t len = in->request.queries_len, i = 0;

	for (; i < len; i++) {
		uint32_t size = d->m.head.size;

		if (lines && *wants > 0 && i == 1)
			break;
		if ((lines && !put_answer(d, i, proto_query(in, i), true)) ||
			!put_answer(d, i, proto_query(in, i), false)) {
			d->m.head.size = size;
			break;
		}
	}
	if (lines && *wants > 0) {
		(*wants)--;
		d->m.reply.wants = 1;
	}
	d->m.reply.answered = i;
}

static void put_places(struct lie_draft *d, const struct proto_message *in)
{
	struct cursor c = proto_codes(in);
	struct proto_code code;
	uint32_t len = 0, i = 0;

	while (proto_next_code(&c, &code))
		len += code.places_len;
	while (i < len && put_answer(d, i, i, false))
		i++;
	d->m.reply.answered = i;
}

static void put_wanted(struct lie_draft *d)
{
	struct proto_wanted body = {
		.kind = DEBUG_PART_ALT,
		.build_id_len = 20,
		.build_id = { 1, 2, 3 },
		.dir = "/usr/src",
		.name = "/usr/lib/debug/.dwz/part.debug",
	};

	proto_put(&d->m, &body, sizeof(body));
}

static void put_state(struct lie_draft *d)
{
	struct proto_state body = {
		.facts = {
			.name = HONEST_FACT,
			.image = HONEST_FACT,
			.pod = HONEST_FACT,
			.namespace_ = HONEST_FACT,
			.dir = "/run/containers/1",
			.labels = "key\0value\0other\0value",
			.labels_len = 22,
		},
	};

	proto_put(&d->m, &body, sizeof(body));
}

/* One function of JIT code, as HONEST_CODE. */
static void put_mappings(struct lie_draft *d)
{
	const struct maps_entry entry = {
		.start = HONEST_CODE, .end = HONEST_CODE + 4096, .executable = true
	};
	_cleanup_(buf_done) struct buf list = BUF_INIT;
	struct proto_mappings body = {
		.facts = { { 4096, 8192, 7, 17 }, { 4096, 8192, 0, 8, 2049 } }
	};
	uint64_t guard_end = 0;

	must(mappings_put(&entry, &guard_end, &list) == 0, "no memory for a list");
	body.list_bytes = d->memory_size = d->rows.size = list.len;
	d->rows.bytes = TAKE_PTR(list.data);
	proto_put(&d->m, &body, sizeof(body));
}

/* A table for one code: its method, and nothing else. */
static void put_methods(struct lie_draft *d)
{
	const struct java_reply reply = { .tables_len = 1 };
	const struct java_frame frame = { 0, sizeof(HONEST_NAME), 7, 0 };
	const char text[32] = HONEST_NAME;
	const struct java_table table = {
		sizeof(table) + sizeof(frame) + sizeof(text), 0, 1, sizeof(text)
	};
	const uint64_t bytes = table.bytes;
	_cleanup_(buf_done) struct buf memory = BUF_INIT;
	struct proto_methods body;

	buf_put(&memory, &reply, sizeof(reply));
	buf_put(&memory, &bytes, sizeof(bytes));
	buf_put(&memory, &table, sizeof(table));
	buf_put(&memory, &frame, sizeof(frame));
	must(buf_put(&memory, text, sizeof(text)) == 0, "no memory for a table");
	body.bytes = d->memory_size = d->rows.size = memory.len;
	d->rows.bytes = TAKE_PTR(memory.data);
	proto_put(&d->m, &body, sizeof(body));
}

static void put_language(struct lie_draft *d)
{
	static const char text[] = HONEST_TABLE;
	struct proto_language language = { 0 };

	cpython_table_parse(text, strlen(text), &language.table);
	must(language.table.fault == CPYTHON_TABLE_OK, "an honest table has a fault");
	proto_put(&d->m, &language, sizeof(language));
}

static void put_calls(struct lie_draft *d, const struct proto_message *in)
{
	const struct elf_call call = { .verdict = ELF_CALL_LEAVES, .name = HONEST_CALL };

	for (uint32_t i = 0; i < in->request.queries_len; i += PROTO_CALL_QUERIES)
		proto_put(&d->m, &call, sizeof(call));
}

static void put_body(struct lie_draft *d, const struct proto_message *in, unsigned int *wants)
{
	const struct proto_symbols symbols = {
		.symbols = HONEST_SYMBOLS,
		.bytes = 4096,
		.ns = 1000,
		.sources = 1 << ELF_SYM_SYMTAB,
		.debug = { WORKER_DEBUG_USED },
	};
	const struct proto_hello hello = { .sandbox = 31 };
	const struct proto_map map = { 0 };

	switch ((enum proto_kind)d->m.head.kind) {
	case PROTO_HELLO:
		proto_put(&d->m, &hello, sizeof(hello));
		break;
	case PROTO_ROWS:
		put_rows(d);
		break;
	case PROTO_LOAD:
		proto_put(&d->m, &symbols, sizeof(symbols));
		break;
	case PROTO_NAMES:
	case PROTO_MAP_NAMES:
		put_names(d, in, wants);
		break;
	case PROTO_WANTED:
		put_wanted(d);
		break;
	case PROTO_MAP_FEED:
		proto_put(&d->m, &map, sizeof(map));
		break;
	case PROTO_STATE:
		put_state(d);
		break;
	case PROTO_MAPPINGS:
		put_mappings(d);
		break;
	case PROTO_METHODS:
		put_methods(d);
		break;
	case PROTO_LANGUAGE:
		put_language(d);
		break;
	case PROTO_CALLS:
		put_calls(d, in);
		break;
	case PROTO_CODES:
		put_places(d, in);
		break;
	case PROTO_GIVE:
	case PROTO_DROP:
	case PROTO_KINDS:
		break;
	}
}

void lie_draft_make(struct lie_draft *d, const struct proto_head *to,
	const struct proto_message *request, const struct made_shape *shape, unsigned int *wants)
{
	/* Not what m holds behind its size: it is large. */
	proto_begin_reply(&d->m, to, WORKER_OK);
	d->answers_len = d->extra_fds = 0;
	d->shape = *shape;
	d->rows = (struct made_rows){ 0 };
	d->memory_lie = -1;
	d->silent = d->gone = d->ends = d->twice = d->unasked = false;
	put_body(d, request, wants);
	d->m.reply.kept_bytes = 4096;
	d->m.reply.kept_len = 1;
	d->len = d->m.head.size;
}

/* ---- lies ----------------------------------------------------------------------------------- */

static void resize(struct lie_draft *d, uint32_t len)
{
	d->len = len;
	d->m.head.size = len;
}

static void other_kind(struct lie_draft *d, uint32_t any)
{
	static const struct proto_message nothing;
	const struct made_shape shape = d->shape;
	const struct proto_head to = {
		.kind = (d->m.head.kind + 1 + any % (PROTO_KINDS - 1)) % PROTO_KINDS,
		.seq = d->m.head.seq,
	};
	unsigned int wants = 0;

	lie_draft_done(d);
	lie_draft_make(d, &to, &nothing, &shape, &wants);
}

/* Of names there may be none, and some replies have no body: there is a byte less, then. */
static uint32_t without_body(const struct lie_draft *d)
{
	bool may_be = d->answers_len > 0 || d->len == sizeof(d->m.reply);

	return sizeof(d->m.reply) - may_be;
}

static void lie_in_length(struct lie_draft *d, enum lie_message what)
{
	switch (what) {
	case LIE_HEAD_ONLY:
		resize(d, sizeof(d->m.head));
		break;
	case LIE_NO_BODY:
		resize(d, without_body(d));
		break;
	case LIE_CUT:
		resize(d, d->len - 1);
		break;
	case LIE_CUT_UNSAID:
		d->len--;
		break;
	case LIE_HALF:
		resize(d, d->len / 2);
		break;
	case LIE_TAIL_1:
		resize(d, d->len + 1);
		break;
	case LIE_TAIL_8:
		resize(d, d->len + 8);
		break;
	case LIE_TAIL_UNSAID:
		d->len += 8;
		break;
	case LIE_FULL:
		resize(d, PROTO_BYTES_MAX);
		break;
	case LIE_TOO_LONG:
		resize(d, PROTO_BYTES_MAX + 8);
		break;
	default: /* LIE_EMPTY, LIE_EMPTY_FD */
		d->len = 0;
		break;
	}
}

static void lie_in_message(struct lie_draft *d, enum lie_message what, uint32_t any)
{
	switch (what) {
	case LIE_FD_1:
		d->extra_fds = 1;
		break;
	case LIE_FDS_2:
		d->extra_fds = 2;
		break;
	case LIE_FDS_9:
		d->extra_fds = PROTO_FDS_MAX;
		break;
	case LIE_FDS_20:
		d->extra_fds = LIE_FDS_MAX - 1;
		break;
	case LIE_OTHER_KIND:
		other_kind(d, any);
		break;
	case LIE_TWICE:
		d->twice = true;
		break;
	case LIE_UNASKED:
		d->unasked = true;
		break;
	case LIE_SILENT:
		d->silent = true;
		break;
	case LIE_GONE:
		d->gone = true;
		break;
	case LIE_LAST_WORDS:
		d->ends = true;
		break;
	default:
		d->extra_fds = what == LIE_EMPTY_FD;
		lie_in_length(d, what);
		break;
	}
}

/* What the reply says of its memory follows only where the lie is another one. */
static void lie_in_memory(struct lie_draft *d, enum lie_memory what)
{
	struct proto_rows *body = (void *)(d->m.bytes + sizeof(d->m.reply) / sizeof(uint64_t));

	d->memory_lie = (int)what;
	switch (what) {
	case LIE_SHORT:
		d->memory_size -= d->memory_size < 4 ? d->memory_size : 4;
		break;
	case LIE_LONG:
		d->memory_size += 4096;
		break;
	case LIE_NO_BYTES:
		d->memory_size = 0;
		break;
	case LIE_HALF_TABLE:
		body->rows_bytes = d->memory_size /= 2;
		break;
	case LIE_TABLE_TAIL:
		body->rows_bytes = d->memory_size += 4;
		break;
	default:
		break;
	}
}

static uint8_t *part_of_rows(struct lie_draft *d, enum lie_part part, uint32_t any)
{
	const struct unwind_rows_head *head = d->rows.bytes;
	struct unwind_rows_page *pages = (void *)((uint8_t *)d->rows.bytes + sizeof(*head));
	struct unwind_rule *rules = (void *)(pages + d->shape.pages);
	uint32_t page = any % d->shape.pages;

	switch (part) {
	case LIE_ROWS_PAGE:
		return (uint8_t *)(pages + page);
	case LIE_ROWS_RULE:
		return (uint8_t *)(rules + any % d->shape.rules_len);
	case LIE_ROWS_DATA:
		return (uint8_t *)(rules + d->shape.rules_len) +
			page * ((ROWS_INDEX_BYTES + 3U * d->shape.rows_len + 3) & ~3U);
	default:
		return d->rows.bytes;
	}
}

void lie_draft_tell(
	struct lie_draft *d, struct lie_target *target, unsigned int value, uint32_t any)
{
	uint8_t *base = (uint8_t *)d->m.bytes;

	switch (target->part) {
	case LIE_MESSAGE:
		lie_in_message(d, (enum lie_message)target->what, any);
		break;
	case LIE_MEMORY:
		if (d->rows.bytes)
			lie_in_memory(d, (enum lie_memory)target->what);
		break;
	case LIE_REPLY:
		lie_in_field(base, target->field, value, any);
		break;
	case LIE_BODY:
		lie_in_field(base + sizeof(d->m.reply), target->field, value, any);
		break;
	case LIE_ANSWER:
		if (d->answers_len > 0)
			lie_in_field(
				base + d->answers[any % d->answers_len], target->field, value, any);
		break;
	default:
		if (d->rows.bytes)
			lie_in_field(part_of_rows(d, target->part, any), target->field, value, any);
		break;
	}
	target->lies++;
}

void *lie_draft_write(const struct lie_draft *d, int memory)
{
	size_t known = d->memory_size < d->rows.size ? d->memory_size : d->rows.size;
	void *kept = NULL;

	if (!d->rows.bytes)
		return NULL;
	must(ftruncate(memory, (off_t)d->memory_size) == 0, "the memory has another size");
	if (d->memory_lie != LIE_HOLE && pwrite(memory, d->rows.bytes, known, 0) != (ssize_t)known)
		must(false, "the memory cannot be written");
	if (d->memory_lie == LIE_SEALED && fcntl(memory, F_ADD_SEALS, F_SEAL_SEAL) < 0)
		must(false, "the memory cannot be sealed");
	if (d->memory_lie == LIE_MAPPED) {
		kept = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
		must(kept != MAP_FAILED, "the memory cannot be mapped");
	}
	return kept;
}

void lie_draft_done(struct lie_draft *d)
{
	made_rows_free(&d->rows);
}
