/* SPDX-License-Identifier: Apache-2.0 */
/* store/segment.c - lines come sorted, so the lines of a group, which share their first frame,
 * follow each other. Each group is a Zstandard frame with its own checksum, so damage is detected
 * and stays in its group. Sizes of a head are checked against the file's bytes before they are
 * used. */
#include "store/segment.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <zstd.h>

#include "store/line.h"

#define ZSTD_LEVEL 6 /* a higher one takes more memory than the text, for a twentieth less */
#define KINDS_LEVEL 12 /* after a prefix a sixth less than by 6 */

/* ---- writing ------------------------------------------------------------------------------- */

struct writing {
	ZSTD_CCtx *zstd;
	json_t *groups, *kinds;
	struct buf frames, packed;
	struct bytes text; /* of CPU samples */
	uint64_t samples;
};

/* The groups of a kind, while they are written. */
struct grouping {
	json_t *groups;
	bool whole; /* one group, after the prefix */
	struct bytes prefix;
	uint64_t samples;
};

static void writing_done(struct writing *w)
{
	ZSTD_freeCCtx(w->zstd);
	json_decref(w->groups);
	json_decref(w->kinds);
	buf_done(&w->frames);
	buf_done(&w->packed);
}

static int compress(struct writing *w, struct bytes text, struct buf *out, size_t *size)
{
	size_t bound = ZSTD_compressBound(text.len), len;
	char *room;
	int err = buf_reserve(out, bound, &room);

	if (err < 0)
		return err;
	len = ZSTD_compress2(w->zstd, room, bound, text.data, text.len);
	if (ZSTD_isError(len))
		return -EIO;
	buf_commit(out, len);
	*size = len;
	return 0;
}

static void put_skippable_head(struct buf *out, size_t len)
{
	const uint32_t frame[2] = { SEGMENT_SKIPPABLE_MAGIC, (uint32_t)len };

	buf_fail(out, len > UINT32_MAX ? -EFBIG : 0);
	buf_put(out, frame, sizeof(frame));
}

static int put_group(struct writing *w, struct grouping *g, struct bytes name, struct bytes text,
	uint64_t samples)
{
	size_t size;
	int err;

	buf_clear(&w->packed);
	if (g->whole &&
		(ZSTD_isError(ZSTD_CCtx_setParameter(
			 w->zstd, ZSTD_c_compressionLevel, KINDS_LEVEL)) ||
			ZSTD_isError(ZSTD_CCtx_refPrefix(w->zstd, g->prefix.data, g->prefix.len))))
		return -EIO;
	err = compress(w, text, g->whole ? &w->packed : &w->frames, &size);
	if (err < 0)
		return err;
	if (g->whole) {
		put_skippable_head(&w->frames, size);
		buf_append(&w->frames, &w->packed);
	}
	if (__builtin_add_overflow(g->samples, samples, &g->samples) || g->samples > INT64_MAX)
		return -EFBIG;
	return json_array_append_new(g->groups,
		       json_pack("{s:s%, s:I, s:I, s:I}", "name", (const char *)name.data, name.len,
			       "samples", (json_int_t)samples, "bytes", (json_int_t)size, "text",
			       (json_int_t)text.len)) < 0
		? -ENOMEM
		: 0;
}

/* As many lines as begin with the same frame; all that are left when there may be no more groups.
 */
static int take_group(
	struct cursor *c, bool is_last, struct bytes *name, struct bytes *text, uint64_t *samples)
{
	const uint8_t *start = c->at;
	struct line line;

	*samples = 0;
	*name = (struct bytes){ (const uint8_t *)"", 0 };
	while (cursor_left(c) > 0) {
		struct cursor next = *c;
		struct bytes first;

		if (!line_read(&next, &line))
			return -EBADMSG;
		first = line_frame(&line.stack);
		if (c->at == start && !is_last)
			*name = first;
		else if (!is_last &&
			(first.len != name->len || memcmp(first.data, name->data, name->len) != 0))
			break;
		if (__builtin_add_overflow(*samples, line.count, samples))
			return -EFBIG;
		*c = next;
	}
	*text = (struct bytes){ start, (size_t)(c->at - start) };
	return 0;
}

static int put_groups(struct writing *w, struct grouping *g, struct bytes text)
{
	struct cursor c = cursor_init(text.data, text.len);
	size_t names_bytes = 0;

	while (cursor_left(&c) > 0) {
		struct bytes name, lines;
		uint64_t samples;
		bool is_last = g->whole || json_array_size(g->groups) == SEGMENT_GROUPS_MAX ||
			names_bytes > SEGMENT_NAMES_BYTES_MAX;
		int err = take_group(&c, is_last, &name, &lines, &samples);

		if (err < 0)
			return err;
		err = put_group(w, g, name, lines, samples);
		if (err < 0)
			return err;
		names_bytes += name.len;
	}
	return 0;
}

static int put_samples(struct writing *w, struct bytes text)
{
	struct grouping g = { .groups = w->groups };
	int err = put_groups(w, &g, text);

	w->text = text;
	w->samples = g.samples;
	return err;
}

static int put_kind(struct writing *w, const struct segment_kind *kind)
{
	struct grouping g = { .groups = json_array(), .whole = true, .prefix = w->text };
	int err = g.groups ? put_groups(w, &g, kind->text) : -ENOMEM;
	json_t *json = json_pack("{s:s, s:s, s:I, s:I, s:o}", "name", kind->name, "unit",
		kind->unit, "period_ns", (json_int_t)kind->period_ns, "samples",
		(json_int_t)g.samples, "groups", g.groups);

	if (json_array_append_new(w->kinds, json) < 0 && err == 0)
		err = -ENOMEM;
	return err;
}

static int put_kinds(struct writing *w, const struct segment_about *about)
{
	int err = about->kinds_len > SEGMENT_KINDS_MAX ? -EFBIG : 0;

	for (size_t i = 0; i < about->kinds_len && err == 0; i++)
		err = put_kind(w, &about->kinds[i]);
	return err;
}

static void put_skippable(struct buf *out, struct bytes content)
{
	buf_fail(out, content.len > SEGMENT_HEAD_BYTES_MAX ? -EFBIG : 0);
	put_skippable_head(out, content.len);
	buf_put(out, content.data, content.len);
}

/* Version 1 has it as it is. */
static int pack_account(struct writing *w, const struct segment_about *about, struct bytes *out)
{
	size_t size;
	int err;

	*out = (struct bytes){ (const uint8_t *)about->account, strlen(about->account) };
	if (about->kinds_len == 0)
		return 0;
	buf_clear(&w->packed);
	err = compress(w, *out, &w->packed, &size);
	*out = (struct bytes){ (const uint8_t *)w->packed.data, w->packed.len };
	return err;
}

static json_t *sources_json(const struct segment_about *about)
{
	json_t *ids = json_array();

	for (size_t i = 0; i < about->sources_len; i++)
		json_array_append_new(ids, json_integer((json_int_t)about->sources[i]));
	return ids;
}

static void put_head(const struct segment_about *about, struct writing *w, struct bytes account,
	struct buf *out)
{
	json_t *head = json_pack("{s:i, s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:O, s:o}",
		"stoker", about->kinds_len > 0 ? SEGMENT_VERSION : 1, "id", (json_int_t)about->id,
		"host", about->host, "by", about->by, "start_ns", (json_int_t)about->start_ns,
		"end_ns", (json_int_t)about->end_ns, "hz", (json_int_t)about->hz, "samples",
		(json_int_t)w->samples, "account_bytes", (json_int_t)account.len,
		"groups", w->groups, "sources", sources_json(about));
	_cleanup_(freep) char *text = NULL;

	if (head && about->kinds_len > 0) {
		json_object_set(head, "kinds", w->kinds);
		json_object_set_new(
			head, "account_text", json_integer((json_int_t)strlen(about->account)));
	}
	text = head ? json_dumps(head, JSON_COMPACT) : NULL;
	json_decref(head);
	buf_fail(out, text ? 0 : -ENOMEM);
	put_skippable(out, (struct bytes){ (const uint8_t *)text, text ? strlen(text) : 0 });
	put_skippable(out, account);
}

int segment_write(const struct segment_about *about, struct bytes text, struct buf *out)
{
	_cleanup_(writing_done) struct writing w = { .zstd = ZSTD_createCCtx(),
		.groups = json_array(),
		.kinds = json_array() };
	struct bytes account = { 0 };

	if (!w.zstd || !w.groups || !w.kinds)
		return buf_fail(out, -ENOMEM);
	if (ZSTD_isError(ZSTD_CCtx_setParameter(w.zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)) ||
		ZSTD_isError(ZSTD_CCtx_setParameter(w.zstd, ZSTD_c_checksumFlag, 1)))
		return buf_fail(out, -EIO);
	if (about->sources_len > SEGMENT_SOURCES_MAX)
		return buf_fail(out, -EFBIG);
	buf_fail(out, put_samples(&w, text));
	if (buf_err(out) == 0)
		buf_fail(out, put_kinds(&w, about));
	if (buf_err(out) == 0)
		buf_fail(out, pack_account(&w, about, &account));
	put_head(about, &w, account, out);
	return buf_append(out, &w.frames);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* The head's text, or why not. */
static int find_head(struct cursor *c, struct bytes *out, struct why *why)
{
	uint32_t magic = cursor_u32(c), size = cursor_u32(c);

	if (c->bad || magic != SEGMENT_SKIPPABLE_MAGIC)
		return why_set(why, -ENOEXEC, "no segment: it does not begin as one");
	if (size > SEGMENT_HEAD_BYTES_MAX)
		return why_set(why, -EBADMSG, "damaged: a head of %u bytes", size);
	*out = cursor_bytes(c, size);
	return c->bad ? why_set(why, -EBADMSG, "cut short in its head") : 0;
}

static bool is_count(json_int_t number)
{
	return number >= 0;
}

static int add_group(struct segment *s, json_t *json, uint32_t kind, size_t *at)
{
	json_int_t samples, bytes, text;
	const char *name;
	struct segment_group *group;

	if (json_unpack(json, "{s:s, s:I, s:I, s:I}", "name", &name, "samples", &samples, "bytes",
		    &bytes, "text", &text) < 0 ||
		!is_count(samples) || bytes <= 0 || (size_t)bytes > s->file.len ||
		!is_count(text) || text > SEGMENT_TEXT_BYTES_MAX)
		return -EBADMSG;
	group = vec_add(&s->groups);
	if (!group)
		return -ENOMEM;
	*at += kind > 0 ? SEGMENT_SKIPPABLE_BYTES : 0;
	*group = (struct segment_group){ .name = name,
		.kind = kind,
		.samples = (uint64_t)samples,
		.at = *at,
		.bytes = (size_t)bytes,
		.text_bytes = (size_t)text };
	*at += (size_t)bytes;
	return 0;
}

static int read_groups(struct segment *s, json_t *groups, uint32_t kind, size_t *at)
{
	size_t i;
	json_t *group;

	if (!json_is_array(groups) || json_array_size(groups) > SEGMENT_GROUPS_MAX + 1)
		return -EBADMSG;
	json_array_foreach (groups, i, group) {
		int err = add_group(s, group, kind, at);

		if (err < 0)
			return err;
	}
	return *at <= s->file.len ? 0 : -EBADMSG;
}

static int read_kind(struct segment *s, json_t *json, size_t *at)
{
	struct segment_kind *kind = vec_add(&s->kinds);
	json_int_t period;
	json_t *groups;

	if (!kind)
		return -ENOMEM;
	if (json_unpack(json, "{s:s, s:s, s:I, s:o}", "name", &kind->name, "unit", &kind->unit,
		    "period_ns", &period, "groups", &groups) < 0 ||
		!is_count(period))
		return -EBADMSG;
	kind->period_ns = (uint64_t)period;
	return read_groups(s, groups, (uint32_t)s->kinds.len, at);
}

/* Version 1 has none. */
static int read_kinds(struct segment *s, size_t *at)
{
	json_t *kinds = json_object_get(s->json, "kinds"), *kind;
	size_t i;

	if (json_array_size(kinds) > SEGMENT_KINDS_MAX)
		return -EBADMSG;
	json_array_foreach (kinds, i, kind) {
		int err = read_kind(s, kind, at);

		if (err < 0)
			return err;
	}
	s->about.kinds = s->kinds.data;
	s->about.kinds_len = s->kinds.len;
	return *at == s->file.len ? 0 : -EBADMSG;
}

static int read_sources(struct segment *s, json_t *ids)
{
	size_t i;
	json_t *id;

	if (!json_is_array(ids) || json_array_size(ids) > SEGMENT_SOURCES_MAX)
		return -EBADMSG;
	json_array_foreach (ids, i, id) {
		uint64_t *source = vec_add(&s->sources);

		if (!source)
			return -ENOMEM;
		if (!json_is_integer(id))
			return -EBADMSG;
		*source = (uint64_t)json_integer_value(id);
	}
	s->about.sources = s->sources.data;
	s->about.sources_len = s->sources.len;
	return 0;
}

static int read_numbers(struct segment *s, json_int_t *account_bytes)
{
	json_int_t id, start, end, hz, samples;

	if (json_unpack(s->json, "{s:I, s:I, s:I, s:I, s:I, s:I}", "id", &id, "start_ns", &start,
		    "end_ns", &end, "hz", &hz, "samples", &samples, "account_bytes",
		    account_bytes) < 0)
		return -EBADMSG;
	if (start < 0 || end < start || hz <= 0 || hz > UINT32_MAX || samples < 0 ||
		*account_bytes < 0 || (size_t)*account_bytes > s->file.len)
		return -EBADMSG;
	s->about.id = (uint64_t)id;
	s->about.start_ns = (uint64_t)start;
	s->about.end_ns = (uint64_t)end;
	s->about.hz = (uint32_t)hz;
	s->samples = (uint64_t)samples;
	return 0;
}

static int make_zstd(struct segment *s)
{
	if (!s->zstd)
		s->zstd = ZSTD_createDCtx();
	return s->zstd ? 0 : -ENOMEM;
}

/* Of version 1 it is text. */
static int unpack_account(struct segment *s)
{
	json_int_t bytes;
	int err;

	if (json_unpack(s->json, "{s:I}", "account_text", &bytes) < 0)
		return 0;
	if (bytes < 0 || bytes > SEGMENT_HEAD_BYTES_MAX)
		return -EBADMSG;
	err = make_zstd(s);
	if (err == 0)
		err = segment_unpack(s->zstd, s->account, (size_t)bytes, NULL, &s->account_text);
	s->account = (struct bytes){ (const uint8_t *)buf_text(&s->account_text),
		s->account_text.len };
	return err;
}

/* at: where the head ends. */
static int read_facts(struct segment *s, size_t at)
{
	json_t *groups, *sources;
	json_int_t account_bytes;
	struct cursor c = cursor_init(s->file.data, s->file.len);
	int err = read_numbers(s, &account_bytes);

	if (err < 0)
		return err;
	if (json_unpack(s->json, "{s:s, s:s, s:o, s:o}", "host", &s->about.host, "by", &s->about.by,
		    "groups", &groups, "sources", &sources) < 0)
		return -EBADMSG;
	cursor_seek(&c, at + SEGMENT_SKIPPABLE_BYTES);
	s->account = cursor_bytes(&c, (size_t)account_bytes);
	at = cursor_offset(&c);
	err = c.bad ? -EBADMSG : unpack_account(s);
	if (err == 0)
		err = read_groups(s, groups, 0, &at);
	if (err == 0)
		err = read_kinds(s, &at);
	return err == 0 ? read_sources(s, sources) : err;
}

static int read_head(struct segment *s, struct bytes text, struct why *why)
{
	json_int_t version;
	json_error_t error = { .text = "" };
	int err;

	s->json = json_loadb((const char *)text.data, text.len, 0, &error);
	if (!s->json)
		return why_set(why, -EBADMSG, "damaged: its head is no JSON: %s", error.text);
	if (json_unpack(s->json, "{s:I}", "stoker", &version) < 0)
		return why_set(why, -ENOEXEC, "no segment: its head is of something else");
	if (version > SEGMENT_VERSION)
		return why_set(why, -ENOTSUP, "of a later version of stoker");
	s->about.account = "";
	err = read_facts(s, SEGMENT_SKIPPABLE_BYTES + text.len);
	return err < 0 ? why_set(why, err, "damaged: its head does not fit its bytes") : 0;
}

int segment_open(const void *data, size_t len, struct segment **out, struct why *why)
{
	_cleanup_(segment_freep) struct segment *s = calloc(1, sizeof(*s));
	struct cursor c = cursor_init(data, len);
	struct bytes head = { 0 };
	int err;

	if (!s)
		return -ENOMEM;
	s->file = (struct bytes){ data, len };
	err = find_head(&c, &head, why);
	if (err < 0)
		return err;
	err = read_head(s, head, why);
	if (err < 0)
		return err;
	*out = TAKE_PTR(s);
	return 0;
}

void segment_free(struct segment *segment)
{
	if (!segment)
		return;
	ZSTD_freeDCtx(segment->zstd);
	json_decref(segment->json);
	vec_done(&segment->groups);
	vec_done(&segment->kinds);
	vec_done(&segment->sources);
	buf_done(&segment->account_text);
	buf_done(&segment->prefix);
	free(segment);
}

int segment_unpack(void *zstd, struct bytes frame, size_t text_bytes, const struct buf *prefix,
	struct buf *text)
{
	size_t len;
	char *room;
	int err = text_bytes > SEGMENT_TEXT_BYTES_MAX ? -EBADMSG
						      : buf_reserve(text, text_bytes, &room);

	if (err == 0 && prefix &&
		ZSTD_isError(ZSTD_DCtx_refPrefix(zstd, prefix->data, prefix->len)))
		err = -ENOMEM;
	if (err < 0)
		return err;
	len = ZSTD_decompressDCtx(zstd, room, text_bytes, frame.data, frame.len);
	if (ZSTD_isError(len) || len != text_bytes)
		return -EBADMSG;
	buf_commit(text, len);
	return 0;
}

static int read_group(struct segment *s, const struct segment_group *group,
	const struct buf *prefix, struct buf *text)
{
	struct cursor c = cursor_init(s->file.data, s->file.len);
	struct bytes frame;
	int err = make_zstd(s);

	cursor_seek(&c, group->at);
	frame = cursor_bytes(&c, group->bytes);
	if (err == 0 && c.bad)
		err = -EBADMSG;
	return err < 0 ? err : segment_unpack(s->zstd, frame, group->text_bytes, prefix, text);
}

/* The text of all CPU samples. */
static int make_prefix(struct segment *s)
{
	int err = 0;

	if (s->prefix.len > 0)
		return 0;
	for (size_t i = 0; i < s->groups.len && s->groups.data[i].kind == 0 && err == 0; i++)
		err = read_group(s, &s->groups.data[i], NULL, &s->prefix);
	if (err < 0)
		buf_clear(&s->prefix);
	return err;
}

int segment_read(struct segment *segment, size_t i, struct buf *text)
{
	const struct segment_group *group = &segment->groups.data[i];
	int err = group->kind > 0 ? make_prefix(segment) : 0;

	if (err < 0)
		return err;
	return read_group(segment, group, group->kind > 0 ? &segment->prefix : NULL, text);
}
