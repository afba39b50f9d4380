/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/grace.h - the wait for ticks that run now: they are RCU read-side sections. */
#pragma once

/* Returns when no tick that began before the call still runs. */
void grace_wait(void);
