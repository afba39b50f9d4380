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

void languages_describe(
	struct publish *publish, struct object *object, const struct worker_rows *rows)
{
	struct language language;

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

const struct hotspot_facts *objects_hotspot(const struct objects *objects, uint64_t ino)
{
	const struct hotspot_facts *found = NULL;
	const struct object *object;

	for (size_t i = 0; (object = objects_at(objects, i)); i++) {
		if (!object->hotspot || object->key.ino != ino)
			continue;
		if (found)
			return NULL;
		found = object->hotspot;
	}
	return found;
}
