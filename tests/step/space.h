/* SPDX-License-Identifier: Apache-2.0 */
/* space.h - a stepped process's memory, its mappings, and the files behind them with their rows. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/vec.h"
#include "elf/image.h"
#include "unwind/rows.h"

#define SPACE_STACK_BYTES 8192

struct symbol {
	uint64_t vaddr, size;
	const char *name;
};

struct object {
	char *path;
	const char *name; /* last part of it */
	struct buf file, debug;
	struct image image, debug_image;
	struct unwind_rows *rows; /* NULL: none */
	bool is_elf;
	bool has_debug;
	bool symbols_read;
	VEC(struct symbol) symbols;
	VEC(char *) names;
};

struct objects {
	VEC(struct object *) list;
};

struct mapping {
	uint64_t start, end, file_offset;
	bool executable;
	struct object *object; /* NULL: in no file, or not code */
};

struct space {
	pid_t pid;
	int mem;
	VEC(struct mapping) mappings;
	VEC(struct scan_mapping) code; /* of them, what is executable; object: index + 1, 0 none */
	uint64_t generation;
	uint64_t start_stack; /* sp at the program's entry */
	/* The top of the stack, read once a step. */
	uint64_t stack_base;
	uint32_t stack_len;
	uint8_t stack[SPACE_STACK_BYTES];
	const struct mapping *last;
};

void objects_done(struct objects *objects);

/* 0 or -errno */
int space_open(struct space *space, pid_t pid);
void space_close(struct space *space);
/* Reads the mappings; new files are read and their rows compiled. Exits when it cannot. */
void space_load(struct space *space, struct objects *objects);
const struct mapping *space_find(struct space *space, uint64_t addr);
/* Takes the stack from sp on into the cache; to be called whenever the process has run. */
void space_refresh(struct space *space, uint64_t sp);
/* 0 or -1; nothing in between. */
int space_read(const struct space *space, uint64_t addr, void *dst, uint32_t size);
int space_write_byte(const struct space *space, uint64_t addr, uint8_t byte);

/* A function's name, "?" where none covers the address. Never NULL. */
const char *object_symbol(struct object *object, uint64_t file_offset, uint64_t *offset_in);
/* Its vaddr, or false. */
bool object_find(struct object *object, const char *name, uint64_t *vaddr);
