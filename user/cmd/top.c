/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/top.c - three processes. The recorder is `stoker record`, which has the privileges and writes
 * a profile each interval into a pipe. The table reads that pipe and the keys; it has no
 * capability. Their parent has none either: it waits, and restores the terminal when the table
 * ends, be it by SIGKILL. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/cpu_clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/sources.h"
#include "terminal/screen.h"
#include "cmd/target_options.h"
#include "terminal/top_view.h"

#define HZ_DEFAULT 99
#define INTERVAL_DEFAULT_NS (2 * NSEC_PER_SEC)
#define NUMBER_MAX 32

enum {
	OPT_INTERVAL = OPT_OF_COMMAND,
};

/* --interval and -F are read here; all others go to record and mean the same there. */
static const struct option_row rows[] = {
	{ 'a', "all", NULL, "all processes of the host (the default)" },
	TARGET_ROWS,
	{ OPT_INTERVAL, "interval", "TIME", "between tables; default 2s, at least 1s" },
	{ 'e', "event", "SOURCE",
		"cpu (default): what runs; wall[=HZ]: what waits, and for\nwhat" },
	HALF_ROWS,
	MEMORY_ROW,
	TICK_LIMIT_ROW,
	NATIVE_ROW,
	{ 'h', "help", NULL, "print this help" },
};

static const struct options table = {
	.usage = "stoker top [TARGET] [options]",
	.text = "Shows the functions, processes and containers that use the CPU, or wait, "
		"updated continuously.",
	.rows = rows,
	.rows_len = ARRAY_SIZE(rows),
};

struct top {
	VEC(const char *) args; /* record's */
	const char *what;
	uint64_t hz, interval_ns;
	char interval[NUMBER_MAX], rate[NUMBER_MAX];
	struct child recorder, view;
	int profiles, talk;
	struct termios terminal;
	struct log *log;
	bool user, kernel, help, waits, sources_given;
};

static int add_arg(struct top *top, const char *arg)
{
	const char **slot = vec_add(&top->args);

	if (!slot)
		return -ENOMEM;
	*slot = arg;
	return 0;
}

static const struct option_row *row_of(int id)
{
	const struct option_row *row = rows;

	while (row->id != id)
		row++;
	return row;
}

/* Goes to record under its long name, which is the same there. */
static int pass_on(struct top *top, int id, const char *arg, struct why *why)
{
	static const char *const names[] = { "--all", "--pid", "--tid", "--cgroup", "--container",
		"--pod", "--unit", "--event", "--user", "--kernel", "--memory",
		"--tick-limit", "--native-frames" };
	const struct option_row *row = row_of(id);
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i] + 2, row->name) == 0)
			err = add_arg(top, names[i]);
	if (err == 0 && arg)
		err = add_arg(top, arg);
	return err < 0 ? why_set(why, err, "out of memory") : 0;
}

/* A table is of one kind of value. */
static int take_source(struct top *top, const char *arg, struct why *why)
{
	struct sources sources = { 0 };
	int err = top->sources_given ? why_set(why, -EINVAL, "-e is given twice")
				     : sources_add(&sources, arg, why);

	if (err < 0)
		return err;
	if (sources.cpu && sources.walls.hz)
		return why_set(why, -EINVAL, "-e %s: a table is of one of them", arg);
	top->sources_given = true;
	top->waits = sources.walls.hz > 0;
	return pass_on(top, 'e', arg, why);
}

static int take_option(void *ctx, int id, const char *arg, struct why *why)
{
	struct top *top = ctx;

	switch (id) {
	case 'h':
		top->help = true;
		return 0;
	case 'F':
		return options_number("-F", arg, 1, CPU_CLOCK_HZ_MAX, &top->hz, why);
	case 'e':
		return take_source(top, arg, why);
	case OPT_INTERVAL:
		return options_duration("--interval", arg, &top->interval_ns, why);
	case 'p':
	case 't':
	case OPT_CGROUP:
	case OPT_CONTAINER:
	case OPT_POD:
	case OPT_UNIT:
		top->what = arg;
		return pass_on(top, id, arg, why);
	default:
		top->user |= id == OPT_USER;
		top->kernel |= id == OPT_KERNEL;
		return pass_on(top, id, arg, why);
	}
}

static int parse(struct top *top, int argc, char **argv, struct why *why)
{
	int rest, err = options_parse(&table, argc, argv, take_option, top, &rest, why);

	if (err < 0 || top->help)
		return err;
	if (rest < argc)
		return why_set(why, -EINVAL, "unexpected argument: %s", argv[rest]);
	if (top->user && top->kernel)
		return why_set(why, -EINVAL, "--user and --kernel exclude each other");
	if (top->interval_ns < NSEC_PER_SEC)
		return why_set(why, -EINVAL, "--interval: at least one second");
	return 0;
}

/* ---- the recorder ---------------------------------------------------------------------------- */

/* argv of the recorder; texts of numbers are in top. */
static int make_arguments(struct top *top)
{
	const char *const more[] = { "-q", "-f", "intervals", "-o", "-", "--by",
		"container,pid,comm", "--frequency", top->rate, "--interval", top->interval };

	snprintf(top->rate, sizeof(top->rate), "%llu", (unsigned long long)top->hz);
	snprintf(top->interval, sizeof(top->interval), "%.3f",
		(double)top->interval_ns / (double)NSEC_PER_SEC);
	for (size_t i = 0; i < ARRAY_SIZE(more); i++)
		if (add_arg(top, more[i]) < 0)
			return -ENOMEM;
	return add_arg(top, NULL);
}

/* In a process group of its own: the terminal's signals are for the table. */
static int run_recorder(void *ctx, int fd)
{
	struct top *top = ctx;

	(void)fd;
	setpgid(0, 0);
	execv("/proc/self/exe", (char **)top->args.data);
	dprintf(STDERR_FILENO, "stoker: cannot start the recorder: %s\n", err_text(errno));
	return EXIT_FAILED;
}

static int start_recorder(struct top *top, struct why *why)
{
	int profiles[2], talk[2], err;

	if (make_arguments(top) < 0)
		return why_set(why, -ENOMEM, "out of memory");
	if (pipe2(profiles, O_CLOEXEC) < 0 || pipe2(talk, O_CLOEXEC) < 0)
		return why_set(
			why, -errno, "cannot make a pipe for the recorder: %s", err_text(errno));
	err = child_start(&(struct child_plan){ .run = run_recorder,
				  .ctx = top,
				  .fds = (const int[]){ -1, profiles[1], talk[1] },
				  .fds_len = 3 },
		&top->recorder);
	close(profiles[1]);
	close(talk[1]);
	top->profiles = profiles[0];
	top->talk = talk[0];
	return err < 0 ? why_set(why, err, "cannot start the recorder: %s", err_text(err)) : 0;
}

static void end_recorder(struct top *top)
{
	fd_close(&top->profiles);
	fd_close(&top->talk);
	child_signal(&top->recorder, SIGTERM);
	child_close(&top->recorder, NULL);
}

/* ---- the table ------------------------------------------------------------------------------- */

static int run_view(void *ctx, int fd)
{
	struct top *top = ctx;
	const struct top_view_options options = {
		.profiles = top->profiles,
		.talk = top->talk,
		.what = top->what,
		.hz = top->waits ? 0 : (uint32_t)top->hz,
		.cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
		.interval_s = (double)top->interval_ns / (double)NSEC_PER_SEC,
	};
	struct why why;
	int err;

	(void)fd;
	err = top_view_run(&options, &why);
	if (err < 0)
		log_error(top->log, "%s", why.text);
	fflush(stdout);
	return err < 0 ? EXIT_FAILED : EXIT_OK;
}

/* Out of the other screen, the cursor and keys as usual: the sequences that terminals of our time
 * share, for when nobody is left who knows which one this is. */
static void leave_screen(void)
{
	static const char usual[] = "\033[?1049l\033[?25h\033[0m\033[?1l\033>\r";

	if (write(STDOUT_FILENO, usual, sizeof(usual) - 1) < 0)
		return;
}

/* The table's exit status. Signals from the terminal are its own; others are passed on to it. */
static int wait_for_view(struct top *top, const sigset_t *waited)
{
	struct child_end end;

	for (;;) {
		int signal = sigwaitinfo(waited, NULL);

		if (child_wait(&top->view, 0, &end) != -EAGAIN)
			break;
		if (signal == SIGTERM || signal == SIGHUP)
			child_signal(&top->view, SIGTERM);
	}
	tcsetattr(STDIN_FILENO, TCSANOW, &top->terminal);
	if (WIFEXITED(end.status))
		return WEXITSTATUS(end.status);
	leave_screen();
	return EXIT_FAILED;
}

static int show(struct top *top, struct why *why)
{
	const struct child_plan plan = { .run = run_view, .ctx = top, .death_signal = SIGTERM };
	sigset_t waited;
	int status, err;

	sigemptyset(&waited);
	sigaddset(&waited, SIGCHLD);
	sigaddset(&waited, SIGTERM);
	sigaddset(&waited, SIGHUP);
	sigaddset(&waited, SIGINT);
	sigaddset(&waited, SIGQUIT);
	sigprocmask(SIG_BLOCK, &waited, NULL);
	err = child_start(&plan, &top->view);
	if (err < 0)
		return why_set(why, err, "cannot start the table: %s", err_text(err));
	status = wait_for_view(top, &waited);
	if (status != EXIT_OK)
		why_set(why, -EIO, "%s", "");
	return status == EXIT_OK ? 0 : -EIO;
}

/* Both ends of the terminal, before anything is sampled. */
static int check_terminal(struct top *top, struct why *why)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return why_set(why, -ENOTTY,
			"stdin and stdout must be a terminal; `stoker record --interval` writes "
			"profiles instead");
	return tcgetattr(STDIN_FILENO, &top->terminal) < 0
		? why_set(why, -errno, "cannot read the terminal's settings: %s", err_text(errno))
		: 0;
}

static int run(struct top *top, struct why *why)
{
	int err = screen_check(why);

	err = err < 0 ? err : check_terminal(top, why);
	err = err < 0 ? err : start_recorder(top, why);
	if (err == 0 && caps_limit(0) < 0)
		err = why_set(why, -EPERM, "cannot give privileges up");
	err = err < 0 ? err : show(top, why);
	end_recorder(top);
	return err;
}

int cmd_top(int argc, char **argv, struct log *log)
{
	struct top top = { .what = "whole host",
		.hz = HZ_DEFAULT,
		.interval_ns = INTERVAL_DEFAULT_NS,
		.profiles = -1,
		.talk = -1,
		.recorder = CHILD_INIT,
		.view = CHILD_INIT,
		.log = log };
	struct why why = { "" };
	int err = add_arg(&top, "stoker") < 0 || add_arg(&top, "record") < 0
		? why_set(&why, -ENOMEM, "out of memory")
		: parse(&top, argc, argv, &why);

	if (err == 0 && top.help)
		options_print_help(&table, stdout);
	else if (err < 0)
		log_error(log, "%s; see `stoker top --help`", why.text);
	else
		err = run(&top, &why) < 0 ? -EIO : 0;
	if (err == -EIO && why.text[0])
		log_error(log, "%s", why.text);
	vec_done(&top.args);
	return err == -EINVAL ? EXIT_USAGE : err < 0 ? EXIT_FAILED : EXIT_OK;
}
