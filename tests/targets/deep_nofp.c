/* SPDX-License-Identifier: Apache-2.0 */
/* deep_nofp.c - deep without frame pointers: whole only by unwind tables.
 *
 * BUILD: -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls
 */
#include "deep.c"
