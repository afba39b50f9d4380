/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* asking.bpf.c - the BPF object and one more program, which asks behind a guard for a type that no
 * kernel has, as the others ask for types that only some kernels have. */
#include "bpf/sample.bpf.c"

struct stoker_test_type_of_no_kernel {
	int field;
} CORE;

SEC("perf_event")
int asking(void *ctx)
{
	struct stoker_test_type_of_no_kernel *none = ctx;

	return bpf_core_field_exists(none->field) ? BPF_CORE_READ(none, field) : 0;
}
