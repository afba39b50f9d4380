/* SPDX-License-Identifier: Apache-2.0 */
/* worker_ask.h - a test program's one client, and the name that it asks for. */
#pragma once

#include "make_elf.h"
#include "worker_client.h"
#include "worker_names.h"

static struct told told;
static struct names names;

/* Of what is at MAKE_ELF_TEXT_OFFSET in the file. */
static enum worker_status ask(uint64_t id, int fd, uint64_t until_ns)
{
	struct worker_object object = { .id = id, .fd = fd };
	struct worker_query query = { .addresses = &(uint64_t){ MAKE_ELF_TEXT_OFFSET },
		.len = 1,
		.until_ns = until_ns };
	struct worker_symbols symbols;

	names_clear(&names);
	assert_int_equal(
		worker_client_names(told.client, &object, &query, on_name, &names, &symbols), 0);
	return symbols.status;
}

static pid_t pid_of(int lane)
{
	return told_stats(&told).pids[lane];
}
