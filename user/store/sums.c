/* SPDX-License-Identifier: Apache-2.0 */
/* store/sums.c - an account has numbers in objects, three deep (ticks.lost.REASON). Deeper values,
 * lists and texts stay as they are. */
#include "store/sums.h"

#include <stdbool.h>
#include <string.h>

#define DEPTH 3
#define PAIRS_MAX 64 /* objects in objects: an account has a dozen */

static bool is_level(const char *key)
{
	return strstr(key, "max") || strstr(key, "hz") || strstr(key, "_ppm") ||
		strcmp(key, "cpus") == 0 || strcmp(key, "memory_bytes") == 0 ||
		strcmp(key, "start_us") == 0;
}

static json_t *combined(const char *key, json_t *a, json_t *b, int sign)
{
	bool keep = sign < 0 && is_level(key), larger = sign > 0 && is_level(key);

	if (json_is_integer(a) && json_is_integer(b)) {
		json_int_t x = json_integer_value(a), y = json_integer_value(b);

		if (keep || larger)
			return json_integer(larger && y > x ? y : x);
		return json_integer(sign > 0 ? x + y : x - y);
	}
	if (json_is_number(a) && json_is_number(b)) {
		double x = json_number_value(a), y = json_number_value(b);

		if (keep || larger)
			return json_real(larger && y > x ? y : x);
		return json_real(x + sign * y);
	}
	return NULL;
}

/* Two objects of the same place. */
struct pair {
	json_t *to, *from;
	unsigned int depth;
};

struct pairs {
	struct pair list[PAIRS_MAX];
	size_t len;
};

static void combine_one(
	struct pairs *todo, const struct pair *at, const char *key, json_t *other, int sign)
{
	json_t *have = json_object_get(at->to, key), *made;

	if (!have) {
		if (sign > 0)
			json_object_set(at->to, key, other);
	} else if (json_is_object(have) && json_is_object(other)) {
		if (at->depth < DEPTH && todo->len < PAIRS_MAX)
			todo->list[todo->len++] = (struct pair){ have, other, at->depth + 1 };
	} else {
		made = combined(key, have, other, sign);
		if (made)
			json_object_set_new(at->to, key, made);
	}
}

static void combine(json_t *to, json_t *from, int sign)
{
	struct pairs todo = { .list = { { to, from, 1 } }, .len = 1 };

	while (todo.len > 0) {
		struct pair at = todo.list[--todo.len];
		const char *key;
		json_t *other;

		json_object_foreach (at.from, key, other) {
			combine_one(&todo, &at, key, other, sign);
		}
	}
}

void sums_add(json_t *to, json_t *more)
{
	combine(to, more, 1);
}

void sums_subtract(json_t *to, json_t *less)
{
	combine(to, less, -1);
}
