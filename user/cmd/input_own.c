/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/input_own.c - the files that stoker itself writes: a whole profile (profile/stoker_format.h),
 * and a segment of the store. Damage costs what comes after it, and is said with its place. */
#include "cmd/input_own.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "profile/folded_reader.h"
#include "profile/stoker_reader.h"
#include "store/answer.h"
#include "store/merge.h"
#include "store/segment.h"

#define TEXT_BYTES_MAX (4UL << 30) /* of a segment, unpacked */

/* ---- a whole profile ------------------------------------------------------------------------- */

static void add_key(struct sink_options *by, const struct profile *p, uint32_t key)
{
	vec_each (&p->label_list, label) {
		if (label->key != key)
			continue;
		by->by[by->by_len++] = key;
		return;
	}
}

int input_read_stoker(struct input *input, struct bytes file, struct profile *out, struct log *log,
	struct why *why)
{
	struct stoker_found found;
	int err = stoker_read(file, out, &found);

	if (err == -ENOTSUP)
		return why_set(why, err,
			"%s: a profile of another version of stoker: this one reads version 0",
			input->path);
	if (err == -ENOMEM)
		return why_set(why, err, "cannot read %s: %s", input->path, err_text(err));
	if (err < 0 && out->samples.len == 0 && out->events.len == 0)
		return why_set(why, err, "%s: damaged: at byte %llu %s", input->path,
			(unsigned long long)found.at, found.what);
	if (err < 0)
		log_warn(log, "%s: damaged: at byte %llu %s; only what comes before it is read",
			input->path, (unsigned long long)found.at, found.what);
	if (out->ticks_dropped > 0)
		log_warn(log, "%s: %llu samples have no times", input->path,
			(unsigned long long)out->ticks_dropped);
	add_key(&input->by, out, PROFILE_KEY_CONTAINER);
	add_key(&input->by, out, PROFILE_KEY_COMM);
	return 0;
}

/* ---- a segment ------------------------------------------------------------------------------- */

/* The lines of a kind, as the answer of a query has them. */
static int read_kind(struct segment *s, uint32_t kind, struct query_answer *answer)
{
	const uint64_t weight = kind > 0 ? segment_weight(&s->kinds.data[kind - 1])
					 : NSEC_PER_SEC / s->about.hz;
	int err = 0;

	answer->hz = s->about.hz;
	buf_puts(&answer->by, s->about.by);
	if (kind > 0) {
		buf_puts(&answer->kind, s->kinds.data[kind - 1].name);
		buf_puts(&answer->unit, s->kinds.data[kind - 1].unit);
		answer->period_ns = s->kinds.data[kind - 1].period_ns;
	}
	for (size_t i = 0; i < s->groups.len && err == 0; i++) {
		_cleanup_(buf_done) struct buf text = BUF_INIT;

		if (s->groups.data[i].kind != kind)
			continue;
		err = segment_read(s, i, &text);
		if (err == 0)
			err = merge_add_text(&answer->merge,
				(struct bytes){ (const uint8_t *)text.data, text.len }, weight);
	}
	return err;
}

static int add_kind(struct segment *s, uint32_t kind, struct profile *out)
{
	_cleanup_(query_answer_done) struct query_answer answer = { 0 };
	int err = query_answer_init(&answer);

	if (err == 0)
		err = read_kind(s, kind, &answer);
	return err < 0 ? err : answer_add(&answer, out);
}

static int read_facts(struct segment *s, struct input *input, struct profile *out, struct why *why)
{
	_cleanup_(freep) char *account =
		strndup((const char *)s->account.data, s->account.len);

	if (!account || profile_string(out, account, &out->account) < 0)
		return why_set(why, -ENOMEM, "out of memory");
	out->start_ns = s->about.start_ns;
	out->duration_ns = s->about.end_ns - s->about.start_ns;
	return sink_parse_by(s->about.by, &input->by, why);
}

int input_read_segment(struct input *input, struct segment *s, struct profile *out,
	struct log *log, struct why *why)
{
	uint64_t bytes = 0;
	int err = 0;

	vec_each (&s->groups, group)
		bytes += group->text_bytes;
	if (bytes > TEXT_BYTES_MAX)
		return why_set(why, -EFBIG, "%s: more than %lu GB of text", input->path,
			TEXT_BYTES_MAX >> 30);
	for (uint32_t kind = 0; kind <= s->kinds.len && err == 0; kind++)
		err = add_kind(s, kind, out);
	if (err == -ENOSPC) {
		log_warn(log, "%s: kinds of value beyond the first %d are left out", input->path,
			PROFILE_KINDS_MAX);
		err = 0;
	}
	if (err == -EBADMSG)
		return why_set(why, err,
			"%s: cannot be decompressed: it is damaged or truncated", input->path);
	if (err < 0)
		return why_set(why, err, "cannot read %s: %s", input->path, err_text(err));
	return read_facts(s, input, out, why);
}
