/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/hotspot_maps.bpf.h - the processes whose runtime is HotSpot, and the event that names a
 * method when it is sampled first: its class may be unloaded at any time. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"
#include "bpf/hotspot.bpf.h"
#include "bpf/language_maps.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HOTSPOTS_MAX);
	__type(key, struct hotspot_key);
	__type(value, struct hotspot);
} hotspots SEC(".maps");

static __always_inline struct hotspot_scratch *hotspot_of(u64 walk)
{
	struct language_scratch *c = language_scratch_of(walk);

	return c ? &c->hotspot : NULL;
}

/* Is the process one of them? Asked at a walk's first code without a file. Not static: the stack of
 * who calls it has no room. */
__noinline int hotspot_begin(u64 walk)
{
	struct hotspot_scratch *h = hotspot_of(walk);
	struct scratch *s = scratch_of(walk);
	struct hotspot_key key = { 0 };
	const struct hotspot *process;

	if (!s)
		return 0;
	if (s->hotspot)
		return s->hotspot > 1;
	key.start_ns = s->task.start_ns;
	key.tgid = s->task.tgid;
	process = bpf_map_lookup_elem(&hotspots, &key);
	s->hotspot = process && h ? 2 : 1;
	if (process && h) {
		h->process = *process;
		h->process_hash = mix(mix(stacks_secret, s->task.start_ns), s->task.tgid);
		h->name = 0;
	}
	return s->hotspot > 1;
}

/* The symbol's first bytes, as the name, or as the name of the class that the event has for a file.
 * Modified UTF-8. Their number; 0: it cannot be read. */
__noinline u32 hotspot_read_symbol(u64 walk, u64 symbol, u32 is_file)
{
	struct language_scratch *c = language_scratch_of(walk);
	u64 bytes = 0;
	u16 length;

	if (!c ||
		walk_read(walk, &length, sizeof(length),
			symbol + c->hotspot.process.symbol_length))
		return 0;
	bytes = length < CODE_NAME_BYTES ? length : CODE_NAME_BYTES;
	symbol += c->hotspot.process.symbol_body;
	asm volatile("" : "+r"(bytes));
	if (bytes == 0 || bytes > CODE_NAME_BYTES)
		return 0;
	if (is_file ? walk_read(walk, c->event.file, bytes, symbol)
		    : walk_read(walk, c->event.name, bytes, symbol))
		return 0;
	if (is_file)
		c->event.file_cut = length > CODE_NAME_BYTES;
	else
		c->event.name_cut = length > CODE_NAME_BYTES;
	return bytes;
}

/* Name and class of the method. False: they cannot be read. */
static __always_inline bool hotspot_read_method(u64 walk, struct language_scratch *c)
{
	struct hotspot_scratch *h = &c->hotspot;
	u64 pool, symbol, holder;

	if ((h->step != HOTSPOT_INTERPRETER &&
		    walk_read(walk, &h->constant_at, sizeof(h->constant_at),
			    h->method + h->process.method_const)) ||
		walk_read(walk, h->constant, CONST_WINDOW, h->constant_at))
		return false;
	pool = constant_u64(h, h->process.const_constants);
	if (walk_read(walk, &symbol, sizeof(symbol),
		    pool + h->process.pool_bytes +
			    8 * constant_u16(h, h->process.const_name)) ||
		walk_read(walk, &holder, sizeof(holder), pool + h->process.pool_holder) ||
		walk_read(walk, &holder, sizeof(holder), holder + h->process.klass_name))
		return false;
	c->event.name_bytes = hotspot_read_symbol(walk, symbol & ~1ULL, 0);
	c->event.file_bytes = hotspot_read_symbol(walk, holder, 1);
	return c->event.name_bytes && c->event.file_bytes;
}

#define HAS_LINES 1
#define LINES_FEW 128
#define LINES_MANY 1024

/* The table of lines follows the bytecode. Its length is unknown, and there may be no memory after
 * it. */
static __always_inline u32 hotspot_read_lines(u64 walk, struct language_scratch *c)
{
	const struct hotspot_scratch *h = &c->hotspot;
	u64 at = h->constant_at + h->process.const_bytes +
		constant_u16(h, h->process.const_code_size);

	if (h->step != HOTSPOT_INTERPRETER ||
		!(constant_u16(h, h->process.const_flags) & HAS_LINES))
		return 0;
	if (walk_read(walk, c->event.lines, LINES_MANY, at) == 0)
		return LINES_MANY;
	return walk_read(walk, c->event.lines, LINES_FEW, at) == 0 ? LINES_FEW : 0;
}

#define BLOB_NAME_BYTES 32

/* Sends what names the code that the scratch has. As language_send(). */
__noinline u32 hotspot_send(u64 walk, u32 id)
{
	struct scratch *s = scratch_of(walk);
	struct language_scratch *c = language_scratch_of(walk);
	u64 size;

	if (!c || !s)
		return CODE_UNREADABLE;
	c->event.kind = EVENT_CODE;
	c->event.start_ns = s->task.start_ns;
	c->event.tgid = s->task.tgid;
	c->event.language = LANGUAGE_HOTSPOT;
	c->event.version = c->hotspot.process.version;
	c->event.first_line = 0;
	c->event.name_width = c->event.file_width = 1;
	c->event.lines_bytes = 0;
	c->event.method = c->hotspot.method;
	c->event.blob = hotspot_is_compiled(&c->hotspot) ? c->hotspot.blob_at : 0;
	c->event.compile_id = c->event.blob ? c->hotspot.compile_id : 0;
	if (c->hotspot.method) {
		if (!hotspot_read_method(walk, c))
			return CODE_UNREADABLE;
		c->event.lines_bytes = hotspot_read_lines(walk, c);
	} else {
		if (walk_read(walk, c->event.name, BLOB_NAME_BYTES, c->hotspot.name))
			return CODE_UNREADABLE;
		c->event.name_bytes = BLOB_NAME_BYTES;
		c->event.file_bytes = c->event.file_cut = c->event.name_cut = 0;
	}
	size = offsetof(struct event_code, lines) + c->event.lines_bytes;
	asm volatile("" : "+r"(size));
	if (size > sizeof(c->event))
		return CODE_UNREADABLE;
	return code_emit(s, c, size, id);
}

/* Needed by bpf/frame.bpf.h. */
static __always_inline void walk_generated(struct scratch *s, u64 pc)
{
	if (s->hotspot > 1 || hotspot_begin(walk_of(s)))
		hotspot_look(walk_of(s), pc);
}

static __always_inline u32 walk_generated_step(struct scratch *s)
{
	struct hotspot_scratch *h = hotspot_of(walk_of(s));

	if (s->hotspot <= 1 || !h || h->step == HOTSPOT_NONE)
		return END_UNSUPPORTED;
	return hotspot_step(walk_of(s));
}
