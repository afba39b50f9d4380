#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two containers with one /tmp: process 1 of each writes /tmp/perf-1.map. The names of one are not given
# to the other.
# seconds: 12

load ../e2e/lib
load attacks

# start_sharing FOLDER COMMAND...: as process 1 of a container whose /tmp is the folder.
start_sharing() {
	start bash "$tmp/attacks" share_tmp "$@"
	wait_until 5 has_child "$pid"
	pid=$(children_of "$pid" | tr -d ' ')
}

@test "a perf map that two living processes claim names neither, and the account says what helps" {
	local i victims='' alone
	need jq
	unshare --mount --pid --fork --mount-proc true 2>/dev/null || skip 'no namespaces of our own here'
	cp "$attacks" "$tmp/attacks" # where it is seen when /tmp is another
	for i in 1 2 3 4 5 6 7 8 9 10; do
		mkdir -m 1777 "$tmp/shared$i"
		start_sharing "$tmp/shared$i" "$(target jitmap)" 120
		wait_until 10 says ready "$out"
		victims="$victims $pid"
		start_sharing "$tmp/shared$i" bash "$tmp/attacks" claim_map "$(target jitmap)" 120 nomap
		wait_until 10 says ready "$out"
		[ "$(grep -c forged "$tmp/shared$i/perf-1.map")" -eq 1 ]
	done
	mkdir -m 1777 "$tmp/alone"
	start_sharing "$tmp/alone" "$(target jitmap)" 120
	alone=$pid
	wait_until 10 says ready "$out"
	start_record -a -F 499 --by pid -o "$tmp/f" --stats "$tmp/s"
	recorder_said=$out
	# They run beside one another.
	runs_on "$alone" 20
	stop_record
	jq -c '.frames, .objects' "$tmp/s"
	cat "$recorder_said"
	[ "$(folded_count "$tmp/f" 'forged[^;]*_\[j\]')" -eq 0 ]
	for i in $victims; do
		[ "$(folded_count "$tmp/f" "^$i;.*\\[JIT jitmap $i\\]")" -gt 0 ]
	done
	[ "$(folded_count "$tmp/f" "^$alone;.*jit_alpha")" -gt 0 ]
	[ "$(jq .objects.maps_refused.shared "$tmp/s")" -eq 20 ]
	[ "$(jq .frames.unnamed.shared_map "$tmp/s")" -gt 0 ]
	grep 'another living process.*/tmp of its own.*DOTNET_PerfMapJitDumpPath' "$recorder_said"
}
