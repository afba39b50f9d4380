/* SPDX-License-Identifier: Apache-2.0 */
/* store/answer.c - the stacks of an answer are folded text; what reads such text reads it here too.
 */
#include "store/answer.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"
#include "profile/folded_reader.h"
#include "store/line.h"

#define BAR_WIDTH 40

DEFINE_CLEANUP(struct ranking, ranking_free)

uint64_t answer_period_ns(const struct query_answer *answer)
{
	return NSEC_PER_SEC / (answer->hz > 0 ? answer->hz : 1);
}

/* ---- the hottest ---------------------------------------------------------------------------- */

static size_t count_keys(const struct query_answer *answer)
{
	const char *by = answer->by.data ? answer->by.data : "";
	size_t n = *by ? 1 : 0;

	for (; *by; by++)
		n += *by == ',';
	return n;
}

/* A stack without its labels, as ranking wants it. */
static int rank_stack(struct ranking *ranking, struct buf *room, struct bytes stack, size_t keys,
	uint64_t samples)
{
	int err;

	while (keys-- > 0)
		line_frame(&stack);
	if (samples == 0 || stack.len == 0)
		return 0;
	buf_clear(room);
	err = buf_puts(room, "-;0;-;");
	if (err == 0)
		err = buf_put(room, stack.data, stack.len);
	if (err == 0)
		err = buf_printf(room, " %llu", (unsigned long long)samples);
	if (err < 0)
		return err;
	err = ranking_line(ranking, room->data, room->len);
	return err == -EBADMSG ? 0 : err;
}

static int rank(const struct query_answer *answer, struct ranking *ranking)
{
	_cleanup_(buf_done) struct buf room = BUF_INIT;
	size_t keys = count_keys(answer);
	int err = 0;

	for (uint32_t id = 0; err == 0 && id < answer->merge.ns.len; id++) {
		const char *text = strtab_get(&answer->merge.stacks, id);

		err = rank_stack(ranking, &room,
			(struct bytes){ (const uint8_t *)text, strlen(text) }, keys,
			answer->merge.ns.data[id] / answer_period_ns(answer));
	}
	return err;
}

static int put_functions(const struct ranking *ranking, const struct ranking_rows *hottest,
	uint64_t most, struct buf *out)
{
	double all = (double)ranking_total(ranking);
	int err = buf_puts(out, "   self           total          function\n");

	for (size_t i = 0; err == 0 && i < hottest->len && i < most; i++)
		err = buf_printf(out, "%7llu %5.1f%% %8llu %5.1f%%  %s\n",
			(unsigned long long)hottest->data[i].self,
			100 * (double)hottest->data[i].self / all,
			(unsigned long long)hottest->data[i].total,
			100 * (double)hottest->data[i].total / all, hottest->data[i].name);
	return err;
}

int answer_put_top(
	const struct query_answer *answer, uint64_t most, struct buf *out, uint64_t *dropped)
{
	_cleanup_(ranking_freep) struct ranking *ranking = NULL;
	struct ranking_rows hottest = { 0 };
	int err = ranking_new(&ranking);

	if (err == 0)
		err = rank(answer, ranking);
	if (err == 0)
		err = ranking_functions(ranking, &(struct ranking_only){ 0 }, &hottest);
	if (err == 0) {
		ranking_sort(&hottest, RANKING_BY_SELF);
		*dropped = ranking_dropped(ranking);
		err = put_functions(ranking, &hottest, most, out);
	}
	vec_done(&hottest);
	return err;
}

/* ---- over time ------------------------------------------------------------------------------ */

static double cpus_of(const struct query_point *point)
{
	return (double)point->ns / (double)(point->end_ns - point->start_ns + 1);
}

int answer_put_trend(const struct query_answer *answer, struct buf *out)
{
	double most = 0;
	int err = buf_puts(out, "time                 seconds     CPUs\n");

	vec_each (&answer->points, point)
		most = cpus_of(point) > most ? cpus_of(point) : most;
	vec_each (&answer->points, point) {
		time_t at = (time_t)(point->start_ns / NSEC_PER_SEC);
		int width = most > 0 ? (int)(cpus_of(point) / most * BAR_WIDTH + 0.5) : 0;
		char when[32];
		struct tm tm;

		localtime_r(&at, &tm);
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
		if (err == 0)
			err = buf_printf(out, "%s %8.1f %8.3f  %.*s\n", when,
				(double)(point->end_ns - point->start_ns) / 1e9, cpus_of(point),
				width, "########################################");
	}
	return err;
}

/* ---- a profile ------------------------------------------------------------------------------ */

int answer_profile(const struct query_answer *answer, struct profile *out)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct folded_counts counts;
	size_t len = answer->points.len;
	int err = merge_write(&answer->merge, answer_period_ns(answer), &text);

	if (err == 0)
		err = folded_read(
			(struct bytes){ (const uint8_t *)text.data, text.len }, out, &counts);
	out->period_ns = answer_period_ns(answer);
	if (len > 0) {
		out->start_ns = answer->points.data[0].start_ns;
		out->duration_ns = answer->points.data[len - 1].end_ns - out->start_ns;
	}
	return err;
}
