/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/kernel_features.c - looks up the types in the kernel's BTF that bpf/ needs.
 * Invariant: a field counts only if CO-RE relocates our access to it, so its kind must match too.
 * The BPF program does not read these answers: libbpf resolves its own from the same types. */
#include "sampler/kernel_features.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/caps.h"
#include "base/fd.h"
#include "base/own.h"

#define TYPES_BYTES_MAX (64U << 20)
#define ANONYMOUS_MAX 64 /* unnamed members of a struct that are looked into */
#define NO_RIGHTS                                                                           \
	"this is a user namespace, in which no capability counts for BPF: run as root of the host"
#define LOAD_CAPS (CAPS_BIT(CAP_BPF) | CAPS_BIT(CAP_PERFMON))

static void btf_freep(struct btf **btf)
{
	btf__free(*btf);
}

/* Read without a guard, and missing in kernels that have a ring buffer, too. */
static const struct {
	const char *type, *path, *name;
} needed[] = {
	{ "task_struct", "start_boottime", "task_struct.start_boottime" },
	{ "task_struct", "self_exec_id", "task_struct.self_exec_id" },
	{ "kernfs_node", "id", "kernfs_node.id" },
	{ "bpf_iter_meta", "seq", "bpf_iter_meta.seq" },
};

/* The type without typedefs and qualifiers; NULL for void. */
static const struct btf_type *resolved(const struct btf *types, uint32_t id)
{
	int real = btf__resolve_type(types, id);

	return real > 0 ? btf__type_by_id(types, (uint32_t)real) : NULL;
}

/* The type id of a member, or 0. As in C, members of an unnamed member are the struct's own. */
static uint32_t member_type(const struct btf *types, uint32_t id, const char *name, size_t len)
{
	uint32_t open[1 + ANONYMOUS_MAX] = { id };
	size_t open_len = 1;

	for (size_t at = 0; at < open_len; at++) {
		const struct btf_type *type = resolved(types, open[at]);
		const struct btf_member *m;

		if (!type || !btf_is_composite(type))
			continue;
		m = btf_members(type);
		for (uint32_t i = 0; i < btf_vlen(type); i++, m++) {
			const char *its = btf__name_by_offset(types, m->name_off);

			if (its && strlen(its) == len && memcmp(its, name, len) == 0)
				return m->type;
			if (its && *its == '\0' && open_len < ARRAY_SIZE(open))
				open[open_len++] = m->type;
		}
	}
	return 0;
}

/* The type of what a path like "mmap_lock.count" of a struct leads to; NULL: to nothing. */
static const struct btf_type *find_field(
	const struct btf *types, const char *name, const char *path)
{
	int first = btf__find_by_name_kind(types, name, BTF_KIND_STRUCT);
	uint32_t id = first > 0 ? (uint32_t)first : 0;

	while (id && *path) {
		size_t len = strcspn(path, ".");

		id = member_type(types, id, path, len);
		path += len + (path[len] == '.');
	}
	return id ? resolved(types, id) : NULL;
}

static bool has_number(const struct btf *types, const char *name, const char *path)
{
	const struct btf_type *type = find_field(types, name, path);

	return type && btf_is_int(type);
}

static bool has_pointer(const struct btf *types, const char *name, const char *path)
{
	const struct btf_type *type = find_field(types, name, path);

	return type && btf_is_ptr(type);
}

static bool has_enumerator(const struct btf *types, const char *name, const char *enumerator)
{
	int id = btf__find_by_name_kind(types, name, BTF_KIND_ENUM);
	const struct btf_type *type = id > 0 ? btf__type_by_id(types, (uint32_t)id) : NULL;

	for (uint32_t i = 0; type && i < btf_vlen(type); i++) {
		const char *its = btf__name_by_offset(types, btf_enum(type)[i].name_off);

		if (its && strcmp(its, enumerator) == 0)
			return true;
	}
	return false;
}

/* libbpf attaches an iterator by the kernel's function of this name. */
static bool has_function(const struct btf *types, const char *name)
{
	return btf__find_by_name_kind(types, name, BTF_KIND_FUNC) > 0;
}

static enum kernel_tree find_tree(const struct btf *types)
{
	if (has_pointer(types, "mm_struct", "mm_mt.ma_root"))
		return KERNEL_TREE_MAPLE;
	return has_pointer(types, "mm_struct", "mm_rb.rb_node") ? KERNEL_TREE_RED_BLACK
								: KERNEL_TREE_UNKNOWN;
}

static enum kernel_lock_seq find_lock_seq(const struct btf *types)
{
	if (has_number(types, "mm_struct", "mm_lock_seq.sequence"))
		return KERNEL_LOCK_SEQ_SEQCOUNT;
	/* The number alone does not show a writer at work; the lock does. */
	return has_number(types, "mm_struct", "mm_lock_seq") &&
			has_number(types, "mm_struct", "mmap_lock.count.counter")
		? KERNEL_LOCK_SEQ_INT
		: KERNEL_LOCK_SEQ_NONE;
}

void kernel_features_parse(const struct btf *types, struct kernel_features *out)
{
	*out = (struct kernel_features){
		.ring_buffer = has_enumerator(types, "bpf_map_type", "BPF_MAP_TYPE_RINGBUF"),
		.iterates_tasks = has_function(types, "bpf_iter_task"),
		.iterates_mappings = has_function(types, "bpf_iter_task_vma"),
		.names_code = has_enumerator(types, "bpf_func_id", "BPF_FUNC_snprintf"),
		.locks_maps = has_number(types, "bpf_map", "memory.pages"),
		.tree = find_tree(types),
		.lock_seq = find_lock_seq(types),
	};
	for (size_t i = 0; i < ARRAY_SIZE(needed) && !out->missing; i++)
		if (!has_number(types, needed[i].type, needed[i].path) &&
			!has_pointer(types, needed[i].type, needed[i].path))
			out->missing = needed[i].name;
}

/* Mapped, where the kernel has that (6.16): sysfs gives a page a call. */
static int read_types(struct btf **out)
{
	_cleanup_fd_ int fd = open(KERNEL_FEATURES_BTF, O_RDONLY | O_CLOEXEC);
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct stat st;
	void *mapped;
	int err;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	mapped = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (mapped != MAP_FAILED) {
		*out = btf__new(mapped, (uint32_t)st.st_size);
		err = *out ? 0 : -errno;
		munmap(mapped, (size_t)st.st_size);
		return err;
	}
	err = fd_read_all(fd, TYPES_BYTES_MAX, &text);
	if (err < 0)
		return err;
	*out = btf__new(text.data, (uint32_t)text.len);
	return *out ? 0 : -errno;
}

int kernel_features_load(struct kernel_features *out, struct btf **types, struct why *why)
{
	_cleanup_(btf_freep) struct btf *parsed = NULL;
	int err = access(KERNEL_FEATURES_BTF, R_OK) == 0 ? 0 : -errno;

	if (err < 0 && access("/sys/kernel", F_OK) < 0)
		return why_set(why, err, "/sys/kernel is missing: mount sysfs at /sys");
	if (err < 0)
		return why_set(why, err,
			"cannot read the kernel's types (" KERNEL_FEATURES_BTF ": %s)%s",
			err_text(err),
			err == -ENOENT ? ": the kernel must be built with CONFIG_DEBUG_INFO_BTF=y, "
					 "and a container must have all of /sys"
				       : "");
	err = read_types(&parsed);
	if (err < 0)
		return why_set(why, err,
			"cannot read the kernel's types in " KERNEL_FEATURES_BTF ": %s",
			err_text(err));
	kernel_features_parse(parsed, out);
	if (types)
		*types = TAKE_PTR(parsed);
	return 0;
}

enum kernel_probe kernel_features_probe(void)
{
	if ((caps_permitted() & LOAD_CAPS) != LOAD_CAPS)
		return KERNEL_PROBE_NOT_PRIVILEGED;
	return libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_PERF_EVENT, NULL) == 1 &&
			libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL) == 1
		? KERNEL_PROBE_ACCEPTED
		: KERNEL_PROBE_REFUSED;
}

/* The first one has a fixed number in the kernel (PROC_USER_INIT_INO). */
static bool is_in_user_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/user", &st) == 0 && st.st_ino != 0xeffffffdU;
}

const char *kernel_features_refused(void)
{
	return is_in_user_namespace()
		? NO_RIGHTS
		: "it refuses BPF programs for perf events: it must be built with "
		  "CONFIG_BPF_EVENTS=y, and in a container the seccomp filter must allow bpf";
}

bool kernel_features_can_scan(const struct kernel_features *features)
{
	return features->iterates_mappings ||
		(features->iterates_tasks && features->tree == KERNEL_TREE_RED_BLACK);
}

const char *kernel_features_forbidden(const struct kernel_features *features)
{
	struct rlimit locked;

	if ((caps_permitted() & LOAD_CAPS) != LOAD_CAPS)
		return "run as root or with CAP_BPF and CAP_PERFMON";
	if (features->locks_maps && getrlimit(RLIMIT_MEMLOCK, &locked) == 0 &&
		locked.rlim_cur != RLIM_INFINITY)
		return "this kernel counts BPF maps as locked memory; raise the limit, with "
		       "`ulimit -l unlimited` or systemd's LimitMEMLOCK=infinity";
	if (is_in_user_namespace())
		return NO_RIGHTS;
	return "in a container, its seccomp filter must allow bpf and perf_event_open: use "
	       "--security-opt seccomp=unconfined";
}
