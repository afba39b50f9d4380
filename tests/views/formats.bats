#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# One capture in every format, each read back by tests/views/read, and by programs that people use.
# seconds: 60

bats_require_minimum_version 1.5.0
load ../e2e/lib

VIEWER='speedscope@1.25.0 playwright-core@1.65.1'

setup_file() {
	local busy=() command=() one port recorder targets=${TARGETS:-$BATS_TEST_DIRNAME/../../.build/tests/targets}
	export dir=$BATS_FILE_TMPDIR
	for one in 'burn7030 60 1' 'jitmap 60' 'syscalls 60'; do
		# shellcheck disable=SC2086 # a program and its arguments
		"$targets"/$one >/dev/null 2>&1 3>&- &
		busy+=($!)
	done
	# Real runtimes and a server beside them, of those that this machine can have.
	for one in node java coreclr; do
		"$BATS_TEST_DIRNAME/../runtimes/setup" "$one" market >"$dir/command" 2>>"$dir/missing" || continue
		mapfile -t command <"$dir/command"
		"${command[@]}" 60 >/dev/null 2>&1 3>&- &
		busy+=($!)
		echo "$one $!" >>"$dir/runtimes"
	done
	if command -v redis-server redis-benchmark >/dev/null; then
		port=$(free_port)
		redis-server --port "$port" --bind 127.0.0.1 --save '' >/dev/null 2>&1 3>&- &
		busy+=($!)
		echo "redis $!" >>"$dir/runtimes"
		wait_until 10 listens "$port"
		timeout 60 redis-benchmark -p "$port" -q -n 100000000 -t set,get >/dev/null 2>&1 3>&- &
		busy+=($!)
	fi
	"${STOKER:-$BATS_TEST_DIRNAME/../../stoker}" record -a -F 199 --by '' --bundle "$dir/bundle" \
		2>"$dir/said" 3>&- &
	recorder=$!
	wait_until 30 says 'sampling at' "$dir/said"
	# Until each of them has had CPU time; the 23 processes of comms last, as others are slow beside them.
	runs_on "${busy[0]}" 100
	touch "$dir/runtimes"
	while read -r _ one; do
		runs_on "$one" 20
	done <"$dir/runtimes"
	"$targets/comms" 60 >/dev/null 2>&1 3>&- &
	busy+=($!)
	wait_until 10 has_children $! 23
	for one in $(children_of $!); do
		wait_until 30 has_run "$one" 5
	done
	kill -INT "$recorder"
	wait "$recorder"
	kill "${busy[@]}" 2>/dev/null
	wait
	cp "$dir/bundle/perf_script.out" "$dir/a.linux-perf.txt"
	cp "$dir/bundle/folded_stacks.out" "$dir/a.folded"
	cp "$dir/bundle/profile.speedscope.json" "$dir/a.speedscope.json"
	cp "$dir/bundle/profile.pb.gz" "$dir/a.pb.gz"
}

has_children() {
	[ "$(children_of "$1" | wc -w)" -eq "$2" ]
}

convert() {
	"$stoker" convert -q --by '' "$dir/a.linux-perf.txt" -o "$1"
}

@test "the capture has programs of every runtime that is here" {
	[ -s "$dir/runtimes" ] || skip "none is to be had: $(cat "$dir/missing")"
	local name pid
	while read -r name pid; do
		echo "$name $pid"
		grep -q "^[^[:blank:]].* $pid/[0-9]* \\[" "$dir/a.linux-perf.txt"
	done <"$dir/runtimes"
}

@test "each function has the same samples in every format" {
	local format
	"$BATS_TEST_DIRNAME/read" functions "$dir/a.folded" >"$tmp/want"
	[ "$(wc -l <"$tmp/want")" -gt 50 ]
	convert "$dir/b.firefox.json"
	convert "$dir/b.trace.zip"
	convert "$dir/b.folded"
	convert "$dir/b.pb.gz"
	for format in a.linux-perf.txt a.speedscope.json a.pb.gz b.firefox.json b.trace.zip b.folded b.pb.gz; do
		"$BATS_TEST_DIRNAME/read" functions "$dir/$format" >"$tmp/have"
		diff "$tmp/want" "$tmp/have" >"$tmp/diff" || {
			echo "$format"
			head "$tmp/diff"
			return 1
		}
	done
}

@test "each thread has the same events in every format that has threads" {
	local format
	"$BATS_TEST_DIRNAME/read" threads "$dir/a.linux-perf.txt" >"$tmp/want"
	[ "$(wc -l <"$tmp/want")" -gt 15 ]
	convert "$dir/c.firefox.json"
	convert "$dir/c.trace.zip"
	for format in a.pb.gz c.firefox.json c.trace.zip; do
		"$BATS_TEST_DIRNAME/read" threads "$dir/$format" >"$tmp/have"
		diff "$tmp/want" "$tmp/have"
	done
}

# weighs FILE: PerfView's weights of FILE add up to what its samples stand for, and some time was idle.
weighs() {
	"$BATS_TEST_DIRNAME/read" weights "$1" >"$tmp/weights"
	echo "$1: samples, their weights, idle: $(cat "$tmp/weights")"
	awk '{ exit !($1 > 100 && $2 - $1 < 0.01 && $1 - $2 < 0.01 && $3 > 0) }' "$tmp/weights"
}

@test "PerfView's weights add up to the time of the samples, on a busy machine and on an idle one" {
	# On one CPU, as the idle time after the last sample of a CPU has no end.
	"$stoker" record -q -F 499 -o "$tmp/idle.trace.zip" -- taskset -c 0 \
		bash -c 'for i in 1 2 3 4; do for ((j = 0; j < 30000; j++)); do :; done; timeout 0.2 tail -f /dev/null; done; true'
	weighs "$tmp/idle.trace.zip"
	awk '{ exit !($3 > 3 * 195) }' "$tmp/weights"
	convert "$dir/d.trace.zip"
	weighs "$dir/d.trace.zip"
	"$stoker" convert -q --perfview "$dir/a.linux-perf.txt" -o "$tmp/d.linux-perf.txt"
	weighs "$tmp/d.linux-perf.txt"
	"$stoker" convert -q --by '' "$tmp/d.linux-perf.txt" -o "$tmp/d.folded"
	diff "$dir/a.folded" "$tmp/d.folded"
}

@test "perf text is what each of its readers needs, whatever programs are called" {
	"$BATS_TEST_DIRNAME/read" strict "$dir/a.linux-perf.txt"
	grep -q '^x  [0-9]' "$dir/a.linux-perf.txt"
	grep -q '^rs:action_13_qu ' "$dir/a.linux-perf.txt"
	grep -q '^:[0-9]' "$dir/a.linux-perf.txt"
}

@test "the archive of a bundle has all of it" {
	tar -xzf "$dir/bundle/prof.tar.gz" -C "$tmp"
	rm "$dir/bundle/prof.tar.gz"
	diff -r "$dir/bundle" "$tmp/bundle"
}

@test "go tool pprof reads it: top, raw and peek" {
	need "$go"
	local hottest
	"$go" tool pprof -top -nodecount=100000 -nodefraction=0 -sample_index=samples "$dir/a.pb.gz" >"$tmp/top"
	"$go" tool pprof -raw "$dir/a.pb.gz" >"$tmp/raw"
	"$go" tool pprof -nodefraction=0 -peek '^seventy$' "$dir/a.pb.gz" >"$tmp/peek"
	grep -q 'samples/count cpu/nanoseconds' "$tmp/raw"
	grep -q 'parent$' "$tmp/peek"
	"$BATS_TEST_DIRNAME/read" functions "$dir/a.folded" |
		awk '$2 == "seventy" && NF == 2 { print $1 }' >"$tmp/want"
	awk '$6 == "seventy" { print $4 }' "$tmp/top" | diff "$tmp/want" -
	# A process is chosen by its number.
	hottest=$(grep -o ' pid:\[[0-9]*' "$tmp/raw" | grep -o '[0-9]*' | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
	"$go" tool pprof -top -tagfocus="pid=$hottest" "$dir/a.pb.gz" >"$tmp/focus"
	grep -q 'of .* total$' "$tmp/focus"
	! grep -q '^Showing nodes accounting for 0,' "$tmp/focus"
}

@test "speedscope opens its own format, perf text, folded and pprof, and shows what is hottest" {
	local chromium home
	chromium=$(command -v chromium || command -v chromium-browser) || skip 'no Chromium on this machine'
	# shellcheck disable=SC2086 # a list of packages
	home=$("$BATS_TEST_DIRNAME/setup" $VIEWER 2>"$tmp/setup") || skip "$(cat "$tmp/setup")"
	cp "$dir/a.folded" "$tmp/a.collapsedstack.txt"
	# Of perf text it makes a profile of each thread: of one program there are few to look through.
	awk -v RS= -v ORS='\n\n' '/^burn7030 /' "$dir/a.linux-perf.txt" >"$tmp/a.linux-perf.txt"
	mkdir -p "$targets/../artefacts"
	timeout 120 "$node" "$BATS_TEST_DIRNAME/speedscope.mjs" "$home" "$chromium" "$targets/../artefacts" seventy \
		"$dir/a.speedscope.json" "$tmp/a.linux-perf.txt" "$tmp/a.collapsedstack.txt" "$dir/a.pb.gz"
}

@test "an empty profile and one sample are whole files in every format" {
	local format samples
	printf '# ========\n' >"$tmp/0.linux-perf.txt"
	printf 'a 1/2 [000] 1.5: cpu-clock: \n\t1 f (m)\n\n' >"$tmp/1.linux-perf.txt"
	for samples in 0 1; do
		for format in folded linux-perf.txt.zst pb.gz speedscope.json firefox.json trace.zip html svg; do
			"$stoker" convert -q "$tmp/$samples.linux-perf.txt" -o "$tmp/$samples.of.$format"
		done
		"$BATS_TEST_DIRNAME/read" functions "$tmp/$samples.of.pb.gz" | grep -c f | grep -qx "$samples"
		"$BATS_TEST_DIRNAME/read" functions "$tmp/$samples.of.firefox.json" | grep -c f | grep -qx "$samples"
		"$BATS_TEST_DIRNAME/read" functions "$tmp/$samples.of.trace.zip" | grep -c f | grep -qx "$samples"
		zstd -tq "$tmp/$samples.of.linux-perf.txt.zst"
	done
}

@test "a disk that fills leaves no file and a clear error, while sampling and while converting" {
	local disk=$tmp/disk
	mkdir "$disk"
	mount -t tmpfs -o size=64k none "$disk" || skip 'no tmpfs can be mounted here'
	mounts+=("$disk")
	run -1 "$stoker" convert -q "$dir/a.linux-perf.txt" -o "$disk/x.linux-perf.txt"
	[[ $output == *'no space left'* ]]
	start_busy deep_nofp 60
	run -1 "$stoker" record -q -p "$pid" -F 1999 -d 1 -o "$disk/x.trace.zip" -f perf
	[[ $output == *'no space left'* ]]
	[ -z "$(ls -A "$disk")" ]
}

@test "a reader that closes the pipe is told of, once" {
	run bash -c "'$stoker' convert -q '$dir/a.linux-perf.txt' -f perf 2>'$tmp/err' | head -n 1; echo \${PIPESTATUS[0]}"
	[ "${lines[-1]}" = 1 ]
	grep -q 'closed the pipe' "$tmp/err"
	[ "$(wc -l <"$tmp/err")" -eq 1 ]
}

@test "folded stacks have no times, and what needs them says so" {
	run -1 "$stoker" convert "$dir/a.folded" -o "$tmp/x.linux-perf.txt"
	[[ $output == *'has no times'* ]]
	run -1 "$stoker" convert "$dir/a.folded" -f firefox
	[[ $output == *'has no times'* ]]
	run -1 "$stoker" convert "$dir/a.folded" --since 1
	[[ $output == *'has no times'* ]]
	[ ! -e "$tmp/x.linux-perf.txt" ]
}

@test "times takes few bytes a sample, and little memory" {
	"$targets/burn7030" 60 2 3>&- &
	started+=($!)
	"$stoker" record -q -p $! -F 1999 -d 6 -o "$tmp/t.linux-perf.txt.zst" --stats "$tmp/s.json"
	local samples bytes
	samples=$(zstd -dc "$tmp/t.linux-perf.txt.zst" | grep -c ': $')
	bytes=$(stat -c %s "$tmp/t.linux-perf.txt.zst")
	echo "$bytes bytes, $samples samples"
	[ "$(jq '.ticks.samples' "$tmp/s.json")" -eq "$samples" ]
	[ "$(lost "$tmp/s.json")" -eq 0 ]
	[ "$bytes" -le $((samples * 9)) ]
}
