/* SPDX-License-Identifier: Apache-2.0 */
/* base/own.h - ownership that a reader can check inside one function.
 * A local that owns something is declared with _cleanup_ and initialised at once;
 * what leaves the function is written TAKE_PTR. */
#pragma once

#include <stddef.h>
#include <stdlib.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

#define TAKE_PTR(p)                            \
	({                                     \
		__typeof__(p) *_slot = &(p);   \
		__typeof__(p) _taken = *_slot; \
		*_slot = NULL;                 \
		_taken;                        \
	})

/* Makes xp(): the cleanup for `T *x`, from a free function that accepts NULL. */
#define DEFINE_CLEANUP(T, free_fn)              \
	static inline void free_fn##p(T **slot) \
	{                                       \
		free_fn(*slot);                 \
	}

static inline void freep(void *slot)
{
	free(*(void **)slot);
}

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
