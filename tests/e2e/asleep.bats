#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A daemon with nothing to do sleeps, and what it knows does not wake it.
# alone: new programs and cgroups of others wake the daemon, too
# seconds: 30

load lib
load http

# armed_for PID: how many seconds its timer has left; nothing: it has none.
armed_for() {
	grep -h '^it_value:' "/proc/$1/fdinfo/"* 2>/dev/null | sed 's/.*(\([0-9]*\),.*/\1/'
}

sleeps_for() {
	[ "$(armed_for "$daemon")" -ge "$1" ]
}

# wakeups PID: how often it has slept so far.
wakeups() {
	awk '/^voluntary_ctxt_switches/ { sum += $2 } END { print sum }' "/proc/$1/task/"*/status
}

# last_woken: when a new task woke the daemon last, as its BPF program has it.
last_woken() {
	local id
	for id in $(sed -n 's/^map_id:[[:space:]]*//p' "/proc/$daemon/fdinfo/"* | sort -u); do
		[[ $(bpftool -j map show id "$id" | jq -r .name) = *.bss ]] || continue
		bpftool -j map dump id "$id" | jq '.. | .task_woken_ns? // empty'
	done
}

# One after another, each with many ticks.
short_processes() {
	local i
	for ((i = 0; i < $1; i++)); do
		sh -c "echo \$\$ >$cgroup/cgroup.procs; i=0; while [ \$i -lt 200000 ]; do i=\$((i + 1)); done"
	done
}

# What is outside the target, and the host's own events, wake the daemon for a moment, and a mount wakes
# the supervisor. The processes that serve, write and start others need nothing from the host.
idle_processes_sleep() {
	local child after before=() quiet=()
	for child in $(children_of "$daemon"); do
		case $(cat "/proc/$child/comm") in
		stoker-worker | stoker-opener) ;; # others' new programs have tables made
		*) quiet+=("$child") ;;
		esac
	done
	[ "${#quiet[@]}" -ge 4 ]
	for child in "${quiet[@]}"; do before+=("$(wakeups "$child")"); done
	record -a -d 3 -o "$tmp/f"
	for child in "${!quiet[@]}"; do
		after=$(wakeups "${quiet[child]}")
		between "$((after - before[child]))" 0 2 "wake-ups of $(cat "/proc/${quiet[child]}/comm")"
	done
}

known_processes_wake_nobody() {
	local first known
	first=$(last_woken)
	short_processes 5
	known=$(last_woken)
	[ "$known" -gt "$first" ]
	short_processes 15
	[ "$(last_woken)" -eq "$known" ]
	between "$(metric stoker_samples_total)" 20 100000 samples
}

# Fifty turns a second, and what it waits for in them: for an opener that looks at new cgroups. Each event as
# a turn of its own was 2,100.
many_events_are_few_turns() {
	local before began turns made=0
	before=$(wakeups "$daemon") began=${EPOCHREALTIME/./}
	while [ $((${EPOCHREALTIME/./} - began)) -lt 4000000 ]; do
		mkdir "$cgroup/one$made"
		rmdir "$cgroup/one$made"
		made=$((made + 1))
	done
	turns=$((($(wakeups "$daemon") - before) / 4))
	echo "$made cgroups, $turns waits a second"
	between "$made" 400 100000 'cgroups that came and went'
	between "$turns" 5 600 'waits a second'
}

@test "a daemon with nothing to do sleeps, new processes that it knows wake nobody, many events are few turns" {
	need bpftool
	make_cgroup asleep
	interval="1h
hz = 99
wall = 0
target = cgroup $cgroup" serve
	wait_until 60 sleeps_for 3000
	idle_processes_sleep
	known_processes_wake_nobody
	many_events_are_few_turns
}
