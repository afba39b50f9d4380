/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_calls.c - searches the code from the target of a call on, by addresses of the image.
 * A function is where control can come without a call, so tail jumps need no rule of their own, and
 * the bounds of functions matter in one place only: a call that ends one does not return.
 * Invariant: every target is read once in a search, and all searches together read
 * ELF_CALLS_ALL_STEPS_MAX instructions. */
#include "sym/elf_calls.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "elf/flow.h"

#define X86_CALL_MIN 2
#define X86_CALL_MAX 9 /* notrack, REX, FF, ModRM, SIB, disp32 */
#define ARM64_CALL 4
#define THUNK_BYTES 64
#define NAMESAKES_MAX 8 /* versions of a symbol that are tried */
#define NAME_BYTES_MAX 4096

struct elf_calls_export {
	uint64_t hash;
	uint64_t vaddr;
	bool is_resolver; /* STT_GNU_IFUNC */
};

/* Where control can come from one place without a call. */
struct search {
	struct elf_calls *calls;
	uint64_t to;                  /* vaddr; or none of the file's */
	uint64_t callee, callee_size; /* vaddr of the FDE around it; size 0: none */
	uint64_t name;                /* hash of a function that another file may have; 0: none */
	uint32_t steps_left;
	bool found;
	bool several; /* there are other names */
	bool open;    /* the way may lead anywhere */
};

uint64_t elf_calls_hash(const char *name, size_t len)
{
	static const struct hash_secret fixed = { { 0x63616c6c, 0x6e616d65 } };
	uint64_t hash = hash_bytes_with(fixed, name, len);

	return hash ? hash : 1;
}

static int by_vaddr(const void *a, const void *b)
{
	const struct plt_entry *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static int by_hash(const void *a, const void *b)
{
	const struct elf_calls_export *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

int elf_calls_init(struct elf_calls *calls, struct image *image)
{
	const struct image_section *dynsym = image_section_by_type(image, SHT_DYNSYM);
	int err;

	*calls = (struct elf_calls){ .image = image, .steps_left = ELF_CALLS_ALL_STEPS_MAX };
	if (!flow_knows(image->machine))
		return 0;
	if (dynsym && symtab_init(&calls->dynsym, image, dynsym) < 0)
		calls->dynsym = (struct symtab){ 0 };
	err = elf_frames_open(image, &calls->frames);
	if (err == 0)
		err = plt_load(image, &calls->plt);
	if (calls->plt.len > 0)
		qsort(calls->plt.entries, calls->plt.len, sizeof(*calls->plt.entries), by_vaddr);
	return err;
}

void elf_calls_done(struct elf_calls *calls)
{
	elf_frames_done(&calls->frames);
	plt_done(&calls->plt);
	vec_done(&calls->exports);
	hash_done(&calls->seen);
	vec_done(&calls->open);
}

/* ---- instructions ---------------------------------------------------------------------------- */

static bool code_at(const struct elf_calls *calls, uint64_t vaddr, struct cursor *out)
{
	const struct image_segment *segment = image_vaddr_segment(calls->image, vaddr);

	if (!segment || !(segment->flags & PF_X))
		return false;
	*out = cursor_init(calls->image->file.data, calls->image->file.len);
	cursor_seek(out, vaddr - segment->vaddr + segment->file_offset);
	return !out->bad;
}

static bool read_at(const struct elf_calls *calls, uint64_t vaddr, struct flow *out)
{
	struct cursor code;

	return code_at(calls, vaddr, &code) && flow_read(calls->image->machine, &code, vaddr, out);
}

static bool has_bytes(const struct elf_calls *calls, uint64_t vaddr, const void *bytes, size_t len)
{
	struct cursor code;
	struct bytes found;

	if (!code_at(calls, vaddr, &code))
		return false;
	found = cursor_bytes(&code, len);
	return found.len == len && memcmp(found.data, bytes, len) == 0;
}

/* rt_sigreturn, as C libraries and Go make it (x86-64), or the kernel's vDSO (arm64). */
static bool is_signal_return(const struct elf_calls *calls, uint64_t vaddr)
{
	static const uint8_t x86[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t x86_short[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t arm64[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 };

	if (calls->image->machine == EM_AARCH64)
		return has_bytes(calls, vaddr, arm64, sizeof(arm64));
	return has_bytes(calls, vaddr, x86, sizeof(x86)) ||
		has_bytes(calls, vaddr, x86_short, sizeof(x86_short));
}

/* The same of a frame's address, which may be before it or on any of its instructions. */
static bool is_in_signal_return(const struct elf_calls *calls, uint64_t vaddr)
{
	static const int back[] = { -1, 0, 4, 5, 7, 9 };

	for (size_t i = 0; i < ARRAY_SIZE(back); i++)
		if (is_signal_return(calls, vaddr - (uint64_t)(int64_t)back[i]))
			return true;
	return false;
}

/* ---- the search ------------------------------------------------------------------------------ */

static void go_to(struct search *s, uint64_t vaddr)
{
	uint64_t *slot;

	if (hash_find(&s->calls->seen, vaddr))
		return;
	slot = vec_add(&s->calls->open);
	if (!slot || hash_put(&s->calls->seen, vaddr, 0) < 0) {
		s->open = true;
		return;
	}
	*slot = vaddr;
}

/* The FDE around an address. False: there is none. */
static bool find_function(struct elf_calls *calls, uint64_t vaddr, uint64_t *start, uint64_t *size)
{
	struct elf_extent extent;
	uint64_t offset;

	if (!image_vaddr_to_offset(calls->image, vaddr, &offset) || offset > UINT32_MAX)
		return false;
	extent = elf_frames_find(&calls->frames, (uint32_t)offset);
	if (!extent.function)
		return false;
	*start = vaddr - (offset - extent.start);
	*size = extent.end - extent.start;
	return true;
}

static const struct plt_entry *find_stub(const struct elf_calls *calls, uint64_t vaddr)
{
	const struct plt_entry key = { .vaddr = vaddr };

	return calls->plt.len == 0
		? NULL
		: bsearch(&key, calls->plt.entries, calls->plt.len, sizeof(key), by_vaddr);
}

/* Counts an instruction. False: the search is over a limit. */
static bool step(struct search *s)
{
	if (s->steps_left == 0 || s->calls->steps_left == 0)
		return false;
	s->steps_left--;
	s->calls->steps_left--;
	return true;
}

/* The code address that the instruction takes by `lea disp32(%rip),%reg`. */
static bool read_lea(const struct elf_calls *calls, uint64_t at, uint8_t length, uint64_t *target)
{
	struct cursor code;

	if (calls->image->machine != EM_X86_64 || !code_at(calls, at, &code) ||
		(cursor_u8(&code) & 0xfb) != 0x48 || cursor_u8(&code) != 0x8d ||
		(cursor_u8(&code) & 0xc7) != 0x05)
		return false;
	*target = at + length + (uint64_t)(int64_t)(int32_t)cursor_u32(&code);
	return code_at(calls, *target, &code);
}

/* An IFUNC's resolver chooses from the functions whose address it takes. */
static void follow_resolver(struct search *s, uint64_t resolver)
{
	uint64_t start, size, target, found = 0;
	struct flow flow;

	if (!find_function(s->calls, resolver, &start, &size)) {
		s->open = true;
		return;
	}
	for (uint64_t at = resolver; at < start + size; at += flow.length) {
		if (!step(s) || !read_at(s->calls, at, &flow)) {
			s->open = true;
			return;
		}
		if (!read_lea(s->calls, at, flow.length, &target))
			continue;
		go_to(s, target);
		found++;
	}
	s->open = s->open || found == 0;
}

/* A symbol of the file itself may be replaced by another file's. */
static void follow_stub(struct search *s, const struct plt_entry *stub)
{
	struct symtab_entry symbol;
	struct bytes text;
	uint64_t name;

	if (stub->symbol == 0) {
		follow_resolver(s, stub->resolver);
		return;
	}
	if (!symtab_get(&s->calls->dynsym, stub->symbol, &symbol)) {
		s->open = true;
		return;
	}
	if (symbol.section != SHN_UNDEF && symbol.type == STT_GNU_IFUNC)
		follow_resolver(s, symbol.value);
	else if (symbol.section != SHN_UNDEF)
		go_to(s, symbol.value);
	text = symtab_name(&s->calls->dynsym, symbol.name, NAME_BYTES_MAX);
	name = elf_calls_hash((const char *)text.data, text.len);
	s->several = s->several || (s->name && s->name != name);
	s->name = name;
}

/* Does the function that holds the call end after it? Then the call does not return. */
static bool ends_function(struct elf_calls *calls, uint64_t call, uint64_t next)
{
	uint64_t start, size;

	return find_function(calls, call, &start, &size) && next == start + size;
}

/* `call 1f ... 1: mov %rax,(%rsp); ret` jumps through a register. */
static bool is_thunk(uint64_t at, const struct flow *flow)
{
	return flow->kind == FLOW_CALL && flow->direct && flow->target - at < THUNK_BYTES;
}

/* From one target to where nothing follows. */
static void follow(struct search *s, uint64_t at)
{
	const struct plt_entry *stub = find_stub(s->calls, at);
	struct flow flow;

	/* Exceptions and jump tables lead to all of a function. */
	s->found = at - s->callee < s->callee_size;
	if (stub)
		follow_stub(s, stub);
	if (stub || s->found)
		return;
	for (;; at += flow.length) {
		if (!step(s) || !read_at(s->calls, at, &flow) || flow.kind == FLOW_INDIRECT ||
			is_thunk(at, &flow)) {
			s->open = true;
			return;
		}
		if (s->to - at < flow.length) {
			s->found = true;
			return;
		}
		if (flow.direct && flow.kind != FLOW_CALL)
			go_to(s, flow.target);
		if (flow.kind == FLOW_JUMP || flow.kind == FLOW_END ||
			(flow.kind == FLOW_CALL && ends_function(s->calls, at, at + flow.length)))
			return;
	}
}

/* Can control come from `start` to `to`? ELF_CALL_LEAVES if it leaves to one other function. */
static struct elf_call search(
	struct elf_calls *calls, uint64_t start, bool is_resolver, uint64_t to)
{
	struct search s = { .calls = calls, .to = to, .steps_left = ELF_CALLS_STEPS_MAX };

	find_function(calls, to, &s.callee, &s.callee_size);
	hash_clear(&calls->seen);
	calls->open.len = 0;
	if (is_resolver)
		follow_resolver(&s, start);
	else
		go_to(&s, start);
	while (calls->open.len > 0 && !s.found && !s.open)
		follow(&s, calls->open.data[--calls->open.len]);
	if (s.found || s.open)
		return (struct elf_call){ .verdict = ELF_CALL_POSSIBLE };
	if (s.name == 0 || (to != ELF_CALL_OUTSIDE && to != ELF_CALL_NO_FILE))
		return (struct elf_call){ .verdict = ELF_CALL_IMPOSSIBLE };
	if (s.several || to == ELF_CALL_NO_FILE)
		return (struct elf_call){ .verdict = ELF_CALL_POSSIBLE };
	return (struct elf_call){ .verdict = ELF_CALL_LEAVES, .name = s.name };
}

/* ---- queries --------------------------------------------------------------------------------- */

/* Bytes before a return address may be several calls, of different lengths: one that is possible is
 * enough. */
static struct elf_call check_return(struct elf_calls *calls, uint64_t address, uint64_t to)
{
	bool words = calls->image->machine == EM_AARCH64;
	uint64_t max = words ? ARM64_CALL : X86_CALL_MAX, target = 0;
	struct elf_call out = { .verdict = ELF_CALL_NONE };

	if (is_signal_return(calls, address))
		return (struct elf_call){ .verdict = ELF_CALL_POSSIBLE };
	for (uint64_t len = words ? ARM64_CALL : X86_CALL_MIN; len <= max && len <= address;
		len++) {
		struct flow flow;

		if (!read_at(calls, address - len, &flow) || flow.length != len ||
			flow.kind != FLOW_CALL)
			continue;
		if (!flow.direct)
			return (struct elf_call){ .verdict = ELF_CALL_POSSIBLE };
		/* A prefix changes nothing. */
		if (out.verdict == ELF_CALL_NONE || flow.target != target)
			out = search(calls, flow.target, false, to);
		if (out.verdict == ELF_CALL_POSSIBLE)
			return out;
		target = flow.target;
	}
	return out;
}

static int make_exports(struct elf_calls *calls)
{
	struct symtab_entry symbol;

	for (size_t i = 0; symtab_get(&calls->dynsym, i, &symbol); i++) {
		struct elf_calls_export *export;
		struct bytes text;

		if (symbol.section == SHN_UNDEF ||
			(symbol.type != STT_FUNC && symbol.type != STT_GNU_IFUNC &&
				symbol.type != STT_NOTYPE) ||
			calls->exports.len >= ELF_CALLS_EXPORTS_MAX)
			continue;
		export = vec_add(&calls->exports);
		if (!export)
			return -ENOMEM;
		text = symtab_name(&calls->dynsym, symbol.name, NAME_BYTES_MAX);
		*export = (struct elf_calls_export){
			.hash = elf_calls_hash((const char *)text.data, text.len),
			.vaddr = symbol.value,
			.is_resolver = symbol.type == STT_GNU_IFUNC,
		};
	}
	if (calls->exports.len > 0)
		qsort(calls->exports.data, calls->exports.len, sizeof(*calls->exports.data),
			by_hash);
	calls->exports_made = true;
	return 0;
}

/* A function that this file does not export proves nothing: one of a third file may have jumped
 * here. */
static int check_entry(struct elf_calls *calls, uint64_t name, uint64_t to, struct elf_call *out)
{
	size_t low = 0, high;
	int err = calls->exports_made ? 0 : make_exports(calls);

	if (err < 0)
		return err;
	for (high = calls->exports.len; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (calls->exports.data[middle].hash < name)
			low = middle + 1;
		else
			high = middle;
	}
	*out = (struct elf_call){ .verdict = ELF_CALL_POSSIBLE };
	for (high = low; low < calls->exports.len && calls->exports.data[low].hash == name; low++) {
		if (low - high == NAMESAKES_MAX) {
			out->verdict = ELF_CALL_POSSIBLE;
			break;
		}
		*out = search(calls, calls->exports.data[low].vaddr,
			calls->exports.data[low].is_resolver, to);
		if (out->verdict == ELF_CALL_POSSIBLE)
			break;
	}
	return 0;
}

/* False: the offset is in no segment of the file. */
static bool place_of(const struct elf_calls *calls, uint64_t to, uint64_t *vaddr)
{
	*vaddr = to;
	return to == ELF_CALL_OUTSIDE || to == ELF_CALL_NO_FILE ||
		image_offset_to_vaddr(calls->image, to, vaddr);
}

int elf_calls_check(
	struct elf_calls *calls, const struct elf_call_query *query, struct elf_call *out)
{
	bool inside = query->to != ELF_CALL_OUTSIDE && query->to != ELF_CALL_NO_FILE;
	uint64_t from, to;

	*out = (struct elf_call){ .verdict = ELF_CALL_POSSIBLE };
	if (!flow_knows(calls->image->machine) || calls->image->narrow ||
		!place_of(calls, query->to, &to))
		return 0;
	if (inside && is_in_signal_return(calls, to))
		return 0;
	switch ((enum elf_call_kind)query->kind) {
	case ELF_CALL_RETURN:
		if (image_offset_to_vaddr(calls->image, query->from, &from))
			*out = check_return(calls, from + 1, to);
		break;
	case ELF_CALL_ENTRY:
		return check_entry(calls, query->from, to, out);
	case ELF_CALL_SIGNAL:
		out->verdict = ELF_CALL_NONE;
		break;
	case ELF_CALL_KINDS:
		break;
	}
	return 0;
}
