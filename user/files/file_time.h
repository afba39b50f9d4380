/* SPDX-License-Identifier: Apache-2.0 */
/* files/file_time.h - the CPU time that opening files and making their tables takes, by account
 * (base/share.h): of whoever met the file first. Bursts are free: a program that starts maps
 * hundreds of files. Beyond FILE_TIME_MAX_NS accounts may take three tenths of the daemon's budget;
 * who took most gets no new files and no pages until others took as much, or time has passed. Makes
 * no system call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/share.h"

struct object;
struct publish;

#define FILE_TIME_MAX_NS 500000000ULL /* about 1,500 files, or a few large tables */
/* Of ours and of an opener, for a file that is small: measured with 4,000 of them. */
#define FILE_TIME_OPEN_NS 300000ULL

/* BPF sends no new files of such a cgroup meanwhile. One look at a process finds all its files, so
 * thousands of events may come before the first of them is refused. */
#define FILE_TIME_REFUSED_SECONDS 5

/* All zero: no limit. */
struct file_time {
	struct share_debt spent;
	uint64_t part; /* of the time that passes is given back; 0: no limit */
	uint64_t refused;
};

/* permille of a core: the budget. */
void file_time_limit(struct file_time *time, uint64_t permille);
void file_time_done(struct file_time *time);
void file_time_charge(struct file_time *time, uint64_t account, uint64_t took_ns);
/* The time of this thread since begun_ns of its CLOCK_THREAD_CPUTIME_ID, and as much for the opener
 * that was asked. */
void file_time_charge_since(struct file_time *time, uint64_t account, uint64_t begun_ns);
/* Did this account take more than it may? */
bool file_time_owes(struct file_time *time, uint64_t account, uint64_t now_ns);
/* The same for a new file: true is counted. */
bool file_time_refuses(struct file_time *time, uint64_t account, uint64_t now_ns);
/* The same for more of a file that is known: not while an account with samples in it may go on. */
bool file_time_refuses_more(struct file_time *time, const struct publish *publish,
	const struct object *object, uint64_t now_ns);
