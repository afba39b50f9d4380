/* SPDX-License-Identifier: Apache-2.0 */
/* handover.c - lines of words. A recording is ours: a word that cannot be read ends the program. */
#include "handover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "base/err.h"
#include "base/fd.h"

#define BYTES_MAX (16UL << 20)

static const struct {
	const char *name;
	enum frame_kind kind;
} kinds[] = {
	{ "kernel+", FRAME_KERNEL },
	{ "jit+", FRAME_ANON },
	{ "left_out+", FRAME_CODE },
};

_Noreturn static void fail(const char *what, const char *where)
{
	fprintf(stderr, "%s: %s\n", where, what);
	exit(1);
}

void handover_load(struct handover *handover, const char *folder)
{
	struct buf text = BUF_INIT;
	char path[4096], *line, *rest;
	_cleanup_fd_ int fd = -1;
	int err;

	snprintf(path, sizeof(path), "%s/%s", folder, HANDOVER_FILE);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? -errno : fd_read_all(fd, BYTES_MAX, &text);
	if (err < 0 || text.len == 0)
		fail(err < 0 ? err_text(err) : "it is empty", path);
	handover->text = rest = text.data;
	while ((line = strsep(&rest, "\n"))) {
		char **slot = vec_add(&handover->lines);

		if (!slot)
			fail("out of memory", path);
		*slot = line;
	}
	if (!handover_is(handover->lines.data[0], "stoker-handover") ||
		handover_number(handover->lines.data[0], "version") != HANDOVER_VERSION)
		fail("it is no recording of this version", path);
}

void handover_done(struct handover *handover)
{
	vec_done(&handover->lines);
	free(handover->text);
}

bool handover_is(const char *line, const char *kind)
{
	size_t len = strlen(kind);

	return strncmp(line, kind, len) == 0 && (line[len] == ' ' || line[len] == '\0');
}

/* NULL: it is not there. A text that holds " KEY=" itself is the last of its line. */
static const char *find(const char *line, const char *key)
{
	char word[64];
	const char *at;

	snprintf(word, sizeof(word), " %s=", key);
	at = strstr(line, word);
	return at ? at + strlen(word) : NULL;
}

uint64_t handover_number(const char *line, const char *key)
{
	const char *at = find(line, key);
	char *end;
	uint64_t number = at ? strtoull(at, &end, 0) : 0;

	if (at && (end == at || (*end && *end != ' ')))
		fail(line, key);
	return number;
}

const char *handover_text(const char *line, const char *key)
{
	const char *at = find(line, key);

	return at ? at : "";
}

static uint64_t parse_frame(const char *word, char **end)
{
	uint64_t object;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strncmp(word, kinds[i].name, strlen(kinds[i].name)) == 0)
			return (uint64_t)kinds[i].kind << FRAME_KIND_SHIFT |
				(strtoull(word + strlen(kinds[i].name), end, 0) &
					FRAME_PAYLOAD_MASK);
	object = strtoull(word, end, 0);
	if (**end != '+')
		fail(word, "no frame");
	return (uint64_t)FRAME_FILE << FRAME_KIND_SHIFT | object << FRAME_OBJECT_SHIFT |
		strtoull(*end + 1, end, 0);
}

size_t handover_frames(const char *line, __u64 *frames, size_t max)
{
	const char *at = strstr(line, " : ");
	size_t len = 0;
	char *end;

	for (at = at ? at + 3 : ""; *at && len < max; at = end + strspn(end, " "))
		frames[len++] = parse_frame(at, &end);
	if (*at)
		fail(line, "too many frames");
	return len;
}

static int put_frame(struct buf *out, uint64_t frame)
{
	uint64_t payload = frame & FRAME_PAYLOAD_MASK;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (FRAME_KIND(frame) == kinds[i].kind)
			return buf_printf(
				out, " %s0x%llx", kinds[i].name, (unsigned long long)payload);
	return buf_printf(out, " %llu+0x%llx", (unsigned long long)(payload >> FRAME_OBJECT_SHIFT),
		(unsigned long long)(frame & FRAME_OFFSET_MASK));
}

void handover_put_frames(struct buf *out, const __u64 *frames, size_t len)
{
	int err = buf_puts(out, " :");

	for (size_t i = 0; i < len && err == 0; i++)
		err = put_frame(out, frames[i]);
	if (err < 0)
		fail("out of memory", "frames");
}
