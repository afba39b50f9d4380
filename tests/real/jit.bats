#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# JIT runtimes: from a native leaf through JIT frames to the thread's start, whichever the code lies
# in (anonymous memory, a memfd). Each with two programs: Mill is plain, and has few places where a
# stack is hard to follow; Market is full of native leaves, exceptions, stubs and garbage.
# no stoker: its first samples wait for tables, and what is deferred in code of a JIT's is a guess
# seconds: 45

load real

# has_jit MIN: per cent of the samples have a JIT frame, and such stacks are whole as others are.
has_jit() {
	local all pattern=${generated:-'_\[j\](;|$)'}
	all=$(folded_count "$tmp/f" "$pattern")
	echo "$all of $(folded_count "$tmp/f") samples with JIT frames"
	between "$(folded_share "$tmp/f" "$pattern")" "$1" 100 'samples with JIT frames'
}

@test "node of the distribution" {
	need "$node"
	cd "$tmp" || return 1
	start "$node" --perf-basic-prof --logfile=/dev/null "$repo/tests/runtimes/work.js" 200
	wait_until 20 says ready "$out"
	whole node-system
	has_jit 50
}

@test "node of the distribution, market" {
	need "$node"
	cd "$tmp" || return 1
	start "$node" --perf-basic-prof --logfile=/dev/null "$repo/tests/runtimes/market.js" 200
	wait_until 20 says ready "$out"
	# Its builtins jump to one another, and have taken down or not yet made their frame there: 98.8 to
	# 99.5 % were seen, beside other tests and alone.
	whole node-system-market 98.5
	has_jit 50
}

# with_both NAME [MIN [WHOLE]]: both programs; MIN per cent of the samples have a JIT frame, WHOLE per cent
# of Market's are whole.
with_both() {
	start_jit "$1"
	whole "$1"
	has_jit "${2:-50}"
	kill -KILL "$pid"
	start_jit "$1" market
	whole "$1-market" "${3:-99.5}"
	has_jit "${2:-50}"
}

@test "node 24" {
	# As of the distribution's.
	with_both node 50 99
}

# Code of HotSpot's is named by its structs, and not by its map.
generated_java=';(Mill|Market|java\.[a-zA-Z.]*)[.$]'

@test "java with frame pointers" {
	generated=$generated_java
	with_both java 30
}

# plain [market]: without frame pointers and a map.
plain() {
	start_jit java "$@" plain
	record_cpu "$seconds" "$pid" -F "$hz" -o "$tmp/f" --stats "$tmp/s"
	need_tables "$tmp/s"
	described
	between "$(folded_share "$tmp/d" '\[(truncated|guessed)\]')" 0 0.5 'not whole, %'
	has_jit 30
	kill -KILL "$pid"
}

@test "java as it is started" {
	generated=$generated_java
	plain
	plain market
}

@test "CoreCLR 9" {
	with_both coreclr
}

@test "CoreCLR 10, a single file" {
	with_both coreclr-10
}
