/* SPDX-License-Identifier: Apache-2.0 */
/* Types that are made here: of the kernel's, those that an object needs are picked. */
#include "unit.h"
#include <bpf/btf.h>
#include <linux/types.h>
#include <string.h>

#include "base/own.h"
#include "sampler/kernel_types.h"

static int add_struct(struct btf *btf, const char *name, uint32_t size)
{
	int id = btf__add_struct(btf, name, size);

	assert_true(id > 0);
	return id;
}

static void add_field(struct btf *btf, const char *name, int type, uint32_t bit)
{
	assert_int_equal(btf__add_field(btf, name, type, bit, 0), 0);
}

/* A task with an inner struct, an unnamed union, an array, a pointer and a bit field. */
static struct btf *make_kernel(void)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int numbers, pointer, lock, choice, kind;

	numbers = btf__add_array(btf, number, number, 7);
	lock = add_struct(btf, "lock", 16);
	add_field(btf, "count", number, 32);
	add_field(btf, "owner", number, 64);
	pointer = btf__add_ptr(btf, lock);
	kind = btf__add_typedef(btf, "lock_t", btf__add_volatile(btf, lock));
	choice = btf__add_union(btf, NULL, 8);
	add_field(btf, "first", number, 0);
	add_field(btf, "second", pointer, 0);
	add_struct(btf, "stranger", 4);
	add_field(btf, "count", number, 0);
	add_struct(btf, "task", 128);
	add_field(btf, "unused", number, 0);
	add_field(btf, "lock", kind, 64);
	add_field(btf, "", choice, 256);
	add_field(btf, "numbers", numbers, 320);
	add_field(btf, "next", pointer, 640);
	assert_int_equal(btf__add_field(btf, "flag", number, 704, 3), 0);
	btf__add_enum(btf, "helper", 4);
	btf__add_enum_value(btf, "HELPER_A", 1);
	btf__add_enum_value(btf, "HELPER_B", 165);
	return btf;
}

static struct btf *make_object(void)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED), pointer = btf__add_ptr(btf, 0);
	int lock = add_struct(btf, NULL, 4);

	add_field(btf, "count", number, 0);
	add_struct(btf, "task___first", 8);
	add_field(btf, "lock", lock, 0);
	add_field(btf, "first", number, 32);
	add_struct(btf, "task___other", 24);
	add_field(btf, "next", pointer, 0);
	add_field(btf, "numbers", number, 64);
	add_field(btf, "flag", number, 96);
	btf__add_enum(btf, "helper", 4);
	btf__add_enum_value(btf, "HELPER_B___of_its_own", 7);
	return btf;
}

static const struct btf_type *type_of(const struct btf *btf, const char *name, uint32_t kind)
{
	int id = btf__find_by_name_kind(btf, name, kind);

	return id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
}

/* NULL: it has none of this name. */
static const struct btf_member *member(
	const struct btf *btf, const struct btf_type *t, const char *name)
{
	for (uint32_t i = 0; i < btf_vlen(t); i++)
		if (strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), name) == 0)
			return &btf_members(t)[i];
	return NULL;
}

static struct btf *pick(void)
{
	struct btf *kernel = make_kernel(), *object = make_object(), *picked = NULL;

	assert_int_equal(kernel_types_pick(kernel, object, &picked), 0);
	btf__free(kernel);
	btf__free(object);
	return picked;
}

static void a_picked_struct_has_its_size_and_the_places_of_its_members(void **state)
{
	struct btf *btf = pick();
	const struct btf_type *task = type_of(btf, "task", BTF_KIND_STRUCT);
	const struct btf_member *m;

	(void)state;
	assert_non_null(task);
	assert_int_equal(task->size, 128);
	assert_null(member(btf, task, "unused"));
	m = member(btf, task, "numbers");
	assert_non_null(m);
	assert_int_equal(btf_member_bit_offset(task, (uint32_t)(m - btf_members(task))), 320);
	assert_int_equal(btf__resolve_size(btf, m->type), 28);
	m = member(btf, task, "flag");
	assert_non_null(m);
	assert_int_equal(btf_member_bit_offset(task, (uint32_t)(m - btf_members(task))), 704);
	assert_int_equal(btf_member_bitfield_size(task, (uint32_t)(m - btf_members(task))), 3);
	btf__free(btf);
}

static void what_is_inside_is_there_and_what_is_pointed_to_is_not(void **state)
{
	struct btf *btf = pick();
	const struct btf_type *task = type_of(btf, "task", BTF_KIND_STRUCT), *lock, *choice;
	const struct btf_member *m;

	(void)state;
	m = member(btf, task, "lock");
	assert_non_null(m);
	lock = btf__type_by_id(btf, (uint32_t)btf__resolve_type(btf, m->type));
	assert_true(btf_is_struct(lock));
	assert_int_equal(lock->size, 16);
	m = member(btf, lock, "count");
	assert_non_null(m);
	assert_int_equal(m->offset, 32);
	assert_null(member(btf, lock, "owner"));
	choice = btf__type_by_id(btf, member(btf, task, "")->type);
	assert_true(btf_is_union(choice));
	assert_non_null(member(btf, choice, "first"));
	m = member(btf, task, "next");
	assert_true(btf_is_ptr(btf__type_by_id(btf, m->type)));
	assert_int_equal(btf__type_by_id(btf, m->type)->type, 0);
	btf__free(btf);
}

static void others_of_the_kernel_are_left_out(void **state)
{
	struct btf *btf = pick();
	const struct btf_type *helper = type_of(btf, "helper", BTF_KIND_ENUM);

	(void)state;
	assert_null(type_of(btf, "stranger", BTF_KIND_STRUCT));
	assert_non_null(helper);
	assert_int_equal(btf_vlen(helper), 1);
	assert_string_equal(btf__name_by_offset(btf, btf_enum(helper)->name_off), "HELPER_B");
	assert_int_equal(btf_enum(helper)->val, 165);
	btf__free(btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_picked_struct_has_its_size_and_the_places_of_its_members),
		cmocka_unit_test(what_is_inside_is_there_and_what_is_pointed_to_is_not),
		cmocka_unit_test(others_of_the_kernel_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
