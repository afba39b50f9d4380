/* SPDX-License-Identifier: Apache-2.0 */
/* sym/kernel_sym.h - names of kernel code, from the text of /proc/kallsyms: kernel, modules, BPF
 * programs. A line is `ADDR TYPE NAME[\t[MODULE]]`; types t T w W are code, all others only mark
 * where code ends. Of several at one address: global over weak over local, fewer leading
 * underscores, shorter, alphabetic. A symbol extends to the next one, at most 1 MiB, because
 * kallsyms has no sizes. BPF programs come and go: parse again to see them. Memory: names plus
 * about 2.3 bytes a symbol. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_SYM_MAX (1U << 21) /* symbols; further ones are dropped and counted */
#define KERNEL_SYM_REACH_MAX (1U << 20)

enum kernel_sym_result {
	KERNEL_SYM_OK = 0,
	KERNEL_SYM_HIDDEN = 1, /* every address is 0: kernel.kptr_restrict, or no CAP_SYSLOG */
	KERNEL_SYM_EMPTY = 2,  /* no code at all */
};

struct kernel_name {
	const char *name;
	const char *module; /* "": the kernel itself; "bpf": a BPF program */
	uint64_t start;
};

struct kernel_sym_stats {
	size_t symbols;
	size_t bad;     /* malformed lines */
	size_t dropped; /* over the limit */
	size_t memory_bytes;
};

struct kernel_sym;

/* An enum kernel_sym_result, or -ENOMEM. *out is set only with KERNEL_SYM_OK; it is the caller's
 * and no longer needs the text. */
int kernel_sym_parse(const void *text, size_t len, struct kernel_sym **out);
void kernel_sym_free(struct kernel_sym *sym);
/* False: no symbol covers the address. *out is valid as long as the kernel_sym. */
bool kernel_sym_find(const struct kernel_sym *sym, uint64_t addr, struct kernel_name *out);
void kernel_sym_stats(const struct kernel_sym *sym, struct kernel_sym_stats *out);
