/* SPDX-License-Identifier: Apache-2.0 */
/* sink/flame.c - sorts the paths, root first, so that each shares its beginning with the one
 * before: the tree comes out in order, without a search or a recursion. Drawing is left to the
 * callers. */
#include "sink/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/own.h"
#include "base/utf8.h"

struct source {
	const struct profile *profile;
	uint32_t *functions; /* of each frame of the profile */
	uint32_t *labels;    /* of each label of the profile, by_len functions */
};

struct path {
	const struct source *source;
	const struct profile_sample *sample;
	uint32_t entry; /* in flame.leaves */
	uint32_t side;
};

struct builder {
	struct flame *flame;
	struct source sources[FLAME_SIDES];
	size_t sources_len;
	const struct sink_options *options;
	uint32_t by_len;
	bool all_kinds;
	struct hash index; /* hash of a function → its id */
	struct buf clean;
	bool failed; /* no memory: numbers that were given mean nothing */
	struct path *paths;
	size_t paths_len;
	VEC(uint32_t) open; /* the nodes of the path that was last added, root first */
};

static uint32_t put_text(struct builder *b, const char *text)
{
	uint32_t id = 0;

	buf_clear(&b->clean);
	b->failed |= utf8_put_clean(&b->clean, text) < 0 ||
		strtab_put(&b->flame->texts, buf_text(&b->clean), b->clean.len, &id) < 0;
	return id;
}

static bool is_same(const struct flame_function *a, const struct flame_function *b)
{
	return a->text == b->text && a->module == b->module && a->kind == b->kind;
}

static uint32_t put_function(struct builder *b, const struct flame_function *function)
{
	const uint32_t what[] = { function->text, function->module, function->kind };
	uint64_t key = hash_bytes(what, sizeof(what)), *have;
	struct flame_function *slot;

	for (; (have = hash_find(&b->index, key)); key++) {
		slot = &b->flame->functions.data[*have];
		if (!is_same(slot, function))
			continue;
		if (slot->file == 0)
			slot->file = function->file;
		return (uint32_t)*have;
	}
	slot = vec_add(&b->flame->functions);
	if (!slot || hash_put(&b->index, key, b->flame->functions.len - 1) < 0) {
		b->failed = true;
		return 0;
	}
	*slot = *function;
	return (uint32_t)b->flame->functions.len - 1;
}

static uint32_t put_frame(
	struct builder *b, const struct profile *p, const struct profile_frame *frame)
{
	struct flame_function function = { .kind = frame->class };
	const char *name = profile_text(p, frame->name);

	function.text = put_text(b, *name ? name : "?");
	function.module = put_text(b, profile_text(p, frame->module));
	function.file = put_text(b, profile_text(p, frame->file));
	return put_function(b, &function);
}

static void put_labels(struct builder *b, struct source *s)
{
	const struct profile *p = s->profile;

	for (size_t i = 0; i < p->labels.len * b->by_len; i++) {
		struct flame_function function = { .kind = FLAME_LABEL };
		char number[SINK_NUMBER_MAX];

		function.text = put_text(b,
			sink_by_label(p, b->options, (uint32_t)(i / b->by_len),
				(uint32_t)(i % b->by_len), number));
		s->labels[i] = put_function(b, &function);
	}
}

static int put_source(struct builder *b, const struct profile *p)
{
	struct source *s = &b->sources[b->sources_len++];

	s->profile = p;
	s->functions = calloc(p->frames.len + 1, sizeof(*s->functions));
	s->labels = calloc(p->labels.len * b->by_len + 1, sizeof(*s->labels));
	if (!s->functions || !s->labels)
		return -ENOMEM;
	for (size_t i = 0; i < p->frames.len; i++)
		s->functions[i] = put_frame(b, p, &p->frames.data[i]);
	put_labels(b, s);
	return b->failed ? -ENOMEM : 0;
}

/* ---- functions in order ---------------------------------------------------------------------- */

static int by_text(const void *a, const void *b, void *ctx)
{
	const struct flame *flame = ctx;
	const struct flame_function *x = &flame->functions.data[*(const uint32_t *)a];
	const struct flame_function *y = &flame->functions.data[*(const uint32_t *)b];
	int order = strcmp(flame_text(flame, x->text), flame_text(flame, y->text));

	if (order == 0)
		order = strcmp(flame_text(flame, x->module), flame_text(flame, y->module));
	return order ? order : (int)x->kind - (int)y->kind;
}

static void renumber(struct builder *b, const uint32_t *ranks)
{
	for (size_t i = 0; i < b->sources_len; i++) {
		struct source *s = &b->sources[i];

		for (size_t frame = 0; frame < s->profile->frames.len; frame++)
			s->functions[frame] = ranks[s->functions[frame]];
		for (size_t label = 0; label < s->profile->labels.len * b->by_len; label++)
			s->labels[label] = ranks[s->labels[label]];
	}
}

/* From here on a function's number is the rank of its name, so paths compare fast. */
static int sort_functions(struct builder *b)
{
	size_t len = b->flame->functions.len;
	_cleanup_(freep) uint32_t *order = calloc(len + 1, sizeof(*order));
	_cleanup_(freep) uint32_t *ranks = calloc(len + 1, sizeof(*ranks));
	struct flame_function *sorted = calloc(len + 1, sizeof(*sorted));

	if (!order || !ranks || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < len; i++)
		order[i] = i;
	qsort_r(order, len, sizeof(*order), by_text, b->flame);
	for (uint32_t i = 0; i < len; i++) {
		ranks[order[i]] = i;
		sorted[i] = b->flame->functions.data[order[i]];
	}
	vec_done(&b->flame->functions);
	b->flame->functions.data = sorted;
	b->flame->functions.len = b->flame->functions.cap = len;
	renumber(b, ranks);
	return 0;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static uint32_t path_len(const struct builder *b, const struct path *path)
{
	return b->by_len + path->source->profile->stacks.data[path->sample->stack].len;
}

/* Element i of a path, 0 the root's callee. */
static uint32_t path_at(const struct builder *b, const struct path *path, uint32_t i)
{
	const struct profile *p = path->source->profile;
	const struct profile_stack *stack = &p->stacks.data[path->sample->stack];

	if (i < b->by_len)
		return path->source->labels[path->sample->labels * b->by_len + i];
	i -= b->by_len;
	return path->source->functions[p->frame_ids.data[stack->first + stack->len - 1 - i]];
}

static int by_path(const void *a, const void *b, void *ctx)
{
	const struct builder *builder = ctx;
	const struct path *x = a, *y = b;
	uint32_t xs = path_len(builder, x), ys = path_len(builder, y);

	for (uint32_t i = 0; i < xs && i < ys; i++) {
		uint32_t fx = path_at(builder, x, i), fy = path_at(builder, y, i);

		if (fx != fy)
			return fx < fy ? -1 : 1;
	}
	return xs != ys ? (xs < ys ? -1 : 1) : (x->entry > y->entry) - (x->entry < y->entry);
}

static int list_paths(struct builder *b)
{
	size_t len = 0;

	for (size_t i = 0; i < b->sources_len; i++)
		len += b->sources[i].profile->samples.len;
	b->paths = calloc(len + 1, sizeof(*b->paths));
	if (!b->paths)
		return -ENOMEM;
	for (uint32_t side = 0; side < b->sources_len; side++) {
		vec_each (&b->sources[side].profile->samples, sample) {
			uint32_t *leaf = vec_add(&b->flame->leaves);

			if (!leaf)
				return -ENOMEM;
			*leaf = 0;
			if (sample->kind != 0 && !b->all_kinds)
				continue;
			b->paths[b->paths_len++] = (struct path){ .source = &b->sources[side],
				.sample = sample,
				.entry = (uint32_t)b->flame->leaves.len - 1,
				.side = side };
		}
	}
	qsort_r(b->paths, b->paths_len, sizeof(*b->paths), by_path, b);
	return 0;
}

/* ---- the tree -------------------------------------------------------------------------------- */

static int open_node(struct builder *b, uint32_t function)
{
	struct flame_node *node = vec_add(&b->flame->nodes);
	uint32_t *slot = vec_add(&b->open);

	if (!node || !slot)
		return -ENOMEM;
	*slot = (uint32_t)b->flame->nodes.len - 1;
	node->function = function;
	node->depth = (uint32_t)b->open.len - 1;
	node->parent = b->open.len > 1 ? b->open.data[b->open.len - 2] : 0;
	if (node->depth > b->flame->depth_max)
		b->flame->depth_max = node->depth;
	return 0;
}

static int add_path(struct builder *b, const struct path *path)
{
	uint32_t len = path_len(b, path), same = 0, leaf;
	struct flame_node *nodes = b->flame->nodes.data;

	while (same < len && same + 1 < b->open.len &&
		nodes[b->open.data[same + 1]].function == path_at(b, path, same))
		same++;
	b->open.len = same + 1;
	for (uint32_t i = same; i < len; i++)
		if (open_node(b, path_at(b, path, i)) < 0)
			return -ENOMEM;
	leaf = b->open.data[b->open.len - 1];
	if (path->sample->kind == 0)
		b->flame->nodes.data[leaf].self[path->side] += path->sample->value;
	b->flame->leaves.data[path->entry] = leaf;
	return 0;
}

/* A node precedes all that it calls, so one way back gives the sums. */
static void add_up(struct flame *flame)
{
	for (size_t i = flame->nodes.len; i-- > 0;) {
		struct flame_node *node = &flame->nodes.data[i];

		for (int side = 0; side < FLAME_SIDES; side++) {
			node->total[side] += node->self[side];
			if (i > 0)
				flame->nodes.data[node->parent].total[side] += node->total[side];
		}
	}
}

static int build(struct builder *b, const struct profile *const *profiles, size_t len)
{
	if (strtab_init(&b->flame->texts) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < len; i++)
		if (put_source(b, profiles[i]) < 0)
			return -ENOMEM;
	if (sort_functions(b) < 0 || list_paths(b) < 0 || open_node(b, 0) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < b->paths_len; i++)
		if (add_path(b, &b->paths[i]) < 0)
			return -ENOMEM;
	add_up(b->flame);
	return 0;
}

int flame_build(struct flame *flame, const struct profile *const *profiles, size_t profiles_len,
	const struct sink_options *options, bool all_kinds)
{
	struct builder b = { .flame = flame,
		.options = options,
		.by_len = options ? options->by_len : 0,
		.all_kinds = all_kinds };
	int err;

	*flame = (struct flame){ 0 };
	err = build(&b, profiles, profiles_len < FLAME_SIDES ? profiles_len : FLAME_SIDES);
	for (size_t i = 0; i < b.sources_len; i++) {
		free(b.sources[i].functions);
		free(b.sources[i].labels);
	}
	hash_done(&b.index);
	buf_done(&b.clean);
	free(b.paths);
	vec_done(&b.open);
	return err;
}

void flame_done(struct flame *flame)
{
	strtab_done(&flame->texts);
	vec_done(&flame->functions);
	vec_done(&flame->nodes);
	vec_done(&flame->leaves);
}
