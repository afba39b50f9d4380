/* SPDX-License-Identifier: Apache-2.0 */
/* waiting/wall_kind.h - a capture's visits to threads that wait, and what becomes of them in a
 * profile. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct containers;
struct profile;
struct sampler;
struct tally;
struct walls;
struct walls_options;
struct warnings;

/* A warning says if waits have no user halves. With why: there can be no visits, and the capture
 * would be another than was asked for. */
int wall_open(const struct walls_options *options, struct sampler *sampler, struct tally *tally,
	struct containers *containers, struct warnings *warnings, struct walls **out,
	struct why *why);
/* An interval ends: the waits go into the tally, and the profile gets their kind. stopped: no
 * thread is visited any more. walls NULL: nothing is done. 0 or -ENOMEM. */
int wall_flush(struct walls *walls, bool stopped, struct profile *profile, uint32_t *kind);
