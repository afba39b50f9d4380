#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `.stoker`, the file of a whole profile: what other formats have comes out of it as it went in, and a
# damaged file is read up to the damage.

setup() {
	stoker=${STOKER:-$BATS_TEST_DIRNAME/../../stoker}
	golden=$BATS_TEST_DIRNAME/../golden
	cd "$BATS_TEST_TMPDIR" || return 1
	cat >two.folded <<'END'
# stoker kind: cpu samples 10000000 0
# stoker labels: container,comm,label:route,label:tenant,label:trace.id 0
shop;web;/a;blue;77;main;read_[k] 3
shop;web;/b;red;78;main;f_[j];g_[i] 5
# stoker kind: wall nanoseconds 0 0
# stoker labels: container,comm,label:route,label:tenant,label:trace.id 0
shop;web;/a;blue;77;main;futex_[k] 5000000000
END
}

# text FILE KIND: its samples as folded text with all labels.
text() {
	"$stoker" convert -q "$1" -e "$2" -f folded --labels \
		--by container,comm,label:route,label:tenant,label:trace.id
}

@test "two kinds with three free labels go through the file and back" {
	"$stoker" convert two.folded -o two.stoker
	{ text two.stoker cpu && text two.stoker wall; } >again.folded
	# Time is in microseconds in folded text.
	diff <(grep -v '^#' two.folded | sed 's/ 5000000000$/ 5000000/') <(grep -v '^#' again.folded)
	grep -x '# stoker kind: wall microseconds 0 0' again.folded
	text again.folded wall | diff - <(text two.stoker wall)
	"$stoker" convert -q again.folded -o again.stoker
	text again.stoker cpu | diff - <(text two.stoker cpu)
	for format in pprof html speedscope; do
		"$stoker" convert -q two.folded --by comm -f "$format" -o a.out
		"$stoker" convert -q two.stoker --by comm -f "$format" -o b.out
		cmp a.out b.out
	done
	"$stoker" convert two.stoker -o same.stoker
	cmp two.stoker same.stoker
	"$stoker" diff -q -e wall two.stoker two.folded |
		diff <(printf '%s\n' '# stoker kind: wall microseconds 0 0' 'shop;web;main;futex_[k] 5000000 5000000') -
}

@test "times, threads and CPUs of perf text go through the file and back" {
	for i in 1 2 3 4 5; do
		printf 'web %d/%d [00%d] 1.%d00000:   10000000 cpu-clock: \n\tf00 f+0x10 (/usr/bin/web)\n\te00 main (/usr/bin/web)\n\n' \
			7 $((7 + i % 2)) $((i % 3)) "$i"
	done >a.txt
	"$stoker" convert -q a.txt -o a.stoker
	"$stoker" convert -q a.txt -f perf >direct.txt
	[ "$(grep -c cpu-clock direct.txt)" = 5 ]
	"$stoker" convert -q a.stoker -f perf | diff - direct.txt
	"$stoker" convert -q a.stoker --since 0.2 --until 0.4 -f folded | diff - <(echo 'web;main;f 2')
	"$stoker" convert -q a.txt -o a.firefox.json
	"$stoker" convert -q a.stoker -f firefox | cmp - a.firefox.json
}

@test "a file that is cut short or changed is read up to there, with a message that says where" {
	local got=0 size
	awk 'BEGIN { for (i = 1; i <= 120000; i++) printf "web;main;step_%d;leaf_%d 1\n", i, i * 7919 }' >large.folded
	"$stoker" convert -q large.folded -o large.stoker
	size=$(stat -c %s large.stoker)
	head -c $((size * 3 / 4)) large.stoker >cut.stoker
	"$stoker" convert cut.stoker -o cut.folded 2>said
	grep -E 'cut.stoker: damaged: at byte [0-9]+ it is cut short; only what comes before it is read' said
	[ "$(wc -l <cut.folded)" -gt 1000 ]
	[ "$(sort large.folded cut.folded | uniq -d | wc -l)" = "$(wc -l <cut.folded)" ]
	printf X | dd of=large.stoker bs=1 seek=$((size / 2)) conv=notrunc status=none
	"$stoker" convert large.stoker -o cut.folded 2>said
	grep -E 'large.stoker: damaged: at byte [0-9]+ ' said
	head -c 100 cut.stoker >tiny.stoker
	"$stoker" convert tiny.stoker >out 2>said || got=$?
	[ "$got" = 1 ]
	[ ! -s out ]
	grep -E 'tiny.stoker: damaged: at byte [0-9]+ it is cut short' said
}

@test "a file of another version is refused" {
	local got=0
	"$stoker" convert -q two.folded -o two.stoker
	printf '\001' | dd of=two.stoker bs=1 seek=22 conv=notrunc status=none
	"$stoker" convert two.stoker 2>said || got=$?
	[ "$got" = 1 ]
	grep 'two.stoker: a profile of another version of stoker' said
}

@test "a segment of the store is converted with its labels" {
	local segment
	for segment in "$golden"/store-0.1/*.zst; do
		"$stoker" convert "$segment" -f folded | diff - <(zstdcat "$segment")
		"$stoker" convert "$segment" -f folded --by comm --labels | grep -qx '# stoker labels: comm 0'
	done
}

@test "a packed file is read, too" {
	"$stoker" convert -q two.folded -o two.stoker
	"$stoker" convert -q two.folded -o two.stoker.gz
	gzip -dc two.stoker.gz | cmp - two.stoker
	text two.stoker.gz wall | diff - <(text two.stoker wall)
}

# by_manual read|write FILE
by_manual() {
	"$BATS_TEST_DIRNAME/stoker_by_manual.py" "$@"
}

@test "a file is decoded by what its manual page says, and nothing else" {
	local line
	"$stoker" convert two.folded -o two.stoker
	by_manual read two.stoker >two.json
	while read -r line; do
		echo "$line"
		jq -e "$line" two.json >/dev/null
	done <<'END'
[.kinds[] | [.name, .unit, .scale, .period_ns]] == [["cpu", "samples", 1, 10000000], ["wall", "nanoseconds", 1, 0]]
[.samples[] | [.kind, (.stack | join(";")), .value]] == [["cpu", "main;read", 3], ["cpu", "main;f;g", 5], ["wall", "main;futex", 5000000000]]
[.samples[].labels | [.container, .comm, .route, .tenant, .["trace.id"]] | join(",")] == ["shop,web,/a,blue,77", "shop,web,/b,red,78", "shop,web,/a,blue,77"]
[.frames[] | [.name, .class]] == [["main", 0], ["read", 1], ["f", 2], ["g", 3], ["futex", 1]]
END
	# Several pieces.
	awk 'BEGIN { for (i = 1; i <= 60000; i++) print "web;main;step_" i ";leaf_" i * 7919 " " i % 7 + 1 }' >large.folded
	"$stoker" convert -q large.folded -o large.stoker
	by_manual read large.stoker | jq -r '.samples[] | "\(.stack | join(";")) \(.value)"' | sort >decoded
	sort large.folded | cmp - decoded
}

@test "a file that is made by what its manual page says is read, with events, labels, times and lines" {
	local line
	by_manual write made.stoker
	"$stoker" convert made.stoker -o again.stoker 2>said
	cat said
	by_manual read made.stoker | jq -S 'del(.frames)' >made.json
	by_manual read again.stoker | jq -S 'del(.frames)' | diff made.json -
	jq -e '[.events[] | [.time, .duration, .text, .stack, .labels.tenant]] ==
		[[5000000050, 0, "restart", null, "blue"], [5000000100, 2000, "gc pause", ["main", "serve", "do_futex"], "blue"]]' made.json
	"$stoker" convert -q made.stoker -e cpu -f folded --by comm | diff - <(echo 'comm web;main;serve 3')
	"$stoker" convert -q made.stoker -e wall -f folded --by comm |
		diff - <(printf '%s\n' '# stoker kind: wall microseconds 0 0' 'comm web;main;serve;do_futex_[k] 5000000')
	"$stoker" convert -q made.stoker -f firefox -o made.firefox.json
	while read -r line; do
		echo "$line"
		jq -e "$line" made.firefox.json >/dev/null
	done <<'END'
[.threads[].markers.length] | add == 2
[.threads[].samples.weightType] == ["samples", "tracing-ms"]
END
	"$stoker" convert made.stoker -f pprof -o made.pb.gz 2>said
	grep 'pprof has no place for events: left out 2' said
}

# is_refused FORMAT REMEDY FILE: and nothing is written
is_refused() {
	local got=0
	rm -f out
	"$stoker" convert "$3" -f "$1" -o out 2>said || got=$?
	cat said
	[ "$got" = 1 ]
	[ ! -e out ]
	grep -E "$3: its stacks are more than 6[0-9] MB of text, the limit for a file of its size: .*; $2" said
}

@test "a small file that would become a large text is refused, whatever it is to become" {
	local format
	by_manual stacks stacks.stoker
	by_manual ticks ticks.stoker
	[ "$(cat stacks.stoker ticks.stoker | wc -c)" -lt 1500 ]
	for format in folded svg html pprof stoker; do
		is_refused "$format" '.*record a shorter time' stacks.stoker
	done
	for format in perf perfview; do
		is_refused "$format" 'choose another format, or a part of the time' ticks.stoker
	done
	# Other formats have the stack once, and a part of the time has few ticks.
	"$stoker" convert -q ticks.stoker -f firefox -o out
	"$stoker" convert -q ticks.stoker --since 0 --until 0.0000001 -f perf -o out
}

@test "30 MB of stacks go through, also packed, and so does their file" {
	awk 'BEGIN { for (i = 0; i < 100000; i++) { s = "web"; for (k = 0; k < 8; k++) s = s ";org.example.shop.Order" (i + k * k) % 5000 ".handle_the_order"
		print s ";leaf_" i " " i % 7 + 1 } }' >large.folded
	[ "$(stat -c %s large.folded)" -gt 30000000 ]
	"$stoker" convert -q large.folded -o large.stoker
	"$stoker" convert -q large.stoker -f folded | awk '{ n += $NF } END { print n }' >sum
	awk '{ n += $NF } END { print n }' large.folded | cmp - sum
	zstd -q19 large.folded
	"$stoker" convert -q large.folded.zst -o large.svg
}
