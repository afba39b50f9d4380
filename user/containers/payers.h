/* SPDX-License-Identifier: Apache-2.0 */
/* containers/payers.h - who pays for the unwind tables of a file: the accounts (container_account)
 * of the tasks that had samples in it. And for a tick: that of its task. */
#pragma once

#include <stdint.h>

struct containers;
struct publish;
struct tally;
struct tick_shares;
struct warnings;

/* Says so of the outermost container of this cgroup, once, however many it makes below it. */
void payers_warn(struct containers *containers, uint64_t cgroup, const char *what,
	struct warnings *warnings);
/* Charges ticks and the files of all counted stacks, before the tally forgets its counts. Without
 * memory some files are charged after a later interval, and some ticks are not. ticks may be
 * NULL. */
void payers_charge(struct containers *containers, const struct tally *tally,
	struct publish *publish, struct tick_shares *ticks);
