/* SPDX-License-Identifier: Apache-2.0 */
/* sink/svg.c - a flame graph that opens in any viewer: boxes as wide as their share of the samples,
 * the root at the bottom. The script (page/svg.js) adds search and zoom; the picture is complete
 * without it. A box narrower than WIDTH_MIN and its callees are not drawn; the graph says how many.
 */
#include "sink/sink.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/own.h"
#include "base/utf8.h"
#include "sink/flame.h"
#include "sink/guessed.h"
#include "sink/markup.h"
#include "sink/page/svg.js.h"

#define WIDTH 1200
#define SIDE 10 /* left and right of the boxes */
#define ROW 16
#define HEAD 54 /* above the boxes: title, buttons */
#define FOOT 42 /* below: what the pointer is at */
#define CHAR_TENTHS 70
#define WIDTH_MIN 0.1
#define NSEC 1000000000ULL
#define NOT_DRAWN UINT64_MAX

struct drawing {
	const struct profile *profile;
	const struct flame *flame;
	char unit[PROFILE_UNIT_MAX];
	struct buf *out;
	uint64_t *begins; /* samples to the left of each node */
	uint64_t all;
	uint32_t height;
	uint64_t cut_boxes, cut_samples;
};

static double width_of(const struct drawing *d, uint64_t samples)
{
	return d->all ? (double)samples * (WIDTH - 2 * SIDE) / (double)d->all : 0;
}

/* FlameGraph's warm colours for code, others for the rest; a name is always of the same shade. */
static void colour_of(const char *name, uint32_t kind, int rgb[3])
{
	static const int low[FLAME_KINDS][3] = {
		[PROFILE_NATIVE] = { 214, 74, 32 },
		[PROFILE_KERNEL] = { 96, 134, 196 },
		[PROFILE_JIT] = { 84, 168, 84 },
		[PROFILE_INLINED] = { 70, 166, 170 },
		[PROFILE_LANGUAGE] = { 196, 160, 48 },
		[PROFILE_MARK] = { 150, 150, 150 },
		[FLAME_LABEL] = { 178, 178, 190 },
	};
	static const int range[FLAME_KINDS][3] = {
		[PROFILE_NATIVE] = { 40, 150, 40 },
		[PROFILE_KERNEL] = { 50, 50, 40 },
		[PROFILE_JIT] = { 60, 50, 50 },
		[PROFILE_INLINED] = { 50, 40, 40 },
		[PROFILE_LANGUAGE] = { 40, 50, 40 },
		[PROFILE_MARK] = { 20, 20, 20 },
		[FLAME_LABEL] = { 24, 24, 24 },
	};
	/* No secret: the same in each run, so that two pictures can be compared. */
	uint64_t hash = hash_bytes_with((struct hash_secret){ { 0 } }, name, strlen(name));

	for (int i = 0; i < 3; i++)
		rgb[i] = low[kind][i] +
			(int)(hash >> (16 * (kind == PROFILE_NATIVE ? i : 0)) & 0xff) *
				range[kind][i] / 255;
}

/* The first characters of a name that fit, and two dots; nothing where fewer than three fit. */
static void put_fitting(struct buf *out, const char *name, double width)
{
	size_t room = (size_t)((width - 6) * 10 / CHAR_TENTHS), len = 0, chars = 0;

	if (width < 6 || room < 3)
		return;
	while (name[len] && chars < room) {
		len += utf8_char_len(name + len);
		chars++;
	}
	if (!name[len]) {
		markup_put(out, name, len);
		return;
	}
	for (int drop = 2; drop > 0; drop--)
		for (len--; ((unsigned char)name[len] & 0xc0) == 0x80; len--)
			;
	markup_put(out, name, len);
	buf_puts(out, "..");
}

/* The module is an attribute, so that the text before the count is the name alone. */
static void put_tip(struct drawing *d, const char *name, const char *module, uint64_t samples)
{
	struct buf *out = d->out;
	char count[MARKUP_COUNT_MAX];

	buf_puts(out, *module ? "<g data-module=\"" : "<g");
	if (*module) {
		markup_puts(out, module);
		buf_putc(out, '"');
	}
	buf_puts(out, "><title>");
	markup_puts(out, name);
	buf_printf(out, " (%s %s, %.2f%%)", markup_count(samples, count), d->unit,
		d->all ? 100.0 * (double)samples / (double)d->all : 0);
}

static void put_box(struct drawing *d, uint32_t at)
{
	static const struct flame_function root = { .kind = FLAME_LABEL };
	const struct flame_node *node = &d->flame->nodes.data[at];
	const struct flame_function *f = at > 0 ? &d->flame->functions.data[node->function] : &root;
	const char *name = at > 0 ? flame_text(d->flame, f->text) : "all";
	double width = width_of(d, node->total[0]);
	uint32_t y = d->height - FOOT - (node->depth + 1) * ROW;
	double x = SIDE + width_of(d, d->begins[at]);
	int rgb[3];

	colour_of(name, f->kind, rgb);
	put_tip(d, name, flame_text(d->flame, f->module), node->total[0]);
	buf_printf(d->out,
		"</title><rect x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%d\" "
		"fill=\"rgb(%d,%d,%d)\" rx=\"2\"/><text x=\"%.1f\" y=\"%u\">",
		x, y, width, ROW - 1, rgb[0], rgb[1], rgb[2], x + 3, y + 11);
	put_fitting(d->out, name, width);
	buf_puts(d->out, "</text></g>\n");
}

/* Where each node begins, and which are too narrow to be drawn: begins[] is NOT_DRAWN. */
static int lay_out(struct drawing *d)
{
	const struct flame *flame = d->flame;
	uint32_t cut_depth = UINT32_MAX, depth_max = 0;
	_cleanup_(freep) uint64_t *next = calloc(flame->nodes.len, sizeof(*next));

	if (!next)
		return -ENOMEM;
	for (uint32_t i = 0; i < flame->nodes.len; i++) {
		const struct flame_node *node = &flame->nodes.data[i];
		bool below_cut = node->depth > cut_depth;

		next[i] = d->begins[i] = i > 0 ? next[node->parent] : 0;
		if (i > 0)
			next[node->parent] += node->total[0];
		if (below_cut || (i > 0 && width_of(d, node->total[0]) < WIDTH_MIN)) {
			d->cut_boxes++;
			d->cut_samples += below_cut ? 0 : node->total[0];
			cut_depth = below_cut ? cut_depth : node->depth;
			d->begins[i] = NOT_DRAWN;
			continue;
		}
		cut_depth = UINT32_MAX;
		depth_max = node->depth > depth_max ? node->depth : depth_max;
	}
	d->height = HEAD + FOOT + (depth_max + 1) * ROW;
	return 0;
}

static void put_boxes(struct drawing *d)
{
	for (uint32_t i = 0; i < d->flame->nodes.len; i++)
		if (d->begins[i] != NOT_DRAWN)
			put_box(d, i);
}

/* When, how long and how often samples were taken. */
static void put_subtitle(struct drawing *d)
{
	const struct profile *p = d->profile;
	char count[MARKUP_COUNT_MAX], when[64] = "", guessed[GUESSED_MAX];
	time_t seconds = (time_t)(p->start_ns / NSEC);
	struct tm tm;

	buf_printf(d->out, "%s %s", markup_count(d->all, count), d->unit);
	if (p->kinds[0].period_ns)
		buf_printf(d->out, " at %.4g Hz", (double)NSEC / (double)p->kinds[0].period_ns);
	if (p->duration_ns)
		buf_printf(d->out, ", %.1f s", (double)p->duration_ns / (double)NSEC);
	if (p->start_ns && gmtime_r(&seconds, &tm) &&
		strftime(when, sizeof(when), ", %Y-%m-%d %H:%M:%S UTC", &tm) > 0)
		buf_puts(d->out, when);
	if (*guessed_text(p, guessed)) {
		buf_puts(d->out, ", ");
		markup_puts(d->out, guessed);
	}
}

static void put_head(struct drawing *d)
{
	buf_printf(d->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		"<svg version=\"1.1\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
		"height=\"%u\" viewBox=\"0 0 %d %u\" role=\"img\" "
		"aria-label=\"Flame graph\" data-all=\"%llu\" data-unit=\"%s\">\n"
		"<style>\n"
		"text { font-family: Verdana, \"DejaVu Sans\", sans-serif; font-size: 12px; "
		"fill: #000; }\n"
		"#title { font-size: 17px; text-anchor: middle; }\n"
		"#subtitle { text-anchor: middle; fill: #555; }\n"
		"#matched, #search { text-anchor: end; }\n"
		".button { cursor: pointer; fill: #444; } .button:hover { fill: #000; }\n"
		".off { display: none; }\n"
		"#boxes g { cursor: pointer; } #boxes text { pointer-events: none; }\n"
		"#boxes g:hover rect { stroke: #000; stroke-width: 0.5; }\n"
		".above { opacity: 0.5; }\n"
		"</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#f8f8f4\"/>\n"
		"<text id=\"title\" x=\"%d\" y=\"24\">Flame Graph</text>\n"
		"<text id=\"subtitle\" x=\"%d\" y=\"42\">",
		WIDTH, d->height, WIDTH, d->height, (unsigned long long)d->all,
		d->unit, WIDTH / 2, WIDTH / 2);
	put_subtitle(d);
	buf_printf(d->out,
		"</text>\n"
		"<text id=\"reset\" class=\"button off\" x=\"%d\" y=\"24\" "
		"tabindex=\"0\" role=\"button\">Reset Zoom</text>\n"
		"<text id=\"search\" class=\"button\" x=\"%d\" y=\"24\" "
		"tabindex=\"0\" role=\"button\">Search</text>\n"
		"<g id=\"boxes\">\n",
		SIDE, WIDTH - SIDE);
}

static void put_foot(struct drawing *d)
{
	char boxes[MARKUP_COUNT_MAX], samples[MARKUP_COUNT_MAX];

	buf_printf(d->out,
		"</g>\n<text id=\"details\" x=\"%d\" y=\"%u\"> </text>\n"
		"<text id=\"matched\" x=\"%d\" y=\"%u\"> </text>\n",
		SIDE, d->height - FOOT / 2, WIDTH - SIDE, d->height - FOOT / 2);
	if (d->cut_boxes > 0)
		buf_printf(d->out,
			"<text id=\"cut\" x=\"%d\" y=\"%u\" style=\"font-size:10px;fill:#777\">"
			"%s boxes narrower than %.1f pixels (%s %s) are not drawn</text>\n",
			SIDE, d->height - 6, markup_count(d->cut_boxes, boxes), WIDTH_MIN,
			markup_count(d->cut_samples, samples), d->unit);
	buf_puts(d->out, "<script><![CDATA[\n");
	buf_put(d->out, page_svg_js, sizeof(page_svg_js));
	buf_puts(d->out, "]]></script>\n</svg>\n");
}

int svg_write(const struct profile *p, const struct sink_options *options, struct buf *out)
{
	_cleanup_(flame_done) struct flame flame = { 0 };
	_cleanup_(freep) uint64_t *begins = NULL;
	struct drawing d = { .profile = p, .flame = &flame, .out = out };

	if (buf_fail(out, flame_build(&flame, &p, 1, options, false)) < 0)
		return buf_err(out);
	begins = calloc(flame.nodes.len, sizeof(*begins));
	if (!begins)
		return buf_fail(out, -ENOMEM);
	d.begins = begins;
	profile_kind_unit_scaled(p, 0, d.unit);
	d.all = flame.nodes.data[0].total[0];
	if (buf_fail(out, lay_out(&d)) < 0)
		return buf_err(out);
	put_head(&d);
	put_boxes(&d);
	put_foot(&d);
	return buf_err(out);
}
