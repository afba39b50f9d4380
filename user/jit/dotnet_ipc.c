/* SPDX-License-Identifier: Apache-2.0 */
/* jit/dotnet_ipc.c - a message is a header of 20 bytes (magic, whole size, command set, command)
 * and a payload, little-endian. The socket's name ends with the start time of its process, so
 * sockets left by dead processes with the same pid are skipped without a try. */
#include "jit/dotnet_ipc.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/dir.h"
#include "base/fd.h"
#include "jit/unix_client.h"

#define MAGIC "DOTNET_IPC_V1" /* with its NUL, 14 bytes */
#define HEADER_BYTES 20
#define REPLY_BYTES_MAX 65535
#define NAME_BYTES 96
#define DIR_ENTRIES_MAX 100000
/* A rundown of all methods comes before the answer to EnablePerfMap. */
#define ENABLE_TIMEOUT_NS (20 * NSEC_PER_SEC)
#define TIMEOUT_NS (5 * NSEC_PER_SEC)

enum {
	SET_PROCESS = 4,
	SET_SERVER = 0xff,
};

enum command {
	PROCESS_INFO = 0,
	PROCESS_INFO_2 = 4,
	ENABLE_PERF_MAP = 5,
	DISABLE_PERF_MAP = 6,
	PROCESS_INFO_3 = 8,
};

#define E_UNKNOWN_COMMAND 0x80131385U
#define E_NOT_SUPPORTED 0x80131515U

/* ---- the socket ----------------------------------------------------------------------------- */

static int open_dir(const struct jit_target *target, struct buf *path, int *fd)
{
	int err = jit_target_environ(target, "TMPDIR", path);

	if (err == -ENOENT || (err == 0 && (!path->data || !*path->data)))
		err = buf_puts(path, "/tmp");
	return err < 0 ? err : jit_target_open_dir(target, path->data, fd);
}

static bool is_socket_of(const struct jit_target *target, const char *name)
{
	char start[NAME_BYTES];

	snprintf(start, sizeof(start), "dotnet-diagnostic-%d-", target->ns_pid);
	return strncmp(name, start, strlen(start)) == 0 && strlen(name) < NAME_BYTES &&
		strlen(name) > strlen("-socket") &&
		strcmp(name + strlen(name) - strlen("-socket"), "-socket") == 0;
}

/* Any socket with the process's number in its name; who listens is checked by the connection. */
static int connect_any(const struct jit_target *target, int dir_fd, uint64_t deadline_ns, int *fd)
{
	_cleanup_(dir_closep) DIR *dir = NULL;
	int copy = dup(dir_fd), err = -ENOENT;
	const struct dirent *entry;

	if (copy < 0)
		return -errno;
	dir = fdopendir(copy);
	if (!dir) {
		fd_close(&copy);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < DIR_ENTRIES_MAX && (entry = readdir(dir)) && err < 0; i++)
		if (is_socket_of(target, entry->d_name))
			err = unix_client_connect(
				dir_fd, entry->d_name, target->uid, target->pid, deadline_ns, fd);
	return err;
}

static bool is_turned_off(const struct jit_target *target)
{
	static const char *const names[] = {
		"DOTNET_EnableDiagnostics",
		"DOTNET_EnableDiagnostics_IPC",
		"COMPlus_EnableDiagnostics",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_(buf_done) struct buf value = BUF_INIT;

		if (jit_target_environ(target, names[i], &value) == 0 && value.data &&
			strcmp(value.data, "0") == 0)
			return true;
	}
	return false;
}

static int no_socket(const struct jit_target *target, const char *dir, struct why *why)
{
	if (is_turned_off(target))
		return why_set(why, -ENOENT,
			"process %d runs with DOTNET_EnableDiagnostics=0: it has no diagnostics "
			"socket; restart it with DOTNET_PerfMapEnabled=3",
			target->pid);
	return why_set(why, -ENOENT,
		"process %d has no diagnostics socket %.200s/dotnet-diagnostic-%d-*-socket: it is "
		"not .NET 5 or later, or its diagnostics are disabled, or the socket was removed",
		target->pid, dir ? dir : "", target->ns_pid);
}

static int explain(const struct jit_target *target, int err, const char *dir, struct why *why)
{
	switch (err) {
	case -ENOENT:
	case -ECONNREFUSED:
	case -ENOTDIR:
		return no_socket(target, dir, why);
	case -EACCES:
	case -EPERM:
		return why_set(why, -EACCES,
			"the diagnostics socket of process %d accepts only its user (%u): run as "
			"root or as that user",
			target->pid, target->uid);
	case -EXDEV:
		return why_set(why, err,
			"another process answers at the diagnostics socket of process %d",
			target->pid);
	default:
		return why_set(why, err, "cannot reach the diagnostics socket of process %d: %s",
			target->pid, err_text(err));
	}
}

static int open_socket(
	const struct jit_target *target, uint64_t deadline_ns, int *fd, struct why *why)
{
	_cleanup_(buf_done) struct buf path = BUF_INIT;
	_cleanup_fd_ int dir_fd = -1;
	char name[NAME_BYTES];
	int err = open_dir(target, &path, &dir_fd);

	snprintf(name, sizeof(name), "dotnet-diagnostic-%d-%" PRIu64 "-socket", target->ns_pid,
		target->start_ticks);
	if (err == 0)
		err = unix_client_connect(dir_fd, name, target->uid, target->pid, deadline_ns, fd);
	/* in a time namespace the start has another number */
	if (err == -ENOENT && dir_fd >= 0)
		err = connect_any(target, dir_fd, deadline_ns, fd);
	return err < 0 ? explain(target, err, path.data, why) : 0;
}

/* ---- one request ---------------------------------------------------------------------------- */

static int send_request(int fd, enum command command, struct bytes payload, uint64_t deadline_ns)
{
	uint16_t size = htole16((uint16_t)(HEADER_BYTES + payload.len));
	uint8_t message[HEADER_BYTES + 16] = MAGIC;

	memcpy(message + 14, &size, sizeof(size));
	message[16] = SET_PROCESS;
	message[17] = (uint8_t)command;
	memcpy(message + HEADER_BYTES, payload.data, payload.len);
	return unix_client_send(fd, message, HEADER_BYTES + payload.len, deadline_ns);
}

/* The payload of a good answer, or its error code and -EREMOTEIO. */
static int read_reply(int fd, uint64_t deadline_ns, struct buf *payload, uint32_t *code)
{
	uint8_t header[HEADER_BYTES];
	struct cursor c = cursor_init(header, sizeof(header));
	size_t got, size;
	uint8_t set, id;
	char *room;
	int err = unix_client_receive(fd, header, sizeof(header), deadline_ns, &got);

	if (err < 0)
		return err;
	if (got < sizeof(header) || memcmp(header, MAGIC, sizeof(MAGIC)) != 0)
		return -EPROTO;
	cursor_skip(&c, sizeof(MAGIC));
	size = le16toh(cursor_u16(&c));
	set = cursor_u8(&c);
	id = cursor_u8(&c);
	if (size < HEADER_BYTES || set != SET_SERVER)
		return -EPROTO;
	size -= HEADER_BYTES;
	err = buf_reserve(payload, size + 1, &room);
	if (err == 0)
		err = unix_client_receive(fd, room, size, deadline_ns, &got);
	if (err < 0)
		return err;
	buf_commit(payload, got);
	if (id == 0)
		return got == size ? 0 : -EPROTO;
	c = cursor_init(payload->data, payload->len);
	*code = le32toh(cursor_u32(&c));
	return c.bad ? -EPROTO : -EREMOTEIO;
}

static int request(const struct jit_target *target, enum command command, struct bytes payload,
	uint64_t timeout_ns, struct buf *reply, struct why *why)
{
	uint64_t deadline_ns = clock_ns(CLOCK_MONOTONIC) + timeout_ns;
	_cleanup_fd_ int fd = -1;
	uint32_t code = 0;
	int err = open_socket(target, deadline_ns, &fd, why);

	if (err < 0)
		return err;
	err = send_request(fd, command, payload, deadline_ns);
	if (err == 0)
		err = read_reply(fd, deadline_ns, reply, &code);
	if (err == -EREMOTEIO && code == E_UNKNOWN_COMMAND)
		return why_set(why, -ENOSYS,
			"the .NET runtime of process %d does not support the request", target->pid);
	if (err == -EREMOTEIO)
		return why_set(why, err, "the .NET runtime of process %d refused: %s (0x%08x)",
			target->pid, code == E_NOT_SUPPORTED ? "not supported" : "error", code);
	if (err < 0)
		return why_set(why, err, "no answer from the .NET runtime of process %d: %s",
			target->pid, err_text(err));
	return 0;
}

/* The requests about perf maps came with .NET 8. */
static int too_old(const struct jit_target *target, struct why *why)
{
	struct dotnet_ipc_info info = { 0 };
	struct why ignored;

	dotnet_ipc_info(target, &info, &ignored);
	return why_set(why, -ENOSYS,
		"process %d runs .NET %s, and perf maps of a running process need .NET 8: restart "
		"it "
		"with DOTNET_PerfMapEnabled=3",
		target->pid, info.version[0] ? info.version : "7 or older");
}

int dotnet_ipc_enable(const struct jit_target *target, enum dotnet_ipc_files files, struct why *why)
{
	_cleanup_(buf_done) struct buf reply = BUF_INIT;
	uint32_t type = htole32(files);
	struct bytes payload = { (const uint8_t *)&type, sizeof(type) };
	int err = request(target, ENABLE_PERF_MAP, payload, ENABLE_TIMEOUT_NS, &reply, why);

	return err == -ENOSYS ? too_old(target, why) : err;
}

int dotnet_ipc_disable(const struct jit_target *target, struct why *why)
{
	_cleanup_(buf_done) struct buf reply = BUF_INIT;
	struct bytes payload = { (const uint8_t *)"", 0 };
	int err = request(target, DISABLE_PERF_MAP, payload, TIMEOUT_NS, &reply, why);

	return err == -ENOSYS ? too_old(target, why) : err;
}

/* ---- information ---------------------------------------------------------------------------- */

/* A count of UTF-16 units, NUL included, then the units. Other characters than ASCII become '?'. */
static void read_text(struct cursor *c, char *out)
{
	uint32_t units = le32toh(cursor_u32(c));
	size_t n = 0;

	for (uint32_t i = 0; i < units && !c->bad; i++) {
		uint16_t unit = le16toh(cursor_u16(c));

		if (out && unit != 0 && n < DOTNET_IPC_TEXT_MAX - 1)
			out[n++] = (char)(unit >= 0x20 && unit < 0x7f ? unit : '?');
	}
	if (out)
		out[n] = '\0';
}

static int parse_info(const struct buf *reply, enum command command, struct dotnet_ipc_info *out)
{
	struct cursor c = cursor_init(reply->data, reply->len);
	struct dotnet_ipc_info info = { 0 };

	if (command == PROCESS_INFO_3)
		cursor_skip(&c, 4); /* version of the payload */
	cursor_skip(&c, 8 + 16);    /* pid, cookie */
	read_text(&c, NULL);        /* command line */
	read_text(&c, NULL);        /* system */
	read_text(&c, NULL);        /* architecture */
	if (command != PROCESS_INFO) {
		read_text(&c, info.entry);
		read_text(&c, info.version);
	}
	if (c.bad)
		return -EPROTO;
	*out = info;
	return 0;
}

int dotnet_ipc_info(const struct jit_target *target, struct dotnet_ipc_info *out, struct why *why)
{
	static const enum command commands[] = { PROCESS_INFO_3, PROCESS_INFO_2, PROCESS_INFO };
	struct bytes payload = { (const uint8_t *)"", 0 };
	int err = -ENOSYS;

	for (size_t i = 0; i < ARRAY_SIZE(commands) && err == -ENOSYS; i++) {
		_cleanup_(buf_done) struct buf reply = BUF_INIT;

		err = request(target, commands[i], payload, TIMEOUT_NS, &reply, why);
		if (err == 0 && parse_info(&reply, commands[i], out) < 0)
			err = why_set(why, -EPROTO,
				"process %d sent malformed information about its .NET runtime",
				target->pid);
	}
	return err;
}
