/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/publish_pages.c - single pages of a table: loaded from kept rows, or from rows that were
 * compiled for them alone. A page that is requested and does not come is offered again, so that the
 * next tick that needs it requests it. publish.c has the tables. */
#include "unwind/publish.h"

#include <errno.h>
#include <stdlib.h>

#include "base/own.h"
#include "bpf/reasons.h"
#include "unwind/publish_table.h"

static bool has_number(const struct table *t, uint64_t number)
{
	return number >= t->page_first && number - t->page_first < t->pages_len;
}

/* For a number that the table has. */
static uint32_t page_of(const struct table *t, uint64_t number)
{
	return t->page_base + (uint32_t)(number - t->page_first);
}

int publish_load_page(struct publish *p, const struct table *t, const struct unwind_rows_view *view,
	uint32_t i, const uint16_t *ids)
{
	struct bytes data = unwind_rows_page_data(view, i);

	return row_pages_load(
		p->pages, page_of(t, view->pages[i].number), &data, view->pages[i].rows_len, ids);
}

int publish_page(struct publish *p, uint32_t object, uint32_t page)
{
	struct table *t = publish_find_table(p, object);
	int64_t i;

	if (!t || page < t->page_base || page - t->page_base >= t->pages_len) {
		/* The page's new owner may ask for it. */
		if (page < p->maps.pages_len)
			row_pages_offer_asked(p->pages, page, 1);
		return PUBLISH_NO_SUCH_PAGE;
	}
	if (row_pages_is_loaded(p->pages, page)) {
		row_pages_offer(p->pages, page);
		return 0;
	}
	if (t->paged)
		return PUBLISH_NOT_COMPILED;
	if (!t->kept)
		return PUBLISH_NOT_KEPT;
	i = unwind_rows_page_index(&t->view, page - t->page_base + t->page_first);
	return i < 0 ? PUBLISH_NO_SUCH_PAGE
		     : publish_load_page(p, t, &t->view, (uint32_t)i, t->ids);
}

static int load_pages(struct publish *p, const struct table *t, const struct unwind_rows_view *view)
{
	_cleanup_(freep) uint16_t *ids = NULL;
	int err;

	publish_make_room_for_rules(p, t, view->rules, view->head->rules_len);
	ids = row_rules_share(&p->rules, view->rules, view->head->rules_len);
	err = ids ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < view->head->pages_len; i++) {
		uint32_t number = view->pages[i].number;
		int page_err = 0;

		if (!has_number(t, number))
			continue;
		if (!ids)
			row_pages_offer(p->pages, page_of(t, number));
		else if (view->pages[i].rows_len == 0)
			row_pages_set_empty(p->pages, page_of(t, number));
		else
			page_err = publish_load_page(p, t, view, i, ids);
		err = err < 0 ? err : page_err;
	}
	if (ids)
		row_rules_release(&p->rules, ids, view->head->rules_len);
	return err;
}

int publish_pages(struct publish *p, uint32_t object, const struct unwind_rows_view *view)
{
	const struct table *t = publish_find_table(p, object);

	if (!t || t->state != TABLE_READY || !t->paged)
		return PUBLISH_NO_SUCH_PAGE;
	return load_pages(p, t, view);
}

uint32_t publish_page_number(const struct publish *p, uint32_t object, uint32_t page)
{
	const struct table *t = publish_find_table(p, object);

	return t ? page - t->page_base + t->page_first : page;
}

void publish_page_late(struct publish *p, uint32_t object, uint32_t number)
{
	const struct table *t = publish_find_table(p, object);

	if (t && t->state == TABLE_READY && has_number(t, number))
		row_pages_offer_asked(p->pages, page_of(t, number), 1);
}

bool publish_lacks_page(const struct publish *p, uint32_t object, uint64_t number)
{
	const struct table *t = publish_find_table(p, object);

	return t && t->state == TABLE_READY && t->paged && has_number(t, number) &&
		!row_pages_is_loaded(p->pages, page_of(t, number)) &&
		!row_pages_is_empty(p->pages, page_of(t, number));
}

uint32_t publish_find_page(struct publish *p, uint32_t object, uint64_t offset, struct bytes *data)
{
	struct table *t = publish_find_table(p, object);
	uint64_t number = offset >> ROWS_PAGE_SHIFT;
	uint32_t page, len;

	*data = (struct bytes){ 0 };
	if (!t || t->state == TABLE_PENDING)
		return END_NO_TABLE;
	if (!has_number(t, number))
		return END_NONE;
	page = page_of(t, number);
	if (row_pages_is_empty(p->pages, page))
		return END_NONE;
	if (!row_pages_is_loaded(p->pages, page) && publish_page(p, object, page) != 0)
		return END_NO_TABLE;
	data->data = row_pages_data(p->pages, page, &len);
	data->len = data->data ? len : 0;
	return data->data ? END_NONE : END_NO_TABLE;
}
