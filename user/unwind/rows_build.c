/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rows_build.c - compiles an image's call frame information into compact rows.
 * First every function is read: a span of file offsets and its rows, 24 and 8 bytes each, rules
 * interned. Then the spans are sorted and swept once from low to high, which resolves overlaps and
 * gaps. Each function's rows are visited once, however often other functions interrupt it, so
 * hostile nesting costs no more than its bytes. The result goes straight into pages
 * (rows_pack.c). */
#include "unwind/rows_build.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/vec.h"
#include "elf/eh_frame.h"
#include "elf/image.h"
#include "unwind/rows_code.h"
#include "unwind/rows_go.h"
#include "unwind/rows_index.h"
#include "unwind/rows_pack.h"
#include "unwind/rule_set.h"

/* After so many functions the file's pages are given back to the kernel. A function has some 300
 * bytes of text. */
#define SPANS_PER_PASS 2048

/* Real files have one or two; functions in further ones count as outside. */
#define CODE_SEGMENTS_MAX 32

enum source {
	SOURCE_GO,
	SOURCE_EH_FRAME,
	SOURCE_DEBUG_FRAME,
	SOURCES,
};

/* One function in the file. */
struct span {
	uint64_t start; /* file offset */
	uint32_t size;
	uint32_t first; /* in raw rows; rises in the order of reading */
	uint32_t len;
	uint32_t source; /* enum source */
};

struct raw_row {
	uint32_t delta; /* from the span's start */
	uint16_t rule;
};

/* A span under the sweep. */
struct active {
	const struct span *span;
	uint32_t row; /* the one that holds at the last place visited */
};

struct build {
	struct image *image;
	struct why *why;
	const struct image_segment *code[CODE_SEGMENTS_MAX];
	size_t code_len;
	uint64_t go_start, go_end;             /* vaddrs of Go's own functions */
	bool is_go_unread;                     /* Go's code, but its stack deltas are not read */
	const struct image_segment *last_code; /* the last function's */
	enum source source;
	struct rule_set rules;
	VEC(struct span) spans;
	VEC(struct raw_row) rows;
	VEC(struct active) stacks[SOURCES]; /* by rising start */
	uint64_t at;                        /* the sweep has settled everything below */
	struct rows_pack *pack;
	struct unwind_rows_stats stats;
};

static void build_done(struct build *b)
{
	rule_set_done(&b->rules);
	vec_done(&b->spans);
	vec_done(&b->rows);
	for (size_t i = 0; i < SOURCES; i++)
		vec_done(&b->stacks[i]);
	rows_pack_free(b->pack);
}

static void find_code(struct build *b)
{
	for (size_t i = 0; i < image_segments(b->image) && b->code_len < CODE_SEGMENTS_MAX; i++) {
		const struct image_segment *s = image_segment(b->image, i);

		if (s->type == PT_LOAD && (s->flags & PF_X))
			b->code[b->code_len++] = s;
	}
}

static bool segment_has(const struct image_segment *s, uint64_t vaddr)
{
	return vaddr >= s->vaddr && vaddr - s->vaddr < s->file_size;
}

/* The executable segment of an address, or NULL. Functions come in runs: the last one goes first.
 */
static const struct image_segment *find_segment(struct build *b, uint64_t vaddr)
{
	if (b->last_code && segment_has(b->last_code, vaddr))
		return b->last_code;
	for (size_t i = 0; i < b->code_len; i++) {
		if (segment_has(b->code[i], vaddr)) {
			b->last_code = b->code[i];
			return b->last_code;
		}
	}
	return NULL;
}

static int add_row(
	struct build *b, struct span *span, uint32_t delta, const struct unwind_rule *rule)
{
	struct raw_row *raw;
	uint16_t id;

	if (rule_set_put(&b->rules, rule, &id) < 0)
		return -ENOMEM;
	if (b->rows.len == UNWIND_ROWS_RAW_MAX)
		return why_set(b->why, -EFBIG, "more than %u unwind rows", UNWIND_ROWS_RAW_MAX);
	raw = vec_add(&b->rows);
	if (!raw)
		return -ENOMEM;
	raw->delta = delta;
	raw->rule = id;
	span->len++;
	return 0;
}

/* In GCC's epilogue of a realigned function the CFI finds rbp by rbp up to the end, but it is
 * restored already: at the return, and at the instruction before it, which gets a row of its own.
 */
static int end_realigned(struct build *b, struct span *span, const struct cfi_row *before,
	uint32_t delta, struct unwind_rule *rule)
{
	struct unwind_rule restored = before->rule;

	if (rule->cfa != CFA_REG || rule->cfa_reg != cfi_arch_find(b->image->machine)->sp ||
		rule->cfa_off != 8 || rule->fp != FP_AT_FP || rule->fp_off != 0 ||
		!rows_code_ends_realigned(b->image, span->start + delta))
		return 0;
	rule->fp = FP_SAME;
	if (before->rule.fp != FP_AT_FP || delta - before->delta <= ROWS_CODE_REALIGNED_END_BYTES)
		return 0;
	restored.fp = FP_SAME;
	return add_row(b, span, delta - ROWS_CODE_REALIGNED_END_BYTES, &restored);
}

/* Does the function return by a register, on a stack of its choice? */
static bool returns_elsewhere(const struct eh_frame_fde *fde)
{
	for (size_t i = fde->rows_len; i-- > 1;)
		if (fde->rows[i].rule.ra == RA_REG)
			return true;
	return false;
}

/* The callee's frame that cfa_add in bpf/abi_rows.h describes. */
static uint32_t called_frame(
	const struct build *b, const struct eh_frame_fde *fde, const struct span *span)
{
	if (b->image->machine != EM_X86_64 || !returns_elsewhere(fde))
		return 0;
	return rows_code_frame(b->image, span->start, span->size);
}

static int add_rows(struct build *b, const struct eh_frame_fde *fde, struct span *span)
{
	uint32_t frame = called_frame(b, fde, span);

	for (size_t i = 0; i < fde->rows_len && fde->rows[i].delta < span->size; i++) {
		struct unwind_rule rule = fde->rows[i].rule;
		int err = 0;

		if (frame > 0 && rule.cfa == CFA_REG &&
			rule.cfa_reg == cfi_arch_find(b->image->machine)->fp)
			rule.cfa_add = (int32_t)frame;
		if (i > 0 && span->source != SOURCE_GO)
			err = end_realigned(b, span, &fde->rows[i - 1], fde->rows[i].delta, &rule);
		if (err == 0)
			err = add_row(b, span, fde->rows[i].delta, &rule);
		if (err < 0)
			return err;
	}
	return 0;
}

/* A function without a caller. It is returned to at its first byte, so the walk looks for it one
 * byte before. */
static int add_outermost(struct build *b, struct span *span)
{
	static const struct unwind_rule rule = {
		.cfa = CFA_UNSUPPORTED, .ra = RA_UNDEFINED, .fp = FP_LOST
	};

	if (rows_code_follows_padding(b->image, span->start)) {
		span->start--;
		span->size++;
	}
	return add_row(b, span, 0, &rule);
}

/* Go's linker writes a .debug_frame that has rules for where a goroutine begins, as if more lay
 * after it. Entries of a C compiler are in the same section. */
static bool is_go_debug(const struct build *b, const struct eh_frame_fde *fde)
{
	return b->source == SOURCE_DEBUG_FRAME && fde->start >= b->go_start &&
		fde->start < b->go_end;
}

static int add_fde(void *arg, const struct eh_frame_fde *fde)
{
	struct build *b = arg;
	const struct image_segment *segment = find_segment(b, fde->start);
	struct span *span;
	uint64_t start, left;

	if (is_go_debug(b, fde))
		return 0;
	if (!segment) {
		b->stats.fdes_outside++;
		return 0;
	}
	start = segment->file_offset + (fde->start - segment->vaddr);
	left = segment->file_size - (fde->start - segment->vaddr);
	if (left > fde->size)
		left = fde->size;
	if (start > FRAME_OFFSET_MASK || left > FRAME_OFFSET_MASK - start) {
		b->stats.fdes_outside++;
		return 0;
	}
	span = vec_add(&b->spans);
	if (!span)
		return -ENOMEM;
	if (b->spans.len % SPANS_PER_PASS == 0)
		image_pass(b->image);
	span->start = start;
	span->size = (uint32_t)left;
	span->first = (uint32_t)b->rows.len;
	span->source = b->source;
	if (b->source != SOURCE_GO && rows_code_leaves_stack(b->image, start))
		return add_outermost(b, span);
	return add_rows(b, fde, span);
}

static void add_stats(struct build *b, const struct eh_frame_stats *stats)
{
	b->stats.fdes += stats->fdes;
	b->stats.fdes_bad += stats->fdes_bad;
	b->stats.fdes_empty += stats->fdes_empty;
	for (size_t i = 0; i < CFI_LOST_MAX; i++)
		b->stats.lost[i] += stats->lost[i];
}

static int read_section(struct build *b, const struct eh_frame *eh, enum source source)
{
	struct eh_frame_stats stats = { 0 };
	int err;

	b->source = source;
	err = eh_frame_walk(eh, add_fde, b, &stats);
	add_stats(b, &stats);
	return err;
}

static int add_go(void *arg, const struct eh_frame_fde *fde)
{
	struct build *b = arg;

	if (b->go_end == 0)
		b->go_start = fde->start;
	b->go_end = fde->start + fde->size;
	return add_fde(arg, fde);
}

/* A Go program's table is a gift too: without it, or where it is broken, its code is walked by
 * frame pointers. */
static int read_go(struct build *b)
{
	uint32_t functions = 0;
	int err;

	b->source = SOURCE_GO;
	err = rows_go_walk(b->image, add_go, b, &functions);
	b->stats.fdes += functions;
	b->is_go_unread = err == -ENOTSUP || err == -EBADMSG;
	return b->is_go_unread || err == -ENODATA ? 0 : err;
}

/* .debug_frame is an extra: if it is broken, the other rows are made without it. */
static int read_debug_frame(struct build *b)
{
	struct eh_frame eh;
	int err = b->is_go_unread ? -ENODATA : eh_frame_find_debug(b->image, &eh);

	if (err == 0)
		err = read_section(b, &eh, SOURCE_DEBUG_FRAME);
	if (err == -ENODATA)
		return 0;
	if (err == -EBADMSG || err == -EFBIG || err == -ENOTSUP) {
		b->stats.debug_bad = 1;
		return 0;
	}
	return err;
}

static int read_sections(struct build *b)
{
	struct eh_frame eh;
	int found = eh_frame_find(b->image, &eh);
	int err = read_go(b);

	if (err < 0)
		return err;
	if (found == 0)
		found = read_section(b, &eh, SOURCE_EH_FRAME);
	if (found == -EBADMSG)
		return why_set(b->why, found, ".eh_frame is malformed");
	if (found < 0 && found != -ENODATA)
		return found;
	err = read_debug_frame(b);
	if (err < 0)
		return err;
	if (found == -ENODATA && b->stats.fdes == 0)
		return why_set(b->why, -ENODATA, "neither .eh_frame nor .debug_frame");
	b->stats.rows_raw = (uint32_t)b->rows.len;
	b->stats.rules_refused = b->rules.refused;
	return 0;
}

/* By start; at the same start, the one that must end up on top comes last. */
static int compare_spans(const void *x, const void *y)
{
	const struct span *a = x, *b = y;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return a->first > b->first ? -1 : a->first < b->first;
}

static void sort_spans(struct build *b)
{
	for (size_t i = 1; i < b->spans.len; i++) {
		if (compare_spans(&b->spans.data[i - 1], &b->spans.data[i]) > 0) {
			qsort(b->spans.data, b->spans.len, sizeof(*b->spans.data), compare_spans);
			return;
		}
	}
}

static uint64_t span_end(const struct span *span)
{
	return span->start + span->size;
}

/* The function that holds at b->at: of .eh_frame where there is one, the innermost of those. */
static struct active *find_active(struct build *b)
{
	for (size_t i = 0; i < SOURCES; i++) {
		size_t len = b->stacks[i].len;

		while (len > 0 && span_end(b->stacks[i].data[len - 1].span) <= b->at)
			len--;
		b->stacks[i].len = len;
		if (len > 0)
			return &b->stacks[i].data[len - 1];
	}
	return NULL;
}

/* The rows of one function between b->at and end. */
static int put_span(struct build *b, struct active *a, uint64_t end)
{
	const struct span *span = a->span;
	const struct raw_row *rows = &b->rows.data[span->first];
	uint64_t from = b->at - span->start;
	uint64_t to = end - span->start;
	int err;

	while (a->row + 1 < span->len && rows[a->row + 1].delta <= from)
		a->row++;
	err = rows_pack_put(b->pack, b->at, rows[a->row].rule);
	while (err == 0 && a->row + 1 < span->len && rows[a->row + 1].delta < to) {
		a->row++;
		err = rows_pack_put(b->pack, span->start + rows[a->row].delta, rows[a->row].rule);
	}
	return err;
}

/* Settles everything below end, where the next function begins. */
static int sweep_to(struct build *b, uint64_t end)
{
	while (b->at < end) {
		struct active *a = find_active(b);
		uint64_t stop = end;
		int err = 0;

		if (a) {
			if (span_end(a->span) < stop)
				stop = span_end(a->span);
			err = put_span(b, a, stop);
		} else if (end - b->at >= UNWIND_ROWS_GAP ||
			!rows_code_is_padding(b->image, b->at, end - b->at)) {
			err = rows_pack_put(b->pack, b->at, RULE_NONE);
		}
		if (err < 0)
			return err;
		b->at = stop;
	}
	return 0;
}

static int sweep(struct build *b)
{
	int err;

	vec_each (&b->spans, span) {
		struct active *a;

		err = sweep_to(b, span->start);
		if (err < 0)
			return err;
		a = vec_add(&b->stacks[span->source]);
		if (!a)
			return -ENOMEM;
		a->span = span;
	}
	/* After every span: the last ones end, and nothing follows. */
	err = sweep_to(b, FRAME_OFFSET_MASK + UNWIND_ROWS_GAP);
	return err < 0 ? err : rows_pack_finish(b->pack);
}

static void *append(char *to, const void *data, size_t size)
{
	if (size > 0)
		memcpy(to, data, size);
	return to + size;
}

static int assemble(struct build *b, struct unwind_rows_head head, struct unwind_rows **out)
{
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = calloc(1, sizeof(*rows));
	const struct rows_pack *pack = b->pack;
	size_t pages_bytes = pack->pages.len * sizeof(*pack->pages.data);
	size_t rules_bytes = b->rules.rules.len * sizeof(*b->rules.rules.data);
	char *to;
	int err;

	if (!rows)
		return -ENOMEM;
	b->stats.pages_refused = pack->pages_refused;
	head.magic = UNWIND_ROWS_MAGIC;
	head.pages_len = (uint32_t)pack->pages.len;
	head.rules_len = (uint32_t)b->rules.rules.len;
	head.rows_len = pack->rows_len;
	head.data_bytes = (uint32_t)pack->data.len;
	head.stats = b->stats;
	rows->size = sizeof(head) + pages_bytes + rules_bytes + pack->data.len;
	rows->bytes = to = malloc(rows->size);
	if (!to)
		return -ENOMEM;
	to = append(to, &head, sizeof(head));
	to = append(to, pack->pages.data, pages_bytes);
	to = append(to, b->rules.rules.data, rules_bytes);
	append(to, pack->data.data, pack->data.len);
	/* The client checks them by the same function: what it would refuse is a damaged file. */
	err = unwind_rows_view(rows->bytes, rows->size, &rows->view);
	if (err < 0)
		return err;
	*out = TAKE_PTR(rows);
	return 0;
}

static int build_init(struct build *b)
{
	if (b->image->narrow || !cfi_arch_find(b->image->machine)) {
		why_set(b->why, -ENOTSUP, "unwinding for %d-bit ELF machine %u is not supported",
			b->image->narrow ? 32 : 64, b->image->machine);
		return -ENOTSUP;
	}
	*b->why = (struct why){ 0 };
	b->pack = calloc(1, sizeof(*b->pack));
	if (!b->pack)
		return -ENOMEM;
	find_code(b);
	return rule_set_init(&b->rules);
}

static int explain(struct why *why, int err)
{
	if (err < 0 && why->text[0] == '\0')
		why_set(why, err, "unwind rows: %s", err_text(err));
	return err;
}

static int settle_spans(struct build *b)
{
	int err;

	sort_spans(b);
	err = sweep(b);
	/* Most of the memory, before the pages are copied together. */
	vec_done(&b->spans);
	vec_done(&b->rows);
	return err;
}

int unwind_rows_build(struct image *image, struct unwind_rows **out, struct why *why)
{
	_cleanup_(build_done) struct build b = { .image = image, .why = why };
	int err = build_init(&b);

	if (err == 0)
		err = read_sections(&b);
	if (err == 0)
		err = settle_spans(&b);
	if (err == 0)
		err = rows_pack_fits(b.pack);
	if (err == 0)
		err = assemble(&b, (struct unwind_rows_head){ .kind = UNWIND_ROWS_TABLE }, out);
	return explain(why, err);
}

int unwind_rows_begin(struct image *image, struct unwind_rows **out, struct why *why)
{
	_cleanup_(build_done) struct build b = { .image = image, .why = why };
	struct rows_outline outline;
	int err = build_init(&b);

	if (err == 0)
		err = rows_index_outline(image, &outline);
	if (err == -ENODATA || (err == 0 && outline.len <= UNWIND_ROWS_SMALL_PAGES))
		return unwind_rows_build(image, out, why);
	if (err == 0)
		err = assemble(&b,
			(struct unwind_rows_head){ .kind = UNWIND_ROWS_OUTLINE,
				.first = outline.first,
				.span = outline.len,
				.used = outline.used },
			out);
	return explain(why, err);
}

static int read_pages(struct build *b, const uint32_t *numbers, size_t len)
{
	_cleanup_(rows_index_done) struct rows_index index = { 0 };
	struct eh_frame_stats stats = { 0 };
	int err = rows_index_open(b->image, &index);

	b->source = SOURCE_EH_FRAME;
	for (size_t i = 0; i < len && err == 0; i++)
		err = rows_index_walk(&index, numbers[i], add_fde, b, &stats);
	add_stats(b, &stats);
	b->stats.fde_bytes = (uint32_t)index.bytes_read;
	b->stats.rows_raw = (uint32_t)b->rows.len;
	b->stats.rules_refused = b->rules.refused;
	return err;
}

int unwind_rows_build_pages(struct image *image, const uint32_t *numbers, size_t len,
	struct unwind_rows **out, struct why *why)
{
	_cleanup_(build_done) struct build b = { .image = image, .why = why };
	int err = build_init(&b);

	if (err == 0)
		err = read_pages(&b, numbers, len);
	if (err == -ENODATA || err == -EBADMSG || err == -EFBIG)
		err = -ESTALE;
	if (err == 0)
		err = settle_spans(&b);
	if (err == 0)
		err = rows_pack_pick(b.pack, numbers, len);
	if (err == 0)
		err = assemble(&b, (struct unwind_rows_head){ .kind = UNWIND_ROWS_PAGES }, out);
	return explain(why, err);
}
