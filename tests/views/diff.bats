#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `stoker diff`: two profiles beside each other, held against a count by awk.

setup() {
	stoker=${STOKER:-$BATS_TEST_DIRNAME/../../stoker}
	cd "$BATS_TEST_TMPDIR" || return 1
	printf '%s\n' 'web;main;parse 30' 'web;main;sort;compare_[j] 50' 'web;main;read;vfs_read_[k] 20' >a.folded
	printf '%s\n' 'web;main;parse 90' 'web;main;sort;compare_[j] 50' 'web;main;write 60' >b.folded
}

# By hand: every line of either, with the counts of both; before times $1.
joined() {
	awk -v factor="$1" '{ n = $NF; sub(/ [0-9]+$/, ""); all[$0] } FNR == NR { a[$0] = n; next } { b[$0] = n }
		END { for (s in all) printf "%s %d %d\n", s, int(a[s] * factor + 0.5), b[s] }' a.folded b.folded |
		LC_ALL=C sort
}

# fails CODE WORDS COMMAND...
fails() {
	local want=$1 words=$2 got=0
	shift 2
	"$@" >out 2>said || got=$?
	cat said
	[ "$got" -eq "$want" ]
	[ ! -s out ]
	grep -q -- "$words" said
}

@test "each line has both counts, before scaled to after unless told otherwise" {
	"$stoker" diff a.folded b.folded | LC_ALL=C sort | diff - <(joined 2)
	"$stoker" diff a.folded b.folded -f folded --normalise none | LC_ALL=C sort | diff - <(joined 1)
	"$stoker" diff --normalise total a.folded b.folded | LC_ALL=C sort | diff - <(joined 2)
}

@test "counts of two sides that have no exact sum in one size are an error" {
	echo 'a;b 9000000000000000' >large.folded
	echo 'a;b 0.000001' >small.folded
	fails 1 'large.folded: the sum of the counts is over 9007199254, .* fractions of 1/1000000: round' \
		"$stoker" diff large.folded small.folded
}

@test "files may be compressed, and one may be stdin" {
	gzip -k a.folded
	zstd -q b.folded
	"$stoker" diff a.folded.gz b.folded.zst -o out.folded.gz 2>said
	gzip -dc out.folded.gz | LC_ALL=C sort | diff - <(joined 2)
	zstd -dc b.folded.zst | "$stoker" diff a.folded - | LC_ALL=C sort | diff - <(joined 2)
	grep -q '^wrote out.folded.gz: 100 samples before, 200 samples after$' said
}

@test "the page is chosen by -f, or by the file's name" {
	"$stoker" diff a.folded b.folded -qo out.html
	"$stoker" diff -f html a.folded b.folded >also.html
	cmp out.html also.html
	head -n 1 out.html | grep -q '<!DOCTYPE html>'
	grep -q '"sides":\[{"name":"a.folded",' out.html
}

@test "a name of another format is refused, and the file that was written is named" {
	fails 2 'folded or html, not svg' "$stoker" diff a.folded b.folded -o out.svg
	fails 2 'folded or html, not pprof' "$stoker" diff a.folded b.folded -o out.pb.gz
	[ -z "$(ls out.* 2>/dev/null)" ]
	"$stoker" diff a.folded b.folded -f folded -qo out.svg
	cmp out.svg <("$stoker" diff a.folded b.folded)
	"$stoker" diff a.folded b.folded -o 'of-%Y.html' 2>said
	grep -q "^wrote of-$(date +%Y).html: " said
}

@test "perf text is compared with its programs, also with folded text" {
	printf '%s\n' 'web 1/1 [000] 1.0: x: ' $'\t1 parse (m)' $'\t2 main (m)' '' >c.linux-perf.txt
	[ "$("$stoker" diff c.linux-perf.txt c.linux-perf.txt)" = 'web;main;parse 1 1' ]
	"$stoker" diff --normalise none c.linux-perf.txt a.folded | grep -qx 'web;main;parse 1 30'
	"$stoker" diff --normalise none a.folded c.linux-perf.txt | grep -qx 'web;main;parse 30 1'
}

@test "lines that are no stacks are left out, and it is said how many" {
	seq -f 'web;f%g 1' 200 >>a.folded
	printf '%s\n' 'no stack here' 'nor-here' >>a.folded
	"$stoker" diff a.folded b.folded 2>said | wc -l | grep -qx 204
	grep -q 'a.folded: skipped 2 lines that are not folded stacks .*, the first is line 204' said
}

@test "counts with fractions are compared at one scale" {
	echo 'web;main 1.5' >c.folded
	echo 'web;main 2.25' >d.folded
	[ "$("$stoker" diff --normalise none c.folded d.folded 2>said)" = 'web;main 150 225' ]
	grep -q 'all counts are written times 100' said
	"$stoker" diff --normalise none c.folded a.folded 2>said | grep -qx 'web;main 15 0'
}

@test "what cannot be is said, and nothing is written" {
	head -c 20 <(gzip -c a.folded) >cut.gz
	fails 1 'cut.gz: cannot be decompressed' "$stoker" diff cut.gz b.folded
	fails 1 'none.folded: No such file' "$stoker" diff none.folded b.folded
	fails 1 'an ELF file' "$stoker" diff /bin/sh b.folded
	fails 1 'has no duration' "$stoker" diff a.folded b.folded --normalise time
	fails 1 'no directory' "$stoker" diff a.folded b.folded -o none/out.folded
	fails 2 'missing profile: give AFTER' "$stoker" diff a.folded
	fails 2 'unexpected argument: c' "$stoker" diff a.folded b.folded c
	fails 2 'total, time or none' "$stoker" diff a.folded b.folded --normalise much
	fails 2 'folded or html' "$stoker" diff a.folded b.folded -f svg
}

@test "profiles without samples are no error" {
	: >none.folded
	"$stoker" diff none.folded b.folded | grep -c ' 0 [0-9]*$' | grep -qx 3
	[ -z "$("$stoker" diff none.folded none.folded)" ]
}

# both: both.stoker has two kinds, wall.stoker and wall.folded the second of them, cpu.stoker the first.
both() {
	printf '%s\n' '# stoker kind: cpu samples 10000000 0' 'web;main;serve 3' \
		'# stoker kind: wall microseconds 0 0' 'web;main;wait 2500000' 'web;main;lock 400' >both.folded
	"$stoker" convert -q both.folded -o both.stoker
	"$stoker" convert -q both.stoker -e wall -o wall.stoker
	"$stoker" convert -q both.stoker -e wall -o wall.folded
	"$stoker" convert -q both.stoker -e cpu -o cpu.stoker
}

@test "different kinds of value are not compared: each side's are named" {
	local none='share none' both='choose one that both have with -e'
	both
	fails 1 "cpu.stoker has cpu, wall.stoker has wall; .*$none" "$stoker" diff cpu.stoker wall.stoker
	fails 1 "a.folded has cpu, wall.folded has wall; .*$none" "$stoker" diff a.folded wall.folded
	fails 1 "wall.stoker has wall, both.stoker has cpu, wall; $both" "$stoker" diff wall.stoker both.stoker
	fails 1 "both.stoker has cpu, wall, wall.folded has wall; $both" "$stoker" diff both.stoker wall.folded -o out
	[ ! -e out.html ]
	sed 's/ microseconds / samples /' wall.folded >samples.folded
	fails 1 "wall.folded has wall in nanoseconds, samples.folded has wall in samples" "$stoker" diff wall.folded samples.folded
	fails 1 "a.folded has cpu, samples.folded has wall" "$stoker" diff a.folded samples.folded
	fails 1 'wall.stoker: no events or kinds cpu; it has wall' "$stoker" diff -e cpu both.stoker wall.stoker
	[ "$("$stoker" diff both.stoker cpu.stoker)" = 'web;main;serve 3 3' ]
	: >none.folded
	"$stoker" diff none.folded wall.stoker | grep -qx 'web;main;wait 0 2500000'
}

@test "times are in microseconds, after the line of other folded text, and a sum is in seconds" {
	both
	printf '%s\n' '# stoker kind: wall microseconds 0 0' 'web;main;lock 400 400' 'web;main;wait 2500000 2500000' >want
	"$stoker" diff wall.folded wall.stoker | diff want -
	"$stoker" diff -e wall both.stoker wall.folded | diff want -
	"$stoker" diff wall.folded wall.stoker -o out.html 2>said
	grep -qx 'wrote out.html: 2.500 s before, 2.500 s after' said
	"$stoker" diff wall.folded wall.stoker >pairs.folded
	fails 1 'two counts, as the output of `stoker diff` has' "$stoker" convert pairs.folded
}

@test "a year of a thousand threads that wait is compared" {
	printf '%s\n' '# stoker kind: wall microseconds 0 0' 'web;main;wait 31536000000000000' >year.folded
	fails 1 'the sum of the counts is over' "$stoker" diff year.folded year.folded
	printf '%s\n' '# stoker kind: wall microseconds 0 0' 'web;main;wait 3153600000000000' >year.folded
	"$stoker" diff year.folded year.folded | grep -qx 'web;main;wait 3153600000000000 3153600000000000'
}

@test "a reader that goes away is no crash" {
	local codes
	for _ in $(seq 2000); do cat a.folded; done | sed 's/;/;a_long_name_to_fill_the_pipe_/g;=' | paste -d '' - - >long.folded
	"$stoker" diff long.folded b.folded 2>said | head -n 1 >/dev/null
	codes="${PIPESTATUS[*]}"
	[[ ${codes%% *} =~ ^(0|1)$ ]]
}
