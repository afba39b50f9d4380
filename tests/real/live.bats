#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Runtimes that were started with nothing special, told to write their maps while they run: their
# code has names, and afterwards nothing is on that was off, and no file is left.
# seconds: 25

load real

# start_plain NAME [CONTAINER]: Market, warm; $pid, and $at: where its /tmp is.
start_plain() {
	if [ -n "${2:-}" ]; then
		start_runtime "$1" 200 market plain
	else
		start_jit "$1" market plain
	fi
	at=/proc/$pid/root/tmp
	ls -A "$at" >"$tmp/before"
}

# Nothing that it writes is open, and nothing new lies in its /tmp.
leaves_nothing() {
	local open
	open=$(find "/proc/$pid/fd" -lname '*perf*.map' -o -lname '*jit-*.dump')
	[ -z "$open" ] || {
		echo "still open: $open"
		return 1
	}
	# Other processes' files come and go, also those of the unit tests.
	ls -A "$at" | comm -13 "$tmp/before" - | grep -v '^stoker-jit-' |
		grep -E "perf|jit-|java|attach|dotnet" >"$tmp/left" || true
	[ ! -s "$tmp/left" ] || {
		echo "left behind: $(cat "$tmp/left")"
		return 1
	}
}

# managed: per cent named of a runtime's own frames: those in code of no file, and those that BPF knows as a
# language's, which all have a name.
managed() {
	jq -s '(.[1].frames.by_source.code // 0) as $known | .[0] | 100 * (.jit_named + $known) / ([.jit + $known, 1] | max)' \
		"$tmp/named" "$tmp/s"
}

# live NAME [CONTAINER]
live() {
	start_plain "$@"
	live_by "$*" -p "$pid"
}

# live_by NAME OPTION...: the process that was started, chosen by these options.
live_by() {
	record_while "$seconds" "$pid" "${@:2}" --jit -F "$hz" --by comm,pid -o "$tmp/all" --stats "$tmp/s"
	grep -E "^[^;]*;$pid;" "$tmp/all" | sed -E 's/;[0-9]+//' >"$tmp/f"
	"$real/named" "$tmp/f" >"$tmp/named"
	echo "$1: $(cat "$tmp/named")" | tee -a "${REAL_LOG:-/dev/null}"
	jq -c '.frames, .objects.maps_refused' "$tmp/s"
	cat "$tmp/said"
	between "$(jq .frames "$tmp/named")" 1000 10000000 'frames'
	between "$(managed)" 98 100 'managed frames named, %'
	leaves_nothing
}

has_map() {
	find "/proc/$1/fd" -lname '*perf*.map' | grep -q .
}

has_no_map() {
	! has_map "$1"
}

@test "CoreCLR 9" {
	live coreclr
}

@test "CoreCLR 9 in a container" {
	live coreclr container
}

@test "CoreCLR 10" {
	live coreclr-10
}

@test "CoreCLR 10 in a container" {
	live coreclr-10 container
}

@test "java, which can be attached to again" {
	live java
	timeout "$(patience 20)" "$jcmd" "$pid" VM.version
}

@test "java in a container" {
	live java container
}

@test "a runtime of a cgroup, from its first sample on" {
	start_plain coreclr
	make_cgroup live
	echo "$pid" >"$cgroup/cgroup.procs"
	live_by 'coreclr of a cgroup' --cgroup "$cgroup"
}

@test "the runtimes of a host" {
	start_plain java container
	live_by 'java of the host' -a
}

@test "a runtime that a COMMAND starts" {
	local command
	mapfile -t command < <("$repo/tests/runtimes/setup" java market plain 2>/dev/null)
	timeout "$(patience 60)" "$stoker" record --jit -q -F "$hz" -d 6 -o "$tmp/f" \
		--stats "$tmp/s" -- "${command[@]}" 200 3>&-
	"$real/named" "$tmp/f" | tee "$tmp/named"
	between "$(managed)" 90 100 'managed frames named, %'
}

@test "a recorder that is killed leaves nothing on" {
	start_plain coreclr
	make_cgroup live
	echo "$pid" >"$cgroup/cgroup.procs"
	local runtime=$pid out
	start_record --cgroup "$cgroup" --jit -F "$hz" -o "$tmp/f"
	wait_until 10 has_map "$runtime"
	kill -KILL "$recorder" "$agent"
	wait_until 20 has_no_map "$runtime"
	pid=$runtime leaves_nothing
}
