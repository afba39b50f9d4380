/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that lie, in every field of every reply: the agent refuses what it is told, or survives
 * it; the maps of the rows that it takes are consistent; and it is answered again by an honest one.
 * LIES=100000 in the environment for more than a short run; LIES_SEED for other ones.
 * LINK: -Wl,--wrap=starter_open,--wrap=starter_start,--wrap=starter_kill,--wrap=nanosleep
 * LINK: -Wl,--wrap=proto_send,--wrap=clock_gettime,--wrap=poll */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "lies_facts.h"
#include "lying_worker.h"
#include "open_files.h"
#include "rows_host.h"
#include "client/blame.h"
#include "client/calls.h"
#include "client/client.h"
#include "client/codes.h"
#include "client/mappings.h"
#include "client/methods.h"
#include "client/state.h"
#include "client/stats.h"

#define LIES_SHORT 2000
#define QUERIES_MAX 5000
#define WAIT_NS (200 * NSEC_PER_MSEC)         /* that the agent gives a request here */
#define FORGIVEN_NS (2 * BLAME_REFUSE_MAX_NS) /* after that everything is tried again */
#define POLLS_MAX 64
#define HANGS_S 120

/* What the agent makes of replies. */
static struct host {
	struct worker_client *client;
	struct rows_host rows;
	uint64_t next_id, asked, told, ended;
	int fd; /* a file to be asked about */
	uint32_t any;
	/* Of the last request: */
	uint64_t rows_id;
	int rows_err; /* 1: no rows */
	size_t names_len, next_index, named;
	bool names_honest, inlined, lines, lying;
	uint64_t sum; /* of all bytes that came, so that each is read */
} host;

static struct lie_target targets[LIE_TARGETS_MAX];
static struct lie lie;
static uint64_t lies_told;
static char result[128]; /* of the long run */

/* ---- when it goes wrong --------------------------------------------------------------------- */

static void print_lie(void)
{
	const struct lie_target *both[] = { lie.target, lie.second };
	const unsigned int values[] = { lie.value, lie.second_value };

	for (size_t i = 0; i < ARRAY_SIZE(both); i++)
		if (both[i])
			fprintf(stderr, "lie %llu: %s %s %s, value %u, any %u%s\n",
				(unsigned long long)lies_told, lie_kind_name(both[i]->kind),
				lie_part_name(both[i]->part), lie_target_name(both[i]),
				values[i] % LIE_VALUES, lie.any, lie.repeated ? ", repeated" : "");
}

static void wrong(void *ctx, const char *text)
{
	(void)ctx;
	fprintf(stderr, "%s\n", text);
	print_lie();
	fail();
}

static void must(bool holds, const char *text)
{
	if (!holds)
		wrong(NULL, text);
}

static void on_alarm(int number)
{
	(void)number;
	fprintf(stderr, "the agent hangs\n");
	print_lie();
	abort();
}

/* So that a sanitizer's report is followed by what was told. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static uint32_t any(void)
{
	host.any ^= host.any << 13;
	host.any ^= host.any >> 17;
	host.any ^= host.any << 5;
	return host.any;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void read_all(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++)
		host.sum = host.sum * 31 + at[i];
}

static void read_text(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	must(len < size, "a text has no end");
	read_all(text, len);
}

static void on_rows(void *ctx, const struct worker_rows *rows)
{
	(void)ctx;
	host.told++;
	host.rows_id = rows->id;
	must(rows->status < WORKER_STATUSES && rows->rows_status < WORKER_STATUSES,
		"rows have a status that there is not");
	must((rows->rows != NULL) == (rows->rows_status == WORKER_OK),
		"rows have a status that is not theirs");
	must(!rows->rows || rows->status == WORKER_OK, "a file that is of no use has rows");
	read_text(rows->link.name, sizeof(rows->link.name));
	must(!debug_file_fault(rows), debug_file_fault(rows));
	if (rows->rows)
		read_all(rows->rows->head, rows->rows_bytes);
	host.rows_err = rows_host_take(&host.rows, rows);
}

/* True: they are what an honest worker gives. */
static bool ask_rows(void)
{
	uint64_t id = host.next_id++;

	lying_worker_shape(any() % 64 == 0 ? 120 : 1 + any() % 4, 1 + (any() % 8 == 0), any());
	must(worker_client_rows(host.client, id, host.fd) == 0, "rows cannot be asked for");
	host.asked++;
	for (int i = 0; i < POLLS_MAX && worker_client_pending(host.client) > 0; i++) {
		must(worker_client_poll(host.client) == 0, "the client cannot go on");
		lying_worker_pass(NSEC_PER_SEC);
	}
	must(worker_client_pending(host.client) == host.asked - host.told,
		"rows are told of twice, or never");
	return host.rows_id == id && host.rows_err == 0;
}

/* ---- names ---------------------------------------------------------------------------------- */

static int on_name(void *ctx, size_t index, const struct worker_name *name)
{
	bool is_map = ctx == &host.named;

	must(index < host.names_len, "a name is of nothing that was asked");
	must(index >= host.next_index && (!host.inlined || index == host.next_index),
		"names do not rise");
	must(is_map ? name->source < WORKER_MAP_SOURCES
		    : name->source >= ELF_SYM_SYMTAB && name->source <= ELF_SYM_R2R,
		"a name has a source that there is not");
	host.inlined = name->inlined;
	host.next_index = index + !name->inlined;
	host.named += !name->inlined;
	read_all(name->name, strlen(name->name));
	read_all(name->path, strlen(name->path));
	if (strcmp(name->name, HONEST_NAME) != 0 || strcmp(name->path, HONEST_PATH) != 0)
		host.names_honest = false;
	return 0;
}

static int on_part(void *ctx, const struct debug_part *part)
{
	(void)ctx;
	must(host.lines, "a file is opened for lines that nobody wants");
	read_text(part->dir, sizeof(part->dir));
	read_text(part->name, sizeof(part->name));
	must(!debug_part_fault(part), debug_part_fault(part));
	return any() % 2 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -ENOENT;
}

static void make_query(struct worker_query *query, bool lines)
{
	static uint64_t addresses[QUERIES_MAX];
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	host.names_len = any() % 64 == 0 ? QUERIES_MAX : 1 + any() % 6;
	for (size_t i = 0; i < host.names_len; i++)
		addresses[i] = 4096 * i;
	*query = (struct worker_query){
		.addresses = addresses,
		.len = host.names_len,
		.until_ns = now + WAIT_NS,
		.lines_until_ns = lines ? now + WAIT_NS : 0,
		.open_part = on_part,
	};
	host.next_index = host.named = 0;
	host.inlined = false;
	host.lines = lines;
	host.names_honest = true;
}

static bool are_names_honest(enum worker_status status)
{
	must(status < WORKER_STATUSES, "names have a status that there is not");
	return status == WORKER_OK && host.named == host.names_len && host.names_honest;
}

static bool ask_names(bool lines, unsigned int files)
{
	struct worker_object object = { .id = host.next_id++, .fd = host.fd, .debug_fds_len = 1 };
	struct worker_symbols symbols = { .debug_used = -2 };
	struct worker_query query;

	object.debug_fds[0] = host.fd;
	make_query(&query, lines);
	lying_worker_want_files(files);
	must(worker_client_names(host.client, &object, &query, on_name, NULL, &symbols) == 0,
		"names cannot be asked for");
	must(symbols.debug_used >= -1 && symbols.debug_used < WORKER_DEBUG_FILES_MAX,
		"a debug file was used that there is not");
	for (int i = 0; i < WORKER_DEBUG_FILES_MAX; i++)
		must(symbols.debug[i] < WORKER_DEBUGS, "a debug file's fate is none");
	lying_worker_want_files(0);
	if (host.lying && lie.target->kind != PROTO_DROP && any() % 2)
		return false;
	worker_client_drop(host.client, object.id);
	worker_client_poll(host.client);
	return are_names_honest(symbols.status) && symbols.symbols == HONEST_SYMBOLS;
}

static bool ask_plain_names(void)
{
	return ask_names(any() % 2, 0);
}

static bool ask_for_files(void)
{
	return ask_names(true, 1 + any() % 3);
}

static bool ask_map_names(void)
{
	struct worker_map map = { .id = host.next_id++, .at_ns = UINT64_MAX };
	struct worker_map_status status = { .status = WORKER_STATUSES, .dump = WORKER_STATUSES };
	struct worker_query query;

	map.fd = any() % 3 ? host.fd : -1;
	map.dump_fd = map.fd < 0 || any() % 2 ? host.fd : -1;
	make_query(&query, false);
	must(worker_client_map_names(host.client, &map, &query, on_name, &host.named, &status) == 0,
		"a map's names cannot be asked for");
	must(status.dump < WORKER_STATUSES, "a jitdump has a status that there is not");
	worker_client_drop_map(host.client, map.id);
	worker_client_poll(host.client);
	return are_names_honest(status.status) && status.dump == WORKER_OK;
}

/* ---- the others ----------------------------------------------------------------------------- */

static bool ask_state(void)
{
	static const struct state_query query = {
		.kind = STATE_OCI, .runtime = STATE_CRI, .container = "0123456789abcdef"
	};
	static struct state_facts facts;
	struct worker_state state = {
		.id = host.next_id++,
		.fd = host.fd,
		.query = &query,
		.until_ns = clock_ns(CLOCK_MONOTONIC) + WAIT_NS,
	};
	enum worker_status status = worker_client_state(host.client, &state, &facts);

	must(status < WORKER_STATUSES, "a state has a status that there is not");
	if (status != WORKER_OK)
		return false;
	must(!facts_fault(&facts), facts_fault(&facts));
	return strcmp(facts.name, HONEST_FACT) == 0;
}

static bool ask_mappings(void)
{
	const struct worker_mappings query = { host.next_id++, host.fd,
		clock_ns(CLOCK_MONOTONIC) + WAIT_NS };
	_cleanup_(buf_done) struct buf list = BUF_INIT;
	struct mappings_facts facts = { 0 };
	struct mappings_entry mapping = { 0 };
	enum worker_status status = worker_client_mappings(host.client, &query, &facts, &list);

	must(status < WORKER_STATUSES, "mappings have a status that there is not");
	if (status != WORKER_OK)
		return false;
	must(!mappings_fault(&list, &facts.dump, &mapping), "a list is none");
	return mapping.start == HONEST_CODE && facts.dump.ino == 7 && facts.jvm.ino == 8;
}

static bool ask_calls(void)
{
	static struct elf_call_query queries[PROTO_CALLS_MAX + 1];
	static struct elf_call answers[ARRAY_SIZE(queries)];
	struct worker_calls calls = {
		.id = host.next_id++,
		.fd = host.fd,
		.queries = queries,
		.len = 1 + any() % ARRAY_SIZE(queries),
		.until_ns = clock_ns(CLOCK_MONOTONIC) + WAIT_NS,
	};
	enum worker_status status = worker_client_calls(host.client, &calls, answers);

	must(status < WORKER_STATUSES, "calls have a status that there is not");
	if (status != WORKER_OK)
		return false;
	for (size_t i = 0; i < calls.len; i++)
		must(answers[i].verdict < ELF_CALL_VERDICTS, "a call's verdict is none");
	return answers[0].verdict == ELF_CALL_LEAVES && answers[0].name == HONEST_CALL;
}

static bool ask_codes(void)
{
	static struct event_code event = { .language = LANGUAGE_CPYTHON,
		.version = 11,
		.name_width = 1,
		.file_width = 1,
		.lines_bytes = 100 };
	static uint64_t places[QUERIES_MAX];
	struct proto_code code = { &event, places, 0 };
	struct worker_codes codes = { .id = host.next_id++, .all = &code, .len = 1 };
	enum worker_status status = WORKER_STATUSES;
	struct worker_query query;

	make_query(&query, any() % 2);
	code.places_len = (uint32_t)host.names_len;
	codes.lines = host.lines;
	codes.until_ns = query.until_ns;
	must(worker_client_codes(host.client, &codes, on_name, &host.named, &status) == 0,
		"the names of codes cannot be asked for");
	return are_names_honest(status);
}

static bool ask_methods(void)
{
	const struct worker_methods methods = { host.next_id++, host.fd, 1,
		clock_ns(CLOCK_MONOTONIC) + WAIT_NS };
	_cleanup_(buf_done) struct buf reply = BUF_INIT;
	enum worker_status status = worker_client_methods(host.client, &methods, &reply);
	const struct java_table *table;
	size_t at = 0;

	must(status < WORKER_STATUSES, "methods have a status that there is not");
	if (status != WORKER_OK)
		return false;
	must(java_reply_valid(reply.data, reply.len, 1), "a table is none");
	if (((struct java_reply *)reply.data)->ranges_len > 0)
		return false;
	table = java_reply_next((struct java_reply *)reply.data, &at);
	return table && strcmp(java_table_text(table, java_table_find(table, 1)->name),
				HONEST_NAME) == 0;
}

static bool ask_language(void)
{
	const struct worker_table query = { host.next_id++, host.fd,
		clock_ns(CLOCK_MONOTONIC) + WAIT_NS };
	struct cpython_table table;
	enum worker_status status = worker_client_language(host.client, &query, &table);

	must(status < WORKER_STATUSES, "a table has a status that there is not");
	if (status != WORKER_OK)
		return false;
	must(table.fault < CPYTHON_TABLE_FAULTS_LEN, "a table's fault is none");
	must(table.fault != CPYTHON_TABLE_OK || cpython_table_check(&table) == CPYTHON_TABLE_OK,
		"a table is none");
	return table.fault == CPYTHON_TABLE_OK && table.version == 99;
}

static unsigned int running(void)
{
	return lying_worker_stats().running;
}

/* A worker that ends is replaced by one that says hello. */
static bool have_one_replaced(void)
{
	unsigned int starts = lying_worker_stats().starts, i;

	lying_worker_end(any() % WORKER_LANES_STANDING);
	host.ended++;
	for (i = 0; i < POLLS_MAX && lying_worker_stats().starts == starts; i++) {
		worker_client_poll(host.client);
		lying_worker_pass(NSEC_PER_SEC);
	}
	worker_client_poll(host.client);
	return running() == WORKER_LANES_STANDING;
}

/* What makes a worker reply in each way. */
static bool (*const asks[PROTO_KINDS])(void) = {
	[PROTO_HELLO] = have_one_replaced,
	[PROTO_ROWS] = ask_rows,
	[PROTO_LOAD] = ask_plain_names,
	[PROTO_NAMES] = ask_plain_names,
	[PROTO_WANTED] = ask_for_files,
	[PROTO_GIVE] = ask_for_files,
	[PROTO_MAP_FEED] = ask_map_names,
	[PROTO_MAP_NAMES] = ask_map_names,
	[PROTO_DROP] = ask_plain_names,
	[PROTO_STATE] = ask_state,
	[PROTO_MAPPINGS] = ask_mappings,
	[PROTO_CALLS] = ask_calls,
	[PROTO_CODES] = ask_codes,
	[PROTO_METHODS] = ask_methods,
	[PROTO_LANGUAGE] = ask_language,
};

/* An honest worker is believed, in each kind of reply. */
static void ask_all(const char *fault)
{
	for (int kind = 0; kind < PROTO_KINDS; kind++)
		must(asks[kind](), fault);
}

/* ---- the runs ------------------------------------------------------------------------------- */

static uint64_t losses(void)
{
	struct worker_stats stats;

	worker_client_stats(host.client, &stats);
	return stats.lost[LANE_BAD_REPLY] + stats.lost[LANE_ENDED] + stats.lost[LANE_HUNG] -
		host.ended;
}

static void set_up(const char *seed)
{
	const struct worker_client_options options = { 0 };
	struct why why = { "" };

	host.any = seed ? (uint32_t)strtoul(seed, NULL, 10) | 1 : 2463534242U;
	host.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	rows_host_init(&host.rows, host.any, wrong);
	assert_int_equal(worker_client_open(&options, &host.client, &why), 0);
	worker_client_listen(host.client, on_rows, NULL);
}

static void tear_down(void)
{
	worker_client_free(host.client);
	rows_host_done(&host.rows);
	close(host.fd);
	host = (struct host){ 0 };
}

/* As if it were long ago: nobody is blamed any more, and what hung is lost. */
static void forget(void)
{
	host.lying = false;
	lying_worker_set(NULL);
	lying_worker_pass(FORGIVEN_NS);
	for (int i = 0; i < 4; i++)
		worker_client_poll(host.client);
}

/* Tells one lie, in a reply that is asked for; then an honest worker answers. */
static void lie_once(struct lie_target *all, size_t len, uint64_t n)
{
	struct lie_target *target = &all[n % len];

	lie = (struct lie){
		.target = target,
		.value = (unsigned int)(n / len * 5 + n % len),
		.any = any(),
		.repeated = any() % 16 == 0,
	};
	/* Another one of the same reply, if one of a few is. */
	for (int i = 0; i < 16 && n % 4 == 0 && !lie.second; i++) {
		struct lie_target *second = &all[any() % len];

		if (second->kind == target->kind)
			lie.second = second;
		lie.second_value = any();
	}
	alarm(HANGS_S);
	host.lying = true;
	lying_worker_set(&lie);
	for (int i = 0; i < 8 && !lying_worker_lied(); i++)
		asks[target->kind]();
	must(lying_worker_lied(), "there is no reply to lie in");
	lies_told = lying_worker_stats().lies;
}

static void print_sums(size_t len, const uint64_t lost[PROTO_KINDS], bool all)
{
	for (int kind = 0; kind < PROTO_KINDS; kind++) {
		uint64_t fields = 0, others = 0, lies = 0, least = UINT64_MAX;

		for (size_t i = 0; i < len; i++) {
			const struct lie_target *t = &targets[i];

			if (t->kind != (enum proto_kind)kind)
				continue;
			fields += t->field != NULL;
			others += t->field == NULL;
			lies += t->lies;
			least = t->lies < least ? t->lies : least;
			if (all)
				print_message("  %s %s %s: %llu\n", lie_kind_name(t->kind),
					lie_part_name(t->part), lie_target_name(t),
					(unsigned long long)t->lies);
		}
		print_message("%-11s %llu fields and %llu other things, each %llu times or more: "
			      "%llu lies, %llu times a worker was lost\n",
			lie_kind_name((enum proto_kind)kind), (unsigned long long)fields,
			(unsigned long long)others, (unsigned long long)least,
			(unsigned long long)lies, (unsigned long long)lost[kind]);
		assert_true(least > 0);
	}
}

static void every_lie_is_refused_or_survived_and_the_maps_stay_consistent(void **state)
{
	const char *wanted = getenv("LIES");
	uint64_t lies = wanted ? strtoull(wanted, NULL, 10) : LIES_SHORT;
	uint64_t lost[PROTO_KINDS] = { 0 }, all_lost = 0;
	size_t len = lie_targets(targets), files;

	(void)state;
	/* Each field at least once. */
	lies = lies < len ? len : lies;
	set_up(getenv("LIES_SEED"));
	ask_all("an honest worker is not believed");
	forget();
	files = open_files();
	for (uint64_t n = 0; n < lies; n++) {
		enum proto_kind kind = targets[n % len].kind;
		uint64_t before = losses();
		bool certain;

		lie_once(targets, len, n);
		certain = lie_target_is_certain(&targets[n % len]) && !lie.second;
		forget();
		lost[kind] += losses() - before;
		must(!certain || losses() > before, "a lie is believed");
		must(running() == WORKER_LANES_STANDING, "a worker is missing");
		must(asks[kind](), "an honest worker is not believed any more");
		must(n % 64 != 0 || open_files() == files, "descriptors are left");
	}
	alarm(0);
	print_sums(len, lost, wanted != NULL);
	must(host.rows.walked > 0, "nobody walks by the rows");
	for (int kind = 0; kind < PROTO_KINDS; kind++)
		all_lost += lost[kind];
	snprintf(result, sizeof(result),
		"%llu lies about %zu things in %d kinds of reply: %llu workers lost, none missing",
		(unsigned long long)lies, len, PROTO_KINDS, (unsigned long long)all_lost);
	ask_all("an honest worker is not believed in the end");
	tear_down();
	assert_int_equal(running(), 0);
}

static void a_worker_that_lies_as_it_begins_is_refused_or_survived(void **state)
{
	const struct worker_client_options options = { 0 };
	size_t len = 0, files = open_files();

	(void)state;
	lie_targets(targets);
	while (targets[len].kind == PROTO_HELLO)
		len++;
	for (uint64_t n = 0; n < len * LIE_VALUES; n++) {
		struct worker_client *client = NULL;
		struct why why = { "" };
		int err;

		lie = (struct lie){ .target = &targets[n % len], .value = (unsigned int)(n / len) };
		lying_worker_set(&lie);
		err = worker_client_open(&options, &client, &why);
		must(lying_worker_lied(), "nobody said hello");
		must((err < 0) == (why.text[0] != '\0'), "a refusal has no reason");
		if (err == 0)
			worker_client_free(client);
		must(running() == 0, "a worker is left");
	}
	lying_worker_set(NULL);
	assert_int_equal(open_files(), files);
}

/* More than a socket holds, of the smallest requests. */
#define UNREAD_MAX 10000

static void a_worker_that_answers_without_reading_is_lost(void **state)
{
	uint64_t before;
	unsigned int asked = 0;

	(void)state;
	set_up(NULL);
	ask_all("an honest worker is not believed");
	before = losses();
	/* A send that waits for the worker waits for ever. */
	alarm(HANGS_S);
	lying_worker_be_blind(true);
	while (losses() == before && asked++ < UNREAD_MAX)
		asks[asked % 2 ? PROTO_ROWS : PROTO_NAMES]();
	alarm(0);
	print_message("lost after %u requests\n", asked);
	assert_true(losses() > before);
	lying_worker_be_blind(false);
	forget();
	ask_all("an honest worker is not believed any more");
	tear_down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_that_answers_without_reading_is_lost),
		cmocka_unit_test(every_lie_is_refused_or_survived_and_the_maps_stay_consistent),
		cmocka_unit_test(a_worker_that_lies_as_it_begins_is_refused_or_survived),
	};
	int failed;

	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(print_lie);
	signal(SIGALRM, on_alarm);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (failed == 0 && getenv("LIES"))
		printf("%s\n", result);
	return failed;
}
