/* SPDX-License-Identifier: Apache-2.0 */
/* wire/proto_body.h - the structs after a reply's head, other than lists of names. */
#pragma once

#include <stdint.h>

#include "cgroup/state_file.h"
#include "elf/build_id.h"
#include "dwarf/debug_part.h"
#include "sym/elf_calls.h"
#include "language/code_name.h"
#include "language/cpython.h"
#include "language/cpython_table.h"
#include "language/hotspot.h"
#include "wire/mappings.h"

#define PROTO_BYTES_MAX 65536
#define PROTO_FDS_MAX 9
#define PROTO_QUERIES_MAX 4096
#define PROTO_DROP_MAP (1ULL << 63)
#define PROTO_DEBUG_MAX (PROTO_FDS_MAX - 1) /* debug files for one object */
#define PROTO_FILE_NAME_MAX 255
#define PROTO_PAGES_MAX 64 /* of rows in one request */
#define PROTO_STATE_QUERIES (sizeof(struct state_query) / sizeof(uint64_t))
#define PROTO_CALLS_MAX 1024 /* in one request */
#define PROTO_CALL_QUERIES (sizeof(struct elf_call_query) / sizeof(uint64_t))

#define PROTO_PLACES_MAX 1024 /* of one code in one record */

/* One code in a request; its places are numbered through all codes. */
struct proto_code {
	const struct event_code *code;
	const uint64_t *places;
	uint32_t places_len;
};

struct proto_hello {
	uint64_t sandbox; /* SANDBOX_* */
};

struct proto_rows {
	uint64_t rows_bytes; /* size of the memory; 0: nothing is in it */
	uint64_t eh_frame_bytes;
	uint32_t rows_status, debuglink_crc;
	char debuglink[PROTO_FILE_NAME_MAX + 1]; /* file name without folders; "": none */
	uint8_t build_id[BUILD_ID_BYTES_MAX];
	uint32_t build_id_len;
	uint32_t contents; /* WORKER_HAS_* */
	struct cpython_facts cpython;
	struct hotspot_facts hotspot;
};

struct proto_symbols {
	uint64_t symbols, dropped, tables_bad, bytes, ns;
	uint64_t sources;               /* sources of symbols, as bits: 1 << enum elf_sym_source */
	uint8_t debug[PROTO_DEBUG_MAX]; /* enum worker_debug, by index */
};

struct proto_map {
	uint64_t more; /* not 0: more data can be read now */
};

struct proto_wanted {
	uint32_t kind; /* enum debug_part_kind */
	uint32_t build_id_len;
	uint8_t build_id[BUILD_ID_BYTES_MAX];
	char dir[DEBUG_PART_TEXT_MAX], name[DEBUG_PART_TEXT_MAX];
};

struct proto_mappings {
	uint64_t list_bytes; /* size of the memory; 0: nothing is in it */
	struct mappings_facts facts;
};

struct proto_methods {
	uint64_t bytes; /* size of what is in the memory */
};

struct proto_language {
	struct cpython_table table;
};

struct proto_state {
	struct state_facts facts; /* zeroed unless the status is WORKER_OK */
};
