#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# 32-bit processes: their stacks are not walked, but their leaves have names.
# seconds: 15

load lib

# has_named_leaf SWITCH: a program that is built with it burns in a function that is found.
has_named_leaf() {
	gcc "$1" -O1 -g -ffreestanding -nostdlib -static -no-pie -fno-pic \
		"$BATS_TEST_DIRNAME/narrow.c" -o "$tmp/narrow$1" || skip "gcc cannot build with $1"
	timeout 0.1 "$tmp/narrow$1" || [ $? -eq 124 ] ||
		skip "this kernel does not run what is built with $1"
	start "$tmp/narrow$1"
	wait_until 10 has_run "$pid"
	record_cpu 1 "$pid" -F 499 --user -o "$tmp/f" --stats "$tmp/s"
	hottest "$tmp/f"
	between "$(folded_share "$tmp/f" '^[^;]+;\[truncated\];narrow_leaf$')" 95 100 'in the leaf'
	between "$(jq '100 * .user_stacks.truncated.compat / .user_stacks.total' "$tmp/s")" 99 100 \
		'said in the account'
}

@test "the leaf of an i386 process has its file and name" {
	[ "$(uname -m)" = x86_64 ] || skip 'only x86-64 runs i386'
	has_named_leaf -m32
}

@test "the leaf of an x32 process has its file and name" {
	[ "$(uname -m)" = x86_64 ] || skip 'only x86-64 runs x32'
	has_named_leaf -mx32
}
