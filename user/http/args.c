/* SPDX-License-Identifier: Apache-2.0 */
/* http/args.c - one table of names. A name that is unknown, or not for this request, is refused and
 * not skipped: a misspelt `container` must not give the whole host. */
#include "http/args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/utf8.h"
#include "store/when.h"
#include "sink/sink.h"

#define SECONDS_DEFAULT 10
#define HZ_DEFAULT 99

static const struct name {
	const char *text;
	enum http_arg arg;
	enum http_target target; /* HTTP_ALL: none */
} names[] = {
	{ "seconds", HTTP_ARG_SECONDS, 0 },
	{ "hz", HTTP_ARG_HZ, 0 },
	{ "container", HTTP_ARG_TARGET | HTTP_ARG_MATCH, HTTP_CONTAINER },
	{ "pod", HTTP_ARG_TARGET | HTTP_ARG_MATCH, HTTP_POD },
	{ "unit", HTTP_ARG_TARGET | HTTP_ARG_MATCH, HTTP_UNIT },
	{ "cgroup", HTTP_ARG_TARGET, HTTP_CGROUP },
	{ "namespace", HTTP_ARG_MATCH, 0 },
	{ "image", HTTP_ARG_MATCH, 0 },
	{ "comm", HTTP_ARG_MATCH, 0 },
	{ "format", HTTP_ARG_FORMAT, 0 },
	{ "since", HTTP_ARG_SPAN, 0 },
	{ "until", HTTP_ARG_SPAN, 0 },
	{ "function", HTTP_ARG_FUNCTION, 0 },
	{ "top", HTTP_ARG_TOP, 0 },
	{ "trend", HTTP_ARG_TREND, 0 },
	{ "cells", HTTP_ARG_CELLS, 0 },
	{ "ticket", HTTP_ARG_TICKET, 0 },
	{ "jit", HTTP_ARG_JIT, 0 },
	{ "e", HTTP_ARG_EVENT, 0 },
};

void http_args_init(struct http_args *args, uint32_t takes, uint64_t now_ns)
{
	*args = (struct http_args){ .takes = takes,
		.now_ns = now_ns,
		.seconds = SECONDS_DEFAULT,
		.hz = HZ_DEFAULT,
		.format = -1,
		.until_ns = now_ns };
}

static int take_number(
	const char *name, const char *value, uint32_t max, uint32_t *out, struct why *why)
{
	size_t len = strlen(value);
	unsigned long number;

	if (len == 0 || len > 9 || strspn(value, "0123456789") < len)
		return why_set(why, -EINVAL, "%s=%s: it takes a whole number", name, value);
	number = strtoul(value, NULL, 10);
	if (number == 0 || number > max)
		return why_set(why, -EINVAL, "%s=%s: it takes 1 to %u", name, value, max);
	*out = (uint32_t)number;
	return 0;
}

static int take_label(struct http_args *a, const struct name *n, const char *value, struct why *why)
{
	struct http_match *match = &a->matches[a->matches_len];

	if (*value == '\0')
		return why_set(why, -EINVAL, "%s= needs a name", n->text);
	if (a->takes & HTTP_ARG_TARGET) {
		if (a->target != HTTP_ALL)
			return why_set(why, -EINVAL,
				"give only one of container, pod, unit and cgroup");
		a->target = n->target;
		snprintf(a->target_name, sizeof(a->target_name), "%s", value);
		return 0;
	}
	match->key = n->text;
	snprintf(match->value, sizeof(match->value), "%s", value);
	a->matches_len++;
	return 0;
}

static int refuse_format(const char *value, struct why *why)
{
	char known[128] = "";
	size_t len = 0;

	for (int i = 0; i < HTTP_FORMATS_LEN && len < sizeof(known); i++)
		len += (size_t)snprintf(
			known + len, sizeof(known) - len, " %s", http_formats[i].name);
	return why_set(why, -EINVAL, "format=%s: unknown; choose one of:%s", value, known);
}

static int take_format(struct http_args *a, const char *value, struct why *why)
{
	a->format = http_format_find(value);
	if (a->format < 0)
		return refuse_format(value, why);
	return sink_check_times(sink_find(value), "the store", !(a->takes & HTTP_ARG_SPAN), why);
}

static int take_event(struct http_args *a, const char *value, struct why *why)
{
	if (!http_event_is_valid(value) || *value == '\0')
		return why_set(why, -EINVAL,
			"e=%s: it takes the name of a kind, such as cpu or wall", value);
	snprintf(a->event, sizeof(a->event), "%s", value);
	return 0;
}

static int take_value(struct http_args *a, const struct name *n, const char *value, struct why *why)
{
	switch (n->arg) {
	case HTTP_ARG_SECONDS:
		return take_number(n->text, value, HTTP_SECONDS_MAX, &a->seconds, why);
	case HTTP_ARG_HZ:
		return take_number(n->text, value, HTTP_HZ_MAX, &a->hz, why);
	case HTTP_ARG_TOP:
		return take_number(n->text, value, HTTP_TOP_MAX, &a->top, why);
	case HTTP_ARG_CELLS:
		return take_number(n->text, value, HTTP_CELLS_MAX, &a->cells, why);
	case HTTP_ARG_JIT:
		return take_number(n->text, value, 1, &a->jit, why);
	case HTTP_ARG_EVENT:
		return take_event(a, value, why);
	case HTTP_ARG_FORMAT:
		return take_format(a, value, why);
	case HTTP_ARG_SPAN:
		return when_parse(value, a->now_ns,
			strcmp(n->text, "since") == 0 ? &a->since_ns : &a->until_ns, why);
	case HTTP_ARG_FUNCTION:
		snprintf(a->function, sizeof(a->function), "%s", value);
		return 0;
	case HTTP_ARG_TICKET:
		snprintf(a->ticket, sizeof(a->ticket), "%s", value);
		return 0;
	case HTTP_ARG_TREND:
		a->trend = true;
		return 0;
	default:
		return take_label(a, n, value, why);
	}
}

/* Not part of a reason, which is for a person, as it came. */
static int refuse_name(const char *name, struct why *why)
{
	char shown[64];

	strncpy(shown, name, sizeof(shown) - 1);
	shown[sizeof(shown) - 1] = '\0';
	utf8_clean(shown);
	return why_set(why, -EINVAL, "no such parameter here: %s", shown);
}

int http_args_take(
	struct http_args *args, const char *name, const char *value, size_t len, struct why *why)
{
	char clean[HTTP_VALUE_MAX];

	value = value ? value : "";
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(names[i].text, name) != 0 || !(names[i].arg & args->takes))
			continue;
		if (args->seen & (1ULL << i))
			return why_set(why, -EINVAL, "%s is there twice", name);
		args->seen |= 1ULL << i;
		if (strlen(value) != len || len >= HTTP_VALUE_MAX)
			return why_set(why, -EINVAL, "%s is longer than %d bytes, or no text", name,
				HTTP_VALUE_MAX - 1);
		snprintf(clean, sizeof(clean), "%s", value);
		utf8_clean(clean);
		if (strcmp(clean, value) != 0)
			return why_set(why, -EINVAL, "%s is no text", name);
		return take_value(args, &names[i], value, why);
	}
	return refuse_name(name, why);
}

int http_args_check(const struct http_args *args, struct why *why)
{
	if (args->since_ns >= args->until_ns)
		return why_set(why, -EINVAL, "since is not before until");
	if (args->format >= 0 && (args->top > 0 || args->trend))
		return why_set(why, -EINVAL, "a profile, or top or trend: not both");
	return 0;
}
