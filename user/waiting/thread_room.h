/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/thread_room.h - the room for the records of one pass, which accounts share
 * (base/share.h): the iterator gives threads by their pids, so who has many low ones would keep all
 * others out. Makes no system call. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/share.h"
#include "waiting/thread_table.h"

struct thread_room {
	struct share held;  /* records, as soon as the room is scarce */
	size_t records_max;
	size_t counted;     /* records that are in held */
	uint64_t refused;   /* since the pass began */
};

void thread_room_done(struct thread_room *room);
void thread_room_begin(struct thread_room *room, size_t records_max);
/* had of len records were there before; the others are new, and those without room are removed.
 * The number of them all that are left, or -ENOMEM. */
long thread_room_take(struct thread_room *room, struct thread_record *records, size_t had,
	size_t len, const struct thread_takers *takers);
