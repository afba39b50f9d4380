/* SPDX-License-Identifier: Apache-2.0 */
/* http/ticket.c - the proof is a keyed hash, with both halves of the key made from the token. A
 * ticket is checked by making it again. */
#include "http/ticket.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static uint64_t prove(const char *token, const char *text)
{
	const struct hash_secret first = { { 1, 1 } }, second = { { 2, 2 } };
	size_t len = strlen(token);
	struct hash_secret key = { { hash_bytes_with(first, token, len),
		hash_bytes_with(second, token, len) } };

	return hash_bytes_with(key, text, strlen(text));
}

static void put(const char *token, uint64_t until_ns, uint64_t nonce, char text[TICKET_TEXT_MAX])
{
	int len = snprintf(text, TICKET_TEXT_MAX, "%" PRIx64 "-%016" PRIx64, until_ns, nonce);
	uint64_t proof = prove(token, text);

	snprintf(text + len, (size_t)(TICKET_TEXT_MAX - len), "-%016" PRIx64, proof);
}

void ticket_make(const char *token, uint64_t now_ns, uint64_t nonce, char text[TICKET_TEXT_MAX])
{
	put(token, now_ns + TICKET_NS, nonce, text);
}

bool ticket_is_good(const char *token, const char *text, uint64_t after_ns, uint64_t now_ns)
{
	char wanted[TICKET_TEXT_MAX] = "", given[TICKET_TEXT_MAX] = "";
	unsigned int differ = 0;
	uint64_t until_ns, nonce;
	char *end;

	if (strlen(text) >= sizeof(given))
		return false;
	snprintf(given, sizeof(given), "%s", text);
	until_ns = strtoull(given, &end, 16);
	nonce = *end == '-' ? strtoull(end + 1, NULL, 16) : 0;
	put(token, until_ns, nonce, wanted);
	for (size_t i = 0; i < sizeof(given); i++)
		differ |= (unsigned int)(unsigned char)(given[i] ^ wanted[i]);
	return differ == 0 && until_ns >= now_ns && until_ns <= now_ns + TICKET_NS &&
		until_ns > after_ns + TICKET_NS;
}
