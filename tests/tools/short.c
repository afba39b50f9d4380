/* SPDX-License-Identifier: Apache-2.0 */
/* short.c - stoker whose memory for stacks and tasks is full but for 10 MB from the beginning.
 * Linked with --wrap, it takes the place of the function below and calls the real one. */
#include <linux/types.h>

#include "sampler/sampler.h"
#include "sampler/tally.h"

#define LEFT_BYTES (10UL << 20)

int __real_sampler_open(const struct sampler_options *options, const struct sampler_events *events,
	void *ctx, struct tally *tally, struct sampler **out, struct why *why);
int __wrap_sampler_open(const struct sampler_options *options, const struct sampler_events *events,
	void *ctx, struct tally *tally, struct sampler **out, struct why *why);

int __wrap_sampler_open(const struct sampler_options *options, const struct sampler_events *events,
	void *ctx, struct tally *tally, struct sampler **out, struct why *why)
{
	tally->bytes = TALLY_BYTES_MAX - LEFT_BYTES;
	return __real_sampler_open(options, events, ctx, tally, out, why);
}
