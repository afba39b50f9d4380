/* SPDX-License-Identifier: Apache-2.0 */
/* store/index.c - others can write to the directory of the index, so its numbers are checked
 * against limits like any input. */
#include "store/index.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/own.h"

int index_init(struct index *index)
{
	*index = (struct index){ 0 };
	return strtab_init(&index->texts);
}

void index_done(struct index *index)
{
	vec_done(&index->entries);
	vec_done(&index->groups);
	vec_done(&index->kinds);
	vec_done(&index->sources);
	strtab_done(&index->texts);
}

/* ---- from a segment ------------------------------------------------------------------------- */

static int add_group(struct index *index, const char *name, const struct store_group *facts)
{
	struct store_group *group = vec_add(&index->groups);

	if (!group)
		return -ENOMEM;
	*group = *facts;
	return strtab_puts(&index->texts, name, &group->name);
}

static int add_kind(struct index *index, const struct segment_kind *facts)
{
	struct store_kind *kind = vec_add(&index->kinds);

	if (!kind)
		return -ENOMEM;
	kind->period_ns = facts->period_ns;
	if (strtab_puts(&index->texts, facts->name, &kind->name) < 0)
		return -ENOMEM;
	return strtab_puts(&index->texts, facts->unit, &kind->unit);
}

static int add_source(struct index *index, uint64_t id)
{
	uint64_t *source = vec_add(&index->sources);

	if (!source)
		return -ENOMEM;
	*source = id;
	return 0;
}

static int add_entry(struct index *index, const struct store_entry *entry)
{
	struct store_entry *slot = vec_add(&index->entries);

	if (!slot)
		return -ENOMEM;
	*slot = *entry;
	return 0;
}

static int add_parts(struct index *index, const struct segment *segment)
{
	for (size_t i = 0; i < segment->groups.len; i++) {
		const struct segment_group *group = &segment->groups.data[i];
		const struct store_group facts = { .samples = group->samples,
			.kind = group->kind,
			.at = (uint32_t)group->at,
			.bytes = (uint32_t)group->bytes,
			.text_bytes = (uint32_t)group->text_bytes };

		if (add_group(index, group->name, &facts) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < segment->about.kinds_len; i++)
		if (add_kind(index, &segment->about.kinds[i]) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < segment->about.sources_len; i++)
		if (add_source(index, segment->about.sources[i]) < 0)
			return -ENOMEM;
	return 0;
}

int index_add(struct index *index, const struct segment *segment, const char *name, uint64_t bytes)
{
	const struct segment_about *about = &segment->about;
	struct store_entry entry = { .id = about->id,
		.start_ns = about->start_ns,
		.end_ns = about->end_ns,
		.samples = segment->samples,
		.bytes = bytes,
		.hz = about->hz,
		.at = segment->groups.len > 0 ? (uint32_t)segment->groups.data[0].at : 0,
		.groups = (uint32_t)index->groups.len,
		.groups_len = (uint32_t)segment->groups.len,
		.kinds = (uint32_t)index->kinds.len,
		.kinds_len = (uint32_t)about->kinds_len,
		.sources = (uint32_t)index->sources.len,
		.sources_len = (uint32_t)about->sources_len };

	memccpy(entry.name, name, '\0', sizeof(entry.name) - 1);
	if (strtab_puts(&index->texts, about->by, &entry.by) < 0 || add_parts(index, segment) < 0)
		return -ENOMEM;
	return add_entry(index, &entry);
}

/* ---- to a line and back --------------------------------------------------------------------- */

static json_t *groups_json(
	const struct index *index, const struct store_entry *entry, uint32_t kind)
{
	json_t *groups = json_array();

	for (uint32_t i = 0; i < entry->groups_len; i++) {
		const struct store_group *group = &index->groups.data[entry->groups + i];

		if (group->kind != kind)
			continue;
		json_array_append_new(groups,
			json_pack("[s, I, I, I]", strtab_get(&index->texts, group->name),
				(json_int_t)group->samples, (json_int_t)group->bytes,
				(json_int_t)group->text_bytes));
	}
	return groups;
}

static json_t *kinds_json(const struct index *index, const struct store_entry *entry)
{
	json_t *kinds = json_array();

	for (uint32_t i = 0; i < entry->kinds_len; i++) {
		const struct store_kind *kind = &index->kinds.data[entry->kinds + i];

		json_array_append_new(kinds,
			json_pack("{s:s, s:s, s:I, s:o}", "name",
				strtab_get(&index->texts, kind->name), "unit",
				strtab_get(&index->texts, kind->unit), "period_ns",
				(json_int_t)kind->period_ns, "groups",
				groups_json(index, entry, i + 1)));
	}
	return kinds;
}

static json_t *sources_json(const struct index *index, const struct store_entry *entry)
{
	json_t *ids = json_array();

	for (uint32_t i = 0; i < entry->sources_len; i++)
		json_array_append_new(
			ids, json_integer((json_int_t)index->sources.data[entry->sources + i]));
	return ids;
}

int index_put_line(struct buf *out, const struct index *index, const struct store_entry *entry)
{
	json_t *json = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:o, s:o}", "name",
		entry->name, "id", (json_int_t)entry->id, "start_ns", (json_int_t)entry->start_ns,
		"end_ns", (json_int_t)entry->end_ns, "samples", (json_int_t)entry->samples, "bytes",
		(json_int_t)entry->bytes, "hz", (json_int_t)entry->hz, "at", (json_int_t)entry->at,
		"by", strtab_get(&index->texts, entry->by), "groups", groups_json(index, entry, 0),
		"sources", sources_json(index, entry));
	_cleanup_(freep) char *text = NULL;

	if (json && entry->kinds_len > 0)
		json_object_set_new(json, "kinds", kinds_json(index, entry));
	text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	json_decref(json);
	return text ? buf_printf(out, "%s\n", text) : buf_fail(out, -ENOMEM);
}

static bool in_range(json_int_t number, uint64_t max)
{
	return number >= 0 && (uint64_t)number <= max;
}

/* at: where it begins, and then where it ends. */
static int parse_group(
	struct index *index, json_t *json, uint32_t kind, uint64_t *at, uint64_t file_bytes)
{
	const uint64_t head_bytes = kind > 0 ? SEGMENT_SKIPPABLE_BYTES : 0;
	json_int_t samples, bytes, text;
	struct store_group facts;
	const char *name;

	if (head_bytes > file_bytes - *at)
		return -EBADMSG;
	*at += head_bytes;
	if (json_unpack(json, "[s, I, I, I]", &name, &samples, &bytes, &text) < 0 || samples < 0 ||
		!in_range(bytes, file_bytes - *at) || !in_range(text, SEGMENT_TEXT_BYTES_MAX))
		return -EBADMSG;
	facts = (struct store_group){ .samples = (uint64_t)samples,
		.kind = kind,
		.at = (uint32_t)*at,
		.bytes = (uint32_t)bytes,
		.text_bytes = (uint32_t)text };
	*at += (uint64_t)bytes;
	return add_group(index, name, &facts);
}

static int parse_groups(struct index *index, const struct store_entry *entry, json_t *groups,
	uint32_t kind, uint64_t *at)
{
	json_t *part;
	size_t i;

	if (json_array_size(groups) > SEGMENT_GROUPS_MAX + 1)
		return -EBADMSG;
	json_array_foreach (groups, i, part) {
		int err = parse_group(index, part, kind, at, entry->bytes);

		if (err < 0)
			return err;
	}
	return 0;
}

static int parse_kind(struct index *index, const struct store_entry *entry, json_t *json,
	uint32_t number, uint64_t *at)
{
	struct segment_kind kind = { 0 };
	json_int_t period;
	json_t *groups;
	int err;

	if (json_unpack(json, "{s:s, s:s, s:I, s:o}", "name", &kind.name, "unit", &kind.unit,
		    "period_ns", &period, "groups", &groups) < 0 ||
		period < 0)
		return -EBADMSG;
	kind.period_ns = (uint64_t)period;
	err = add_kind(index, &kind);
	return err < 0 ? err : parse_groups(index, entry, groups, number, at);
}

static int parse_parts(struct index *index, const struct store_entry *entry, json_t *groups,
	json_t *kinds, json_t *sources)
{
	uint64_t at = entry->at;
	json_t *part;
	size_t i;
	int err = parse_groups(index, entry, groups, 0, &at);

	if (err < 0)
		return err;
	json_array_foreach (kinds, i, part) {
		err = parse_kind(index, entry, part, (uint32_t)i + 1, &at);
		if (err < 0)
			return err;
	}
	json_array_foreach (sources, i, part) {
		err = json_is_integer(part) ? add_source(index, (uint64_t)json_integer_value(part))
					    : -EBADMSG;
		if (err < 0)
			return err;
	}
	return 0;
}

static int parse_numbers(json_t *json, struct store_entry *entry)
{
	json_int_t id, start, end, samples, bytes, hz, at;

	if (json_unpack(json, "{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "id", &id, "start_ns", &start,
		    "end_ns", &end, "samples", &samples, "bytes", &bytes, "hz", &hz, "at", &at) < 0)
		return -EBADMSG;
	if (start < 0 || end < start || samples < 0 || !in_range(bytes, STORE_BYTES_MAX) ||
		hz <= 0 || hz > UINT32_MAX || !in_range(at, (uint64_t)bytes))
		return -EBADMSG;
	entry->id = (uint64_t)id;
	entry->start_ns = (uint64_t)start;
	entry->end_ns = (uint64_t)end;
	entry->samples = (uint64_t)samples;
	entry->bytes = (uint64_t)bytes;
	entry->hz = (uint32_t)hz;
	entry->at = (uint32_t)at;
	return 0;
}

static int parse_json(struct index *index, json_t *json)
{
	struct store_entry entry = { .groups = (uint32_t)index->groups.len,
		.kinds = (uint32_t)index->kinds.len,
		.sources = (uint32_t)index->sources.len };
	const char *name, *by;
	json_t *groups, *sources, *kinds = json_object_get(json, "kinds");
	int err;

	if (json_unpack(json, "{s:s, s:s, s:o, s:o}", "name", &name, "by", &by, "groups", &groups,
		    "sources", &sources) < 0 ||
		!store_name_is_segment(name) || json_array_size(kinds) > SEGMENT_KINDS_MAX ||
		json_array_size(sources) > SEGMENT_SOURCES_MAX)
		return -EBADMSG;
	entry.kinds_len = (uint32_t)json_array_size(kinds);
	entry.sources_len = (uint32_t)json_array_size(sources);
	memcpy(entry.name, name, strlen(name) + 1); /* no longer than a segment's name may be */
	err = parse_numbers(json, &entry);
	if (err < 0)
		return err;
	err = strtab_puts(&index->texts, by, &entry.by);
	if (err < 0)
		return err;
	err = parse_parts(index, &entry, groups, kinds, sources);
	entry.groups_len = (uint32_t)index->groups.len - entry.groups;
	return err < 0 ? err : add_entry(index, &entry);
}

static int parse_line(struct index *index, struct bytes line)
{
	size_t groups = index->groups.len, sources = index->sources.len, kinds = index->kinds.len;
	json_t *json = json_loadb((const char *)line.data, line.len, 0, NULL);
	int err = json ? parse_json(index, json) : -EBADMSG;

	json_decref(json);
	if (err < 0) {
		index->groups.len = groups;
		index->kinds.len = kinds;
		index->sources.len = sources;
	}
	if (err != -EBADMSG)
		return err;
	index->bad++;
	return 0;
}

int index_parse(struct index *index, struct bytes text)
{
	struct cursor c = cursor_init(text.data, text.len);

	while (cursor_left(&c) > 0) {
		const uint8_t *end = memchr(c.at, '\n', cursor_left(&c));
		size_t len = end ? (size_t)(end - c.at) : cursor_left(&c);
		int err = parse_line(index, (struct bytes){ c.at, len });

		if (err < 0)
			return err;
		cursor_skip(&c, end ? len + 1 : len);
	}
	return 0;
}
