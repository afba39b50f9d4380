/* SPDX-License-Identifier: Apache-2.0 */
/* jit/jit_left.h - undoes what a note says was switched on (jit/jit_note.h). It may wait for the
 * process's file system and runtime: call it in a process that can be given up. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "jit/jit_note.h"

/* Turns perf maps off and removes their files. The files of a process that has ended are removed
 * where its folder is found: in our root, or in that of a process with the same mounts; it has to
 * be the same folder, and the files have to be of the same user and as old as the switch. 0, also
 * where nothing is left or found; else as of jit_control_disable(). */
int jit_left_undo(const struct jit_note *note, bool ended, struct why *why);
