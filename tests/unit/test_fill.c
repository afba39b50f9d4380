/* SPDX-License-Identifier: Apache-2.0 */
/* Counts become samples: objects, processes, containers and the worker are the test's. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "agent/fill.h"
#include "agent/naming.h"
#include "files/objects.h"
#include "base/own.h"
#include "client/calls.h"
#include "containers/containers.h"
#include "containers/payers.h"
#include "files/processes.h"

enum { PLAIN = 1, BY_ROOT };

#define IN(object, offset)                                                                     \
	((uint64_t)FRAME_FILE << FRAME_KIND_SHIFT | (uint64_t)(object) << FRAME_OBJECT_SHIFT | \
		(offset))
#define JIT(address) ((uint64_t)FRAME_ANON << FRAME_KIND_SHIFT | (address))

static size_t lookups; /* of objects */

/* Processes: */
#define ENDED 20
#define FORGER 21  /* its map has names that are not for programs to have */
#define MAPLESS 22 /* this and those above it */

/* ---- the world ------------------------------------------------------------------------------ */

struct object *objects_find(struct objects *objects, uint32_t id)
{
	static struct object known[] = {
		[PLAIN] = { .id = PLAIN, .state = OBJECT_OPENED, .name = "plain" },
		[BY_ROOT] = { .id = BY_ROOT, .state = OBJECT_OPENED, .name = "by_root" },
	};

	(void)objects;
	lookups++;
	return id <= BY_ROOT ? &known[id] : NULL;
}

bool objects_by_view(const struct objects *objects, const struct object *object)
{
	(void)objects;
	return object->id == BY_ROOT;
}

uint32_t objects_view(struct objects *objects, const struct file_view *view)
{
	(void)objects;
	return (uint32_t)view->mounts;
}

uint32_t objects_set(struct objects *objects, struct object *object, uint32_t view)
{
	(void)objects, (void)object;
	return view;
}

void objects_sampled(struct objects *objects, const uint64_t *frames, size_t len)
{
	(void)objects, (void)frames, (void)len;
}

void objects_await_fetched(struct objects *objects)
{
	(void)objects;
}

int objects_open_part(struct objects *objects, const struct object *object, uint32_t set,
	const struct debug_part *part)
{
	(void)objects, (void)object, (void)set, (void)part;
	return -1;
}

int processes_add(struct processes *processes, uint32_t tgid, uint64_t start_ns)
{
	(void)processes, (void)tgid, (void)start_ns;
	return 0;
}

uint64_t processes_id(struct processes *processes, uint32_t tgid, uint64_t start_ns)
{
	(void)processes, (void)start_ns;
	return tgid;
}

bool processes_preserve_fp(const struct processes *processes, uint64_t id)
{
	(void)processes, (void)id;
	return false;
}

struct processes_files processes_files(struct processes *processes, uint64_t id)
{
	(void)processes;
	return (struct processes_files){ .tgid = (uint32_t)id,
		.map_fd = id < MAPLESS ? 0 : -1,
		.dump_fd = -1,
		.last = id == ENDED };
}

struct processes_name processes_name(const struct processes *processes, uint64_t id)
{
	(void)processes;
	return (struct processes_name){ (uint32_t)id, "serve]", false };
}

void processes_charge(struct processes *processes, uint64_t id, uint64_t took_ns)
{
	(void)processes, (void)id, (void)took_ns;
}

uint64_t containers_account(const struct containers *containers, uint64_t cgroup)
{
	(void)containers;
	return cgroup;
}

void containers_labels(struct containers *all, uint64_t cgroup, struct containers_labels *out)
{
	(void)all;
	*out = (struct containers_labels){ "", "", "", "", "", cgroup };
}

/* A name says of which file, and with the debug files of which root. */
static int name_all(
	const char *of, uint64_t id, const struct worker_query *query, worker_name_fn fn, void *ctx)
{
	int err = 0;

	for (size_t i = 0; i < query->len && err == 0; i++) {
		struct worker_name name = { 0 };
		char text[64];

		snprintf(text, sizeof(text), "%s%llx.%llx", of, (unsigned long long)id,
			(unsigned long long)(query->addresses[i] & ~ELF_SYM_CALLER));
		name.name = id == FORGER ? "[JIT node 4711][OptimizedTier1]" : text;
		err = fn(ctx, i, &name);
	}
	return err;
}

int worker_client_names(struct worker_client *client, const struct worker_object *object,
	const struct worker_query *query, worker_name_fn fn, void *ctx, struct worker_symbols *out)
{
	(void)client;
	*out = (struct worker_symbols){ .status = WORKER_OK };
	return name_all("f", object->id >> 32, query, fn, ctx);
}

int worker_client_map_names(struct worker_client *client, const struct worker_map *map,
	const struct worker_query *query, worker_name_fn fn, void *ctx,
	struct worker_map_status *out)
{
	(void)client;
	*out = (struct worker_map_status){ WORKER_OK, WORKER_OK, 0 };
	return name_all("j", map->id, query, fn, ctx);
}

static uint64_t dropped; /* sum of the ids */

void worker_client_drop_map(struct worker_client *client, uint64_t id)
{
	(void)client;
	dropped += id;
}

enum worker_status worker_client_calls(
	struct worker_client *client, const struct worker_calls *calls, struct elf_call *out)
{
	(void)client, (void)calls, (void)out;
	return WORKER_DOWN;
}

int worker_client_codes(struct worker_client *client, const struct worker_codes *codes,
	worker_name_fn fn, void *ctx, enum worker_status *status)
{
	(void)client, (void)codes, (void)fn, (void)ctx;
	*status = WORKER_DOWN;
	return 0;
}

/* ---- an interval ------------------------------------------------------------------------------
 */

struct fixture {
	struct tally tally;
	struct naming naming;
	struct profile profile;
	struct account account;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ 0 };
	lookups = dropped = 0;
	*state = &f;
	return profile_init(&f.profile);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tally_done(&f->tally);
	naming_done(&f->naming);
	profile_done(&f->profile);
	return 0;
}

static void put_task(struct fixture *f, uint32_t id, uint32_t tgid, uint32_t root)
{
	struct event_task event = { .id = id, .key.tgid = tgid, .view.mounts = root };

	assert_int_equal(tally_task(&f->tally, &event), 0);
}

static void put_stack(
	struct fixture *f, uint64_t hash, const uint64_t *frames, uint32_t len, bool anon)
{
	const struct event_stack event = { .hash = hash,
		.frames_len = (uint16_t)len,
		.end = END_ROOT,
		.anon = anon };

	assert_int_equal(tally_stack(&f->tally, &event, frames), 0);
}

static void put_count(struct fixture *f, uint64_t stack, uint32_t task, uint64_t count)
{
	const struct count_key key = { .user_stack = stack, .task = task };

	assert_int_equal(tally_count(&f->tally, &key, count), 0);
}

static void make_profile(struct fixture *f)
{
	struct fill fill = { .profile = &f->profile,
		.tally = &f->tally,
		.naming = &f->naming,
		.account = &f->account };

	naming_begin(&f->naming, &f->profile, UINT64_MAX, 0);
	assert_int_equal(fill_names(&fill), 0);
	assert_int_equal(fill_samples(&fill), 0);
	fill_done(&fill);
}

/* Root first. */
static void expect(const struct fixture *f, size_t sample, int32_t pid, const char *stack,
	uint64_t value)
{
	const struct profile *p = &f->profile;
	const struct profile_sample *s = &p->samples.data[sample];
	char text[256] = "";

	assert_true(sample < p->samples.len);
	for (uint32_t i = p->stacks.data[s->stack].len; i-- > 0;) {
		strcat(text, profile_text(p, profile_stack_frame(p, s->stack, i)->name));
		strcat(text, i > 0 ? ";" : "");
	}
	assert_string_equal(text, stack);
	assert_int_equal(profile_label_number(p, s->labels, PROFILE_KEY_PID), pid);
	assert_int_equal(s->value, value);
}

/* ---- tests ---------------------------------------------------------------------------------- */

#define LEAVES 1000
#define CALLERS 100

/* A busy program has many stacks that differ in the leaf alone. */
static void callers_that_stacks_share_are_looked_up_once(void **state)
{
	struct fixture *f = *state;
	uint64_t frames[1 + CALLERS];

	put_task(f, 1, 10, 0);
	for (uint64_t i = 1; i <= CALLERS; i++)
		frames[i] = IN(PLAIN, 0x10000 + i);
	for (uint64_t i = 1; i <= LEAVES; i++) {
		frames[0] = IN(PLAIN, i);
		put_stack(f, i, frames, ARRAY_SIZE(frames), false);
		put_count(f, i, 1, 3);
	}
	make_profile(f);
	assert_true(lookups < 3 * (LEAVES + CALLERS));
	assert_int_equal(f->profile.samples.len, LEAVES);
	assert_int_equal(f->account.frames_total, 3 * LEAVES * (1 + CALLERS));
	assert_int_equal(f->account.frames_named, 3 * LEAVES * (1 + CALLERS));
	assert_int_equal(f->account.stacks_complete, 3 * LEAVES);
}

static void a_stack_has_the_names_of_each_root_in_turn(void **state)
{
	const uint64_t one[] = { IN(PLAIN, 0xa), IN(BY_ROOT, 0xb), IN(PLAIN, 0xc) },
		       two[] = { IN(PLAIN, 0xd), IN(BY_ROOT, 0xb), IN(PLAIN, 0xc) };
	struct fixture *f = *state;

	put_task(f, 1, 10, 7);
	put_task(f, 2, 20, 8);
	put_stack(f, 1, one, ARRAY_SIZE(one), false);
	put_stack(f, 2, two, ARRAY_SIZE(two), false);
	put_count(f, 1, 1, 1);
	put_count(f, 1, 2, 2);
	put_count(f, 2, 2, 4);
	put_count(f, 2, 1, 8);
	put_count(f, 1, 1, 16);
	make_profile(f);
	assert_int_equal(f->profile.samples.len, 4);
	expect(f, 0, 10, "f0.c;f7.b;f0.a", 17);
	expect(f, 1, 20, "f0.c;f8.b;f0.a", 2);
	expect(f, 2, 20, "f0.c;f8.b;f0.d", 4);
	expect(f, 3, 10, "f0.c;f7.b;f0.d", 8);
}

static void code_in_no_file_has_the_names_of_its_process(void **state)
{
	const uint64_t frames[] = { IN(PLAIN, 0xa), JIT(0xb), IN(PLAIN, 0xc) };
	struct fixture *f = *state;

	put_task(f, 1, 10, 0);
	put_task(f, 2, 20, 0);
	put_stack(f, 1, frames, ARRAY_SIZE(frames), true);
	put_stack(f, 2, frames, ARRAY_SIZE(frames), true);
	put_count(f, 1, 1, 1);
	put_count(f, 2, 2, 2);
	make_profile(f);
	expect(f, 0, 10, "f0.c;ja.b;f0.a", 1);
	expect(f, 1, 20, "f0.c;j14.b;f0.a", 2);
	assert_int_equal(dropped, ENDED);
}

/* One frame stands for a run of them, and the account counts each. */
static void code_of_a_jit_without_a_name_is_one_frame_of_its_process(void **state)
{
	const uint64_t frames[] = { JIT(0xa), JIT(0xb), IN(PLAIN, 0xc), JIT(0xd), JIT(0xe),
		JIT(0xa), IN(PLAIN, 0xf) };
	struct fixture *f = *state;

	put_task(f, 1, MAPLESS, 0);
	put_task(f, 2, MAPLESS + 1, 0);
	put_stack(f, 1, frames, ARRAY_SIZE(frames), true);
	put_stack(f, 2, frames + 4, ARRAY_SIZE(frames) - 4, true);
	put_count(f, 1, 1, 3);
	put_count(f, 2, 2, 1);
	make_profile(f);
	expect(f, 0, MAPLESS, "f0.f;[JIT serve) 22];f0.c;[JIT serve) 22]", 3);
	expect(f, 1, MAPLESS + 1, "f0.f;[JIT serve) 23]", 1);
	assert_int_equal(profile_stack_frame(&f->profile, 0, 0)->address, 0xa);
	assert_int_equal(profile_stack_frame(&f->profile, 0, 2)->address, 0xd);
	assert_int_equal(f->account.frames_total, 3 * 7 + 3);
	assert_int_equal(f->account.frames_unnamed[UNNAMED_NO_MAP], 3 * 5 + 2);
	assert_int_equal(f->account.unnamed_jit.process.tgid, MAPLESS);
	assert_int_equal(f->account.unnamed_jit.frames, 3 * 5);
	assert_int_equal(f->account.unnamed_jit.all, 3 * 7);
}

static void to_check_a_stack_it_has_each_frame(void **state)
{
	const uint64_t frames[] = { JIT(0xa), JIT(0xb), IN(PLAIN, 0xc) };
	struct fixture *f = *state;

	f->naming.keep_runs = true;
	put_task(f, 1, MAPLESS, 0);
	put_stack(f, 1, frames, ARRAY_SIZE(frames), true);
	put_count(f, 1, 1, 1);
	make_profile(f);
	expect(f, 0, MAPLESS, "f0.c;[JIT serve) 22];[JIT serve) 22]", 1);
	assert_int_equal(profile_stack_frame(&f->profile, 0, 1)->address, 0xb);
}

static void no_map_has_the_name_of_code_without_one(void **state)
{
	const uint64_t frames[] = { JIT(0xa), JIT(0xb) };
	struct fixture *f = *state;

	put_task(f, 1, FORGER, 0);
	put_stack(f, 1, frames, ARRAY_SIZE(frames), true);
	put_count(f, 1, 1, 1);
	make_profile(f);
	expect(f, 0, FORGER, "{JIT node 4711};{JIT node 4711}", 1);
	assert_int_equal(f->account.frames_named, 2);
}

static void frames_that_were_left_out_are_a_mark_and_no_frame(void **state)
{
	const uint64_t left_out = FRAME_LEFT_OUT,
		       frames[] = { IN(PLAIN, 0xa), left_out, IN(PLAIN, 0xc) };
	struct fixture *f = *state;

	put_task(f, 1, 10, 0);
	put_stack(f, 1, frames, ARRAY_SIZE(frames), false);
	put_count(f, 1, 1, 5);
	make_profile(f);
	expect(f, 0, 10, "f0.c;" PROFILE_LEFT_OUT ";f0.a", 5);
	assert_int_equal(f->account.frames_total, 10);
}

static void a_leaf_alone_is_a_stack_as_is_no_frame(void **state)
{
	const uint64_t frame = IN(PLAIN, 0xa);
	struct fixture *f = *state;

	put_task(f, 1, 10, 0);
	put_stack(f, 1, &frame, 1, false);
	put_stack(f, 2, NULL, 0, false);
	put_count(f, 1, 1, 1);
	put_count(f, 2, 1, 1);
	make_profile(f);
	expect(f, 0, 10, "f0.a", 1);
	expect(f, 1, 10, "", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			callers_that_stacks_share_are_looked_up_once, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_stack_has_the_names_of_each_root_in_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(
			code_in_no_file_has_the_names_of_its_process, setup, teardown),
		cmocka_unit_test_setup_teardown(
			code_of_a_jit_without_a_name_is_one_frame_of_its_process, setup, teardown),
		cmocka_unit_test_setup_teardown(
			to_check_a_stack_it_has_each_frame, setup, teardown),
		cmocka_unit_test_setup_teardown(
			no_map_has_the_name_of_code_without_one, setup, teardown),
		cmocka_unit_test_setup_teardown(
			frames_that_were_left_out_are_a_mark_and_no_frame, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_leaf_alone_is_a_stack_as_is_no_frame, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
