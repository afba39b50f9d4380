#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Services of Java, Python, Node and .NET that a dependency stalls: the first page of the trap's bundle says in which
# function of the dependency's.
# seconds: 40

load real

declare -ga asks=()
declare -gA pid_of=() recorder_of=()

# stall NAME COMMAND...: a service, and a recorder that waits until it is quiet; $asks has options for it.
stall() {
	start env -C "$tmp" "${@:2}"
	pid_of[$1]=$pid
	wait_until 60 says ready "$out"
	start "$stoker" record -p "$pid" --when 'cpu < 5% for 2s' --before 3s --after 2s --count 1 --bundle "$tmp/$1" "${asks[@]}"
	recorder_of[$1]=$pid
}

# names NAME STATE FUNCTION [RESOURCE]: the first place where its threads waited.
names() {
	local page
	wait "${recorder_of[$1]}"
	page=$(find "$tmp/$1" -name first.txt)
	sed -n '/^Where its threads waited/,/^$/p' "$page" | sed -n '2,3p' | tee "$tmp/place"
	grep -E "> +[0-9.]+  \\[$2\\] in $3${4:+, for $4}, [0-9]+ thread" "$tmp/place" || {
		cat "$page"
		return 1
	}
}

@test "the first page of a stalled service names the function of the dependency, six of six" {
	local command
	need javac java node "$python"
	javac -d "$tmp" "$real/Stalled.java"
	stall lock java -cp "$tmp" Stalled lock
	stall socket java -cp "$tmp" Stalled socket
	stall pool "$python" "$real/stalled.py" pool
	stall loop "$python" "$real/stalled.py" loop
	stall node node --perf-basic-prof "$real/stalled.js"
	command=$("$repo/tests/runtimes/setup" coreclr stalled plain)
	mapfile -t command <<<"$command"
	# Each thread that the starved pool adds runs for some ms before it waits, too.
	asks=(--jit --when 'cpu < 10% for 2s')
	stall coreclr "${command[@]}" 200
	names lock '(sleeping|blocked on futex)' Stalled.ledgerEntry
	names socket '(blocked on poll|blocked on socket)' Stalled.priceOf 'tcp \[?[0-9a-f.:]+\]?:[0-9]+'
	names pool 'blocked on poll' stalled:stock_of 'tcp 127[.]0[.]0[.]1:[0-9]+'
	names loop '(sleeping|blocked.*)' stalled:rates_of
	names node 'blocked on futex' '.*templateOf.*'
	names coreclr 'blocked on futex' '.*Stalling.Ledger.*BalanceOf.*'
	rm -f "/tmp/perf-${pid_of[node]}.map"
}
