#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Stacks through code that no file has and no table describes: what CPython generates for perf.
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
	between "$(folded_share "$tmp/f" ';main;\[anon\][^;]*_\[j\];evaluate(;|$)')" 95 100 'under main'
	between "$(complete_percent "$tmp/s")" 99 100 'complete'
}
