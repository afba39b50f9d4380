/* SPDX-License-Identifier: Apache-2.0 */
/* made_openers.h - openers that hang, die and lie, and what the kernel says of files, for tests
 * that are linked with --wrap of file_key_compare, file_key_magic, file_key_of_child,
 * file_system_is_local and fd_pass. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "base/child.h"
#include "client/starter.h"

#define MADE_FUSE_MAGIC 0x65735546U
#define MADE_LOCAL_MAGIC 0x1234U

/* Tests have one kernel; the functions that are replaced have no context. */
extern struct made_kernel {
	int compared;   /* the answer to the next questions */
	uint32_t magic; /* of the layer below */
	bool slow;      /* statfs says an overlay's, or anything else that may wait */
	struct object_key key;
} kernel;

enum manner {
	HONEST,
	HANGS,
	STOPS,          /* once */
	STOPS_FOR_EVER, /* whenever it is continued */
	REFUSES_SLOWLY, /* each request in its turn */
	IS_KILLED,
	DIES,
	SAYS_ANOTHER_NUMBER,
	SAYS_AN_UNKNOWN_REASON,
	SENDS_NOTHING_FOR_A_FILE,
	SENDS_A_PIPE_FOR_A_FILE,
	SENDS_A_FOLDER_FOR_A_FILE,
	SENDS_A_FILE_FOR_A_ROOT,
	SENDS_A_FILE_WITH_A_REFUSAL,
	SENDS_A_PATH_WITHOUT_END,
	SENDS_LESS,
	ANSWERS_UNASKED,
	MANNERS,
};

extern enum manner manner;  /* of those that are started */
extern unsigned int starts; /* so far */
/* The next descriptors that we or openers send, so many, cannot be sent. */
extern unsigned int *unsendable;

/* For openers_options.start. */
int made_openers_start(struct starter *starter, struct child *child);
/* The mapping of this program, for openers_mapped; the kernel knows it. */
void made_openers_program(struct event_object *event);
/* Is it this program, or its copy? */
bool made_openers_is_program(int fd);
