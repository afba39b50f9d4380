/* SPDX-License-Identifier: Apache-2.0 */
/* profile/fit.h - limits a profile's text, so that it fits in memory and on disk.
 * A name may have 4096 bytes and a stack hundreds of frames, and a program chooses both. Accounts
 * share the limits by base/share.h: only those above their share lose names, and only their own. */
#pragma once

#include "profile/profile.h"

#define PROFILE_TEXT_MAX (64UL << 20) /* total of all stacks that do not read the same */

/* Whose each sample is: an account for each id of labels. Samples of other labels are account 0's.
 */
struct fit_accounts {
	const uint64_t *by_labels;
	size_t len;
};

struct fit_limits {
	uint64_t text_max;   /* bytes of all stacks and labels that do not read the same */
	uint64_t stored_max; /* the same without what repeats: an estimate of the packed size; 0:
				none */
};

struct fit_result {
	uint64_t names_cut;        /* names of more than 1024, 256 or 96 bytes, cut to that */
	/* CPU samples that lost their stacks, and 1 for each stack of another kind. */
	uint64_t samples_left_out;
	uint32_t largest;          /* labels of the account that lost most; UINT32_MAX: none did */
};

/* Cuts the long names of accounts above their share, with `...` at the end, as little as it takes.
 * If that is not enough, their smallest samples get one stack for all, of the mark
 * PROFILE_NAMES_LEFT_OUT, and labels without what the program itself chose. Two samples may have
 * the same stack and labels afterwards: do not add to the profile. 0; -ENOMEM: the profile may be
 * changed in part. */
int profile_fit(struct profile *profile, const struct fit_accounts *accounts,
	const struct fit_limits *limits, struct fit_result *out);
