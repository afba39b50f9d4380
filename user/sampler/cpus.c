/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/cpus.c - asks libbpf, because libbpf sizes per-CPU maps by the same number. */
#include "sampler/cpus.h"

#include <bpf/libbpf.h>

int cpus_count(uint32_t *out, struct why *why)
{
	libbpf_print_fn_t said = libbpf_set_print(NULL); /* the reason is in why */
	int cpus = libbpf_num_possible_cpus();

	libbpf_set_print(said);
	if (cpus < 0)
		return why_set(why, cpus,
			"cannot read /sys/devices/system/cpu (%s): mount sysfs at /sys",
			err_text(cpus));
	*out = (uint32_t)cpus;
	return 0;
}
