/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rows_go.c - the stack delta gives the return address; a function's first instructions give
 * the caller's frame pointer. Deltas are invalid where a function moves the stack pointer in other
 * ways, to another stack or to align it; Go marks such functions. Their code is searched for these
 * places, and rows there use the frame pointer, which these functions keep, or the runtime's own
 * record (CFA_GOROUTINE, CFA_CGO) where the frame pointer skips the function that was left, or
 * leads to where the stack was before it was moved. Of nested functions only the first is read. So
 * a table has at most one row for each byte of code; larger ones are forged. */
#include "unwind/rows_go.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "base/vec.h"
#include "elf/gopclntab.h"
#include "unwind/rows_prologue.h"

#define MOVES_MAX 16
#define PROLOGUE_MAX 48 /* instructions */
#define DX 1            /* by DWARF number */
#define SP 7
#define FP 6

enum kind {
	PLAIN = 0,
	TOP,          /* nothing lies above */
	LEAVES,       /* for good, once it has moved the stack pointer: nothing lies above then */
	SWITCHES,     /* comes back */
	SYSTEM_STACK, /* the same, and the goroutine's stack pointer is noted at the move */
	MORE_STACK,   /* noted is the stack pointer of the function that called */
	CALLS_C,      /* comes back, and what it left is noted below the C function's frame */
};

/* Before Go 1.17 the table did not say who moves the stack pointer, and it does not say who comes
 * back. runtime.sigtramp ends Go's own tracebacks, but not the stack. */
static const struct {
	const char *name;
	enum kind kind;
} known[] = {
	{ "runtime.goexit", TOP },
	{ "runtime.mstart", TOP },
	{ "runtime.rt0_go", TOP },
	{ "_rt0_amd64", TOP },
	{ "_rt0_amd64_linux", TOP },
	{ "runtime.mcall", LEAVES },
	{ "runtime.gogo", LEAVES },
	{ "gogo", LEAVES },
	{ "runtime.clone", LEAVES },
	{ "runtime.sigtramp", PLAIN },
	{ "runtime.systemstack", SYSTEM_STACK },
	{ "runtime.morestack", MORE_STACK },
	{ "runtime.asmcgocall", CALLS_C },
	{ "runtime.asmcgocall_no_g", CALLS_C },
	{ "runtime.cgocallback", SWITCHES },
	{ "runtime.cgocallback_gofunc", SWITCHES },
	{ "runtime.nanotime", SWITCHES },
	{ "runtime.nanotime1", SWITCHES },
	{ "runtime.walltime", SWITCHES },
	{ "runtime.walltime1", SWITCHES },
	{ "time.now", SWITCHES },
	{ "runtime.callCgoMmap", SWITCHES },
	{ "runtime.callCgoMunmap", SWITCHES },
	{ "runtime.callCgoSigaction", SWITCHES },
	{ "runtime.sigfwd", SWITCHES },
};

/* The places where the runtime saves a goroutine's state, by the code of runtime.systemstack. */
struct noted {
	bool is_known;
	int32_t tls;  /* of g, from the thread's base */
	int32_t curg; /* of a thread's goroutine in its m */
	int16_t bp;   /* of the frame pointer in a goroutine; 0: unknown */
};

struct go {
	struct gopclntab tab;
	struct cursor file;
	const struct image *image;
	struct noted noted;
	VEC(struct cfi_row) rows; /* of the function at hand */
	VEC(struct cfi_row) over; /* the same, with moves laid over them */
	eh_frame_fn fn;
	void *arg;
	uint32_t functions;
	uint64_t rows_left;
};

static void go_done(struct go *go)
{
	vec_done(&go->rows);
	vec_done(&go->over);
}

static const struct unwind_rule root = {
	.cfa = CFA_UNSUPPORTED, .ra = RA_UNDEFINED, .fp = FP_LOST
};
static const struct unwind_rule by_frame_pointer = { .cfa = CFA_SWITCH,
	.cfa_reg = FP,
	.fp = FP_AT_CFA,
	.cfa_off = 16,
	.ra_off = -8,
	.fp_off = -16 };

static enum kind kind_of(const struct gopclntab_function *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (f->name[0] == known[i].name[0] && strcmp(f->name, known[i].name) == 0)
			return known[i].kind;
	if (f->flags & GOPCLNTAB_TOP_FRAME)
		return TOP;
	return f->flags & GOPCLNTAB_SP_WRITE ? SWITCHES : PLAIN;
}

/* ---- code ------------------------------------------------------------------------------------ */

/* A cursor over the function's bytes; bad where the file does not hold them. */
static struct cursor code_of(const struct go *go, const struct gopclntab_function *f)
{
	struct cursor c = go->file;
	uint64_t offset = 0;

	c.bad |= !image_vaddr_to_offset(go->image, f->start, &offset);
	cursor_seek(&c, offset);
	return cursor_sub(&c, f->end - f->start);
}

static struct cursor code_from(struct cursor code, uint64_t at)
{
	cursor_seek(&code, at);
	return code;
}

/* `mov $15,%rax; syscall`: rt_sigreturn, as it has to be written. */
static bool is_signal_return(struct cursor code)
{
	return cursor_u64(&code) == 0x0f0000000fc0c748ULL && cursor_u8(&code) == 0x05;
}

/* The address after the first instructions from which the caller's frame pointer is below the
 * return address: the push before `at`, or the move that begins there. 0: it is not kept. `at` is
 * where the stack pointer has moved first, by `delta`. */
static uint32_t frame_from(struct cursor code, uint32_t at, int32_t delta)
{
	struct cursor before = code_from(code, at - 1), c = code_from(code, at);
	uint32_t move = cursor_u32(&c);

	if (delta == 8 && cursor_u8(&before) == 0x55) /* push %rbp */
		return at;
	if (delta == 8 && move == 0x242c8948 && !c.bad) /* mov %rbp,(%rsp) */
		return at + 4;
	if (move == 0x246c8948 && cursor_u8(&c) == (uint32_t)delta - 8) /* 8(%rsp) and further */
		return c.bad ? 0 : at + 5;
	if (move == 0x24ac8948 && cursor_u32(&c) == (uint32_t)delta - 8)
		return c.bad ? 0 : at + 8;
	return 0;
}

enum move { NO_MOVE, ALIGNS, LOADS };

/* The effect of the instruction that begins here on the stack pointer (Intel SDM vol. 2, AND and
 * MOV); pushes, pops and constants are in the deltas. */
static enum move move_at(struct cursor c)
{
	uint8_t rex = cursor_u8(&c), opcode = cursor_u8(&c), modrm = cursor_u8(&c);

	if (c.bad || (rex & 0xf8) != 0x48)
		return NO_MOVE;
	if (rex == 0x48 && (opcode == 0x83 || opcode == 0x81) && modrm == 0xe4)
		return ALIGNS;
	if (opcode == 0x8b && (rex & 0x4) == 0 && (modrm & 0x38) == 0x20)
		return LOADS;
	return opcode == 0x89 && (rex & 0x1) == 0 && (modrm & 0xc7) == 0xc4 ? LOADS : NO_MOVE;
}

/* One look at the code of runtime.systemstack, where it comes back: g, its m, the m's goroutine,
 * whose stack pointer it takes. Where g is comes with the instruction or, in what a C linker made,
 * with the one before. */
static struct noted read_noted(struct cursor code)
{
	struct noted noted = { 0 };
	bool has_tls = false, has_m = false, has_curg = false;

	for (size_t at = 0; at + 9 <= cursor_left(&code); at++) {
		struct cursor c = code_from(code, at);
		uint64_t word = cursor_u64(&c);
		uint32_t half = (uint32_t)word;

		if (half == 0x048b4864 || (half & 0xffffff) == 0xc1c748) {
			/* mov %fs:n,%rax; mov $n,%rcx and then mov %fs:(%rcx),%rax */
			c = code_from(code, at + (half == 0x048b4864 ? 5 : 3));
			noted.tls = (int32_t)cursor_u32(&c);
			has_tls = true;
		} else if (half == (0x588b48 | (uint32_t)GO_G_M << 24)) {
			has_m = true;                       /* mov g_m(%rax),%rbx */
		} else if ((half & 0xffffff) == 0x838b48) { /* mov n(%rbx),%rax */
			noted.curg = (int32_t)(uint32_t)(word >> 24);
			has_curg = true;
		} else if (half == (0x608b48 | (uint32_t)GO_G_SP << 24)) {
			noted.is_known = has_tls && has_m && has_curg; /* mov g_sp(%rax),%rsp */
			if ((word >> 32 & 0xffffff) == 0x688b48)       /* mov n(%rax),%rbp */
				noted.bp = (int16_t)(word >> 56 & 0x7f);
		}
	}
	return noted;
}

#define STORED_DX 2 /* by the processor's number */
#define STORED_DI 7

/* `mov %reg,n(%rsp)`, 8 bytes, at the cursor: reads it with n. */
static bool read_store(struct cursor *c, uint32_t reg, uint8_t *n)
{
	uint32_t rex = cursor_u8(c), opcode = cursor_u8(c), modrm = cursor_u8(c),
		 sib = cursor_u8(c);

	*n = modrm == (0x44 | reg << 3) ? cursor_u8(c) : 0;
	return !c->bad && rex == 0x48 && opcode == 0x89 && sib == 0x24 &&
		(modrm & ~0x40U) == (0x4 | reg << 3);
}

/* Where in [from, to) of runtime.asmcgocall it is noted how to come back, and the rule from there
 * on: first g and then the depth in its stack are stored from %rdi, or the stack pointer from %rdx
 * if it was on the thread's stack already. 0: nowhere. */
static uint32_t find_way_back(
	struct cursor code, uint32_t from, uint32_t to, uint8_t room, struct unwind_rule *rule)
{
	int32_t g = -1;

	for (uint32_t at = from; at < to; at++) {
		struct cursor c = code_from(code, at);
		uint8_t n;

		if (read_store(&c, STORED_DX, &n)) {
			rule->cfa = CFA_DEREF;
			rule->cfa_reg = SP;
			rule->cfa_off = n;
			rule->cfa_add = room;
			return (uint32_t)cursor_offset(&c);
		}
		c = code_from(code, at);
		if (!read_store(&c, STORED_DI, &n))
			continue;
		if (g >= 0) {
			rule->cfa = CFA_CGO;
			rule->cfa_reg = room;
			rule->cfa_off = g;
			rule->cfa_add = n;
			return (uint32_t)cursor_offset(&c);
		}
		g = n;
	}
	return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int add_row(struct go *go, uint32_t at, const struct unwind_rule *rule)
{
	struct cfi_row *row;

	if (go->rows_left == 0)
		return -EBADMSG;
	go->rows_left--;
	row = vec_add(&go->rows);
	if (!row)
		return -ENOMEM;
	row->delta = at;
	row->rule = *rule;
	return 0;
}

static int add_delta(struct go *go, uint32_t at, int32_t delta, bool framed)
{
	static const struct unwind_rule unknown = {
		.cfa = CFA_UNSUPPORTED, .ra = RA_UNSUPPORTED, .fp = FP_LOST
	};
	struct unwind_rule rule = { .cfa = CFA_REG, .cfa_reg = SP, .ra_off = -8 };

	/* Less than the return address itself: that is how fork in a shared memory keeps it. */
	if (delta < -8 || delta > INT32_MAX - 8)
		return add_row(go, at, &unknown);
	rule.cfa_off = delta + 8;
	if (framed && delta >= 8) {
		rule.fp = FP_AT_CFA;
		rule.fp_off = -16;
	}
	return add_row(go, at, &rule);
}

static int add_deltas(struct go *go, const struct gopclntab_function *f, struct cursor code)
{
	struct gopclntab_deltas runs = gopclntab_deltas(&go->tab, f);
	uint32_t at = 0, framed_from = UINT32_MAX, to;
	bool moved = false;
	uint64_t end;
	int32_t delta;

	for (; gopclntab_deltas_next(&runs, &end, &delta); at = to) {
		int err;

		to = (uint32_t)(end - f->start);
		if (!moved && at > 0 && delta > 0) {
			uint32_t from = frame_from(code, at, delta);

			moved = true;
			framed_from = from ? from : UINT32_MAX;
		}
		err = add_delta(go, at, delta, framed_from <= at);
		if (err == 0 && framed_from > at && framed_from < to)
			err = add_delta(go, framed_from, delta, true);
		if (err < 0)
			return err;
	}
	return 0;
}

/* C that Go's linker took in: no deltas, and its call frame information is gone. */
static int add_prologue(struct go *go, struct cursor code)
{
	struct rows_prologue state = { 0 };
	uint32_t depth = UINT32_MAX;

	for (int i = 0; i < PROLOGUE_MAX; i++) {
		struct unwind_rule rule = { .cfa = CFA_REG,
			.cfa_reg = SP,
			.cfa_off = (int32_t)state.depth + 8,
			.ra_off = -8 };
		int err = 0;

		if (state.fp > 0 && state.fp < INT16_MAX - 8) {
			rule.fp = FP_AT_CFA;
			rule.fp_off = (int16_t)(-8 - (int32_t)state.fp);
		}
		if (state.depth != depth)
			err = add_row(go, (uint32_t)cursor_offset(&code), &rule);
		if (err < 0)
			return err;
		depth = state.depth;
		if (!rows_prologue_next(&code, &state))
			break;
	}
	return 0;
}

/* Another rule for [from, to) of the rows there are, which are not none. */
static int lay_over(struct go *go, uint32_t from, uint32_t to, const struct unwind_rule *rule)
{
	struct unwind_rule back = go->rows.data[0].rule;
	uint32_t at[] = { from, to };
	const struct unwind_rule *put[] = { rule, &back };
	size_t i = 0;

	go->over.len = 0;
	for (size_t side = 0; side < 2; side++) {
		struct cfi_row *row;

		for (; i < go->rows.len && go->rows.data[i].delta <= at[side]; i++) {
			back = go->rows.data[i].rule;
			if (side == 1 || go->rows.data[i].delta == from)
				continue;
			row = vec_add(&go->over);
			if (!row)
				return -ENOMEM;
			*row = go->rows.data[i];
		}
		row = vec_add(&go->over);
		if (!row)
			return -ENOMEM;
		*row = (struct cfi_row){ .delta = at[side], .rule = *put[side] };
	}
	for (; i < go->rows.len; i++) {
		struct cfi_row *row = vec_add(&go->over);

		if (!row)
			return -ENOMEM;
		*row = go->rows.data[i];
	}
	go->rows.len = 0;
	vec_each (&go->over, row) {
		int err = add_row(go, row->delta, &row->rule);

		if (err < 0)
			return err;
	}
	return 0;
}

/* The rule that holds where a function of this kind has moved the stack pointer away. */
static struct unwind_rule away_rule(
	const struct go *go, enum kind kind, const struct unwind_rule *before)
{
	struct unwind_rule rule = { .cfa = CFA_GOROUTINE,
		.cfa_off = go->noted.tls,
		.cfa_add = go->noted.curg,
		.ra_off = -8,
		.fp_off = go->noted.bp };

	if (kind == LEAVES)
		return root;
	if (kind == SYSTEM_STACK && go->noted.is_known && before->fp != FP_AT_CFA)
		rule.cfa_reg = 8; /* the return address lies on top */
	else if (kind == MORE_STACK && !go->noted.is_known)
		return (struct unwind_rule){
			.cfa = CFA_UNSUPPORTED, .ra = RA_UNSUPPORTED, .fp = FP_LOST
		};
	else if (kind != MORE_STACK)
		return by_frame_pointer;
	return rule;
}

static const struct unwind_rule *rule_at(const struct go *go, uint32_t at)
{
	size_t i = 0;

	while (i + 1 < go->rows.len && go->rows.data[i + 1].delta <= at)
		i++;
	return &go->rows.data[i].rule;
}

/* runtime.asmcgocall in [from, to), where it has moved the stack pointer: the old one is in %rdx
 * first. */
static int lay_call_of_c(struct go *go, struct cursor code, uint32_t from, uint32_t to)
{
	bool framed = rule_at(go, from)->fp == FP_AT_CFA;
	struct unwind_rule rule = { .cfa = CFA_SWITCH,
		.cfa_reg = DX,
		.cfa_off = framed ? 16 : 8,
		.ra_off = -8,
		.fp = framed ? FP_AT_CFA : FP_SAME,
		.fp_off = framed ? -16 : 0 };
	int err = lay_over(go, from, to, &rule);
	uint32_t noted = find_way_back(code, from, to, (uint8_t)rule.cfa_off, &rule);

	return err == 0 && noted > 0 ? lay_over(go, noted, to, &rule) : err;
}

/* From a load of the stack pointer to the next, or from where it is aligned. An instruction is
 * where it begins, whose next byte is as good as its end. */
static int lay_moves(struct go *go, enum kind kind, struct cursor code)
{
	uint32_t size = (uint32_t)cursor_left(&code), from = UINT32_MAX, moves = 0;
	struct unwind_rule rule = { 0 };
	int err = 0;

	for (uint32_t at = 0; at < size && moves < MOVES_MAX && err == 0; at++) {
		enum move move = move_at(code_from(code, at));

		if (move == NO_MOVE || (move == ALIGNS && from != UINT32_MAX))
			continue;
		moves++;
		if (from == UINT32_MAX) {
			from = move == ALIGNS ? at : at + 1;
			rule = away_rule(go, kind, rule_at(go, at));
		} else if (kind != LEAVES) {
			err = kind == CALLS_C ? lay_call_of_c(go, code, from, at + 1)
					      : lay_over(go, from, at + 1, &rule);
			from = UINT32_MAX;
		}
	}
	if (err == 0 && from < size)
		err = lay_over(go, from, size, &rule);
	return err;
}

/* ---- functions ------------------------------------------------------------------------------- */

static int put_rows(struct go *go, uint64_t start, uint64_t end)
{
	struct eh_frame_fde fde = { .start = start,
		.size = (uint32_t)(end - start),
		.rows = go->rows.data,
		.rows_len = go->rows.len };

	while (fde.rows_len > 0 && fde.rows[fde.rows_len - 1].delta >= fde.size)
		fde.rows_len--;
	if (fde.rows_len == 0)
		return 0;
	go->functions++;
	return go->fn(go->arg, &fde);
}

static int put_function(struct go *go, const struct gopclntab_function *f)
{
	static const struct unwind_rule signal = { .cfa = CFA_SIGNAL };
	struct cursor code = code_of(go, f);
	enum kind kind = kind_of(f);
	bool is_return = is_signal_return(code);
	int err;

	go->rows.len = 0;
	if (is_return || kind == TOP) {
		err = add_row(go, 0, is_return ? &signal : &root);
		return err < 0 ? err : put_rows(go, f->start - is_return, f->end);
	}
	if (kind == SYSTEM_STACK)
		go->noted = read_noted(code);
	err = f->deltas ? add_deltas(go, f, code) : add_prologue(go, code);
	if (err == 0 && kind != PLAIN && go->rows.len > 0)
		err = lay_moves(go, kind, code);
	return err < 0 ? err : put_rows(go, f->start, f->end);
}

int rows_go_walk(struct image *image, eh_frame_fn fn, void *arg, uint32_t *functions)
{
	_cleanup_(go_done) struct go go = { .image = image, .fn = fn, .arg = arg };
	uint64_t end = 0;
	int err;

	go.file = cursor_init(image->file.data, image->file.len);
	go.rows_left = image->file.len;
	err = gopclntab_init(&go.tab, image);
	if (err == 0 && image->machine != EM_X86_64)
		return -ENOTSUP;
	for (size_t i = 0; err == 0 && i < go.tab.functions_len; i++) {
		struct gopclntab_function f;

		if (!gopclntab_get(&go.tab, i, &f) || f.start < end ||
			f.end - f.start > UINT32_MAX || f.start == 0)
			continue;
		end = f.end;
		err = put_function(&go, &f);
	}
	if (err < 0)
		return err == -ENOENT ? -ENODATA : err;
	*functions = go.functions;
	return 0;
}
