/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/rows_go.h - unwind rows of a Go program's functions, from the stack deltas that its
 * runtime keeps for its own tracebacks: x86-64 alone. Go's code keeps frame pointers too, but not
 * where it goes from one stack to another, and not in every assembly.
 * Source: Go's src/runtime/asm_amd64.s, traceback.go and symtab.go; what compiled functions begin
 * with: src/cmd/internal/obj/x86/obj6.go. */
#pragma once

#include "elf/eh_frame.h"
#include "elf/image.h"

/* Calls fn for each function, those of C that Go's linker took in too (rows_prologue.h), by rising
 * start and side by side: only the one that signal handlers return to begins a byte early, since it
 * is looked for there. *functions counts them. -ENODATA: no Go program, or for another machine;
 * -EBADMSG: its table is malformed; -ENOMEM; fn's error. */
int rows_go_walk(struct image *image, eh_frame_fn fn, void *arg, uint32_t *functions);
