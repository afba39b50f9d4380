/* SPDX-License-Identifier: Apache-2.0 */
/* sink/perf_words.h - a comm, a symbol and a module as every reader of perf text takes them.
 * Text is appended to out: valid UTF-8, one line. */
#pragma once

#include <stdint.h>

struct buf;

/* With the blank, or two, before PID/TID. Readers find its end by what follows, so that a number in
 * it must not look like the PID. */
void perf_words_comm(struct buf *out, const char *comm, int32_t pid);
/* `->` stands for inlining, so one in a name is written `-_>`. */
void perf_words_symbol(struct buf *out, const char *name);
/* A file: no blanks, no parentheses, nothing of " (deleted)". */
void perf_words_module(struct buf *out, const char *name);
/* [name] */
void perf_words_kernel_module(struct buf *out, const char *name);
