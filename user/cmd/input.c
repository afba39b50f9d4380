/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/input.c - reads a file whole, decompresses it, and calls the reader of its format. The file
 * is untrusted: callers have dropped their privileges. */
#include "cmd/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "profile/folded_reader.h"
#include "profile/perf_reader.h"
#include "sink/decompress.h"

#define INPUT_BYTES_MAX (4UL << 30) /* unpacked */

static int read_whole(const char *path, struct buf *out)
{
	return strcmp(path, "-") == 0 ? fd_read_all(STDIN_FILENO, INPUT_BYTES_MAX, out)
				      : fd_read_path(path, INPUT_BYTES_MAX, out);
}

static int fail(const char *path, int err, struct why *why)
{
	const char *name = strcmp(path, "-") == 0 ? "stdin" : path;

	if (err == -EBADMSG)
		return why_set(
			why, err, "%s: cannot be decompressed: it is damaged or truncated", name);
	if (err == -EFBIG)
		return why_set(
			why, err, "%s: more than %lu GB of text", name, INPUT_BYTES_MAX >> 30);
	return why_set(why, err, "cannot read %s: %s", name, err_text(err));
}

static int read_folded(const char *path, const struct buf *text, struct profile *out,
	struct log *log, struct why *why)
{
	struct folded_counts counts;
	int err =
		folded_read((struct bytes){ (const uint8_t *)text->data, text->len }, out, &counts);

	if (err < 0)
		return fail(path, err, why);
	if (counts.lines == 0 && counts.bad > 0)
		return why_set(why, -EBADMSG,
			"%s: not a supported profile: line %llu is not `frame;frame COUNT`", path,
			(unsigned long long)counts.bad_at);
	if (counts.bad > 0)
		log_warn(log,
			"%s: skipped %llu lines that are not folded stacks, the first is line %llu",
			path, (unsigned long long)counts.bad, (unsigned long long)counts.bad_at);
	return 0;
}

/* cycles (111 samples), ...: all events but the wanted one, which may be NULL. */
static void put_events(
	struct buf *out, const struct perf_counts *counts, const struct perf_event *wanted)
{
	for (uint32_t i = 0; i < counts->events_len; i++) {
		const struct perf_event *event = &counts->events[i];

		if (event == wanted)
			continue;
		buf_puts(out, out->len > 0 ? ", " : "");
		buf_put(out, event->name.len > 0 ? (const char *)event->name.data : "(no name)",
			event->name.len > 0 ? event->name.len : strlen("(no name)"));
		buf_printf(out, " (%llu samples)", (unsigned long long)event->samples);
	}
	if (counts->further > 0)
		buf_printf(out, ", others (%llu samples)", (unsigned long long)counts->further);
}

static const struct perf_event *find_event(const struct perf_counts *counts, const char *name)
{
	for (uint32_t i = 0; i < counts->events_len; i++)
		if (counts->events[i].name.len == strlen(name) &&
			memcmp(counts->events[i].name.data, name, strlen(name)) == 0)
			return &counts->events[i];
	return NULL;
}

/* Samples of other events are never added: says which were left out. */
static int report_events(const char *path, const char *event, const struct perf_counts *counts,
	struct log *log, struct why *why)
{
	_cleanup_(buf_done) struct buf others = BUF_INIT;
	const struct perf_event *read = event ? find_event(counts, event) : counts->events;

	put_events(&others, counts, read);
	if (event && counts->samples == 0)
		return why_set(why, -EINVAL, "%s: no event %s; it has %s", path, event,
			others.len > 0 ? buf_text(&others) : "no samples");
	if (counts->samples > 0 && others.len > 0 && !event)
		log_warn(log,
			"%s has several events: read %.*s (%llu samples), left out %s; -e of "
			"`stoker convert` chooses another",
			path, (int)read->name.len, (const char *)read->name.data,
			(unsigned long long)counts->samples, buf_text(&others));
	return 0;
}

static int read_perf(const char *path, const char *event, struct bytes text, struct profile *out,
	struct log *log, struct why *why)
{
	struct perf_counts counts;
	int err = perf_read(text, event, out, &counts);

	if (err < 0)
		return fail(path, err, why);
	if (counts.bad > 0)
		log_warn(log,
			"%s: skipped %llu lines that are neither samples nor frames, the first is "
			"line %llu",
			path, (unsigned long long)counts.bad, (unsigned long long)counts.bad_at);
	if (out->ticks_dropped > 0)
		log_warn(log, "%s: of %llu samples only the first %u have their times", path,
			(unsigned long long)counts.samples, PROFILE_TICKS_MAX);
	return report_events(path, event, &counts, log, why);
}

int input_load(
	const char *path, const char *event, struct profile *out, struct log *log, struct why *why)
{
	_cleanup_(buf_done) struct buf packed = BUF_INIT;
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct bytes bytes;
	int err = read_whole(path, &packed);

	if (err == 0)
		err = decompress((struct bytes){ (const uint8_t *)packed.data, packed.len },
			INPUT_BYTES_MAX, &text);
	if (err < 0)
		return fail(path, err, why);
	bytes = (struct bytes){ (const uint8_t *)text.data, text.len };
	if (perf_looks_like(bytes))
		return read_perf(path, event, bytes, out, log, why);
	return event ? why_set(why, -EINVAL, "-e: %s is no perf text and has no events", path)
		     : read_folded(path, &text, out, log, why);
}

bool input_has_comm(const struct profile *profile)
{
	vec_each (&profile->labels, labels)
		if (labels->comm != 0)
			return true;
	return false;
}
