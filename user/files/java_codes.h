/* SPDX-License-Identifier: Apache-2.0 */
/* files/java_codes.h - the methods that HotSpot's compilers made a part of others, and lines. Soon
 * after a code is sampled first its tables are read in its process: an opener copies ranges of the
 * memory, a worker reads them and says which others it needs, and at the end what proves that it is
 * still the same code is copied again. A code that has changed has the name of its method alone, as
 * BPF has read it. Reading takes time of the account (base/share.h), and a table a part of the room
 * for all. */
#pragma once

#include <stdint.h>

struct java_codes;
struct java_tables;
struct processes;
struct tally;
struct worker_client;

struct java_codes_stats {
	uint64_t read;
	uint64_t changed; /* gone, or of another method, when it was read */
	uint64_t refused; /* no time or room for them, or too many waited */
	uint64_t failed;  /* an opener or a worker did not answer, or it is malformed */
};

/* All are borrowed. */
int java_codes_new(struct processes *processes, struct worker_client *worker, struct tally *tally,
	struct java_codes **out);
void java_codes_free(struct java_codes *codes);

/* All of the following take NULL, too. */
/* Reads codes that are new in the tally, if that is due, for about 20 ms. Waits for the opener and
 * the worker. */
void java_codes_run(struct java_codes *codes, uint64_t now_ns);
/* CLOCK_NEVER_NS: nothing is due. */
uint64_t java_codes_due_ns(const struct java_codes *codes);
/* Reads all that wait, until then. Call it before an interval's frames are named. */
void java_codes_finish(struct java_codes *codes, uint64_t until_ns);
/* The next interval, after that of the tally: forgets tables that were not used for long. */
void java_codes_next(struct java_codes *codes);
struct java_tables *java_codes_tables(const struct java_codes *codes);

void java_codes_stats(const struct java_codes *codes, struct java_codes_stats *out);
