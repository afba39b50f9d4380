/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/account_since.c - the agent's account counts since its start. That of an interval is the
 * difference of two (store/sums.h). */
#include "daemon/account_since.h"

#include "base/buf.h"
#include "store/sums.h"

char *account_since(const struct account *account, json_t **last)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	json_t *now, *since;
	char *out = NULL;

	if (account_write_json(account, &text) < 0)
		return NULL;
	now = json_loads(text.data, 0, NULL);
	since = now ? json_deep_copy(now) : NULL;
	if (since) {
		if (*last)
			sums_subtract(since, *last);
		/* Lists of files since the start: they are no sums, and larger than the rest. */
		json_object_del(since, "unnamed_files");
		json_object_del(json_object_get(since, "debug_files"), "refused_files");
		out = json_dumps(since, JSON_COMPACT | JSON_REAL_PRECISION(9));
		json_decref(*last);
		*last = json_incref(now);
	}
	json_decref(since);
	json_decref(now);
	return out;
}
