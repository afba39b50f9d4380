/* SPDX-License-Identifier: Apache-2.0 */
/* jit/jit_control.c - finds the runtime, its files, and the files that stoker may remove. A file is
 * the process's own if it belongs to its user and is younger than the process; others of the same
 * name are left alone. dotnet_ipc and jvm_attach talk to the runtime; other layers read the
 * files. */
#include "jit/jit_control.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/fd.h"
#include "jit/jvm_attach.h"

#define NAME_BYTES 48
/* Process starts are in clock ticks, births of files by a coarse clock. */
#define START_SLACK_NS (2 * NSEC_PER_SEC)

/* ---- which runtime -------------------------------------------------------------------------- */

static const struct {
	const char *exe; /* how its name begins */
	const char *hint;
} others[] = {
	{ "node", "start it with --perf-basic-prof" },
	{ "deno", "start it with --v8-flags=--perf-basic-prof" },
	{ "bun", "start it with BUN_JSC_useJITDump=1" },
	{ "beam", "start it with +JPperf true" },
	{ "php", "start it with opcache.jit_debug=0x10" },
	{ "python3", "CPython 3.8 to 3.14 on x86-64 needs no map" },
	{ "ruby", "start it with --yjit-perf" },
	{ "mono", "start it with --jitmap" },
};

const char *jit_control_hint(const char *exe)
{
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strncmp(exe, others[i].exe, strlen(others[i].exe)) == 0)
			return others[i].hint;
	return NULL;
}

static int no_runtime(const struct jit_target *target, struct why *why)
{
	const char *hint;
	char exe[64];

	jit_target_exe(target, exe, sizeof(exe));
	hint = jit_control_hint(exe);
	if (jit_target_maps(target, "libj9"))
		hint = "OpenJ9 writes its map when started with -Xjit:perfTool";
	return why_set(why, -ENOTSUP,
		"process %d (%s) is neither .NET 5 or later nor a HotSpot JVM%s%s", target->pid,
		exe, hint ? ": " : "", hint ? hint : "");
}

static bool is_dotnet(struct jit_control *c)
{
	struct dotnet_ipc_info info;
	struct why ignored;

	/* a single-file program has the runtime linked in, so only its socket shows it */
	if (dotnet_ipc_info(&c->target, &info, &ignored) == 0) {
		snprintf(c->version, sizeof(c->version), "%s", info.version);
		return true;
	}
	return jit_target_maps(&c->target, "libcoreclr.so") ||
		jit_target_maps(&c->target, "memfd:doublemapper");
}

/* The number that the program was started with in DOTNET_NAME or COMPlus_NAME. */
static bool has_knob(const struct jit_target *target, const char *name, struct buf *value)
{
	static const char *const starts[] = { "DOTNET_", "COMPlus_" };

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		char full[64];

		snprintf(full, sizeof(full), "%s%s", starts[i], name);
		buf_clear(value);
		if (jit_target_environ(target, full, value) == 0 && value->data && *value->data)
			return true;
	}
	return false;
}

static bool is_on_already(const struct jit_control *c)
{
	_cleanup_(buf_done) struct buf value = BUF_INIT;

	return c->runtime == JIT_CONTROL_DOTNET && has_knob(&c->target, "PerfMapEnabled", &value) &&
		(strcmp(value.data, "1") == 0 || strcmp(value.data, "3") == 0);
}

static int open_files_dir(struct jit_control *c)
{
	_cleanup_(buf_done) struct buf value = BUF_INIT;
	const char *dir = "/tmp";

	if (c->runtime == JIT_CONTROL_DOTNET && has_knob(&c->target, "PerfMapJitDumpPath", &value))
		dir = value.data;
	if (strlen(dir) >= sizeof(c->dir))
		return -ENAMETOOLONG;
	snprintf(c->dir, sizeof(c->dir), "%s", dir);
	return jit_target_open_dir(&c->target, dir, &c->dir_fd);
}

static int open_control(pid_t pid, struct jit_control *c, struct why *why)
{
	int err = jit_target_open(pid, &c->target, why);

	if (err < 0)
		return err;
	if (jvm_attach_is_hotspot(&c->target))
		c->runtime = JIT_CONTROL_JVM;
	else if (is_dotnet(c))
		c->runtime = JIT_CONTROL_DOTNET;
	else
		return no_runtime(&c->target, why);
	c->was_on = is_on_already(c);
	err = open_files_dir(c);
	if (err < 0)
		return why_set(why, err, "process %d writes its perf map to %s: %s", pid, c->dir,
			err_text(err));
	return 0;
}

int jit_control_open(pid_t pid, struct jit_control *out, struct why *why)
{
	struct jit_control c = { .target = JIT_TARGET_INIT, .dir_fd = -1 };
	int err = open_control(pid, &c, why);

	if (err < 0)
		jit_control_close(&c);
	else
		*out = c;
	return err;
}

void jit_control_close(struct jit_control *control)
{
	jit_target_close(&control->target);
	fd_close(&control->dir_fd);
}

/* ---- files ---------------------------------------------------------------------------------- */

static void name_of(
	const struct jit_control *c, enum jit_control_file file, char *name, size_t size)
{
	static const char *const formats[] = {
		[JIT_CONTROL_PERF_MAP] = "perf-%d.map",
		[JIT_CONTROL_PERF_INFO] = "perfinfo-%d.map",
		[JIT_CONTROL_JITDUMP] = "jit-%d.dump",
	};

	snprintf(name, size, formats[file], c->target.ns_pid);
}

static uint64_t stamp_ns(struct statx_timestamp stamp)
{
	return (uint64_t)stamp.tv_sec * NSEC_PER_SEC + stamp.tv_nsec;
}

/* CLOCK_REALTIME of the process's start, less the slack. */
static uint64_t began_ns(const struct jit_control *c)
{
	if (c->until_ns > 0)
		return c->since_ns;
	return clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) + c->target.start_ns -
		START_SLACK_NS;
}

static int look_at(const struct jit_control *c, enum jit_control_file file, struct statx *st)
{
	char name[NAME_BYTES];

	name_of(c, file, name, sizeof(name));
	if (statx(c->dir_fd, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, st) < 0)
		return -errno;
	return S_ISREG(st->stx_mode) ? 0 : -EINVAL;
}

/* Where the file system keeps no births, an older file shows by when it was written. */
static bool is_of_process(const struct jit_control *c, const struct statx *st)
{
	bool has_birth = st->stx_mask & STATX_BTIME;

	return st->stx_uid == c->target.uid &&
		stamp_ns(has_birth ? st->stx_btime : st->stx_mtime) >= began_ns(c) &&
		(c->until_ns == 0 || !has_birth || stamp_ns(st->stx_btime) <= c->until_ns);
}

static bool find_socket(const struct jit_control *c, char *name, size_t size)
{
	struct statx st;

	snprintf(name, size, ".java_pid%d", c->target.ns_pid);
	return c->runtime == JIT_CONTROL_JVM &&
		statx(c->dir_fd, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &st) ==
		0 &&
		S_ISSOCK(st.stx_mode) && is_of_process(c, &st);
}

unsigned int jit_control_remove(const struct jit_control *control)
{
	unsigned int removed = 0;
	char socket[NAME_BYTES];

	if (!control->had_socket && find_socket(control, socket, sizeof(socket)))
		unlinkat(control->dir_fd, socket, 0);

	for (enum jit_control_file file = 0; file < JIT_CONTROL_FILES; file++) {
		char name[NAME_BYTES];
		struct statx st;

		if (control->had[file] || look_at(control, file, &st) < 0 ||
			!is_of_process(control, &st))
			continue;
		name_of(control, file, name, sizeof(name));
		removed += unlinkat(control->dir_fd, name, 0) == 0;
	}
	return removed;
}

int jit_control_file(const struct jit_control *control, enum jit_control_file file, char *name,
	size_t name_size, struct jit_control_state *out)
{
	uint64_t now = clock_ns(CLOCK_REALTIME), written;
	struct statx st;
	int err = look_at(control, file, &st);

	if (err < 0)
		return err;
	written = stamp_ns(st.stx_mtime);
	name_of(control, file, name, name_size);
	*out = (struct jit_control_state){
		.size_bytes = st.stx_size,
		.age_s = now > written ? (now - written) / NSEC_PER_SEC : 0,
		.is_stale = written < began_ns(control),
	};
	return 0;
}

/* By the names of its descriptors: to look at the files themselves could wait for a file system. */
bool jit_control_is_writing(const struct jit_control *control)
{
	char name[NAME_BYTES], path[NAME_BYTES];
	_cleanup_(dir_closep) DIR *dir = NULL;
	const struct dirent *entry;

	name_of(control, JIT_CONTROL_PERF_MAP, name, sizeof(name));
	snprintf(path, sizeof(path), "/proc/%d/fd", control->target.pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		char to[PATH_MAX];
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, to, sizeof(to) - 1);
		const char *slash;

		to[len > 0 ? len : 0] = '\0';
		slash = strrchr(to, '/');
		if (slash && strcmp(slash + 1, name) == 0)
			return true;
	}
	return false;
}

/* ---- JVM ------------------------------------------------------------------------------------ */

/* "JDK 17.0.15" on a line of its own. Not a word to a JVM that does not listen yet. */
static void read_version(struct jit_control *c)
{
	_cleanup_(buf_done) struct buf reply = BUF_INIT;
	const char *at = NULL;
	struct why ignored;

	if (jvm_attach_command_quietly(&c->target, "VM.version", &reply, &ignored) == 0)
		at = strstr(reply.data, "\nJDK ");
	if (at)
		snprintf(c->version, sizeof(c->version), "%.*s",
			(int)strcspn(at + strlen("\nJDK "), "\n"), at + strlen("\nJDK "));
}

static void judge_frames(struct jit_control *c)
{
	_cleanup_(buf_done) struct buf reply = BUF_INIT;
	struct why ignored;

	if (jvm_attach_command_quietly(&c->target, "VM.flags", &reply, &ignored) < 0 ||
		strstr(reply.data, "-XX:+PreserveFramePointer"))
		return;
	snprintf(c->note, sizeof(c->note),
		"this JVM runs without -XX:+PreserveFramePointer: stacks that perf takes show only "
		"the running Java method, without its callers; stoker needs no such option");
}

static int write_jvm_map(struct jit_control *c, struct why *why)
{
	_cleanup_(buf_done) struct buf reply = BUF_INIT;
	int err = jvm_attach_command(&c->target, "Compiler.perfmap", &reply, why);

	if (err != -ENOSYS)
		return err;
	read_version(c);
	return why_set(why, -ENOSYS, "process %d runs Java %s, and perf maps need Java 17 or later",
		c->target.pid, c->version[0] ? c->version : "16 or older");
}

/* ---- public --------------------------------------------------------------------------------- */

void jit_control_prepare(struct jit_control *control)
{
	char socket[NAME_BYTES];

	control->had_socket = find_socket(control, socket, sizeof(socket));
	for (enum jit_control_file file = 0; file < JIT_CONTROL_FILES; file++) {
		struct statx st;

		control->had[file] =
			look_at(control, file, &st) == 0 && is_of_process(control, &st);
	}
}

int jit_control_enable(struct jit_control *control, enum dotnet_ipc_files files, struct why *why)
{
	int err;

	if (control->runtime != JIT_CONTROL_JVM)
		return control->was_on ? 0 : dotnet_ipc_enable(&control->target, files, why);
	err = write_jvm_map(control, why);
	if (err == 0) {
		read_version(control);
		judge_frames(control);
	}
	return err;
}

int jit_control_refresh(struct jit_control *control, struct why *why)
{
	return control->runtime == JIT_CONTROL_JVM ? write_jvm_map(control, why) : 0;
}

int jit_control_disable(struct jit_control *control, unsigned int *removed, struct why *why)
{
	int err = 0;

	if (control->was_on) {
		*removed = 0;
		return 0;
	}
	if (control->runtime == JIT_CONTROL_DOTNET && !jit_target_ended(&control->target))
		err = dotnet_ipc_disable(&control->target, why);
	if (err < 0 && !jit_target_ended(&control->target))
		return err;
	*removed = jit_control_remove(control);
	return 0;
}

void jit_control_look(struct jit_control *control)
{
	if (control->runtime != JIT_CONTROL_JVM)
		return;
	read_version(control);
	judge_frames(control);
}
