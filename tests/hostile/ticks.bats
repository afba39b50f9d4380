#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A container of deep stacks makes ticks dear. It loses the outer frames of its own stacks, and nobody
# loses samples.
# alone: it holds the time of ticks against a budget
# seconds: 25

load ../e2e/lib
load accounts

hz=999

# start_in NAME COMMAND...: in a cgroup of its own, on the first CPU.
start_in() {
	make_cgroup "$1"
	shift
	# shellcheck disable=SC2016 # for the inner shell
	start taskset -c 0 sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$cgroup" "$@"
	wait_until 10 has_run "$pid"
}

# start_below NAME COMMAND...: by this name, in a new cgroup below the hostile one.
start_below() {
	local name=$1
	cp "$2" "$tmp/$name"
	shift 2
	mkdir "$cgroup/below"
	cgroups=("$cgroup/below" "${cgroups[@]}")
	# shellcheck disable=SC2016 # for the inner shell
	start taskset -c 0 sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$cgroup/below" "$tmp/$name" "$@"
}

# start_daemon BUDGET: into $tmp/store; its log is $log.
start_daemon() {
	printf '%s\n' '[http]' 'listen = off' '[sample]' "hz = $hz" "cpu = $1" 'interval = 5s' '[store]' \
		"path = $tmp/store" >"$tmp/stoker.ini"
	start "$stoker" daemon --config "$tmp/stoker.ini"
	daemon=$pid
	log=$out
	wait_until 30 says 'sampling at' "$log"
}

stop_daemon() {
	local status=0
	kill -TERM "$daemon"
	wait "$daemon" || status=$?
	cat "$log"
	zstdcat "$tmp"/store/*.folded.zst >"$tmp/f"
	[ "$status" -eq 0 ]
}

# cost_of NAME DEPTH: what ticks of such stacks take of the first CPU, in thousandths.
cost_of() {
	start_busy deep_nofp 600 "$2"
	record_cpu 1 "$pid" -F "$hz" -o "$tmp/f" --stats "$tmp/s"
	kill -KILL "$pid"
	jq --argjson hz "$hz" '.tick_time.ns_total / .ticks.samples * $hz / 1e6 | floor' "$tmp/s"
}

# In an interval's account.
has_limited() {
	accounts "$tmp/store" | grep -qE '"limited": *[1-9]'
}

@test "a container of deep stacks has its own cut, and costs no other a sample" {
	local cost
	need taskset zstdcat jq
	cost=$(cost_of deep_nofp 1900)
	echo "ticks of deep stacks take $cost thousandths of a CPU"
	[ "$cost" -gt 20 ] || skip "deep stacks take $cost thousandths of a CPU here: no budget is so small"
	start_in victim "$(target burn7030_nofp)" 600
	start_in hostile "$(target deep_nofp)" 600 1900
	# A quarter of what the deep ones take when they have the CPU to themselves; here they have half of it.
	start_daemon $((cost / 4 / 10)).$((cost / 4 % 10))%
	wait_until 90 says 'its ticks took more than their share' "$log"
	wait_until 60 has_limited
	start_below later "$(target deep_nofp)" 600 1900
	runs_on "$pid" 150
	stop_daemon
	[ "$(grep -c 'hostile.*more than their share' "$log")" -eq 1 ]
	! grep -q 'CPU for ticks, more than' "$log"
	between "$(whole burn7030_nofp)" 99 100 'per cent of whole stacks of the victim'
	between "$(whole later)" 0 40 'per cent of whole stacks of a cgroup below'
}
