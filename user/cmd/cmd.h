/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/cmd.h - the subcommands. Each takes its own argv (argv[0] is its name) and returns the exit
 * status. Besides these files only output/ and terminal/ write to stdout. */
#pragma once

#include "base/log.h"
#include "wire/exit_status.h"

int cmd_daemon(int argc, char **argv, struct log *log);
int cmd_report(int argc, char **argv, struct log *log);
int cmd_record(int argc, char **argv, struct log *log);
int cmd_convert(int argc, char **argv, struct log *log);
int cmd_diff(int argc, char **argv, struct log *log);
int cmd_top(int argc, char **argv, struct log *log);
int cmd_open(int argc, char **argv, struct log *log);
int cmd_ps(int argc, char **argv, struct log *log);
int cmd_doctor(int argc, char **argv, struct log *log);
int cmd_jit(int argc, char **argv, struct log *log);
int cmd_worker(int argc, char **argv, struct log *log);
int cmd_fetcher(int argc, char **argv, struct log *log);
int cmd_http(int argc, char **argv, struct log *log);
