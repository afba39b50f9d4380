/* SPDX-License-Identifier: Apache-2.0 */
/* wire/proto.h - what the agent and its workers say to each other: one request, one reply, over a
 * SOCK_SEQPACKET pair. Only the first reply, to PROTO_HELLO, is asked for by starting the worker.
 * Numbers are the machine's own. Each side takes what it gets for an attacker's: what
 * proto_receive and then a check let through has the shape that stands here. */
#pragma once

#include "base/cursor.h"
#include "wire/proto_body.h"
#include "wire/status.h"

enum proto_kind {
	PROTO_HELLO,  /* ready, in its sandbox */
	PROTO_ROWS,   /* a file → build id, debug link, and a sealed memfd of unwind rows */
	PROTO_LOAD,   /* a file, debug files for it, offsets → their symbols, kept under the id */
	PROTO_NAMES,  /* file offsets of an object, loaded → names */
	PROTO_WANTED, /* a loaded object → a file that its lines lack */
	PROTO_GIVE,   /* that file, or none: it is not to be had */
	PROTO_OBJECT_DROP, /* its symbols are forgotten */
	PROTO_MAP_FEED,    /* a perf map or jitdump, read on from where the last reading ended */
	PROTO_MAP_NAMES,   /* addresses → names of both */
	PROTO_MAP_DROP,    /* they are forgotten */
	PROTO_STATE,       /* a container runtime's file → what it says of a container */
	PROTO_KINDS,
};

struct proto_head {
	uint32_t kind, seq; /* the reply repeats both */
	uint32_t size;      /* of the whole message */
	uint32_t pad;
};

#define PROTO_DEMANGLE 1U /* flags of PROTO_NAMES */
#define PROTO_LINES 2U    /* inlined frames, files, lines; of PROTO_LOAD: they will be wanted */
#define PROTO_DUMP 4U     /* of PROTO_MAP_FEED: it is a jitdump */
#define PROTO_WHOLE 8U    /* of PROTO_LOAD: more names will be wanted than near its queries */
#define PROTO_SPARE 16U   /* of PROTO_LOAD: memory is worth more than time */

struct proto_request {
	struct proto_head head;
	uint64_t id;
	uint32_t flags, queries_len; /* that many uint64_t follow */
	uint64_t at_ns;              /* of PROTO_MAP_NAMES: what was there then; CLOCK_MONOTONIC */
};

struct proto_reply {
	struct proto_head head;
	uint32_t status;
	uint32_t answered;             /* names: how many queries, from the first, this answers */
	uint64_t kept_bytes, kept_len; /* all symbols and maps that the worker keeps */
	uint64_t evicted_len;          /* so far: dropped by the worker for want of room */
	uint32_t lines_given_up;       /* names: that are told without lines, for want of time */
	uint32_t wants; /* names with lines, 1: a file is wanted before the rest is answered */
	/* One of the structs below follows, or names: for each query that has one, by rising index,
	 * u32 index, u64 start, u32 line, u8 source (as in struct worker_name), u8 inlined
	 * (1: into the next one, of the same index), name and NUL, path of its file and NUL. */
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
	int fds[PROTO_FDS_MAX]; /* that go along; those that came are the message's own */
	size_t fds_len;
};

void proto_begin_request(struct proto_message *m, enum proto_kind kind, uint64_t id);
void proto_begin_reply(
	struct proto_message *m, const struct proto_head *to, enum worker_status status);
/* Appends. False: no room, nothing was put. */
bool proto_put(struct proto_message *m, const void *data, size_t size);
bool proto_put_answer(struct proto_message *m, const struct proto_answer *answer);

/* The descriptors stay the caller's. 0 or -errno. */
int proto_send(int fd, const struct proto_message *m);
/* flags: 0 or MSG_DONTWAIT. Descriptors that m still had are closed first. 0; -EBADMSG: cut, or
 * not as long as it says; -ECONNRESET: the other side is gone; -EAGAIN; other -errno. */
int proto_receive(int fd, int flags, struct proto_message *m);
void proto_close_fds(struct proto_message *m);

bool proto_request_valid(const struct proto_message *m);
/* Is m a reply to this request? */
bool proto_reply_valid(const struct proto_message *m, const struct proto_request *to);
/* The queries of PROTO_STATE: a kind, and text. False: it is too long. */
bool proto_put_state(struct proto_message *m, uint32_t kind, const char *id);
/* Of a valid message. */
uint32_t proto_state_kind(const struct proto_message *m);
const char *proto_state_id(const struct proto_message *m);
/* Of a valid message: the queries; the i-th of them, i < queries_len; the struct behind a reply;
 * its names. */
const uint64_t *proto_queries(const struct proto_message *m);
uint64_t proto_query(const struct proto_message *m, uint32_t i);
const void *proto_body(const struct proto_message *m);
struct cursor proto_answers(const struct proto_message *m);
bool proto_next_answer(struct cursor *c, struct proto_answer *out);
