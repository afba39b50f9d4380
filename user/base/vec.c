/* SPDX-License-Identifier: Apache-2.0 */
/* base/vec.c - the one function behind the vec_ macros. */
#include "base/vec.h"

#include <string.h>

#define VEC_CAP_MIN 8

void *vec_grow(void **data, size_t *len, size_t *cap, size_t size)
{
	char *item;

	if (*len == *cap) {
		size_t more = *cap ? *cap * 2 : VEC_CAP_MIN;
		void *grown = reallocarray(*data, more, size);

		if (!grown)
			return NULL;
		*data = grown;
		*cap = more;
	}
	item = (char *)*data + *len * size;
	memset(item, 0, size);
	(*len)++;
	return item;
}
