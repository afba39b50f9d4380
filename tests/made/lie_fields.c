/* SPDX-License-Identifier: Apache-2.0 */
/* lie_fields.c - see lie_fields.h. N is a number, A an array of numbers, T a text; M is a number
 * that anything else contradicts, so that a lie is always found out. */
#include "lie_fields.h"

#include <assert.h>
#include <string.h>

#include "base/own.h"
#include "unwind/rows.h"
#include "files/fetch.h"

#define REPLY_FIELDS(X)                          \
	X(M, struct proto_reply, head.kind)      \
	X(M, struct proto_reply, head.seq)       \
	X(M, struct proto_reply, head.size)      \
	X(N, struct proto_reply, head.pad)       \
	X(N, struct proto_reply, status)         \
	X(N, struct proto_reply, answered)       \
	X(N, struct proto_reply, kept_bytes)     \
	X(N, struct proto_reply, kept_len)       \
	X(N, struct proto_reply, evicted_len)    \
	X(N, struct proto_reply, lines_given_up) \
	X(N, struct proto_reply, wants)

#define HELLO_FIELDS(X) X(N, struct proto_hello, sandbox)

#define ROWS_FIELDS(X)                          \
	X(M, struct proto_rows, rows_bytes)     \
	X(N, struct proto_rows, eh_frame_bytes) \
	X(M, struct proto_rows, rows_status)    \
	X(N, struct proto_rows, debuglink_crc)  \
	X(T, struct proto_rows, debuglink)      \
	X(A, struct proto_rows, build_id)       \
	X(N, struct proto_rows, build_id_len)   \
	X(N, struct proto_rows, contents)       \
	X(N, struct proto_rows, cpython.version) \
	X(A, struct proto_rows, cpython.offsets) \
	X(N, struct proto_rows, cpython.free_threaded) \
	X(N, struct proto_rows, cpython.release) \
	X(N, struct proto_rows, cpython.runtime) \
	X(N, struct proto_rows, cpython.code_type) \
	X(N, struct proto_rows, cpython.eval_begin) \
	X(N, struct proto_rows, cpython.eval_end) \
	X(A, struct proto_rows, hotspot.fields) \
	X(A, struct proto_rows, hotspot.sizes) \
	X(N, struct proto_rows, hotspot.code_is_offset) \
	X(N, struct proto_rows, hotspot.is_21)  \
	X(N, struct proto_rows, hotspot.is_8)   \
	X(N, struct proto_rows, hotspot.scopes_are_offset) \
	X(N, struct proto_rows, hotspot.metadata_is_apart) \
	X(N, struct proto_rows, hotspot.version) \
	X(A, struct proto_rows, hotspot.pad)

#define SYMBOLS_FIELDS(X)                      \
	X(N, struct proto_symbols, symbols)    \
	X(N, struct proto_symbols, dropped)    \
	X(N, struct proto_symbols, tables_bad) \
	X(N, struct proto_symbols, bytes)      \
	X(N, struct proto_symbols, ns)         \
	X(N, struct proto_symbols, sources)    \
	X(A, struct proto_symbols, debug)

#define MAP_FIELDS(X) X(N, struct proto_map, more)

#define WANTED_FIELDS(X)                        \
	X(N, struct proto_wanted, kind)         \
	X(N, struct proto_wanted, build_id_len) \
	X(A, struct proto_wanted, build_id)     \
	X(T, struct proto_wanted, dir)          \
	X(T, struct proto_wanted, name)

#define STATE_FIELDS(X)                            \
	X(T, struct proto_state, facts.name)       \
	X(T, struct proto_state, facts.image)      \
	X(T, struct proto_state, facts.pod)        \
	X(T, struct proto_state, facts.namespace_) \
	X(T, struct proto_state, facts.dir)        \
	X(T, struct proto_state, facts.labels)     \
	X(N, struct proto_state, facts.labels_len) \
	X(N, struct proto_state, facts.pause)      \
	X(N, struct proto_state, facts.other_pod)

#define MAPPINGS_FIELDS(X)                       \
	X(M, struct proto_mappings, list_bytes)  \
	X(N, struct proto_mappings, facts.dump.start)  \
	X(N, struct proto_mappings, facts.dump.end)    \
	X(N, struct proto_mappings, facts.dump.ino)    \
	X(N, struct proto_mappings, facts.dump.number) \
	X(N, struct proto_mappings, facts.jvm.start) \
	X(N, struct proto_mappings, facts.jvm.end) \
	X(N, struct proto_mappings, facts.jvm.file_offset) \
	X(N, struct proto_mappings, facts.jvm.ino) \
	X(N, struct proto_mappings, facts.jvm.dev)

#define METHODS_FIELDS(X) X(M, struct proto_methods, bytes)

#define LANGUAGE_FIELDS(X)                                 \
	X(N, struct proto_language, table.version)       \
	X(N, struct proto_language, table.release)       \
	X(N, struct proto_language, table.free_threaded) \
	X(N, struct proto_language, table.build_id_len)  \
	X(A, struct proto_language, table.build_id)      \
	X(N, struct proto_language, table.line)          \
	X(N, struct proto_language, table.fault)         \
	X(A, struct proto_language, table.values)        \
	X(A, struct proto_language, table.given)         \
	X(A, struct proto_language, table.pad)

#define CALL_FIELDS(X)                 \
	X(N, struct elf_call, verdict) \
	X(N, struct elf_call, name)

#define ROWS_HEAD_FIELDS(X)                                \
	X(M, struct unwind_rows_head, magic)               \
	X(M, struct unwind_rows_head, kind)                \
	X(M, struct unwind_rows_head, first)               \
	X(M, struct unwind_rows_head, span)                \
	X(M, struct unwind_rows_head, used)                \
	X(M, struct unwind_rows_head, pages_len)           \
	X(M, struct unwind_rows_head, rules_len)           \
	X(M, struct unwind_rows_head, rows_len)            \
	X(M, struct unwind_rows_head, data_bytes)          \
	X(N, struct unwind_rows_head, stats.fdes)          \
	X(N, struct unwind_rows_head, stats.fdes_bad)      \
	X(N, struct unwind_rows_head, stats.fdes_empty)    \
	X(N, struct unwind_rows_head, stats.fdes_outside)  \
	X(N, struct unwind_rows_head, stats.fde_bytes)     \
	X(N, struct unwind_rows_head, stats.debug_bad)     \
	X(N, struct unwind_rows_head, stats.rows_raw)      \
	X(N, struct unwind_rows_head, stats.rules_refused) \
	X(N, struct unwind_rows_head, stats.pages_refused) \
	X(A, struct unwind_rows_head, stats.lost)

#define ROWS_PAGE_FIELDS(X)                        \
	X(N, struct unwind_rows_page, number)      \
	X(M, struct unwind_rows_page, rows_len)    \
	X(M, struct unwind_rows_page, data_offset) \
	X(M, struct unwind_rows_page, data_bytes)

#define ROWS_RULE_FIELDS(X)               \
	X(N, struct unwind_rule, cfa)     \
	X(N, struct unwind_rule, cfa_reg) \
	X(N, struct unwind_rule, ra)      \
	X(N, struct unwind_rule, fp)      \
	X(N, struct unwind_rule, cfa_off) \
	X(N, struct unwind_rule, cfa_add) \
	X(N, struct unwind_rule, ra_off)  \
	X(N, struct unwind_rule, fp_off)

#define FETCH_FIELDS(X)                   \
	X(M, struct fetch_answer, id)     \
	X(N, struct fetch_answer, bytes)  \
	X(N, struct fetch_answer, reason) \
	X(N, struct fetch_answer, server) \
	X(N, struct fetch_answer, failed)

#define MEMBER(s, f) (((s *)0)->f)
#define ROW_N(s, f) { #f, offsetof(s, f), sizeof(MEMBER(s, f)), 1, false, false },
#define ROW_M(s, f) { #f, offsetof(s, f), sizeof(MEMBER(s, f)), 1, false, true },
#define ROW_A(s, f) \
	{ #f, offsetof(s, f), sizeof(MEMBER(s, f)[0]), ARRAY_SIZE(MEMBER(s, f)), false, false },
#define ROW_T(s, f) { #f, offsetof(s, f), 1, sizeof(MEMBER(s, f)), true, false },
#define ROW(type, s, f) ROW_##type(s, f)
#define SIZE(type, s, f) +sizeof(MEMBER(s, f))
#define TABLE(name, LIST, s)                                                               \
	_Static_assert((0 LIST(SIZE)) == sizeof(s), "a field of " #s " is not in " #LIST); \
	static const struct lie_field name[] = { LIST(ROW) }

TABLE(reply_fields, REPLY_FIELDS, struct proto_reply);
TABLE(hello_fields, HELLO_FIELDS, struct proto_hello);
TABLE(rows_fields, ROWS_FIELDS, struct proto_rows);
TABLE(symbols_fields, SYMBOLS_FIELDS, struct proto_symbols);
TABLE(map_fields, MAP_FIELDS, struct proto_map);
TABLE(wanted_fields, WANTED_FIELDS, struct proto_wanted);
TABLE(state_fields, STATE_FIELDS, struct proto_state);
TABLE(mappings_fields, MAPPINGS_FIELDS, struct proto_mappings);
TABLE(methods_fields, METHODS_FIELDS, struct proto_methods);
TABLE(language_fields, LANGUAGE_FIELDS, struct proto_language);
TABLE(call_fields, CALL_FIELDS, struct elf_call);
TABLE(head_fields, ROWS_HEAD_FIELDS, struct unwind_rows_head);
TABLE(page_fields, ROWS_PAGE_FIELDS, struct unwind_rows_page);
TABLE(fetch_fields, FETCH_FIELDS, struct fetch_answer);
TABLE(rule_fields, ROWS_RULE_FIELDS, struct unwind_rule);

/* On the wire an answer is no struct; see proto_put_answer. The texts are found by lying_worker.c,
 * which also sees at each answer that nothing else is there. */
static const struct lie_field answer_fields[] = {
	{ "index", 0, 4, 1, false, false },
	{ "start", 4, 8, 1, false, false },
	{ "line", 12, 4, 1, false, false },
	{ "source", 16, 1, 1, false, false },
	{ "inlined", 17, 1, 1, false, false },
	{ "name", 18, 1, 16, true, false },
	{ "path", 34, 1, 16, true, false },
};

/* Of page data with LIE_PAGE_ROWS rows; offsets count from the page's first byte. */
static const struct lie_field data_fields[] = {
	{ "first[]", 0, 2, ROWS_CHUNKS + 1, false, false },
	{ "rule[]", ROWS_INDEX_BYTES, 2, LIE_PAGE_ROWS, false, false },
	{ "start[]", ROWS_INDEX_BYTES + 2 * LIE_PAGE_ROWS, 1, LIE_PAGE_ROWS, false, false },
};

#define KIND(kind, name) [kind] = name
static const char *const kind_names[] = {
	KIND(PROTO_HELLO, "hello"),
	KIND(PROTO_ROWS, "rows"),
	KIND(PROTO_LOAD, "load"),
	KIND(PROTO_NAMES, "names"),
	KIND(PROTO_WANTED, "wanted"),
	KIND(PROTO_GIVE, "give"),
	KIND(PROTO_MAP_FEED, "map_feed"),
	KIND(PROTO_MAP_NAMES, "map_names"),
	KIND(PROTO_DROP, "drop"),
	KIND(PROTO_STATE, "state"),
	KIND(PROTO_MAPPINGS, "mappings"),
	KIND(PROTO_CALLS, "calls"),
	KIND(PROTO_CODES, "codes"),
	KIND(PROTO_METHODS, "methods"),
	KIND(PROTO_LANGUAGE, "language"),
};
_Static_assert(ARRAY_SIZE(kind_names) == PROTO_KINDS, "a kind of reply is not in this file");

static const char *const part_names[] = { "reply", "body", "answer", "rows_head", "rows_page",
	"rows_rule", "rows_data", "message", "memory" };

const char *lie_kind_name(enum proto_kind kind)
{
	return kind_names[kind];
}

const char *lie_part_name(enum lie_part part)
{
	return part_names[part];
}

const char *lie_target_name(const struct lie_target *target)
{
#define LIE_TEXT(id, text) text,
	static const char *const messages[] = { LIE_MESSAGES(LIE_TEXT) };
	static const char *const memories[] = { LIE_MEMORIES(LIE_TEXT) };
#undef LIE_TEXT

	if (target->field)
		return target->field->name;
	return target->part == LIE_MESSAGE ? messages[target->what] : memories[target->what];
}

bool lie_target_is_certain(const struct lie_target *target)
{
	return !target->field || target->field->certain;
}

size_t lie_fetch_fields(const struct lie_field **out)
{
	*out = fetch_fields;
	return ARRAY_SIZE(fetch_fields);
}

/* ---- all targets ---------------------------------------------------------------------------- */

struct list {
	struct lie_target *all;
	size_t len;
	enum proto_kind kind;
};

static void add(struct list *list, const struct lie_target *target)
{
	assert(list->len < LIE_TARGETS_MAX);
	list->all[list->len] = *target;
	list->all[list->len++].kind = list->kind;
}

static void add_fields(
	struct list *list, enum lie_part part, const struct lie_field *fields, size_t len)
{
	for (size_t i = 0; i < len; i++)
		add(list, &(struct lie_target){ .part = part, .field = &fields[i] });
}

#define ADD(list, part, fields) add_fields(list, part, fields, ARRAY_SIZE(fields))

static void add_memory(struct list *list)
{
	for (unsigned int what = 0; what < LIE_MEMORIES_LEN; what++)
		add(list, &(struct lie_target){ .part = LIE_MEMORY, .what = what });
}

static void add_rows(struct list *list)
{
	ADD(list, LIE_BODY, rows_fields);
	ADD(list, LIE_ROWS_HEAD, head_fields);
	ADD(list, LIE_ROWS_PAGE, page_fields);
	ADD(list, LIE_ROWS_RULE, rule_fields);
	ADD(list, LIE_ROWS_DATA, data_fields);
	add_memory(list);
}

static void add_body(struct list *list)
{
	switch (list->kind) {
	case PROTO_HELLO:
		ADD(list, LIE_BODY, hello_fields);
		break;
	case PROTO_ROWS:
		add_rows(list);
		break;
	case PROTO_LOAD:
		ADD(list, LIE_BODY, symbols_fields);
		break;
	case PROTO_NAMES:
	case PROTO_MAP_NAMES:
	case PROTO_CODES:
		ADD(list, LIE_ANSWER, answer_fields);
		break;
	case PROTO_WANTED:
		ADD(list, LIE_BODY, wanted_fields);
		break;
	case PROTO_MAP_FEED:
		ADD(list, LIE_BODY, map_fields);
		break;
	case PROTO_STATE:
		ADD(list, LIE_BODY, state_fields);
		break;
	case PROTO_MAPPINGS:
		ADD(list, LIE_BODY, mappings_fields);
		add_memory(list);
		break;
	case PROTO_METHODS:
		ADD(list, LIE_BODY, methods_fields);
		add_memory(list);
		break;
	case PROTO_LANGUAGE:
		ADD(list, LIE_BODY, language_fields);
		break;
	case PROTO_CALLS:
		ADD(list, LIE_BODY, call_fields);
		break;
	case PROTO_GIVE:
	case PROTO_DROP:
	case PROTO_KINDS:
		break;
	}
}

size_t lie_targets(struct lie_target out[LIE_TARGETS_MAX])
{
	struct list list = { .all = out };

	for (int kind = 0; kind < PROTO_KINDS; kind++) {
		list.kind = (enum proto_kind)kind;
		ADD(&list, LIE_REPLY, reply_fields);
		add_body(&list);
		for (unsigned int what = 0; what < LIE_MESSAGES_LEN; what++)
			add(&list, &(struct lie_target){ .part = LIE_MESSAGE, .what = what });
	}
	return list.len;
}

/* ---- values --------------------------------------------------------------------------------- */

static uint64_t number(uint64_t right, unsigned int bits, unsigned int value, uint32_t any)
{
	const uint64_t sign = 1ULL << (bits - 1);
	const uint64_t values[LIE_VALUES] = { 0, 1, ~0ULL, ~1ULL, sign, sign - 1, sign + 1,
		right + 1, right - 1, 2 * right, right ^ 1ULL << any % bits, 1ULL << (bits - 2),
		2 + any % 40, PROTO_BYTES_MAX, any * 0x9e3779b97f4a7c15ULL, right / 2 };

	return values[value % LIE_VALUES];
}

static void lie_in_number(uint8_t *at, uint32_t width, unsigned int value, uint32_t any)
{
	uint64_t right = 0, wrong = 0;

	memcpy(&right, at, width);
	do {
		wrong = number(right, 8 * width, value++, any);
		if (width < sizeof(wrong))
			wrong &= (1ULL << 8 * width) - 1;
	} while (wrong == right);
	memcpy(at, &wrong, width);
}

/* Texts that are put over the first bytes; those behind them stay. */
static const char *const texts[] = { "", "/", ".", "..", "/..", "a/b", "../../../../etc/shadow",
	"\xff\xfe\xc0\x80", "\xed\xa0\x80\xf4\x90\x80\x80", "\x1b[2J\r\n", "%n%s%n",
	"\xe2\x80\xae" };
_Static_assert(ARRAY_SIZE(texts) < LIE_VALUES, "and some that are no text");

static void lie_in_text(uint8_t *at, uint32_t len, unsigned int value, uint32_t any)
{
	uint8_t was = at[0];

	value %= LIE_VALUES;
	if (value < ARRAY_SIZE(texts)) {
		size_t size = strlen(texts[value]) + (value % 2 == 0);

		memcpy(at, texts[value], size < len ? size : len);
	} else if (value == LIE_VALUES - 1) {
		at[any % len] ^= (uint8_t)(1 + (any >> 8) % 255);
	} else if (value == LIE_VALUES - 2) {
		memset(at, 0x80, len);
	} else {
		/* As long as can be, or one byte longer. */
		memset(at, 'x', len);
		at[len - 1] = value % 2 ? 'x' : '\0';
	}
	if (value == 0 && was == '\0')
		at[0] = 'y';
}

void lie_in_field(uint8_t *base, const struct lie_field *field, unsigned int value, uint32_t any)
{
	uint8_t *at = base + field->offset;

	if (field->text)
		lie_in_text(at, field->len, value, any);
	else
		lie_in_number(at + any / 7 % field->len * field->width, field->width, value, any);
}
