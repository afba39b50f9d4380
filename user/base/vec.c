/* SPDX-License-Identifier: Apache-2.0 */
/* base/vec.c - the functions of the vec_ macros. */
#include "base/vec.h"

#include <errno.h>
#include <string.h>

#define VEC_CAP_MIN 8

int vec_make_room(void **data, size_t *cap, size_t size, size_t cap_min)
{
	size_t more = *cap ? *cap : VEC_CAP_MIN;
	void *grown;

	if (*cap >= cap_min)
		return 0;
	while (more < cap_min)
		more *= 2;
	grown = reallocarray(*data, more, size);
	if (!grown)
		return -ENOMEM;
	*data = grown;
	*cap = more;
	return 0;
}

void *vec_grow(void **data, size_t *len, size_t *cap, size_t size)
{
	char *item;

	if (vec_make_room(data, cap, size, *len + 1) < 0)
		return NULL;
	item = (char *)*data + *len * size;
	memset(item, 0, size);
	(*len)++;
	return item;
}
