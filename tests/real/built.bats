#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Native programs as compilers make them, in every way to link one: as in whole.bats.
# seconds: 60

load real

@test "a Rust program" {
	build_rust
	start_program "$program"
	whole rust
}

# For some instructions before a thrown exception lands, libgcc has the frame that it leaves filled
# with what belongs to the one where it lands: no rule is true there, and the walk has to notice.
@test "C++ exceptions" {
	build throw g++ -O2
	start_program "$program"
	whole throw 99
}

# Nothing proves who called it: such stacks are whole by a guess, or cut where the call that was found
# leads elsewhere.
@test "assembly without tables" {
	local guesses=true
	need gcc
	gcc -O2 "$real/numbers.c" -o "$tmp/numbers" -lgmp 2>"$tmp/said" || skip 'no GMP to link with'
	start_program "$tmp/numbers"
	whole numbers 98
}

@test "threads that live for a moment" {
	need gcc
	gcc -O2 "$real/threads.c" -o "$tmp/threads" -lpthread
	with_had record -F "$hz" -o "$tmp/f" --stats "$tmp/s" -- "$tmp/threads" 3
	held_whole brief-threads 99.5 "$tmp/threads" "$stoker" /lib/x86_64-linux-gnu/libc.so.6
}

@test "64 threads" {
	build mix64 gcc -O2 -fomit-frame-pointer
	start_program "$program" 200 63
	whole threads64
}

@test "static" {
	build mix-static gcc -O2 -static
	start_program "$program" 200 2
	whole static
}

@test "static-pie" {
	build mix-static-pie gcc -O2 -static-pie
	start_program "$program" 200 2
	whole static-pie
}

@test "stripped" {
	build mix-stripped gcc -O2 -s
	start_program "$program" 200 2
	whole stripped
}

@test "unoptimised" {
	build mix-O0 gcc -O0
	start_program "$program" 200 2
	whole O0
}

@test "by clang" {
	build mix-clang clang -O3
	start_program "$program" 200 2
	whole clang
}

@test "C++ exceptions in a static program" {
	build throw-static g++ -O2 -static
	start_program "$program"
	whole throw-static 99
}
