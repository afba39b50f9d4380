/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/resource.c - a record came from the kernel's memory without a lock: its lengths and kinds
 * may be anything. */
#include "waiting/resource.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "profile/marks.h"

#define EPHEMERAL_FIRST 32768 /* the kernel's own choice of a port is not below: ip(7) */
#define UNIX_PATH_MAX 108     /* unix(7) */

static const char time_text[] = "time";

static const char *protocol_name(uint8_t protocol)
{
	static const struct {
		uint8_t protocol;
		const char *name;
	} names[] = { { IPPROTO_TCP, "tcp" }, { (uint8_t)IPPROTO_MPTCP, "tcp" },
		{ IPPROTO_UDP, "udp" }, { IPPROTO_SCTP, "sctp" } };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].protocol == protocol)
			return names[i].name;
	return "ip";
}

static void put_address(const struct visit_resource *r, char *out, size_t size)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *address = r->address;
	bool v6 = r->v6 && memcmp(address, mapped, sizeof(mapped)) != 0;
	char text[INET6_ADDRSTRLEN] = "?";

	if (r->v6 && !v6)
		address += sizeof(mapped);
	inet_ntop(v6 ? AF_INET6 : AF_INET, address, text, sizeof(text));
	snprintf(out, size, v6 ? "[%s]:%u" : "%s:%u", text, r->port);
}

/* Does the connection go there? A client may have chosen its own port, too. */
static bool goes_there(const struct visit_resource *r)
{
	if (r->port == 0)
		return false;
	return r->asked || r->protocol == IPPROTO_UDP ||
		(r->own_port >= EPHEMERAL_FIRST && r->port < EPHEMERAL_FIRST);
}

static int inet_text(const struct visit_resource *r, char *out, size_t size)
{
	const char *protocol = protocol_name(r->protocol);
	char address[INET6_ADDRSTRLEN + 16];

	if (!goes_there(r))
		return r->own_port ? snprintf(out, size, "%s :%u", protocol, r->own_port) : 0;
	put_address(r, address, sizeof(address));
	return snprintf(out, size, "%s %s", protocol, address);
}

/* Brackets have a meaning in a stack's text. */
static int without_brackets(char *text, int len)
{
	for (char *at = text; *at; at++)
		*at = (char)(*at == '[' ? '(' : *at == ']' ? ')' : *at);
	return len;
}

static int unix_text(const struct visit_resource *r, char *out, size_t size)
{
	size_t len = r->len < UNIX_PATH_MAX ? r->len : UNIX_PATH_MAX;
	bool abstract = len > 0 && r->text[0] == '\0';

	if (len <= abstract)
		return 0;
	return without_brackets(out,
		snprintf(out, size, "unix %s%.*s", abstract ? "@" : "", (int)(len - abstract),
			r->text + abstract));
}

static int file_text(const struct visit_resource *r, char *out, size_t size)
{
	size_t parts = r->len < RESOURCE_PARTS ? r->len : RESOURCE_PARTS;
	int len = snprintf(out, size, "file %s", r->more ? "..." : "");

	for (size_t i = parts; i-- > 0;)
		len += snprintf(out + len, size - (size_t)len, "/%.*s%s", RESOURCE_PART - 1,
			r->parts[i], r->cut >> i & 1 ? "..." : "");
	return parts > 0 ? without_brackets(out, len) : 0;
}

size_t resource_text(const struct visit_resource *r, char *out, size_t size)
{
	int len = 0;

	if (r->kind == RESOURCE_INET)
		len = inet_text(r, out, size);
	else if (r->kind == RESOURCE_UNIX)
		len = unix_text(r, out, size);
	else if (r->kind == RESOURCE_FILE)
		len = file_text(r, out, size);
	else if (r->kind == RESOURCE_FUTEX)
		len = snprintf(out, size, "futex 0x%llx", (unsigned long long)r->futex);
	else if (r->kind == RESOURCE_TIME)
		len = snprintf(out, size, "%s", time_text);
	return len > 0 ? (size_t)len : 0;
}

bool resource_is_peer(const char *text)
{
	static const char *const kinds[] = { "tcp ", "udp ", "sctp " };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strncmp(text, kinds[i], strlen(kinds[i])) == 0)
			return text[strlen(kinds[i])] != ':';
	return false;
}

bool resource_is_time(const char *text)
{
	return strcmp(text, time_text) == 0;
}

bool resource_is_futex(const char *text)
{
	return strncmp(text, "futex ", 6) == 0;
}

bool resource_fits(const char *text, const char *state)
{
	bool socket = strcmp(state, PROFILE_BLOCKED_SOCKET) == 0 ||
		strcmp(state, PROFILE_BLOCKED_ACCEPT) == 0;

	return !resource_is_time(text) && (!socket || strncmp(text, "file ", 5) != 0);
}
