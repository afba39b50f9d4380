/* SPDX-License-Identifier: Apache-2.0 */
/* elf/eh_table.h - the FDE of an address, by the search table of .eh_frame_hdr.
 * The records of other addresses are not read. Source: Linux Standard Base Core 5.0 §10.6.2. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

struct image;
struct eh_frame_fde;
struct eh_frame_reader;

struct eh_table {
	struct eh_frame_reader *reader;
	uint64_t vaddr;       /* of the header: the base of the table's numbers */
	uint64_t frame_vaddr; /* of .eh_frame */
	struct bytes entries; /* 8 bytes each: a start and the place of its FDE */
	size_t len;
	size_t last; /* the previous answer of count_until: look-ups in order are quick */
};

/* A run of addresses: those of one function, or those between functions. */
struct eh_extent {
	uint64_t start, end;
	bool function;
};

/* Reads the table's starts and no FDE. -ENODATA: there is no table, it is empty, its starts are not
 * sorted, or its encoding is not the one that linkers use; -ENOMEM. The image must outlive *out. */
int eh_table_open(struct image *image, struct eh_table *out);
/* The same without reading the starts: of a file whose table was opened before. */
int eh_table_open_again(struct image *image, struct eh_table *out);
void eh_table_done(struct eh_table *table);

/* The number of entries whose start is less: the index of the first at or above vaddr. */
size_t eh_table_below(struct eh_table *table, uint64_t vaddr);
/* i < len */
uint64_t eh_table_start(const struct eh_table *table, size_t i);
/* The FDE of entry i with its rows, as eh_frame_read_rows. -ESTALE: it has another start than its
 * entry. i < len */
int eh_table_read(
	struct eh_table *table, size_t i, struct eh_frame_fde *out, size_t *record_bytes);

/* The extent around the address. A function ends where the next one starts. An FDE that is
 * malformed, or has another start than its entry, has no bytes. */
struct eh_extent eh_table_find(struct eh_table *table, uint64_t vaddr);
