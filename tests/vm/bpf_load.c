/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_load.c - asks this kernel's verifier about every program of a BPF object.
 * Usage: bpf_load OBJECT.BPF.O [-v]
 * Each program is loaded alone, so that one that is refused does not hide the others. A line each:
 *     PROGRAM ok insns=N states=N stack=BYTES+... xlated=BYTES jited=BYTES usec=N
 *     PROGRAM unwanted WHY
 *     PROGRAM refused ERRNO
 * unwanted where the kernel's types (BTF) say that it is for other kernels; refused is followed by
 * the end of the verifier's log and of what libbpf said, each line behind two blanks; all of the
 * log with -v. Exit 1 when a program was refused, 2 when nothing could be asked. Maps keep the
 * sizes in the object, so this says nothing about memory. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_BYTES (16 << 20)
#define LOG_FULL 1
#define LOG_STATS 4
#define TAIL_LINES 25

/* Programs for some kernels, which have this function, or this member of a struct or an enum. */
static const struct {
	const char *program, *function, *type, *member;
} needs[] = {
	{ .program = "scan", .function = "bpf_iter_task_vma" },
	{ .program = "name_ask", .type = "bpf_func_id", .member = "BPF_FUNC_snprintf" },
	{ .program = "scan_tasks", .type = "mm_struct", .member = "mmap" },
};

static char libbpf_says[4096];

static int keep_libbpf_words(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	size_t used = strlen(libbpf_says);

	if (level == LIBBPF_WARN)
		vsnprintf(libbpf_says + used, sizeof(libbpf_says) - used, fmt, ap);
	return 0;
}

/* Members of an unnamed member count as the struct's own. */
static bool has_member(const struct btf *types, __u32 id, const char *name)
{
	const struct btf_type *type = btf__type_by_id(types, id);

	for (__u32 i = 0; type && btf_is_enum(type) && i < btf_vlen(type); i++)
		if (strcmp(btf__name_by_offset(types, btf_enum(type)[i].name_off), name) == 0)
			return true;
	if (!type || !btf_is_composite(type))
		return false;
	for (__u32 i = 0; i < btf_vlen(type); i++) {
		const struct btf_member *m = &btf_members(type)[i];
		const char *its = btf__name_by_offset(types, m->name_off);

		if (strcmp(its, name) == 0 || (!*its && has_member(types, m->type, name)))
			return true;
	}
	return false;
}

/* What a kernel that takes the program has, and this one has not; NULL: nothing. */
static const char *lacks(const struct btf *types, const char *program)
{
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		int id;

		if (strcmp(needs[i].program, program) != 0)
			continue;
		if (needs[i].function)
			return btf__find_by_name_kind(types, needs[i].function, BTF_KIND_FUNC) > 0
				? NULL
				: needs[i].function;
		id = btf__find_by_name(types, needs[i].type);
		return id > 0 && has_member(types, (__u32)id, needs[i].member) ? NULL
									       : needs[i].member;
	}
	return NULL;
}

/* The object with one program in it that is to be loaded; NULL on error. */
static struct bpf_object *open_with(const char *path, const char *name, char *log, int log_level)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;

	if (!object)
		return NULL;
	libbpf_says[0] = log[0] = '\0';
	bpf_object__for_each_program(program, object)
	{
		bool this = strcmp(bpf_program__name(program), name) == 0;

		bpf_program__set_autoload(program, this);
		if (!this)
			continue;
		bpf_program__set_log_buf(program, log, LOG_BYTES);
		bpf_program__set_log_level(program, (__u32)log_level);
	}
	return object;
}

/* The number behind a word of the log; -1 where it is not said. */
static long number_after(const char *log, const char *word)
{
	const char *at = strstr(log, word);

	return at ? strtol(at + strlen(word), NULL, 10) : -1;
}

static void print_accepted(struct bpf_object *object, const char *name, const char *log)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	const char *stack = strstr(log, "stack depth ");

	stack = stack ? stack + strlen("stack depth ") : "-1";
	bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len);
	printf("%s ok insns=%ld states=%ld stack=%.*s xlated=%u jited=%u usec=%ld\n", name,
		number_after(log, "processed "), number_after(log, "total_states "),
		(int)strcspn(stack, " \n"), stack, info.xlated_prog_len, info.jited_prog_len,
		number_after(log, "verification time "));
}

/* The last lines of a text, or all of them. */
static void print_lines(const char *text, bool all)
{
	const char *at = text + strlen(text);

	for (int lines = 0; at > text && (all || lines <= TAIL_LINES); at--)
		lines += at[-1] == '\n';
	while (*at) {
		int line = (int)strcspn(at, "\n");

		if (line > 0)
			printf("  %.*s\n", line, at);
		at += line + (at[line] == '\n');
	}
}

/* True when the kernel takes the program. */
static bool ask(const char *path, const char *name, char *log, bool all)
{
	struct bpf_object *object = open_with(path, name, log, LOG_STATS);
	int error = object ? bpf_object__load(object) : -errno;

	if (error == 0)
		print_accepted(object, name, log);
	bpf_object__close(object);
	if (error == 0)
		return true;
	object = open_with(path, name, log, LOG_FULL | LOG_STATS);
	if (object)
		bpf_object__load(object);
	bpf_object__close(object);
	printf("%s refused %d\n", name, -error);
	print_lines(log, all);
	print_lines(libbpf_says, all);
	return false;
}

int main(int argc, char **argv)
{
	char *log = malloc(LOG_BYTES);
	struct btf *types = btf__load_vmlinux_btf();
	struct bpf_object *names;
	struct bpf_program *program;
	bool refused = false, all = argc > 2 && strcmp(argv[2], "-v") == 0;

	libbpf_set_print(keep_libbpf_words);
	names = argc > 1 ? bpf_object__open_file(argv[1], NULL) : NULL;
	if (!log || !names || !types) {
		fprintf(stderr, "bpf_load: usage: bpf_load OBJECT.BPF.O [-v]\n%s", libbpf_says);
		return 2;
	}
	bpf_object__for_each_program(program, names)
	{
		const char *name = bpf_program__name(program), *lacking = lacks(types, name);

		if (lacking)
			printf("%s unwanted this kernel has no %s\n", name, lacking);
		else
			refused |= !ask(argv[1], name, log, all);
	}
	bpf_object__close(names);
	btf__free(types);
	free(log);
	return refused;
}
