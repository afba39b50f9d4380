#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A program that makes CPython's structs by hand: frames that are known, and those that no runtime has. A tick
# stays within its limit, each sample is kept, and a stack has no frame that the program does not.
# seconds: 45

load ../e2e/lib

# fake KIND: what it does, in $tmp/f and $tmp/s.
fake() {
	start "$(target fakepython)" 100 "$1"
	wait_until 10 has_run "$pid"
	record_cpu 1 "$pid" -F 997 -o "$tmp/f" --stats "$tmp/s" "${@:2}"
	jq -c '.user_stacks, .frames.by_source, .frames.unnamed, .tick_time.user' "$tmp/s"
	adds_up "$tmp/s"
	between "$(lost "$tmp/s")" 0 0 'lost ticks'
	between "$(jq .tick_time.user.p999_us "$tmp/s")" 0 1000 'microseconds of a tick'
	kill "$pid"
}

# share PATTERN: per cent of the samples in spin_here.
share() {
	grep spin_here "$tmp/f" >"$tmp/spins"
	folded_share "$tmp/spins" "$1"
}

@test "frames come between those of the interpreter that run them" {
	fake whole
	between "$(share ';main;')" 0 2 'with main: before its table was there'
	between "$(share ';run_two;fake:outer;fake:Class.middle;native_between;fake:inner;spin_here')" 99 100 whole
	fake whole --native-frames show
	between "$(share ';main;run_two;fake:outer;fake:Class.middle;_PyEval_EvalFrameDefault;native_between;fake:inner;_PyEval_EvalFrameDefault;spin_here')" \
		99 100 'with all frames'
	fake whole --inline -f perf
	grep -q 'fake:outer (cpython)$' "$tmp/f"
	grep -q 'fake.py:10' "$tmp/f" || grep -q 'inner' "$tmp/f"
}

@test "of two thousand frames the leaf's and the root's are kept" {
	fake deep
	between "$(grep -m 1 spin_here "$tmp/f" | grep -o fake:recurse | wc -l)" 500 512 'frames that are kept'
	sed -i 's/\(fake:recurse;\)*fake:recurse/many/g' "$tmp/f"
	between "$(share ';fake:root;many;\[frames left out\];many;fake:leaf;spin_here')" 98 100 both
}

@test "chains without end, and pointers into nothing, cost their own stacks alone" {
	local kind
	for kind in cycle links nowhere lengths changing; do
		fake "$kind"
		between "$(share '__libc_start_call_main;.*spin_here')" 95 100 "$kind: native frames to the root"
	done
}

@test "code that is always new" {
	fake many
	between "$(share 'fake:new_code_[0-9]+_with_a_name_of_some_length;spin_here')" 99 100 named
}

# fake_jvm KIND: the same of a program that makes HotSpot's structs.
fake_jvm() {
	mkdir "$tmp/$1"
	cp "$(target fakejvm)" "$tmp/$1/libjvm.so"
	start "$tmp/$1/libjvm.so" 100 "$1"
	wait_until 10 has_run "$pid"
	record_cpu 2 "$pid" --user --inline -F 997 -o "$tmp/f" --stats "$tmp/s"
	jq -c '.user_stacks, .frames.by_source, .frames.unnamed, .tick_time.user, .java' "$tmp/s"
	adds_up "$tmp/s"
	between "$(lost "$tmp/s")" 0 0 'lost ticks'
	between "$(jq .tick_time.user.p999_us "$tmp/s")" 0 1000 'microseconds of a tick'
	kill "$pid"
}

@test "code of HotSpot's has frames and names, whoever made it" {
	fake_jvm whole
	# On a busy machine it takes a while until it is described.
	between "$(folded_share "$tmp/f" '\[JIT ')" 0 50 'before it was described, %'
	grep -v '\[JIT ' "$tmp/f" >"$tmp/d"
	between "$(folded_share "$tmp/d" ';main;\[StubRoutines\];fake.Main.spin;fake.Main.spin;fake.Main.spin$')" 95 100 \
		'whole, but those before it was described'
	fake_jvm deep
	grep -v '\[JIT ' "$tmp/f" | sed -E 's/(fake.Main.spin;){100}fake.Main.spin /many /' >"$tmp/short"
	between "$(folded_share "$tmp/short" ';many$')" 95 100 'of 3,000 frames those near the leaf'
}

@test "structs that no HotSpot has cost their own stacks alone" {
	local kind
	for kind in cycle outside nowhere endless changing many; do
		fake_jvm "$kind"
		! grep -v 'libjvm.so;' "$tmp/f" | grep -v '^#' | grep .
	done
}

@test "tables in memory that nobody gives cost the names of inlined methods, and nobody waits" {
	fake_jvm waits
	between "$(folded_share "$tmp/f" ';main;\[StubRoutines\];fake.Main.spin;fake.Main.spin;fake.Main.spin$')" 95 100 \
		'methods have their names'
	jq -e '.java.failed > 0 and .objects.openers_given_up <= 3' "$tmp/s"
}
