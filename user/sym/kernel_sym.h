/* SPDX-License-Identifier: Apache-2.0 */
/* sym/kernel_sym.h - the names of kernel code, from the text of /proc/kallsyms: kernel, modules,
 * BPF programs. A line is `ADDR TYPE NAME[\t[MODULE]]`; types t T w W are code, all others only
 * mark where code ends. Of several at one address: global over weak over local, fewer leading
 * underscores, shorter, alphabetic. A symbol reaches to the next one, and 1 MiB at most, since the
 * sizes are not told. BPF programs come and go: parse again to know of them. Memory: names plus
 * about 2.3 bytes a symbol. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_SYM_MAX (1U << 21) /* symbols; what is over it is dropped and counted */
#define KERNEL_SYM_REACH_MAX (1U << 20)

enum kernel_sym_result {
	KERNEL_SYM_OK = 0,
	KERNEL_SYM_HIDDEN = 1, /* every address is 0: kernel.kptr_restrict, or no CAP_SYSLOG */
	KERNEL_SYM_EMPTY = 2,  /* no line of code at all */
};

struct kernel_name {
	const char *name;
	const char *module; /* "" is the kernel itself; "bpf" a BPF program */
	uint64_t start;
};

struct kernel_sym_stats {
	size_t symbols;
	size_t bad;     /* lines that are none */
	size_t dropped; /* over the limit */
	size_t memory_bytes;
};

struct kernel_sym;

/* An enum kernel_sym_result, or -ENOMEM. *out is set with KERNEL_SYM_OK alone, is the caller's and
 * needs the text no more. */
int kernel_sym_parse(const void *text, size_t len, struct kernel_sym **out);
void kernel_sym_free(struct kernel_sym *sym);
/* False: no symbol reaches there. What *out points to lives as long as the kernel_sym. */
bool kernel_sym_find(const struct kernel_sym *sym, uint64_t addr, struct kernel_name *out);
void kernel_sym_stats(const struct kernel_sym *sym, struct kernel_sym_stats *out);
