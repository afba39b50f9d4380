/* SPDX-License-Identifier: Apache-2.0 */
/* profile/jit_code.c - a program's name has no brackets in it, so the frame's end is the only one,
 * and the pid follows the last blank. All else in a name is left to the formats, as in names of
 * functions. */
#include "profile/jit_code.h"

#include <errno.h>
#include <string.h>

#include "base/own.h"

#define OPENING "[JIT"

int jit_code_put(struct buf *out, const char *program, uint32_t pid)
{
	buf_puts(out, OPENING);
	if (pid > 0) {
		buf_putc(out, ' ');
		for (const char *c = *program ? program : "?"; *c; c++)
			buf_putc(out, *c == '[' ? '(' : *c == ']' ? ')' : *c);
		buf_printf(out, " %u", pid);
	}
	return buf_putc(out, ']');
}

bool jit_code_is(const char *name, size_t len)
{
	size_t opening = strlen(OPENING);

	return len > opening && memcmp(name, OPENING, opening) == 0 && name[len - 1] == ']' &&
		(name[opening] == ' ' || len == opening + 1);
}

int jit_code_guard(struct profile *profile, uint32_t *id)
{
	_cleanup_(freep) char *plain = NULL;
	const char *name = profile_text(profile, *id);
	size_t len = strlen(name);

	if (!jit_code_is(name, len))
		return 0;
	plain = strdup(name);
	if (!plain)
		return -ENOMEM;
	plain[0] = '{';
	plain[len - 1] = '}';
	return strtab_put(&profile->strings, plain, len, id);
}

/* Where ` PID]` begins, or NULL. */
static const char *find_pid(const char *name)
{
	const char *blank = strrchr(name, ' ');
	size_t digits = blank ? strspn(blank + 1, "0123456789") : 0;

	return digits > 0 && strcmp(blank + 1 + digits, "]") == 0 && blank > name + strlen(OPENING)
		? blank
		: NULL;
}

int jit_code_drop_pids(struct profile *profile)
{
	vec_each (&profile->frames, frame) {
		_cleanup_(buf_done) struct buf text = BUF_INIT;
		const char *name = profile_text(profile, frame->name), *pid = NULL;

		if (jit_code_is(name, strlen(name)))
			pid = find_pid(name);
		if (!pid)
			continue;
		buf_put(&text, name, (size_t)(pid - name));
		buf_putc(&text, ']');
		buf_fail(&text, profile_string(profile, buf_text(&text), &frame->name));
		if (buf_err(&text) < 0)
			return buf_err(&text);
	}
	return 0;
}
