#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tools/gen-compile-commands: quoting survives, each file is one entry.

bats_require_minimum_version 1.5.0

setup() {
	tool=$BATS_TEST_DIRNAME/../../tools/gen-compile-commands
}

field() {
	/usr/bin/python3 -c 'import json, sys; print(eval("json.load(sys.stdin)" + sys.argv[1]))' "$1" <<<"$output"
}

@test "each file is an entry with its own arguments" {
	run -0 "$tool" 'gcc -O2' a.c b.c
	[ "$(field '[1]["file"]')" = b.c ]
	[ "$(field '[1]["arguments"]')" = "['gcc', '-O2', '-c', 'b.c']" ]
	[ "$(field '[0]["directory"]')" = "$PWD" ]
}

@test "a quoted macro stays one argument with its quotes" {
	run -0 "$tool" "gcc -DV='\"0.1 x\"'" a.c
	[ "$(field '[0]["arguments"][1]')" = '-DV="0.1 x"' ]
}

@test "no files is a usage error" {
	run -2 "$tool" gcc
}

@test "an open quote is a usage error" {
	run -2 "$tool" "gcc 'x" a.c
}
