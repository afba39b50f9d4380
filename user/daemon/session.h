/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/session.h - a session of its own for a program that a terminal's job waits for. The kernel
 * shares CPU time between sessions before it looks at nice values (sched(7), autogroup), so a
 * process that has to be in time on a full host must not share one with a terminal's programs. */
#pragma once

struct log;

/* Calls run in a child, which may call setsid(2) when it has started what belongs to the terminal.
 * This process keeps the place in the job: it gives up all capabilities for good, passes SIGINT,
 * SIGTERM and SIGHUP on, kills the child where the kill switch did not end it in time, and ends as
 * the child does. If it is killed, so is the child; if it is stopped, the child is not. Returns
 * run's result, which is at most 255. */
int session_run(int (*run)(void *ctx), void *ctx, struct log *log);
