/* SPDX-License-Identifier: Apache-2.0 */
/* traps/trap.h - one rule for one subject: decides when it fires. It fires when all values over the
 * required time were beyond the limit; then it pauses for its cool-down and starts again: the
 * condition must again last the whole time. An unknown value is not beyond the limit, and does not
 * end a condition either. Works on the given values and times; makes no system
 * call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TRAP_VALUES_MAX 128

struct trap_rule {
	uint64_t above, below; /* in thousandths; one of them is 0 */
	uint64_t for_ns, cooldown_ns;
	uint64_t not_before_ns; /* the trap does not fire earlier */
	bool once;              /* having fired, it waits until a value is not beyond the limit */
};

struct trap_value {
	uint64_t at_ns; /* end of the measured time */
	uint64_t permille;
};

struct trap {
	uint64_t last_ns;  /* end of the latest value */
	uint64_t since_ns; /* all values since then were beyond the limit; 0: the latest was not */
	uint64_t rests_ns; /* end of the cool-down */
	bool held;         /* fired, and all values since then were beyond the limit */
	struct trap_value values[TRAP_VALUES_MAX]; /* the latest, a ring */
	uint64_t values_len;                       /* number so far */
};

/* Starts it: values begin after this moment. */
void trap_begin(struct trap *trap, uint64_t now_ns);
/* Feeds the value since the last call. True: it fires. Times rise. */
bool trap_feed(struct trap *trap, const struct trap_rule *rule, uint64_t now_ns, uint64_t permille);
/* The value since the last call is unknown. */
void trap_skip(struct trap *trap, uint64_t now_ns);
/* It fired but no capture was possible: cancels the cool-down. */
void trap_refuse(struct trap *trap);
