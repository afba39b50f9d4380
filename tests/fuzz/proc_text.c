/* SPDX-License-Identifier: Apache-2.0 */
/* proc_text.c - texts of /proc, which hold names that processes give themselves. */
#include "fuzz.h"
#include "proc/load.h"
#include "proc/maps.h"
#include "proc/status.h"
#include "sym/kernel_sym.h"
#include "sym/kernel_text.h"

static void take(void *ctx, const struct maps_entry *entry)
{
	(void)ctx;
	must(memchr(entry->path, '\0', sizeof(entry->path)) != NULL);
	maps_is_anon_code(entry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(freep) char *text = text_of(data, size);
	struct kernel_sym *kernel;
	struct kernel_name name;
	struct status status;
	uint64_t ticks;
	char path[64];

	maps_parse(text, take, NULL);
	if (status_parse(text, &status) == 0)
		must(status.ns_pids_len <= STATUS_NSPID_MAX);
	status_parse_start(text, &ticks);
	status_parse_cgroup(text, path, sizeof(path));
	load_parse_key((const char *)data, size, "usage_usec", &ticks);
	load_parse_number((const char *)data, size, 1, &ticks);
	load_parse_pressure((const char *)data, size, &ticks);
	load_parse_busy((const char *)data, size, &ticks);
	load_parse_waited((const char *)data, size, &ticks);
	if (kernel_text_parse(text, UINT64_MAX, &name)) {
		touch_text(name.name);
		touch_text(name.module);
	}
	if (kernel_sym_parse(data, size, &kernel) != KERNEL_SYM_OK)
		return 0;
	for (uint64_t at = 0; at < 0x1000; at += 0x101)
		if (kernel_sym_find(kernel, 0xffffffff81000000 + at, &name))
			touch_text(name.name);
	kernel_sym_free(kernel);
	return 0;
}
