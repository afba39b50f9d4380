/* SPDX-License-Identifier: Apache-2.0 */
/* language_table.c - a file in the folder of tables, and the memory of a process that it is tried
 * on: text up to a NUL, then the memory, which is the same at every address but for those. What is
 * accepted is a table, and a trial comes to an end. */
#include "fuzz.h"

#include "language/cpython_table.h"
#include "language/cpython_trial.h"

#define ROUNDS_MAX 512

/* Bytes at an address repeat, so that some addresses lead to others. */
static uint64_t word_at(const uint8_t *data, size_t size, uint64_t address)
{
	uint64_t word = 0;

	for (size_t i = 0; i < sizeof(word) && size > 0; i++)
		word |= (uint64_t)data[(address + i) % size] << i * 8;
	return word;
}

static void try_table(const struct language *language, const uint8_t *data, size_t size)
{
	struct cpython_trial trial = { .language = language, .base = 0x10000 };
	enum cpython_verdict verdict = CPYTHON_TRIAL_MORE;
	int rounds = 0;

	while (verdict == CPYTHON_TRIAL_MORE) {
		uint64_t addresses[CPYTHON_TRIAL_WORDS_MAX], words[CPYTHON_TRIAL_WORDS_MAX];
		uint32_t len = cpython_trial_wants(&trial, addresses);

		must(len > 0 && len <= CPYTHON_TRIAL_WORDS_MAX && rounds++ < ROUNDS_MAX);
		for (uint32_t i = 0; i < len; i++)
			words[i] = word_at(data, size, addresses[i]);
		verdict = cpython_trial_takes(&trial, words);
	}
	must(verdict == CPYTHON_TRIAL_RIGHT || verdict == CPYTHON_TRIAL_EARLY ||
		verdict == CPYTHON_TRIAL_WRONG);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size > 0 ? memchr(data, '\0', size) : NULL;
	size_t len = end ? (size_t)(end - data) : size;
	char *text = text_of(data, len);
	struct cpython_table table;
	struct cpython_facts facts = { .runtime = 4096, .code_type = 8192 };
	struct build_id id = { .len = 0 };
	struct language language;

	cpython_table_parse(text, len, &table);
	free(text);
	must(table.fault < CPYTHON_TABLE_FAULTS_LEN);
	must(cpython_table_text((enum cpython_table_fault)table.fault)[0] != '?');
	if (table.fault != CPYTHON_TABLE_OK)
		return 0;
	must(cpython_table_check(&table) == CPYTHON_TABLE_OK && table.version > 0);
	facts.version = table.version;
	facts.release = table.release;
	facts.free_threaded = (uint16_t)table.free_threaded;
	id.len = table.build_id_len;
	memcpy(id.bytes, table.build_id, table.build_id_len);
	must(cpython_table_fits(&table, &facts, &id));
	cpython_table_describe(&table, &facts, &language);
	/* What BPF reads of a frame and of a code is in its windows. */
	must(language.frame_code <= LANGUAGE_FRAME_LARGE - 8);
	must(language.code_name <= LANGUAGE_CODE_WINDOW - 8);
	must(language.code_first_line <= LANGUAGE_CODE_WINDOW - 4);
	try_table(&language, data + len, size - len);
	return 0;
}
