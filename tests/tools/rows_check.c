/* SPDX-License-Identifier: Apache-2.0 */
/* tests/tools/rows_check.c - holds our rows of one ELF file against readelf's.
 *     rows_check FILE < output of: readelf -W --debug-dump=frames-interp FILE
 * Every row that readelf prints is looked up in ours, at its first byte and at its last; stretches
 * of 16 bytes and more that no function covers must have no row. Prints one line:
 *     FILE fdes places agree exp marked hidden outside disagree rows bytes cfi_bytes build_ns
 * exp: we have a rule, and readelf says no more than "exp" of the CFA or the return address, or
 * that the stack pointer is not the CFA. marked: such a place for which we have CFA_UNSUPPORTED, or
 * RA_UNSUPPORTED for what is more than 32 KiB off. hidden: another function covers the place too.
 * outside: not in an executable segment. Differences go to stderr, the first ten of a file. Exit 1
 * when there are any.
 *     rows_check -l FILE < addresses    prints the rule at each
 *     rows_check -t FILE                builds only: the line, with zeros for what is compared
 *     rows_check -g FILE < frames-interp    of a Go program, whose .debug_frame says nothing of
 *         frame pointers, of where stacks end or of where others go on: the functions of such
 *         places, which are marked, go to stderr */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/vec.h"
#include "elf/eh_frame.h"
#include "elf/image.h"
#include "rows_find.h"
#include "unwind/rows.h"

#include <fcntl.h>

#define COLUMNS_MAX 160
#define TEXT_MAX 40
#define SHOWN_MAX 10
#define FILE_BYTES_MAX (4UL << 30)
#define GAP_SURE (2 * UNWIND_ROWS_GAP)

/* What readelf says of one row; "" where it has no such column. */
struct truth {
	char cfa[TEXT_MAX];
	char ra[TEXT_MAX];
	char fp[TEXT_MAX];
	char sp[TEXT_MAX];
};

struct range {
	uint64_t start, end;
};

struct difference {
	uint64_t at;
	struct range fde;
	struct truth truth;
};

struct cie_truth {
	uint64_t offset;
	struct truth truth;
};

struct check {
	const char *path;
	struct image image;
	struct unwind_rows *rows;
	VEC(struct range) fdes;
	VEC(struct difference) differences;
	VEC(struct cie_truth) cies; /* of the section that is read */
	/* Where in readelf's table the wanted columns are; -1: not there. */
	int ra_column, fp_column, sp_column;
	struct truth row; /* pending: its end is the next one's start */
	uint64_t row_at;
	bool row_pending, in_cie, in_fde;
	bool go;
	uint64_t last_marked; /* the function that was told last */
	struct range fde;
	uint64_t places, agree, exp, marked, hidden, outside, disagree;
	uint64_t cfi_bytes, build_ns;
};

static const char *const regs_x86_64[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip" };

static const char *reg_name(const struct check *c, unsigned int reg, char *out, size_t size)
{
	if (c->image.machine == EM_X86_64 && reg < ARRAY_SIZE(regs_x86_64))
		return regs_x86_64[reg];
	if (c->image.machine == EM_AARCH64 && reg == 31)
		return "sp";
	snprintf(out, size, "%c%u", c->image.machine == EM_AARCH64 ? 'x' : 'r', reg);
	return out;
}

static bool cfa_agrees(const struct check *c, const struct unwind_rule *rule, const char *truth)
{
	char want[2 * TEXT_MAX], name[TEXT_MAX];

	if (rule->cfa != CFA_REG)
		return false;
	snprintf(want, sizeof(want), "%s%+d", reg_name(c, rule->cfa_reg, name, sizeof(name)),
		rule->cfa_off);
	return strcmp(want, truth) == 0;
}

static bool ra_agrees(const struct check *c, const struct unwind_rule *rule, const char *truth)
{
	char want[TEXT_MAX];

	switch (rule->ra) {
	case RA_AT_CFA:
		snprintf(want, sizeof(want), "c%+d", rule->ra_off);
		return strcmp(want, truth) == 0;
	case RA_UNDEFINED:
		return strcmp(truth, "u") == 0;
	case RA_REG:
		snprintf(want, sizeof(want), "r%d", rule->ra_off);
		if (strcmp(truth, want) == 0)
			return true;
		/* Not given, or said to be the same: on arm64 that is the link register. */
		return c->image.machine == EM_AARCH64 && rule->ra_off == 30 &&
			(!*truth || strcmp(truth, "u") == 0 || strcmp(truth, "s") == 0);
	default:
		/* x86-64 without a rule; readelf has one letter for "undefined" and "not given". */
		return strcmp(truth, "u") == 0 || !*truth || strcmp(truth, "s") == 0;
	}
}

static bool fp_agrees(const struct unwind_rule *rule, const char *truth, bool go)
{
	char want[TEXT_MAX];

	if (go && !*truth)
		return rule->fp == FP_SAME || (rule->fp == FP_AT_CFA && rule->fp_off == -16);
	switch (rule->fp) {
	case FP_SAME:
		return !*truth || strcmp(truth, "u") == 0 || strcmp(truth, "s") == 0;
	case FP_AT_CFA:
		snprintf(want, sizeof(want), "c%+d", rule->fp_off);
		return strcmp(want, truth) == 0 || strcmp(truth, "exp") == 0;
	case FP_AT_FP:
	case FP_AT_SP:
		return strcmp(truth, "exp") == 0;
	default:
		return *truth && strncmp(truth, "c", 1) != 0 && strcmp(truth, "s") != 0;
	}
}

static bool is_exp(const char *truth)
{
	return strcmp(truth, "exp") == 0 || strcmp(truth, "vexp") == 0;
}

static bool sp_is_cfa(const char *truth)
{
	return !*truth || strcmp(truth, "u") == 0 || strcmp(truth, "v+0") == 0;
}

/* A distance that an unwind rule has no room for. */
static bool is_far(const char *truth)
{
	long off = *truth == 'c' ? strtol(truth + 1, NULL, 10) : 0;

	return off < INT16_MIN || off > INT16_MAX;
}

static void add_difference(struct check *c, uint64_t at)
{
	struct difference *d = vec_add(&c->differences);

	if (!d)
		abort();
	*d = (struct difference){ .at = at, .fde = c->fde, .truth = c->row };
}

/* Where a Go program leaves a stack, for another one or for good. */
static bool is_left(struct check *c, const struct unwind_rule *rule)
{
	if (!c->go || (rule->cfa == CFA_REG && rule->ra == RA_AT_CFA) || rule->cfa == CFA_NONE)
		return false;
	if (c->last_marked != c->fde.start)
		fprintf(stderr, "%" PRIx64 "\n", c->fde.start);
	c->last_marked = c->fde.start;
	return true;
}

static void compare_at(struct check *c, uint64_t at)
{
	struct unwind_rule rule;
	uint64_t offset;

	c->places++;
	if (!image_vaddr_to_offset(&c->image, at, &offset) ||
		!image_offset_is_code(&c->image, offset)) {
		c->outside++;
		return;
	}
	rule = rows_find(&c->rows->view, offset);
	if (is_left(c, &rule))
		c->marked++;
	else if (rule.cfa == CFA_UNSUPPORTED && (is_exp(c->row.cfa) || !sp_is_cfa(c->row.sp)))
		c->marked++;
	else if (rule.cfa != CFA_NONE &&
		(is_exp(c->row.cfa) || is_exp(c->row.ra) || !sp_is_cfa(c->row.sp)))
		c->exp++;
	else if (cfa_agrees(c, &rule, c->row.cfa) && ra_agrees(c, &rule, c->row.ra) &&
		fp_agrees(&rule, c->row.fp, c->go))
		c->agree++;
	else if (cfa_agrees(c, &rule, c->row.cfa) && rule.ra == RA_UNSUPPORTED && is_far(c->row.ra))
		c->marked++;
	else
		add_difference(c, at);
}

static void end_row(struct check *c, uint64_t next)
{
	if (next > c->fde.end)
		next = c->fde.end;
	if (c->row_pending && c->in_fde && c->row_at < next) {
		compare_at(c, c->row_at);
		if (next - 1 > c->row_at)
			compare_at(c, next - 1);
	}
	c->row_pending = false;
}

static void end_fde(struct check *c)
{
	end_row(c, UINT64_MAX);
	c->in_fde = c->in_cie = false;
}

static void read_columns(struct check *c, char *line)
{
	char *save, *word = strtok_r(line, " \n", &save);

	c->ra_column = c->fp_column = c->sp_column = -1;
	for (int i = 0; word && i < COLUMNS_MAX; i++, word = strtok_r(NULL, " \n", &save)) {
		if (strcmp(word, "ra") == 0)
			c->ra_column = i;
		else if (strcmp(word, c->image.machine == EM_AARCH64 ? "x29" : "rbp") == 0)
			c->fp_column = i;
		else if (strcmp(word, c->image.machine == EM_AARCH64 ? "sp" : "rsp") == 0)
			c->sp_column = i;
	}
}

static void copy_text(char *out, const char *text)
{
	snprintf(out, TEXT_MAX, "%s", text);
}

static void read_row(struct check *c, char *line)
{
	char *save, *word = strtok_r(line, " \n", &save);
	uint64_t at = strtoull(word, NULL, 16);

	end_row(c, at);
	c->row = (struct truth){ 0 };
	for (int i = 0; word && i < COLUMNS_MAX; i++, word = strtok_r(NULL, " \n", &save)) {
		/* A register is printed as "rdi (r5)" by some versions: that is one column. */
		if (*word == '(') {
			i--;
			continue;
		}
		if (i == 1)
			copy_text(c->row.cfa, word);
		else if (i == c->ra_column)
			copy_text(c->row.ra, word);
		else if (i == c->fp_column)
			copy_text(c->row.fp, word);
		else if (i == c->sp_column)
			copy_text(c->row.sp, word);
	}
	c->row_at = at;
	c->row_pending = true;
	if (c->in_cie && c->cies.len > 0)
		c->cies.data[c->cies.len - 1].truth = c->row;
}

/* An FDE that prints no rows has its CIE's. */
static void begin_fde(struct check *c, const char *line)
{
	const char *cie_text = strstr(line, "cie="), *pc_text = strstr(line, "pc=");
	uint64_t offset = cie_text ? strtoull(cie_text + 4, NULL, 16) : 0;
	struct range *range = vec_add(&c->fdes);
	char *end;

	if (!range || !pc_text)
		abort();
	c->fde.start = strtoull(pc_text + 3, &end, 16);
	c->fde.end = strtoull(end + 2, NULL, 16);
	*range = c->fde;
	c->in_fde = true;
	vec_each (&c->cies, cie) {
		if (cie->offset == offset)
			c->row = cie->truth;
	}
	c->row_at = c->fde.start;
	c->row_pending = true;
}

static void read_line(struct check *c, char *line)
{
	if (strncmp(line, "Contents of", 11) == 0) {
		end_fde(c);
		c->cies.len = 0;
	} else if (strncmp(line, "   LOC", 6) == 0) {
		read_columns(c, line);
	} else if (strstr(line, " FDE cie=")) {
		end_fde(c);
		begin_fde(c, line);
	} else if (strstr(line, " CIE \"")) {
		struct cie_truth *cie;

		end_fde(c);
		cie = vec_add(&c->cies);
		if (!cie)
			abort();
		cie->offset = strtoull(line, NULL, 16);
		c->in_cie = true;
		c->fde = (struct range){ 0 };
	} else if ((c->in_fde || c->in_cie) && strlen(line) > 17 && line[16] == ' ' &&
		strspn(line, "0123456789abcdef") == 16) {
		read_row(c, line);
	} else {
		end_fde(c);
	}
}

static void show(const struct check *c, const struct difference *d)
{
	struct unwind_rule rule = { 0 };
	uint64_t offset;

	if (image_vaddr_to_offset(&c->image, d->at, &offset))
		rule = rows_find(&c->rows->view, offset);
	fprintf(stderr,
		"%s: %#" PRIx64 " in %#" PRIx64 "..%#" PRIx64
		": readelf cfa=%s ra=%s fp=%s; ours cfa=%u reg=%u off=%d add=%d ra=%u%+d "
		"fp=%u%+d\n",
		c->path, d->at, d->fde.start, d->fde.end, d->truth.cfa, d->truth.ra, d->truth.fp,
		rule.cfa, rule.cfa_reg, rule.cfa_off, rule.cfa_add, rule.ra, rule.ra_off, rule.fp,
		rule.fp_off);
}

static bool covered_twice(const struct check *c, const struct difference *d)
{
	unsigned int times = 0;

	vec_each (&c->fdes, fde)
		times += d->at >= fde->start && d->at < fde->end;
	return times > 1;
}

static int compare_ranges(const void *x, const void *y)
{
	const struct range *a = x, *b = y;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void expect_none(struct check *c, uint64_t at)
{
	uint64_t offset;

	c->row = (struct truth){ .cfa = "none" };
	c->fde = (struct range){ at, at };
	if (!image_vaddr_to_offset(&c->image, at, &offset) ||
		!image_offset_is_code(&c->image, offset))
		return;
	c->places++;
	if (rows_find(&c->rows->view, offset).cfa == CFA_NONE) {
		c->agree++;
		return;
	}
	add_difference(c, at);
}

static void check_gaps(struct check *c)
{
	uint64_t end = UINT64_MAX;

	if (c->fdes.len == 0)
		return;
	qsort(c->fdes.data, c->fdes.len, sizeof(*c->fdes.data), compare_ranges);
	vec_each (&c->fdes, fde) {
		/* Two segments may meet in the file where their addresses do not. */
		if (end != UINT64_MAX && fde->start > end && fde->start - end >= GAP_SURE) {
			expect_none(c, end);
			expect_none(c, end + UNWIND_ROWS_GAP);
			expect_none(c, fde->start - UNWIND_ROWS_GAP);
		}
		if (end == UINT64_MAX || fde->end > end)
			end = fde->end;
	}
}

static void settle(struct check *c)
{
	vec_each (&c->differences, d) {
		if (covered_twice(c, d)) {
			c->hidden++;
			continue;
		}
		if (c->disagree++ < SHOWN_MAX)
			show(c, d);
	}
}

static void compare(struct check *c)
{
	_cleanup_(freep) char *line = NULL;
	size_t cap = 0;

	while (getline(&line, &cap, stdin) > 0)
		read_line(c, line);
	end_fde(c);
	if (!c->go) /* its functions reach up to the next */
		check_gaps(c);
	settle(c);
}

static void look_up(struct check *c)
{
	_cleanup_(freep) char *line = NULL;
	size_t cap = 0;

	while (getline(&line, &cap, stdin) > 0) {
		uint64_t at = strtoull(line, NULL, 16), offset;
		struct unwind_rule r = { 0 };

		if (image_vaddr_to_offset(&c->image, at, &offset))
			r = rows_find(&c->rows->view, offset);
		printf("%" PRIx64 " %u %u %d %d %u %d %u %d\n", at, r.cfa, r.cfa_reg, r.cfa_off,
			r.cfa_add, r.ra, r.ra_off, r.fp, r.fp_off);
	}
}

static int build(struct check *c, struct why *why)
{
	struct eh_frame eh;
	uint64_t started;
	int err;

	if (eh_frame_find(&c->image, &eh) == 0)
		c->cfi_bytes += eh.data.len;
	if (eh_frame_find_debug(&c->image, &eh) == 0)
		c->cfi_bytes += eh.data.len;
	started = clock_ns(CLOCK_MONOTONIC);
	err = unwind_rows_build(&c->image, &c->rows, why);
	c->build_ns = clock_ns(CLOCK_MONOTONIC) - started;
	return err;
}

static void print_line(const struct check *c)
{
	const struct unwind_rows_head *head = c->rows->view.head;

	printf("%s %zu %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	       " %" PRIu64 " %u %zu %" PRIu64 " %" PRIu64 "\n",
		c->path, c->fdes.len, c->places, c->agree, c->exp, c->marked, c->hidden, c->outside,
		c->disagree, head->rows_len, c->rows->size, c->cfi_bytes, c->build_ns);
	if (!getenv("ROWS_CHECK_STATS"))
		return;
	fprintf(stderr,
		"STAT %s fdes=%u bad=%u empty=%u outside=%u debug_bad=%u raw=%u rules=%u "
		"pages=%u",
		c->path, head->stats.fdes, head->stats.fdes_bad, head->stats.fdes_empty,
		head->stats.fdes_outside, head->stats.debug_bad, head->stats.rows_raw,
		head->rules_len, head->pages_len);
#define X(id, name, text) fprintf(stderr, " " name "=%u", head->stats.lost[CFI_LOST_##id]);
	CFI_LOST_LIST(X)
#undef X
	fputc('\n', stderr);
}

static void check_done(struct check *c)
{
	unwind_rows_free(c->rows);
	image_done(&c->image);
	vec_done(&c->fdes);
	vec_done(&c->differences);
	vec_done(&c->cies);
}

int main(int argc, char **argv)
{
	char mode = argc > 2 && argv[1][0] == '-' ? argv[1][1] : 'c';
	_cleanup_(check_done) struct check c = { .path = argc > 1 ? argv[argc - 1] : "",
		.go = mode == 'g' };
	_cleanup_(buf_done) struct buf file = BUF_INIT;
	_cleanup_fd_ int fd = -1;
	struct why why;
	int err;

	fd = open(c.path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fd_read_all(fd, FILE_BYTES_MAX, &file) < 0) {
		fprintf(stderr, "%s: cannot be read\n", c.path);
		return 2;
	}
	err = image_init(&c.image, file.data, file.len, &why);
	if (err == 0)
		err = build(&c, &why);
	if (err < 0) {
		fprintf(stderr, "%s: skipped: %s\n", c.path, why.text);
		return err == -ENODATA || err == -ENOTSUP || err == -ENOEXEC ? 0 : 2;
	}
	if (mode == 'l')
		look_up(&c);
	else if (mode == 'c' || mode == 'g')
		compare(&c);
	if (mode != 'l')
		print_line(&c);
	return c.disagree > 0;
}
