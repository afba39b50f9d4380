/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/log_answer.c - missing data causes a warning; the amount of data is a note. */
#include "cmd/log_answer.h"

#include <errno.h>
#include <fcntl.h>

#include "store/answer.h"

static void log_sum(struct log *log, const struct query_answer *answer)
{
	uint64_t sum = merge_total(&answer->merge);
	const char *several = answer->segments == 1 ? "" : "s", *kind = answer_kind(answer);

	if (answer_is_time(answer))
		log_note(log, "%u profile%s, %.1f s of %s", answer->segments, several,
			(double)sum / 1e9, answer->kind.len == 0 ? "CPU" : kind);
	else
		log_note(log, "%u profile%s, %llu %s of %s", answer->segments, several,
			(unsigned long long)sum,
			answer_unit(answer), kind);
}

static void log_gaps(struct log *log, const struct query_answer *answer)
{
	if (answer->damaged > 0)
		log_warn(log, "%u damaged profiles were skipped", answer->damaged);
	if (answer->other_by > 0)
		log_warn(log, "%u profiles were skipped: their labels differ from those of %s",
			answer->other_by, answer->by.data);
	if (answer->gone > 0)
		log_note(log, "%u profiles were removed during the query", answer->gone);
	if (answer->other_kind > 0)
		log_note(log, "%u profiles have no values of the kind %s", answer->other_kind,
			answer_kind(answer));
	log_sum(log, answer);
}

static int refuse_store(const char *store, int err, struct why *why)
{
	return why_set(why, err, "cannot open the store %s: %s; %s", store, err_text(err),
		err == -ENOENT ? "start `stoker daemon`, which fills it, or name another by "
				 "--store"
			       : "run as root or as its owner, or name another by --store");
}

int log_answer(struct log *log, const struct ask *ask, struct query_answer *answer, struct why *why)
{
	_cleanup_(store_freep) struct store *store = NULL;
	struct store_report found;
	int err = store_open(AT_FDCWD, ask->store, STORE_READ, &store, &found, why);

	if (err == -ENOENT || err == -EACCES)
		return refuse_store(ask->store, err, why);
	if (err == 0 && query_answer_init(answer) < 0)
		err = why_set(why, -ENOMEM, "out of memory");
	if (err < 0)
		return err;
	err = query_run(store, &ask->query, answer, why);
	if (err == 0)
		log_gaps(log, answer);
	return err == -ENOENT ? -ENODATA : err;
}
