/* SPDX-License-Identifier: Apache-2.0 */
/* language/cpython_trial.h - tries a table of CPython's structs on a process before BPF uses it:
 * does its way lead from the runtime to the name of a function? The memory is read in rounds, as
 * the words of each have the addresses of the next. The process runs meanwhile, so one trial that
 * fails proves nothing. */
#pragma once

#include <stdint.h>

#include "bpf/abi.h"

#define CPYTHON_TRIAL_WORDS_MAX 8

enum cpython_verdict {
	CPYTHON_TRIAL_MORE,  /* another round */
	CPYTHON_TRIAL_RIGHT, /* a frame's code was found, with its name and file, and outer ones */
	CPYTHON_TRIAL_EARLY, /* the process has no thread that runs two frames, as yet */
	CPYTHON_TRIAL_WRONG,
};

struct cpython_trial {
	const struct language *language;
	uint64_t base; /* where the file's offset 0 is or would be mapped */
	uint32_t round;
	uint32_t threads, frames; /* looked at so far */
	uint64_t at;              /* thread, link, frame or code of the round */
	uint64_t outer;           /* frame around this one; 0: none */
	uint64_t thread_next, thread_number, place, texts[2], text_type;
	uint8_t copied, texts_read, outers, is_ascii;
};

/* The addresses of the words of the next round, at least one. */
uint32_t cpython_trial_wants(
	const struct cpython_trial *trial, uint64_t addresses[CPYTHON_TRIAL_WORDS_MAX]);
/* Takes those words; 0 where nothing could be read. */
enum cpython_verdict cpython_trial_takes(
	struct cpython_trial *trial, const uint64_t words[CPYTHON_TRIAL_WORDS_MAX]);
