/* SPDX-License-Identifier: Apache-2.0 */
/* profile/labels.h - the origin of samples: sets of keys and values, each set interned once.
 * Well-known keys have fixed ids and come first in a set. All other keys are free: a profile gives
 * them ids from PROFILE_KEYS on, by first use. The limits hold for free labels alone; labels beyond
 * them are left out and counted (profile.labels_cut). Whoever adds labels that programs choose has
 * to share the keys of a profile among their accounts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

/* Texts first, then numbers. */
enum profile_key {
	PROFILE_KEY_CONTAINER,
	PROFILE_KEY_POD,
	PROFILE_KEY_NAMESPACE,
	PROFILE_KEY_IMAGE,
	PROFILE_KEY_UNIT,
	PROFILE_KEY_COMM,
	PROFILE_KEY_PID,
	PROFILE_KEY_TID,
	PROFILE_KEY_CPU,
	PROFILE_KEYS,
};

#define PROFILE_NO_KEY UINT32_MAX
#define PROFILE_KEYS_MAX 64         /* of a profile, with the well-known ones */
#define PROFILE_FREE_MAX 16         /* free labels of one set */
#define PROFILE_KEY_BYTES_MAX 64    /* of a free key */
#define PROFILE_VALUE_BYTES_MAX 256 /* of a free label's value */

struct profile_label {
	uint32_t key;
	uint32_t value; /* string; of PROFILE_KEY_PID, TID and CPU the number */
};

/* A set that is being made, by rising key. Zeroed: empty. */
struct profile_labels {
	struct profile_label list[PROFILE_KEYS + PROFILE_FREE_MAX];
	uint32_t len;
};

struct profile_label_set {
	uint32_t first; /* in profile.label_list */
	uint32_t len;
};

bool profile_key_is_number(uint32_t key);
/* The well-known key of that name, or PROFILE_NO_KEY. */
uint32_t profile_key_known(const char *name, size_t len);
/* Letters, digits and `_.:/-`, the first of them a letter or `_`; PROFILE_KEY_BYTES_MAX at most. */
bool profile_key_is_name(const char *name, size_t len);
/* A word of a list of keys, as in --by: a well-known key, or PROFILE_FREE_PREFIX and a name.
 * *name is its name, a part of the word. False: neither. */
#define PROFILE_FREE_PREFIX "label:"
bool profile_key_word(const char *word, size_t len, const char **name, size_t *name_len);
const char *profile_key_name(const struct profile *profile, uint32_t key);
/* PROFILE_NO_KEY: no set of the profile has such a key. */
uint32_t profile_key_find(const struct profile *profile, const char *name, size_t len);

/* Sets a label of the set. Unknown, which is the string "" or a number below 0, removes it. */
void profile_labels_set(struct profile_labels *labels, uint32_t key, uint32_t string);
void profile_labels_set_number(struct profile_labels *labels, uint32_t key, int32_t number);
/* The same with a text. */
int profile_labels_text(
	struct profile *profile, struct profile_labels *labels, uint32_t key, const char *text);
/* The same with a key of any name. Counts a label that a limit leaves out, and one whose key is no
 * name. Longer values are cut. 0 or -ENOMEM. */
int profile_labels_put(struct profile *profile, struct profile_labels *labels, const char *name,
	size_t name_len, const char *value, size_t value_len);

/* Interns a set. */
int profile_labels(struct profile *profile, const struct profile_labels *labels, uint32_t *id);
/* A copy to change. */
void profile_labels_get(const struct profile *profile, uint32_t id, struct profile_labels *out);
/* A label of a set: a string's id, 0 if it is unknown; a number, -1 if it is unknown. */
uint32_t profile_label(const struct profile *profile, uint32_t id, uint32_t key);
int32_t profile_label_number(const struct profile *profile, uint32_t id, uint32_t key);
/* The text of profile_label. */
const char *profile_label_text(const struct profile *profile, uint32_t id, uint32_t key);
/* The label of a thread that waits for work, as workers of pools and event loops do. */
#define PROFILE_IDLE_KEY "idle"
int profile_labels_put_idle(struct profile *profile, struct profile_labels *set);
bool profile_labels_idle(const struct profile *profile, uint32_t id);
/* Has the set free labels, and how many? */
uint32_t profile_labels_free(const struct profile *profile, uint32_t id);
