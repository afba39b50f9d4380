/* SPDX-License-Identifier: Apache-2.0 */
/* store/name.c - names are in UTC: they have no gap when summer time begins. */
#include "store/name.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define TIME_LEN 20 /* of 20261121T094000.000Z without the Z */

void store_name(uint64_t start_ns, uint64_t end_ns, unsigned int number, char out[STORE_NAME_MAX])
{
	time_t seconds = (time_t)(start_ns / NSEC_PER_SEC);
	char when[32], again[16] = "";
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &tm);
	if (number > 1)
		snprintf(again, sizeof(again), "-%u", number);
	snprintf(out, STORE_NAME_MAX, "%s.%03uZ-%llus%s" STORE_NAME_ENDING, when,
		(unsigned int)(start_ns % NSEC_PER_SEC / NSEC_PER_MSEC),
		(unsigned long long)((end_ns - start_ns + NSEC_PER_SEC / 2) / NSEC_PER_SEC), again);
}

bool store_name_is_segment(const char *name)
{
	size_t len = strlen(name), ending = strlen(STORE_NAME_ENDING);

	return len < STORE_NAME_MAX && len > TIME_LEN + ending && name[8] == 'T' &&
		name[TIME_LEN - 1] == 'Z' && strcmp(name + len - ending, STORE_NAME_ENDING) == 0;
}
