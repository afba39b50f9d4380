/* SPDX-License-Identifier: Apache-2.0 */
/* http/proto.c - the formats of sink/ that HTTP serves, with the types that browsers know. */
#include "http/proto.h"

#include <string.h>

const struct http_format http_formats[HTTP_FORMATS_LEN] = {
	{ "folded", "text/plain; charset=utf-8", "folded", true },
	{ "perf", "text/plain; charset=utf-8", "linux-perf.txt", true },
	{ "perfview", "application/zip", "trace.zip", false },
	{ "pprof", "application/octet-stream", "pb.gz", false },
	{ "speedscope", "application/json", "speedscope.json", false },
	{ "firefox", "application/json", "firefox.json", false },
	{ "html", "text/html; charset=utf-8", "html", true },
	{ "svg", "image/svg+xml", "svg", true },
	{ "stoker", "application/octet-stream", "stoker", false },
};

int http_format_find(const char *name)
{
	for (int i = 0; i < HTTP_FORMATS_LEN; i++)
		if (strcmp(http_formats[i].name, name) == 0)
			return i;
	return -1;
}

bool http_event_is_valid(const char *event)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_.,=/:-";

	return strnlen(event, HTTP_EVENT_MAX) < HTTP_EVENT_MAX && event[0] != '-' &&
		strspn(event, allowed) == strlen(event);
}

bool http_capture_is_valid(const struct http_message *m)
{
	return m->target < HTTP_TARGETS && (m->target == HTTP_ALL) == (m->text[0] == '\0') &&
		m->hz > 0 && m->hz <= HTTP_HZ_MAX && m->seconds > 0 &&
		m->seconds <= HTTP_SECONDS_MAX && m->format < HTTP_FORMATS_LEN && m->jit <= 1 &&
		http_event_is_valid(m->event);
}
