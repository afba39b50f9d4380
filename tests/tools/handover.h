/* SPDX-License-Identifier: Apache-2.0 */
/* handover.h - the text of a recorded handover: all that the sampler handed to the agent, one event
 * a line, in order. record_handover writes it, replay reads it. A folder holds it as `handover`,
 * beside `root`: the files that the agent opened meanwhile, each by its path.
 *
 *     KIND KEY=VALUE ...             values are numbers as C writes them; a missing one is 0
 *     KIND KEY=VALUE ... KEY=TEXT    a text is the last of its line, and may have blanks
 *     KIND KEY=VALUE ... : FRAMES    leaf first: OBJECT+OFFSET, kernel+ADDRESS, jit+ADDRESS
 *
 * stoker-handover    version=
 * options            hz= times= tids= cpus= lines=
 * cgroup             id= path=          known before the first event
 * code               start= size= gone= name=        kernel code that came or went
 * mapping            process= start= end= offset= object=    for deferred samples
 * file               process= start= refused= path=  the file of a mapping, or why it has none
 * object who stack leaf jit exec tick made removed renamed     events, as in bpf/abi.h
 * deferred           a sample whose walk waits for a table; `stack_bytes` and `root_bytes` follow
 * count              of a stack and a task; with times, the id of its ticks
 * poll               the agent read all events up to here in one go
 * profile            start= tick= duration=          what the agent made of it: an interval ends */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include "base/buf.h"
#include "base/vec.h"

#define HANDOVER_VERSION 1
#define HANDOVER_FILE "handover"
#define HANDOVER_ROOT "root"

struct handover {
	char *text;
	VEC(char *) lines; /* each ends with a NUL */
};

/* Prints why and exits where the folder has no recording of this version. */
void handover_load(struct handover *handover, const char *folder);
void handover_done(struct handover *handover);

bool handover_is(const char *line, const char *kind);
/* 0: the line has no such key. */
uint64_t handover_number(const char *line, const char *key);
/* "": the line has no such key. */
const char *handover_text(const char *line, const char *key);
/* What follows " : "; returns how many. */
size_t handover_frames(const char *line, __u64 *frames, size_t max);
/* The same, written. */
void handover_put_frames(struct buf *out, const __u64 *frames, size_t len);
