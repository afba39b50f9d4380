#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Processes with as many mappings as the kernel allows, and JIT code: to look for the files of their
# JITs means to read all of them. The intervals are on time, and the jitdump of another account is
# found.
# seconds: 40

load ../e2e/lib

mappings=65000

# start_in CGROUP COMMAND...: in a cgroup of its own; returns when it says ready.
start_in() {
	make_cgroup "$1"
	shift
	# shellcheck disable=SC2016 # for the inner shell
	start sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$cgroup" "$@"
	wait_until 60 says ready "$out"
}

# Each mapping takes about 250 bytes of the kernel's memory.
has_memory() {
	[ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -gt 4000000 ]
}

parts() {
	find "$tmp" -name 'part.*' -size +0 | wc -l
}

has_parts() {
	[ "$(parts)" -ge "$1" ]
}

@test "sixty processes with 65,000 mappings each hold no interval up, and hide nobody's jitdump" {
	local began
	has_memory || skip 'less than 4 GB of memory are free'
	start_in hostile nice -n 19 "$(target manymaps)" 60 "$mappings" 600
	start_record -a --by comm -F 99 --interval 2 -o "$tmp/part.%s" --stats "$tmp/s"
	began=$SECONDS
	wait_until 20 has_parts 3
	cd "$tmp"
	start_in victim "$(target jitdump)" 600 load
	runs_on "$pid" 300
	began=$((SECONDS - began))
	stop_record
	echo "$(parts) intervals in $began s"
	jq -c '.objects, .agent, .user_stacks' "$tmp/s"
	[ "$(parts)" -ge $(((began - 3) / 2)) ]
	cat "$tmp"/part.* >"$tmp/f"
	# It may be looked for when the time of this account is not known yet.
	echo "of $(folded_count "$tmp/f" '^jitdump;') samples $(folded_count "$tmp/f" '^jitdump;.*dump_') named"
	[ "$(folded_count "$tmp/f" '^jitdump;.*dump_')" -ge $(($(folded_count "$tmp/f" '^jitdump;') / 2)) ]
	[ "$(jq .objects.maps_refused.late "$tmp/s")" -gt 0 ]
}
