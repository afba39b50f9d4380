/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of bpf/unwind.bpf.h on stacks made here, its window over them, and its search on real
 * tables against the one of user space. */
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "base/fd.h"
#include "rows_find.h"
#include "rows_made.h"

#include "bpf/unwind.bpf.h"

/* ---- a stack: word i holds WORD(i), unless a test says otherwise ------------------------------
 */

#define BASE 0x7ffd12340000ULL
#define WORDS 64
#define AT(i) (BASE + 8ULL * (i))
#define WORD(i) (0xabc000ULL + (i))

struct memory {
	uint64_t base;
	size_t size;
	uint8_t *bytes; /* of that size: ASan sees one too many */
	unsigned int reads;
};

static int shim_read_user(const void *memory, void *dst, u32 size, u64 addr)
{
	struct memory *m = (struct memory *)memory;

	m->reads++;
	if (addr < m->base || addr - m->base > m->size || size > m->size - (addr - m->base))
		return -1;
	memcpy(dst, m->bytes + (addr - m->base), size);
	return 0;
}

static void memory_init(struct memory *m, size_t words)
{
	*m = (struct memory){ .base = BASE, .size = 8 * words, .bytes = malloc(8 * words) };
	assert_non_null(m->bytes);
	for (uint64_t i = 0; i < words; i++) {
		uint64_t word = WORD(i);

		memcpy(m->bytes + 8 * i, &word, sizeof(word));
	}
}

static void memory_put(struct memory *m, size_t i, uint64_t word)
{
	memcpy(m->bytes + 8 * i, &word, sizeof(word));
}

static void memory_done(struct memory *m)
{
	free(m->bytes);
}

/* ---- rules ------------------------------------------------------------------------------------
 */

enum { RDI = 5, RBP = 6, RSP = 7, R9 = 9, R10 = 10, R12 = 12 };

struct step_case {
	const char *what;
	struct unwind_rule rule;
	uint64_t sp, fp;
	uint32_t exact;
	size_t put_at; /* with put, where that is not 0 */
	uint64_t put;
	uint32_t end;
	uint64_t next_pc, next_sp, next_fp; /* where end is END_NONE */
};

#define R9_VALUE 4
#define R10_VALUE AT(9)
#define RDI_VALUE 0x401234ULL
#define PC 0x555500001003ULL
#define FP AT(20)

#define BY(kind, reg, off) .cfa = (kind), .cfa_reg = (reg), .cfa_off = (off)
#define CALLED .ra_off = -8
#define SAVED(off) .fp = FP_AT_CFA, .fp_off = (off)

static const struct step_case step_cases[] = {
	{ "first instruction", { BY(CFA_REG, RSP, 8), CALLED }, AT(0), FP, 1, 0, 0, END_NONE,
		WORD(0), AT(1), FP },
	{ "a frame with a saved frame pointer", { BY(CFA_REG, RSP, 24), CALLED, SAVED(-16) }, AT(0),
		FP, 0, 0, 0, END_NONE, WORD(2), AT(3), WORD(1) },
	{ "a frame by the frame pointer", { BY(CFA_REG, RBP, 16), CALLED, SAVED(-16) }, AT(0), FP,
		0, 0, 0, END_NONE, WORD(21), AT(22), WORD(20) },
	{ "a return address that is not on top", { BY(CFA_REG, RSP, 32), .ra_off = -24 }, AT(0), FP,
		0, 0, 0, END_NONE, WORD(1), AT(4), FP },
	{ "a realigned stack", { BY(CFA_DEREF, RBP, -8), CALLED, .fp = FP_AT_FP }, AT(0), FP, 0, 19,
		AT(40), END_NONE, WORD(39), AT(40), WORD(20) },
	{ "what is read is added to", { BY(CFA_DEREF, RSP, 8), .cfa_add = 16, CALLED }, AT(0), FP,
		0, 1, AT(30), END_NONE, WORD(31), AT(32), FP },
	{ "frame pointer by the stack pointer",
		{ BY(CFA_REG, RSP, 16), CALLED, .fp = FP_AT_SP, .fp_off = 24 }, AT(2), FP, 0, 0, 0,
		END_NONE, WORD(3), AT(4), WORD(5) },
	{ "another register, interrupted", { BY(CFA_REG, R10, 0), CALLED }, AT(0), FP, 1, 0, 0,
		END_NONE, WORD(8), AT(9), FP },
	{ "a register that is saved, called", { BY(CFA_REG, R12, 0), CALLED }, AT(0), FP, 0, 0, 0,
		END_REGISTER, 0, 0, 0 },
	{ "a register that is saved to read by, called", { BY(CFA_DEREF, R12, 0), CALLED }, AT(0),
		FP, 0, 0, 0, END_REGISTER, 0, 0, 0 },
	{ "a register that nobody saves, called", { BY(CFA_REG, R10, 0), CALLED }, AT(0), FP, 0, 0,
		0, END_NONE, WORD(8), AT(9), FP },
	{ "as many words up as a register says",
		{ BY(CFA_DEREF, RULE_REG_INDEXED | R9, 8), CALLED, .cfa_add = 8 }, AT(0), FP, 1,
		1 + R9_VALUE, AT(30), END_NONE, WORD(30), AT(31), FP },
	{ "return address in a register", { BY(CFA_REG, RSP, 0), .ra = RA_REG, .ra_off = RDI },
		AT(0), FP, 1, 0, 0, END_NONE, RDI_VALUE, AT(0), FP },
	{ "return address in a register that is lost",
		{ BY(CFA_REG, RSP, 8), .ra = RA_REG, .ra_off = R12 }, AT(0), FP, 0, 0, 0,
		END_REGISTER, 0, 0, 0 },
	{ "outermost", { BY(CFA_REG, RSP, 8), .ra = RA_UNDEFINED }, AT(0), FP, 0, 0, 0, END_ROOT, 0,
		0, 0 },
	{ "outermost, and no CFA", { .cfa = CFA_UNSUPPORTED, .ra = RA_UNDEFINED, .fp = FP_LOST },
		AT(0), FP, 0, 0, 0, END_ROOT, 0, 0, 0 },
	{ "return address and frame pointer of zero", { BY(CFA_REG, RSP, 16), CALLED }, AT(0), 0, 0,
		1, 0, END_ZERO, 0, 0, 0 },
	{ "a return address of zero, called", { BY(CFA_REG, RSP, 16), CALLED }, AT(0), FP, 0, 1, 0,
		END_ZERO, 0, 0, 0 },
	{ "a return address of zero, interrupted", { BY(CFA_REG, RSP, 16), CALLED }, AT(0), FP, 1,
		1, 0, END_NO_MAPPING, 0, 0, 0 },
	{ "no function", { .cfa = CFA_NONE }, AT(0), FP, 1, 0, 0, END_UNSUPPORTED, 0, 0, 0 },
	{ "a rule that is not known",
		{ .cfa = CFA_UNSUPPORTED, .ra = RA_UNSUPPORTED, .fp = FP_LOST }, AT(0), FP, 1, 0, 0,
		END_UNSUPPORTED, 0, 0, 0 },
	{ "a kind from the future", { .cfa = 77 }, AT(0), FP, 1, 0, 0, END_UNSUPPORTED, 0, 0, 0 },
	{ "return address by a rule that is not known",
		{ BY(CFA_REG, RSP, 8), .ra = RA_UNSUPPORTED }, AT(0), FP, 1, 0, 0, END_UNSUPPORTED,
		0, 0, 0 },
	{ "down the stack", { BY(CFA_REG, RBP, 16), CALLED }, AT(30), FP, 1, 0, 0, END_CFA, 0, 0,
		0 },
	{ "down to another stack", { BY(CFA_SWITCH, RBP, 16), CALLED }, AT(30), FP, 0, 0, 0,
		END_NONE, WORD(21), AT(22), FP },
	{ "to where it is", { BY(CFA_SWITCH, RBP, 16), CALLED }, FP + 16, FP, 0, 0, 0, END_CFA, 0,
		0, 0 },
	{ "to a stack that is noted elsewhere", { .cfa = CFA_GOROUTINE, CALLED }, AT(0), FP, 0, 0,
		0, END_UNSUPPORTED, 0, 0, 0 },
	{ "on the spot", { BY(CFA_REG, RSP, 0), CALLED }, AT(1), FP, 0, 0, 0, END_CFA, 0, 0, 0 },
	{ "round the end of all addresses", { BY(CFA_REG, RSP, 8), CALLED }, UINT64_MAX - 7, FP, 1,
		0, 0, END_CFA, 0, 0, 0 },
	{ "return address beyond the stack", { BY(CFA_REG, RSP, 16), CALLED }, AT(WORDS - 1), FP, 0,
		0, 0, END_STACK_READ, 0, 0, 0 },
	{ "frame pointer beyond the stack", { BY(CFA_REG, RSP, 8), CALLED, .fp = FP_AT_FP }, AT(0),
		AT(WORDS), 0, 0, 0, END_STACK_READ, 0, 0, 0 },
	{ "CFA beyond the stack", { BY(CFA_DEREF, RBP, 0), CALLED }, AT(0), AT(WORDS), 0, 0, 0,
		END_STACK_READ, 0, 0, 0 },
	{ "frame pointer in a register",
		{ BY(CFA_REG, RSP, 8), CALLED, .fp = FP_REG, .fp_off = R10 }, AT(0), FP, 1, 0, 0,
		END_NONE, WORD(0), AT(1), R10_VALUE },
	{ "frame pointer in a register that is lost",
		{ BY(CFA_REG, RSP, 8), CALLED, .fp = FP_REG, .fp_off = R12 }, AT(0), FP, 0, 0, 0,
		END_NONE, WORD(0), AT(1), UNWIND_FP_LOST },
	{ "a frame pointer that is given up", { BY(CFA_REG, RSP, 8), CALLED, .fp = FP_LOST }, AT(0),
		FP, 1, 0, 0, END_NONE, WORD(0), AT(1), UNWIND_FP_LOST },
	{ "by a frame pointer that was given up", { BY(CFA_REG, RBP, 16), CALLED }, AT(0),
		UNWIND_FP_LOST, 0, 0, 0, END_CFA, 0, 0, 0 },
};

static struct unwind_regs regs_of(uint64_t sp, uint64_t fp, uint32_t exact)
{
	struct unwind_regs regs = { .pc = PC, .sp = sp, .fp = fp, .exact = exact };

	regs.gpr[R9] = R9_VALUE;
	regs.gpr[R10] = R10_VALUE;
	regs.gpr[RDI] = RDI_VALUE;
	return regs;
}

/* What a step may change; the rest of regs is the same. */
static void check_regs(const char *what, const struct unwind_regs *regs, uint64_t pc, uint64_t sp,
	uint64_t fp, uint32_t exact)
{
	if (regs->pc != pc || regs->sp != sp || regs->fp != fp || regs->exact != exact)
		fail_msg("%s: pc %#" PRIx64 " sp %#" PRIx64 " fp %#" PRIx64 " exact %u", what,
			(uint64_t)regs->pc, (uint64_t)regs->sp, (uint64_t)regs->fp, regs->exact);
}

static void each_rule_steps_or_says_why_not(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(step_cases); i++) {
		const struct step_case *c = &step_cases[i];
		struct unwind_regs regs = regs_of(c->sp, c->fp, c->exact);
		_cleanup_(memory_done) struct memory memory;
		struct unwind_window window = { .memory = &memory };
		u32 end;

		memory_init(&memory, WORDS);
		if (c->put_at)
			memory_put(&memory, c->put_at, c->put);
		end = unwind_rule_step(&regs, &window, &c->rule);
		if (end != c->end)
			fail_msg("%s: end %u, not %u", c->what, end, c->end);
		if (end == END_NONE)
			check_regs(c->what, &regs, c->next_pc, c->next_sp, c->next_fp, 0);
		else
			check_regs(c->what, &regs, PC, c->sp, c->fp, c->exact);
	}
}

static void a_linkage_table_entry_has_one_word_more_once_it_pushed(void **state)
{
	_cleanup_(memory_done) struct memory memory;

	(void)state;
	memory_init(&memory, WORDS);
	for (int pushed = 10; pushed <= 11; pushed++) {
		for (uint64_t at = 0; at < 16; at++) {
			struct unwind_rule rule = { .cfa = CFA_PLT, .cfa_off = pushed, CALLED };
			struct unwind_window window = { .memory = &memory };
			struct unwind_regs regs = regs_of(AT(4), FP, 1);
			size_t more = at >= (uint64_t)pushed;

			regs.pc = 0x401020 + at;
			assert_int_equal(unwind_rule_step(&regs, &window, &rule), END_NONE);
			check_regs("plt", &regs, WORD(4 + more), AT(5 + more), FP, 0);
		}
	}
}

/* ---- frame pointers ---------------------------------------------------------------------------
 */

struct chain_case {
	const char *what;
	uint64_t sp, fp;
	uint32_t exact;
	size_t put_at;
	uint64_t put;
	uint32_t end;
};

static const struct chain_case chain_cases[] = {
	{ "a frame", AT(4), AT(20), 0, 0, 0, END_NONE },
	{ "a frame that begins where the stack does", AT(20), AT(20), 1, 0, 0, END_NONE },
	{ "zero, which proves no root", AT(4), 0, 0, 0, 0, END_FP_CHAIN },
	{ "zero in code that was interrupted", AT(4), 0, 1, 0, 0, END_FP_CHAIN },
	{ "a return address of zero", AT(4), AT(20), 0, 21, 0, END_FP_CHAIN },
	{ "down the stack", AT(21), AT(20), 1, 0, 0, END_FP_CHAIN },
	{ "not a word's address", AT(4), AT(20) + 4, 1, 0, 0, END_FP_CHAIN },
	{ "given up", AT(4), UNWIND_FP_LOST, 0, 0, 0, END_FP_CHAIN },
	{ "beyond the stack", AT(4), AT(WORDS), 1, 0, 0, END_STACK_READ },
	{ "half beyond the stack", AT(4), AT(WORDS - 1), 1, 0, 0, END_STACK_READ },
};

static void each_frame_pointer_steps_or_says_why_not(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(chain_cases); i++) {
		const struct chain_case *c = &chain_cases[i];
		struct unwind_regs regs = regs_of(c->sp, c->fp, c->exact);
		_cleanup_(memory_done) struct memory memory;
		struct unwind_window window = { .memory = &memory };
		u32 end;

		memory_init(&memory, WORDS);
		if (c->put_at)
			memory_put(&memory, c->put_at, c->put);
		end = unwind_fp_step(&regs, &window);
		if (end != c->end)
			fail_msg("%s: end %u, not %u", c->what, end, c->end);
		if (end == END_NONE)
			check_regs(c->what, &regs, WORD(21), AT(22), WORD(20), 0);
		else
			check_regs(c->what, &regs, PC, c->sp, c->fp, c->exact);
	}
}

/* ---- signals ----------------------------------------------------------------------------------
 */

#if defined(__x86_64__)
/* By DWARF number, as the C library calls them. */
static const int by_dwarf[ARCH_GPRS] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
	REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };

static void put_context(struct memory *memory, size_t i, uint64_t pc)
{
	ucontext_t context = { 0 };

	for (int reg = 0; reg < ARCH_GPRS; reg++)
		context.uc_mcontext.gregs[by_dwarf[reg]] = 0x5000 + reg;
	context.uc_mcontext.gregs[REG_RIP] = (long long)pc;
	memcpy(memory->bytes + 8 * i, &context, (WORDS - i) * 8);
}

static void a_signal_frame_gives_all_registers_back(void **state)
{
	static const struct unwind_rule rule = { .cfa = CFA_SIGNAL };
	_cleanup_(memory_done) struct memory memory;
	struct unwind_window window = { .memory = &memory };
	struct unwind_regs regs = regs_of(AT(2), FP, 0);

	(void)state;
	memory_init(&memory, WORDS);
	put_context(&memory, 2, 0x401000);
	assert_int_equal(unwind_rule_step(&regs, &window, &rule), END_NONE);
	check_regs("signal", &regs, 0x401000, 0x5000 + RSP, 0x5000 + RBP, 1);
	for (unsigned int reg = 0; reg < ARCH_GPRS; reg++)
		assert_int_equal(regs.gpr[reg], 0x5000 + reg);
}

static void a_signal_frame_without_a_place_ends_the_walk(void **state)
{
	static const struct unwind_rule rule = { .cfa = CFA_SIGNAL };
	_cleanup_(memory_done) struct memory memory;
	struct unwind_window window = { .memory = &memory };
	struct unwind_regs regs = regs_of(AT(2), FP, 0);

	(void)state;
	memory_init(&memory, WORDS);
	put_context(&memory, 2, 0);
	assert_int_equal(unwind_rule_step(&regs, &window, &rule), END_NO_MAPPING);
}

static void a_signal_frame_that_is_cut_is_not_read(void **state)
{
	static const struct unwind_rule rule = { .cfa = CFA_SIGNAL };
	size_t whole = (ARCH_SIGNAL_REGS_AT + 8 * (ARCH_SIGNAL_REGS + 1)) / 8;
	_cleanup_(memory_done) struct memory memory;
	struct unwind_window window = { .memory = &memory };
	struct unwind_regs regs = regs_of(AT(WORDS - whole + 1), FP, 0);

	(void)state;
	memory_init(&memory, WORDS);
	assert_int_equal(unwind_rule_step(&regs, &window, &rule), END_STACK_READ);
	check_regs("cut", &regs, PC, AT(WORDS - whole + 1), FP, 0);
	regs.sp -= 8;
	assert_int_equal(unwind_rule_step(&regs, &window, &rule), END_NONE);
}
#endif

/* ---- the window -------------------------------------------------------------------------------
 */

/* Whatever is asked in whatever order, a word is what the memory holds, or cannot be read. */
static void a_word_is_what_memory_holds_wherever_the_window_is(void **state)
{
	size_t words = 3 * WINDOW_WORDS;
	_cleanup_(memory_done) struct memory memory;
	struct unwind_window window = { .memory = &memory };

	(void)state;
	srand(7);
	memory_init(&memory, words);
	for (int i = 0; i < 200000; i++) {
		uint64_t addr = BASE - 32 + (uint64_t)rand() % (8 * words + 64);
		u64 truth = 0, seen = 0;
		uint64_t from = addr - (uint64_t)rand() % (2 * WINDOW_BYTES);
		bool readable = shim_read_user(&memory, &truth, sizeof(truth), addr) == 0;

		if (i % 1000 == 0)
			window = (struct unwind_window){ .memory = &memory };
		if (i % 3)
			addr &= ~7ULL, from &= ~7ULL;
		if (i % 3)
			readable = shim_read_user(&memory, &truth, sizeof(truth), addr) == 0;
		if ((unwind_word(&window, addr, from, &seen) == 0) != readable)
			fail_msg("%#" PRIx64 " from %#" PRIx64, addr, from);
		if (readable && seen != truth)
			fail_msg("%#" PRIx64 " is %#llx", addr, seen);
	}
}

static void words_close_together_are_read_once(void **state)
{
	_cleanup_(memory_done) struct memory memory;
	struct unwind_window window = { .memory = &memory };
	u64 word;

	(void)state;
	memory_init(&memory, 2 * WINDOW_WORDS);
	for (size_t i = 0; i < WINDOW_WORDS; i++) {
		assert_int_equal(unwind_word(&window, AT(i), AT(i), &word), 0);
		assert_int_equal(word, WORD(i));
	}
	assert_int_equal(memory.reads, 1);
}

static void the_last_word_of_a_stack_is_read(void **state)
{
	_cleanup_(memory_done) struct memory memory;
	u64 word;

	(void)state;
	memory_init(&memory, WINDOW_WORDS + 3);
	for (size_t i = WINDOW_WORDS + 3; i-- > 0;) {
		struct unwind_window window = { .memory = &memory };

		assert_int_equal(unwind_word(&window, AT(i), AT(i), &word), 0);
		assert_int_equal(word, WORD(i));
	}
}

/* ---- the search -------------------------------------------------------------------------------
 */

/* Without any search: the last row at or before a place, of a page of unwind_rows. */
static uint32_t scan(const struct bytes *data, uint32_t rows_len, uint32_t at)
{
	uint16_t first[ROWS_CHUNKS + 1], rule;
	uint32_t chunk = 0, found = 0;

	memcpy(first, data->data, sizeof(first));
	for (uint32_t i = 0; i < rows_len; i++) {
		while (i >= first[chunk + 1])
			chunk++;
		if (chunk * (1U << ROWS_CHUNK_SHIFT) +
				data->data[ROWS_INDEX_BYTES + 2 * rows_len + i] >
			at)
			break;
		found = i;
	}
	memcpy(&rule, data->data + ROWS_INDEX_BYTES + 2 * found, sizeof(rule));
	return rule;
}

static size_t check_page(const struct unwind_rows_view *view, uint32_t page, bool slowly)
{
	const struct unwind_rows_page *head = &view->pages[page];
	struct bytes data = unwind_rows_page_data(view, page);
	struct shim_rows rows = { data.data, (u32)data.len };
	uint64_t start = (uint64_t)head->number << ROWS_PAGE_SHIFT;
	size_t checked = 0;

	for (uint32_t at = 0; at < 1U << ROWS_PAGE_SHIFT; at++, checked++) {
		uint32_t rule = unwind_search(&rows, start + at);
		struct unwind_rule found = rows_find(view, start + at);

		assert_true(rule < view->head->rules_len);
		if (memcmp(&view->rules[rule], &found, sizeof(found)) != 0)
			fail_msg("at %#" PRIx64, start + at);
		if (slowly && at % 7 == 0 && scan(&data, head->rows_len, at) != rule)
			fail_msg("at %#" PRIx64 " by rule %u", start + at, rule);
	}
	return checked;
}

/* Every byte of the file's text. */
static void check_search(const char *path, size_t places_min)
{
	_cleanup_(buf_done) struct buf file = BUF_INIT;
	_cleanup_(unwind_rows_freep) struct unwind_rows *rows = NULL;
	_cleanup_(image_done) struct image image = { 0 };
	size_t places = 0;
	struct why why;

	assert_int_equal(fd_read_path(path, FILE_MAX, &file), 0);
	assert_int_equal(image_init(&image, file.data, file.len, &why), 0);
	assert_int_equal(unwind_rows_build(&image, &rows, &why), 0);
	for (uint32_t i = 0; i < rows->view.head->pages_len; i++)
		places += check_page(&rows->view, i, i % 8 == 0);
	assert_true(places >= places_min);
}

static void bpf_and_user_space_find_the_same_rules_in_the_fixtures(void **state)
{
	(void)state;
	check_search("tests/golden/cfi-x86_64.so", 1);
	check_search("tests/golden/cfi-arm64.so", 1);
}

static void bpf_and_user_space_find_the_same_rules_in_this_program(void **state)
{
	(void)state;
	check_search("/proc/self/exe", 1U << ROWS_PAGE_SHIFT);
}

static void bpf_and_user_space_find_the_same_rules_in_the_c_library(void **state)
{
	_cleanup_(buf_done) struct buf maps = BUF_INIT;
	char *line, *end;

	(void)state;
	assert_int_equal(fd_read_path("/proc/self/maps", FILE_MAX, &maps), 0);
	line = strstr(maps.data, "/libc.so");
	if (!line)
		skip();
	while (line[-1] != ' ')
		line--;
	end = strchr(line, '\n');
	assert_non_null(end);
	*end = '\0';
	check_search(line, 1000000);
}

static void a_search_in_bytes_of_any_kind_ends(void **state)
{
	uint8_t data[1500];
	struct shim_rows rows = { data, sizeof(data) };

	(void)state;
	srand(11);
	for (int i = 0; i < 20000; i++) {
		for (size_t at = 0; at < sizeof(data); at += 1 + (size_t)rand() % 3)
			data[at] = (uint8_t)rand();
		assert_true(unwind_search(&rows, (uint64_t)rand() << 8 | (i & 0xff)) <= UINT16_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_steps_or_says_why_not),
		cmocka_unit_test(a_linkage_table_entry_has_one_word_more_once_it_pushed),
		cmocka_unit_test(each_frame_pointer_steps_or_says_why_not),
#if defined(__x86_64__)
		cmocka_unit_test(a_signal_frame_gives_all_registers_back),
		cmocka_unit_test(a_signal_frame_without_a_place_ends_the_walk),
		cmocka_unit_test(a_signal_frame_that_is_cut_is_not_read),
#endif
		cmocka_unit_test(a_word_is_what_memory_holds_wherever_the_window_is),
		cmocka_unit_test(words_close_together_are_read_once),
		cmocka_unit_test(the_last_word_of_a_stack_is_read),
		cmocka_unit_test(bpf_and_user_space_find_the_same_rules_in_the_fixtures),
		cmocka_unit_test(bpf_and_user_space_find_the_same_rules_in_this_program),
		cmocka_unit_test(bpf_and_user_space_find_the_same_rules_in_the_c_library),
		cmocka_unit_test(a_search_in_bytes_of_any_kind_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
