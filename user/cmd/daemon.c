/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/daemon.c - options of `stoker daemon`; the daemon itself is daemon/daemon.c. */
#include <errno.h>

#include "base/own.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "daemon/config.h"
#include "daemon/daemon.h"

struct request {
	const char *config_path; /* NULL: the default, if it is there */
	bool help;
	struct log *log;
};

static const struct option_row rows[] = {
	{ 'c', "config", "FILE", "default " CONFIG_PATH ", if it exists" },
	{ 'q', "quiet", NULL, "warnings and errors only" },
	{ 'h', "help", NULL, "print this help" },
};

static const struct options table = {
	.usage = "stoker daemon [--config FILE] [-q]",
	.text = "Samples without end and writes a profile each interval into a store, for\n`stoker "
		"report`. SIGHUP reloads the configuration, except for keys that need a\nrestart; "
		"SIGTERM writes the open interval and exits.\n",
	.rows = rows,
	.rows_len = ARRAY_SIZE(rows),
};

static int take_option(void *ctx, int id, const char *arg, struct why *why)
{
	struct request *r = ctx;

	(void)why;
	if (id == 'c')
		r->config_path = arg;
	r->log->quiet |= id == 'q';
	r->help |= id == 'h';
	return 0;
}

static void print_help(void)
{
	options_print_help(&table, stdout);
	fputs("\nThe configuration with its defaults:\n\n", stdout);
	config_print(stdout);
}

int cmd_daemon(int argc, char **argv, struct log *log)
{
	struct request request = { .log = log };
	struct daemon *d = NULL;
	struct why why;
	int rest, err = options_parse(&table, argc, argv, take_option, &request, &rest, &why);

	if (err == 0 && request.help) {
		print_help();
		return EXIT_OK;
	}
	if (err == 0 && rest < argc)
		err = why_set(&why, -EINVAL, "unexpected argument: %s; see `stoker daemon --help`",
			argv[rest]);
	if (err == 0)
		err = daemon_open(request.config_path, log, &d, &why);
	if (err < 0) {
		log_error(log, "%s", why.text);
		return EXIT_USAGE;
	}
	err = daemon_run(d, &why);
	if (err < 0)
		log_error(log, "%s", why.text);
	daemon_free(d);
	return err < 0 ? EXIT_FAILED : EXIT_OK;
}
