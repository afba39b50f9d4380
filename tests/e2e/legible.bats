#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A host of Java, Python and Node in containers, each as it is started: no flag, no map. Whoever reads a flame graph,
# what a store answers, a table or a difference meets names alone.
# seconds: 15

load lib

# judge FILE: of stacks below a pid. Next to no sample of any of them has an interpreter's function, or a frame that is
# no name.
judge() {
	local one
	for one in "$jvm" "$cpython" "$v8"; do
		grep "^$one;" "$1" >"$tmp/of"
		hottest "$tmp/of"
		rare "$illegible" "$one: samples without a name"
		rare "$interpreter" "$one: samples with a function of the interpreter"
	done
	share "$jvm" "$1" ';Market[.$]' 30 100
	share "$jvm" "$1" ';\[JIT java ' 0 3 # until it is described
	share "$cpython" "$1" ';busy:[a-z]' 90 100
	share "$v8" "$1" ";\[JIT node $v8\]" 40 100
	share "$v8" "$1" "\[JIT node $v8\]_\[j\];\[JIT node" 0 0
}

illegible=';(\[(anon|unknown)[^;]*|(0x)?[0-9a-f]*[0-9][0-9a-f]*|\?)(_\[j\])?(;|$)'
interpreter=';(_?PyEval|_?PyFrame|_?PyObject_(Call|Vectorcall|FastCall|MakeTpCall)|_PyFunction_|PyRun_|pymain_|\[Interpreter\])'

# rare REGEX WHAT: at most a hundredth of $tmp/of, and two of before a table was there.
rare() {
	between "$(folded_count "$tmp/of" "$1")" 0 $(($(folded_count "$tmp/of") / 100 + 2)) "$2"
}

# share PID FILE REGEX LOW HIGH
share() {
	grep "^$1;" "$2" >"$tmp/of"
	between "$(folded_share "$tmp/of" "$3")" "$4" "$5" "$1: $3, %"
}

# has_store SINCE: a hundred samples of each, in $tmp/stored, and more intervals than a daemon keeps processes
# for that have no code without a name. The daemon has to live.
has_store() {
	local one
	! is_gone "$daemon" || return 0
	[ "$(find "$tmp/store" -name '*.folded.zst' | wc -l)" -ge 8 ] || return 1
	"$stoker" report -q --store "$tmp/store" --since "$1" -f folded -o "$tmp/stored" 2>/dev/null || return 1
	for one in "$jvm" "$cpython" "$v8"; do
		[ "$(folded_count "$tmp/stored" "^$one;")" -ge 100 ] || return 1
	done
}

@test "Java, Python and Node in containers have legible names alone, in a graph, a store, its table and a difference" {
	local daemon since
	start_languages
	printf '%s\n' '[http]' 'listen = off' '[sample]' 'interval = 1s' 'hz = 199' 'cpu = 100%' \
		'[labels]' 'by = pid' '[store]' "path = $tmp/store" >"$tmp/stoker.ini"
	start "$stoker" daemon --config "$tmp/stoker.ini"
	daemon=$pid
	record_while 3 "$jvm,$cpython,$v8" -a --by pid --labels --user -F 199 -o "$tmp/f"
	judge "$tmp/f"
	"$stoker" convert -q "$tmp/f" -o "$tmp/f.svg"
	grep -q "\[JIT node $v8\]" "$tmp/f.svg"
	! grep -q '\[anon\]' "$tmp/f.svg" || false

	# It knows the JVM by now.
	since=@$(date +%s)
	"$stoker" doctor "$v8" | grep 'there is no perf map: start it with --perf-basic-prof'
	wait_until 30 has_store "$since"
	judge "$tmp/stored"
	"$stoker" report -q --store "$tmp/store" --since "$since" --top 500 >"$tmp/table"
	grep -E "^ +[0-9]+ .*\[JIT node $v8\]" "$tmp/table"
	! grep '\[anon\]' "$tmp/table" || false

	record_cpu 0.3 "$v8" -F 199 -o "$tmp/g"
	grep -E "^ +node $v8: [0-9.]+ % of its frames have no name: start it with --perf-basic-prof" "$tmp/said"
	"$stoker" diff -q "$tmp/f" "$tmp/stored" -o "$tmp/diff"
	grep -E '\[JIT node\]' "$tmp/diff" | head -n 3
	! grep -E '\[JIT node [0-9]|\[anon\]' "$tmp/diff"
}

@test "--native-frames show has the frames of the interpreter, and hide has not" {
	start_cpython
	record_cpu 0.7 "$cpython" --user --by pid --native-frames show -F 499 -o "$tmp/f"
	share "$cpython" "$tmp/f" ';busy:[a-z]' 90 100
	share "$cpython" "$tmp/f" ';_PyEval_EvalFrameDefault(;|$)' 90 100
	record_cpu 0.7 "$cpython" --user --by pid --native-frames hide -F 499 -o "$tmp/f"
	share "$cpython" "$tmp/f" ';busy:[a-z]' 90 100
	rare "$interpreter" 'samples with a function of the interpreter'
	exits 2 "$stoker" record --native-frames no -d 1 -o "$tmp/f"
	said_clearly 'expected hide or show, not no'
}
