/* SPDX-License-Identifier: Apache-2.0 */
/* proto.c - a message between the agent and a worker, as either could send it who was taken over.
 */
#include "fuzz.h"
#include "wire/proto.h"

static void read_reply(const struct proto_message *m)
{
	struct cursor c = proto_answers(m);
	struct proto_answer answer;
	const struct proto_rows *rows = proto_body(m);

	if (m->head.kind == PROTO_ROWS && m->reply.status == WORKER_OK) {
		must(memchr(rows->debuglink, '\0', sizeof(rows->debuglink)) != NULL);
		must(rows->build_id_len <= BUILD_ID_BYTES_MAX);
	}
	if (m->head.kind != PROTO_NAMES && m->head.kind != PROTO_MAP_NAMES)
		return;
	while (proto_next_answer(&c, &answer)) {
		must(answer.index < m->reply.answered);
		touch_text(answer.name);
		touch_text(answer.path ? answer.path : "");
	}
}

static void read_request(const struct proto_message *m)
{
	must(m->request.queries_len <= PROTO_QUERIES_MAX);
	for (uint32_t i = 0; i < m->request.queries_len; i++)
		proto_query(m, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(freep) struct proto_message *m = calloc(1, sizeof(*m));
	struct proto_request to = { 0 };

	must(m != NULL);
	if (size < sizeof(to.head) || size > PROTO_BYTES_MAX)
		return 0;
	memcpy(m->bytes, data, size);
	m->head.size = (uint32_t)size; /* as proto_receive has seen to */
	m->fds_len = m->head.seq % (PROTO_FDS_MAX + 1);
	to.head = m->head;
	to.queries_len = to.head.pad % PROTO_QUERIES_MAX;
	to.flags = to.head.pad >> 16;
	if (proto_reply_valid(m, &to))
		read_reply(m);
	if (proto_request_valid(m))
		read_request(m);
	return 0;
}
