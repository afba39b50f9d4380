/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/wall_kind.c - a kind of values in nanoseconds, beside the CPU samples. */
#include "waiting/wall_kind.h"

#include <errno.h>
#include <string.h>

#include "profile/profile.h"
#include "sampler/warnings.h"
#include "waiting/walls.h"

int wall_open(const struct walls_options *options, struct sampler *sampler, struct tally *tally,
	struct containers *containers, struct warnings *warnings, struct walls **out,
	struct why *why)
{
	struct why lacks;
	int err = walls_open(options, sampler, tally, containers, out, why);

	if (err < 0 && err != -ENOMEM && options->optional) {
		why_set(&lacks, 0, "threads that wait have no stacks: %s", why->text);
		warnings_add(warnings, lacks.text);
		return 0;
	}
	if (err < 0 || !walls_lacks(*out))
		return err;
	why_set(&lacks, 0, "threads that wait have their kernel halves only: %s",
		walls_lacks(*out));
	warnings_add(warnings, lacks.text);
	return 0;
}

int wall_flush(struct walls *walls, bool stopped, struct profile *profile, uint32_t *kind)
{
	int err;

	if (!walls)
		return 0;
	err = profile_kind(profile, PROFILE_WALL, strlen(PROFILE_WALL), kind);
	if (err == 0)
		err = profile_string(
			profile, PROFILE_NANOSECONDS, &profile->kinds[*kind].unit);
	if (err < 0)
		return err;
	return stopped ? walls_flush(walls) : walls_end(walls);
}
