/* SPDX-License-Identifier: Apache-2.0 */
/* files/java_tables.h - tables of HotSpot's code (language/java_table.h) by the code's id, in a
 * room that accounts share (base/share.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct java_table;
struct java_tables;

int java_tables_new(struct java_tables **out);
void java_tables_free(struct java_tables *tables);

/* Keeps a copy; NULL: the code has no table. -ENOSPC: no room; -ENOMEM. */
int java_tables_keep(struct java_tables *tables, uint32_t id, uint64_t account,
	const struct java_table *table);
/* Was the code kept, with or without a table? */
bool java_tables_know(const struct java_tables *tables, uint32_t id);
/* NULL: the code has none, or `tables` is NULL. Valid until the next call of another function. */
const struct java_table *java_tables_find(struct java_tables *tables, uint32_t id);
/* The next interval: forgets those that were not used for long. */
void java_tables_next(struct java_tables *tables);
