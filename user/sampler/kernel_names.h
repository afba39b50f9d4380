/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/kernel_names.h - names of kernel code, including BPF programs that are loaded and
 * unloaded meanwhile: from kernel events, by asking the kernel for each address, and where it
 * cannot be asked or has no answer, from /proc/kallsyms, which is read again when modules changed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sampler/warnings.h"
#include "sym/kernel_sym.h"

struct kernel_names;
struct sampler;

/* Call it before privileges are dropped: opening its events may need more than using them. The
 * sampler is asked by kernel_names_find. */
int kernel_names_new(const struct sampler *sampler, struct kernel_names **out);
void kernel_names_free(struct kernel_names *names);

/* Reads the current names if the kernel cannot be asked later; warns if addresses are hidden. 0 or
 * -ENOMEM. */
int kernel_names_begin(struct kernel_names *names, struct warnings *warnings);
/* Makes the epoll descriptor readable when kernel_names_poll should be called. 0 or -errno. */
int kernel_names_watch(struct kernel_names *names, int epoll_fd);
/* Call it then, and before names are looked up. -ENOMEM */
int kernel_names_poll(struct kernel_names *names);
/* The first before an interval's names are looked up; the second after. */
int kernel_names_refresh(struct kernel_names *names);
void kernel_names_next(struct kernel_names *names);

/* False: no known code covers addr. *out is valid until the next call of another function. */
bool kernel_names_find(struct kernel_names *names, uint64_t addr, struct kernel_name *out);
