#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Recorded captures and stored segments, replayed: every byte of every output is what it was. Neither
# BPF nor root is needed. After a change on purpose: tests/golden/replay/make.
# seconds: 10

bats_require_minimum_version 1.5.0

setup_file() {
	[ "$(uname -m)" = x86_64 ] || skip 'the recorded programs are for x86-64'
	cd "$BATS_TEST_DIRNAME/../.." || return
	export STOKER=${STOKER:-$PWD/stoker}
	REPLAY=${TARGETS:-$PWD/.build/tests/targets}
	export REPLAY=${REPLAY%/*}/tools/replay
	tests/golden/replay/make "$BATS_FILE_TMPDIR/now"
}

setup() {
	cd "$BATS_TEST_DIRNAME" || return
	now=$BATS_FILE_TMPDIR/now
}

# same FOLDER: as it is in the tree.
same() {
	diff -r "$1" "$now/$1"
}

@test "a capture of counts, with lines and threads, gives the same bytes in each format" {
	same replay/counts/expected
}

@test "a capture with times gives the same bytes in each format" {
	same replay/times/expected
}

@test "what a capture seldom meets gives the same bytes in each format" {
	same replay/edges/expected
}

@test "segments as they were written give the same answers" {
	same store/expected
}

@test "the recordings have each kind of event, and what makes stacks hard" {
	local name kind
	for name in counts times; do
		for kind in object who stack jit deferred mapping made count; do
			grep -q "^$kind " "replay/$name/handover"
		done
		grep -q '^file .*refused=[1-9]' "replay/$name/handover"
		grep -q 'golden-mill;.*\[truncated\]' "replay/$name/expected/folded"
		grep -q ';jit_loop_\[j\] ' "replay/$name/expected/folded"
		grep -q ';refused.so+0x[0-9a-f]* ' "replay/$name/expected/folded"
		grep -q '^deferred [1-9][0-9]* finished [1-9]' "replay/$name/expected/account"
	done
	grep -q '^tick ' replay/times/handover
	grep -q '^frames .* inlined [1-9]' replay/counts/expected/account
}

# replayed_after NAME PATTERN SUBSTITUTION: the recording with the first such line changed.
replayed_after() {
	rm -rf "$BATS_TEST_TMPDIR/changed"
	mkdir -p "$BATS_TEST_TMPDIR/changed/out"
	cp -r "replay/$1/handover" "replay/$1/root" "$BATS_TEST_TMPDIR/changed"
	sed -i "/$2/{$3;:rest;n;b rest}" "$BATS_TEST_TMPDIR/changed/handover"
	run -1 cmp "replay/$1/handover" "$BATS_TEST_TMPDIR/changed/handover"
	"$REPLAY" "$BATS_TEST_TMPDIR/changed" "$BATS_TEST_TMPDIR/changed/out"
}

@test "two frames that change places, another name, count or time are in every format that has them" {
	local name pattern change formats format
	while read -r name pattern change formats; do
		replayed_after "$name" "$pattern" "$change"
		for format in $formats; do
			run -1 cmp "replay/$name/expected/$format" "$BATS_TEST_TMPDIR/changed/out/${format%%.*}"
		done
	done <<-'END'
		counts ^stack.*:.*+.*+ s/:.\([^[:blank:]]*\).\([^[:blank:]]*\)/:\o040\2\o040\1/ folded pprof.pb speedscope.json firefox.json
		counts ^who s/comm=.*/comm=other/ folded pprof.pb speedscope.json firefox.json
		counts ^count s/count=.*/count=1000/ folded pprof.pb speedscope.json firefox.json
		times ^tick s/cpu=.*/cpu=7/ perf.txt
		times ^tick s/time=[0-9]*/time=3600000000000/ perf.txt firefox.json
	END
}
