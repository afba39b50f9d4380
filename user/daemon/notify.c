/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/notify.c - reads the address at the start and removes it from the environment: child
 * processes must not notify in our name. */
#include "daemon/notify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_fd_ int fd = -1;
	size_t len = strlen(path);

	/* '@' stands for the NUL of an abstract address */
	if ((path[0] != '/' && path[0] != '@') || len >= sizeof(address.sun_path))
		return -1;
	memcpy(address.sun_path, path, len);
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 ||
		connect(fd, (struct sockaddr *)&address,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		return -1;
	return TAKE_FD(fd);
}

/* Half of what the manager waits. */
static uint64_t watchdog_period(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	return strtoull(usec, NULL, 10) * 1000 / 2;
}

void notify_open(struct notify *notify)
{
	const char *path = getenv("NOTIFY_SOCKET");

	*notify = (struct notify){ .fd = path ? connect_to(path) : -1, .from = -1 };
	if (notify->fd >= 0)
		notify->watchdog_ns = watchdog_period();
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void notify_close(struct notify *notify)
{
	fd_close(&notify->fd);
}

static void send_text(const struct notify *notify, const char *state)
{
	if (notify->fd >= 0)
		send(notify->fd, state, strlen(state), MSG_NOSIGNAL);
}

void notify_send(const struct notify *notify, enum notify_word word)
{
	char state[64];

	switch (word) {
	case NOTIFY_READY:
		send_text(notify, "READY=1");
		return;
	case NOTIFY_RELOADING:
		snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%llu",
			(unsigned long long)(clock_ns(CLOCK_MONOTONIC) / 1000));
		send_text(notify, state);
		return;
	case NOTIFY_STOPPING:
		send_text(notify, "STOPPING=1");
		return;
	case NOTIFY_ALIVE:
		send_text(notify, "WATCHDOG=1");
		return;
	case NOTIFY_MARKED:
		return;
	}
}

void notify_status(const struct notify *notify, const char *text)
{
	char state[256];

	snprintf(state, sizeof(state), "STATUS=%s", text);
	send_text(notify, state);
}

/* ---- between the processes ------------------------------------------------------------------ */

void notify_to(struct notify *notify, int fd, uint64_t watchdog_ns)
{
	*notify = (struct notify){ .fd = fd, .from = fd, .watchdog_ns = watchdog_ns };
}

void notify_report(const struct notify *notify, enum notify_word word)
{
	uint32_t number = word;

	send(notify->fd, &number, sizeof(number), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void notify_alive(struct notify *notify, uint64_t now_ns)
{
	if (notify->watchdog_ns == 0 || now_ns < notify->next_ns)
		return;
	notify->next_ns = now_ns + notify->watchdog_ns;
	notify_report(notify, NOTIFY_ALIVE);
}

uint64_t notify_due_ns(const struct notify *notify)
{
	return notify->watchdog_ns == 0 ? CLOCK_NEVER_NS : notify->next_ns;
}

bool notify_take(struct notify *notify, struct config *out)
{
	struct config config;
	int err = notify->from < 0
		? -EAGAIN
		: fd_take(notify->from, MSG_DONTWAIT, &config, sizeof(config), NULL);

	/* The socket would be readable for ever. */
	if (err == -EPIPE)
		notify->from = -1;
	if (err == 0)
		*out = config;
	return err == 0;
}

int notify_hear(int fd)
{
	uint32_t number;
	ssize_t len = recv(fd, &number, sizeof(number), MSG_DONTWAIT | MSG_TRUNC);

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (len != sizeof(number) || number < NOTIFY_READY || number > NOTIFY_MARKED)
		return -EPIPE;
	return (int)number;
}

int notify_give(int fd, const struct config *config)
{
	return send(fd, config, sizeof(*config), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}
