/* SPDX-License-Identifier: Apache-2.0 */
/* language/code_name.h - the name, source file and lines of a language's code, from the bytes that
 * BPF has read in the memory of its process. Each runtime's names have one spelling: CPython's are
 * `package.module:Class.method`; the module is guessed from the file, see code_module().
 * Sources: CPython, Objects/locations.md (3.11 and up), Objects/lnotab_notes.txt (3.8 to 3.10),
 * Include/cpython/unicodeobject.h (characters). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include "base/buf.h"
#include "bpf/abi.h"

/* Is it as long as it says? size: of what there is. */
bool code_valid(const struct event_code *code, size_t size);
/* Both append UTF-8. 0 or the buffer's error. A file whose beginning is missing starts with "...".
 */
int code_put_name(const struct event_code *code, struct buf *out);
int code_put_file(const struct event_code *code, struct buf *out);
/* The line of a place, as BPF says it of a frame. 0: unknown, or the instruction has none. */
uint32_t code_line(const struct event_code *code, uint32_t place);
