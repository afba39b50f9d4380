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

# live NAME [CONTAINER]
live() {
	start_plain "$@"
	record_cpu "$seconds" "$pid" --jit -F "$hz" -o "$tmp/f" --stats "$tmp/s"
	"$real/named" "$tmp/f" >"$tmp/named"
	echo "$*: $(cat "$tmp/named")" | tee -a "${REAL_LOG:-/dev/null}"
	jq -c '.frames, .objects.maps_refused' "$tmp/s"
	cat "$tmp/said"
	between "$(jq .frames "$tmp/named")" 1000 10000000 'frames'
	between "$(jq .managed "$tmp/named")" 98 100 'managed frames named, %'
	leaves_nothing
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
