/* SPDX-License-Identifier: Apache-2.0 */
/* sink/html.c - the page and its data: a few words as JSON, the rest as columns of numbers
 * (LEB128), packed with gzip and written as base64. So 100,000 stacks take some megabytes, and no
 * byte of them can be read as markup. page/data.js reads the columns in the order in which they are
 * written here. The page is made at build time (tools/page). Its policy has the hashes of its
 * script and style, so nothing else can run in it, whatever a function is called. */
#include "sink/html.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "base/utf8.h"
#include "sink/compress.h"
#include "sink/flame.h"
#include "sink/guessed.h"
#include "sink/page/page.html.h"

#define NSEC_PER_MSEC 1000000.0

struct sides {
	const struct profile *profiles[FLAME_SIDES];
	const char *names[FLAME_SIDES];
	size_t len;
	const struct sink_options *options;
	enum diff_scale scale;
};

/* ---- numbers --------------------------------------------------------------------------------- */

/* A difference: small ones of either sign are one byte. */
static void put_delta(struct buf *out, uint64_t from, uint64_t to)
{
	uint64_t delta = to - from;

	buf_put_uleb(out, delta << 1 ^ (delta >> 63 ? UINT64_MAX : 0));
}

/* A column: one member of each element of a vec. */
#define put_column(out, v, member)                        \
	do {                                              \
		vec_each ((v), _it)                       \
			buf_put_uleb((out), _it->member); \
	} while (0)

/* ---- the parts ------------------------------------------------------------------------------- */

static void put_texts(struct buf *out, const struct strtab *texts)
{
	size_t size = 0;

	for (uint32_t i = 0; i < texts->len; i++)
		size += strlen(strtab_get(texts, i)) + 1;
	buf_put_uleb(out, size);
	for (uint32_t i = 0; i < texts->len; i++) {
		buf_puts(out, strtab_get(texts, i));
		buf_putc(out, '\n');
	}
}

static void put_functions(struct buf *out, const struct flame *flame)
{
	buf_put_uleb(out, flame->functions.len);
	put_column(out, &flame->functions, text);
	put_column(out, &flame->functions, module);
	put_column(out, &flame->functions, file);
	put_column(out, &flame->functions, kind);
}

/* A node is its height above the node before it, which mostly is its caller, and its function. The
 * root is not written. */
static void put_nodes(struct buf *out, const struct flame *flame)
{
	const struct flame_node *nodes = flame->nodes.data;

	buf_put_uleb(out, flame->nodes.len - 1);
	for (size_t i = 1; i < flame->nodes.len; i++)
		buf_put_uleb(out, nodes[i - 1].depth + 1 - nodes[i].depth);
	for (size_t i = 1; i < flame->nodes.len; i++)
		buf_put_uleb(out, nodes[i].function);
}

/* The texts of labels join those of functions, and come after them in the file. */
static void put_label_texts(
	struct buf *out, struct flame *flame, const struct profile *p, uint32_t key)
{
	_cleanup_(buf_done) struct buf clean = BUF_INIT;

	for (uint32_t labels = 0; labels < p->labels.len; labels++) {
		char number[SINK_NUMBER_MAX];
		const char *text = sink_label(p, labels, key, number);
		uint32_t id = 0;

		buf_clear(&clean);
		buf_fail(out, utf8_put_clean(&clean, text));
		buf_fail(out, strtab_put(&flame->texts, buf_text(&clean), clean.len, &id));
		buf_put_uleb(out, id);
	}
}

static void put_labels(struct buf *out, struct flame *flame, const struct profile *p)
{
	buf_put_uleb(out, p->labels.len);
	for (uint32_t key = 0; key < PROFILE_KEYS + p->free_keys.len; key++)
		put_label_texts(out, flame, p, key);
}

/* first: where the profile's samples begin among the leaves. */
static void put_samples(
	struct buf *out, const struct profile *p, const struct flame *flame, size_t first)
{
	uint32_t last = 0;

	buf_put_uleb(out, p->samples.len);
	for (size_t i = first; i < first + p->samples.len; i++) {
		put_delta(out, last, flame->leaves.data[i]);
		last = flame->leaves.data[i];
	}
	put_column(out, &p->samples, labels);
	put_column(out, &p->samples, value);
	if (p->kinds_len > 1)
		put_column(out, &p->samples, kind);
}

/* Times count from the first tick: every format with times has it. */
static void put_ticks(struct buf *out, const struct profile *p)
{
	uint64_t last = p->ticks.len > 0 ? p->ticks.data[0].time_ns : 0;

	buf_put_uleb(out, p->ticks.len);
	vec_each (&p->ticks, tick) {
		put_delta(out, last, tick->time_ns);
		last = tick->time_ns;
	}
	put_column(out, &p->ticks, sample);
}

static void put_parts(struct buf *out, struct flame *flame, const struct sides *sides)
{
	_cleanup_(buf_done) struct buf rest = BUF_INIT;
	size_t first = 0;

	put_functions(&rest, flame);
	put_nodes(&rest, flame);
	for (size_t i = 0; i < sides->len; i++) {
		const struct profile *p = sides->profiles[i];

		put_labels(&rest, flame, p);
		put_samples(&rest, p, flame, first);
		put_ticks(&rest, p);
		first += p->samples.len;
	}
	put_texts(out, &flame->texts);
	buf_append(out, &rest);
}

static void put_base64(struct buf *out, const struct buf *in)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
	const uint32_t padding = 64;
	const unsigned char *data = (const unsigned char *)in->data;
	char *room;
	size_t size = (in->len + 2) / 3 * 4;

	if (buf_reserve(out, size, &room) < 0)
		return;
	for (size_t i = 0; i < in->len; i += 3) {
		size_t left = in->len - i;
		uint32_t three = (uint32_t)data[i] << 16 |
			(left > 1 ? (uint32_t)data[i + 1] << 8 : 0U) |
			(left > 2 ? data[i + 2] : 0U);

		*room++ = digits[three >> 18];
		*room++ = digits[three >> 12 & 63];
		*room++ = digits[left > 1 ? three >> 6 & 63 : padding];
		*room++ = digits[left > 2 ? three & 63 : padding];
	}
	buf_commit(out, size);
}

static void put_data(struct buf *out, const struct sides *sides)
{
	_cleanup_(flame_done) struct flame flame = { 0 };
	_cleanup_(buf_done) struct buf plain = BUF_INIT;
	_cleanup_(buf_done) struct buf packed = BUF_INIT;

	if (buf_fail(out, flame_build(&flame, sides->profiles, sides->len, NULL, true)) < 0)
		return;
	put_parts(&plain, &flame, sides);
	if (buf_fail(out, compress_all(COMPRESS_GZIP, &plain, &packed)) == 0)
		put_base64(out, &packed);
}

/* ---- the words ------------------------------------------------------------------------------- */

/* A JSON string that ends no script element. */
static void put_json(struct buf *out, const char *text)
{
	_cleanup_(buf_done) struct buf clean = BUF_INIT;

	buf_fail(out, utf8_put_clean(&clean, text));
	buf_putc(out, '"');
	for (size_t i = 0; i < clean.len; i++) {
		if (strchr("\"\\<>&", clean.data[i]))
			buf_printf(out, "\\u%04x", (unsigned char)clean.data[i]);
		else
			buf_putc(out, clean.data[i]);
	}
	buf_putc(out, '"');
}

/* Of several; the samples have a column of them then. */
static void put_kinds(struct buf *out, const struct profile *p)
{
	char unit[PROFILE_UNIT_MAX];

	buf_puts(out, ",\"kinds\":[");
	for (uint32_t kind = 0; kind < p->kinds_len; kind++) {
		buf_puts(out, kind > 0 ? ",{\"name\":" : "{\"name\":");
		put_json(out, profile_kind_name(p, kind));
		buf_puts(out, ",\"unit\":");
		put_json(out, profile_kind_unit_scaled(p, kind, unit));
		buf_printf(out, ",\"period_ns\":%llu}",
			(unsigned long long)p->kinds[kind].period_ns);
	}
	buf_putc(out, ']');
}

/* The free keys, whose columns come after those of the well-known ones. */
static void put_keys(struct buf *out, const struct profile *p)
{
	buf_puts(out, ",\"keys\":[");
	for (uint32_t i = 0; i < p->free_keys.len; i++) {
		buf_puts(out, i > 0 ? "," : "");
		put_json(out, profile_text(p, p->free_keys.data[i]));
	}
	buf_putc(out, ']');
}

static void put_side(struct buf *out, const struct profile *p, const char *name)
{
	char guessed[GUESSED_MAX], unit[PROFILE_UNIT_MAX];

	buf_puts(out, "{\"name\":");
	put_json(out, name ? name : "");
	buf_puts(out, ",\"unit\":");
	put_json(out, profile_kind_unit_scaled(p, 0, unit));
	buf_printf(out,
		",\"period_ns\":%llu,\"start_ms\":%.0f,\"duration_ns\":%llu,"
		"\"ticks_dropped\":%llu,\"kind\":",
		(unsigned long long)p->kinds[0].period_ns, (double)p->start_ns / NSEC_PER_MSEC,
		(unsigned long long)p->duration_ns, (unsigned long long)p->ticks_dropped);
	put_json(out, profile_kind_name(p, 0));
	buf_puts(out, ",\"guessed\":");
	put_json(out, guessed_text(p, guessed));
	if (p->kinds_len > 1)
		put_kinds(out, p);
	if (p->free_keys.len > 0)
		put_keys(out, p);
	buf_putc(out, '}');
}

/* Numbers of columns; a free key that no sample has is left out. */
static void put_by(struct buf *out, const struct sides *sides)
{
	const struct sink_options *o = sides->options;
	const char *comma = "";

	for (uint32_t i = 0; o && i < o->by_len; i++) {
		const char *name = sink_by_name(o, i);
		uint32_t key = profile_key_find(sides->profiles[0], name, strlen(name));

		if (key == PROFILE_NO_KEY)
			continue;
		buf_printf(out, "%s%u", comma, key);
		comma = ",";
	}
}

static void put_words(struct buf *out, const struct sides *sides)
{
	buf_printf(out, "{\"version\":1,\"stoker\":\"%s\",\"scale\":\"%s\",\"by\":[",
		STOKER_VERSION, diff_scale_name(sides->scale));
	put_by(out, sides);
	buf_puts(out, "],\"sides\":[");
	for (size_t i = 0; i < sides->len; i++) {
		if (i > 0)
			buf_putc(out, ',');
		put_side(out, sides->profiles[i], sides->names[i]);
	}
	buf_puts(out, "]}");
}

/* ---- the page -------------------------------------------------------------------------------- */

static int write_page(const struct sides *sides, struct buf *out)
{
	static const char words[] = "@words@", data[] = "@data@";
	const char *page = page_page_html, *end = page + sizeof(page_page_html);
	const char *first = memmem(page, sizeof(page_page_html), words, strlen(words));
	const char *second = memmem(page, sizeof(page_page_html), data, strlen(data));

	assert(first && second && first < second);
	buf_put(out, page, (size_t)(first - page));
	put_words(out, sides);
	first += strlen(words);
	buf_put(out, first, (size_t)(second - first));
	put_data(out, sides);
	second += strlen(data);
	return buf_put(out, second, (size_t)(end - second));
}

int html_write(const struct profile *p, const struct sink_options *options, struct buf *out)
{
	const struct sides sides = { .profiles = { p }, .len = 1, .options = options };

	return write_page(&sides, out);
}

int html_write_diff(const struct profile *const profiles[2], const char *const names[2],
	const struct sink_options *options, enum diff_scale scale, struct buf *out)
{
	const struct sides sides = { .profiles = { profiles[0], profiles[1] },
		.names = { names[0], names[1] },
		.len = 2,
		.options = options,
		.scale = scale };

	return write_page(&sides, out);
}
