/* SPDX-License-Identifier: Apache-2.0 */
/* profile/jit_code.h - the frame that stands for all code of a process that was compiled at run
 * time and has no name: `[JIT node 4711]`. For a comparison of two captures, in which a service has
 * another pid, it is `[JIT node]`. Programs choose names: those of other frames, and labels, that
 * read as such a frame get braces (jit_code_guard). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "profile/profile.h"

/* Appends it. program: as it calls itself; "": unknown. pid 0: the process is not known. Returns
 * buf_err. */
int jit_code_put(struct buf *out, const char *program, uint32_t pid);
/* Does a name read as such a frame, with a pid or without? */
bool jit_code_is(const char *name, size_t len);
/* A name that a program chose gets braces if it reads as one: `{JIT node 4711}`. *id becomes that
 * name's. 0 or -ENOMEM. */
int jit_code_guard(struct profile *profile, uint32_t *id);
/* Takes the pids away. No frames may be added to the profile afterwards. -ENOMEM. */
int jit_code_drop_pids(struct profile *profile);
