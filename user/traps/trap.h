/* SPDX-License-Identifier: Apache-2.0 */
/* traps/trap.h - a rule and what it watches: when it fires. Fires when each value for so long was
 * on the wrong side; then it rests for its cool-down, and begins anew: what still holds then must
 * hold for as long again. Told values and times; makes no system call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TRAP_VALUES_MAX 128

struct trap_rule {
	uint64_t above, below; /* permille; one of them is 0 */
	uint64_t for_ns, cooldown_ns;
	uint64_t not_before_ns; /* it does not fire, whatever holds and for how long */
};

struct trap_value {
	uint64_t at_ns; /* the end of what it is of */
	uint64_t permille;
};

struct trap {
	uint64_t last_ns;  /* the last value's end */
	uint64_t since_ns; /* from then on all were wrong; 0: the last was not */
	uint64_t rests_ns; /* until then */
	struct trap_value values[TRAP_VALUES_MAX]; /* the last ones, at number % TRAP_VALUES_MAX */
	uint64_t values_len;                       /* told so far */
};

/* Begins: values are of what comes behind this moment. */
void trap_begin(struct trap *trap, uint64_t now_ns);
/* The value since the last call. True: it fires. Times rise. */
bool trap_feed(struct trap *trap, const struct trap_rule *rule, uint64_t now_ns, uint64_t permille);
/* Nothing is known since the last call. */
void trap_skip(struct trap *trap, uint64_t now_ns);
/* It fired and nothing could be made of it: it need not rest. */
void trap_refuse(struct trap *trap);
