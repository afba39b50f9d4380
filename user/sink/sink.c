/* SPDX-License-Identifier: Apache-2.0 */
/* sink/sink.c - the table of formats, and the keys of --by that they share. */
#include "sink/sink.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "sink/guessed.h"

static const struct sink sinks[] = {
	{ "folded", ".folded .collapsedstack.txt", "one line a stack: frame;frame;frame COUNT", 0,
		guessed_write_folded, NULL, SINK_LABELS_BY },
	{ "perf", ".linux-perf.txt", "the output of `perf script`, each sample with its time",
		SINK_TIMES | SINK_TIDS | SINK_TIMED, NULL, &perf_text_stream, 0 },
	{ "perfview", ".trace.zip", "perf text and perf maps in an archive, for PerfView",
		SINK_TIMES | SINK_TIDS | SINK_TIMED, NULL, &perfview_stream, 0 },
	{ "pprof", ".pb.gz .pb .pprof", "profile.proto, for go tool pprof and others",
		SINK_TIDS | SINK_GZIP, pprof_write, NULL, SINK_KINDS | SINK_LABELS },
	{ "speedscope", ".speedscope.json", "for speedscope, with exact weights", SINK_TIMES_BY_TID,
		speedscope_write, NULL, SINK_KINDS | SINK_LABELS_BY },
	{ "firefox", ".firefox.json", "for the Firefox Profiler, with times and kinds of code",
		SINK_TIMES | SINK_TIDS | SINK_TIMED, firefox_write, NULL,
		SINK_KINDS | SINK_EVENTS },
	{ "html", ".html", "one page with flame graph, times and functions, for a browser",
		SINK_TIMES | SINK_TIDS, html_write, NULL, SINK_KINDS | SINK_LABELS },
	{ "svg", ".svg", "a flame graph with search and zoom, in one picture", 0, svg_write, NULL,
		SINK_LABELS_BY },
	{ "stoker", ".stoker", "all of a profile, in a file of its own; it may still change",
		SINK_TIMES | SINK_TIDS, stoker_write, NULL,
		SINK_KINDS | SINK_LABELS | SINK_EVENTS | SINK_ACCOUNT },
	{ "intervals", "", NULL, 0, intervals_write, NULL, SINK_LABELS_BY },
	{ 0 },
};

const struct sink *sink_list(void)
{
	return sinks;
}

const struct sink *sink_find(const char *name)
{
	for (const struct sink *s = sinks; s->name; s++)
		if (strcmp(s->name, name) == 0)
			return s;
	return NULL;
}

static size_t bare_length(const char *path)
{
	size_t len = strlen(path);

	if (len > 3 && memcmp(path + len - 3, ".gz", 3) == 0)
		return len - 3;
	if (len > 4 && memcmp(path + len - 4, ".zst", 4) == 0)
		return len - 4;
	return len;
}

static bool ends_with_one_of(const char *path, size_t len, const char *endings)
{
	while (*endings) {
		size_t n = strcspn(endings, " ");

		if (len > n && memcmp(path + len - n, endings, n) == 0)
			return true;
		endings += n + (endings[n] == ' ');
	}
	return false;
}

const struct sink *sink_for_path(const char *path)
{
	size_t lengths[] = { strlen(path), bare_length(path) };

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++)
		for (const struct sink *s = sinks; s->name; s++)
			if (ends_with_one_of(path, lengths[i], s->endings))
				return s;
	return NULL;
}

bool sink_wants(const struct sink_options *options, uint32_t key)
{
	for (uint32_t i = 0; i < options->by_len; i++)
		if (options->by[i] == key)
			return true;
	return false;
}

void sink_copy_by(struct sink_options *o, const struct sink_options *from)
{
	memcpy(o->by, from->by, sizeof(o->by));
	memcpy(o->free, from->free, sizeof(o->free));
	o->by_len = from->by_len;
	o->free_len = from->free_len;
}

const char *sink_by_name(const struct sink_options *o, uint32_t i)
{
	return o->by[i] < PROFILE_KEYS ? profile_key_name(NULL, o->by[i])
				       : o->free[o->by[i] - PROFILE_KEYS];
}

int sink_put_by(struct buf *out, const struct sink_options *o)
{
	for (uint32_t i = 0; i < o->by_len; i++)
		buf_printf(out, "%s%s%s", i > 0 ? "," : "",
			o->by[i] < PROFILE_KEYS ? "" : PROFILE_FREE_PREFIX, sink_by_name(o, i));
	return buf_err(out);
}

const char *sink_label(const struct profile *p, uint32_t labels, uint32_t key,
	char number[SINK_NUMBER_MAX])
{
	const char *text = number;
	int32_t value;

	if (key == PROFILE_NO_KEY)
		return "?";
	if (profile_key_is_number(key)) {
		value = profile_label_number(p, labels, key);
		snprintf(number, SINK_NUMBER_MAX, "%d", value);
		if (value < 0)
			text = "?";
	} else {
		text = profile_label_text(p, labels, key);
	}
	return *text ? text : "?";
}

const char *sink_by_label(const struct profile *p, const struct sink_options *o, uint32_t labels,
	uint32_t i, char number[SINK_NUMBER_MAX])
{
	const char *name = o->by[i] < PROFILE_KEYS ? NULL : sink_by_name(o, i);

	return sink_label(
		p, labels, name ? profile_key_find(p, name, strlen(name)) : o->by[i], number);
}

uint32_t sink_needs(const struct sink *sink, const struct sink_options *options)
{
	bool by_tid = sink->needs & SINK_TIMES_BY_TID && sink_wants(options, PROFILE_KEY_TID);

	return sink->needs | (by_tid ? SINK_TIMES | SINK_TIDS : 0);
}

#define NAMES_MAX 128

static bool needs_no_times(const struct sink *sink)
{
	return !(sink->needs & SINK_TIMED);
}

static bool holds_waits(const struct sink *sink)
{
	return needs_no_times(sink) || sink->holds & SINK_KINDS;
}

/* Those that people can choose: " folded pprof ...". */
static const char *list_names(bool (*is_one)(const struct sink *sink), char names[NAMES_MAX])
{
	size_t len = 0;

	names[0] = '\0';
	for (const struct sink *s = sinks; s->name; s++)
		if (s->text && is_one(s) && len < NAMES_MAX)
			len += (size_t)snprintf(names + len, NAMES_MAX - len, " %s", s->name);
	return names;
}

int sink_check_times(const struct sink *sink, const char *source, bool timed, struct why *why)
{
	char names[NAMES_MAX];

	if (timed || needs_no_times(sink))
		return 0;
	return why_set(why, -EINVAL, "%s has no times, which the format %s needs; choose one of:%s",
		source, sink->name, list_names(needs_no_times, names));
}

int sink_check_waits(const struct sink *sink, const char *source, struct why *why)
{
	char names[NAMES_MAX];

	if (holds_waits(sink))
		return 0;
	return why_set(why, -EINVAL,
		"%s: waits have no times, which the format %s needs; choose one of:%s", source,
		sink->name, list_names(holds_waits, names));
}

int sink_check_options(const struct sink *sink, const struct sink_options *o, struct why *why)
{
	if (o->no_period && strcmp(sink->name, "perf") != 0)
		return why_set(why, -EINVAL,
			"--no-period is for the format perf, not %s; add -f perf", sink->name);
	if (o->label_line && strcmp(sink->name, "folded") != 0)
		return why_set(why, -EINVAL,
			"--labels is for the format folded, not %s; add -f folded", sink->name);
	return 0;
}

static bool has_free(const struct sink_options *o, const char *name, size_t len)
{
	for (uint32_t i = 0; i < o->free_len; i++)
		if (strlen(o->free[i]) == len && memcmp(o->free[i], name, len) == 0)
			return true;
	return false;
}

static int add_free(struct sink_options *o, const char *name, size_t len, struct why *why)
{
	if (o->free_len == PROFILE_FREE_MAX)
		return why_set(why, -EINVAL, "--by: more than %d of " PROFILE_FREE_PREFIX "NAME",
			PROFILE_FREE_MAX);
	memcpy(o->free[o->free_len], name, len);
	o->free[o->free_len][len] = '\0';
	o->by[o->by_len++] = PROFILE_KEYS + o->free_len++;
	return 0;
}

int sink_parse_by(const char *text, struct sink_options *o, struct why *why)
{
	o->by_len = o->free_len = 0;
	while (*text) {
		size_t len = strcspn(text, ","), name_len;
		const char *name;
		uint32_t key;

		if (!profile_key_word(text, len, &name, &name_len))
			return why_set(why, -EINVAL,
				"--by: no such key: %.*s; it takes container, pod, namespace, "
				"image, unit, comm, pid, tid, cpu, " PROFILE_FREE_PREFIX "NAME",
				(int)len, text);
		key = profile_key_known(name, name_len);
		if (key == PROFILE_NO_KEY ? has_free(o, name, name_len) : sink_wants(o, key))
			return why_set(why, -EINVAL, "--by: %.*s is there twice", (int)len, text);
		if (key != PROFILE_NO_KEY)
			o->by[o->by_len++] = key;
		else if (add_free(o, name, name_len, why) < 0)
			return -EINVAL;
		text += len + (text[len] == ',');
	}
	return 0;
}
