/* SPDX-License-Identifier: Apache-2.0 */
/* sink/firefox.c - the Firefox Profiler's processed profile, version 49, which all later versions
 * read. Each thread has its own tables (firefox_tables.h). Samples of a kind but the first are a
 * thread of their own, as a thread has one table of weights. Events are markers. */
#include "sink/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/own.h"
#include "base/radix.h"
#include "sink/firefox_tables.h"
#include "sink/guessed.h"
#include "sink/json.h"

#define NS_PER_MS 1000000.0

static const char meta_categories[] =
	"[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"User\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"JIT\",\"color\":\"green\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Inlined\",\"color\":\"lightblue\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Interpreted\",\"color\":\"purple\",\"subcategories\":[\"Other\"]}]";

struct entry {
	uint32_t group; /* thread * number of kinds + kind; entries are sorted by it */
	uint32_t sample;
	uint64_t time_ns; /* since the first tick */
	uint64_t weight;
};

/* An event as a marker of its thread. */
struct marker {
	uint32_t group; /* as an entry's, of kind 0; sorted by it */
	uint32_t event;
};

struct firefox {
	const struct profile *profile;
	struct buf *out;
	struct hash threads;
	VEC(struct entry) entries;
	VEC(struct marker) markers;
	uint64_t first_ns; /* the time of the profile's zero */
	struct firefox_tables tables; /* of the thread at work */
};

static void firefox_done(struct firefox *w)
{
	hash_done(&w->threads);
	vec_done(&w->entries);
	vec_done(&w->markers);
	firefox_tables_done(&w->tables);
}

/* ---- whose and when ----------------------------------------------------------------------------
 */

/* The number of a thread's samples of a kind. */
static uint32_t group_of(struct firefox *w, uint32_t labels, uint32_t kind)
{
	int32_t pid = profile_label_number(w->profile, labels, PROFILE_KEY_PID);
	int32_t tid = profile_label_number(w->profile, labels, PROFILE_KEY_TID);
	uint64_t key = (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid, *thread;

	if (!hash_find(&w->threads, key))
		buf_fail(w->out, hash_put(&w->threads, key, w->threads.len));
	thread = hash_find(&w->threads, key);
	return thread ? (uint32_t)*thread * w->profile->kinds_len + kind : 0;
}

static void add_entry(struct firefox *w, uint32_t sample, uint64_t time_ns, uint64_t weight)
{
	const struct profile_sample *of = &w->profile->samples.data[sample];
	uint32_t group = group_of(w, of->labels, of->kind);
	struct entry *slot = vec_add(&w->entries);

	if (slot)
		*slot = (struct entry){ group, sample, time_ns, weight };
	else
		buf_fail(w->out, -ENOMEM);
}

static void add_markers(struct firefox *w)
{
	const struct profile *p = w->profile;

	for (uint32_t i = 0; i < p->events.len; i++) {
		struct marker *slot = vec_add(&w->markers);

		if (slot)
			*slot = (struct marker){ group_of(w, p->events.data[i].labels, 0), i };
		else
			buf_fail(w->out, -ENOMEM);
	}
	buf_fail(w->out, radix_sort32(w->markers.data, w->markers.len, sizeof(*w->markers.data)));
}

/* Samples without a time come at the end. */
static void add_entries(struct firefox *w)
{
	const struct profile *p = w->profile;
	_cleanup_(freep) uint64_t *timed = calloc(p->samples.len + 1, sizeof(*timed));
	uint64_t first = w->first_ns, last = 0;

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

static bool is_timed(const struct profile *p, uint32_t kind)
{
	return profile_kind_is_time(p, kind) && (kind > 0 || p->kinds[kind].unit != 0);
}

/* Of kind 0 the weights are samples; of others milliseconds, where they are time. */
static const char *weight_type(const struct profile *p, uint32_t kind)
{
	if (p->kinds[kind].unit != 0 && strcmp(profile_kind_unit(p, kind), "bytes") == 0)
		return "bytes";
	return is_timed(p, kind) ? "tracing-ms" : "samples";
}

static void put_weight(struct firefox *w, uint32_t kind, uint64_t weight)
{
	if (is_timed(w->profile, kind))
		buf_printf(w->out, "%.15g",
			(double)profile_kind_amount(w->profile, kind, weight) / NS_PER_MS);
	else
		buf_printf(w->out, "%llu", (unsigned long long)weight);
}

static void put_samples(struct firefox *w, const struct entry *entries, size_t len)
{
	uint32_t kind = len > 0 ? w->profile->samples.data[entries[0].sample].kind : 0;

	buf_printf(w->out, ",\n\"samples\":{\"length\":%zu,\"weightType\":\"%s\",\"stack\":[", len,
		weight_type(w->profile, kind));
	for (size_t i = 0; i < len; i++) {
		const struct profile_sample *sample = &w->profile->samples.data[entries[i].sample];
		int64_t at = firefox_stack(&w->tables, sample->stack);

		if (i > 0)
			buf_putc(w->out, ',');
		firefox_number(w->out, at, "null");
	}
	buf_puts(w->out, "],\n\"time\":[");
	for (size_t i = 0; i < len; i++)
		buf_printf(w->out, "%s%.10g", i > 0 ? "," : "",
			(double)entries[i].time_ns / NS_PER_MS);
	buf_puts(w->out, "],\n\"weight\":[");
	for (size_t i = 0; i < len; i++) {
		buf_puts(w->out, i > 0 ? "," : "");
		put_weight(w, kind, entries[i].weight);
	}
	buf_puts(w->out, "]}");
}

/* T, and T (wall) for samples of another kind. */
static void put_thread_name(struct firefox *w, const char *name, uint32_t kind)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	buf_puts(&text, *name ? name : "?");
	if (kind > 0)
		buf_printf(&text, " (%s)", profile_kind_name(w->profile, kind));
	buf_fail(w->out, buf_err(&text));
	json_put(w->out, buf_text(&text));
}

/* A thread's part of the samples and of the events. */
struct part {
	const struct entry *entries;
	const struct marker *markers;
	size_t entries_len, markers_len;
};

static const struct profile_event *event_at(
	const struct firefox *w, const struct part *part, size_t i)
{
	return &w->profile->events.data[part->markers[i].event];
}

static double marker_ms(const struct firefox *w, uint64_t time_ns)
{
	return (double)(time_ns - w->first_ns) / NS_PER_MS;
}

static void put_marker_data(struct firefox *w, const struct profile_event *event)
{
	buf_puts(w->out, "{\"type\":\"stoker\"");
	if (event->stack != PROFILE_NO_STACK) {
		buf_printf(w->out, ",\"cause\":{\"time\":%.10g,\"stack\":",
			marker_ms(w, event->time_ns));
		firefox_number(w->out, firefox_stack(&w->tables, event->stack), "null");
		buf_putc(w->out, '}');
	}
	buf_putc(w->out, '}');
}

/* One column after the other. A moment has phase 0 and no end, a span phase 1. */
static void put_markers(struct firefox *w, const struct part *part)
{
	static const char *const names[] = { "category", "data", "endTime", "name", "phase",
		"startTime" };

	buf_printf(w->out, "\"markers\":{\"length\":%zu", part->markers_len);
	for (size_t column = 0; column < ARRAY_SIZE(names); column++) {
		buf_printf(w->out, ",\"%s\":[", names[column]);
		for (size_t i = 0; i < part->markers_len; i++) {
			const struct profile_event *e = event_at(w, part, i);

			buf_puts(w->out, i > 0 ? "," : "");
			if (column == 0)
				buf_putc(w->out, '0');
			else if (column == 1)
				put_marker_data(w, e);
			else if (column == 2 && e->duration_ns == 0)
				buf_puts(w->out, "null");
			else if (column == 3)
				firefox_number(
					w->out, firefox_string(&w->tables, e->text), "0");
			else if (column == 4)
				buf_putc(w->out, e->duration_ns > 0 ? '1' : '0');
			else
				buf_printf(w->out, "%.10g",
					marker_ms(w, e->time_ns +
						(column == 2 ? e->duration_ns : 0)));
		}
		buf_putc(w->out, ']');
	}
	buf_puts(w->out, "},\n");
}

/* "9"; "9.wall" of samples of another kind. */
static void put_tid(struct firefox *w, int32_t tid, uint32_t kind)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	buf_printf(&text, "%d", tid);
	if (kind > 0)
		buf_printf(&text, ".%s", profile_kind_name(w->profile, kind));
	buf_fail(w->out, buf_err(&text));
	json_put(w->out, buf_text(&text));
}

static void put_thread_head(
	struct firefox *w, uint32_t labels, uint32_t kind, const struct part *part)
{
	const char *name = profile_label_text(w->profile, labels, PROFILE_KEY_COMM);
	int32_t pid = profile_label_number(w->profile, labels, PROFILE_KEY_PID);
	int32_t tid = profile_label_number(w->profile, labels, PROFILE_KEY_TID);

	buf_puts(w->out, "{\"name\":");
	put_thread_name(w, name, kind);
	buf_puts(w->out, ",\"processName\":");
	json_put(w->out, *name ? name : "?");
	buf_printf(w->out, ",\"isMainThread\":%s,\"pid\":\"%d\",\"tid\":",
		(pid == tid || tid < 0) && kind == 0 ? "true" : "false", pid < 0 ? 0 : pid);
	put_tid(w, tid < 0 ? pid : tid, kind);
	buf_printf(w->out,
		",\"processType\":\"default\",\"processStartupTime\":0,"
		"\"processShutdownTime\":null,\"registerTime\":0,"
		"\"unregisterTime\":null,\"pausedRanges\":[],"
		"\"showMarkersInTimeline\":%s,\n",
		part->markers_len > 0 ? "true" : "false");
	put_markers(w, part);
	buf_puts(w->out,
		"\"nativeSymbols\":{\"length\":0,\"address\":[],"
		"\"functionSize\":[],\"libIndex\":[],\"name\":[]}");
}

/* Samples and markers come first: they fill the tables that they refer to. */
static void put_thread(struct firefox *w, const struct part *part)
{
	const struct profile_sample *last = part->entries_len > 0
		? &w->profile->samples.data[part->entries[part->entries_len - 1].sample]
		: NULL;
	uint32_t labels = last ? last->labels : event_at(w, part, 0)->labels;

	firefox_tables_clear(&w->tables);
	put_thread_head(w, labels, last ? last->kind : 0, part);
	put_samples(w, part->entries, part->entries_len);
	/* Tables refer to each other: they are whole or not written. */
	if (buf_err(w->out) < 0)
		return;
	firefox_tables_write(&w->tables);
	buf_putc(w->out, '}');
}

/* Both lists are sorted by group. */
static struct part next_part(const struct firefox *w, size_t *entry, size_t *marker)
{
	struct part part = { 0 };
	uint32_t group = UINT32_MAX;

	if (*entry < w->entries.len)
		group = w->entries.data[*entry].group;
	if (*marker < w->markers.len && w->markers.data[*marker].group < group)
		group = w->markers.data[*marker].group;
	part.entries = w->entries.data ? w->entries.data + *entry : NULL;
	part.markers = w->markers.data ? w->markers.data + *marker : NULL;
	for (; *entry < w->entries.len && w->entries.data[*entry].group == group; ++*entry)
		part.entries_len++;
	for (; *marker < w->markers.len && w->markers.data[*marker].group == group; ++*marker)
		part.markers_len++;
	return part;
}

static void put_threads(struct firefox *w)
{
	size_t entry = 0, marker = 0;

	buf_puts(w->out, "\"threads\":[");
	while (entry < w->entries.len || marker < w->markers.len) {
		struct part part;

		if (entry > 0 || marker > 0)
			buf_puts(w->out, ",\n");
		part = next_part(w, &entry, &marker);
		put_thread(w, &part);
	}
	buf_puts(w->out,
		"],\n\"pages\":[],\"profilerOverhead\":[],"
		"\"counters\":[]}\n");
}

#define MARKER_SCHEMA                                                                    \
	"{\"name\":\"stoker\",\"display\":[\"marker-chart\",\"marker-table\","             \
	"\"timeline-overview\"],\"data\":[]}"

static void put_meta(struct firefox *w)
{
	const struct profile *p = w->profile;
	double start_ms = (double)p->start_ns / NS_PER_MS;
	char guessed[GUESSED_MAX];

	if (p->start_tick_ns > 0 && w->first_ns > p->start_tick_ns)
		start_ms += (double)(w->first_ns - p->start_tick_ns) / NS_PER_MS;
	buf_printf(w->out,
		"{\"meta\":{\"product\":\"stoker\",\"version\":24,"
		"\"preprocessedProfileVersion\":49,\"startTime\":%.3f,\"interval\":%.6g,"
		"\"processType\":0,\"debug\":false,\"symbolicated\":true,\"pausedRanges\":[],"
		"\"extensions\":{\"baseURL\":[],\"id\":[],\"length\":0,\"name\":[]},"
		"\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
		"\"threadCPUDelta\":\"\xc2\xb5s\"},\"usesOnlyOneStackType\":true,"
		"\"doesNotUseFrameImplementation\":true,\"sourceCodeIsNotOnSearchfox\":true,"
		"\"markerSchema\":[%s],\"categories\":%s",
		start_ms, p->kinds[0].period_ns ? (double)p->kinds[0].period_ns / NS_PER_MS : 1.0,
		p->events.len > 0 ? MARKER_SCHEMA : "", meta_categories);
	if (*guessed_text(p, guessed))
		buf_printf(w->out,
			",\"extra\":[{\"label\":\"Stacks\",\"entries\":[{\"label\":\"Guessed\","
			"\"format\":\"string\",\"value\":\"%s\"}]}]",
			guessed);
	buf_puts(w->out, "},\n\"libs\":[],\n");
}

static uint64_t first_time(const struct profile *p)
{
	uint64_t first_ns = p->ticks.len > 0 ? p->ticks.data[0].time_ns : 0;

	if (p->events.len > 0 && (p->ticks.len == 0 || p->events.data[0].time_ns < first_ns))
		first_ns = p->events.data[0].time_ns;
	return first_ns;
}

int firefox_write(const struct profile *p, const struct sink_options *options, struct buf *out)
{
	_cleanup_(firefox_done) struct firefox w = { .profile = p, .out = out };

	(void)options;
	w.first_ns = first_time(p);
	firefox_tables_init(&w.tables, p, out);
	add_entries(&w);
	add_markers(&w);
	if (buf_err(out) < 0)
		return buf_err(out);
	put_meta(&w);
	put_threads(&w);
	return buf_err(out);
}
