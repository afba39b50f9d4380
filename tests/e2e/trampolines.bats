#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Stacks through code that no file has and no table describes: what CPython generates for perf, and
# what the kernel puts in the place of a return address.
# seconds: 20

load lib

complete_percent() {
	jq '100 * .user_stacks.complete / .user_stacks.total' "$1"
}

@test "a stack through CPython's trampoline for perf is complete, without frame pointers" {
	start_busy trampoline 60
	record_cpu 2 "$pid" -F 499 -o "$tmp/f" --stats "$tmp/s"
	need_tables "$tmp/s"
	hottest "$tmp/f"
	between "$(folded_share "$tmp/f" ';main;\[JIT trampoline [0-9]*\]_\[j\];evaluate(;|$)')" 95 100 'under main'
	between "$(complete_percent "$tmp/s")" 99 100 'complete'
}

@test "functions whose returns are probed keep their callers" {
	[ -r /sys/bus/event_source/devices/uprobe/type ] || skip 'this kernel has no uprobes'
	start "$(target uprobed)" 60
	wait_until 10 grep -q ready "$out"
	record_cpu 2 "$pid" -F 499 -o "$tmp/f" --stats "$tmp/s"
	need_tables "$tmp/s"
	hottest "$tmp/f"
	between "$(folded_share "$tmp/f" ';main;probed_outer;between;probed_inner(;|$)')" 80 100 \
		'in the inner function'
	between "$(folded_count "$tmp/f" '\[JIT')" 0 0 'samples in a copied instruction'
	# The kernel replaces an address shortly before it puts the true one into its list.
	between "$(complete_percent "$tmp/s")" 98 100 'complete'
}

@test "they keep them before the program has a table, at both ends of a stack with a large frame" {
	[ -r /sys/bus/event_source/devices/uprobe/type ] || skip 'this kernel has no uprobes'
	record_unknown 149 uprobed 0.5
	hottest "$tmp/met"
	jq -c '.user_stacks, .tables' "$tmp/s"
	between "$(stat_of "$tmp/s" .tables.stacks_deferred)" 5 1000 deferred
	between "$(folded_share "$tmp/met" ';main;probed_outer;between(;probed_inner)?(;|$)')" 95 100 \
		'in the outer function'
}
