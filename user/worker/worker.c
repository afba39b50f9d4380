/* SPDX-License-Identifier: Apache-2.0 */
/* worker/worker.c - enters the sandbox, then answers one request after the other until the client
 * closes. A malformed request ends the worker: the client never makes one, so something is very
 * wrong. */
#include "worker/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/heap.h"
#include "base/own.h"
#include "worker/mapping.h"
#include "worker/sandbox.h"
#include "worker/service.h"
#include "worker/state_reader.h"

static enum worker_exit serve(int fd, struct service *s)
{
	for (;;) {
		int err = proto_receive(fd, 0, &s->in);

		if (err == -ECONNRESET)
			return WORKER_EXIT_END;
		if (err < 0 || !proto_request_valid(&s->in))
			return WORKER_EXIT_PROTOCOL;
		service_answer(s);
		if (proto_send(fd, 0, &s->out) < 0)
			return WORKER_EXIT_END;
	}
}

static bool is_client(int fd)
{
	int domain = 0, type = 0;
	socklen_t size = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
		getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

/* A signal from a terminal or a service manager is for the client: it still wants names for its
 * last profile. The mask is inherited from the moment of the start. */
static void ignore_signals(void)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1,
		SIGUSR2 };
	sigset_t none;

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int say_hello(int fd, struct proto_message *out, uint32_t sandbox)
{
	struct proto_head to = { .kind = PROTO_HELLO };
	struct proto_hello hello = { .sandbox = sandbox };

	proto_begin_reply(out, &to, WORKER_OK);
	proto_put(out, &hello, sizeof(hello));
	return proto_send(fd, 0, out);
}

int worker_main(int socket_fd)
{
	_cleanup_(freep) struct service *s = NULL;
	uint32_t sandbox;

	ignore_signals();
	if (!is_client(socket_fd))
		return WORKER_EXIT_SOCKET;
	prctl(PR_SET_NAME, "stoker-worker");
	heap_give_back();
	s = calloc(1, sizeof(*s));
	if (!s)
		return WORKER_EXIT_MEMORY;
	state_reader_begin();
	if (mapping_catch_faults() < 0 || sandbox_enter(&sandbox) < 0)
		return WORKER_EXIT_SANDBOX;
	if (say_hello(socket_fd, &s->out, sandbox) < 0)
		return WORKER_EXIT_END;
	/* The kernel frees faster than we can: nothing of it outlives the process. */
	_exit((int)serve(socket_fd, s));
}
