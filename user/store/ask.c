/* SPDX-License-Identifier: Apache-2.0 */
/* store/ask.c - cuts the words in place, in a copy of the text. */
#include "store/ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "store/when.h"
#include "store/answer.h"

#define DOTS ".."
#define FUNCTION "function"
#define KIND "kind"

void ask_init(struct ask *ask, uint64_t now_ns)
{
	*ask = (struct ask){ .store = STORE_PATH, .now_ns = now_ns };
	ask->query.until_ns = now_ns;
}

void ask_done(struct ask *ask)
{
	pattern_free(ask->query.function);
	free(ask->words);
}

static int set_function(struct ask *ask, const char *value, struct why *why)
{
	pattern_free(TAKE_PTR(ask->query.function));
	return pattern_new(value, &ask->query.function, why);
}

static int set_match(struct ask *ask, const char *label, const char *value, struct why *why)
{
	struct query *q = &ask->query;
	size_t i = 0;

	while (i < q->matches_len && strcmp(q->matches[i].key, label) != 0)
		i++;
	if (i == QUERY_MATCHES_MAX)
		return why_set(why, -EINVAL, "too many labels are asked for");
	q->matches[i] = (struct query_match){ label, value };
	q->matches_len += i == q->matches_len;
	return 0;
}

int ask_set(struct ask *ask, const char *key, const char *value, struct why *why)
{
	const char *label = answer_label(key, strlen(key));

	if (label)
		return set_match(ask, label, value, why);
	if (strcmp(key, "since") == 0)
		return when_parse(value, ask->now_ns, &ask->query.since_ns, why);
	if (strcmp(key, "until") == 0)
		return when_parse(value, ask->now_ns, &ask->query.until_ns, why);
	if (strcmp(key, FUNCTION) == 0)
		return set_function(ask, value, why);
	if (strcmp(key, KIND) == 0) {
		ask->query.kind = value;
		return 0;
	}
	if (strcmp(key, "store") != 0)
		return why_set(why, -EINVAL,
			"no such key: %s; they are store, since, until, function, kind, container, "
			"pod, namespace, image, unit, comm, pid, tid, cpu",
			key);
	ask->store = value;
	return 0;
}

static int set_span(struct ask *ask, char *text, struct why *why)
{
	char *until = strstr(text, DOTS);
	int err = 0;

	if (!until)
		return why_set(
			why, -EINVAL, "%s is neither SINCE" DOTS "UNTIL nor KEY=VALUE", text);
	*until = '\0';
	until += strlen(DOTS);
	ask->query.since_ns = 0;
	ask->query.until_ns = ask->now_ns;
	if (*text)
		err = ask_set(ask, "since", text, why);
	return err == 0 && *until ? ask_set(ask, "until", until, why) : err;
}

static bool is_key(const char *text, size_t len)
{
	static const char *const others[] = { "store", "since", "until", FUNCTION, KIND };

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strlen(others[i]) == len && memcmp(others[i], text, len) == 0)
			return true;
	return answer_label(text, len) != NULL;
}

bool ask_looks_like(const char *text)
{
	size_t len = strcspn(text, ",="), span = strcspn(text, ",");

	if (text[len] == '=')
		return is_key(text, len);
	return !memchr(text, '/', span) && memmem(text, span, DOTS, strlen(DOTS));
}

int ask_parse(struct ask *ask, const char *text, struct why *why)
{
	char *at, *end;
	int err = 0;

	free(ask->words);
	ask->words = at = strdup(text);
	if (!at)
		return why_set(why, -ENOMEM, "out of memory");
	for (; err == 0 && at; at = end) {
		char *value = strpbrk(at, ",=");

		end = strchr(at, ',');
		if (value && *value == '=' &&
			strncmp(at, FUNCTION "=", (size_t)(value - at) + 1) == 0)
			end = NULL;
		if (end)
			*end++ = '\0';
		if (!value || *value != '=') {
			err = set_span(ask, at, why);
			continue;
		}
		*value = '\0';
		err = ask_set(ask, at, value + 1, why);
	}
	return err;
}

int ask_check(const struct ask *ask, struct why *why)
{
	return ask->query.since_ns < ask->query.until_ns
		? 0
		: why_set(why, -EINVAL, "since is not before until");
}

bool ask_matches(const struct ask *ask, const char *key)
{
	for (size_t i = 0; i < ask->query.matches_len; i++)
		if (strcmp(ask->query.matches[i].key, key) == 0)
			return true;
	return false;
}
