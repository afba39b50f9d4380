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

static int read_perf(
	const char *path, struct bytes text, struct profile *out, struct log *log, struct why *why)
{
	struct perf_counts counts;
	int err = perf_read(text, out, &counts);

	if (err < 0)
		return fail(path, err, why);
	if (counts.bad > 0)
		log_warn(log,
			"%s: skipped %llu lines that are neither samples nor frames, the first is "
			"line %llu",
			path, (unsigned long long)counts.bad, (unsigned long long)counts.bad_at);
	if (out->ticks_dropped > 0)
		log_warn(log, "%s: of %llu samples only the first %u have their times", path,
			(unsigned long long)out->ticks_dropped, PROFILE_TICKS_MAX);
	return 0;
}

int input_load(const char *path, struct profile *out, struct log *log, struct why *why)
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
	return perf_looks_like(bytes) ? read_perf(path, bytes, out, log, why)
				      : read_folded(path, &text, out, log, why);
}

bool input_has_comm(const struct profile *profile)
{
	vec_each (&profile->labels, labels)
		if (labels->comm != 0)
			return true;
	return false;
}
