/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.c - answers as a real one does, as far as stoker asks. */
#include "runtime.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

/* ---- the runtime's side --------------------------------------------------------------------- */

int runtime_listen(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	unlink(path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 4) < 0)
		_exit(9);
	return fd;
}

static void touch(const char *format, const char *text)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), format, getpid());
	fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	fd_write_all(fd, text, strlen(text));
	close(fd);
}

static void ready(void)
{
	fd_write_all(STDOUT_FILENO, "r", 1);
}

static unsigned long long own_start(void)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	unsigned long long start = 0;

	fd_read_path("/proc/self/stat", 4096, &text);
	sscanf(strrchr(text.data, ')') + 2,
		"%*c %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %llu",
		&start);
	return start;
}

static void answer(int fd, uint8_t id, const void *payload, size_t size)
{
	uint8_t message[512] = "DOTNET_IPC_V1";
	uint16_t whole = (uint16_t)(20 + size);

	memcpy(message + 14, &whole, sizeof(whole));
	message[16] = 0xff;
	message[17] = id;
	memcpy(message + 20, payload, size);
	fd_write_all(fd, message, whole);
}

static size_t put_text(uint8_t *out, const char *text)
{
	uint32_t units = (uint32_t)strlen(text) + 1;

	memset(out, 0, 4 + 2 * units);
	memcpy(out, &units, sizeof(units));
	for (uint32_t i = 0; i < units; i++)
		out[4 + 2 * i] = (uint8_t)text[i];
	return 4 + 2 * units;
}

static void answer_info(int fd)
{
	static const char *const texts[] = { "Mill 1 2", "Linux", "x64", "Mill", "9.0.5" };
	uint8_t payload[256] = { 0 };
	size_t n = 4 + 8 + 16;

	for (size_t i = 0; i < 5; i++)
		n += put_text(payload + n, texts[i]);
	answer(fd, 0, payload, n);
}

static int open_map = -1; /* of mode dotnet-on, until it is turned off */

static void dotnet_request(int fd, const char *mode)
{
	static const uint32_t unknown = 0x80131385, refused = 0x80131515;
	uint8_t head[64] = { 0 };
	ssize_t got = read(fd, head, sizeof(head));

	if (strcmp(mode, "dotnet-garbage") == 0)
		fd_write_all(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
	else if (strcmp(mode, "dotnet-short") == 0)
		fd_write_all(fd, "DOTNET_IPC_V1\0\xff\xff\xff", 17);
	else if (got < 20 || head[16] != 4)
		answer(fd, 0xff, &refused, sizeof(refused));
	else if (head[17] == 8 && (strcmp(mode, "dotnet") == 0 || strcmp(mode, "dotnet-on") == 0))
		answer_info(fd);
	else if (head[17] == 5 && strcmp(mode, "dotnet-refuses") == 0)
		answer(fd, 0xff, &refused, sizeof(refused));
	else if (strcmp(mode, "dotnet-7") == 0 || head[17] > 6)
		answer(fd, 0xff, &unknown, sizeof(unknown));
	else {
		if (head[17] == 5) {
			touch("perf-%d.map", head[20] == 2 ? "" : "1000 10 x\n");
			touch("perfinfo-%d.map", "");
		}
		if (head[17] == 6)
			fd_close(&open_map);
		answer(fd, 0, "", 0);
	}
}

static void serve_dotnet(const char *mode)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "dotnet-diagnostic-%d-%llu-socket", getpid(), own_start());
	fd = runtime_listen(path);
	snprintf(path, sizeof(path), "perf-%d.map", getpid());
	if (strcmp(mode, "dotnet-on") == 0)
		open_map = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ready();
	for (;;) {
		int connection = accept(fd, NULL, NULL);

		dotnet_request(connection, mode);
		close(connection);
	}
}

static int quit_pipe[2];

static void on_quit(int number)
{
	(void)number;
	if (write(quit_pipe[1], "q", 1) < 0)
		_exit(9);
}

static void stop_peer(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ||
		kill(peer.pid, SIGSTOP) < 0)
		_exit(9);
}

static void jvm_request(int fd, const char *mode)
{
	char request[64] = { 0 };
	size_t got = 0;

	if (strcmp(mode, "jvm-stops-its-client") == 0)
		stop_peer(fd);

	/* version, command, three arguments */
	for (int nuls = 0; nuls < 5 && got < sizeof(request) - 1; got++) {
		if (read(fd, request + got, 1) != 1)
			return;
		nuls += request[got] == '\0';
	}
	if (strcmp(mode, "jvm-11") == 0 && strcmp(request + 7, "VM.version") != 0)
		fd_write_all(fd,
			"1\njava.lang.IllegalArgumentException: Unknown diagnostic command\n", 65);
	else if (strcmp(request + 7, "VM.version") == 0)
		fd_write_all(fd, "0\nSome VM\nJDK 11.0.2\n", 21);
	else if (strcmp(request + 7, "VM.flags") == 0)
		fd_write_all(fd, "0\n-XX:CICompilerCount=2\n", 24);
	else if (strcmp(request, "1") == 0 && strcmp(request + 2, "jcmd") == 0) {
		touch("/tmp/perf-%d.map", "0x1000 0x10 f\n");
		fd_write_all(fd, "0\n", 2);
	}
}

static void serve_jvm(const char *mode)
{
	char trigger[64], path[64], byte;
	struct stat st;
	int fd = open("libjvm.so", O_CREAT | O_RDWR, 0600);

	if (ftruncate(fd, 4096) < 0 || pipe(quit_pipe) < 0 ||
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(9);
	if (strcmp(mode, "jvm-deaf") != 0)
		signal(SIGQUIT, on_quit);
	/* of a process that had our number before */
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	ready();
	snprintf(trigger, sizeof(trigger), ".attach_pid%d", getpid());
	snprintf(path, sizeof(path), "/tmp/.java_pid%d", getpid());
	while (read(quit_pipe[0], &byte, 1) != 1)
		;
	if (stat(trigger, &st) < 0)
		_exit(8);
	fd = runtime_listen(path);
	for (;;) {
		int connection = accept(fd, NULL, NULL);

		jvm_request(connection, mode);
		close(connection);
	}
}

int runtime_serve(const char *mode)
{
	alarm(60);
	if (strncmp(mode, "dotnet", 6) == 0)
		serve_dotnet(mode);
	if (strncmp(mode, "jvm", 3) == 0)
		serve_jvm(mode);
	ready();
	pause();
	return 0;
}

/* ---- the tests' side ------------------------------------------------------------------------ */

void runtime_start(struct runtime *r, const char *mode, const char *variable)
{
	char tmpdir[64], maps[64];
	int fds[2];
	char byte;

	snprintf(r->dir, sizeof(r->dir), "/tmp/stoker-jit-XXXXXX");
	assert(mkdtemp(r->dir));
	assert(pipe(fds) == 0);
	snprintf(tmpdir, sizeof(tmpdir), "TMPDIR=%s", r->dir);
	snprintf(maps, sizeof(maps), "DOTNET_PerfMapJitDumpPath=%s", r->dir);
	r->pid = fork();
	if (r->pid == 0) {
		char *const env[] = { tmpdir, maps, (char *)variable, NULL };
		char *const argv[] = { "runtime", "serve", (char *)mode, NULL };

		dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		if (chdir(r->dir) == 0)
			execve("/proc/self/exe", argv, env);
		_exit(9);
	}
	close(fds[1]);
	assert(read(fds[0], &byte, 1) == 1);
	close(fds[0]);
}

void runtime_stop(struct runtime *r)
{
	char command[128];

	kill(r->pid, SIGKILL);
	waitpid(r->pid, NULL, 0);
	snprintf(command, sizeof(command), "rm -rf %s /tmp/.java_pid%d /tmp/perf-%d.map", r->dir,
		r->pid, r->pid);
	assert(system(command) == 0);
}

bool runtime_has(const struct runtime *r, const char *format)
{
	char name[32], path[80];

	snprintf(name, sizeof(name), format, r->pid);
	snprintf(path, sizeof(path), "%s/%s", r->dir, name);
	return access(path, F_OK) == 0;
}
