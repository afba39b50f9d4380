/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* bpf/kernel_name.bpf.h - the kernel's own name of an address of its code. User space runs the
 * program for one address after the other; no event does. Needs Linux 5.13. */
#pragma once

#include "bpf/shim.h"
#include "bpf/abi.h"

/* As in the kernel's own messages: NAME+OFFSET/SIZE, for a module and BPF followed by [MODULE]; a
 * bare number without a name. */
char kernel_name_text[KERNEL_NAME_BYTES] = {};

/* args: an address. */
SEC("raw_tp")
int name_ask(struct bpf_raw_tracepoint_args *ctx)
{
	static const char format[] = "%pS";
	u64 address = ctx->args[0];

	bpf_snprintf(kernel_name_text, sizeof(kernel_name_text), format, &address, sizeof(address));
	return 0;
}
