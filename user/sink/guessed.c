/* SPDX-License-Identifier: Apache-2.0 */
/* sink/guessed.c - adds up the samples whose stacks have the mark. The mark is in the profile, so a
 * profile that was read from a file has its share, too. */
#include "sink/guessed.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"

static bool is_guessed(const struct profile *p, uint32_t stack)
{
	for (uint32_t i = 0; i < p->stacks.data[stack].len; i++) {
		const struct profile_frame *frame = profile_stack_frame(p, stack, i);

		if (frame->class == PROFILE_MARK &&
			strcmp(profile_text(p, frame->name), PROFILE_GUESSED) == 0)
			return true;
	}
	return false;
}

const char *guessed_text(const struct profile *p, char text[GUESSED_MAX])
{
	uint64_t guessed = 0, all = profile_total(p);
	_cleanup_(buf_done) struct buf share = BUF_INIT;

	vec_each (&p->samples, sample)
		if (sample->kind == 0 && is_guessed(p, sample->stack))
			guessed += sample->value;
	text[0] = '\0';
	if (guessed == 0)
		return text;
	buf_put_percent(&share, guessed, all);
	snprintf(text, GUESSED_MAX, "%s %% of the samples are guessed", buf_text(&share));
	return text;
}

int guessed_write_folded(
	const struct profile *p, const struct sink_options *options, struct buf *out)
{
	char text[GUESSED_MAX];

	folded_write(p, options, out);
	if (*guessed_text(p, text))
		buf_printf(out, "# stoker: %s 0\n", text);
	return buf_err(out);
}
