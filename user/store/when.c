/* SPDX-License-Identifier: Apache-2.0 */
/* store/when.c - tries each notation on the whole text. mktime turns a date that does not exist
 * into another one, so its result is compared with the input. */
#include "store/when.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/own.h"

#define DAY_SECONDS 86400

static const char *const dates[] = { "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S",
	"%Y-%m-%dT%H:%M", "%Y-%m-%d" };
static const char *const times[] = { "%H:%M:%S", "%H:%M" };

static const struct {
	char letter;
	uint64_t seconds;
} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', DAY_SECONDS } };

static bool parse_ago(const char *text, uint64_t now_ns, uint64_t *out)
{
	char *end;
	uint64_t n;

	text += text[0] == '-';
	n = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || end == text || strlen(end) != 1)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (units[i].letter != *end)
			continue;
		if (n > now_ns / NSEC_PER_SEC / units[i].seconds)
			*out = 0;
		else
			*out = now_ns - n * units[i].seconds * NSEC_PER_SEC;
		return true;
	}
	return false;
}

static bool parse_epoch(const char *text, uint64_t *out)
{
	uint64_t n, part = 0, unit = NSEC_PER_SEC;
	char *end;

	if (text[0] != '@' || text[1] < '0' || text[1] > '9')
		return false;
	n = strtoull(text + 1, &end, 10);
	if (*end == '.')
		for (end++; *end >= '0' && *end <= '9'; end++, unit /= 10)
			part += (uint64_t)(*end - '0') * (unit / 10);
	if (*end || n >= UINT64_MAX / NSEC_PER_SEC)
		return false;
	*out = n * NSEC_PER_SEC + part;
	return true;
}

static bool to_ns(struct tm *tm, bool utc, uint64_t *out)
{
	struct tm asked = *tm;
	time_t seconds;

	tm->tm_isdst = -1;
	seconds = utc ? timegm(tm) : mktime(tm);
	if (seconds < 0 || tm->tm_mday != asked.tm_mday || tm->tm_mon != asked.tm_mon)
		return false;
	*out = (uint64_t)seconds * NSEC_PER_SEC;
	return true;
}

/* The end of what a format took of a text; a Z may follow. */
static bool at_end(const char *end, bool *utc)
{
	*utc = end && strcmp(end, "Z") == 0;
	return end && (*utc || *end == '\0');
}

static bool parse_date(const char *text, uint64_t *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(dates); i++) {
		struct tm tm = { 0 };
		bool utc;

		if (at_end(strptime(text, dates[i], &tm), &utc))
			return to_ns(&tm, utc, out);
	}
	return false;
}

static void today(uint64_t now_ns, bool utc, struct tm *tm)
{
	time_t now = (time_t)(now_ns / NSEC_PER_SEC);

	if (utc)
		gmtime_r(&now, tm);
	else
		localtime_r(&now, tm);
	tm->tm_sec = 0;
}

/* The midnight that they began with. */
static bool parse_day(const char *text, uint64_t now_ns, uint64_t *out)
{
	bool yesterday = strcmp(text, "yesterday") == 0;
	struct tm day;

	if (!yesterday && strcmp(text, "today") != 0)
		return false;
	today(now_ns, false, &day);
	day.tm_hour = day.tm_min = 0;
	if (!to_ns(&day, false, out))
		return false;
	/* Noon of the day before, as a day need not have 24 hours. */
	if (yesterday) {
		today(*out - DAY_SECONDS / 2 * NSEC_PER_SEC, false, &day);
		day.tm_hour = day.tm_min = 0;
		return to_ns(&day, false, out);
	}
	return true;
}

/* The last time that it was so late. */
static bool parse_time(const char *text, uint64_t now_ns, uint64_t *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		struct tm tm = { 0 }, day;
		bool utc;

		if (!at_end(strptime(text, times[i], &tm), &utc))
			continue;
		today(now_ns, utc, &day);
		day.tm_hour = tm.tm_hour;
		day.tm_min = tm.tm_min;
		day.tm_sec = tm.tm_sec;
		if (!to_ns(&day, utc, out))
			return false;
		if (*out > now_ns)
			*out -= DAY_SECONDS * NSEC_PER_SEC;
		return true;
	}
	return false;
}

int when_parse(const char *text, uint64_t now_ns, uint64_t *out, struct why *why)
{
	if (strcmp(text, "now") == 0) {
		*out = now_ns;
		return 0;
	}
	if (parse_ago(text, now_ns, out) || parse_epoch(text, out) || parse_date(text, out) ||
		parse_time(text, now_ns, out) || parse_day(text, now_ns, out))
		return 0;
	return why_set(why, -EINVAL,
		"%s is not a time; write 2h (ago), today, 03:12, 2026-11-21 03:12, the same with Z "
		"for UTC, or @EPOCH",
		text);
}
