/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/grace.h - waits for running ticks: they are RCU read-side sections. */
#pragma once

/* Returns when all ticks that began before the call have ended. */
void grace_wait(void);
