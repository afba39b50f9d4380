#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A container that wants more of a table than its share loses its own, and nobody else does.
# seconds: 80

load ../e2e/lib
load accounts

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
		"path = $tmp/store" >"$tmp/stoker.ini"
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
	# Others on the host may have a program of this name, too.
	[ "$(folded_count "$tmp/f" '-victim;.*;jitmap;.*jit_alpha')" -gt 0 ]
	[ "$(folded_count "$tmp/f" '-victim;.*names left out')" -eq 0 ]
	accounts "$tmp/store" | grep -oE '"(left_out|names_cut)": *[1-9][0-9]*'
}

# start_late NAME COMMAND...: in a cgroup of its own, after the hostile one; sampled for a while.
start_late() {
	make_cgroup "$1"
	shift
	# shellcheck disable=SC2016 # for the inner shell
	start sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$cgroup" "$@"
	wait_until 10 has_run "$pid"
	runs_on "$pid" 150
}

end_record() {
	stop_record
	cat "$tmp"/part.* >"$tmp/f"
	jq -c '.user_stacks, .tables, .agent' "$tmp/s"
}

@test "files that want all page numbers cut no stack of others" {
	start_late first "$(target deep_nofp)" 600
	start_record -a -F 199 --by comm --interval 2 -o "$tmp/part.%s" --stats "$tmp/s"
	mkdir "$tmp/files"
	start_in hostile "$(target greedy)" "$tmp/files" 40 sparse 600
	runs_on "$pid" 150
	start_late second "$(target burn7030_nofp)" 600
	end_record
	[ "$(jq '.tables.tables_refused + .tables.tables_evicted' "$tmp/s")" -gt 0 ]
	between "$(whole deep_nofp)" 99 100
	between "$(whole burn7030_nofp)" 99 100
}

@test "files whose rows have a rule of their own each cut no stack of others" {
	local hostile
	need "$python"
	mkdir "$tmp/files"
	start_in hostile "$(target greedy)" "$tmp/files" 3 rules 600
	hostile=$pid
	start_record -a -F 199 --by comm --interval 2 -o "$tmp/part.%s" --stats "$tmp/s"
	runs_on "$hostile" 150
	cp "$(readlink -f "$(command -v "$python")")" "$tmp/victim"
	start_late late "$tmp/victim" -S -c 'while True: sum(i * i for i in range(1000))'
	end_record
	[ "$(jq '.tables.rules_refused' "$tmp/s")" -gt 0 ]
	between "$(whole victim)" 98 100
}

# Eight seconds of a worker that makes tables; the other's programs begin meanwhile. At the end of each
# interval the samples that wait for a table are given up.
@test "files whose tables take seconds to make delay no tables of others" {
	local one
	mkdir "$tmp/files"
	start_in hostile "$(target greedy)" "$tmp/files" 8 slow 600
	start_record -a -F 199 --by comm --interval 2 -o "$tmp/part.%s" --stats "$tmp/s"
	make_cgroup late
	for one in first second third fourth; do
		cp "$(target deep_nofp)" "$tmp/$one"
		start "$tmp/$one" 600
		echo "$pid" >"$cgroup/cgroup.procs"
		runs_on "$pid" 60
	done
	end_record
	between "$(jq .tables.compile_us "$tmp/s")" 4000000 60000000 'microseconds of workers'
	for one in first second third fourth; do
		between "$(whole "$one")" 98 100 "$one"
	done
}

# So many a second that the table would be full of files that were used a moment ago. It has a place for
# two descriptors each, and as many ticks as it had on a host with more CPUs and 8,192 places.
@test "files that want all places of the table of files cut no stack of others" {
	local one other
	ulimit -n 3072
	mkdir "$tmp/one" "$tmp/other"
	start_in hostile "$(target manyfiles)" "$tmp/one" 5000 600 touch
	start "$(target manyfiles)" "$tmp/other" 5000 600 touch
	other=$pid
	echo "$pid" >"$cgroup/cgroup.procs"
	start_record -a -F 1999 --by comm --interval 2 -o "$tmp/part.%s" --stats "$tmp/s"
	runs_on "$other" 200
	make_cgroup late
	for one in first second third; do
		cp "$(target deep_nofp)" "$tmp/$one"
		start "$tmp/$one" 600
		echo "$pid" >"$cgroup/cgroup.procs"
		runs_on "$pid" 100
	done
	end_record
	jq -c .objects "$tmp/s"
	for one in first second third; do
		between "$(whole "$one")" 98 100 "$one"
	done
	[ "$(jq .objects.evicted "$tmp/s")" -gt 0 ]
}

# hostile_on_all_cpus COMMAND...: in one cgroup; $pid is the last one.
hostile_on_all_cpus() {
	local i
	start_in hostile "$@"
	for ((i = 1; i < $(nproc); i++)); do
		start "$@"
		echo "$pid" >"$cgroup/cgroup.procs"
	done
}

# start_second: in the cgroup of `first`, of the same file, so that nothing has to be read for it.
start_second() {
	# shellcheck disable=SC2016 # for the inner shell
	start sh -c 'echo $$ >"$1/cgroup.procs"; exec "$2" 600' sh "$late" "$tmp/second"
	from_birth "$pid"
}

# More than half of its ticks are samples, but for those that the machine had no time for; without shares
# 2 to 36 of 100 were.
second_lost_little() {
	local least
	least=$(jq '.ticks | 50 * (1 - .skipped / .expected) | floor' "$tmp/s")
	jq -c '.events.lost, .ticks.lost' "$tmp/s"
	between "$(whole second)" 99 100
	fits_cpu "$(folded_count "$tmp/f" '(^|;)second;')" "$hz" second "$least"
}

# costs_little LOST TICKS COMMAND...: in a container of its own this has so much CPU time on each CPU
# while the agent reads nothing, and loses ticks or events: LOST, for jq. Of what another container
# starts then most is sampled.
costs_little() {
	local lost=$1 ticks=$2 hz late
	shift 2
	hz=$(($(nproc) < 40 ? 4000 / $(nproc) : 100))
	cp "$(target burn7030_nofp)" "$tmp/first"
	ln "$tmp/first" "$tmp/second"
	start_record -a -F "$hz" --by comm --interval 2 -o "$tmp/part.%s" --stats "$tmp/s"
	started+=("$agent")
	start_late late "$tmp/first" 600
	late=$cgroup
	hostile_on_all_cpus "$@"
	runs_on "$pid" 60
	kill -STOP "$agent"
	runs_on "$pid" "$ticks"
	start_second
	runs_on "$pid" 100
	kill -CONT "$agent"
	runs_on "$pid" 50
	end_record
	[ "$(jq "$lost" "$tmp/s")" -gt 0 ]
	second_lost_little
}

@test "stacks that are all different leave others most samples while the agent is busy" {
	costs_little .ticks.lost.ring_full 100 "$(target randomstacks)" 600
}

@test "threads and stacks in all combinations leave others most samples while the agent is busy" {
	costs_little .ticks.lost.counts_full 150 "$(target randomstacks)" 600 7 100
}

@test "cgroups that are made and removed all the time leave others most samples while the agent is busy" {
	costs_little .events.lost.cgroup 100 "$(target cgroups)" "$(cgroup2_root)/stoker-e2e-$$-hostile" 600
}

# Its memory for stacks has 10 MB left.
@test "stacks that want all memory of the agent leave others most samples" {
	local hz=1999 late
	stoker=${targets%/targets}/tools/stoker-short
	cp "$(target burn7030_nofp)" "$tmp/first"
	ln "$tmp/first" "$tmp/second"
	start_record -a -F "$hz" --by comm --interval 600 -o "$tmp/part.%s" --stats "$tmp/s"
	start_late late "$tmp/first" 600
	late=$cgroup
	start_in hostile "$(target randomstacks)" 600
	runs_on "$pid" 300
	start_second
	runs_on "$pid" 100
	end_record
	[ "$(jq .ticks.lost.memory "$tmp/s")" -gt 0 ]
	second_lost_little
}
