/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/abi_rows.h - the part of bpf/abi.h for unwind tables: user space writes, BPF searches. */
#pragma once

/* ---- rows: how to find the caller's registers, by address ----------------------------------
 * An object's text is cut into pages of 64 KiB of file offset. The data of a page:
 *     u16 first[257]   rows of chunk c (256 bytes of text) are first[c] .. first[c + 1] - 1
 *     u16 rule[n]      rule id of row i
 *     u8  start[n]     low 8 bits of the offset at which row i begins
 * A row is valid up to the next one. Every page has a row at its offset 0, so the last row at or
 * before an address is in the address's page. Where rows come from does not matter here. */
#define ROWS_PAGE_SHIFT 16
#define ROWS_CHUNK_SHIFT 8
#define ROWS_CHUNKS (1 << (ROWS_PAGE_SHIFT - ROWS_CHUNK_SHIFT))
#define ROWS_INDEX_BYTES ((ROWS_CHUNKS + 1) * 2)

/* Page data is stored in slabs and never crosses from one slab into the next. A place counts 4-byte
 * units from the start of the first slab. The first four units are never used, because their
 * numbers mean ROWS_PAGE_ABSENT and the like. */
#define ROWS_SLAB_SHIFT 20
#define ROWS_SLAB_BYTES (1U << ROWS_SLAB_SHIFT)
#define ROWS_PLACE_SHIFT 2
#define ROWS_RULES_MAX 32768
#define ROWS_PAGES_MAX 65536
#define SLOTS_BYTES (512U << 10) /* of the mappings and rules that BPF has met */

enum table_state {
	TABLE_PENDING = 0, /* user space has not answered yet */
	TABLE_READY = 1,
	TABLE_NONE = 2, /* no table, or no room for it: walk by frame pointer */
};

/* State of one page of rows: user space writes the place, BPF the time of use. */
struct rows_page {
	__u32 place; /* ROWS_PAGE_ABSENT, _ASKED, _EMPTY, or the place of its data */
	__u32 used;  /* the second in which it was last searched */
};

#define ROWS_PAGE_ABSENT 0
#define ROWS_PAGE_ASKED 1 /* absent, and BPF has sent EVENT_PAGE */
#define ROWS_PAGE_EMPTY 2 /* contains no function: like rows of CFA_NONE */

struct object_value {
	__u32 id;
	__u16 table, language; /* enum table_state; index in the map of languages, 0: none */
	__u32 page_base;  /* first of its pages in the map of pages */
	__u32 page_first; /* file offset >> ROWS_PAGE_SHIFT of its first page */
	__u32 pages_len;
	__u32 used; /* second of the latest tick that met it; 0: none */
};

/* One code mapping of a process, as the scan reports it. */
struct scan_mapping {
	__u64 start;
	__u64 end;
	__u64 file_offset;
	__u32 tgid;
	__u32 object; /* 0: code without a file */
};

enum cfa_kind {
	CFA_NONE = 0,        /* no function: code never runs at this address */
	CFA_REG = 1,         /* reg + cfa_off */
	CFA_DEREF = 2,       /* *(reg + cfa_off) + cfa_add: realigned stacks */
	CFA_PLT = 3,         /* sp + 8 + ((pc & 15) >= cfa_off ? 8 : 0): a PLT entry of x86-64 */
	CFA_SIGNAL = 4,      /* all registers from the rt_sigframe at sp */
	CFA_UNSUPPORTED = 5, /* the CFI rule does not fit this format */
	CFA_SWITCH = 6,      /* CFA_REG with a CFA on another stack */
	CFA_GOROUTINE = 7,   /* from the Go runtime's record of the stack it left: see below */
	CFA_CGO = 8,         /* from what Go noted where it called C: see below */
	CFA_KINDS
};

enum ra_kind {
	RA_AT_CFA = 0,    /* *(CFA + ra_off) */
	RA_UNDEFINED = 1, /* the outermost frame */
	RA_REG = 2,       /* register ra_off: arm64's lr, x86-64's vfork */
	RA_UNSUPPORTED = 3,
};

enum fp_kind {
	FP_SAME = 0,   /* the caller's frame pointer is still in its register */
	FP_AT_CFA = 1, /* *(CFA + fp_off) */
	FP_AT_FP = 2,  /* *(fp + fp_off) */
	FP_AT_SP = 3,  /* *(sp + fp_off) */
	FP_LOST = 4,   /* unavailable: the walk ends at a caller that needs it */
	FP_REG = 5,    /* register fp_off: target of longjmp */
};

/* cfa_reg on x86-64: rsp + 8 * r instead of register r. OpenSSL's Montgomery multiplication saves
 * its original stack pointer there. */
#define RULE_REG_INDEXED 0x80

/* CFA_REG with a cfa_add, relative to the frame pointer: if the function has called another one,
 * the CFA is also sp + cfa_add. This is for functions that choose where they return
 * (__builtin_eh_return, as in libgcc's unwinder): before the return, a callee overwrites their
 * frame pointer with the target's.
 *
 * CFA_GOROUTINE, x86-64: g is cfa_off bytes from the thread's base (fs), m is GO_G_M bytes into g,
 * the goroutine that was left is cfa_add bytes into m; 0: for good. Its word at GO_G_SP plus
 * cfa_reg is the CFA, the word at fp_off the frame pointer (0: unavailable). The return address is
 * below the CFA; if cfa_reg is 0, after GO_G_SP, as below a stack that is copied is nothing.
 * CFA_CGO, x86-64: cfa_off bytes from sp is g, cfa_add bytes from sp the depth in its stack. The
 * CFA is the end of that, less the depth, plus cfa_reg. C may call Go, which may move the stack. */
#define GO_G_STACK_HI 8
#define GO_G_M 48
#define GO_G_SP 56

/* Registers are DWARF numbers of the machine. sp and fp are known in every frame. Scratch registers
 * are known in the interrupted frame only, the others until a call may have changed them. */
struct unwind_rule {
	__u8 cfa;     /* enum cfa_kind */
	__u8 cfa_reg; /* DWARF register number, or RULE_REG_INDEXED | number */
	__u8 ra;      /* enum ra_kind */
	__u8 fp;      /* enum fp_kind */
	__s32 cfa_off;
	__s32 cfa_add;
	__s16 ra_off;
	__s16 fp_off;
};
