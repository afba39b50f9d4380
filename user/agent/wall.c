/* SPDX-License-Identifier: Apache-2.0 */
/* agent/wall.c - a kind of values in nanoseconds, beside the CPU samples. */
#include "agent/wall.h"

#include <errno.h>
#include <string.h>

#include "agent/agent.h"
#include "profile/profile.h"
#include "sampler/warnings.h"
#include "waiting/walls.h"

int wall_open(const struct agent_options *options, struct sampler *sampler, struct tally *tally,
	struct containers *containers, struct warnings *warnings, struct walls **out,
	struct why *why)
{
	const struct walls_options walls = { options->wall_hz,
		options->wall_part ? options->wall_part : WALLS_CAPTURE_PART,
		options->sampler.user, options->wall_spans_ns };
	struct why lacks;
	int err = walls_open(&walls, sampler, tally, containers, out, why);

	if (err < 0 && err != -ENOMEM && options->wall_optional) {
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

int wall_flush(struct walls *walls, struct profile *profile, uint32_t *kind)
{
	int err;

	if (!walls)
		return 0;
	err = profile_kind(profile, PROFILE_WALL, strlen(PROFILE_WALL), kind);
	if (err == 0)
		err = profile_string(
			profile, PROFILE_NANOSECONDS, &profile->kinds[*kind].unit);
	return err < 0 ? err : walls_flush(walls);
}
