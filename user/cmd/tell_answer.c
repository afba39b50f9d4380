/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/tell_answer.c - warnings are of what should be there and is not; how much there was is a
 * note.
 */
#include "cmd/tell_answer.h"

void tell_answer(struct log *log, const struct query_answer *answer)
{
	uint64_t total = merge_total(&answer->merge);

	if (answer->damaged > 0)
		log_warn(log, "%u profiles are damaged and left out", answer->damaged);
	if (answer->other_by > 0)
		log_warn(log, "%u profiles have other labels than %s and are left out",
			answer->other_by, answer->by.data);
	if (answer->gone > 0)
		log_note(log, "%u profiles were removed meanwhile", answer->gone);
	if (total == 0)
		log_warn(log, "nothing in the store matches");
	log_note(log, "%u profiles, %.1f s of CPU", answer->segments, (double)total / 1e9);
}
