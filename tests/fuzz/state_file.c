/* SPDX-License-Identifier: Apache-2.0 */
/* state_file.c - what a container runtime wrote, or who pretends to be one: the first byte says
 * which kind of file it is, and whose. */
#include "cgroup/state_file.h"
#include "cgroup/state_path.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct state_facts facts, merged = { 0 };
	struct state_query query = { .container = "c1", .pod_uid = "p1" };
	struct state_path place;

	if (size == 0)
		return 0;
	query.kind = data[0] % STATE_KINDS;
	query.runtime = data[0] / STATE_KINDS % STATE_RUNTIMES;
	if (state_file_parse(&query, (const char *)data + 1, size - 1, &facts) != 0)
		return 0;
	must(state_facts_valid(&facts));
	state_facts_merge(&merged, &facts);
	must(state_facts_valid(&merged));
	touch(merged.labels, merged.labels_len);
	for (unsigned int i = 0; state_path_further(&facts, query.kind, i, &place); i++) {
		must(place.path[0] == '/');
		touch_text(place.path);
	}
	return 0;
}
