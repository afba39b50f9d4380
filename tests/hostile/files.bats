#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A container maps thousands of new files a second. The daemon opens a few of them, as their CPU time has a
# share of its budget, and the programs of others that begin meanwhile have whole stacks with names.
# alone: it holds the daemon's CPU time against a budget
# seconds: 15

load ../e2e/lib
load accounts

# start_in NAME COMMAND...: in a cgroup of its own.
start_in() {
	make_cgroup "$1"
	shift
	# shellcheck disable=SC2016 # for the inner shell
	start sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$cgroup" "$@"
	wait_until 20 has_run "$pid"
}

segments() {
	find "$tmp/store" -maxdepth 1 -name '*.folded.zst' 2>/dev/null | wc -l
}

has_segments() {
	[ "$(segments)" -ge "$1" ]
}

# sum_of KEY: of the accounts of intervals.
sum_of() {
	accounts "$tmp/store" | grep -oE "\"$1\": *-?[0-9]+" | awk -F: '{ sum += $2 } END { print sum + 0 }'
}

@test "files that are all new take their share of the time, and hide no stack or name of others" {
	local daemon log one met late samples seconds began status=0
	need zstdcat
	mkdir "$tmp/files"
	printf '%s\n' '[http]' 'listen = off' '[sample]' 'hz = 499' 'interval = 2s' '[store]' \
		"path = $tmp/store" >"$tmp/stoker.ini"
	start "$stoker" daemon --config "$tmp/stoker.ini"
	daemon=$pid
	log=$out
	wait_until 30 says 'sampling at' "$log"
	began=$SECONDS
	start_in hostile "$(target manyfiles)" "$tmp/files" 5000 600 touch
	wait_until 30 says 'hostile: its files took more CPU time than their share' "$log"
	make_cgroup late
	for one in first second third; do
		cp "$(target deep_nofp)" "$tmp/$one"
		start "$tmp/$one" 600
		echo "$pid" >"$cgroup/cgroup.procs"
		runs_on "$pid" 150
	done
	wait_until 20 has_segments $(($(segments) + 2))
	seconds=$((SECONDS - began))
	kill -TERM "$daemon"
	wait "$daemon" || status=$?
	cat "$log"
	[ "$status" -eq 0 ]
	zstdcat "$tmp"/store/*.folded.zst >"$tmp/f"
	met=$(sum_of met)
	late=$(sum_of late)
	[ "$met" -gt 0 ]
	echo "$met files in $seconds s, of which $late were refused"
	# Those that run here, half a second of CPU time at 0.3 ms a file, and then half of one per cent of a core.
	[ $((met - late)) -le $((500 + 1667 + 17 * seconds)) ]
	for one in first second third; do
		between "$(whole "$one")" 98 100 "$one"
		samples=$(folded_count "$tmp/f" ";$one;.*main")
		[ "$(folded_count "$tmp/f" ";$one;.*main;.*descend")" -ge $((samples * 9 / 10)) ]
		[ "$samples" -ge $(($(folded_count "$tmp/f" ";$one;_start") * 9 / 10)) ]
	done
}
