/* SPDX-License-Identifier: Apache-2.0 */
/* test_naming.c - in which order files and processes are named: there may not be time for all.
 * LINK: -Wl,--wrap=objects_view,--wrap=objects_sampled,--wrap=containers_account
 * LINK: -Wl,--wrap=processes_id,--wrap=processes_files,--wrap=processes_charge
 * LINK: -Wl,--wrap=processes_name
 * LINK: -Wl,--wrap=worker_client_map_names,--wrap=worker_client_names
 * LINK: -Wl,--wrap=objects_find,--wrap=objects_by_view */
#include "unit.h"

#include <poll.h>

#include "agent/naming.h"
#include "base/clock.h"
#include "base/own.h"

#define CROWD 20
#define SLOW_MS 60 /* more than a turn */

static uint64_t order[CROWD + 1]; /* in which processes were named */
static size_t named;

uint32_t __wrap_objects_view(struct objects *objects, const struct file_view *view);
uint32_t __wrap_objects_view(struct objects *objects, const struct file_view *view)
{
	(void)objects, (void)view;
	return 0;
}

void __wrap_objects_sampled(struct objects *objects, const uint64_t *frames, size_t len);
void __wrap_objects_sampled(struct objects *objects, const uint64_t *frames, size_t len)
{
	(void)objects, (void)frames, (void)len;
}

uint64_t __wrap_containers_account(const struct containers *containers, uint64_t cgroup);
uint64_t __wrap_containers_account(const struct containers *containers, uint64_t cgroup)
{
	(void)containers;
	return cgroup;
}

uint64_t __wrap_processes_id(struct processes *processes, uint32_t tgid, uint64_t start_ns);
uint64_t __wrap_processes_id(struct processes *processes, uint32_t tgid, uint64_t start_ns)
{
	(void)processes, (void)start_ns;
	return tgid;
}

struct processes_files __wrap_processes_files(struct processes *processes, uint64_t id);
struct processes_files __wrap_processes_files(struct processes *processes, uint64_t id)
{
	(void)processes, (void)id;
	return (struct processes_files){ .map_fd = 0, .dump_fd = -1 };
}

struct processes_name __wrap_processes_name(const struct processes *processes, uint64_t id);
struct processes_name __wrap_processes_name(const struct processes *processes, uint64_t id)
{
	(void)processes, (void)id;
	return (struct processes_name){ 0 };
}

static uint64_t charged_ns;

void __wrap_processes_charge(struct processes *processes, uint64_t id, uint64_t took_ns);
void __wrap_processes_charge(struct processes *processes, uint64_t id, uint64_t took_ns)
{
	(void)processes, (void)id;
	charged_ns += took_ns;
}

int __wrap_worker_client_map_names(struct worker_client *client, const struct worker_map *map,
	const struct worker_query *query, worker_name_fn fn, void *ctx,
	struct worker_map_status *out);
int __wrap_worker_client_map_names(struct worker_client *client, const struct worker_map *map,
	const struct worker_query *query, worker_name_fn fn, void *ctx,
	struct worker_map_status *out)
{
	(void)client, (void)query, (void)fn, (void)ctx;
	order[named++] = map->id;
	if (map->id <= CROWD)
		poll(NULL, 0, SLOW_MS);
	*out = (struct worker_map_status){ WORKER_OK, WORKER_OK, 1 };
	return 0;
}

static struct object cpython = { .contents = WORKER_IS_CPYTHON };

struct object *__wrap_objects_find(struct objects *objects, uint32_t id);
struct object *__wrap_objects_find(struct objects *objects, uint32_t id)
{
	(void)objects;
	cpython.id = id;
	return &cpython;
}

bool __wrap_objects_by_view(const struct objects *objects, const struct object *object);
bool __wrap_objects_by_view(const struct objects *objects, const struct object *object)
{
	(void)objects, (void)object;
	return false;
}

/* Each place is a function of the interpreter's that had two inlined into it. */
int __wrap_worker_client_names(struct worker_client *client, const struct worker_object *object,
	const struct worker_query *query, worker_name_fn fn, void *ctx, struct worker_symbols *out);
int __wrap_worker_client_names(struct worker_client *client, const struct worker_object *object,
	const struct worker_query *query, worker_name_fn fn, void *ctx, struct worker_symbols *out)
{
	static const struct worker_name names[] = {
		{ .name = "_Py_INCREF", .source = ELF_SYM_DEBUG_FILE, .inlined = true },
		{ .name = "_PyEval_EvalFrame", .source = ELF_SYM_DEBUG_FILE, .inlined = true },
		{ .name = "PyGen_am_send", .source = ELF_SYM_SYMTAB },
	};

	(void)client, (void)object;
	*out = (struct worker_symbols){ .status = WORKER_OK, .symbols = 1 };
	for (size_t i = 0; i < query->len; i++)
		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			assert_int_equal(fn(ctx, i, &names[k]), 0);
	return 0;
}

static void want(struct naming *n, uint32_t process, uint64_t account)
{
	const struct tally_task task = {
		.key = { .tgid = process, .cgroup = account }, .id = process
	};

	uint32_t place;

	naming_view(n, &task);
	assert_int_equal(naming_want(n, &task, (uint64_t)FRAME_ANON << FRAME_KIND_SHIFT | 0x1000,
				 false, &place),
		0);
}

/* The crowd was met first, and all of it takes long. */
static void a_crowd_of_processes_delays_the_names_of_others_by_one(void **state)
{
	struct naming n = { 0 };
	struct profile profile;

	(void)state;
	assert_int_equal(profile_init(&profile), 0);
	naming_begin(&n, &profile, UINT64_MAX, 0);
	for (uint32_t process = 1; process <= CROWD; process++)
		want(&n, process, 1);
	want(&n, CROWD + 1, 2);
	assert_int_equal(naming_resolve(&n), 0);
	assert_int_equal(named, CROWD + 1);
	assert_int_equal(charged_ns, named);
	assert_int_equal(order[1], CROWD + 1);
	naming_done(&n);
	profile_done(&profile);
}

/* The crowd's account has had its turn. */
static void who_took_least_pays_for_what_many_have(void **state)
{
	struct naming n = { 0 };
	struct profile profile;

	(void)state;
	named = 0;
	assert_int_equal(profile_init(&profile), 0);
	share_turns_charge(&n.turns, 1, NSEC_PER_SEC, 1);
	naming_begin(&n, &profile, UINT64_MAX, 0);
	want(&n, CROWD + 1, 1);
	assert_int_equal(n.places.data[0].account, 1);
	want(&n, CROWD + 2, 2);
	assert_true(naming_pays(&n, 1));
	assert_false(naming_pays(&n, 3));
	want(&n, CROWD + 1, 2);
	assert_int_equal(n.places.len, 2);
	assert_int_equal(n.places.data[0].account, 2);
	naming_done(&n);
	profile_done(&profile);
}

static void expect_frames(bool keep_native, const char *const *wanted, uint32_t len)
{
	const struct tally_task task = { .key = { .tgid = 1, .cgroup = 1 }, .id = 1 };
	struct naming n = { .keep_native = keep_native };
	struct profile profile;
	const uint32_t *ids;
	uint32_t place;

	assert_int_equal(profile_init(&profile), 0);
	naming_begin(&n, &profile, UINT64_MAX, 0);
	naming_view(&n, &task);
	assert_int_equal(naming_want(&n, &task,
				 (uint64_t)FRAME_FILE << FRAME_KIND_SHIFT |
					 1ULL << FRAME_OBJECT_SHIFT | 0x1000,
				 false, &place),
		0);
	assert_int_equal(naming_resolve(&n), 0);
	assert_false(naming_is_interpreter(&n, place));
	assert_int_equal(naming_frames(&n, place, 1, &ids), len);
	for (uint32_t i = 0; i < len; i++)
		assert_string_equal(
			profile_text(&profile, profile.frames.data[ids[i]].name), wanted[i]);
	naming_done(&n);
	profile_done(&profile);
}

static void what_runs_code_is_left_out_where_it_was_inlined(void **state)
{
	static const char *const hidden[] = { "_Py_INCREF", "PyGen_am_send" };
	static const char *const shown[] = { "_Py_INCREF", "_PyEval_EvalFrame", "PyGen_am_send" };

	(void)state;
	expect_frames(false, hidden, ARRAY_SIZE(hidden));
	expect_frames(true, shown, ARRAY_SIZE(shown));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_crowd_of_processes_delays_the_names_of_others_by_one),
		cmocka_unit_test(who_took_least_pays_for_what_many_have),
		cmocka_unit_test(what_runs_code_is_left_out_where_it_was_inlined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
