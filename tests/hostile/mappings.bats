#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Processes with as many mappings as the kernel allows, or many processes in nested PID namespaces, with
# JIT code: to look for the files of their JITs means to read all mappings, or to try many names. The
# intervals are on time, and the jitdump of another account is found.
# seconds: 45

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

@test "thirty processes with 65,000 mappings each hold no interval up, and hide nobody's jitdump" {
	local began
	has_memory || skip 'less than 4 GB of memory are free'
	start_in hostile nice -n 19 "$(target manymaps)" 30 "$mappings" 600
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

# ticks_of PID: CPU time in ticks of a process and all below it, and of those that have ended.
ticks_of() {
	local stat child sum
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
	# shellcheck disable=SC2086 # fields
	set -- "$1" ${stat##*) }
	sum=$((${13} + ${14} + ${15} + ${16}))
	for child in $(children_of "$1" 2>/dev/null); do
		sum=$((sum + $(ticks_of "$child")))
	done
	echo "$sum"
}

has_segments() {
	[ "$(find "$tmp/store" -maxdepth 1 -name '*.folded.zst' 2>/dev/null | wc -l)" -ge "$1" ]
}

@test "three hundred JIT processes in nested PID namespaces take a part of the budget, and SIGTERM ends in time" {
	local daemon began before took i status=0 command
	command=("$(target manymaps)" 300 2 600)
	for i in {1..20}; do
		command=(unshare --pid --fork --kill-child "${command[@]}")
	done
	start_in hostile nice -n 19 "${command[@]}"
	# What other programs of this host cost is no part of it.
	printf '%s\n' '[http]' 'listen = off' '[sample]' 'hz = 99' 'interval = 2s' "target = cgroup $cgroup" '[store]' \
		"path = $tmp/store" >"$tmp/stoker.ini"
	start "$stoker" daemon --config "$tmp/stoker.ini"
	daemon=$pid
	# Bursts are free.
	wait_until 60 has_segments 4
	began=${EPOCHREALTIME/./} before=$(ticks_of "$daemon")
	wait_until 60 has_segments 10
	took=$(($(ticks_of "$daemon") - before)) began=$((${EPOCHREALTIME/./} - began))
	echo "$took ticks of CPU time in $((began / 1000)) ms"
	[ "$began" -lt $(($(patience 40) * 1000000)) ]
	[ $((took * 10000)) -lt $((began * 5 / 100)) ]
	began=${EPOCHREALTIME/./}
	kill -TERM "$daemon"
	wait "$daemon" || status=$?
	echo "ended after $(((${EPOCHREALTIME/./} - began) / 1000)) ms"
	cat "$out"
	[ "$status" -eq 0 ]
}
