#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tools/check-length: limits on functions, files and lines.

bats_require_minimum_version 1.5.0

setup() {
	check=$BATS_TEST_DIRNAME/../../tools/check-length
	tree=$BATS_TEST_TMPDIR/tree
	mkdir -p "$tree"/user/base "$tree"/bpf "$tree"/tests/unit
	cd "$tree" || return 1
}

# A function NAME of LINES lines, signature and braces included.
func() {
	printf 'int %s(void)\n{\n' "$1"
	yes '	x();' | head -n "$(($2 - 3))"
	printf '}\n\n'
}

@test "the size of the source is one line" {
	{ func a 5; func b 10; func c 30; } >user/base/a.c
	{ func d 60; func e 60; } >tests/unit/a.c
	run -0 "$check" --root "$tree"
	[ "$output" = "3 functions in 1 files of 48 lines, the longest of 30" ]
}

@test "a function of 70 lines passes and one of 71 is named with its line" {
	{ func short 5; func long_one 70; } >user/base/a.c
	run -0 "$check" --root "$tree"
	{ func short 5; func long_one 71; } >user/base/a.c
	run -1 "$check" --root "$tree"
	[ "${lines[0]}" = "user/base/a.c:7: long_one() has 71 lines; 70 at most" ]
}

@test "a signature of several lines belongs to the function, a comment above does not" {
	printf '/* why\n * so */\nstatic int f(int a,\n\tint b)\n{\n}\n' >user/base/a.c
	run -0 "$check" --root "$tree"
	[[ $output == *"the longest of 4" ]]
}

@test "a struct and a table are no functions" {
	printf 'struct a {\n\tint b;\n};\nstatic const int t[] = {\n\t1,\n};\n' >user/base/a.c
	run -0 "$check" --root "$tree"
	[[ $output == "0 functions"* ]]
}

@test "files, headers and lines have limits" {
	yes '' | head -n 601 >user/base/a.c
	yes '' | head -n 121 >user/base/b.h
	printf '%0101d\n' 0 >user/base/c.c
	run -1 "$check" --root "$tree"
	[ "${lines[0]}" = "user/base/a.c:1: 601 lines; 600 at most" ]
	[ "${lines[1]}" = "user/base/b.h:1: 121 lines; 120 at most" ]
	[ "${lines[2]}" = "user/base/c.c:1: 101 columns; 100 at most" ]
}

@test "a tab counts as far as it reaches" {
	printf '\t%092d\n' 0 >user/base/a.c
	run -0 "$check" --root "$tree"
	printf '\t%093d\n' 0 >user/base/a.c
	run -1 "$check" --root "$tree"
}

@test "the tree that this test is part of has no breach" {
	run -0 "$check"
}

@test "scripts and what a page is made of have the limit of a file" {
	mkdir -p tools user/sink/page tests/views tests/golden
	func a 5 >user/base/a.c
	seq 600 | tee tools/tool user/sink/page/page.js >tests/views/page.bats
	seq 601 >tests/golden/recorded.txt
	run -0 "$check" --root "$tree"
	echo one more | tee -a tools/tool >>user/sink/page/page.js
	run -1 "$check" --root "$tree"
	[ "${lines[0]}" = "tools/tool:1: 601 lines; 600 at most" ]
	[ "${lines[1]}" = "user/sink/page/page.js:1: 601 lines; 600 at most" ]
}
