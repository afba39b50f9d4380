/* SPDX-License-Identifier: Apache-2.0 */
/* The hash table against a plain array that does the same. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/own.h"

#define KEYS 512

static void puts_and_dels_in_any_order_agree_with_an_array(void **state)
{
	struct hash hash = HASH_INIT;
	uint64_t model[KEYS] = { 0 };
	size_t len = 0;

	(void)state;
	srand(1);
	for (unsigned int i = 1; i < 200000; i++) {
		uint64_t key = (uint64_t)rand() % KEYS;

		if (rand() % 3 == 0) {
			assert_int_equal(hash_del(&hash, key), model[key] != 0);
			len -= model[key] != 0;
			model[key] = 0;
		} else {
			assert_int_equal(hash_put(&hash, key, i), 0);
			len += model[key] == 0;
			model[key] = i;
		}
		key = (uint64_t)rand() % KEYS;
		if (model[key])
			assert_int_equal(*hash_find(&hash, key), model[key]);
		else
			assert_null(hash_find(&hash, key));
		assert_int_equal(hash.len, len);
	}
	hash_done(&hash);
}

static void each_visits_every_entry_once(void **state)
{
	struct hash hash = HASH_INIT;
	uint64_t sum = 0;
	size_t n = 0;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(hash_put(&hash, i << 32, i), 0);
	hash_each (&hash, slot) {
		assert_int_equal(slot->key, slot->value << 32);
		sum += slot->value;
		n++;
	}
	assert_int_equal(n, 1000);
	assert_int_equal(sum, 999 * 1000 / 2);
	hash_clear(&hash);
	assert_null(hash_find(&hash, 0));
	hash_done(&hash);
}

static void an_empty_table_finds_and_deletes_nothing(void **state)
{
	struct hash hash = HASH_INIT;

	(void)state;
	assert_null(hash_find(&hash, 0));
	assert_false(hash_del(&hash, 0));
	hash_clear(&hash);
	hash_done(&hash);
}

static void bytes_that_differ_in_length_or_one_bit_hash_apart(void **state)
{
	static const char zeros[32];
	uint64_t seen[33];

	(void)state;
	for (size_t len = 0; len <= sizeof(zeros); len++) {
		seen[len] = hash_bytes(zeros, len);
		for (size_t i = 0; i < len; i++)
			assert_int_not_equal(seen[i], seen[len]);
	}
	assert_int_not_equal(hash_bytes("abcdefgh1", 9), hash_bytes("abcdefgh2", 9));
}

/* As CPython 3.11 has it, which hashes bytes so; without a secret by PYTHONHASHSEED=0. */
static void bytes_hash_as_siphash_1_3_does(void **state)
{
	static const struct {
		const char *text;
		uint64_t hash;
	} rows[] = {
		{ "a", 0x407448d2b89b1813ULL },
		{ "abcdefg", 0x6db12aae9070f506ULL },
		{ "abcdefgh", 0x3f7b849c0b8e35eaULL },
		{ "a name of some length, longer than a few words", 0x8272087629cbb475ULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(hash_bytes_with((struct hash_secret){ { 0 } }, rows[i].text,
					 strlen(rows[i].text)),
			rows[i].hash);
}

/* What another process of the same program makes of the same bytes. */
static uint64_t elsewhere(void)
{
	FILE *other = popen("/proc/$PPID/exe --hash", "r");
	char line[32] = "";

	assert_non_null(other);
	assert_non_null(fgets(line, sizeof(line), other));
	pclose(other);
	return strtoull(line, NULL, 16);
}

static void each_process_has_hashes_of_its_own(void **state)
{
	uint64_t here = hash_bytes("x", 1), there = elsewhere();

	(void)state;
	assert_int_equal(here, hash_bytes("x", 1));
	assert_int_not_equal(here, there);
	assert_int_not_equal(there, elsewhere());
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(puts_and_dels_in_any_order_agree_with_an_array),
		cmocka_unit_test(each_visits_every_entry_once),
		cmocka_unit_test(an_empty_table_finds_and_deletes_nothing),
		cmocka_unit_test(bytes_that_differ_in_length_or_one_bit_hash_apart),
		cmocka_unit_test(bytes_hash_as_siphash_1_3_does),
		cmocka_unit_test(each_process_has_hashes_of_its_own),
	};

	(void)argv;
	if (argc > 1)
		return printf("%lx\n", (unsigned long)hash_bytes("x", 1)) < 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
