/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/account_since.h - the account of one interval: what the sums have grown by. */
#pragma once

#include <jansson.h>

#include "agent/account.h"

/* As JSON, the caller's; NULL: no memory. *last is what was given before, at first NULL, and is
 * replaced. */
char *account_since(const struct account *account, json_t **last);
