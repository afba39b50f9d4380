/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/abi_rows.h - unwind tables as user space writes and BPF searches them. Part of bpf/abi.h. */
#pragma once

/* ---- rows: where the caller's registers are, by address -----------------------------------
 * An object's text is cut into pages of 64 KiB of file offset. A page's data is
 *     u16 first[257]   rows of chunk c (256 bytes of text) are first[c] .. first[c + 1] - 1
 *     u16 rule[n]      rule id of row i
 *     u8  start[n]     low 8 bits of the offset at which row i begins
 * A row holds until the next one. Every page has a row at its offset 0, so the last row at or
 * before an address is always in its page. The format does not care what the rows were compiled
 * from. */
#define ROWS_PAGE_SHIFT 16
#define ROWS_CHUNK_SHIFT 8
#define ROWS_CHUNKS (1 << (ROWS_PAGE_SHIFT - ROWS_CHUNK_SHIFT))
#define ROWS_INDEX_BYTES ((ROWS_CHUNKS + 1) * 2)

/* Pages' data lies in slabs, none across two of them. A page's place is in units of 4 bytes from
 * the first slab's start. The first four units are never used: ROWS_PAGE_ABSENT and the like are no
 * places. */
#define ROWS_SLAB_SHIFT 20
#define ROWS_SLAB_BYTES (1U << ROWS_SLAB_SHIFT)
#define ROWS_PLACE_SHIFT 2
#define ROWS_RULES_MAX 32768
#define ROWS_PAGES_MAX 65536

enum table_state {
	TABLE_PENDING = 0, /* user space has not answered yet */
	TABLE_READY = 1,
	TABLE_NONE = 2, /* no table, or no room for one: walk by frame pointer */
};

/* What user space knows of a page of rows, and BPF of its use. */
struct rows_page {
	__u32 place; /* ROWS_PAGE_ABSENT, _ASKED, _EMPTY, or where its data is */
	__u32 used;  /* the second in which it was last searched */
};

#define ROWS_PAGE_ABSENT 0
#define ROWS_PAGE_ASKED 1 /* absent, and user space was told */
#define ROWS_PAGE_EMPTY 2 /* no function in it: as if every row were CFA_NONE */

struct object_value {
	__u32 id;
	__u32 table;      /* enum table_state */
	__u32 page_base;  /* of its pages in the map of pages */
	__u32 page_first; /* file offset >> ROWS_PAGE_SHIFT of the first of them */
	__u32 pages_len;
	__u32 used; /* the second in which a tick last met it; 0: none did */
};

/* What the scan of a process's mappings gives for each one that holds code. */
struct scan_mapping {
	__u64 start;
	__u64 end;
	__u64 file_offset;
	__u32 tgid;
	__u32 object; /* 0: code in no file */
};

enum cfa_kind {
	CFA_NONE = 0,        /* no function here: not an address that code runs at */
	CFA_REG = 1,         /* reg + cfa_off */
	CFA_DEREF = 2,       /* *(reg + cfa_off) + cfa_add: realigned stacks */
	CFA_PLT = 3,         /* sp + 8 + ((pc & 15) >= cfa_off ? 8 : 0): a PLT entry of x86-64 */
	CFA_SIGNAL = 4,      /* all registers from the rt_sigframe at sp */
	CFA_UNSUPPORTED = 5, /* a rule that this table cannot say */
	CFA_SWITCH = 6,      /* as CFA_REG, on another stack */
	CFA_GOROUTINE = 7,   /* what Go's runtime noted of the stack that it left: see below */
	CFA_KINDS
};

enum ra_kind {
	RA_AT_CFA = 0,    /* *(CFA + ra_off) */
	RA_UNDEFINED = 1, /* the outermost frame */
	RA_REG = 2,       /* in register ra_off: arm64's lr, x86-64's vfork */
	RA_UNSUPPORTED = 3,
};

enum fp_kind {
	FP_SAME = 0,   /* the frame pointer register is as the caller left it */
	FP_AT_CFA = 1, /* *(CFA + fp_off) */
	FP_AT_FP = 2,  /* *(fp + fp_off) */
	FP_AT_SP = 3,  /* *(sp + fp_off) */
	FP_LOST = 4,   /* cannot be had: a caller that needs it is where the walk stops */
	FP_REG = 5,    /* in register fp_off: longjmp's, which goes there */
};

/* In cfa_reg, x86-64: not the register r but rsp + 8 * r, as OpenSSL's Montgomery multiplication
 * finds the stack pointer that it was called with. */
#define RULE_REG_INDEXED 0x80

/* CFA_REG with a cfa_add, by the frame pointer: where the function has called, the CFA is
 * sp + cfa_add as well. For functions that return to where they want (__builtin_eh_return, as
 * libgcc's unwinder): what they call puts that place's frame pointer over theirs before they do.
 *
 * CFA_GOROUTINE, x86-64: the word cfa_off bytes from the thread's base (fs) is g, the word GO_G_M
 * bytes into it m, the one cfa_add bytes into that the goroutine that was left. None: its thread
 * has gone on for good. The word GO_G_SP bytes into it and cfa_reg bytes more is the CFA. The
 * return address is below; or, with no more bytes, the word behind GO_G_SP, for a stack that is
 * being copied has nothing below. */
#define GO_G_M 48
#define GO_G_SP 56

/* DWARF register numbers of the machine; the stack pointer and the frame pointer are known in every
 * frame, those that calls may change where no call did, the others in the interrupted one alone. */
struct unwind_rule {
	__u8 cfa;     /* enum cfa_kind */
	__u8 cfa_reg; /* DWARF register number, or RULE_REG_INDEXED | one */
	__u8 ra;      /* enum ra_kind */
	__u8 fp;      /* enum fp_kind */
	__s32 cfa_off;
	__s32 cfa_add;
	__s16 ra_off;
	__s16 fp_off;
};
