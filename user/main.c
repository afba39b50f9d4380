/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the table of subcommands, and that what they print has arrived: on a full disk it has
 * not, and the exit status says so. Where the program's file has capabilities, what a command does
 * for its caller is done with the caller's rights: none is effective until sampling begins
 * (privileges_raise). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/err.h"
#include "base/own.h"
#include "cmd/cmd.h"
#include "cmd/print.h"

/* 70 KiB were used by `record`; its processes inherit the limit. */
#define STACK_BYTES_LEAST (256 << 10)

static const struct {
	const char *name;
	int (*run)(int argc, char **argv, struct log *log);
	bool samples; /* with our capabilities: others have those of root, or none */
	const char *text; /* NULL: not listed */
} commands[] = {
	{ "record", cmd_record, true, "sample now, write one profile (or one each interval)" },
	{ "daemon", cmd_daemon, true, "always on: a profile each interval into a store" },
	{ "convert", cmd_convert, false, "a profile in another format, or a part of its time" },
	{ "diff", cmd_diff, false, "what changed between two profiles" },
	{ "top", cmd_top, true,
		"what runs now: functions, processes, containers, in the terminal" },
	{ "report", cmd_report, false, "what the store knows of a span of time" },
	{ "open", cmd_open, false, "the address of the daemon's page, good once and for a minute" },
	{ "ps", cmd_ps, true,
		"containers, pods and units: their CPU now, and how they can be profiled" },
	{ "doctor", cmd_doctor, true, "what this kernel, these privileges and a process allow" },
	{ "jit", cmd_jit, false, "perf maps of a running .NET or JVM, without a restart" },
	{ "worker", cmd_worker, false, NULL },
	{ "fetcher", cmd_fetcher, false, NULL },
	{ "http", cmd_http, false, NULL },
};

static void print_help(FILE *out)
{
	fputs("stoker - a profiler for Linux hosts full of containers\n\n"
	      "usage: stoker COMMAND [options]      stoker COMMAND --help\n\n",
		out);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].text)
			fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].text);
	fputs("  help       this text, or that of a COMMAND\n  version    the version\n", out);
}

static int limit_rights(bool samples)
{
	return samples || geteuid() == 0 ? caps_lower() : caps_limit(0);
}

static bool is_one_of(const char *word, const char *const *words)
{
	while (*words && strcmp(word, *words) != 0)
		words++;
	return *words;
}

/* argv[0] is its name. */
static int run_command(int argc, char **argv, struct log *log)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i].name, argv[0]) != 0)
			continue;
		if (limit_rights(commands[i].samples) < 0) {
			log_error(log, "cannot drop privileges");
			return EXIT_FAILED;
		}
		return commands[i].run(argc, argv, log);
	}
	log_error(log, "no such command: %s; `stoker help` lists them", argv[0]);
	return EXIT_USAGE;
}

static int run(int argc, char **argv, struct log *log)
{
	static const char *const help[] = { "help", "--help", "-h", NULL };
	static const char *const version[] = { "version", "--version", "-V", NULL };

	if (argc > 1 && is_one_of(argv[1], version)) {
		puts("stoker " STOKER_VERSION);
		return EXIT_OK;
	}
	if (argc > 2 && is_one_of(argv[1], help)) {
		char option[] = "--help", *of_command[] = { argv[2], option, NULL };

		return run_command(2, of_command, log);
	}
	if (argc < 2 || is_one_of(argv[1], help)) {
		print_help(stdout);
		return EXIT_OK;
	}
	return run_command(argc - 1, argv + 1, log);
}

/* A setuid-root program would write, and sample, for anybody with root's rights. */
static int check_user(struct why *why)
{
	if (geteuid() != 0 || getuid() == 0)
		return 0;
	return why_set(why, -EPERM,
		"started as root by user %u: a setuid-root stoker does nothing; use sudo, or file "
		"capabilities (`stoker doctor` as root lists them), and chmod u-s the program",
		(unsigned int)getuid());
}

static int check_stack(struct why *why)
{
	struct rlimit stack;

	if (getrlimit(RLIMIT_STACK, &stack) < 0 || stack.rlim_cur >= STACK_BYTES_LEAST)
		return 0;
	return why_set(why, -ENOMEM, "%llu KiB of stack are not enough: raise `ulimit -s` to %d",
		(unsigned long long)stack.rlim_cur / 1024, STACK_BYTES_LEAST / 1024);
}

/* Where the caller closed some, what we open would get their numbers, and what is written to them.
 * Reads and writes of these fail, as of closed ones. */
static void fill_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/", O_PATH);
}

/* Executed by a descriptor or a link of /proc, its name would be that one's. */
static void take_name(const char *name)
{
	if (name && !strchr(name, '/'))
		prctl(PR_SET_NAME, name, 0, 0, 0);
}

/* A longer help than this loses the reason for which its first write failed. */
#define PRINTED_BYTES 16384

int main(int argc, char **argv)
{
	struct log log = { 0 };
	struct why why;
	int status = EXIT_FAILED;

	/* Beyond a limit of file sizes a write fails, and its error is said. */
	signal(SIGXFSZ, SIG_IGN);
	/* Ignored, it would take the exit statuses of children. */
	signal(SIGCHLD, SIG_DFL);
	setvbuf(stdout, malloc(PRINTED_BYTES), isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF,
		PRINTED_BYTES);
	take_name(argv[0]);
	fill_standard();
	if (check_user(&why) < 0 || check_stack(&why) < 0)
		log_error(&log, "%s", why.text);
	else
		status = run(argc, argv, &log);
	if (status == EXIT_OK && print_flush(&why) < 0) {
		log_error(&log, "%s", why.text);
		status = EXIT_FAILED;
	}
	return status;
}
