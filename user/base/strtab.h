/* SPDX-License-Identifier: Apache-2.0 */
/* base/strtab.h - stores each string once, under a number.
 * Id 0 is always "". Ids are dense and never change; strings are valid until strtab_done. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strtab {
	char *bytes; /* NUL-terminated strings, one after the other */
	size_t bytes_len, bytes_cap;
	uint32_t *offsets; /* id → offset in bytes */
	uint32_t len, cap;
	uint32_t *slots; /* open addressing, id + 1; 0 is free */
	uint32_t slots_cap;
};

int strtab_init(struct strtab *tab);
void strtab_done(struct strtab *tab);
/* A string with a NUL inside is cut there. 0 or -ENOMEM; *id is untouched on failure. */
int strtab_put(struct strtab *tab, const char *text, size_t len, uint32_t *id);
int strtab_puts(struct strtab *tab, const char *text, uint32_t *id);
/* The id must come from this table. The pointer is valid until the next put. */
const char *strtab_get(const struct strtab *tab, uint32_t id);
/* Cuts strings with which[id] and more than max bytes, max > 3, to at most that,
 * between characters of UTF-8 and with `...` at the end; returns their number. They keep their ids,
 * and no put finds them. */
uint32_t strtab_cut(struct strtab *tab, size_t max, const bool *which);
size_t strtab_memory(const struct strtab *tab);
