/* SPDX-License-Identifier: Apache-2.0 */
/* store/answer.c - the stacks of an answer are folded text whose first frames are labels; the
 * answer's `by` names them. */
#include "store/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"
#include "profile/folded_reader.h"
#include "profile/kinds.h"
#include "store/line.h"

#define BAR_WIDTH 40

DEFINE_CLEANUP(struct ranking, ranking_free)
DEFINE_CLEANUP(struct folded_reader, folded_reader_free)

static bool is_cpu(const struct query_answer *answer)
{
	return answer->kind.len == 0;
}

uint64_t answer_period_ns(const struct query_answer *answer)
{
	const struct segment_kind kind = { .unit = buf_text(&answer->unit),
		.period_ns = answer->period_ns };

	return is_cpu(answer) ? NSEC_PER_SEC / (answer->hz > 0 ? answer->hz : 1)
			      : segment_weight(&kind);
}

const char *answer_kind(const struct query_answer *answer)
{
	return is_cpu(answer) ? PROFILE_CPU : answer->kind.data;
}

const char *answer_unit(const struct query_answer *answer)
{
	return answer->unit.len > 0 ? answer->unit.data : PROFILE_SAMPLES;
}

bool answer_is_time(const struct query_answer *answer)
{
	return answer_period_ns(answer) > 1 ||
		strcmp(buf_text(&answer->unit), PROFILE_NANOSECONDS) == 0;
}

/* ---- the hottest ---------------------------------------------------------------------------- */

static size_t count_keys(const struct query_answer *answer)
{
	const char *by = buf_text(&answer->by);
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
	(void)line_take_idle(&stack);
	if (stack.len == 0)
		return 0;
	buf_clear(room);
	buf_puts(room, "-;0;-;");
	buf_put(room, stack.data, stack.len);
	if (buf_printf(room, " %llu", (unsigned long long)samples) < 0)
		return buf_err(room);
	err = ranking_line(ranking, room->data, room->len);
	return err == -EBADMSG ? 0 : err;
}

static int rank(const struct query_answer *answer, struct ranking *ranking)
{
	_cleanup_(buf_done) struct buf room = BUF_INIT;
	size_t keys = count_keys(answer);

	for (uint32_t id = 0; id < answer->merge.ns.len; id++) {
		const char *text = strtab_get(&answer->merge.stacks, id);
		struct bytes stack = { (const uint8_t *)text, strlen(text) };
		int err;

		if (answer->merge.ns.data[id] == 0)
			continue;
		err = rank_stack(ranking, &room, stack, keys,
			merge_samples(&answer->merge, id, answer_period_ns(answer)));
		if (err < 0)
			return err;
	}
	return 0;
}

static int digits_after_point(uint64_t most_ns)
{
	double seconds = (double)most_ns / NSEC_PER_SEC;

	return seconds < 1000 ? 3 : seconds < 100000 ? 1 : 0;
}

bool answer_waits(const struct query_answer *answer)
{
	return !is_cpu(answer) && strcmp(buf_text(&answer->kind), PROFILE_WALL) == 0;
}

/* Nanoseconds are seconds in the table: as many digits as its columns have room for. */
static int put_functions(const struct ranking *ranking, const struct ranking_rows *hottest,
	const char *unit, uint64_t most, struct buf *out)
{
	bool time = strcmp(unit, PROFILE_NANOSECONDS) == 0;
	uint64_t all = ranking_total(ranking);
	int digits = time ? digits_after_point(all) : 0;
	double each = time ? NSEC_PER_SEC : 1, percent = 100 / (double)all;

	buf_puts(out, "   self           total          function");
	if (*unit)
		buf_printf(out, ", by %s", time ? "seconds" : unit);
	buf_putc(out, '\n');
	for (size_t i = 0; i < hottest->len && i < most; i++)
		buf_printf(out, "%7.*f %5.1f%% %8.*f %5.1f%%  %s\n", digits,
			(double)hottest->data[i].self / each,
			percent * (double)hottest->data[i].self, digits,
			(double)hottest->data[i].total / each,
			percent * (double)hottest->data[i].total, hottest->data[i].name);
	return buf_err(out);
}

int answer_put_top(
	const struct query_answer *answer, uint64_t most, struct buf *out, uint64_t *dropped)
{
	_cleanup_(ranking_freep) struct ranking *ranking = NULL;
	struct ranking_rows hottest = { 0 };
	struct ranking_only only = { 0 };
	int err = ranking_new(&ranking);

	if (err < 0)
		return err;
	err = rank(answer, ranking);
	if (err < 0)
		return err;
	only.waits = answer_waits(answer);
	err = ranking_functions(ranking, &only, &hottest);
	if (err == 0) {
		ranking_sort(&hottest, RANKING_BY_SELF);
		*dropped = ranking_dropped(ranking);
		err = put_functions(ranking, &hottest, buf_text(&answer->unit), most, out);
	}
	vec_done(&hottest);
	return err;
}

/* ---- over time ------------------------------------------------------------------------------ */

/* The average number of threads, where values are times; else values by the second. */
static double rate_of(const struct query_answer *answer, const struct query_point *point)
{
	double length_ns = (double)(point->end_ns - point->start_ns + 1);

	return (double)point->ns / length_ns * (answer_is_time(answer) ? 1 : NSEC_PER_SEC);
}

static const char *rate_title(const struct query_answer *answer)
{
	return is_cpu(answer) ? "CPUs" : answer_is_time(answer) ? "threads" : "/s";
}

int answer_put_trend(const struct query_answer *answer, struct buf *out)
{
	double most = 0;

	buf_printf(out, "time                 seconds  %7s\n", rate_title(answer));
	vec_each (&answer->points, point)
		most = rate_of(answer, point) > most ? rate_of(answer, point) : most;
	vec_each (&answer->points, point) {
		time_t at = (time_t)(point->start_ns / NSEC_PER_SEC);
		double rate = rate_of(answer, point);
		int width = most > 0 ? (int)(rate / most * BAR_WIDTH + 0.5) : 0;
		char when[32];
		struct tm tm;

		localtime_r(&at, &tm);
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
		buf_printf(out, "%s %8.1f %8.3f  %.*s\n", when,
			(double)(point->end_ns - point->start_ns) / 1e9, rate, width,
			"########################################");
	}
	return buf_err(out);
}

/* ---- a profile ------------------------------------------------------------------------------ */

const char *answer_label(const char *name, size_t len)
{
	uint32_t key = profile_key_known(name, len);

	return key == PROFILE_NO_KEY ? NULL : profile_key_name(NULL, key);
}

/* Takes the labels off a stack. */
static int read_labels(struct profile *out, const char *by, struct bytes *stack, uint32_t *id)
{
	struct profile_labels set = { 0 };
	int err = line_take_idle(stack) ? profile_labels_put_idle(out, &set) : 0;

	while (err == 0 && *by) {
		size_t len = strcspn(by, ","), name_len;
		struct bytes value = line_frame(stack);
		const char *name;

		/* "?": not known. */
		if (profile_key_word(by, len, &name, &name_len) &&
			(value.len != 1 || value.data[0] != '?'))
			err = profile_labels_put(out, &set, name, name_len,
				(const char *)value.data, value.len);
		by += len + (by[len] == ',');
	}
	return err < 0 ? err : profile_labels(out, &set, id);
}

static int add_stack(const struct query_answer *answer, uint32_t id, uint32_t kind,
	struct folded_reader *reader, struct profile *out)
{
	const char *text = strtab_get(&answer->merge.stacks, id);
	struct bytes stack = { (const uint8_t *)text, strlen(text) };
	uint32_t label_id;
	int err;

	if (answer->merge.ns.data[id] == 0)
		return 0;
	err = read_labels(out, buf_text(&answer->by), &stack, &label_id);
	if (err < 0)
		return err;
	err = folded_reader_add(reader, stack, label_id, kind,
		merge_samples(&answer->merge, id, answer_period_ns(answer)));
	return err == -E2BIG ? 0 : err;
}

static int make_kind(const struct query_answer *answer, struct profile *out, uint32_t *kind)
{
	const char *name = answer_kind(answer);
	int err = profile_kind(out, name, strlen(name), kind);

	if (err < 0)
		return err;
	out->kinds[*kind].period_ns =
		is_cpu(answer) ? answer_period_ns(answer) : answer->period_ns;
	return profile_string(out, buf_text(&answer->unit), &out->kinds[*kind].unit);
}

int answer_add(const struct query_answer *answer, struct profile *out)
{
	_cleanup_(folded_reader_freep) struct folded_reader *reader = NULL;
	uint32_t kind;
	int err = make_kind(answer, out, &kind);

	if (err == 0)
		err = folded_reader_new(out, &reader);
	for (uint32_t id = 0; err == 0 && id < answer->merge.ns.len; id++)
		err = add_stack(answer, id, kind, reader, out);
	return err;
}

int answer_profile(const struct query_answer *answer, struct profile *out)
{
	int err = is_cpu(answer)
		? 0
		: profile_string(out, answer->kind.data, &out->kinds[0].name);

	if (err == 0)
		err = answer_add(answer, out);
	if (answer->points.len > 0)
		out->start_ns = answer->points.data[0].start_ns;
	vec_each (&answer->points, point)
		out->duration_ns += point->end_ns - point->start_ns;
	return err;
}
