#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tools/gen-vmlinux: held against a small BTF of our own making, so no kernel and no root is needed.

bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../binaries.bash"

setup_file() {
	command -v bpftool >/dev/null || skip "bpftool is not installed"
	command -v clang >/dev/null || skip "clang is not installed"
	cat >"$BATS_FILE_TMPDIR/kernel.c" <<-'END'
		enum color { RED, GREEN };
		struct inner { long pad; int z; };
		struct task {
			long first;
			union { struct inner in; int other; };
			unsigned a : 3, b : 5;
			enum color color;
			void (*fn)(int);
			char name[16];
			struct inner *next;
		};
		typedef struct { void *vdso; } context_t;
		struct task task;
		context_t context;
	END
	clang -target bpf -g -c "$BATS_FILE_TMPDIR/kernel.c" -o "$BATS_FILE_TMPDIR/kernel.o"
}

setup() {
	tool=$BATS_TEST_DIRNAME/../../tools/gen-vmlinux
	btf=$BATS_FILE_TMPDIR/kernel.o
	header=$BATS_TEST_TMPDIR/h.h
	printf '#define CORE __attribute__((preserve_access_index))\n' >"$header"
}

# Checks a header of these lines.
check() {
	printf '%s\n' "$@" >>"$header"
	"$tool" --btf "$btf" "$header"
}

has() {
	[[ $output =~ $1 ]] || { printf 'no %s in:\n%s\n' "$1" "$output"; return 1; }
}

@test "fields that are there as declared pass, in any order and through anonymous unions" {
	run -0 check 'enum color { RED };' 'struct inner { int z; } CORE;' \
		'struct task { char name[16]; struct inner *next; struct inner in; int other; ' \
		'unsigned b : 5; enum color color; void (*fn)(int); } CORE;'
	has '8 fields: 8 present, 0 absent, 0 wrong'
}

@test "a field that this kernel does not have is wrong, and its place is shown" {
	run -1 check 'struct task { int gone; } CORE;'
	has 'task.gone +absent +MISSING.*h.h:2'
}

@test "a struct that this kernel does not have is wrong" {
	run -1 check 'struct nobody { int gone; } CORE;'
	has 'nobody.gone +absent +MISSING'
}

@test "a flavour may miss fields and structs" {
	run -0 check 'struct task___old { int gone; } CORE;' 'struct nobody___old { int gone; } CORE;'
	has '2 fields: 0 present, 2 absent, 0 wrong'
}

@test "a flavour's field of another kind is absent, as libbpf takes it" {
	run -0 check 'struct task___old { int in; long color; } CORE;'
	has 'task___old.in +absent +as it may be: struct inner in this age'
	has '0 present, 2 absent, 0 wrong'
}

@test "a flavour's field of another size is wrong" {
	run -1 check 'struct task___old { int first; } CORE;'
	has 'int of 8, NOT int of 4'
}

@test "other kinds and sizes are wrong" {
	run -1 check 'struct task { int first; long next; void *name; int color; int a; struct task in; } CORE;'
	has '6 fields: 6 present, 0 absent, 6 wrong'
	has 'task.first +present +int of 8, NOT int of 4'
	has 'task.a +present +bit field of 3, NOT int of 4'
}

@test "typedefs of anonymous structs are known by their name" {
	run -0 check 'typedef struct { void *vdso; } CORE context_t;'
	has 'context_t.vdso +present +pointer'
}

@test "a pushed attribute relocates like one at each struct" {
	run -0 check '#pragma clang attribute push (__attribute__((preserve_access_index)), apply_to = record)' \
		'struct inner { int z; };' '#pragma clang attribute pop'
	has 'inner.z +present +int of 4'
}

@test "without relocation the offset must be the kernel's" {
	run -1 check 'struct inner { int z; };'
	has 'inner.z +present +int of 4 AT 8, NOT 0: not relocated'
	printf '' >"$header"
	run -0 check 'struct inner { long pad; int z; };'
	has 'inner.z +present +int of 4, fixed at 8'
}

@test "types of system headers are used and not checked" {
	run -0 check '#include <stdint.h>' 'typedef uint64_t u64;' 'struct task { u64 first; } CORE;'
	has '1 fields: 1 present'
}

@test "--print declares the fields as this kernel has them" {
	run -0 "$tool" --btf "$btf" --print task first a color fn name next other
	[ "$output" = "enum color { RED = 0 };
struct task {
	long first;
	unsigned int a : 3;
	enum color color;
	void *fn;
	char name[16];
	struct inner *next;
	int other;
} __attribute__((preserve_access_index));" ]
}

@test "what --print printed passes the check" {
	"$tool" --btf "$btf" --print task first a color fn name next >"$header"
	run -0 "$tool" --btf "$btf" "$header"
}

@test "--print says what is not there" {
	run -1 "$tool" --btf "$btf" --print task first gone
	has 'struct task has no gone in this kernel'
	run -1 "$tool" --btf "$btf" --print nobody gone
	has 'this kernel has no struct nobody'
}

@test "a file without BTF is said to have none" {
	printf 'x' >"$BATS_TEST_TMPDIR/no"
	run -1 "$tool" --btf "$BATS_TEST_TMPDIR/no" "$header"
	has 'bpftool cannot read its BTF'
}

@test "the headers of the tree fit the running kernel" {
	[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF"
	[ -r "$BATS_TEST_DIRNAME/../../vmlinux/vmlinux.h" ] || skip "no header"
	run "$tool" --print mm_struct mm_mt mm_lock_seq
	[[ "$output" != *'has no mm_'* && "$output" != *'int mm_lock_seq'* ]] ||
		skip "names without suffix are those of kernels with a maple tree and a seqcount in mm_struct"
	run -0 "$tool"
}
