/* SPDX-License-Identifier: Apache-2.0 */
/* jitmap/perfmap.c - lines gather in `fresh`; the next look-up turns them into a level: sorted,
 * disjoint ranges. Each level is at most half as large as the one before, else they are merged. So
 * feeding and finding may alternate freely: a line costs O(log n) steps over time, a look-up one
 * binary search a level. Invariant: a later level wins over earlier ones, and a level covers an
 * address once. Names are not hashed, because a hostile process could make them collide. Unused
 * names (after a rundown that was written twice) are removed each time their block has doubled. */
#include "jitmap/perfmap.h"

#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "base/line.h"

#define FRESH_MAX (1U << 16)
#define LINE_MAX_BYTES (PERFMAP_NAME_MAX + 256)
#define NAMES_NEXT_MIN (1U << 20)

/* A limit counts as reached when after a clean-up less than an eighth is free; else a map at its
 * limit would be cleaned up for every line. */
static bool is_nearly(size_t used, size_t max)
{
	return used > max - max / 8;
}

static uint64_t end_of(const struct perfmap_range *r)
{
	return r->start + r->size;
}

static size_t ranges_len(const struct perfmap *map)
{
	size_t sum = 0;

	for (size_t i = 0; i < map->levels_len; i++)
		sum += map->levels[i].len;
	return sum;
}

/* ---- levels --------------------------------------------------------------------------------- */

static size_t put_part(struct perfmap_range *out, size_t len, const struct perfmap_range *of,
	uint64_t start, uint64_t end)
{
	if (start >= end)
		return len;
	out[len] = (struct perfmap_range){ start, (uint32_t)(end - start), of->name };
	return len + 1;
}

/* The parts of the lower ranges that no upper range covers. out has room for lower + 2 * upper. */
static size_t overlay(const struct perfmap_range *lower, size_t lower_len,
	const struct perfmap_range *upper, size_t upper_len, struct perfmap_range *out)
{
	uint64_t from = 0;
	size_t i = 0, n = 0;

	for (size_t j = 0; j < upper_len; j++) {
		uint64_t start = upper[j].start, end = end_of(&upper[j]);

		while (i < lower_len && lower[i].start < start) {
			uint64_t lower_end = end_of(&lower[i]);
			uint64_t at = lower[i].start > from ? lower[i].start : from;

			n = put_part(out, n, &lower[i], at, lower_end < start ? lower_end : start);
			if (lower_end > start)
				break;
			i++;
		}
		while (i < lower_len && end_of(&lower[i]) <= end)
			i++;
		n = put_part(out, n, &upper[j], start, end);
		from = end;
	}
	for (; i < lower_len; i++)
		n = put_part(out, n, &lower[i], lower[i].start > from ? lower[i].start : from,
			end_of(&lower[i]));
	return n;
}

/* n lines in order of the file become disjoint: at most 2n - 1, in one of the two buffers, which
 * have room for 2n each and lens for n. Run by run, of 1, 2, 4 ... lines: that of line i is at 2i.
 */
static struct perfmap_range *flatten(const struct perfmap_range *lines, size_t n,
	struct perfmap_range *a, struct perfmap_range *b, uint32_t *lens)
{
	for (size_t i = 0; i < n; i++) {
		a[2 * i] = lines[i];
		lens[i] = 1;
	}
	for (size_t width = 1; width < n; width *= 2) {
		struct perfmap_range *from = a;

		for (size_t i = 0; i < n; i += 2 * width) {
			size_t run = i / width, upper = i + width < n ? i + width : i;

			lens[run / 2] = (uint32_t)overlay(a + 2 * i, lens[run], a + 2 * upper,
				upper > i ? lens[run + 1] : 0, b + 2 * i);
		}
		a = b;
		b = from;
	}
	return a;
}

static int merge_top(struct perfmap *map)
{
	struct perfmap_level *upper = &map->levels[map->levels_len - 1];
	struct perfmap_level *lower = upper - 1;
	size_t room = lower->len + 2 * upper->len;
	struct perfmap_range *ranges, *trimmed;
	size_t len;

	ranges = reallocarray(NULL, room + 1, sizeof(*ranges));
	if (!ranges)
		return -ENOMEM;
	len = overlay(lower->ranges, lower->len, upper->ranges, upper->len, ranges);
	trimmed = reallocarray(ranges, len + 1, sizeof(*ranges));
	free(lower->ranges);
	free(upper->ranges);
	*lower = (struct perfmap_level){ trimmed ? trimmed : ranges, len };
	map->levels_len--;
	return 0;
}

/* Until each level is more than twice the next, or, where whole is set, until there is one. */
static int merge(struct perfmap *map, bool whole)
{
	int err = 0;

	while (err == 0 && map->levels_len > 1) {
		const struct perfmap_level *top = &map->levels[map->levels_len - 1];

		if (!whole && top[-1].len > 2 * top->len)
			break;
		err = merge_top(map);
	}
	return err;
}

static int flush(struct perfmap *map)
{
	size_t n = map->fresh.len;
	_cleanup_(freep) struct perfmap_range *a = NULL;
	_cleanup_(freep) struct perfmap_range *b = NULL;
	_cleanup_(freep) uint32_t *lens = NULL;
	struct perfmap_range *level, *trimmed;
	int err = 0;

	if (n == 0)
		return 0;
	if (map->levels_len == PERFMAP_LEVELS_MAX)
		err = merge(map, true);
	a = reallocarray(NULL, 2 * n, sizeof(*a));
	b = reallocarray(NULL, 2 * n, sizeof(*b));
	lens = reallocarray(NULL, n, sizeof(*lens));
	if (err < 0 || !a || !b || !lens)
		return -ENOMEM;
	level = flatten(map->fresh.data, n, a, b, lens) == a ? TAKE_PTR(a) : TAKE_PTR(b);
	n = lens[0];
	trimmed = reallocarray(level, n, sizeof(*level));
	map->levels[map->levels_len++] = (struct perfmap_level){ trimmed ? trimmed : level, n };
	map->fresh.len = 0;
	return merge(map, false);
}

/* ---- names ---------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The offsets of the names in use, each once, in order. Needs one level. */
static int used_names(const struct perfmap_level *level, uint32_t **out, size_t *out_len)
{
	uint32_t *used = reallocarray(NULL, level->len + 1, sizeof(*used));
	size_t n = 0;

	if (!used)
		return -ENOMEM;
	for (size_t i = 0; i < level->len; i++)
		used[i] = level->ranges[i].name;
	qsort(used, level->len, sizeof(*used), by_value);
	for (size_t i = 0; i < level->len; i++)
		if (n == 0 || used[n - 1] != used[i])
			used[n++] = used[i];
	*out = used;
	*out_len = n;
	return 0;
}

/* Moves the names in use to the front of their block. */
static int drop_unused_names(struct perfmap *map)
{
	struct perfmap_level *level = &map->levels[0];
	_cleanup_(freep) uint32_t *used = NULL;
	_cleanup_(freep) uint32_t *moved = NULL;
	size_t n = 0, at = 1;
	int err = used_names(level, &used, &n);

	if (err < 0)
		return err;
	moved = reallocarray(NULL, n + 1, sizeof(*moved));
	if (!moved)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const char *name = map->names.data + used[i];
		size_t size = strlen(name) + 1;

		moved[i] = used[i] == 0 ? 0 : (uint32_t)at;
		if (used[i] == 0)
			continue;
		memmove(map->names.data + at, name, size);
		at += size;
	}
	map->names.len = at;
	for (size_t i = 0; i < level->len; i++) {
		uint32_t *name = &level->ranges[i].name;
		const uint32_t *found = bsearch(name, used, n, sizeof(*used), by_value);

		*name = moved[found - used];
	}
	return 0;
}

/* Called when a limit is reached: keeps what still counts, and says so when that is too much. */
static int clean_up(struct perfmap *map)
{
	const struct perfmap_limits *limits = &map->limits;
	int err = flush(map);

	if (err == 0)
		err = merge(map, true);
	if (err == 0 && map->levels_len > 0)
		err = drop_unused_names(map);
	if (err < 0)
		return err;
	map->names_next = 2 * map->names.len;
	if (map->names_next < NAMES_NEXT_MIN)
		map->names_next = NAMES_NEXT_MIN;
	if (map->names_next > limits->names_bytes_max)
		map->names_next = limits->names_bytes_max;
	map->is_full = is_nearly(ranges_len(map), limits->ranges_max) ||
		is_nearly(map->names.len, limits->names_bytes_max);
	return 0;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static bool parse_line(struct cursor line, struct perfmap_range *range, struct bytes *name)
{
	uint64_t size;

	line_blanks(&line);
	if (!line_hex(&line, &range->start) || !line_blanks(&line) || !line_hex(&line, &size))
		return false;
	if (!line_blanks(&line) && cursor_left(&line) > 0)
		return false;
	if (size == 0 || size > UINT32_MAX || range->start > UINT64_MAX - size)
		return false;
	range->size = (uint32_t)size;
	*name = line_rest(&line);
	if (name->len > 0)
		name->len = strnlen((const char *)name->data, name->len);
	return true;
}

static int put_name(struct perfmap *map, struct bytes name, uint32_t *out)
{
	size_t at = map->names.len;
	int err;

	if (name.len == 0) {
		*out = 0;
		return 0;
	}
	if (name.len > PERFMAP_NAME_MAX) {
		name.len = PERFMAP_NAME_MAX;
		map->stats.cut++;
	}
	err = buf_put(&map->names, name.data, name.len);
	if (err == 0)
		err = buf_putc(&map->names, '\0');
	if (err == 0)
		*out = (uint32_t)at;
	return err;
}

static int make_room(struct perfmap *map, size_t name_len)
{
	size_t names = map->names.len + name_len + 1;
	int err = 0;

	if (map->fresh.len >= FRESH_MAX)
		err = flush(map);
	/* each line in fresh may yet become two ranges */
	if (err == 0 &&
		(names > map->names_next ||
			ranges_len(map) + 2 * (map->fresh.len + 1) > map->limits.ranges_max))
		err = clean_up(map);
	return err;
}

static int take_line(struct perfmap *map, struct cursor line)
{
	struct perfmap_range range, *added;
	struct bytes name;
	int err = 0;

	if (!parse_line(line, &range, &name)) {
		map->stats.bad++;
		return 0;
	}
	if (!map->is_full)
		err = make_room(map, name.len < PERFMAP_NAME_MAX ? name.len : PERFMAP_NAME_MAX);
	if (err == 0 && map->is_full) {
		map->stats.full++;
		return 0;
	}
	if (err == 0)
		err = put_name(map, name, &range.name);
	if (err < 0)
		return err;
	added = vec_add(&map->fresh);
	if (!added)
		return -ENOMEM;
	*added = range;
	map->stats.lines++;
	return 0;
}

/* Whatever is longer than a line with the longest name could only be cut from the name. */
static int keep_tail(struct perfmap *map, struct bytes part)
{
	size_t room = LINE_MAX_BYTES - map->tail.len;

	if (part.len > room)
		part.len = room;
	return buf_put(&map->tail, part.data, part.len);
}

/* ---- public --------------------------------------------------------------------------------- */

int perfmap_init(struct perfmap *map, const struct perfmap_limits *limits)
{
	*map = (struct perfmap){ .limits = *limits };
	return perfmap_reset(map);
}

void perfmap_done(struct perfmap *map)
{
	for (size_t i = 0; i < map->levels_len; i++)
		free(map->levels[i].ranges);
	vec_done(&map->fresh);
	buf_done(&map->names);
	buf_done(&map->tail);
	*map = (struct perfmap){ .limits = map->limits };
}

int perfmap_reset(struct perfmap *map)
{
	size_t names_max = map->limits.names_bytes_max;

	perfmap_done(map);
	map->names_next = names_max < NAMES_NEXT_MIN ? names_max : NAMES_NEXT_MIN;
	return buf_putc(&map->names, '\0');
}

int perfmap_feed(struct perfmap *map, const void *data, size_t len)
{
	struct cursor c = cursor_init(data, len), line;
	int err = 0;

	if (map->tail.len > 0 && len > 0) {
		const uint8_t *newline = memchr(data, '\n', len);

		err = keep_tail(map, cursor_bytes(&c, newline ? (size_t)(newline - c.at) : len));
		if (err == 0 && newline) {
			cursor_skip(&c, 1);
			err = take_line(map, cursor_init(map->tail.data, map->tail.len));
			buf_clear(&map->tail);
		}
	}
	while (err == 0 && line_next(&c, &line))
		err = take_line(map, line);
	return err < 0 ? err : keep_tail(map, line_rest(&c));
}

static const struct perfmap_range *find_in(const struct perfmap_level *level, uint64_t addr)
{
	size_t low = 0, high = level->len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (level->ranges[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || addr >= end_of(&level->ranges[low - 1]))
		return NULL;
	return &level->ranges[low - 1];
}

bool perfmap_find(struct perfmap *map, uint64_t addr, const char **name)
{
	const struct perfmap_range *found = NULL;

	if (flush(map) < 0)
		return false;
	for (size_t i = map->levels_len; i > 0 && !found; i--)
		found = find_in(&map->levels[i - 1], addr);
	if (!found || found->name == 0)
		return false;
	*name = map->names.data + found->name;
	return true;
}

void perfmap_stats(const struct perfmap *map, struct perfmap_stats *out)
{
	*out = map->stats;
	out->ranges = ranges_len(map) + map->fresh.len;
	out->memory_bytes = ranges_len(map) * sizeof(struct perfmap_range) +
		map->fresh.cap * sizeof(struct perfmap_range) + map->names.cap + map->tail.cap;
}
