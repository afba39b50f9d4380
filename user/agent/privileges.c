/* SPDX-License-Identifier: Apache-2.0 */
/* agent/privileges.c - other processes have the rest: a worker's starter makes namespaces and ends
 * workers (client/starter.c), the clerk writes files with the caller's own rights
 * (output/clerk.c). */
#include "agent/privileges.h"

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/own.h"

/* On two CPUs `record` worked from a limit of 72 on, the daemon not yet with 84. Two of them are a
 * CPU's. */
#define FILES_LEAST 128
#define FILES_OF_CPU 2

const struct privilege privileges[PRIVILEGES_LEN] = {
	{ CAP_BPF, "CAP_BPF", "load the BPF program and use its maps",
		"the BPF program cannot be loaded", true },
	{ CAP_PERFMON, "CAP_PERFMON", "open the CPU clocks and let BPF read kernel memory",
		"the CPU clock cannot be opened and kernel memory cannot be read", true },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE",
		"read /proc/PID of other users' processes: their files and perf maps",
		"files and perf maps of other users' processes are not found: their stacks are "
		"truncated, and their frames have no names",
		false },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH",
		"read files that only their owner may read, and find a cgroup by its number",
		"files that only their owner may read have no unwind tables and no names, and "
		"other users' containers have no names",
		false },
	{ CAP_SYSLOG, "CAP_SYSLOG", "read kernel addresses in /proc/kallsyms",
		"kernel frames have no names", false },
	{ CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE",
		"open a mapped file by /proc/PID/map_files",
		"mapped files are found by name only: deleted or replaced files have no names",
		false },
};

uint64_t privileges_caps(void)
{
	uint64_t caps = CAPS_TO_SEND;

	for (size_t i = 0; i < PRIVILEGES_LEN; i++)
		caps |= CAPS_BIT(privileges[i].cap);
	return caps;
}

bool privileges_has(const struct privilege *privilege)
{
	return caps_permitted() & CAPS_BIT(privilege->cap);
}

int privileges_check_files(struct why *why)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	rlim_t needed = FILES_LEAST + FILES_OF_CPU * (cpus > 0 ? (rlim_t)cpus : 1);
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max >= needed)
		return 0;
	return why_set(why, -EMFILE,
		"at most %llu files may be open, and sampling needs %llu: raise `ulimit -n`, or "
		"LimitNOFILE of the systemd unit",
		(unsigned long long)files.rlim_max, (unsigned long long)needed);
}

int privileges_check(struct why *why)
{
	char names[WHY_MAX / 2] = "";
	const char *first = NULL;
	size_t len = 0, missing = 0;

	for (size_t i = 0; i < PRIVILEGES_LEN; i++) {
		if (!privileges[i].needed || privileges_has(&privileges[i]))
			continue;
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s",
			missing > 0 ? " and " : "", privileges[i].name);
		first = first ? first : privileges[i].without;
		missing++;
	}
	if (missing == 0)
		return privileges_check_files(why);
	return why_set(why, -EPERM,
		"missing %s: %s; run as root, or see `stoker doctor` for the capabilities to grant",
		names, first);
}

void privileges_warn(struct warnings *warnings)
{
	for (size_t i = 0; i < PRIVILEGES_LEN; i++) {
		struct why text;

		if (privileges_has(&privileges[i]))
			continue;
		why_set(&text, 0, "no %s: %s", privileges[i].name, privileges[i].without);
		warnings_add(warnings, text.text);
	}
}

int privileges_drop(enum filter filter, struct why *why)
{
	uint64_t keep = privileges_caps();
	int err;

	/* It executes nothing, and could not bound a child that it starts later. */
	caps_bound(0);
	err = caps_limit(keep);
	if (err == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		err = -errno;
	if (err == 0)
		err = filter_enter(filter);
	return err < 0 ? why_set(why, err, "cannot drop privileges: %s", err_text(err)) : 0;
}

/* A descriptor stays open for each file that is met. Before 5.11 BPF maps counted as locked memory.
 * Where a limit cannot be raised, what is beyond it is counted. */
void privileges_raise(void)
{
	struct rlimit files, locked = { RLIM_INFINITY, RLIM_INFINITY };

	(void)caps_raise();
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	setrlimit(RLIMIT_MEMLOCK, &locked);
}

void privileges_warn_files(struct warnings *warnings)
{
	struct rlimit files;
	struct why text;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	why_set(&text, 0,
		"some files have no unwind tables and no names: only %llu files may be open at a "
		"time; raise `ulimit -n`, or LimitNOFILE of the systemd unit",
		(unsigned long long)files.rlim_cur);
	warnings_add(warnings, text.text);
}

void privileges_warn_inflight(struct warnings *warnings)
{
	struct rlimit files = { 0 };
	struct why text;

	getrlimit(RLIMIT_NOFILE, &files);
	why_set(&text, 0,
		"some files got their unwind tables and names late, or none: a process of user %u, "
		"perhaps in a container, had more than %llu descriptors in flight on unix sockets; "
		"end it, or give stoker CAP_SYS_RESOURCE or a higher LimitNOFILE",
		(unsigned int)getuid(), (unsigned long long)files.rlim_cur);
	warnings_add(warnings, text.text);
}
