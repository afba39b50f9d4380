/* SPDX-License-Identifier: Apache-2.0 */
/* files/languages.c - a worker says of a file numbers that BPF adds to addresses of the process
 * alone: false ones spoil the names of the processes that map the file. */
#include "files/languages.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/worker_rows.h"
#include "files/object.h"
#include "files/objects.h"
#include "language/cpython.h"
#include "unwind/publish.h"
#include "wire/mappings.h"

#ifndef STOKER_NATIVE_ONLY
#define STOKER_NATIVE_ONLY 0 /* 1: tools/bench measures native frames alone */
#endif

void languages_describe(
	struct publish *publish, struct object *object, const struct worker_rows *rows)
{
	struct language language;

	if (STOKER_NATIVE_ONLY)
		return;
	if (rows->contents & WORKER_HAS_HEAPS) {
		free(object->hotspot);
		object->hotspot = malloc(sizeof(*object->hotspot));
		if (object->hotspot)
			*object->hotspot = rows->hotspot;
	}
	/* Without a place for its description a runtime has native frames. */
	if ((rows->contents & WORKER_IS_CPYTHON) && cpython_describe(&rows->cpython, &language))
		(void)publish_language(
			publish, &object->key, object->id, object->payer, &language);
}

bool languages_note(const struct worker_rows *rows, char *out, size_t size)
{
	struct language language;

	if (rows->contents & WORKER_HAS_HEAPS) {
		snprintf(out, size, "HotSpot: the code that it makes is walked and named");
		return true;
	}
	if (!(rows->contents & WORKER_IS_CPYTHON))
		return false;
	snprintf(out, size, "CPython 3.%u: %s", rows->cpython.version,
		cpython_describe(&rows->cpython, &language)
			? "its functions are walked and named"
			: "this build is not known, so frames of its interpreter are shown");
	return true;
}

/* Anyone can make a file with the number of another one, on another device. A mapping of a file on
 * an overlay may have another device than the file: there the number must be of one file alone, or
 * of one alone that the account has brought. */
const struct hotspot_facts *objects_hotspot(
	const struct objects *objects, const struct mappings_library *jvm, uint64_t account)
{
	const struct hotspot_facts *any = NULL, *own = NULL;
	const struct object *object;
	size_t any_len = 0, own_len = 0;

	for (size_t i = 0; (object = objects_at(objects, i)); i++) {
		if (!object->hotspot || object->key.ino != jvm->ino)
			continue;
		if (object->key.dev == jvm->dev)
			return object->hotspot;
		any = object->hotspot;
		any_len++;
		if (object->payer == account) {
			own = object->hotspot;
			own_len++;
		}
	}
	if (any_len == 1)
		return any;
	return own_len == 1 ? own : NULL;
}
