/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/serve.h - HTTP as the configuration has it, and a daemon that does nothing else: one that
 * must not sample, and says why (daemon/supervisor.h). */
#pragma once

#include "daemon/config.h"
#include "daemon/http_front.h"
#include "daemon/notify.h"

/* path: of the configuration, for messages. out->fd stays -1 where HTTP is off. -EINVAL and other
 * -errno with why, which names the line. */
int serve_listen(const struct config *config, const char *path, struct log *log,
	struct listener *out, struct why *why);
/* listener: of serve_listen; the caller's. why_idle NULL: it samples. *out is NULL where HTTP is
 * off. Errors as above. */
int serve_open(const struct config *config, const char *path, const struct listener *listener,
	const char *why_idle, int (*status)(void *ctx, struct buf *out), void *ctx,
	struct log *log, struct http_front **out, struct why *why);

/* Until SIGTERM or SIGINT. why_idle: for /readyz and the metrics. */
int serve_idle(const struct config *config, const char *path, const struct listener *listener,
	const char *why_idle, struct notify *notify, struct log *log, struct why *why);
