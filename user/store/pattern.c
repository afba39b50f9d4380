/* SPDX-License-Identifier: Apache-2.0 */
/* store/pattern.c - PCRE2 without its compiler of machine code, which the sandbox would refuse.
 * Its allocations are counted here, because the library limits the memory of a match and not that
 * of a compilation. The CPU time is one budget for all threads. */
#include "store/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"

#define NESTING_MAX 32
#define DEPTH_MAX 20000
#define HEAD_BYTES 16 /* in front of each block: its size; keeps the alignment of malloc */

struct heap {
	size_t used, max;
};

struct pattern {
	struct heap heap;
	pcre2_general_context *general;
	pcre2_code *code;
	uint64_t used_ns; /* atomic: by matches */
};

struct pattern_room {
	struct heap heap;
	pcre2_general_context *general;
	pcre2_match_context *limits;
	pcre2_match_data *data;
};

/* ---- memory --------------------------------------------------------------------------------- */

static void *take_block(size_t size, void *ctx)
{
	struct heap *heap = ctx;
	char *block;

	if (size > heap->max - heap->used)
		return NULL;
	block = malloc(HEAD_BYTES + size);
	if (!block)
		return NULL;
	memcpy(block, &size, sizeof(size));
	heap->used += size;
	return block + HEAD_BYTES;
}

static void give_block(void *given, void *ctx)
{
	struct heap *heap = ctx;
	char *block = given;
	size_t size;

	if (!block)
		return;
	block -= HEAD_BYTES;
	memcpy(&size, block, sizeof(size));
	heap->used -= size;
	free(block);
}

/* ---- the expression ------------------------------------------------------------------------- */

static int compile(struct pattern *p, const char *text, struct why *why)
{
	const uint32_t options = PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_NEVER_BACKSLASH_C;
	pcre2_compile_context *limits = pcre2_compile_context_create(p->general);
	PCRE2_UCHAR reason[128] = "";
	PCRE2_SIZE at = 0;
	int error = 0;

	if (!limits)
		return why_set(why, -ENOMEM, "out of memory");
	pcre2_set_max_pattern_length(limits, PATTERN_BYTES_MAX);
	pcre2_set_parens_nest_limit(limits, NESTING_MAX);
	p->code = pcre2_compile(
		(PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, options, &error, &at, limits);
	pcre2_compile_context_free(limits);
	if (p->code)
		return 0;
	pcre2_get_error_message(error, reason, sizeof(reason));
	return why_set(why, -EINVAL, "function: %s, at character %zu", (const char *)reason, at);
}

int pattern_new(const char *text, struct pattern **out, struct why *why)
{
	_cleanup_(pattern_freep) struct pattern *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return why_set(why, -ENOMEM, "out of memory");
	p->heap.max = PATTERN_COMPILED_BYTES_MAX;
	p->general = pcre2_general_context_create(take_block, give_block, &p->heap);
	if (!p->general)
		return why_set(why, -ENOMEM, "out of memory");
	err = compile(p, text, why);
	if (err == 0)
		*out = TAKE_PTR(p);
	return err;
}

void pattern_free(struct pattern *p)
{
	if (!p)
		return;
	pcre2_code_free(p->code);
	pcre2_general_context_free(p->general);
	free(p);
}

/* ---- matches -------------------------------------------------------------------------------- */

static void room_free(struct pattern_room *room)
{
	if (!room)
		return;
	pcre2_match_data_free(room->data);
	pcre2_match_context_free(room->limits);
	pcre2_general_context_free(room->general);
	free(room);
}

static struct pattern_room *room_new(const struct pattern *p)
{
	struct pattern_room *room = calloc(1, sizeof(*room));

	if (!room)
		return NULL;
	/* The limit of a match is the library's: the rest is what describes it. */
	room->heap.max = 2 * PATTERN_MATCH_BYTES_MAX;
	room->general = pcre2_general_context_create(take_block, give_block, &room->heap);
	if (room->general) {
		room->limits = pcre2_match_context_create(room->general);
		room->data = pcre2_match_data_create_from_pattern(p->code, room->general);
	}
	if (!room->limits || !room->data) {
		room_free(room);
		return NULL;
	}
	pcre2_set_match_limit(room->limits, PATTERN_STEPS_MAX);
	pcre2_set_depth_limit(room->limits, DEPTH_MAX);
	pcre2_set_heap_limit(room->limits, PATTERN_MATCH_BYTES_MAX / 1024);
	return room;
}

int pattern_search_init(struct pattern_search *search, struct pattern *pattern)
{
	struct pattern_search made = { .pattern = pattern, .room = room_new(pattern) };

	if (!made.room || strtab_init(&made.names) < 0) {
		room_free(made.room);
		return -ENOMEM;
	}
	*search = made;
	return 0;
}

void pattern_search_done(struct pattern_search *search)
{
	if (!search->room)
		return;
	room_free(search->room);
	strtab_done(&search->names);
	vec_done(&search->results);
	*search = (struct pattern_search){ 0 };
}

/* As pattern_search_find. The budget is the CPU's, so a busy machine refuses nothing that an idle
 * one answers. */
static int match(struct pattern_search *s, const char *name, size_t len)
{
	const uint64_t most_ns = PATTERN_CPU_MS_MAX * NSEC_PER_MSEC;
	struct pattern *p = s->pattern;
	uint64_t from_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), used_ns;
	int got;

	if (__atomic_load_n(&p->used_ns, __ATOMIC_RELAXED) > most_ns)
		return -ETIMEDOUT;
	got = pcre2_match(
		p->code, (PCRE2_SPTR)name, len, 0, 0, s->room->data, s->room->limits);
	used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns;
	__atomic_fetch_add(&p->used_ns, used_ns, __ATOMIC_RELAXED);
	if (got >= 0)
		return 1;
	if (got == PCRE2_ERROR_NOMATCH)
		return 0;
	return got == PCRE2_ERROR_NOMEMORY ? -ENOMEM : -ETIMEDOUT;
}

int pattern_search_find(struct pattern_search *search, const char *name, size_t len)
{
	uint32_t id;
	int err = strtab_put(&search->names, name, len, &id);

	if (err < 0)
		return err;
	/* Numbers are dense, and "" has the first: its place is empty until it comes. */
	while (search->results.len <= id) {
		int *slot = vec_add(&search->results);

		if (!slot)
			return -ENOMEM;
		*slot = -EAGAIN;
	}
	if (search->results.data[id] == -EAGAIN)
		search->results.data[id] = match(search, name, len);
	return search->results.data[id];
}
