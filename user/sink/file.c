/* SPDX-License-Identifier: Apache-2.0 */
/* sink/file.c - one interface for formats that stream and formats that do not. The bytes of a
 * buffer that failed never leave it; where bytes go is the caller's business. */
#include "sink/file.h"

#include "sink/sink.h"

/* Hands the bytes on, unless the buffer has failed. */
static int hand_on(struct sink_out *out)
{
	if (buf_err(&out->buf) < 0 || !out->take)
		return buf_err(&out->buf);
	if (out->buf.len > 0 && buf_fail(&out->buf, out->take(out->ctx, &out->buf)) < 0)
		return buf_err(&out->buf);
	buf_clear(&out->buf);
	return 0;
}

int sink_out_more(struct sink_out *out)
{
	return out->buf.len < SINK_OUT_BYTES ? buf_err(&out->buf) : hand_on(out);
}

int sink_file_open(
	struct sink_file *file, const struct sink *sink, const struct sink_options *options)
{
	*file = (struct sink_file){ .sink = sink, .options = options };
	return sink->stream ? sink->stream->open(options, &file->state) : 0;
}

int sink_file_put(struct sink_file *file, const struct profile *profile)
{
	const struct sink *sink = file->sink;
	int err = sink->stream ? sink->stream->put(file->state, profile, &file->out)
			       : sink->write(profile, file->options, &file->out.buf);

	if (err == 0)
		sink_lost_add(&file->lost, sink, file->options, profile);
	return err < 0 ? err : hand_on(&file->out);
}

int sink_file_end(struct sink_file *file)
{
	int err = file->sink->stream ? file->sink->stream->end(file->state, &file->out) : 0;

	return err < 0 ? err : hand_on(&file->out);
}

void sink_file_done(struct sink_file *file)
{
	if (file->sink && file->sink->stream)
		file->sink->stream->free(file->state);
	buf_done(&file->out.buf);
	*file = (struct sink_file){ 0 };
}
