/* SPDX-License-Identifier: Apache-2.0 */
/* sink/perf_words.h - a comm, a symbol and a module as every reader of perf text takes them.
 * Text is appended to out: valid UTF-8, one line. */
#pragma once

#include <stdint.h>

struct buf;

/* With one or two blanks, which come before PID/TID. Readers find the end of a comm by what
 * follows it, so no number in it may look like the PID. */
void perf_words_comm(struct buf *out, const char *comm, int32_t pid);
/* `->` means inlining, so a name's own is written `-_>`. */
void perf_words_symbol(struct buf *out, const char *name);
/* A file, without blanks, parentheses and " (deleted)". */
void perf_words_module(struct buf *out, const char *name);
/* [name] */
void perf_words_kernel_module(struct buf *out, const char *name);
