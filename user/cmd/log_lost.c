/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/log_lost.c - a warning for each sort of thing that is left out, with the remedy. */
#include "cmd/log_lost.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "sink/lost.h"
#include "sink/sink.h"

void log_lost(struct log *log, const char *path, const struct sink *sink,
	const struct sink_lost *lost)
{
	const char *sentence;
	char text[SINK_LOST_TEXT_MAX];

	if (!sink->text) /* of our own, for `stoker top`, whose table is of what it asks for */
		return;
	for (uint32_t i = 0; (sentence = sink_lost_text(lost, sink, i, text)); i++)
		log_warn(log, "%s: %s", strcmp(path, "-") == 0 ? "stdout" : path, sentence);
}
