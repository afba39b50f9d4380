#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A profile with two kinds of value and three free labels, in every format and back: each kind has the
# same total everywhere, and a format says what it has no place for.

load ../e2e/lib

PACKAGES='playwright-core@1.65.1'
SPEEDSCOPE='speedscope@1.25.0 playwright-core@1.65.1'
FIREFOX=@firefox-devtools/profiler-cli@0.10.0

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
	grep -q 'folded has no place for all labels of 7 samples: left out route, tenant, trace.id; --by label:NAME keeps one' said
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

# waits: waits.stoker has 3 samples with times and 2.5 s of waiting without.
waits() {
	{
		printf '%s\n' '# stoker kind: cpu samples 10000000 0' 'web;main;serve 3'
		printf '%s\n' '# stoker kind: wall microseconds 0 0' 'web;main;wait 2500000'
	} >waits.folded
	"$stoker" convert -q waits.folded -o waits.stoker
}

@test "formats that need times are refused for waits, which have none, and others hold them" {
	local format
	waits
	for format in perf perfview; do
		for kinds in wall wall,cpu; do
			if "$stoker" convert waits.stoker -e "$kinds" -f "$format" -o x 2>said; then return 1; fi
			cat said
			grep -q "waits.stoker: waits have no times, which the format $format needs; choose one of: folded pprof speedscope firefox html svg stoker$" said
			[ ! -e x ]
		done
	done
	if "$stoker" convert waits.stoker -e wall --since 1 2>said; then return 1; fi
	grep -q 'waits.stoker: waits have no times, which --since and --until need' said
	"$stoker" convert waits.stoker -e wall -o x.firefox.json
	jq -e '[.threads[] | [.samples.weightType, (.samples.weight | add)]] == [["tracing-ms", 2500]]' x.firefox.json
}

@test "one profile of waits has their name in speedscope" {
	waits
	"$stoker" convert -q waits.stoker -e wall -o x.speedscope.json
	[ "$(jq -c '[.profiles[] | [.name, .unit]]' x.speedscope.json)" = '[["wall","nanoseconds"]]' ]
	"$stoker" convert -q waits.stoker -e wall -f folded >wall.folded
	"$stoker" convert -q wall.folded -o x.speedscope.json
	[ "$(jq -c '[.profiles[] | [.name, .unit]]' x.speedscope.json)" = '[["wall","nanoseconds"]]' ]
	"$stoker" convert -q waits.stoker -e cpu -o x.speedscope.json
	[ "$(jq -c '[.profiles[].name]' x.speedscope.json)" = '["all"]' ]
}

# firefox_totals FILE: the Firefox Profiler's own: us of wall time, and CPU samples.
firefox_totals() {
	local home node24 command thread
	mapfile -t command < <("$BATS_TEST_DIRNAME/../runtimes/setup" node 2>"$tmp/setup")
	node24=${command[0]:-}
	[ -n "$node24" ] || skip "$(cat "$tmp/setup")"
	home=$("$BATS_TEST_DIRNAME/setup" "$FIREFOX" 2>"$tmp/setup") || skip "$(cat "$tmp/setup")"
	export HOME=$tmp/home
	mkdir -p "$HOME"
	command=(timeout 60 "$node24" "$home/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js")
	"${command[@]}" load "$1" >&2
	for thread in $("${command[@]}" thread list --json --limit 1000 | jq -r '.threads[].threadHandle'); do
		"${command[@]}" thread functions --thread "$thread" --include-idle --json
	done >threads
	"${command[@]}" stop --all >&2
	jq -s '[.[] | [.weightType, ([.functions[].selfSamples] | add // 0)]] |
		[([.[] | select(.[0] == "tracing-ms")[1]] | add * 1000 | round), ([.[] | select(.[0] == "samples")[1]] | add)]' threads
}

# equals FILE: so is stdin; a microsecond may be rounded away.
equals() {
	jq -se '(.[0][0] - .[1][0] | fabs) <= 1 and .[0][1] == .[1][1]' "$1" - || {
		cat "$1"
		return 1
	}
}

@test "of a recording with both kinds, speedscope, go tool pprof and the Firefox Profiler have the same totals" {
	need "$go"
	local chromium home waits
	chromium=$(command -v chromium || command -v chromium-browser) || skip 'no Chromium on this machine'
	# shellcheck disable=SC2086 # a list of packages
	home=$("$BATS_TEST_DIRNAME/setup" $SPEEDSCOPE 2>"$tmp/setup") || skip "$(cat "$tmp/setup")"
	head -c 64M /dev/zero >file
	start "$(target waits)" 60 file
	waits=$pid
	wait_until 10 says '^pid' "$out"
	"$stoker" record -q -p "$waits" -d 3 -e cpu,wall -F 100 -o both.stoker
	for kind in cpu wall; do
		"$stoker" convert -q both.stoker -e "$kind" -f folded | awk '!/^#/ { sum += $NF } END { printf "%.0f\n", sum }' >"$kind"
	done
	for kind in pb.gz speedscope.json firefox.json; do
		"$stoker" convert -q both.stoker -o "both.$kind"
	done
	echo "cpu: $(cat cpu) samples, wall: $(cat wall) us"
	between "$(cat wall)" 20000000 40000000 'us of waiting'
	"$go" tool pprof -raw -sample_index=wall both.pb.gz >raw 2>&1
	jq -cn --argjson wall "$(cat wall)" --argjson cpu "$(cat cpu)" '[$wall, $cpu]' >want
	# The columns of -raw: samples, ns of waiting, ns of running.
	head -n 4 raw
	awk '/^samples\/count/ { for (i = 1; i <= NF; i++) { sub(/\/.*/, "", $i); at[$i] = i } on = 1; next } /^Locations/ { on = 0 }
		on && /^ *[0-9]+ +[0-9]+ +[0-9]+:/ { sub(/:.*/, ""); wall += $at["wall"]; cpu += $at["cpu"] }
		END { printf "[%.0f,%.0f]\n", wall / 1000, cpu / 1e7 }' raw | equals want
	timeout 120 "$node" "$BATS_TEST_DIRNAME/speedscope_export.mjs" "$home" "$chromium" "$tmp/both.speedscope.json" >exported.json
	jq -c 'def total(kind): [.profiles[] | select(.name | startswith(kind)) | .endValue - .startValue] | add;
		[(total("wall") / 1000 | round), (total("cpu") / 1e7 | round)]' exported.json | equals want
	firefox_totals both.firefox.json | equals want
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
