/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/publish_language.c - descriptions of runtimes: each has a place in a map of its own, which
 * the entry of its object names. The place is another's when the table is removed, which is when no
 * tick can have its number. Nothing can be taken back before, so shares refuse. */
#include "unwind/publish.h"

#include <errno.h>

#include "unwind/publish_table.h"

void publish_give_language(struct publish *p, struct table *t)
{
	if (t->language == 0)
		return;
	p->languages[t->language / 64] &= ~(1ULL << (t->language % 64));
	share_return(&p->languages_held, t->language_payer, 1);
	t->language = 0;
}

static uint32_t free_place(const struct publish *p)
{
	for (uint32_t i = 1; i < LANGUAGES_MAX; i++)
		if (!(p->languages[i / 64] >> (i % 64) & 1))
			return i;
	return 0;
}

static int take_place(struct publish *p, struct table *t, uint64_t account)
{
	uint32_t place = free_place(p);

	if (place == 0 || share_refuses(&p->languages_held, account, 1, LANGUAGES_MAX - 1))
		return -ENOSPC;
	if (share_charge(&p->languages_held, account, 1) < 0)
		return -ENOMEM;
	p->languages[place / 64] |= 1ULL << (place % 64);
	t->language = place;
	t->language_payer = account;
	return 0;
}

int publish_language(struct publish *p, const struct object_key *key, uint32_t id,
	uint64_t account, const struct language *language)
{
	struct table *t = publish_table_of(p, key, id);
	struct language own = *language;
	bool is_new = t && t->language == 0;
	int err = t ? 0 : -ENOMEM;

	if (is_new)
		err = take_place(p, t, account);
	p->languages_refused += err < 0;
	if (err < 0)
		return err;
	own.object = id;
	err = p->maps.ops->language_put(p->maps.ctx, t->language, &own);
	if (err < 0 && is_new)
		publish_give_language(p, t);
	/* Rows that BPF has already: publish_settle makes their entry name the place. */
	if (err == 0 && is_new && t->state == TABLE_READY && t->goal == GOAL_STATE)
		t->unsettled = true;
	return err;
}
