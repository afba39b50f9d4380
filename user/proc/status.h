/* SPDX-License-Identifier: Apache-2.0 */
/* proc/status.h - facts of one process from the text of its /proc files (proc(5)).
 * Parsers: text in, facts out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define STATUS_NSPID_MAX 32

struct status {
	pid_t ns_pids[STATUS_NSPID_MAX]; /* from the outermost visible pid namespace inwards */
	uint32_t ns_pids_len;
	uid_t euid;
	char name[16];
	uint32_t threads;
};

/* The parent's pid from /proc/PID/status. -EBADMSG. */
int status_parse_parent(const char *text, pid_t *parent);

/* Parses /proc/PID/status. -EBADMSG: no Uid line. */
int status_parse(const char *text, struct status *out);

/* /proc/PID/stat → field 22 in clock ticks since boot. The command's name may contain blanks and
 * brackets. -EBADMSG. */
int status_parse_start(const char *stat_text, uint64_t *start_ticks);

/* /proc/PID/stat: has this thread ended? Others of its process may live. */
bool status_has_ended(const char *stat_text);

/* The path in the cgroup2 line, "0::PATH", of /proc/PID/cgroup. -ENOENT: no such line;
 * -ENAMETOOLONG: the path does not fit. */
int status_parse_cgroup(const char *text, char *path, size_t size);
