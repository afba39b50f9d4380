/* SPDX-License-Identifier: Apache-2.0 */
/* agent/kernel_names.h - the names of kernel code, of modules and BPF programs too, also of those
 * that come and go meanwhile: what is told of them while it happens, and /proc/kallsyms, which is
 * read again when there are other modules. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/warnings.h"
#include "sym/kernel_sym.h"

struct kernel_names;

/* To be called before privileges are dropped: its events may take more to open than to have. */
int kernel_names_new(struct kernel_names **out);
void kernel_names_free(struct kernel_names *names);

/* What is there now; where addresses are hidden there are no names, of which it warns. 0 or
 * -ENOMEM. */
int kernel_names_begin(struct kernel_names *names, struct warnings *warnings);
/* To be called a few times a second, and before names are asked for. -ENOMEM */
int kernel_names_poll(struct kernel_names *names);
/* At an interval's end, before its names are asked for; and when they were. */
int kernel_names_refresh(struct kernel_names *names);
void kernel_names_next(struct kernel_names *names);

/* False: nothing that is known covers it. *out is good until the next call of any other. */
bool kernel_names_find(const struct kernel_names *names, uint64_t addr, struct kernel_name *out);
