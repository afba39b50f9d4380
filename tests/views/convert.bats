#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `stoker convert`: a number that was converted is the same number, or a message says what changed.

setup() {
	stoker=${STOKER:-$BATS_TEST_DIRNAME/../../stoker}
	cd "$BATS_TEST_TMPDIR" || return 1
}

# fails WORDS COMMAND...: exit 1, nothing on stdout, WORDS on stderr.
fails() {
	local words=$1 got=0
	shift
	"$@" >out 2>said || got=$?
	cat said
	[ "$got" -eq 1 ]
	[ ! -s out ]
	grep -q -- "$words" said
}

# sample EVENT FUNCTION: one sample in perf text.
sample() {
	printf 'web 1/1 [000] 1.5: %s: \n\t1 %s (m)\n\n' "$1" "$2"
}

@test "of perf text with several events one is read, and the others are named" {
	{
		sample instructions f
		sample cycles:u g
		sample instructions f
	} >two.txt
	[ "$("$stoker" convert two.txt 2>said)" = 'web;f 2' ]
	grep -q 'read instructions (2 samples), left out cycles:u (1 samples)' said
	[ "$("$stoker" convert -e cycles:u two.txt 2>said)" = 'web;g 1' ]
	[ ! -s said ]
	"$stoker" convert -q -e cycles:u two.txt -f perf | grep -q ' cycles:u: $'
	fails 'no event cycles; it has instructions (2 samples), cycles:u (1 samples)' \
		"$stoker" convert -e cycles two.txt
	echo 'web;f 2' >a.folded
	fails 'a.folded is no perf text' "$stoker" convert -e cycles a.folded
}
