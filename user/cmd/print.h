/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/print.h - writes to stdout: the text of strangers, and the end of a command. */
#pragma once

#include "base/err.h"

/* Text of a stranger, padded to this many bytes. */
void print_clean(const char *text, int width);
/* The end of a command. -errno with why: something could not be written, now or before. */
int print_flush(struct why *why);
