/* SPDX-License-Identifier: Apache-2.0 */
/* agent/waits.h - for how long the end of an interval waits for what would make it better. */
#pragma once

#include <stdint.h>

#include "base/clock.h"

#define TABLES_POLL_MS 50
#define TABLES_WAIT_NS (1800 * NSEC_PER_MSEC)
#define DEFERRED_WAIT_NS (1000 * NSEC_PER_MSEC)
#define CONTAINERS_WAIT_NS (2 * NSEC_PER_SEC)
#define JAVA_WAIT_NS (2 * NSEC_PER_SEC)
#define NAMES_WAIT_NS (20 * NSEC_PER_SEC)

/* Since the order to end, which a daemon obeys within two seconds. */
#define LAST_DEFERRED_NS (300 * NSEC_PER_MSEC)
#define LAST_JAVA_NS (450 * NSEC_PER_MSEC)
#define LAST_CONTAINERS_NS (600 * NSEC_PER_MSEC)
#define LAST_NAMES_NS (1000 * NSEC_PER_MSEC)

/* ended_ns: the time of the order to end; 0: nobody waits for an end. */
static inline uint64_t waits_until(uint64_t until_ns, uint64_t ended_ns, uint64_t last_ns)
{
	return ended_ns > 0 ? clock_sooner(until_ns, ended_ns + last_ns) : until_ns;
}
