/* SPDX-License-Identifier: Apache-2.0 */
/* http_args.c - requests: "name=value&name=value", not decoded, behind a byte that says of which
 * kind; and the headers by which it is told who asks. */
#include "fuzz.h"
#include "base/hash.h"
#include "http/conn.h"

static const uint32_t kinds[] = {
	HTTP_ARG_SECONDS | HTTP_ARG_HZ | HTTP_ARG_TARGET | HTTP_ARG_FORMAT,
	HTTP_ARG_SPAN | HTTP_ARG_MATCH | HTTP_ARG_FUNCTION | HTTP_ARG_TOP | HTTP_ARG_TREND |
		HTTP_ARG_FORMAT,
	HTTP_ARG_SPAN | HTTP_ARG_CELLS,
};

static void check(const struct http_args *args)
{
	must(args->seconds > 0 && args->seconds <= HTTP_SECONDS_MAX);
	must(args->hz > 0 && args->hz <= HTTP_HZ_MAX);
	must(args->target < HTTP_TARGETS);
	must((args->target == HTTP_ALL) == (args->target_name[0] == '\0'));
	must(args->format >= -1 && args->format < HTTP_FORMATS_LEN);
	must(args->matches_len <= HTTP_MATCHES);
	must(memchr(args->function, '\0', sizeof(args->function)) != NULL);
	for (size_t i = 0; i < args->matches_len; i++)
		touch_text(args->matches[i].value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(freep) char *text = text_of(data, size);
	struct tokens tokens = { 0 };
	char session[TOKENS_SESSION_TEXT_MAX];
	const uint8_t noise[16] = { 0 };
	struct http_args args;
	struct why why;

	if (size == 0)
		return 0;
	http_args_init(&args, kinds[data[0] % ARRAY_SIZE(kinds)], 1ULL << 60);
	for (char *next = text + 1, *name; (name = strsep(&next, "&"));) {
		char *value = strchr(name, '=');

		if (value)
			*value++ = '\0';
		if (http_args_take(&args, name, value, value ? strlen(value) : 0, &why) < 0)
			touch_text(why.text);
	}
	check(&args);
	http_args_check(&args, &why);
	http_host_is_loopback(text + 1);
	/* Nobody guesses a token, nor what proves that one has it. These depend on the request: a
	 * fuzzer would find others by watching the comparison. */
	snprintf(tokens.token, sizeof(tokens.token), "%016llx",
		(unsigned long long)hash_bytes(data, size));
	snprintf(tokens.metrics, sizeof(tokens.metrics), "%016llx",
		(unsigned long long)~hash_bytes(data, size));
	must(tokens_right(&tokens, text + 1, text + 1, 0) == HTTP_RIGHT_NONE);
	must(!tokens_exchange(&tokens, text + 1, 0, noise, session));
	return 0;
}
