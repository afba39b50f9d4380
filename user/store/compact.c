/* SPDX-License-Identifier: Apache-2.0 */
/* store/compact.c - adds up the stacks of all segments and the numbers of their accounts, so an
 * hour's account adds up as a minute's does. */
#include "store/compact.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "store/merge.h"
#include "store/sums.h"

/* The values of a kind. Its name and unit are the run's. */
struct run_kind {
	struct merge merge;
	struct buf name, unit;
	uint64_t period_ns; /* the shortest */
};

struct run {
	struct store *store;
	struct merge merge; /* of CPU samples */
	struct run_kind kinds[SEGMENT_KINDS_MAX];
	uint32_t kinds_len;
	json_t *account;
	VEC(uint64_t) sources;
	struct buf host, by; /* of the first */
	struct segment_about about;
};

static void run_done(struct run *run)
{
	merge_done(&run->merge);
	for (uint32_t i = 0; i < run->kinds_len; i++) {
		merge_done(&run->kinds[i].merge);
		buf_done(&run->kinds[i].name);
		buf_done(&run->kinds[i].unit);
	}
	json_decref(run->account);
	vec_done(&run->sources);
	buf_done(&run->host);
	buf_done(&run->by);
}

static int make_kind(struct run *run, const struct segment_kind *kind)
{
	struct run_kind *made = &run->kinds[run->kinds_len];

	if (run->kinds_len == SEGMENT_KINDS_MAX)
		return -E2BIG;
	*made = (struct run_kind){ .period_ns = kind->period_ns };
	if (merge_init(&made->merge) < 0)
		return -ENOMEM;
	run->kinds_len++;
	buf_puts(&made->unit, kind->unit);
	buf_puts(&made->name, kind->name);
	return buf_err(&made->unit) < 0 || buf_err(&made->name) < 0 ? -ENOMEM : 0;
}

/* The run's kind of that name and unit: samples have two, as some stand for a known time. */
static int find_kind(struct run *run, const struct segment_kind *kind, struct run_kind **out)
{
	int err;

	for (uint32_t i = 0; i < run->kinds_len; i++) {
		struct run_kind *k = &run->kinds[i];

		if (strcmp(buf_text(&k->name), kind->name) != 0 ||
			strcmp(buf_text(&k->unit), kind->unit) != 0 ||
			(k->period_ns > 0) != (kind->period_ns > 0))
			continue;
		if (kind->period_ns < k->period_ns)
			k->period_ns = kind->period_ns;
		*out = k;
		return 0;
	}
	err = make_kind(run, kind);
	*out = &run->kinds[run->kinds_len - (err == 0)];
	return err;
}

static int add_text(struct run *run, struct segment *segment, size_t i)
{
	const uint32_t number = segment->groups.data[i].kind;
	const struct segment_kind *kind = number > 0 ? &segment->kinds.data[number - 1] : NULL;
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct run_kind *to = NULL;
	int err = kind ? find_kind(run, kind, &to) : 0;

	if (err == 0)
		err = segment_read(segment, i, &text);
	if (err < 0)
		return err;
	return merge_add_text(to ? &to->merge : &run->merge,
		(struct bytes){ (const uint8_t *)text.data, text.len },
		kind ? segment_weight(kind) : NSEC_PER_SEC / segment->about.hz);
}

static int add_texts(struct run *run, struct segment *segment)
{
	int err = 0;

	for (size_t i = 0; i < segment->groups.len && err == 0; i++)
		err = add_text(run, segment, i);
	return err;
}

static int add_about(struct run *run, const struct segment *segment)
{
	json_t *account =
		json_loadb((const char *)segment->account.data, segment->account.len, 0, NULL);
	uint64_t *source = vec_add(&run->sources);

	if (json_is_object(account))
		sums_add(run->account, account);
	json_decref(account);
	if (!source)
		return -ENOMEM;
	*source = segment->about.id;
	if (run->sources.len == 1) {
		run->about = segment->about;
		buf_puts(&run->host, segment->about.host);
		buf_puts(&run->by, segment->about.by);
	}
	if (segment->about.end_ns > run->about.end_ns)
		run->about.end_ns = segment->about.end_ns;
	return buf_fail(&run->by, buf_err(&run->host));
}

static int add_entry(struct run *run, size_t i, struct why *why)
{
	_cleanup_(store_file_done) struct store_file file = { 0 };
	int err = store_load(run->store, store_entry(run->store, i), &file, why);

	if (err < 0)
		return err;
	err = add_texts(run, file.segment);
	if (err == -E2BIG)
		return why_set(why, err, "segments of one hour have more than %d kinds of value",
			SEGMENT_KINDS_MAX);
	return err < 0 ? err : add_about(run, file.segment);
}

static int cannot(struct why *why, int err)
{
	return why_set(why, err, "cannot put segments together: %s", err_text(err));
}

/* texts: to be freed by the caller. */
static int write_kinds(struct run *run, struct segment_kind *kinds, struct buf *texts)
{
	int err = 0;

	for (uint32_t i = 0; i < run->kinds_len && err == 0; i++) {
		const struct run_kind *from = &run->kinds[i];

		kinds[i] = (struct segment_kind){ .name = buf_text(&from->name),
			.unit = buf_text(&from->unit),
			.period_ns = from->period_ns };
		err = merge_write(&from->merge, segment_weight(&kinds[i]), &texts[i]);
		kinds[i].text =
			(struct bytes){ (const uint8_t *)texts[i].data, texts[i].len };
	}
	run->about.kinds = kinds;
	run->about.kinds_len = run->kinds_len;
	return err;
}

static int pack_segment(struct run *run, struct bytes text, struct buf *bytes)
{
	struct segment_kind kinds[SEGMENT_KINDS_MAX];
	struct buf texts[SEGMENT_KINDS_MAX] = { 0 };
	int err = write_kinds(run, kinds, texts);

	if (err == 0)
		err = segment_write(&run->about, text, bytes);
	for (size_t i = 0; i < SEGMENT_KINDS_MAX; i++)
		buf_done(&texts[i]);
	return err;
}

static int put_segment(struct run *run, struct why *why)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	_cleanup_(buf_done) struct buf bytes = BUF_INIT;
	_cleanup_(freep) char *account = json_dumps(run->account, JSON_COMPACT);
	int err;

	run->about.host = buf_text(&run->host);
	run->about.by = buf_text(&run->by);
	run->about.account = account;
	run->about.sources = run->sources.data;
	run->about.sources_len = run->sources.len;
	if (getrandom(&run->about.id, sizeof(run->about.id), 0) < 0)
		return cannot(why, -errno);
	run->about.id &= INT64_MAX;
	if (!account || merge_write(&run->merge, NSEC_PER_SEC / run->about.hz, &text) < 0)
		return cannot(why, -ENOMEM);
	err = pack_segment(run, (struct bytes){ (const uint8_t *)text.data, text.len }, &bytes);
	if (err < 0)
		return cannot(why, err);
	err = store_put(run->store, (struct bytes){ (const uint8_t *)bytes.data, bytes.len }, why);
	return err == STORE_GONE ? -ENOENT : err;
}

/* Removes the merged segments. The new one may lie between them: it has the start of the first. */
static int drop_sources(struct run *run)
{
	int err = 0;

	for (size_t i = store_len(run->store); err == 0 && i-- > 0;)
		for (size_t k = 0; k < run->sources.len; k++)
			if (store_entry(run->store, i)->id == run->sources.data[k]) {
				err = store_drop(run->store, i);
				break;
			}
	return err;
}

int compact_run(struct store *store, const struct retention_run *run, size_t *bad, struct why *why)
{
	_cleanup_(run_done) struct run r = { .store = store, .account = json_object() };
	int err = r.account ? merge_init(&r.merge) : -ENOMEM;

	for (size_t i = run->first; err == 0 && i < run->first + run->len; i++) {
		err = add_entry(&r, i, why);
		if (err == -EBADMSG || err == -ENOENT) {
			*bad = i;
			return why_set(why, -EBADMSG, "%s is damaged", store_entry(store, i)->name);
		}
	}
	if (err < 0)
		return err;
	err = put_segment(&r, why);
	return err < 0 ? err : drop_sources(&r);
}
