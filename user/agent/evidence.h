/* SPDX-License-Identifier: Apache-2.0 */
/* agent/evidence.h - copies of what tools/truth judges stacks by and no file has: the code of JITs,
 * and the code addresses at the tops of thread stacks. They are taken while a process lives, once a
 * second, so the last second of its code may be missing. The bytes of code are not looked at. Words
 * of a stack are kept only if they point into executable memory, so no data of the process is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define EVIDENCE_PROCESSES_MAX 1024
#define EVIDENCE_CODE_BYTES_MAX (32U << 20)
#define EVIDENCE_TEXT_BYTES_MAX (16U << 20)
#define EVIDENCE_PASS_BYTES_MAX (64U << 20) /* read of one process in one pass */

struct evidence;
struct worker_client;

struct evidence_counts {
	uint64_t processes, code_bytes;
	/* Over the limits above: */
	uint64_t tasks_left_out; /* of further processes; a task may count several times */
	uint64_t bytes_left_out; /* of code, in all passes */
	uint64_t lines_left_out; /* of mappings and tops of stacks, in all passes */
	uint64_t copies_failed;  /* processes that could not be read, in all passes */
};

int evidence_new(struct evidence **out);
void evidence_free(struct evidence *evidence);
/* Who opens processes and reads their mappings: before the first copy. evidence may be NULL. */
void evidence_ask(struct evidence *evidence, struct worker_client *worker);
/* The process was sampled. evidence may be NULL: nothing is kept. */
void evidence_process(struct evidence *evidence, uint32_t tgid, uint64_t start_ns);
/* Copies from the living processes: from all, or from new ones. It waits for an opener and a worker
 * for half a second or little more; the other processes have their turn in the next call. */
void evidence_copy(struct evidence *evidence, bool all);
struct evidence_counts evidence_counts(const struct evidence *evidence);
/* Whether something was over a limit: then *note says what. */
bool evidence_left_out(const struct evidence *evidence, struct why *note);
/* Lines, all numbers hexadecimal but PID:
 *     # WORDS
 *     map PID START END OFFSET PATH   an executable mapping of a file
 *     top PID END ADDRESS WORD        at the top of the stack that ends at END
 *     code PID ADDRESS BYTES          of a page; a page that changed comes again, oldest first */
int evidence_write(const struct evidence *evidence, struct buf *out);
