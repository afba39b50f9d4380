/* SPDX-License-Identifier: Apache-2.0 */
/* sampler/kernel_types.c - a relocation starts at a type's name and leads through names of members,
 * never through a pointer (libbpf's relo_core.h): so a type is either picked by its name or is in a
 * picked one.
 * Invariant: the n-th type that is wanted has id n in the result. */
#include "sampler/kernel_types.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/own.h"
#include "base/vec.h"
#include "sampler/kernel_features.h"

#define FLAVOR_LEN 3 /* of `___` */

struct picker {
	const struct btf *kernel;
	struct btf *out;
	struct hash names;
	uint32_t *ids; /* in the result, by the kernel's; 0: not wanted */
	VEC(uint32_t) wanted;
	int err;
};

/* The part of a name before `___`, as libbpf's bpf_core_essential_name_len. */
static size_t name_len(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = len; i > FLAVOR_LEN + 1; i--) {
		const char *at = name + i - FLAVOR_LEN - 2;

		if (at[0] != '_' && memcmp(at + 1, "___", FLAVOR_LEN) == 0 && at[4] != '_')
			return (size_t)(at + 1 - name);
	}
	return len;
}

static uint64_t name_key(const char *name)
{
	return hash_bytes(name, name_len(name));
}

static void add_name(struct picker *p, const char *name)
{
	if (p->err == 0)
		p->err = hash_put(&p->names, name_key(name), 1);
}

/* An unnamed member is its struct's own. */
static bool has_name(const struct picker *p, const char *name)
{
	return *name == '\0' || hash_find(&p->names, name_key(name));
}

static void learn_names(struct picker *p, const struct btf *object)
{
	for (uint32_t id = 1; id < btf__type_cnt(object); id++) {
		const struct btf_type *t = btf__type_by_id(object, id);

		add_name(p, btf__name_by_offset(object, t->name_off));
		for (uint32_t i = 0; btf_is_composite(t) && i < btf_vlen(t); i++)
			add_name(p, btf__name_by_offset(object, btf_members(t)[i].name_off));
		for (uint32_t i = 0; btf_is_enum(t) && i < btf_vlen(t); i++)
			add_name(p, btf__name_by_offset(object, btf_enum(t)[i].name_off));
	}
}

/* ---- which types -------------------------------------------------------------------------- */

static const char *name_at(const struct picker *p, uint32_t offset)
{
	return btf__name_by_offset(p->kernel, offset);
}

static void want(struct picker *p, uint32_t id)
{
	uint32_t *slot;

	if (id == 0 || p->ids[id] || p->err < 0)
		return;
	slot = vec_add(&p->wanted);
	if (!slot) {
		p->err = -ENOMEM;
		return;
	}
	*slot = id;
	p->ids[id] = (uint32_t)p->wanted.len;
}

/* Those that a relocation starts at. */
static bool can_start(const struct btf_type *t)
{
	return t->name_off != 0 && (btf_is_composite(t) || btf_is_any_enum(t) || btf_is_typedef(t));
}

static void want_inner(struct picker *p, const struct btf_type *t)
{
	if (btf_is_array(t)) {
		want(p, btf_array(t)->type);
		want(p, btf_array(t)->index_type);
	} else if (btf_is_typedef(t) || btf_is_mod(t)) {
		want(p, t->type);
	}
	for (uint32_t i = 0; btf_is_composite(t) && i < btf_vlen(t); i++)
		if (has_name(p, name_at(p, btf_members(t)[i].name_off)))
			want(p, btf_members(t)[i].type);
}

static void want_all(struct picker *p)
{
	for (uint32_t id = 1; id < btf__type_cnt(p->kernel); id++) {
		const struct btf_type *t = btf__type_by_id(p->kernel, id);

		if (can_start(t) && has_name(p, name_at(p, t->name_off)))
			want(p, id);
	}
	for (size_t i = 0; i < p->wanted.len; i++)
		want_inner(p, btf__type_by_id(p->kernel, p->wanted.data[i]));
}

/* ---- copying ------------------------------------------------------------------------------ */

static int add_members(struct picker *p, const struct btf_type *t)
{
	int err = 0;

	for (uint32_t i = 0; i < btf_vlen(t) && err == 0; i++) {
		const struct btf_member *m = &btf_members(t)[i];
		const char *name = name_at(p, m->name_off);

		if (has_name(p, name))
			err = btf__add_field(p->out, name, (int)p->ids[m->type],
				btf_member_bit_offset(t, i), btf_member_bitfield_size(t, i));
	}
	return err;
}

static int add_values(struct picker *p, const struct btf_type *t)
{
	int err = 0;

	for (uint32_t i = 0; i < btf_vlen(t) && err == 0; i++) {
		const char *name = name_at(
			p, btf_is_enum(t) ? btf_enum(t)[i].name_off : btf_enum64(t)[i].name_off);

		if (!has_name(p, name))
			continue;
		err = btf_is_enum(t)
			? btf__add_enum_value(p->out, name, btf_enum(t)[i].val)
			: btf__add_enum64_value(p->out, name, btf_enum64_value(&btf_enum64(t)[i]));
	}
	return err;
}

/* The id of the copy, or -errno. */
static int add_type(struct picker *p, const struct btf_type *t)
{
	const char *name = name_at(p, t->name_off);
	int inner = btf_is_typedef(t) || btf_is_mod(t) ? (int)p->ids[t->type] : 0;

	switch (btf_kind(t)) {
	case BTF_KIND_INT:
		return btf__add_int(p->out, name, t->size, btf_int_encoding(t));
	case BTF_KIND_FLOAT:
		return btf__add_float(p->out, name, t->size);
	case BTF_KIND_STRUCT:
		return btf__add_struct(p->out, name, t->size);
	case BTF_KIND_UNION:
		return btf__add_union(p->out, name, t->size);
	case BTF_KIND_ENUM:
		return btf__add_enum(p->out, name, t->size);
	case BTF_KIND_ENUM64:
		return btf__add_enum64(p->out, name, t->size, btf_kflag(t));
	case BTF_KIND_ARRAY:
		return btf__add_array(p->out, (int)p->ids[btf_array(t)->index_type],
			(int)p->ids[btf_array(t)->type], btf_array(t)->nelems);
	case BTF_KIND_TYPEDEF:
		return btf__add_typedef(p->out, name, inner);
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG: /* none of them changes a place or a size */
		return btf__add_const(p->out, inner);
	default:
		return btf__add_ptr(p->out, 0);
	}
}

static int copy_all(struct picker *p)
{
	int err = 0;

	for (size_t i = 0; i < p->wanted.len && err == 0; i++) {
		const struct btf_type *t = btf__type_by_id(p->kernel, p->wanted.data[i]);

		err = add_type(p, t);
		if (err < 0)
			break;
		err = btf_is_composite(t) ? add_members(p, t)
			: btf_is_any_enum(t) ? add_values(p, t)
					     : 0;
	}
	return err;
}

int kernel_types_pick(const struct btf *kernel, const struct btf *object, struct btf **out)
{
	_cleanup_(freep) uint32_t *ids = calloc(btf__type_cnt(kernel), sizeof(*ids));
	struct picker p = { .kernel = kernel, .out = btf__new_empty(), .ids = ids };
	int err = ids && p.out ? 0 : -ENOMEM;

	if (err == 0) {
		learn_names(&p, object);
		want_all(&p);
		err = p.err < 0 ? p.err : copy_all(&p);
	}
	vec_done(&p.wanted);
	hash_done(&p.names);
	if (err < 0)
		btf__free(p.out);
	else
		*out = p.out;
	return err;
}

int kernel_types_write(const struct btf *kernel, const struct btf *object, int fd)
{
	struct btf *picked;
	const void *data;
	uint32_t size;
	int err = kernel_types_pick(kernel, object, &picked);

	if (err < 0)
		return err;
	data = btf__raw_data(picked, &size);
	err = data ? fd_write_all(fd, data, size) : -ENOMEM;
	btf__free(picked);
	return err;
}

/* Without a path libbpf also looks for types that the kernel lacks among those of its modules, and
 * fails if it may not: that takes CAP_SYS_ADMIN, which we do not have. */
static int open_object(
	const char *path, kernel_types_fn *open, void *ctx, struct bpf_object **out)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = path);

	return open(ctx, &opts, out);
}

int kernel_types_open(const struct btf *kernel, kernel_types_fn *open, void *ctx, int *fd)
{
	struct bpf_object *object;
	char path[64];
	int err;

	*fd = fd_memory("types");
	if (*fd < 0)
		return *fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
	err = open_object(path, open, ctx, &object);
	if (err == 0)
		err = kernel_types_write(kernel, bpf_object__btf(object), *fd);
	return err == -EFBIG ? open_object(KERNEL_FEATURES_BTF, open, ctx, &object) : err;
}
