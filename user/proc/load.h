/* SPDX-License-Identifier: Apache-2.0 */
/* proc/load.h - the load of a machine, a cgroup or a thread so far, from the kernel's own texts.
 * Sources: proc(5); the kernel's Documentation/admin-guide/cgroup-v2.rst (cpu.stat), accounting/psi
 * .rst, scheduler/sched-stats.rst. Parsers: text in, facts out; all return 0, or -EBADMSG if the
 * value is missing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* "usage_usec 123": the number after a key at the start of a line; for cpu.stat. */
int load_parse_key(const char *text, size_t len, const char *key, uint64_t *out);
/* The n-th number of the first line, from 0; for cpuacct.usage, /proc/PID/schedstat. */
int load_parse_number(const char *text, size_t len, unsigned int n, uint64_t *out);
/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123": microseconds; for cpu.pressure. */
int load_parse_pressure(const char *text, size_t len, uint64_t *us);
/* /proc/stat → clock ticks in which CPUs were neither idle nor taken by a hypervisor, all CPUs
 * summed. */
int load_parse_busy(const char *text, size_t len, uint64_t *ticks);
/* /proc/schedstat → nanoseconds that tasks waited for a CPU, all CPUs summed. */
int load_parse_waited(const char *text, size_t len, uint64_t *ns);
