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

# replayed_after PATTERN SUBSTITUTION: what the recording gives once the first such line is changed.
replayed_after() {
	rm -rf "$BATS_TEST_TMPDIR/changed"
	mkdir -p "$BATS_TEST_TMPDIR/changed/out"
	cp -r replay/counts/handover replay/counts/root "$BATS_TEST_TMPDIR/changed"
	sed -i "/$1/{$2;:rest;n;b rest}" "$BATS_TEST_TMPDIR/changed/handover"
	run -1 cmp replay/counts/handover "$BATS_TEST_TMPDIR/changed/handover"
	"$REPLAY" "$BATS_TEST_TMPDIR/changed" "$BATS_TEST_TMPDIR/changed/out"
}

# differs_in GOLDEN OUTPUT
differs_in() {
	run -1 cmp "replay/counts/expected/$1" "$BATS_TEST_TMPDIR/changed/out/$2"
}

@test "two frames that change places, another name and another count are in every format" {
	local pattern change
	while read -r pattern change; do
		replayed_after "$pattern" "$change"
		differs_in folded folded
		differs_in profile.pb pprof
		differs_in speedscope.json speedscope
	done <<-'END'
		^stack.*:.*+.*+ s/ : \([^ ]*\) \([^ ]*\)/ : \2 \1/
		^who s/comm=.*/comm=other/
		^count s/count=.*/count=1000/
	END
}
