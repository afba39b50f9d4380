/* SPDX-License-Identifier: Apache-2.0 */
/* files/file_time.c - the time of a file is known only afterwards, so an account may owe more than
 * its share: then it waits longer. */
#include "files/file_time.h"

#include "base/clock.h"
#include "files/object.h"
#include "unwind/publish.h"

#define PARTS 3333 /* one of them is three tenths of a permille */

void file_time_limit(struct file_time *time, uint64_t permille)
{
	time->part = permille > 0 ? PARTS / permille : PARTS;
	time->part += time->part == 0;
}

void file_time_done(struct file_time *time)
{
	share_debt_done(&time->spent);
}

void file_time_charge(struct file_time *time, uint64_t account, uint64_t took_ns)
{
	/* Without memory it is nobody's. */
	if (time->part > 0)
		(void)share_charge(&time->spent.held, account, took_ns);
}

void file_time_charge_since(struct file_time *time, uint64_t account, uint64_t begun_ns)
{
	file_time_charge(time, account, 2 * (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns));
}

/* The most that an account may owe now. */
static uint64_t level_at(struct file_time *time, uint64_t now_ns)
{
	if (time->part == 0)
		return SHARE_UNBOUND;
	share_debt_pass(&time->spent, time->part, now_ns);
	return share_debt_level(&time->spent, FILE_TIME_MAX_NS);
}

bool file_time_owes(struct file_time *time, uint64_t account, uint64_t now_ns)
{
	return share_owes_more(&time->spent, account, level_at(time, now_ns));
}

bool file_time_refuses(struct file_time *time, uint64_t account, uint64_t now_ns)
{
	bool over = file_time_owes(time, account, now_ns);

	time->refused += over;
	return over;
}

bool file_time_refuses_more(struct file_time *time, const struct publish *publish,
	const struct object *object, uint64_t now_ns)
{
	const uint64_t *accounts;
	uint32_t len = publish_payers(publish, object->id, &accounts);
	uint64_t level = level_at(time, now_ns);
	bool over = len > 0 || share_owes_more(&time->spent, object->payer, level);

	for (uint32_t i = 0; i < len && over; i++)
		over = share_owes_more(&time->spent, accounts[i], level);
	time->refused += over;
	return over;
}
