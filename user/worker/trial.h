/* SPDX-License-Identifier: Apache-2.0 */
/* worker/trial.h - finds the sandbox that a worker and an opener would have, started as this
 * process was. */
#pragma once

#include <stdint.h>

#define TRIAL_NONE 64 /* more than all SANDBOX_* together */

/* The SANDBOX_* of worker/sandbox.h that were achieved; TRIAL_NONE or more: it cannot enter it. */
uint32_t trial_worker(void);
uint32_t trial_opener(void);
