/* SPDX-License-Identifier: Apache-2.0 */
/* sym/kernel_text.h - one symbol as the kernel prints it (%pS, Documentation/core-api/
 * printk-formats.rst): `NAME+0xOFFSET/0xSIZE`, followed by ` [MODULE]` if it is not the kernel's
 * own. An address without a symbol is printed as a number. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sym/kernel_sym.h"

/* False: no symbol covers the address. *out points into text, in which zeros end its parts. A
 * symbol extends as far as those of kernel_sym. */
bool kernel_text_parse(char *text, uint64_t addr, struct kernel_name *out);
