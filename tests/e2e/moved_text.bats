#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Text that a program copied into anonymous memory, for huge pages.
# seconds: 5

load lib

# record_moved [beside]: records it to $tmp/f and $tmp/s.
record_moved() {
	start "$(target moved_text)" 60 "$@"
	wait_until 10 grep -q ready "$out"
	record_cpu 1 "$pid" -F 499 -o "$tmp/f" --stats "$tmp/s"
	hottest "$tmp/f"
}

@test "text in the place of the file's mapping has the file's names and tables" {
	record_moved
	between "$(folded_share "$tmp/f" ';main;moved_parent;moved_leaf(;|$)')" 95 100 'named'
	between "$(jq '100 * .user_stacks.complete / .user_stacks.total' "$tmp/s")" 99 100 'complete'
	between "$(folded_count "$tmp/f" '\[JIT')" 0 0 'samples outside the file'
}

@test "code between two mappings of a file that lack nothing is not the file's" {
	record_moved beside
	between "$(folded_share "$tmp/f" '\[JIT')" 95 100 'outside the file'
	between "$(folded_count "$tmp/f" 'moved_(leaf|parent)')" 0 0 'samples with names of the file'
}

# has_moved: code without a file lies before the heap of $pid.
has_moved() {
	sed '/\[heap\]/q' "/proc/$pid/maps" | grep -q ' r-xp 00000000 00:00 0 *$'
}

@test "node --use-largepages has node's own names" {
	local burn='let x = 0; for (;;) x += JSON.stringify({ a: [1, 2, 3, x] }).length'
	start "$node" --use-largepages=on -e "$burn"
	wait_until 10 has_moved || skip 'this node does not move its text'
	record_cpu 2 "$pid" -F 499 -o "$tmp/f" --stats "$tmp/s"
	hottest "$tmp/f"
	between "$(folded_share "$tmp/f" ';v8::internal::[^;]*(;|$)')" 80 100 'with a name of V8'
}
