/* SPDX-License-Identifier: Apache-2.0 */
/* lying_worker.h - workers that the test plays itself, in its own thread, for user/worker/'s side
 * of the agent: a reply is there when the agent's send returns. Time is the test's too, so nothing
 * that waits takes any. A test that uses it is linked with:
 *     -Wl,--wrap=starter_open,--wrap=starter_start,--wrap=starter_kill
 *     -Wl,--wrap=proto_send,--wrap=clock_gettime,--wrap=poll,--wrap=nanosleep
 * Replies are honest, but for those of one kind while a lie is set. */
#pragma once

#include "lie_draft.h"

struct lie {
	struct lie_target *target, *second; /* NULL: none */
	unsigned int value, second_value;
	uint32_t any;  /* what else there is to choose */
	bool repeated; /* every reply of that kind is one, until the lie is taken back */
};

struct lying_stats {
	uint64_t replies, lies;
	uint64_t starts;
	unsigned int running;
};

/* From here on, or (NULL) no more. */
void lying_worker_set(const struct lie *lie);
/* Was the lie told since it was set? */
bool lying_worker_lied(void);
/* Workers answer from now on without reading what they were sent. */
void lying_worker_be_blind(bool blind);
/* The next so many requests with descriptors cannot be sent. */
void lying_worker_unsendable(unsigned int requests);
/* The next names with lines want so many files first. */
void lying_worker_want_files(unsigned int files);
/* The rows' table: this many pages with functions, so far apart. */
void lying_worker_shape(uint32_t pages, uint32_t apart, uint32_t flavour);
/* Worker i of those that run, of lane i, ends. */
void lying_worker_end(unsigned int i);
void lying_worker_pass(uint64_t ns);
struct lying_stats lying_worker_stats(void);
