/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/language_maps.bpf.h - descriptions of runtimes, the ids of code, and the event that names a
 * code when it is sampled first: its memory may be freed at any time. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/event.bpf.h"
#include "bpf/known.bpf.h"
#include "bpf/language.bpf.h"
#include "bpf/sample_maps.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LANGUAGES_MAX);
	__type(key, u32);
	__type(value, struct language);
} languages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct language_scratch);
} language_scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* the values begin at a page */
	__uint(max_entries, 1 << TASK_SETS_SHIFT);
	__type(key, u32);
	__type(value, struct known_tasks);
} codes SEC(".maps");

static __always_inline const struct language *language_of(u32 index)
{
	return bpf_map_lookup_elem(&languages, &index);
}

static __always_inline struct language_scratch *language_scratch_of(u64 walk)
{
	u32 zero = 0;

	barrier_var(walk);
	return bpf_map_lookup_elem(&language_scratches, &zero);
}

/* Five sixths to read a segment, of the rest five sixths to keep it, and so on: a process that
 * makes its chain dear has native frames. */
static __always_inline u64 language_until(const struct scratch *s)
{
	u64 now = bpf_ktime_get_ns();

	return s->deadline_ns > now ? now + (s->deadline_ns - now) / 6 * 5 : now;
}

static __always_inline bool language_late(const struct language_scratch *c)
{
	return bpf_ktime_get_ns() >= c->until_ns;
}

struct language_text {
	u64 at;    /* of its characters; 0: it cannot be read */
	u64 bytes; /* of all characters */
	u32 width; /* bytes a character */
};

static __always_inline void language_text_find(
	u64 walk, const struct language *l, u64 str, struct language_text *text)
{
	u64 head[STR_HEAD_BYTES / 8];
	u32 state;

	*text = (struct language_text){ 0 };
	str += l->object_extra;
	if (walk_read(walk, head, sizeof(head), str))
		return;
	state = (u32)head[STR_STATE];
	state >>= l->text_shift;
	text->width = state & 7;
	if (!(state & STR_COMPACT) || (text->width != 1 && text->width != 2 && text->width != 4))
		return;
	text->at = str - l->object_extra + (state & STR_ASCII ? l->text_ascii : l->text_other);
	text->bytes = head[STR_LENGTH] * text->width;
}

/* The name's first bytes. 0: it cannot be read. Not static, as the next two: the verifier checks
 * each once. */
__noinline int language_read_name(u64 walk, u64 str)
{
	struct scratch *s = scratch_of(walk);
	struct language_scratch *c = language_scratch_of(walk);
	const struct language *l = s ? language_of(s->language) : NULL;
	struct language_text text;
	u64 bytes;

	if (!c || !l)
		return 0;
	language_text_find(walk, l, str, &text);
	bytes = text.bytes;
	c->event.name_width = text.width;
	c->event.name_cut = bytes > CODE_NAME_BYTES;
	if (bytes > CODE_NAME_BYTES)
		bytes = CODE_NAME_BYTES;
	c->event.name_bytes = bytes;
	asm volatile("" : "+r"(bytes));
	if (text.at == 0 || bytes > CODE_NAME_BYTES)
		return 0;
	return walk_read(walk, c->event.name, bytes, text.at) == 0;
}

/* The last bytes of the name of its source file, which say more. */
__noinline int language_read_file(u64 walk, u64 str)
{
	struct scratch *s = scratch_of(walk);
	struct language_scratch *c = language_scratch_of(walk);
	const struct language *l = s ? language_of(s->language) : NULL;
	struct language_text text;
	u64 bytes;

	if (!c || !l)
		return 0;
	language_text_find(walk, l, str, &text);
	bytes = text.bytes;
	c->event.file_width = text.width;
	c->event.file_cut = bytes > CODE_FILE_BYTES;
	if (bytes > CODE_FILE_BYTES) {
		text.at += bytes - CODE_FILE_BYTES;
		bytes = CODE_FILE_BYTES;
	}
	c->event.file_bytes = bytes;
	asm volatile("" : "+r"(bytes));
	if (text.at == 0 || bytes > CODE_FILE_BYTES)
		return 0;
	return walk_read(walk, c->event.file, bytes, text.at) == 0;
}

#define BYTES_HEAD_BYTES 32 /* of bytes of CPython: reference count, type, length, hash */

/* The table of lines. Without it the code has a name and no lines. */
__noinline int language_read_lines(u64 walk, u64 object)
{
	struct language_scratch *c = language_scratch_of(walk);
	u64 head[BYTES_HEAD_BYTES / 8], bytes;

	if (!c)
		return 0;
	c->event.lines_bytes = 0;
	if (walk_read(walk, head, sizeof(head), object))
		return 0;
	bytes = head[2] < CODE_LINES_BYTES ? head[2] : CODE_LINES_BYTES;
	asm volatile("" : "+r"(bytes));
	if (bytes > CODE_LINES_BYTES ||
		walk_read(walk, c->event.lines, bytes, object + BYTES_HEAD_BYTES))
		return 0;
	c->event.lines_bytes = bytes;
	return 0;
}

/* Sends the event, with an id of its own where it has none yet; as language_send(). Who may not
 * send uses no id up. */
static __always_inline u32 code_emit(
	struct scratch *s, struct language_scratch *c, u64 size, u32 id)
{
	if (!share_allows(SHARE_TALLY, size, tally_bytes, TALLY_CODES_BYTES_MAX))
		return CODE_UNREADABLE;
	__sync_fetch_and_add(&tally_bytes, size);
	c->event.id = id ? id : id_next(&s->code_counter, id_stride, walk_number());
	return emit(&c->event, size, BPF_RB_NO_WAKEUP) ? CODE_UNREADABLE : c->event.id;
}

/* Sends what names the code, whose window is in the scratch; id 0: it has none yet. The id; 0: it
 * is no code; CODE_UNREADABLE: it could not be read or sent. */
__noinline u32 language_send(u64 walk, u64 code, u32 id)
{
	struct scratch *s = scratch_of(walk);
	struct language_scratch *c = language_scratch_of(walk);
	const struct language *l = s ? language_of(s->language) : NULL;
	u64 size, type;

	if (!c || !l)
		return CODE_UNREADABLE;
	c->sent = 1;
	if (walk_read(walk, &type, sizeof(type), code + l->object_extra + 8))
		return CODE_UNREADABLE;
	if (type != c->base + l->code_type)
		return 0;
	c->event.kind = EVENT_CODE;
	c->event.start_ns = s->task.start_ns;
	c->event.tgid = s->task.tgid;
	c->event.language = l->kind;
	c->event.version = l->version;
	c->event.method = c->event.blob = c->event.compile_id = 0;
	c->event.first_line = code_u32(c, l->code_first_line);
	if (!language_read_name(walk, code_u64(c, l->code_name)) ||
		!language_read_file(walk, code_u64(c, l->code_file)))
		return CODE_UNREADABLE;
	language_read_lines(walk, code_u64(c, l->code_lines) + l->object_extra);
	size = c->event.lines_bytes;
	asm volatile("" : "+r"(size));
	if (size > CODE_LINES_BYTES)
		return CODE_UNREADABLE;
	size += offsetof(struct event_code, lines);
	return code_emit(s, c, size, id);
}

__noinline u32 hotspot_send(u64 walk, u32 id);

/* A code of an earlier epoch keeps its id. */
static __always_inline u32 code_id(u64 walk, u64 hash, enum language_kind kind, u64 code)
{
	u32 set_at = slot_index(hash, TASK_SETS_SHIFT), id;
	struct known_tasks *set = bpf_map_lookup_elem(&codes, &set_at);
	struct scratch *s = scratch_of(walk);
	struct known_task *slot;
	u64 word;

	if (!set || !s)
		return CODE_UNREADABLE;
	slot = task_known(set, hash, &word);
	if (slot && word >> 32 == epoch)
		return (u32)word;
	id = slot ? (u32)word : 0;
	id = kind == LANGUAGE_HOTSPOT ? hotspot_send(walk, id) : language_send(walk, code, id);
	if (id <= CODE_UNREADABLE)
		return id;
	if (!slot)
		slot = &set->ways[s->tick_ns >> KNOWN_ANY_SHIFT & (KNOWN_WAYS - 1)];
	word = (u64)epoch << 32 | id;
	slot_write(hash, &slot->tag, &slot->word, &word, TASK_WORDS);
	return id;
}

/* Needed by bpf/language.bpf.h and bpf/hotspot.bpf.h. */
static __always_inline u32 language_code_id(u64 walk, u64 hash, u64 code)
{
	return code_id(walk, hash, LANGUAGE_CPYTHON, code);
}

static __always_inline u32 hotspot_code_id(u64 walk, u64 hash)
{
	return code_id(walk, hash, LANGUAGE_HOTSPOT, 0);
}
