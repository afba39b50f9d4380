/* SPDX-License-Identifier: Apache-2.0 */
/* blocked.c - threads that wait for ever, each below twelve functions of its own without frame
 * pointers and with frames of different sizes.
 * Usage: blocked SECONDS
 *     blocked-futex   on a condition variable
 *     blocked-sleep   in nanosleep
 *     blocked-pipe    reads an empty pipe
 *     blocked-epoll   in epoll_wait
 *     blocked-poll    polls one end of a connection to the local socket @stoker-blocked-PID
 *     blocked-signal  in pause, in a signal handler that the last function raised
 * Prints `chain NAME FUNCTION;FUNCTION...`, outermost first, then `ready PID` once all are there.
 *
 * BUILD: -std=gnu11 -O2 -fomit-frame-pointer -D_GNU_SOURCE
 */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

/* So that no call is a jump. */
#define STEP(name, next, bytes)                          \
	NOINLINE static int name(int depth)              \
	{                                                \
		volatile char room[bytes];               \
                                                         \
		room[depth & 7] = (char)depth;           \
		return next(depth + 1) + room[depth & 7]; \
	}

#define CHAIN(name)                     \
	STEP(name##_12, name##_end, 24)   \
	STEP(name##_11, name##_12, 4000)  \
	STEP(name##_10, name##_11, 8)     \
	STEP(name##_9, name##_10, 129)    \
	STEP(name##_8, name##_9, 16)      \
	STEP(name##_7, name##_8, 333)     \
	STEP(name##_6, name##_7, 64)      \
	STEP(name##_5, name##_6, 9000)    \
	STEP(name##_4, name##_5, 48)      \
	STEP(name##_3, name##_4, 1024)    \
	STEP(name##_2, name##_3, 31)      \
	STEP(name##_1, name##_2, 256)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int pipes[2];

NOINLINE static int futex_end(int depth)
{
	pthread_mutex_lock(&lock);
	for (;;)
		pthread_cond_wait(&never, &lock);
	return depth;
}

NOINLINE static int sleep_end(int depth)
{
	struct timespec hour = { .tv_sec = 3600 };

	nanosleep(&hour, NULL);
	return depth;
}

NOINLINE static int pipe_end(int depth)
{
	char byte = 0;

	return read(pipes[0], &byte, 1) > 0 ? byte : depth;
}

NOINLINE static int epoll_end(int depth)
{
	struct epoll_event event;

	return epoll_wait(epoll_create1(0), &event, 1, -1) + depth;
}

NOINLINE static int poll_end(int depth)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
	struct pollfd polled = { .fd = client, .events = POLLIN };
	socklen_t len = sizeof(name.sun_family) + 1;

	len += (socklen_t)sprintf(name.sun_path + 1, "stoker-blocked-%d", (int)getpid());
	if (bind(listener, (struct sockaddr *)&name, len) < 0 || listen(listener, 1) < 0 ||
		connect(client, (struct sockaddr *)&name, len) < 0)
		return depth;
	return poll(&polled, 1, -1) + depth;
}

static void wait_in_handler(int signal)
{
	(void)signal;
	pause();
	__asm__ volatile(""); /* so that it is no jump */
}

NOINLINE static int signal_end(int depth)
{
	pthread_kill(pthread_self(), SIGUSR2);
	return depth;
}

CHAIN(futex)
CHAIN(sleep)
CHAIN(pipe)
CHAIN(epoll)
CHAIN(poll)
CHAIN(signal)

static const struct {
	const char *name;
	int (*first)(int depth);
} waits[] = {
	{ "futex", futex_1 },
	{ "sleep", sleep_1 },
	{ "pipe", pipe_1 },
	{ "epoll", epoll_1 },
	{ "poll", poll_1 },
	{ "signal", signal_1 },
};

#define WAITS (sizeof(waits) / sizeof(waits[0]))

static void *wait_for_ever(void *arg)
{
	size_t i = (size_t)arg;
	char name[16];

	snprintf(name, sizeof(name), "blocked-%s", waits[i].name);
	pthread_setname_np(pthread_self(), name);
	waits[i].first(0);
	return NULL;
}

/* Does each thread but the first one sleep, under its own name? */
static int all_wait(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	size_t found = 0;
	char path[300], line[256], state;

	while (dir && (entry = readdir(dir))) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/stat", entry->d_name);
		file = fopen(path, "re");
		if (file && fgets(line, sizeof(line), file) && strstr(line, "(blocked-") &&
			sscanf(strchr(line, ')'), ") %c", &state) == 1 && state == 'S')
			found++;
		if (file)
			fclose(file);
	}
	if (dir)
		closedir(dir);
	return found == WAITS;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	signal(SIGUSR2, wait_in_handler);
	if (argc < 2 || pipe(pipes) < 0)
		return 1;
	alarm((unsigned)atoi(argv[1]));
	for (size_t i = 0; i < WAITS; i++) {
		if (pthread_create(&thread, NULL, wait_for_ever, (void *)i))
			return 1;
		printf("chain blocked-%s ", waits[i].name);
		for (int n = 1; n <= 12; n++)
			printf("%s_%d;", waits[i].name, n);
		printf("%s_end\n", waits[i].name);
	}
	while (!all_wait())
		sched_yield();
	printf("ready %d\n", getpid());
	fflush(stdout);
	for (;;)
		pause();
}
