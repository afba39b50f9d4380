/* SPDX-License-Identifier: Apache-2.0 */
/* wire/fetch_proto.h - orders to the fetcher and its answers, each a whole message over a
 * SOCK_SEQPACKET pair, and the limits that both sides enforce. */
#pragma once

#include <stdint.h>

#define FETCH_ARGUMENT "fetcher" /* the hidden subcommand */
#define FETCH_SERVERS_MAX 8
#define FETCH_URL_MAX 1024
#define FETCH_FILE_BYTES_MAX (256UL << 20)
#define FETCH_FILE_MS 20000

enum fetch_kind {
	FETCH_SERVER, /* text: the URL, or "" for a server that is passed over */
	FETCH_INTO,   /* attached: the empty file for the next two; the fetcher sends none */
	FETCH_FILE,   /* text: a build ID in hex */
	FETCH_INQUIRY, /* text: a container's id; attached: a connection to its runtime */
};

struct fetch_order {
	uint32_t kind, pad;
	uint64_t id;
	char text[FETCH_URL_MAX];
};

struct fetch_answer { /* the file counts if reason is FETCH_DONE */
	uint64_t id, bytes;
	uint32_t reason, server; /* index of the server */
	uint64_t failed;         /* a bit for each server that did not work, whatever it has */
};
