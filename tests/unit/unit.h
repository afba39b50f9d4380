/* SPDX-License-Identifier: Apache-2.0 */
/* unit.h - cmocka and the headers that it needs. Every unit test includes this file first, and no
 * other header of cmocka. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
