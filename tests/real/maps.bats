#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# When runtimes are made to write their maps, and that they are switched off again: by a daemon, for a
# capture on demand, and after any of our processes was killed.
# seconds: 25

load real
load ../e2e/http

# start_plain NAME [CONTAINER]: Market, warm; $pid.
start_plain() {
	if [ -n "${2:-}" ]; then
		start_runtime "$1" 200 market plain
	else
		start_jit "$1" market plain
	fi
}

# In its /tmp, or open in the process.
has_map() {
	local inner
	find "/proc/$1/fd" -lname '*perf*.map' | grep -q . && return
	inner=$(awk '/^NSpid:/ { print $NF }' "/proc/$1/status")
	[ -e "/proc/$1/root/tmp/perf-$inner.map" ]
}

have_maps() {
	local one
	for one; do
		has_map "$one" || return 1
	done
}

has_no_map() {
	! has_map "$1"
}

have_no_maps() {
	local one
	for one; do
		has_no_map "$one" || return 1
	done
}

# clerk_of PID: the process that turns maps on, of whoever samples.
clerk_of() {
	local child
	for child in $(children_of "$1"); do
		[ "$(cat "/proc/$child/comm")" != stoker-maps ] || echo "$child"
	done
}

# notes FOLDER: how many.
notes() {
	find "$1" -type f 2>/dev/null | wc -l
}

has_notes() {
	[ "$(notes "$1")" -eq "$2" ]
}

is_reported() {
	[ "$(metric stoker_perf_maps_on)" -eq "$1" ]
}

# end_daemon SIGNAL
end_daemon() {
	kill "-$1" "$supervisor"
	wait "$supervisor" || true
}

@test "always: runtimes are asked once they were sampled, and switched off at the end" {
	start_plain coreclr container
	local dotnet=$pid
	start_plain java container
	local jvm=$pid
	serve '[jit]' 'enable = always'
	wait_until 30 have_maps "$dotnet" "$jvm"
	wait_until 10 has_notes "$tmp/store/jit" 2
	wait_until 10 is_reported 2
	get /metrics | grep '^stoker_perf_maps'
	get "/query?since=1h&format=folded" >"$tmp/f"
	end_daemon TERM
	cat "$said"
	# The one that switches them off goes on for a moment, if the daemon has no time for it.
	wait_until 10 have_no_maps "$dotnet" "$jvm"
	wait_until 10 has_notes "$tmp/store/jit" 0
	kill -0 "$dotnet" "$jvm"
}

@test "a daemon that is killed with all that could end it: the next one switches off what is on" {
	start_plain coreclr container
	local dotnet=$pid
	start_plain java
	local jvm=$pid clerk
	serve '[jit]' 'enable = always'
	wait_until 30 have_maps "$dotnet" "$jvm"
	wait_until 10 has_notes "$tmp/store/jit" 2
	clerk=$(clerk_of "$daemon")
	[ -n "$clerk" ]
	kill -KILL "$clerk"
	wait_until 10 says 'the process that turns perf maps on was lost' "$said"
	kill -KILL "$supervisor" "$daemon"
	wait_until 10 are_gone "$clerk" "$daemon"
	have_maps "$dotnet" "$jvm"
	# One of them has ended since; its map lies in our /tmp.
	kill -KILL "$jvm"
	wait_until 10 is_gone "$jvm"
	[ -e "/tmp/perf-$jvm.map" ]
	serve
	wait_until 20 has_no_map "$dotnet"
	wait_until 10 has_notes "$tmp/store/jit" 0
	[ ! -e "/tmp/perf-$jvm.map" ]
	[ ! -e "/tmp/.java_pid$jvm" ]
	end_daemon TERM
}

@test "a record that is killed with its clerk: the next one switches off what is on" {
	start_plain coreclr
	local dotnet=$pid clerk before
	before=$(notes /run/stoker/jit)
	start_record -p "$dotnet" --jit -F "$hz" -o "$tmp/f"
	wait_until 20 has_map "$dotnet"
	clerk=$(clerk_of "$agent")
	[ -n "$clerk" ]
	kill -KILL "$clerk" "$recorder" "$agent"
	wait_until 10 are_gone "$clerk" "$agent"
	has_map "$dotnet"
	[ "$(notes /run/stoker/jit)" -gt "$before" ]
	start_busy spin 60
	timeout "$(patience 60)" "$stoker" record --jit -p "$pid" -d 0.2 -o "$tmp/g" 2>&1 | tee "$tmp/log"
	grep -q "process $dotnet: .* is off" "$tmp/log"
	find "/proc/$dotnet/fd" -lname '*perf*.map'
	has_no_map "$dotnet"
	[ "$(notes /run/stoker/jit)" -eq "$before" ]
}

@test "on demand: for a capture that asks for it, and no longer" {
	start_plain coreclr container
	local dotnet=$pid capture
	make_cgroup on-demand
	echo "$dotnet" >"$cgroup/cgroup.procs"
	serve '[jit]' 'enable = on-demand'
	code "/profile?seconds=1&cgroup=$cgroup" | grep -x 200
	has_no_map "$dotnet"
	get "/profile?seconds=4&hz=499&jit=1&cgroup=$cgroup" -o "$tmp/f" &
	capture=$!
	wait_until 20 has_map "$dotnet"
	wait "$capture"
	hottest "$tmp/f"
	between "$(jit_named "$tmp/f" .)" 80 100 'JIT frames named, %'
	wait_until 10 has_no_map "$dotnet"
	wait_until 10 has_notes "$tmp/store/jit" 0
	# A client that goes away ends its capture, and what it had switched on.
	get "/profile?seconds=50&jit=1&cgroup=$cgroup" -o "$tmp/g" &
	capture=$!
	wait_until 20 has_map "$dotnet"
	kill "$(children_of $capture | tr -d ' ')" "$capture" 2>/dev/null || kill "$capture"
	wait_until 20 has_no_map "$dotnet"
	end_daemon TERM
}

@test "never: a capture that asks for it is refused" {
	serve
	[ "$(code '/profile?seconds=1&jit=1')" = 403 ]
	get '/profile?seconds=1&jit=1' | grep -q 'enable.*never'
	end_daemon TERM
}
