/* SPDX-License-Identifier: Apache-2.0 */
/* wire/proto.h - the protocol between agent and workers: one request, one reply, over a
 * SOCK_SEQPACKET pair. The first reply, to PROTO_HELLO, needs no request: starting the worker asks
 * for it. Numbers have the machine's byte order. Each side treats the other as an attacker: a
 * message that passes proto_receive and then a check has the shape below. Only requests have
 * descriptors: any process with a worker's user could keep the worker from sending one. A worker
 * writes rows and lists into memory of the agent's: a memfd that comes empty and not sealed. */
#pragma once

#include "base/cursor.h"
#include "wire/proto_body.h"
#include "wire/status.h"

enum proto_kind {
	PROTO_HELLO,       /* the worker is ready, in its sandbox */
	PROTO_ROWS,        /* a file and memory → build id, debug link, and in the memory unwind
			    * rows: a table or an outline; queries: pages' numbers → their rows */
	PROTO_LOAD,        /* a file, its debug files, offsets → symbols, cached under the id */
	PROTO_NAMES,       /* file offsets of a loaded object → names */
	PROTO_WANTED,      /* a loaded object → a file that its lines need */
	PROTO_GIVE,        /* the requested file, or none: unavailable */
	PROTO_MAP_FEED,    /* a perf map or jitdump, read on from the end of the last reading */
	PROTO_MAP_NAMES,   /* addresses → names from both */
	PROTO_DROP,        /* queries: ids, of maps with PROTO_DROP_MAP → drops their symbols, or
			    * both maps */
	PROTO_STATE,       /* a container runtime's file → facts of a container; not cached */
	PROTO_MAPPINGS,    /* /proc/PID/maps → its jitdump; PROTO_WHOLE: memory → wire/mappings.h */
	PROTO_CALLS,       /* a file, calls in it → which are possible */
	PROTO_CODES,       /* codes of languages (wire/codes.h) → names of places in them */
	PROTO_METHODS,     /* language/java_image.h, memory → in that language/java_reply.h */
	PROTO_LANGUAGE, /* a file → the table of a language runtime that is in it */
	PROTO_KINDS,
};

struct proto_head {
	uint32_t kind, seq; /* the reply repeats both */
	uint32_t size;      /* size of the whole message */
	uint32_t pad;
};

#define PROTO_DEMANGLE 1U /* flags of PROTO_NAMES */
#define PROTO_LINES 2U    /* inlined frames, files, lines; PROTO_LOAD: they come next */
#define PROTO_DUMP 4U     /* of PROTO_MAP_FEED: the file is a jitdump */
#define PROTO_WHOLE 8U    /* of PROTO_LOAD: more queries come; PROTO_ROWS: no outline; see above */
#define PROTO_SPARE 16U   /* of PROTO_LOAD: memory matters more than time */

struct proto_request {
	struct proto_head head;
	uint64_t id;
	/* queries_len uint64_t follow; of PROTO_CALLS they are struct elf_call_query. */
	uint32_t flags, queries_len;
	uint64_t at_ns; /* of PROTO_MAP_NAMES: when, CLOCK_MONOTONIC; of PROTO_LOAD, and PROTO_ROWS
			 * with queries: the file's mtime, or WORKER_UNREADABLE; 0: any */
};

struct proto_reply {
	struct proto_head head;
	uint32_t status;
	uint32_t answered; /* names: number of queries that this answers, from the first */
	uint64_t kept_bytes, kept_len; /* all cached symbols and maps */
	uint64_t evicted_len;          /* total: dropped by the worker for lack of room */
	uint32_t lines_given_up;       /* names without lines, because time ran out */
	uint32_t wants; /* names with lines, 1: a file is needed before the rest is answered */
	/* Followed by one of the structs of proto_body.h, by a struct elf_call for each query, or
	 * by names: for each query that has one, by rising index, u32 index, u64 start, u32 line,
	 * u8 source (as in struct worker_name), u8 inlined (1: into the next one, of the same
	 * index), name and NUL, path of its file and NUL. */
};

struct proto_answer {
	const char *name, *path; /* path NULL: "" */
	uint64_t start;
	uint32_t index, line;
	uint8_t source, inlined;
};

struct proto_message {
	union {
		struct proto_head head;
		struct proto_request request;
		struct proto_reply reply;
		uint64_t bytes[PROTO_BYTES_MAX / sizeof(uint64_t)];
	};
	int fds[PROTO_FDS_MAX]; /* attached descriptors; the message owns received ones */
	size_t fds_len;
};

void proto_begin_request(struct proto_message *m, enum proto_kind kind, uint64_t id);
void proto_begin_reply(
	struct proto_message *m, const struct proto_head *to, enum worker_status status);
/* Appends. False: no room, unchanged. */
bool proto_put(struct proto_message *m, const void *data, size_t size);
bool proto_put_answer(struct proto_message *m, const struct proto_answer *answer);

/* The caller keeps the descriptors. flags: 0 or MSG_DONTWAIT. 0 or -errno; -EAGAIN: the peer has
 * not read enough of what was sent before. */
int proto_send(int fd, int flags, const struct proto_message *m);
/* flags: 0 or MSG_DONTWAIT. Closes descriptors that m still has. 0; -EBADMSG: truncated, or not of
 * its stated size; -ECONNRESET: the peer is gone; -EAGAIN; other -errno. */
int proto_receive(int fd, int flags, struct proto_message *m);
/* The same for a reply: one with a descriptor is truncated (as in fd_take). */
int proto_receive_reply(int fd, int flags, struct proto_message *m);
void proto_close_fds(struct proto_message *m);

bool proto_request_valid(const struct proto_message *m);
/* The fault of m as a reply to this request, in a few words; NULL: it is valid. */
const char *proto_reply_fault(const struct proto_message *m, const struct proto_request *to);
static inline bool proto_reply_valid(const struct proto_message *m, const struct proto_request *to)
{
	return !proto_reply_fault(m, to);
}
/* The query of PROTO_STATE: a struct state_query. False: no room. */
bool proto_put_state(struct proto_message *m, const struct state_query *query);
const struct state_query *proto_state_query(const struct proto_message *m); /* of a valid one */
/* A valid message's queries, the i-th of them, the struct after a reply's head, and its names. */
const uint64_t *proto_queries(const struct proto_message *m);
uint64_t proto_query(const struct proto_message *m, uint32_t i);
const void *proto_body(const struct proto_message *m);
struct cursor proto_answers(const struct proto_message *m);
bool proto_next_answer(struct cursor *c, struct proto_answer *out);
