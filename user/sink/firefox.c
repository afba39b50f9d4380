/* SPDX-License-Identifier: Apache-2.0 */
/* sink/firefox.c - the Firefox Profiler's processed profile, version 49, which all later versions
 * read. Each thread has its own tables, column by column, whose rows refer to each other by number:
 * a sample to a stack, a stack to the stack below it and a frame, a frame to a function, a function
 * to its library. A row gets its number when the thread first needs it. */
#include "sink/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/own.h"
#include "base/radix.h"
#include "sink/guessed.h"
#include "sink/json.h"

#define NS_PER_MS 1000000.0
#define NONE (-1)

/* By enum profile_class; MARK is Other. */
static const int categories[] = {
	[PROFILE_NATIVE] = 1,
	[PROFILE_KERNEL] = 2,
	[PROFILE_JIT] = 3,
	[PROFILE_INLINED] = 4,
	[PROFILE_LANGUAGE] = 5,
	[PROFILE_MARK] = 0,
};

static const char meta_categories[] =
	"[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"User\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"JIT\",\"color\":\"green\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Inlined\",\"color\":\"lightblue\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Interpreted\",\"color\":\"purple\",\"subcategories\":[\"Other\"]}]";

/* Numbers of the profile that a thread has met, in order. */
struct met {
	VEC(uint64_t) keys;
	struct hash index;
};

struct entry {
	uint32_t group; /* of its thread; sorted by it */
	uint32_t sample;
	uint64_t time_ns; /* since the first tick */
	uint64_t weight;
};

struct firefox {
	const struct profile *profile;
	struct buf *out;
	uint32_t *func_of; /* by frame: a frame that has the same function */
	struct hash threads;
	VEC(struct entry) entries;
	struct met frames, funcs, resources, strings, stacks; /* of the thread at work */
};

static void met_done(struct met *met)
{
	vec_done(&met->keys);
	hash_done(&met->index);
}

static void met_clear(struct met *met)
{
	met->keys.len = 0;
	hash_clear(&met->index);
}

static void firefox_done(struct firefox *w)
{
	free(w->func_of);
	hash_done(&w->threads);
	vec_done(&w->entries);
	met_done(&w->frames);
	met_done(&w->funcs);
	met_done(&w->resources);
	met_done(&w->strings);
	met_done(&w->stacks);
}

/* ---- whose and when ----------------------------------------------------------------------------
 */

static bool same_function(const struct profile_frame *a, const struct profile_frame *b)
{
	return a->name == b->name && a->module == b->module && a->file == b->file;
}

static void find_functions(struct firefox *w)
{
	const struct profile *p = w->profile;
	_cleanup_(hash_done) struct hash known = HASH_INIT;

	w->func_of = calloc(p->frames.len + 1, sizeof(*w->func_of));
	if (!w->func_of)
		buf_fail(w->out, -ENOMEM);
	for (size_t i = 0; w->func_of && i < p->frames.len; i++) {
		const struct profile_frame *f = &p->frames.data[i];
		const uint32_t what[] = { f->name, f->module, f->file };
		uint64_t key = hash_bytes(what, sizeof(what)), *have;

		while ((have = hash_find(&known, key)) && !same_function(&p->frames.data[*have], f))
			key++;
		w->func_of[i] = have ? (uint32_t)*have : (uint32_t)i;
		if (!have)
			buf_fail(w->out, hash_put(&known, key, i));
	}
}

static void add_entry(struct firefox *w, uint32_t sample, uint64_t time_ns, uint64_t weight)
{
	uint32_t labels = w->profile->samples.data[sample].labels;
	int32_t pid = profile_label_number(w->profile, labels, PROFILE_KEY_PID);
	int32_t tid = profile_label_number(w->profile, labels, PROFILE_KEY_TID);
	uint64_t key = (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid, *group;
	struct entry *slot = vec_add(&w->entries);

	if (!slot ||
		(!hash_find(&w->threads, key) && hash_put(&w->threads, key, w->threads.len) < 0)) {
		buf_fail(w->out, -ENOMEM);
		return;
	}
	if (buf_err(w->out) < 0)
		return;
	group = hash_find(&w->threads, key);
	*slot = (struct entry){ (uint32_t)*group, sample, time_ns, weight };
}

/* Samples without a time come at the end. */
static void add_entries(struct firefox *w)
{
	const struct profile *p = w->profile;
	_cleanup_(freep) uint64_t *timed = calloc(p->samples.len + 1, sizeof(*timed));
	uint64_t first = p->ticks.len ? p->ticks.data[0].time_ns : 0, last = 0;

	if (!timed) {
		buf_fail(w->out, -ENOMEM);
		return;
	}
	for (size_t i = 0; i < p->ticks.len; i++) {
		last = p->ticks.data[i].time_ns - first;
		timed[p->ticks.data[i].sample]++;
		add_entry(w, p->ticks.data[i].sample, last, 1);
	}
	for (size_t i = 0; i < p->samples.len; i++)
		if (p->samples.data[i].value > timed[i])
			add_entry(w, (uint32_t)i, last, p->samples.data[i].value - timed[i]);
	buf_fail(w->out, radix_sort32(w->entries.data, w->entries.len, sizeof(*w->entries.data)));
}

/* ---- a thread's tables -------------------------------------------------------------------------
 */

/* The number of a key. Without memory the output fails, and the number has no meaning. */
static int64_t meet(struct firefox *w, struct met *met, uint64_t key)
{
	uint64_t *have = hash_find(&met->index, key), *slot;

	if (have)
		return (int64_t)*have;
	slot = vec_add(&met->keys);
	if (!slot || hash_put(&met->index, key, met->keys.len - 1) < 0) {
		buf_fail(w->out, -ENOMEM);
		return NONE;
	}
	*slot = key;
	return (int64_t)met->keys.len - 1;
}

static int64_t meet_frame(struct firefox *w, uint32_t frame)
{
	const struct profile_frame *f = &w->profile->frames.data[frame];

	meet(w, &w->funcs, w->func_of[frame]);
	meet(w, &w->strings, f->name);
	if (f->file)
		meet(w, &w->strings, f->file);
	if (f->module) {
		meet(w, &w->strings, f->module);
		meet(w, &w->resources, f->module);
	}
	return meet(w, &w->frames, frame);
}

/* A stack is the one below it, counted from 1, and a frame; NONE for one without frames. */
static int64_t meet_stack(struct firefox *w, uint32_t stack)
{
	const struct profile *p = w->profile;
	const struct profile_stack *s = &p->stacks.data[stack];
	int64_t at = NONE;

	for (uint32_t i = s->len; i-- > 0;) {
		int64_t frame = meet_frame(w, p->frame_ids.data[s->first + i]);

		at = meet(w, &w->stacks, (uint64_t)(at + 1) << 32 | (uint64_t)frame);
	}
	return at;
}

static int64_t place_of(const struct met *met, uint64_t key)
{
	uint64_t *at = hash_find(&met->index, key);

	return at ? (int64_t)*at : NONE;
}

static const struct profile_frame *frame_at(const struct firefox *w, uint64_t key)
{
	return &w->profile->frames.data[key];
}

static int64_t frame_address(const struct firefox *w, uint64_t key)
{
	uint64_t address = frame_at(w, key)->address;

	/* A double has 53 bits, too few for the kernel's addresses. */
	return frame_at(w, key)->class == PROFILE_KERNEL ? 0
							 : (int64_t)(address & ((1ULL << 53) - 1));
}

static int64_t frame_category(const struct firefox *w, uint64_t key)
{
	return categories[frame_at(w, key)->class];
}

static int64_t frame_func(const struct firefox *w, uint64_t key)
{
	return place_of(&w->funcs, w->func_of[key]);
}

static int64_t frame_line(const struct firefox *w, uint64_t key)
{
	return frame_at(w, key)->line ? (int64_t)frame_at(w, key)->line : NONE;
}

static int64_t func_name(const struct firefox *w, uint64_t key)
{
	return place_of(&w->strings, frame_at(w, key)->name);
}

static int64_t func_file(const struct firefox *w, uint64_t key)
{
	return frame_at(w, key)->file ? place_of(&w->strings, frame_at(w, key)->file) : NONE;
}

static int64_t string_of(const struct firefox *w, uint64_t key)
{
	return place_of(&w->strings, key);
}

static int64_t stack_prefix(const struct firefox *w, uint64_t key)
{
	(void)w;
	return (int64_t)(key >> 32) - 1;
}

static int64_t stack_frame(const struct firefox *w, uint64_t key)
{
	(void)w;
	return (int64_t)(uint32_t)key;
}

static int64_t stack_category(const struct firefox *w, uint64_t key)
{
	return frame_category(w, w->frames.keys.data[(uint32_t)key]);
}

/* -1 and not null: no library. */
static int64_t func_resource(const struct firefox *w, uint64_t key)
{
	return frame_at(w, key)->module ? place_of(&w->resources, frame_at(w, key)->module) : NONE;
}

/* A column of a table: what it has in the row of a key. */
struct column {
	const char *name;
	int64_t (*value)(const struct firefox *w, uint64_t key); /* NULL: NONE in all rows */
	const char *none;                                        /* what stands for NONE */
};

static const struct column stack_columns[] = {
	{ "prefix", stack_prefix, "null" },
	{ "frame", stack_frame, "" },
	{ "category", stack_category, "" },
	{ "subcategory", NULL, "0" },
	{ NULL, NULL, NULL },
};
static const struct column resource_columns[] = {
	{ "lib", NULL, "null" },
	{ "name", string_of, "" },
	{ "host", NULL, "null" },
	{ "type", NULL, "1" },
	{ NULL, NULL, NULL },
};
static const struct column frame_columns[] = {
	{ "address", frame_address, "" },
	{ "inlineDepth", NULL, "0" },
	{ "category", frame_category, "" },
	{ "subcategory", NULL, "0" },
	{ "func", frame_func, "" },
	{ "line", frame_line, "null" },
	{ "nativeSymbol", NULL, "null" },
	{ "innerWindowID", NULL, "null" },
	{ "implementation", NULL, "null" },
	{ "column", NULL, "null" },
	{ NULL, NULL, NULL },
};
static const struct column func_columns[] = {
	{ "name", func_name, "" },
	{ "isJS", NULL, "false" },
	{ "relevantForJS", NULL, "false" },
	{ "resource", func_resource, "-1" },
	{ "fileName", func_file, "null" },
	{ "lineNumber", NULL, "null" },
	{ "columnNumber", NULL, "null" },
	{ NULL, NULL, NULL },
};

static void put_number(struct firefox *w, int64_t number, const char *none)
{
	if (number == NONE)
		buf_puts(w->out, none);
	else
		buf_printf(w->out, "%lld", (long long)number);
}

static void put_column(struct firefox *w, const struct column *column, const struct met *met)
{
	buf_printf(w->out, ",\"%s\":[", column->name);
	for (size_t i = 0; i < met->keys.len; i++) {
		int64_t value = column->value ? column->value(w, met->keys.data[i]) : NONE;

		if (i > 0)
			buf_putc(w->out, ',');
		put_number(w, value, column->none);
	}
	buf_putc(w->out, ']');
}

/* A row for each that was met. */
static void put_table(
	struct firefox *w, const char *name, const struct met *met, const struct column *columns)
{
	buf_printf(w->out, ",\n\"%s\":{\"length\":%zu", name, met->keys.len);
	for (; columns->name; columns++)
		put_column(w, columns, met);
	buf_putc(w->out, '}');
}

static void put_strings(struct firefox *w)
{
	buf_puts(w->out, ",\n\"stringArray\":[");
	for (size_t i = 0; i < w->strings.keys.len; i++) {
		const char *text = profile_text(w->profile, (uint32_t)w->strings.keys.data[i]);

		if (i > 0)
			buf_putc(w->out, ',');
		json_put(w->out, *text ? text : "?");
	}
	buf_putc(w->out, ']');
}

static void put_samples(struct firefox *w, const struct entry *entries, size_t len)
{
	buf_printf(w->out, ",\n\"samples\":{\"length\":%zu,\"weightType\":\"samples\",\"stack\":[",
		len);
	for (size_t i = 0; i < len; i++) {
		const struct profile_sample *sample = &w->profile->samples.data[entries[i].sample];
		int64_t at = meet_stack(w, sample->stack);

		if (i > 0)
			buf_putc(w->out, ',');
		put_number(w, at, "null");
	}
	buf_puts(w->out, "],\n\"time\":[");
	for (size_t i = 0; i < len; i++)
		buf_printf(w->out, "%s%.10g", i > 0 ? "," : "",
			(double)entries[i].time_ns / NS_PER_MS);
	buf_puts(w->out, "],\n\"weight\":[");
	for (size_t i = 0; i < len; i++)
		buf_printf(
			w->out, "%s%llu", i > 0 ? "," : "", (unsigned long long)entries[i].weight);
	buf_puts(w->out, "]}");
}

static void put_thread_head(struct firefox *w, uint32_t labels)
{
	const char *name = profile_label_text(w->profile, labels, PROFILE_KEY_COMM);
	int32_t pid = profile_label_number(w->profile, labels, PROFILE_KEY_PID);
	int32_t tid = profile_label_number(w->profile, labels, PROFILE_KEY_TID);

	buf_puts(w->out, "{\"name\":");
	json_put(w->out, *name ? name : "?");
	buf_puts(w->out, ",\"processName\":");
	json_put(w->out, *name ? name : "?");
	buf_printf(w->out,
		",\"isMainThread\":%s,\"pid\":\"%d\",\"tid\":\"%d\","
		"\"processType\":\"default\",\"processStartupTime\":0,"
		"\"processShutdownTime\":null,\"registerTime\":0,"
		"\"unregisterTime\":null,\"pausedRanges\":[],"
		"\"showMarkersInTimeline\":false,\n"
		"\"markers\":{\"length\":0,\"category\":[],\"data\":[],"
		"\"endTime\":[],\"name\":[],\"phase\":[],\"startTime\":[]},\n"
		"\"nativeSymbols\":{\"length\":0,\"address\":[],"
		"\"functionSize\":[],\"libIndex\":[],\"name\":[]}",
		pid == tid || tid < 0 ? "true" : "false", pid < 0 ? 0 : pid, tid < 0 ? pid : tid);
}

/* Samples come first: they fill the tables that they refer to. */
static void put_thread(struct firefox *w, const struct entry *entries, size_t len)
{
	const struct profile_sample *last = &w->profile->samples.data[entries[len - 1].sample];

	put_thread_head(w, last->labels);
	met_clear(&w->frames);
	met_clear(&w->funcs);
	met_clear(&w->resources);
	met_clear(&w->strings);
	met_clear(&w->stacks);
	put_samples(w, entries, len);
	/* Tables refer to each other: they are whole or not written. */
	if (buf_err(w->out) < 0)
		return;
	put_table(w, "stackTable", &w->stacks, stack_columns);
	put_table(w, "resourceTable", &w->resources, resource_columns);
	put_table(w, "frameTable", &w->frames, frame_columns);
	put_table(w, "funcTable", &w->funcs, func_columns);
	put_strings(w);
	buf_putc(w->out, '}');
}

static void put_threads(struct firefox *w)
{
	size_t len = w->entries.len;

	buf_puts(w->out, "\"threads\":[");
	for (size_t at = 0; at < len;) {
		size_t from = at;

		while (at < len && w->entries.data[at].group == w->entries.data[from].group)
			at++;
		if (from > 0)
			buf_puts(w->out, ",\n");
		put_thread(w, w->entries.data + from, at - from);
	}
	buf_puts(w->out,
		"],\n\"pages\":[],\"profilerOverhead\":[],"
		"\"counters\":[]}\n");
}

static void put_meta(struct firefox *w)
{
	const struct profile *p = w->profile;
	double start_ms = (double)p->start_ns / NS_PER_MS;
	char guessed[GUESSED_MAX];

	if (p->ticks.len > 0 && p->start_tick_ns > 0 && p->ticks.data[0].time_ns > p->start_tick_ns)
		start_ms += (double)(p->ticks.data[0].time_ns - p->start_tick_ns) / NS_PER_MS;
	buf_printf(w->out,
		"{\"meta\":{\"product\":\"stoker\",\"version\":24,"
		"\"preprocessedProfileVersion\":49,\"startTime\":%.3f,\"interval\":%.6g,"
		"\"processType\":0,\"debug\":false,\"symbolicated\":true,\"pausedRanges\":[],"
		"\"extensions\":{\"baseURL\":[],\"id\":[],\"length\":0,\"name\":[]},"
		"\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
		"\"threadCPUDelta\":\"\xc2\xb5s\"},\"usesOnlyOneStackType\":true,"
		"\"doesNotUseFrameImplementation\":true,\"sourceCodeIsNotOnSearchfox\":true,"
		"\"markerSchema\":[],\"categories\":%s",
		start_ms, p->period_ns ? (double)p->period_ns / NS_PER_MS : 1.0, meta_categories);
	if (*guessed_text(p, guessed))
		buf_printf(w->out,
			",\"extra\":[{\"label\":\"Stacks\",\"entries\":[{\"label\":\"Guessed\","
			"\"format\":\"string\",\"value\":\"%s\"}]}]",
			guessed);
	buf_puts(w->out, "},\n\"libs\":[],\n");
}

int firefox_write(const struct profile *p, const struct sink_options *options, struct buf *out)
{
	_cleanup_(firefox_done) struct firefox w = { .profile = p, .out = out };

	(void)options;
	find_functions(&w);
	add_entries(&w);
	if (buf_err(out) < 0)
		return buf_err(out);
	put_meta(&w);
	put_threads(&w);
	return buf_err(out);
}
