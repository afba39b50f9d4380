/* SPDX-License-Identifier: Apache-2.0 */
/* burn7030_nofp.c - burn7030 as a distribution would build it: no frame pointers.
 *
 * BUILD: -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls
 */
#include "burn7030.c"
