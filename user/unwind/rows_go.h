/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rows_go.h - unwind rows of a Go program, from the stack deltas that Go's runtime uses for
 * its own tracebacks; x86-64 only. Go code also keeps frame pointers, but not across a change of
 * stacks, and not in all assembly.
 * Sources: Go's src/runtime/asm_amd64.s, traceback.go and symtab.go; for the prologues of compiled
 * functions src/cmd/internal/obj/x86/obj6.go. */
#pragma once

#include "elf/eh_frame.h"
#include "elf/image.h"

/* Calls fn for each function, including C functions that Go's linker took in (rows_prologue.h), by
 * rising start and without overlap. The function that signal handlers return to begins a byte
 * early, because unwinders look for it there. *functions counts them. -ENODATA: not a Go program,
 * or another machine; -EBADMSG: a malformed table; -ENOMEM; or fn's error. */
int rows_go_walk(struct image *image, eh_frame_fn fn, void *arg, uint32_t *functions);
