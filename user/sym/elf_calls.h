/* SPDX-License-Identifier: Apache-2.0 */
/* sym/elf_calls.h - can the call before a return address lead to another place? By the instructions
 * and the PLT of ELF images.
 * A direct call leads to its target and from there along branches, jumps and tail jumps; it leaves
 * the file over a PLT stub. An answer is ELF_CALL_IMPOSSIBLE only if all of these ways were
 * followed to their ends: an indirect call or jump, an IFUNC, unreadable code and a search over a
 * limit are ELF_CALL_POSSIBLE. One way is not followed: over a PLT into another file, and from
 * there back into this one by a tail jump. x86-64 and arm64; of other machines all is possible. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "elf/image.h"
#include "elf/plt.h"
#include "elf/symtab.h"
#include "sym/elf_frames.h"

#define ELF_CALLS_STEPS_MAX (1U << 16)       /* instructions of one search */
#define ELF_CALLS_ALL_STEPS_MAX (1ULL << 22) /* and of all, between init and done */
#define ELF_CALLS_EXPORTS_MAX (1U << 20)     /* further ones are unknown */

/* `to` of a callee in another file, and of code in no file. */
#define ELF_CALL_OUTSIDE UINT64_MAX
#define ELF_CALL_NO_FILE (UINT64_MAX - 1)

enum elf_call_kind {
	ELF_CALL_RETURN, /* from: a byte of the call, file offset; to: in the callee */
	ELF_CALL_ENTRY,  /* from: hash of an exported function's name; to: in the callee */
	ELF_CALL_SIGNAL, /* to: is this code that returns from a signal handler? */
	ELF_CALL_KINDS,
};

enum elf_call_verdict {
	ELF_CALL_POSSIBLE,
	ELF_CALL_IMPOSSIBLE,
	ELF_CALL_NONE,   /* no call is there */
	ELF_CALL_LEAVES, /* to the function of this name in another file; `to` is outside */
	ELF_CALL_VERDICTS,
};

/* The last byte of the call and the byte in the callee are as in frames (bpf/abi.h): one less than
 * a return address, or the exact pc. Sent between processes as they are. */
struct elf_call_query {
	uint64_t kind, from, to;
};

struct elf_call {
	uint64_t verdict;
	uint64_t name; /* of ELF_CALL_LEAVES: hash, the same in all processes; else 0 */
};

struct elf_calls {
	struct image *image; /* the caller's; outlives this */
	struct elf_frames frames;
	struct plt plt;                       /* sorted */
	struct symtab dynsym;                 /* may be empty */
	VEC(struct elf_calls_export) exports; /* made by the first ELF_CALL_ENTRY */
	bool exports_made;
	uint64_t steps_left;
	/* of the current search */
	struct hash seen;
	VEC(uint64_t) open;
};

/* -ENOMEM. *calls is the caller's after a failure too. */
int elf_calls_init(struct elf_calls *calls, struct image *image);
void elf_calls_done(struct elf_calls *calls);
/* kind < ELF_CALL_KINDS. -ENOMEM */
int elf_calls_check(
	struct elf_calls *calls, const struct elf_call_query *query, struct elf_call *out);
/* The hash of ELF_CALL_ENTRY and ELF_CALL_LEAVES; never 0. */
uint64_t elf_calls_hash(const char *name, size_t len);
