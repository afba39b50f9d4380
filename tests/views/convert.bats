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

@test "perf text of a program called dd has as many samples as heads" {
	printf '              dd     5 [000] 1.%d00000:          1 cycles:u: \n' 0 1 2 >dd.txt
	[ "$("$stoker" convert dd.txt 2>said)" = 'dd 3' ]
	[ ! -s said ]
}

@test "a byte order mark before the text is no part of a name" {
	printf '\357\273\277web;f 2\n' >a.folded
	[ "$("$stoker" convert a.folded)" = 'web;f 2' ]
	{ printf '\357\273\277' && sample x f; } >a.txt
	[ "$("$stoker" convert a.txt)" = 'web;f 1' ]
	{ printf '\357\273\277' && sample x f | "$stoker" convert - --labels; } | "$stoker" convert - --by '' |
		grep -qx 'f 1'
}

@test "fractions are kept in folded text, and other formats have a multiple that is named" {
	printf '%s\n' 'web;f 31.23' 'web;g 6.10' 'db 2' >a.folded
	"$stoker" convert a.folded 2>said | diff - <(printf '%s\n' 'db 2' 'web;f 31.23' 'web;g 6.1')
	[ ! -s said ]
	"$stoker" convert a.folded -f svg 2>said | grep -q '3,933 samples/100'
	grep -q 'svg has all counts times 100' said
	echo 'web;f 1.12345678' | "$stoker" convert - 2>said | grep -qx 'web;f 1.123457'
	grep -q '1 count is rounded to 6 digits' said
}

@test "two columns of a diff are not taken for a profile" {
	printf '%s\n' '# before, after' 'web;f 31 56' 'web;g 6 2' >two.folded
	fails 'two.folded: line 2 has two counts.*stoker diff' "$stoker" convert two.folded
	printf 'a;b 3\ra;c 4\r' >cr.folded
	fails 'cr.folded: its lines end with a carriage return alone' "$stoker" convert cr.folded
	printf '%s\n' 'web;f 31' 'web;g 6 2' >one.folded
	[ "$("$stoker" convert one.folded 2>said | wc -l)" -eq 2 ]
	grep -q 'one.folded: 1 line ends with two numbers, the first is line 2' said
}

@test "a few lines that cannot be read are counted, and more are an error" {
	seq -f 'web;f%g 1' 200 >a.folded
	sample x f >a.txt
	for _ in $(seq 100); do sample x f; done >>a.txt
	printf '%s\n' 'no stack' '' 'nor this' >>a.folded
	echo 'no frame' >>a.txt
	"$stoker" convert a.folded 2>said | wc -l | grep -qx 200
	grep -q 'a.folded: skipped 2 lines .*, the first is line 201$' said
	"$stoker" convert a.txt 2>said | grep -qx 'web;f 101'
	grep -q 'a.txt: skipped 1 line that is .*, the first is line 304$' said
	echo 'nor that' >>a.folded
	fails '3 of 203 lines are not folded stacks .*, the first is line 201; remove them' "$stoker" convert a.folded
	printf '%s\n' 'no frame' 'no frame' >>a.txt
	fails '3 of 205 lines are not samples .*, the first is line 304; remove them' "$stoker" convert a.txt
}

@test "a binary file is an error that names what it is" {
	echo 'web;f 1' >a.folded
	tar -cf a.tar a.folded
	tar -czf a.tar.gz a.folded
	sample x f >a.txt
	"$stoker" convert -q a.txt -o a.trace.zip
	"$stoker" convert -q a.txt -o a.pb.gz
	printf 'PERFILE2\0\0\0' >perf.data
	fails 'a tar archive: extract it' "$stoker" convert a.tar
	fails 'a tar archive: extract it' "$stoker" convert a.tar.gz
	fails 'a zip archive: extract it' "$stoker" convert a.trace.zip
	fails 'perf script -i' "$stoker" convert perf.data
	fails 'an ELF file' "$stoker" convert /bin/sh
	fails 'a.pb.gz: not a supported profile but a pprof profile: give folded' "$stoker" convert a.pb.gz
	head -c 5000 /dev/zero >zero
	fails 'binary data' "$stoker" convert zero
}

@test "an output that is no input is named, in the place of its lines that are no stacks" {
	sample x f >a.txt
	local row
	for row in 'speedscope.json:a speedscope profile' 'firefox.json:a Firefox profile' 'html:a page' \
		'svg:a picture' 'pb:a pprof profile'; do
		"$stoker" convert -q a.txt -o "out.${row%%:*}"
		fails "not a supported profile but ${row#*:}.*: give folded stacks or perf text" \
			"$stoker" convert "out.${row%%:*}"
		[ "$(wc -l <said)" -eq 1 ]
	done
	# A function may be called so.
	echo '{;<svg 1' >a.folded
	"$stoker" convert a.folded | diff a.folded -
}

@test "labels of folded text are labels again if the first line names them" {
	printf '%s\n' '# stoker labels: container,comm 0' 'c1;a_b;main 1' 'c1;web;main 2' >labels.folded
	"$stoker" convert labels.folded --labels | diff labels.folded -
	"$stoker" convert labels.folded | diff <(tail -n +2 labels.folded) -
	"$stoker" convert labels.folded --by comm | diff <(printf '%s\n' 'a_b;main 1' 'web;main 2') -
	[ "$("$stoker" convert labels.folded --by '' --labels)" = 'main 3' ]
	"$stoker" convert labels.folded --by '' -f speedscope | jq -e '[.shared.frames[].name] == ["main"]'
	"$stoker" diff --normalise none labels.folded labels.folded | grep -qx 'c1;web;main 2 2'
}

@test "a line of labels is a stack without samples for FlameGraph, and a comment for inferno" {
	sample x f | "$stoker" convert - --labels >a.folded
	# As flamegraph.pl finds the count of a line; a line without one gives a warning.
	sed -nE 's/^(.*)[[:space:]]([0-9]+)$/\2/p' a.folded | diff <(printf '%s\n' 0 1) -
	head -n 1 a.folded | grep -q '^# '
}

@test "a CPU that is not known stays unknown, and in an archive for PerfView its thread stands for it" {
	printf 'a 1/%s %s1.5: x: \n\t1 f (m)\n\n' 7 '' 8 '' 9 '[002] ' >a.txt
	"$stoker" convert a.txt -f perf 2>said | grep '^a' >heads
	diff heads - <<-'EOF'
		a  1/9 [002] 1.500000000: x: 
		a  1/7 1.500000000: x: 
		a  1/8 1.500000000: x: 
	EOF
	[ ! -s said ]
	"$stoker" convert a.txt -o a.trace.zip 2>said
	grep -q 'each of their threads stands for a CPU, numbered 100000' said
	[ "$(unzip -p a.trace.zip '*.data.txt' | grep -o '\[[0-9]*\]' | tr '\n' ' ')" = '[002] [100007] [100008] ' ]
}

@test "--by cpu has the CPUs that perf text names, and ? where it names none" {
	printf 'a 1/1 %s1.5: x: \n\t1 f (m)\n\n' '[000] ' '[001] ' '' >a.txt
	"$stoker" convert a.txt --by cpu -f folded | diff <(printf '%s\n' '0;f 1' '1;f 1' '?;f 1') -
}

@test "a name that a program chose is never taken for a mark of ours or for a kernel function" {
	{
		printf 'web 1/1 1.5: x: \n\t1 [guessed] (m)\n\t2 main (m)\n\n'
		printf '[truncated] 2/2 1.6: x: \n\t1 [guessed] (/tmp/perf-2.map)\n\t2 main (m)\n\n'
		printf 'sh_[k] 3/3 1.7: x: \n\t1 g_[j] (/usr/bin/[)\n\t2 f (m)\n\t0 [guessed] ([unknown])\n\n'
	} >a.txt
	"$stoker" convert a.txt -o a.folded
	diff a.folded - <<-'EOF'
		sh_{k};[guessed];f;g_{j} 1
		web;main;{guessed} 1
		{truncated};main;{guessed}_[j] 1
		# stoker: 33.33 % of the samples are guessed 0
	EOF
	"$stoker" convert a.folded -o again.folded
	diff a.folded again.folded
}

@test "counts that have no exact sum are an error that names the line and the limit" {
	printf '%s\n' 'a;c 0.000001' 'a;b 9000000000000' >a.folded
	fails 'a.folded: line 2: the sum of the counts is over 9007199254, .* fractions of 1/1000000: round' \
		"$stoker" convert a.folded
	printf '%s\n' 'a;c 5' 'a;b 9007199254740992' >a.folded
	fails 'stdin: line 2: the sum of the counts is over 9007199254740992, .*: divide all' \
		"$stoker" convert - <a.folded
}

@test "a part of the time without samples is exit status 3, and writes nothing" {
	local got=0
	sample cycles f >a.txt
	"$stoker" convert a.txt --since 5 -o part.folded 2>said || got=$?
	cat said
	[ "$got" -eq 3 ]
	[ ! -e part.folded ]
	[ "$(wc -l <said)" -eq 1 ]
	grep -q 'a.txt has no samples in that time' said
	"$stoker" convert a.txt --since 0 2>said | grep -qx 'web;f 1'
}
