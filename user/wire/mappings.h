/* SPDX-License-Identifier: Apache-2.0 */
/* wire/mappings.h - a worker's findings in the text of /proc/PID/maps: the process's jitdump, the
 * library of its JVM, and a list of its code and stacks, as bytes. The list is of the machine's
 * byte order: for each mapping u64 start, u64 end, u64 file offset, u32 kind, path and NUL. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"

struct maps_entry;

/* Of one process: the text of 65,530 mappings, which the kernel allows, of 256 bytes each. */
#define MAPPINGS_TEXT_BYTES_MAX (16UL << 20)
#define MAPPINGS_LIST_BYTES_MAX (2 * MAPPINGS_TEXT_BYTES_MAX)

enum mapping_kind {
	MAPPING_FILE,  /* executable, with a file or of the kernel's */
	MAPPING_CODE,  /* executable, without a file: as maps_is_anon_code */
	MAPPING_STACK, /* private memory that can be written, above a guard; or [stack] */
	MAPPING_KINDS,
};

struct mappings_entry {
	uint64_t start, end, file_offset;
	uint32_t kind;
	const char *path; /* without newlines; of MAPPING_FILE, else "" */
};

/* A jitdump is announced by a page of it that is mapped executable. */
struct mappings_dump {
	uint64_t start, end, ino; /* end 0: no mapping */
	uint64_t number;          /* in its name: a pid, that of the process that began it */
};

/* Where the code of a file is mapped. */
struct mappings_library {
	uint64_t start, end, file_offset, ino; /* ino 0: it is not */
	uint64_t dev; /* as in struct object_key */
};

struct mappings_facts {
	struct mappings_dump dump;
	struct mappings_library jvm; /* of libjvm.so */
};

/* The last dump counts: a runtime that begins a new one may leave the old one mapped. */
void mappings_note(const struct maps_entry *entry, struct mappings_facts *facts);
/* Checks what comes from another process. */
bool mappings_facts_valid(const struct mappings_facts *facts);

/* For each mapping in order; guard_end, at first 0, is kept between the calls. 0 or -ENOMEM. */
int mappings_put(const struct maps_entry *entry, uint64_t *guard_end, struct buf *list);
/* The next one of a list from another process. *out, at first zeroed, is the one before; its path
 * is valid as long as the list. False: none is left, or the cursor is bad: it is no such list. */
bool mappings_next(struct cursor *list, struct mappings_entry *out);
