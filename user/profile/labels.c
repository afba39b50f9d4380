/* SPDX-License-Identifier: Apache-2.0 */
/* profile/labels.c - a set is a short sorted list, so equal sets have equal bytes, and a well-known
 * label is found in the first few entries. */
#include "profile/labels.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "profile/jit_code.h"
#include "profile/profile.h"

static const char *const known[PROFILE_KEYS] = {
	[PROFILE_KEY_CONTAINER] = "container",
	[PROFILE_KEY_POD] = "pod",
	[PROFILE_KEY_NAMESPACE] = "namespace",
	[PROFILE_KEY_IMAGE] = "image",
	[PROFILE_KEY_UNIT] = "unit",
	[PROFILE_KEY_COMM] = "comm",
	[PROFILE_KEY_PID] = "pid",
	[PROFILE_KEY_TID] = "tid",
	[PROFILE_KEY_CPU] = "cpu",
};

/* ---- keys ------------------------------------------------------------------------------------ */

bool profile_key_is_number(uint32_t key)
{
	return key >= PROFILE_KEY_PID && key < PROFILE_KEYS;
}

static bool is_text(const char *text, const char *name, size_t len)
{
	return strlen(text) == len && memcmp(text, name, len) == 0;
}

uint32_t profile_key_known(const char *name, size_t len)
{
	for (uint32_t key = 0; key < PROFILE_KEYS; key++)
		if (is_text(known[key], name, len))
			return key;
	return PROFILE_NO_KEY;
}

bool profile_key_is_name(const char *name, size_t len)
{
	if (len == 0 || len > PROFILE_KEY_BYTES_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = name[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
		bool other = (c >= '0' && c <= '9') || (c != '\0' && strchr(".:/-", c));

		if (!letter && (i == 0 || !other))
			return false;
	}
	return true;
}

bool profile_key_word(const char *word, size_t len, const char **name, size_t *name_len)
{
	size_t prefix = strlen(PROFILE_FREE_PREFIX);
	bool has = len > prefix && memcmp(word, PROFILE_FREE_PREFIX, prefix) == 0;

	*name = has ? word + prefix : word;
	*name_len = has ? len - prefix : len;
	return has ? profile_key_is_name(*name, *name_len)
		   : profile_key_known(word, len) != PROFILE_NO_KEY;
}

const char *profile_key_name(const struct profile *p, uint32_t key)
{
	return key < PROFILE_KEYS ? known[key]
				  : profile_text(p, p->free_keys.data[key - PROFILE_KEYS]);
}

uint32_t profile_key_find(const struct profile *p, const char *name, size_t len)
{
	uint32_t key = profile_key_known(name, len);

	for (uint32_t i = 0; key == PROFILE_NO_KEY && i < p->free_keys.len; i++)
		if (is_text(profile_text(p, p->free_keys.data[i]), name, len))
			key = PROFILE_KEYS + i;
	return key;
}

/* Finds or makes a key. *key is PROFILE_NO_KEY if that is not possible. */
static int put_key(struct profile *p, const char *name, size_t len, uint32_t *key)
{
	uint32_t *slot;

	*key = profile_key_find(p, name, len);
	if (*key != PROFILE_NO_KEY || !profile_key_is_name(name, len) ||
		PROFILE_KEYS + p->free_keys.len >= PROFILE_KEYS_MAX)
		return 0;
	slot = vec_add(&p->free_keys);
	if (!slot || strtab_put(&p->strings, name, len, slot) < 0)
		return -ENOMEM;
	*key = PROFILE_KEYS + (uint32_t)p->free_keys.len - 1;
	return 0;
}

/* ---- a set that is being made ---------------------------------------------------------------- */

static uint32_t find_place(const struct profile_labels *labels, uint32_t key)
{
	uint32_t at = 0;

	while (at < labels->len && labels->list[at].key < key)
		at++;
	return at;
}

static void remove_label(struct profile_labels *labels, uint32_t key)
{
	uint32_t at = find_place(labels, key);

	if (at == labels->len || labels->list[at].key != key)
		return;
	labels->len--;
	memmove(&labels->list[at], &labels->list[at + 1],
		(labels->len - at) * sizeof(*labels->list));
}

static uint32_t count_free(const struct profile_label *list, uint32_t len)
{
	uint32_t count = 0;

	while (count < len && list[len - 1 - count].key >= PROFILE_KEYS)
		count++;
	return count;
}

/* False: the set has all the free labels that it may have. */
static bool set_label(struct profile_labels *labels, uint32_t key, uint32_t value)
{
	uint32_t at = find_place(labels, key);

	if (at == labels->len || labels->list[at].key != key) {
		if (key >= PROFILE_KEYS &&
			count_free(labels->list, labels->len) == PROFILE_FREE_MAX)
			return false;
		memmove(&labels->list[at + 1], &labels->list[at],
			(labels->len - at) * sizeof(*labels->list));
		labels->len++;
	}
	labels->list[at] = (struct profile_label){ key, value };
	return true;
}

void profile_labels_set(struct profile_labels *labels, uint32_t key, uint32_t string)
{
	assert(key < PROFILE_KEY_PID);
	if (string == 0)
		remove_label(labels, key);
	else
		set_label(labels, key, string);
}

void profile_labels_set_number(struct profile_labels *labels, uint32_t key, int32_t number)
{
	assert(profile_key_is_number(key));
	if (number < 0)
		remove_label(labels, key);
	else
		set_label(labels, key, (uint32_t)number);
}

int profile_labels_text(
	struct profile *p, struct profile_labels *labels, uint32_t key, const char *text)
{
	uint32_t string;
	int err = profile_string(p, text, &string);

	if (err == 0)
		profile_labels_set(labels, key, string);
	return err;
}

/* Digits alone; -1: it is no such number. */
static int32_t number_of(const char *text, size_t len)
{
	int64_t number = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		number = number * 10 + (text[i] - '0');
		if (number > INT32_MAX)
			return -1;
	}
	return len > 0 ? (int32_t)number : -1;
}

/* No character is cut in two. */
static size_t value_len_of(struct profile *p, const char *value, size_t len)
{
	if (len <= PROFILE_VALUE_BYTES_MAX)
		return len;
	p->labels_cut++;
	len = PROFILE_VALUE_BYTES_MAX;
	while (len > 0 && ((unsigned char)value[len] & 0xc0) == 0x80)
		len--;
	return len;
}

int profile_labels_put(struct profile *p, struct profile_labels *labels, const char *name,
	size_t name_len, const char *value, size_t value_len)
{
	uint32_t key, string;
	int err = put_key(p, name, name_len, &key);

	if (err < 0)
		return err;
	if (profile_key_is_number(key)) {
		profile_labels_set_number(labels, key, number_of(value, value_len));
		return 0;
	}
	if (key == PROFILE_NO_KEY) {
		p->labels_cut++;
		return 0;
	}
	err = strtab_put(&p->strings, value,
		key < PROFILE_KEYS ? value_len : value_len_of(p, value, value_len), &string);
	if (err < 0)
		return err;
	if (string == 0)
		remove_label(labels, key);
	else if (!set_label(labels, key, string))
		p->labels_cut++;
	return 0;
}

/* ---- interned sets --------------------------------------------------------------------------- */

static bool is_same(const struct profile *p, uint64_t at, const struct profile_labels *labels)
{
	const struct profile_label_set *set = &p->labels.data[at];

	return set->len == labels->len &&
		(set->len == 0 ||
			memcmp(p->label_list.data + set->first, labels->list,
				set->len * sizeof(*labels->list)) == 0);
}

static int add_set(struct profile *p, const struct profile_labels *labels)
{
	size_t first = p->label_list.len;
	struct profile_label_set *slot = vec_add(&p->labels);

	if (!slot || vec_reserve(&p->label_list, first + labels->len) < 0)
		return -ENOMEM;
	*slot = (struct profile_label_set){ (uint32_t)first, labels->len };
	if (labels->len > 0)
		memcpy(p->label_list.data + first, labels->list,
			labels->len * sizeof(*labels->list));
	p->label_list.len += labels->len;
	return 0;
}

int profile_labels(struct profile *p, const struct profile_labels *labels, uint32_t *id)
{
	struct profile_labels plain = *labels;
	uint64_t key, *have;

	for (uint32_t i = 0; i < plain.len; i++)
		if (!profile_key_is_number(plain.list[i].key) &&
			(profile_plain(p, &plain.list[i].value) < 0 ||
				jit_code_guard(p, &plain.list[i].value) < 0))
			return -ENOMEM;
	key = hash_bytes(plain.list, plain.len * sizeof(*plain.list));
	for (; (have = hash_find(&p->label_index, key)); key++) {
		if (is_same(p, *have, &plain)) {
			*id = (uint32_t)*have;
			return 0;
		}
	}
	if (add_set(p, &plain) < 0 || hash_put(&p->label_index, key, p->labels.len - 1) < 0)
		return -ENOMEM;
	*id = (uint32_t)p->labels.len - 1;
	return 0;
}

void profile_labels_get(const struct profile *p, uint32_t id, struct profile_labels *out)
{
	const struct profile_label_set *set = &p->labels.data[id];

	*out = (struct profile_labels){ .len = set->len };
	if (set->len > 0)
		memcpy(out->list, p->label_list.data + set->first, set->len * sizeof(*out->list));
}

static const struct profile_label *find_label(const struct profile *p, uint32_t id, uint32_t key)
{
	const struct profile_label_set *set = &p->labels.data[id];

	for (uint32_t i = 0; i < set->len; i++)
		if (p->label_list.data[set->first + i].key == key)
			return &p->label_list.data[set->first + i];
	return NULL;
}

uint32_t profile_label(const struct profile *p, uint32_t id, uint32_t key)
{
	const struct profile_label *label = find_label(p, id, key);

	return label ? label->value : 0;
}

int32_t profile_label_number(const struct profile *p, uint32_t id, uint32_t key)
{
	const struct profile_label *label = find_label(p, id, key);

	return label ? (int32_t)label->value : -1;
}

const char *profile_label_text(const struct profile *p, uint32_t id, uint32_t key)
{
	return profile_text(p, profile_label(p, id, key));
}

uint32_t profile_labels_free(const struct profile *p, uint32_t id)
{
	const struct profile_label_set *set = &p->labels.data[id];

	return set->len > 0 ? count_free(p->label_list.data + set->first, set->len) : 0;
}

int profile_labels_put_idle(struct profile *p, struct profile_labels *set)
{
	return profile_labels_put(p, set, PROFILE_IDLE_KEY, strlen(PROFILE_IDLE_KEY), "yes", 3);
}

bool profile_labels_idle(const struct profile *p, uint32_t id)
{
	uint32_t key = profile_key_find(p, PROFILE_IDLE_KEY, strlen(PROFILE_IDLE_KEY));

	return key != PROFILE_NO_KEY && *profile_label_text(p, id, key);
}
