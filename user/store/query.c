/* SPDX-License-Identifier: Apache-2.0 */
/* store/query.c - reads only the segments of the span, and of a segment only the groups that can
 * match; the index has their places. The same lines come again in each segment, so a line costs one
 * look into a table, which also knows whether the line matches. */
#include "store/query.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "profile/kinds.h"
#include "profile/words.h"
#include "store/line.h"

#define KEYS_MAX 16
#define PARTS_MAX 8
#define PART_ENTRIES_MIN 32
#define TRIES_MAX 4
#define KINDS_TEXT_MAX 100

/* A segment's lines against the query. */
struct reading {
	const struct query *query;
	struct query_answer *answer;
	size_t keys_len;
	const char *wanted[KEYS_MAX]; /* by the place in a line; NULL: any */
	uint64_t weight; /* of a value: the time that it stands for, or 1 */
	uint64_t ns;
	ZSTD_DCtx *zstd;
	struct buf packed, text, prefix;
	VEC(bool) matches; /* by a stack's id */
	const char *unit;  /* of the kind that is asked for; NULL: any */
	struct pattern_search search; /* where a function is asked for */
};

static void reading_done(struct reading *r)
{
	ZSTD_freeDCtx(r->zstd);
	buf_done(&r->packed);
	buf_done(&r->text);
	buf_done(&r->prefix);
	vec_done(&r->matches);
	pattern_search_done(&r->search);
}

int query_answer_init(struct query_answer *answer)
{
	*answer = (struct query_answer){ 0 };
	return merge_init(&answer->merge);
}

void query_answer_done(struct query_answer *answer)
{
	merge_done(&answer->merge);
	vec_done(&answer->points);
	buf_done(&answer->by);
	buf_done(&answer->kind);
	buf_done(&answer->unit);
}

static bool in_span(const struct query *query, const struct store_entry *entry)
{
	uint64_t middle = entry->start_ns + (entry->end_ns - entry->start_ns) / 2;

	return middle >= query->since_ns && middle < query->until_ns;
}

/* The place of a key in "container,pod,comm"; -1: it is not there. */
static int find_key(const char *by, const char *key, size_t *len)
{
	size_t key_len = strlen(key);
	int place = -1, i = 0;

	for (const char *at = by; *at; i++) {
		const char *end = strchrnul(at, ',');

		if ((size_t)(end - at) == key_len && memcmp(at, key, key_len) == 0)
			place = i;
		at = *end ? end + 1 : end;
	}
	*len = (size_t)i;
	return place;
}

/* False: the segment does not have the labels. */
static bool place_keys(struct reading *r, const char *by)
{
	memset(r->wanted, 0, sizeof(r->wanted));
	find_key(by, "", &r->keys_len);
	for (size_t i = 0; i < r->query->matches_len; i++) {
		size_t len;
		int place = find_key(by, r->query->matches[i].key, &len);

		if (place < 0 || place >= KEYS_MAX)
			return false;
		r->wanted[place] = r->query->matches[i].value;
	}
	return true;
}

static bool is_text(struct bytes bytes, const char *text)
{
	return strlen(text) == bytes.len && memcmp(bytes.data, text, bytes.len) == 0;
}

/* 1, 0 or as pattern_search_find. */
static int has_function(struct reading *r, struct bytes stack)
{
	int found = 0;

	while (stack.len > 0 && found == 0) {
		struct bytes frame = line_frame(&stack);

		found = pattern_search_find(&r->search, (const char *)frame.data, frame.len);
	}
	return found;
}

/* 1, 0 or -errno. */
static int matches(struct reading *r, struct bytes stack)
{
	for (size_t i = 0; i < r->keys_len && i < KEYS_MAX; i++) {
		struct bytes frame = line_frame(&stack);

		if (r->wanted[i] && !is_text(frame, r->wanted[i]))
			return 0;
	}
	return r->query->function ? has_function(r, stack) : 1;
}

static int read_line(struct reading *r, const struct line *line, uint64_t ns)
{
	uint32_t id;
	int err = merge_id(&r->answer->merge, line->stack, &id);

	if (err < 0)
		return err;
	while (r->matches.len <= id) {
		int match = r->matches.len == id ? matches(r, line->stack) : 0;
		bool *slot = match < 0 ? NULL : vec_add(&r->matches);

		if (!slot)
			return match < 0 ? match : -ENOMEM;
		*slot = match > 0;
	}
	if (r->matches.data[id]) {
		r->ns += ns;
		merge_count(&r->answer->merge, id, ns);
	}
	return 0;
}

static int read_lines(struct reading *r)
{
	struct cursor c = cursor_init(r->text.data, r->text.len);
	struct line line;

	while (cursor_left(&c) > 0) {
		uint64_t ns;
		int err;

		if (!line_read(&c, &line) || __builtin_mul_overflow(line.count, r->weight, &ns))
			return -EBADMSG;
		err = read_line(r, &line, ns);
		if (err < 0)
			return err;
	}
	return 0;
}

static int unpack_group(struct reading *r, int fd, const struct store_group *group,
	const struct buf *prefix, struct buf *text)
{
	char *room;
	int err;

	buf_clear(&r->packed);
	err = buf_reserve(&r->packed, group->bytes, &room);
	if (err < 0)
		return err;
	if (pread(fd, room, group->bytes, group->at) != (ssize_t)group->bytes)
		return -EBADMSG;
	return segment_unpack(r->zstd, (struct bytes){ (const uint8_t *)room, group->bytes },
		group->text_bytes, prefix, text);
}

static int read_group(struct reading *r, int fd, const struct store_group *group)
{
	int err;

	buf_clear(&r->text);
	err = unpack_group(r, fd, group, group->kind > 0 ? &r->prefix : NULL, &r->text);
	return err < 0 ? err : read_lines(r);
}

/* The text of CPU samples, which others follow. */
static int read_prefix(
	struct reading *r, const struct store *store, const struct store_entry *entry, int fd)
{
	int err = 0;

	buf_clear(&r->prefix);
	for (size_t i = 0; err == 0 && i < entry->groups_len; i++) {
		const struct store_group *group = store_group(store, entry, i);

		if (group->kind == 0)
			err = unpack_group(r, fd, group, NULL, &r->prefix);
	}
	return err;
}

static bool asks_cpu(const struct query *query)
{
	return !query->kind || strcmp(query->kind, PROFILE_CPU) == 0;
}

/* The number of the kind that is asked for, as of store_group. 0: the entry does not have it. */
static uint32_t find_kind(const struct query *query, const struct store *store,
	const struct store_entry *entry, const char *unit)
{
	for (uint32_t i = 0; i < entry->kinds_len; i++) {
		struct segment_kind kind = store_kind(store, entry, i);

		if (strcmp(kind.name, query->kind) == 0 && (!unit || strcmp(kind.unit, unit) == 0))
			return i + 1;
	}
	return 0;
}

static int read_groups(struct reading *r, const struct store *store,
	const struct store_entry *entry, uint32_t kind, int fd)
{
	int err = kind > 0 ? read_prefix(r, store, entry, fd) : 0;

	for (size_t i = 0; err == 0 && i < entry->groups_len; i++) {
		const struct store_group *group = store_group(store, entry, i);
		const char *name = store_text(store, group->name);

		if (group->kind != kind)
			continue;
		if (!r->wanted[0] || !*name || strcmp(name, r->wanted[0]) == 0)
			err = read_group(r, fd, group);
	}
	return err;
}

static int add_point(struct reading *r, const struct store_entry *entry)
{
	struct query_point *point = vec_add(&r->answer->points);

	if (!point)
		return -ENOMEM;
	*point = (struct query_point){ entry->start_ns, entry->end_ns, r->ns };
	if (entry->hz > r->answer->hz)
		r->answer->hz = entry->hz;
	r->answer->segments++;
	return 0;
}

/* The kind of the entry, as of store_group; its samples weigh by their time. */
static uint32_t set_kind(
	struct reading *r, const struct store *store, const struct store_entry *entry)
{
	struct query_answer *a = r->answer;
	struct segment_kind kind;
	uint32_t found;

	r->weight = NSEC_PER_SEC / entry->hz;
	if (asks_cpu(r->query))
		return 0;
	found = find_kind(r->query, store, entry, r->unit);
	kind = store_kind(store, entry, found - 1);
	r->weight = segment_weight(&kind);
	if (a->period_ns == 0 || kind.period_ns < a->period_ns)
		a->period_ns = kind.period_ns;
	return found;
}

static int read_entry(struct reading *r, const struct store *store, const struct store_entry *entry)
{
	_cleanup_fd_ int fd = store_open_file(store, entry);
	uint32_t kind = set_kind(r, store, entry);
	int err = fd < 0 ? fd : 0;

	if (err == -ENOENT) {
		r->answer->gone++;
		return 0;
	}
	r->ns = 0;
	if (err == 0)
		err = read_groups(r, store, entry, kind, fd);
	if (err < 0 && err != -ENOMEM && err != -ETIMEDOUT) {
		r->answer->damaged++;
		return 0;
	}
	return err < 0 ? err : add_point(r, entry);
}

static int choose(struct reading *r, const struct store *store, const struct store_entry *entry)
{
	struct query_answer *a = r->answer;
	struct segment_kind kind;

	if (!asks_cpu(r->query)) {
		kind = store_kind(store, entry, find_kind(r->query, store, entry, NULL) - 1);
		buf_puts(&a->kind, kind.name);
		buf_puts(&a->unit, kind.unit);
		r->unit = buf_text(&a->unit);
	}
	buf_puts(&a->by, store_text(store, entry->by));
	return buf_err(&a->kind) < 0 || buf_err(&a->unit) < 0 ? -ENOMEM : buf_err(&a->by);
}

/* CPU samples are always there. */
static int refuse_kind(const struct query *query, const struct store *store, struct why *why)
{
	_cleanup_(buf_done) struct buf has = BUF_INIT;

	buf_puts(&has, PROFILE_CPU);
	for (size_t i = store_len(store); i-- > 0 && has.len < KINDS_TEXT_MAX;) {
		const struct store_entry *entry = store_entry(store, i);

		for (uint32_t k = 0; in_span(query, entry) && k < entry->kinds_len; k++) {
			struct segment_kind kind = store_kind(store, entry, k);

			if (!words_listed(buf_text(&has), kind.name))
				buf_printf(&has, ", %s", kind.name);
		}
	}
	return buf_err(&has) < 0
		? why_set(why, -ENOMEM, "out of memory")
		: why_set(why, -ENOENT,
			  "the store has no values of the kind %s of that time; it has %s",
			  query->kind, has.data);
}

/* Stacks can be added up if their first frames have the same labels: those of the newest segment
 * with the labels and the kind of the question; and values if they have the same unit. */
static int choose_labels(struct reading *r, const struct store *store, struct why *why)
{
	bool lacks_kind = false;

	for (size_t i = store_len(store); i-- > 0;) {
		const struct store_entry *entry = store_entry(store, i);

		if (!in_span(r->query, entry) || !place_keys(r, store_text(store, entry->by)))
			continue;
		if (asks_cpu(r->query) || find_kind(r->query, store, entry, NULL) > 0)
			return choose(r, store, entry);
		lacks_kind = true;
	}
	if (lacks_kind)
		return refuse_kind(r->query, store, why);
	return why_set(why, -ENOENT, "the store has nothing of that time%s",
		r->query->matches_len > 0 ? " with such labels" : "");
}

/* A run of the store's entries, read by a thread of its own. */
struct part {
	const struct store *store;
	struct reading reading;
	struct query_answer answer;
	const char *by;
	size_t first, end;
	pthread_t thread;
	bool running;
	int err;
};

static void *read_part(void *arg)
{
	struct part *part = arg;

	for (size_t i = part->first; part->err == 0 && i < part->end; i++) {
		const struct store_entry *entry = store_entry(part->store, i);

		if (!in_span(part->reading.query, entry))
			continue;
		if (strcmp(store_text(part->store, entry->by), part->by) != 0)
			part->answer.other_by++;
		else if (!asks_cpu(part->reading.query) &&
			find_kind(part->reading.query, part->store, entry, part->reading.unit) == 0)
			part->answer.other_kind++;
		else
			part->err = read_entry(&part->reading, part->store, entry);
	}
	return NULL;
}

/* Parts are of entries that follow each other, and so points stay in order. */
static int add_part(struct query_answer *to, const struct query_answer *from)
{
	for (uint32_t id = 0; id < from->merge.ns.len; id++) {
		const char *stack = strtab_get(&from->merge.stacks, id);
		int err = merge_add(&to->merge,
			(struct bytes){ (const uint8_t *)stack, strlen(stack) },
			from->merge.ns.data[id]);

		if (err < 0)
			return err;
	}
	vec_each (&from->points, point) {
		struct query_point *slot = vec_add(&to->points);

		if (!slot)
			return -ENOMEM;
		*slot = *point;
	}
	to->hz = from->hz > to->hz ? from->hz : to->hz;
	if (to->period_ns == 0 || (from->period_ns > 0 && from->period_ns < to->period_ns))
		to->period_ns = from->period_ns;
	to->segments += from->segments;
	to->other_by += from->other_by;
	to->other_kind += from->other_kind;
	to->damaged += from->damaged;
	to->gone += from->gone;
	return 0;
}

static size_t count_parts(size_t first, size_t end)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t most = (end - first) / PART_ENTRIES_MIN + 1;

	if (most > PARTS_MAX)
		most = PARTS_MAX;
	return cpus > 0 && most > (size_t)cpus ? (size_t)cpus : most;
}

/* A thread that cannot be had is no error: its part is read here and now. */
static void start_part(struct part *part)
{
	part->err = query_answer_init(&part->answer);
	part->reading.answer = &part->answer;
	part->reading.zstd = ZSTD_createDCtx();
	if (!part->reading.zstd)
		part->err = -ENOMEM;
	if (part->err == 0 && part->reading.query->function)
		part->err = pattern_search_init(
			&part->reading.search, part->reading.query->function);
	part->running = part->err == 0 && pthread_create(&part->thread, NULL, read_part, part) == 0;
	if (!part->running)
		read_part(part);
}

static int finish_part(struct part *part, struct query_answer *answer)
{
	if (part->running)
		pthread_join(part->thread, NULL);
	if (part->err == 0)
		part->err = add_part(answer, &part->answer);
	query_answer_done(&part->answer);
	reading_done(&part->reading);
	return part->err;
}

static void find_range(
	const struct store *store, const struct query *query, size_t *first, size_t *end)
{
	*first = *end = store_len(store);
	for (size_t i = 0; i < store_len(store); i++) {
		if (!in_span(query, store_entry(store, i)))
			continue;
		if (*first > i)
			*first = i;
		*end = i + 1;
	}
}

static int run_once(const struct store *store, const struct query *query,
	struct query_answer *answer, struct why *why)
{
	struct reading r = { .query = query, .answer = answer };
	struct part parts[PARTS_MAX] = { 0 };
	size_t first, end, len;
	int err = choose_labels(&r, store, why);

	if (err < 0)
		return err;
	find_range(store, query, &first, &end);
	len = count_parts(first, end);
	for (size_t i = 0; i < len; i++) {
		parts[i].store = store;
		parts[i].reading = r;
		parts[i].by = answer->by.data;
		parts[i].first = first + (end - first) * i / len;
		parts[i].end = first + (end - first) * (i + 1) / len;
		start_part(&parts[i]);
	}
	for (size_t i = 0; i < len; i++) {
		int part_err = finish_part(&parts[i], answer);

		err = part_err < 0 ? part_err : err;
	}
	if (err == -ETIMEDOUT)
		return why_set(why, err,
			"function: the expression takes too long, use a simpler one (the limit is "
			"%d ms for all names)",
			PATTERN_CPU_MS_MAX);
	return err < 0 ? why_set(why, err, "out of memory") : 0;
}

int query_run(struct store *store, const struct query *query, struct query_answer *answer,
	struct why *why)
{
	int err = run_once(store, query, answer, why);

	for (int i = 1; err == 0 && answer->gone > 0 && i < TRIES_MAX; i++) {
		struct store_report report = { 0 };

		query_answer_done(answer);
		err = query_answer_init(answer);
		if (err == 0)
			err = store_refresh(store, &report, why);
		if (err == 0)
			err = run_once(store, query, answer, why);
	}
	return err;
}
