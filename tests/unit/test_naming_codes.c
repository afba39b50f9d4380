/* SPDX-License-Identifier: Apache-2.0 */
/* test_naming_codes.c - frames of a language become names, lines and files: each place has its own,
 * whatever the order in which places are wanted.
 * LINK: -Wl,--wrap=objects_view,--wrap=objects_sampled,--wrap=containers_account
 * LINK: -Wl,--wrap=worker_client_codes,--wrap=processes_id */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "agent/naming.h"
#include "base/own.h"

static size_t asked;
static bool is_down;

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

static size_t used; /* processes, how often */

uint64_t __wrap_processes_id(struct processes *processes, uint32_t tgid, uint64_t start_ns);
uint64_t __wrap_processes_id(struct processes *processes, uint32_t tgid, uint64_t start_ns)
{
	(void)processes, (void)start_ns;
	assert_int_equal(tgid, 9);
	used++;
	return 1;
}

int __wrap_worker_client_codes(struct worker_client *client, const struct worker_codes *codes,
	worker_name_fn fn, void *ctx, enum worker_status *status);
int __wrap_worker_client_codes(struct worker_client *client, const struct worker_codes *codes,
	worker_name_fn fn, void *ctx, enum worker_status *status)
{
	size_t index = 0;

	(void)client;
	asked++;
	*status = is_down ? WORKER_DOWN : WORKER_OK;
	for (size_t i = 0; i < codes->len && !is_down; i++)
		for (uint32_t at = 0; at < codes->all[i].places_len; at++) {
			char text[64];
			struct worker_name name = { .name = text, .path = "/a.py" };

			name.line = (uint32_t)codes->all[i].places[at] + 1;
			snprintf(text, sizeof(text), "a:f%u", codes->all[i].code->id);
			assert_int_equal(codes->all[i].code->tgid, codes->id);
			if (fn(ctx, index++, &name) < 0)
				return -1;
		}
	return 0;
}

struct fixture {
	struct tally tally;
	struct naming naming;
	struct profile profile;
};

static void begin(struct fixture *f)
{
	*f = (struct fixture){ 0 };
	asked = 0;
	is_down = false;
	assert_int_equal(profile_init(&f->profile), 0);
	f->naming.tally = &f->tally;
	f->naming.lines = true;
	naming_begin(&f->naming, &f->profile, UINT64_MAX, 0);
}

static void end(struct fixture *f)
{
	naming_done(&f->naming);
	profile_done(&f->profile);
	tally_done(&f->tally);
}

static void meet(struct fixture *f, uint32_t id, uint32_t process)
{
	const struct event_code code = { .kind = EVENT_CODE,
		.id = id,
		.tgid = process,
		.language = LANGUAGE_CPYTHON,
		.name_width = 1,
		.file_width = 1 };

	assert_int_equal(
		tally_code(&f->tally, &code, offsetof(struct event_code, lines)), 0);
}

static uint32_t want(struct fixture *f, uint64_t frame)
{
	const struct tally_task task = { .key = { .tgid = 9, .cgroup = 1 }, .id = 9 };
	uint32_t id;

	naming_view(&f->naming, &task);
	assert_int_equal(naming_want(&f->naming, &task, frame, true, &id), 0);
	return id;
}

static const struct profile_frame *frame_of(struct fixture *f, uint32_t id)
{
	const uint32_t *ids;

	assert_int_equal(naming_frames(&f->naming, id, 1, &ids), 1);
	return &f->profile.frames.data[ids[0]];
}

static void is_named(struct fixture *f, uint32_t id, const char *name, uint32_t line)
{
	const struct profile_frame *frame = frame_of(f, id);

	assert_string_equal(profile_text(&f->profile, frame->name), name);
	assert_int_equal(frame->line, line);
	assert_int_equal(frame->class, PROFILE_LANGUAGE);
	assert_false(naming_is_interpreter(&f->naming, id));
}

static void each_place_has_its_name_and_line(void **state)
{
	struct fixture f;
	uint32_t wanted[4];

	(void)state;
	begin(&f);
	meet(&f, 20, 5);
	meet(&f, 21, 5);
	meet(&f, 22, 6);
	wanted[0] = want(&f, frame_code(21, 7));
	wanted[1] = want(&f, frame_code(22, 3));
	wanted[2] = want(&f, frame_code(20, 1));
	wanted[3] = want(&f, frame_code(21, 2));
	assert_int_equal(want(&f, frame_code(21, 7)), wanted[0]);
	assert_int_equal(naming_resolve(&f.naming), 0);
	assert_int_equal(asked, 2); /* one a process */
	is_named(&f, wanted[0], "a:f21", 8);
	is_named(&f, wanted[1], "a:f22", 4);
	is_named(&f, wanted[2], "a:f20", 2);
	is_named(&f, wanted[3], "a:f21", 3);
	end(&f);
}

/* Code of HotSpot's without a class: a blob's name. */
static void meet_blob(struct fixture *f, uint32_t id, const char *name, bool in_class)
{
	struct event_code code = { .kind = EVENT_CODE,
		.id = id,
		.tgid = 5,
		.language = LANGUAGE_HOTSPOT,
		.name_width = 1,
		.file_width = 1,
		.name_bytes = (uint16_t)strlen(name),
		.file_bytes = in_class ? 1 : 0 };

	memcpy(code.name, name, strlen(name));
	assert_int_equal(
		tally_code(&f->tally, &code, offsetof(struct event_code, lines)), 0);
}

static void hotspots_own_interpreter_is_told_from_methods_and_stubs(void **state)
{
	static const struct {
		const char *name;
		bool in_class, is_interpreter;
	} rows[] = {
		{ "Interpreter", false, true },
		{ "Interpreter", true, false },
		{ "InterpreterX", false, false },
		{ "StubRoutines", false, false },
		{ "", false, false },
	};
	uint32_t wanted[ARRAY_SIZE(rows)];
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
		meet_blob(&f, 20 + i, rows[i].name, rows[i].in_class);
		wanted[i] = want(&f, frame_code(20 + i, 1));
	}
	assert_int_equal(naming_resolve(&f.naming), 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (naming_is_interpreter(&f.naming, wanted[i]) != rows[i].is_interpreter)
			fail_msg("row %u", i);
	end(&f);
}

/* One that is described has no other code without a file, by which it would stay known. */
static void a_jvm_whose_code_is_named_is_in_use(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	used = 0;
	meet(&f, 20, 5);
	want(&f, frame_code(20, 1));
	assert_int_equal(used, 0);
	meet_blob(&f, 21, "StubRoutines", false);
	want(&f, frame_code(21, 1));
	assert_int_equal(used, 1);
	end(&f);
}

static void code_that_was_never_sent_has_no_name(void **state)
{
	struct fixture f;
	uint32_t lost, unreadable, late;
	struct account account = { 0 };

	(void)state;
	begin(&f);
	meet(&f, 20, 5);
	is_down = true;
	lost = want(&f, frame_code(30, 7));
	unreadable = want(&f, frame_code(CODE_UNREADABLE, 0));
	late = want(&f, frame_code(20, 1));
	assert_int_equal(naming_resolve(&f.naming), 0);
	assert_int_equal(asked, 1);
	is_named(&f, lost, "[unreadable code]", 0);
	is_named(&f, unreadable, "[unreadable code]", 0);
	is_named(&f, late, "[unreadable code]", 0);
	naming_count(&f.naming, &account);
	assert_int_equal(account.frames_unnamed[UNNAMED_CODE], 2);
	assert_int_equal(account.frames_unnamed[UNNAMED_WORKER], 1);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_place_has_its_name_and_line),
		cmocka_unit_test(hotspots_own_interpreter_is_told_from_methods_and_stubs),
		cmocka_unit_test(a_jvm_whose_code_is_named_is_in_use),
		cmocka_unit_test(code_that_was_never_sent_has_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
