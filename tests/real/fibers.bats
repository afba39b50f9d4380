#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Programs that make stacks of their own: as in whole.bats. The top of such a stack is no place that
# CFI calls the outermost.
# seconds: 20

load real

@test "fibers of Boost" {
	need g++
	[ -e /usr/include/boost/fiber/all.hpp ] || skip 'no Boost.Fiber to compile with'
	build_kept "$(g++ -dumpversion)" fibers "$real/fibers.cc" g++ -O2 "$real/fibers.cc" -lboost_fiber \
		-lboost_context -pthread -o
	start_program "$program"
	whole fibers 98
}

@test "goroutines of gccgo, on split stacks" {
	need "$gccgo"
	build_kept "$("$gccgo" -dumpversion)" split "$real/split.go" "$gccgo" -O2 "$real/split.go" -o
	start_program "$program"
	whole gccgo 99
}

# The first function of each returns to the first instruction of one, that no call precedes.
@test "coroutines of makecontext" {
	need gcc
	gcc -O1 -g "$real/contexts.c" -o "$tmp/contexts"
	start_program "$tmp/contexts"
	whole contexts 99
	"$stoker" record -p "$pid" -F 499 -d 2 -o "$tmp/c.pb.gz"
	"$repo/tools/truth" "$tmp/c.pb.gz"
	grep '^contexts;__start_context;coroutine' "$tmp/f"
}

@test "children of clone, and a coroutine with a function's address on top of its stack" {
	need gcc
	gcc -O1 -g "$real/made_stacks.c" -o "$tmp/made_stacks"
	"$stoker" record -F 1999 -d 1 --check -o "$tmp/p.pb.gz" -- "$tmp/made_stacks"
	"$repo/tools/truth" "$tmp/p.pb.gz"
	"$stoker" record -F 1999 -d 2 -o "$tmp/f" --stats "$tmp/s" -- "$tmp/made_stacks"
	jq -c .user_stacks "$tmp/s"
	jq -e '.user_stacks | .complete >= 0.99 * .total and .total > 100' "$tmp/s"
	grep -q '^made_stacks;outermost;coroutine;work' "$tmp/f"
	grep -q '^made_stacks;__clone.*;child;work' "$tmp/f"
	[ "$(grep -c ';neighbour;\|;child;.*clone' "$tmp/f")" -eq 0 ]
}
