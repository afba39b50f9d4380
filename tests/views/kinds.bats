#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A profile with two kinds of value and three free labels, in every format and back: each kind has the
# same total everywhere, and a format says what it has no place for.

load ../e2e/lib

PACKAGES='playwright-core@1.65.1'

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	stoker=${STOKER:-$BATS_TEST_DIRNAME/../../stoker}
	tmp=$BATS_TEST_TMPDIR
	{
		printf '%s\n' '# stoker kind: cpu samples 10000000 0' \
			'# stoker labels: comm,label:route,label:tenant,label:trace.id 0' \
			'web;/a;blue;1;main;serve 3' 'web;/b;blue;2;main;serve 4'
		printf '%s\n' '# stoker kind: wall samples 50000000 0' \
			'# stoker labels: comm,label:route,label:tenant,label:trace.id 0' \
			'web;/a;blue;1;main;wait 5' 'web;/b;red;2;main;serve 6'
	} >two.folded
	{
		printf '%s\n' '# ========' '# clock : wall' '# ========'
		for at in 1 2 3; do printf 'web 7/8 [000] 1.%d00000000:   10000000 cpu-clock: \n\t1 serve (m)\n\n' "$at"; done
		for at in 1 2; do printf 'web 7/8 [000] 2.%d00000000:   50000000 wall: \n\t2 wait (m)\n\n' "$at"; done
	} >two.txt
}

@test "folded stacks of each kind, one file after the other, are the same profile again" {
	local keys='comm,label:route,label:tenant,label:trace.id'
	"$stoker" convert two.folded -e cpu,wall --labels -o cpu.folded 2>said
	grep -q 'folded has one kind of value: left out wall (11 samples); -e chooses a kind' said
	"$stoker" convert two.folded -e wall --labels -o wall.folded 2>said
	[ "$(cat said)" = 'wrote wall.folded' ]
	cat cpu.folded wall.folded | diff two.folded -
	"$stoker" convert two.folded --by comm 2>said | diff - <(printf '%s\n' '# stoker kind: cpu samples 10000000 0' 'web;main;serve 7')
	grep -q 'folded has no place for all labels of 7 samples; --by label:NAME keeps one' said
	"$stoker" convert two.folded -e wall --by "$keys" 2>said >/dev/null
	[ ! -s said ]
	if "$stoker" convert two.folded -e wall,none 2>said; then return 1; fi
	grep -q 'no events or kinds wall,none; it has cpu, wall' said
}

@test "perf text of each kind, one file after the other, is the same profile again" {
	"$stoker" convert -q two.txt -e cpu -o cpu.linux-perf.txt
	"$stoker" convert two.txt -e wall,cpu -o wall.linux-perf.txt 2>said
	grep -q 'perf has one kind of value: left out cpu (3 samples)' said
	cat cpu.linux-perf.txt wall.linux-perf.txt >both.txt
	"$stoker" convert -q both.txt -e cpu,wall -f pprof >both.pb.gz
	"$stoker" convert -q two.txt -e cpu,wall -f pprof >two.pb.gz
	cmp both.pb.gz two.pb.gz
}

@test "go tool pprof has a sample type of each kind, CPU time is the default, and labels are labels" {
	need "$go"
	local index
	"$stoker" convert -q two.folded -o two.pb.gz
	for index in wall:550ms cpu:70ms; do
		"$go" tool pprof -top "-sample_index=${index%:*}" two.pb.gz 2>&1 | grep -q "of ${index#*:} total"
	done
	"$go" tool pprof -top two.pb.gz 2>&1 | grep -q 'of 70ms total'
	"$go" tool pprof -raw two.pb.gz 2>&1 | grep -q '^samples/count wall/nanoseconds cpu/nanoseconds\[dflt\]'
	"$go" tool pprof -top -sample_index=wall -tagfocus=tenant=red two.pb.gz 2>&1 | grep -q '300ms .*serve'
	"$go" tool pprof -tags two.pb.gz 2>&1 | grep -q trace.id
}

@test "speedscope and the Firefox Profiler have the same totals of each kind" {
	"$stoker" convert -q two.folded -o two.speedscope.json
	jq -e '[.profiles[] | [.name, .unit, .endValue, (.weights | add)]] ==
		[["cpu", "nanoseconds", 70000000, 70000000], ["wall", "nanoseconds", 550000000, 550000000]]' two.speedscope.json
	jq -e '.activeProfileIndex == 0' two.speedscope.json
	"$stoker" convert -q two.txt -e cpu,wall -o two.firefox.json
	jq -e '[.threads[] | [.name, .tid, .samples.weightType, (.samples.weight | add)]] ==
		[["web", "8", "samples", 3], ["web (wall)", "8.wall", "tracing-ms", 100]]' two.firefox.json
	jq -e '.meta.interval == 10' two.firefox.json
	"$BATS_TEST_DIRNAME/read" functions two.firefox.json | diff - <(printf '%s\n' '100 wait' '3 serve')
}

@test "the page shows one kind at a time, and all labels" {
	local home chromium
	chromium=$(command -v chromium || command -v chromium-browser) || skip 'no Chromium on this machine'
	# shellcheck disable=SC2086 # a list of packages
	home=$("$BATS_TEST_DIRNAME/setup" $PACKAGES 2>"$tmp/setup") || skip "$(cat "$tmp/setup")"
	"$stoker" convert -q two.folded -o two.html
	timeout 60 "$node" "$BATS_TEST_DIRNAME/kinds.mjs" "$home" "$chromium" "$tmp/two.html" >seen.json
	cat seen.json
	jq -e '.errors == []' seen.json
	jq -e '.kinds == ["cpu", "wall"] and .totals == [7, 11, 7] and .hz == ["100 Hz", "20 Hz", "100 Hz"]' seen.json
	jq -e '.routes == ["/a", "/b"]' seen.json
	"$stoker" convert -q two.folded -e wall -o one.html
	timeout 60 "$node" "$BATS_TEST_DIRNAME/kinds.mjs" "$home" "$chromium" "$tmp/one.html" >seen.json
	jq -e '.errors == [] and .kinds == [] and .totals == [11, 11, 11]' seen.json
}
