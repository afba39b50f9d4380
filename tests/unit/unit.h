/* SPDX-License-Identifier: Apache-2.0 */
/* unit.h - what each unit test includes first: cmocka and what it wants before it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
