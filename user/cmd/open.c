/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/open.c - the address of the daemon's page, with a ticket in place of the token. The ticket is
 * made here, by whoever may read the token's file. Nothing is sent, so nobody who took the port of
 * a daemon that is down gets the token. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/own.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "daemon/config.h"
#include "http/token_file.h"
#include "http/listener.h"
#include "http/ticket.h"

struct request {
	const char *config_path; /* NULL: the default, if it is there */
	bool help;
};

static const struct option_row rows[] = {
	{ 'c', "config", "FILE", "of the daemon; default " CONFIG_PATH ", if it exists" },
	{ 'h', "help", NULL, "print this help" },
};

static const struct options table = {
	.usage = "stoker open [--config FILE]",
	.text = "Prints the address of the daemon's page, for a browser on this host. It is good "
		"once\nand for 60 seconds, and needs the right to read the daemon's token.",
	.rows = rows,
	.rows_len = ARRAY_SIZE(rows),
};

static int take_option(void *ctx, int id, const char *arg, struct why *why)
{
	struct request *r = ctx;

	(void)why;
	if (id == 'c')
		r->config_path = arg;
	r->help |= id == 'h';
	return 0;
}

static int print_address(const char *config_path, struct why *why)
{
	char address[128], token[HTTP_TEXT_MAX], ticket[TICKET_TEXT_MAX];
	char path[2 * CONFIG_TEXT_MAX];
	struct config config;
	struct why text;
	uint64_t nonce;
	int err = config_load(config_path, &config, why);

	if (err == 0)
		err = listener_address(config.listen, address, sizeof(address), why);
	if (err < 0)
		return err;
	if (*config.token_file)
		snprintf(path, sizeof(path), "%s", config.token_file);
	else
		snprintf(path, sizeof(path), "%s/" TOKEN_FILE, config.store);
	err = token_file_read(path, token, &text);
	if (err < 0)
		return why_set(why, err, "%.*s%s", WHY_MAX - 128, text.text,
			err == -ENOENT ? "; start `stoker daemon`, or name its configuration by "
					 "--config"
				: err == -EACCES ? "; run as root or as the daemon's user"
						 : "");
	if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
		return why_set(why, -EIO, "no random numbers: %s", err_text(errno));
	ticket_make(token, clock_ns(CLOCK_BOOTTIME), nonce, ticket);
	printf("%s/open?ticket=%s\n", address, ticket);
	return 0;
}

int cmd_open(int argc, char **argv, struct log *log)
{
	struct request request = { 0 };
	struct why why;
	int rest, err = options_parse(&table, argc, argv, take_option, &request, &rest, &why);

	if (err == 0 && request.help) {
		options_print_help(&table, stdout);
		return EXIT_OK;
	}
	if (err == 0 && rest < argc)
		err = why_set(&why, -EINVAL, "unexpected argument: %s; see `stoker open --help`",
			argv[rest]);
	if (err < 0) {
		log_error(log, "%s", why.text);
		return EXIT_USAGE;
	}
	err = print_address(request.config_path, &why);
	if (err < 0)
		log_error(log, "%s", why.text);
	return err < 0 ? EXIT_FAILED : EXIT_OK;
}
