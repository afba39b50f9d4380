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
		guessed_write_folded, NULL },
	{ "perf", ".linux-perf.txt", "the output of `perf script`, each sample with its time",
		SINK_TIMES | SINK_TIDS | SINK_TIMED, NULL, &perf_text_stream },
	{ "perfview", ".trace.zip", "perf text and perf maps in an archive, for PerfView",
		SINK_TIMES | SINK_TIDS | SINK_TIMED, NULL, &perfview_stream },
	{ "pprof", ".pb.gz .pb .pprof", "profile.proto, for go tool pprof and others",
		SINK_TIDS | SINK_GZIP, pprof_write, NULL },
	{ "speedscope", ".speedscope.json", "for speedscope, with exact weights", SINK_TIMES_BY_TID,
		speedscope_write, NULL },
	{ "firefox", ".firefox.json", "for the Firefox Profiler, with times and kinds of code",
		SINK_TIMES | SINK_TIDS | SINK_TIMED, firefox_write, NULL },
	{ "html", ".html", "one page with flame graph, times and functions, for a browser",
		SINK_TIMES | SINK_TIDS, html_write, NULL },
	{ "svg", ".svg", "a flame graph with search and zoom, in one picture", 0, svg_write, NULL },
	{ "intervals", "", NULL, 0, intervals_write, NULL },
	{ 0 },
};

static const char *const key_names[SINK_KEYS] = {
	[SINK_CONTAINER] = "container",
	[SINK_POD] = "pod",
	[SINK_NAMESPACE] = "namespace",
	[SINK_IMAGE] = "image",
	[SINK_UNIT] = "unit",
	[SINK_COMM] = "comm",
	[SINK_PID] = "pid",
	[SINK_TID] = "tid",
	[SINK_CPU] = "cpu",
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

static int find_key(const char *text, size_t len)
{
	for (int key = 0; key < SINK_KEYS; key++)
		if (strlen(key_names[key]) == len && memcmp(key_names[key], text, len) == 0)
			return key;
	return -EINVAL;
}

bool sink_wants(const struct sink_options *options, enum sink_key key)
{
	for (uint32_t i = 0; i < options->by_len; i++)
		if (options->by[i] == key)
			return true;
	return false;
}

const char *sink_label(const struct profile *p, const struct profile_labels *l, enum sink_key key,
	char number[SINK_NUMBER_MAX])
{
	const uint32_t texts[] = {
		[SINK_CONTAINER] = l->container,
		[SINK_POD] = l->pod,
		[SINK_NAMESPACE] = l->namespace_,
		[SINK_IMAGE] = l->image,
		[SINK_UNIT] = l->unit,
		[SINK_COMM] = l->comm,
	};
	const char *text = number;
	int32_t value;

	if (key < ARRAY_SIZE(texts)) {
		text = profile_text(p, texts[key]);
	} else {
		value = key == SINK_PID ? l->pid : key == SINK_TID ? l->tid : l->cpu;
		snprintf(number, SINK_NUMBER_MAX, "%d", value);
		if (value < 0)
			text = "?";
	}
	return *text ? text : "?";
}

const char *sink_key_name(enum sink_key key)
{
	return key_names[key];
}

uint32_t sink_needs(const struct sink *sink, const struct sink_options *options)
{
	bool by_tid = sink->needs & SINK_TIMES_BY_TID && sink_wants(options, SINK_TID);

	return sink->needs | (by_tid ? SINK_TIMES | SINK_TIDS : 0);
}

int sink_check_times(const struct sink *sink, const char *source, bool timed, struct why *why)
{
	char others[128] = "";
	size_t len = 0;

	if (timed || !(sink->needs & SINK_TIMED))
		return 0;
	for (const struct sink *s = sinks; s->name; s++)
		if (s->text && !(s->needs & SINK_TIMED) && len < sizeof(others))
			len += (size_t)snprintf(others + len, sizeof(others) - len, " %s", s->name);
	return why_set(why, -EINVAL, "%s has no times, which the format %s needs; choose one of:%s",
		source, sink->name, others);
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

int sink_parse_by(const char *text, struct sink_options *options, struct why *why)
{
	options->by_len = 0;
	while (*text) {
		size_t len = strcspn(text, ",");
		int key = find_key(text, len);

		if (key < 0)
			return why_set(why, -EINVAL,
				"--by: no such key: %.*s; it takes container, pod, namespace, "
				"image, unit, comm, pid, tid, cpu",
				(int)len, text);
		if (sink_wants(options, (enum sink_key)key))
			return why_set(why, -EINVAL, "--by: %.*s is there twice", (int)len, text);
		options->by[options->by_len++] = (enum sink_key)key;
		text += len + (text[len] == ',');
	}
	return 0;
}
