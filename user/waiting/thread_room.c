/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/thread_room.c - accounts are looked up when nine tenths of the room are used: before that
 * nobody is refused. */
#include "waiting/thread_room.h"

void thread_room_done(struct thread_room *room)
{
	share_done(&room->held);
}

void thread_room_begin(struct thread_room *room, size_t records_max)
{
	share_clear(&room->held);
	room->records_max = records_max;
	room->counted = room->refused = 0;
}

static int charge(struct thread_room *room, uint64_t account)
{
	int err = share_charge(&room->held, account, 1);

	room->counted += err == 0;
	return err;
}

long thread_room_take(struct thread_room *room, struct thread_record *records, size_t had,
	size_t len, const struct thread_takers *takers)
{
	size_t kept = had;
	int err = 0;

	if (len <= share_room(room->records_max))
		return (long)len;
	while (err == 0 && room->counted < had)
		err = charge(room, takers->account(takers->ctx, records[room->counted].cgroup));
	for (size_t i = had; i < len && err == 0; i++) {
		uint64_t account = takers->account(takers->ctx, records[i].cgroup);

		if (share_refuses(&room->held, account, 1, room->records_max)) {
			room->refused++;
			continue;
		}
		records[kept++] = records[i];
		err = charge(room, account);
	}
	return err < 0 ? err : (long)kept;
}
