/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/sources.c - a table of sources, each with what it does with its value. */
#include "cmd/sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "cmd/options.h"
#include "waiting/walls.h"

#define WORD_MAX 64
#define SOURCES_KNOWN "cpu, and wall or wall=HZ"

static int set_cpu(struct sources *sources, const char *value, struct why *why)
{
	if (sources->cpu)
		return why_set(why, -EINVAL, "-e: cpu is named twice");
	if (value)
		return why_set(why, -EINVAL, "-e: cpu takes no value: its rate is that of -F");
	sources->cpu = true;
	return 0;
}

void sources_put_walls(struct sources *sources, uint32_t hz)
{
	sources->walls = (struct walls_options){
		.hz = hz, .part = WALLS_CAPTURE_PART, .user = true, .futexes = true
	};
}

static int set_wall(struct sources *sources, const char *value, struct why *why)
{
	uint64_t hz = SOURCES_WALL_HZ;
	int err = value ? options_number("-e wall", value, 1, WALLS_HZ_MAX, &hz, why) : 0;

	if (err == 0 && sources->walls.hz)
		return why_set(why, -EINVAL, "-e: wall is named twice");
	if (err == 0)
		sources_put_walls(sources, (uint32_t)hz);
	return err;
}

static const struct source {
	const char *name;
	int (*set)(struct sources *sources, const char *value, struct why *why);
} all[] = {
	{ "cpu", set_cpu },
	{ "wall", set_wall },
};

static const struct source *find(const char *word)
{
	size_t len = strcspn(word, "=");

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (strlen(all[i].name) == len && memcmp(all[i].name, word, len) == 0)
			return &all[i];
	return NULL;
}

/* Adds one source. last: the source before it; NULL: it is the first. */
static int add(
	struct sources *sources, const char *word, const struct source **last, struct why *why)
{
	const struct source *source = find(word), *before = *last;
	const char *value = strchr(word, '=');

	if (*word == '\0')
		return why_set(why, -EINVAL, "-e: a source is missing; there are " SOURCES_KNOWN);
	if (!source && before && value)
		return why_set(why, -EINVAL,
			"-e: %s: %.*s is no key of %s, and no source; there are " SOURCES_KNOWN,
			word, (int)(value - word), word, before->name);
	if (!source)
		return why_set(
			why, -EINVAL, "-e: unknown source: %s; there are " SOURCES_KNOWN, word);
	*last = source;
	return source->set(sources, value ? value + 1 : NULL, why);
}

int sources_add(struct sources *sources, const char *text, struct why *why)
{
	const struct source *last = NULL;

	for (;;) {
		size_t len = strcspn(text, ",");
		char word[WORD_MAX];
		int err;

		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		if (len >= sizeof(word))
			return why_set(why, -EINVAL,
				"-e: unknown source: %s...; there are " SOURCES_KNOWN, word);
		err = add(sources, word, &last, why);
		if (err < 0 || text[len] == '\0')
			return err;
		text += len + 1;
	}
}
