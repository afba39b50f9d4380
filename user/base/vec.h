/* SPDX-License-Identifier: Apache-2.0 */
/* base/vec.h - a typed growable array.
 *     VEC(struct row) rows = { 0 };
 *     struct row *row = vec_add(&rows);      NULL when memory is out
 *     vec_each(&rows, r) use(r);
 *     vec_done(&rows);
 * Pointers into it are valid until the next vec_add. */
#pragma once

#include <stddef.h>
#include <stdlib.h>

#define VEC(T)              \
	struct {            \
		T *data;    \
		size_t len; \
		size_t cap; \
	}

/* Adds one element, zeroed; NULL: no memory. */
#define vec_add(v)                        \
	((__typeof__((v)->data))vec_grow( \
		(void **)&(v)->data, &(v)->len, &(v)->cap, sizeof(__typeof__(*(v)->data))))

/* Reserves room for cap_min elements in all, so that vec_add cannot fail up to there. 0 or
 * -ENOMEM. */
#define vec_reserve(v, cap_min) \
	vec_make_room((void **)&(v)->data, &(v)->cap, sizeof(__typeof__(*(v)->data)), cap_min)

#define vec_done(v)                      \
	do {                             \
		free((v)->data);         \
		(v)->data = NULL;        \
		(v)->len = (v)->cap = 0; \
	} while (0)

#define vec_each(v, it)                                                                          \
	for (__typeof__(&*(v)->data) it = (v)->data,                                             \
				     it##_end = (v)->len > 0 ? (v)->data + (v)->len : (v)->data; \
		it < it##_end; it++)

void *vec_grow(void **data, size_t *len, size_t *cap, size_t size);
int vec_make_room(void **data, size_t *cap, size_t size, size_t cap_min);
