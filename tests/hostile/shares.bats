#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A container that wants more of a table than its share loses its own, and nobody else does.
# seconds: 30

load ../e2e/lib

# start_in CGROUP COMMAND...: in a cgroup of its own; returns when it says ready.
start_in() {
	make_cgroup "$1"
	shift
	# shellcheck disable=SC2016 # for the inner shell
	start sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$cgroup" "$@"
	wait_until 20 says ready "$out"
}

has_segments() {
	[ "$(find "$tmp/store" -maxdepth 1 -name '*.folded.zst' 2>/dev/null | wc -l)" -ge "$1" ]
}

@test "two processes with random names of 1,000 bytes do not fill the store, and others keep their names" {
	local daemon len status=0
	printf '%s\n' '[http]' 'listen = off' '[sample]' 'hz = 499' 'cpu = 100%' 'interval = 2s' '[store]' \
		"path = $tmp/store" 'by = container,comm' >"$tmp/stoker.ini"
	start_in victim "$(target jitmap)" 120
	start_in hostile "$(target randomnames)" 120
	start "$(target randomnames)" 120
	echo "$pid" >"$cgroup/cgroup.procs"
	start "$stoker" daemon --config "$tmp/stoker.ini"
	daemon=$pid
	wait_until 30 has_segments 4
	kill -TERM "$daemon"
	wait "$daemon" || status=$?
	cat "$out"
	[ "$status" -eq 0 ]
	zstdcat "$tmp"/store/*.folded.zst >"$tmp/f"
	len=$(find "$tmp/store" -name '*.folded.zst' | wc -l)
	du -b "$tmp/store"/*.folded.zst
	# Each interval has 64 KiB for text, and its account.
	[ "$(cat "$tmp"/store/*.folded.zst | wc -c)" -lt $((len * 80000)) ]
	[ "$(folded_count "$tmp/f" '^[^;]*-hostile;.*;\[names left out\]')" -gt 0 ]
	[ "$(folded_count "$tmp/f" '^[^;]*-victim;.*jit_alpha')" -gt 0 ]
	[ "$(folded_count "$tmp/f" 'names left out')" -eq "$(folded_count "$tmp/f" '^[^;]*-hostile;.*names left out')" ]
	grep -q 'hostile: its stacks are more than its share' "$out"
	grep -aoh '"left_out": *[1-9][0-9]*' "$tmp"/store/*.folded.zst
}
