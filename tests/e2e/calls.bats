#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Callers of code without tables, where the stack has the return addresses of calls that are over.
# seconds: 8

load lib

# record_stale near|far: profile in $tmp/f, account in $tmp/s.
record_stale() {
	[ "$(uname -m)" = x86_64 ] || skip 'x86-64 assembly'
	start_busy stale "$1" 60
	record_cpu 1 "$pid" --user -F 499 -o "$tmp/f" --stats "$tmp/s"
	need_tables "$tmp/s"
	hottest "$tmp/f"
}

@test "a return address whose call led elsewhere is passed over" {
	record_stale far
	between "$(folded_share "$tmp/f" ';main;caller;\[guessed\];waits$')" 98 100 'with its callers'
	[ "$(stat_of "$tmp/s" .user_stacks.calls_checked)" -gt 0 ]
	[ "$(stat_of "$tmp/s" .user_stacks.calls_impossible)" -eq 0 ]
}

@test "a guessed caller that did not call ends the stack" {
	record_stale near
	between "$(folded_share "$tmp/f" '\[truncated\];waits$')" 98 100 'cut at the guess'
	between "$(folded_count "$tmp/f" leaves_near)" 0 0 'invented callers'
	between "$(jq '100 * .user_stacks.truncated.impossible / .user_stacks.total' "$tmp/s")" 98 100 impossible
	[ "$(stat_of "$tmp/s" .user_stacks.calls_impossible)" -gt 0 ]
}
