/* SPDX-License-Identifier: Apache-2.0 */
/* What is concluded of kernels whose types are made here, as kernels of several ages have them. */
#include "unit.h"
#include <bpf/btf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <string.h>

#include "base/own.h"
#include "sampler/kernel_faults.h"
#include "sampler/kernel_features.h"

/* What a made kernel has. */
struct made {
	const char *name; /* shown when the row fails */
	bool no_ring_buffer, prints_names, task, task_vma, red_black, maple;
	enum kernel_lock_seq lock_seq;
	bool lock_hides_its_writer; /* as with PREEMPT_RT */
	const char *without;        /* a struct that is not there at all */
	const char *missing;        /* expected */
	bool can_scan;              /* expected */
};

struct types {
	struct btf *btf;
	int number, pointer;
};

static struct types types_new(void)
{
	struct types t = { .btf = btf__new_empty() };

	assert_non_null(t.btf);
	t.number = btf__add_int(t.btf, "int", 4, BTF_INT_SIGNED);
	t.pointer = btf__add_ptr(t.btf, 0);
	return t;
}

static int add_struct(struct types *t, const char *name, const char *member, int type)
{
	int id = btf__add_struct(t->btf, name, 8);

	assert_int_equal(btf__add_field(t->btf, member, type, 0, 0), 0);
	return id;
}

/* The type of mmap_lock: a count that is a typedef of an unnamed struct, or none. */
static int add_lock(struct types *t, const struct made *made)
{
	int count = btf__add_typedef(
		t->btf, "atomic_long_t", add_struct(t, NULL, "counter", t->number));

	return add_struct(
		t, "rw_semaphore", made->lock_hides_its_writer ? "rwbase" : "count", count);
}

static int add_lock_seq(struct types *t, enum kernel_lock_seq lock_seq)
{
	if (lock_seq == KERNEL_LOCK_SEQ_INT)
		return t->number;
	return btf__add_typedef(
		t->btf, "seqcount_t", add_struct(t, "seqcount", "sequence", t->number));
}

/* The members are in an unnamed struct, as the kernel's are. */
static void add_mm(struct types *t, const struct made *made)
{
	int root = add_struct(t, "rb_root", "rb_node", t->pointer);
	int maple = add_struct(t, "maple_tree", "ma_root", t->pointer);
	int lock = add_lock(t, made), seq = add_lock_seq(t, made->lock_seq);
	int inner = btf__add_struct(t->btf, NULL, 64);

	btf__add_field(t->btf, "mmap_lock", lock, 0, 0);
	if (made->red_black)
		btf__add_field(t->btf, "mm_rb", root, 64, 0);
	if (made->maple)
		btf__add_field(t->btf, "mm_mt", maple, 128, 0);
	if (made->lock_seq != KERNEL_LOCK_SEQ_NONE)
		btf__add_field(t->btf, "mm_lock_seq", seq, 192, 0);
	btf__add_struct(t->btf, "mm_struct", 64);
	btf__add_field(t->btf, "", inner, 0, 0);
}

static void add_function(struct types *t, const char *name)
{
	int proto = btf__add_func_proto(t->btf, t->number);

	assert_true(btf__add_func(t->btf, name, BTF_FUNC_STATIC, proto) > 0);
}

static bool has(const struct made *made, const char *name)
{
	return !made->without || strcmp(made->without, name) != 0;
}

static struct btf *make(const struct made *made)
{
	struct types t = types_new();

	btf__add_enum(t.btf, "bpf_map_type", 4);
	btf__add_enum_value(t.btf, "BPF_MAP_TYPE_HASH", 1);
	if (!made->no_ring_buffer)
		btf__add_enum_value(t.btf, "BPF_MAP_TYPE_RINGBUF", 27);
	btf__add_enum(t.btf, "bpf_func_id", 4);
	btf__add_enum_value(t.btf, "BPF_FUNC_map_lookup_elem", 1);
	if (made->prints_names)
		btf__add_enum_value(t.btf, "BPF_FUNC_snprintf", 165);
	if (made->task)
		add_function(&t, "bpf_iter_task");
	if (made->task_vma)
		add_function(&t, "bpf_iter_task_vma");
	/* Kernels with BPF's open-coded iterators have a struct of the function's name. */
	add_struct(&t, "bpf_iter_task_vma", "it", t.pointer);
	add_mm(&t, made);
	if (has(made, "task_struct")) {
		add_struct(&t, "task_struct", "start_boottime", t.number);
		btf__add_field(t.btf, "self_exec_id", t.number, 32, 0);
	}
	add_struct(&t, "kernfs_node", "id", has(made, "kernfs_node") ? t.number : 0);
	add_struct(&t, "bpf_iter_meta", "seq", t.pointer);
	return t.btf;
}

static const struct made kernels[] = {
	{ .name = "5.10", .task = true, .red_black = true, .can_scan = true },
	{ .name = "5.15",
		.prints_names = true,
		.task = true,
		.task_vma = true,
		.red_black = true,
		.can_scan = true },
	{ .name = "6.1",
		.prints_names = true,
		.task = true,
		.task_vma = true,
		.maple = true,
		.can_scan = true },
	{ .name = "6.12, and RHEL's 5.14 since 9.5",
		.task = true,
		.task_vma = true,
		.maple = true,
		.lock_seq = KERNEL_LOCK_SEQ_INT,
		.can_scan = true },
	{ .name = "6.13",
		.task = true,
		.task_vma = true,
		.maple = true,
		.lock_seq = KERNEL_LOCK_SEQ_SEQCOUNT,
		.can_scan = true },
	{ .name = "no ring buffer",
		.no_ring_buffer = true,
		.task = true,
		.red_black = true,
		.can_scan = true },
	{ .name = "a maple tree and no iterator of mappings", .task = true, .maple = true },
	{ .name = "no iterator", .red_black = true },
	{ .name = "no task_struct",
		.without = "task_struct",
		.missing = "task_struct.start_boottime",
		.task = true,
		.red_black = true,
		.can_scan = true },
	{ .name = "a kernfs_node whose id is no number",
		.without = "kernfs_node",
		.missing = "kernfs_node.id",
		.task = true,
		.red_black = true,
		.can_scan = true },
};

static enum kernel_tree tree_of(const struct made *made)
{
	if (made->maple)
		return KERNEL_TREE_MAPLE;
	return made->red_black ? KERNEL_TREE_RED_BLACK : KERNEL_TREE_UNKNOWN;
}

static void features_are_those_that_the_types_have(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++) {
		const struct made *made = &kernels[i];
		struct btf *types = make(made);
		struct kernel_features found;

		print_message("%s\n", made->name);
		kernel_features_parse(types, &found);
		assert_int_equal(found.ring_buffer, !made->no_ring_buffer);
		assert_int_equal(found.names_code, made->prints_names);
		assert_int_equal(found.iterates_tasks, made->task);
		assert_int_equal(found.iterates_mappings, made->task_vma);
		assert_int_equal(found.tree, tree_of(made));
		assert_int_equal(found.lock_seq, made->lock_seq);
		assert_int_equal(kernel_features_can_scan(&found), made->can_scan);
		assert_string_equal(found.missing ? found.missing : "nothing",
			made->missing ? made->missing : "nothing");
		btf__free(types);
	}
}

static void a_plain_number_does_not_count_where_the_lock_hides_its_writer(void **state)
{
	struct made made = { .maple = true, .lock_hides_its_writer = true };
	struct kernel_features found;
	struct btf *types;

	(void)state;
	made.lock_seq = KERNEL_LOCK_SEQ_INT;
	types = make(&made);
	kernel_features_parse(types, &found);
	assert_int_equal(found.lock_seq, KERNEL_LOCK_SEQ_NONE);
	btf__free(types);
	made.lock_seq = KERNEL_LOCK_SEQ_SEQCOUNT;
	types = make(&made);
	kernel_features_parse(types, &found);
	assert_int_equal(found.lock_seq, KERNEL_LOCK_SEQ_SEQCOUNT);
	btf__free(types);
}

static void maps_count_as_locked_where_they_say_how_many_pages_they_have(void **state)
{
	struct types t = types_new();
	struct kernel_features found;

	(void)state;
	add_struct(&t, "bpf_map", "memory", add_struct(&t, "bpf_map_memory", "pages", t.number));
	kernel_features_parse(t.btf, &found);
	assert_true(found.locks_maps);
	btf__free(t.btf);
}

static void types_without_anything_give_no_feature(void **state)
{
	struct btf *types = btf__new_empty();
	struct kernel_features found;

	(void)state;
	kernel_features_parse(types, &found);
	assert_false(found.locks_maps);
	assert_false(found.names_code);
	assert_false(found.ring_buffer || found.iterates_tasks || found.iterates_mappings);
	assert_int_equal(found.tree, KERNEL_TREE_UNKNOWN);
	assert_int_equal(found.lock_seq, KERNEL_LOCK_SEQ_NONE);
	assert_non_null(found.missing);
	assert_false(kernel_features_can_scan(&found));
	btf__free(types);
}

/* ---- faults --------------------------------------------------------------------------------- */

static void add_kernel_function(struct btf *types, const char *name)
{
	int proto = btf__add_func_proto(types, 0);

	assert_true(btf__add_func(types, name, BTF_FUNC_STATIC, proto) > 0);
}

static void a_kernel_that_can_hang_the_host_is_known_by_version_and_types(void **state)
{
	static const struct {
		const char *release, *version;
		bool faulty; /* if it checks copies of user memory */
	} rows[] = {
		{ "5.18.19", "#1 SMP", false },
		{ "5.19.0", "#1 SMP", true },
		{ "5.19.0-50-generic\n", "#50-Ubuntu SMP\n", true },
		{ "6.0.19", "#1 SMP", true },
		{ "6.1.25-37.47.amzn2023.x86_64", "#1 SMP", true },
		{ "6.1.35", "#1 SMP", true },
		{ "6.1.36", "#1 SMP", false },
		{ "6.1.300", "#1 SMP", false },
		{ "6.2", "#1 SMP", true },
		{ "6.2.16-3-pve", "#1 SMP PVE 6.2.16-3", true },
		{ "6.3.9", "#1 SMP", true },
		{ "6.3.10-200.fc38.x86_64", "#1 SMP", false },
		{ "6.4.0-150600.23-default", "#1 SMP", false },
		{ "6.18.44", "#1 SMP", false },
		{ "5.14.0-427.el9.x86_64", "#1 SMP", false },
		/* Debian's release has no third number. */
		{ "6.1.0-9-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)", true },
		{ "6.1.0-10-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.37-1 (2023-07-03)", false },
		{ "none", "", false },
	};
	struct types checks = types_new(), trusts = types_new();

	(void)state;
	add_kernel_function(checks.btf, "__check_object_size");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *release = rows[i].release, *version = rows[i].version;

		print_message("%s\n", release);
		assert_int_equal(
			kernel_faults_find(release, version, checks.btf) != NULL, rows[i].faulty);
		assert_int_equal(
			kernel_faults_find(release, version, NULL) != NULL, rows[i].faulty);
		assert_null(kernel_faults_find(release, version, trusts.btf));
	}
	btf__free(checks.btf);
	btf__free(trusts.btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(features_are_those_that_the_types_have),
		cmocka_unit_test(a_plain_number_does_not_count_where_the_lock_hides_its_writer),
		cmocka_unit_test(maps_count_as_locked_where_they_say_how_many_pages_they_have),
		cmocka_unit_test(types_without_anything_give_no_feature),
		cmocka_unit_test(a_kernel_that_can_hang_the_host_is_known_by_version_and_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
