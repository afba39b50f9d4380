#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# When runtimes are made to write their maps, and that they are switched off again: by a daemon, for a
# capture on demand, and after any of our processes was killed.
# no stoker: a recorder of the whole host with --jit would ask the same runtimes
# seconds: 15

load real
load ../e2e/http

# start_plain NAME [CONTAINER]: Market, warm; $pid. Nothing may lie in the /tmp of other tests.
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

# has_notes FOLDER N [PID]: that many, of this process. Other tests record, too.
has_notes() {
	local of=${3:+$(printf '%x-' "$3")}
	[ "$(find "$1" -type f -name "$of*" 2>/dev/null | wc -l)" -eq "$2" ]
}

is_reported() {
	[ "$(metric stoker_perf_maps_on)" -eq "$1" ]
}

# serve_always PID...: a daemon that samples these alone: runtimes of other tests are not its business.
serve_always() {
	local one
	make_cgroup always
	for one; do
		echo "$one" >"$cgroup/cgroup.procs"
	done
	serve '[sample]' "target = cgroup $cgroup" '[jit]' 'enable = always'
}

end_daemon() {
	kill -TERM "$supervisor"
	wait "$supervisor" || true
}

@test "always: runtimes are asked once they were sampled, and switched off at the end" {
	start_plain coreclr container
	local dotnet=$pid
	start_plain java container
	local jvm=$pid
	serve_always "$dotnet" "$jvm"
	wait_until 30 have_maps "$dotnet" "$jvm"
	wait_until 10 has_notes "$tmp/store/jit" 2
	wait_until 10 is_reported 2
	get /metrics | grep '^stoker_perf_maps'
	end_daemon
	cat "$said"
	# The one that switches them off goes on for a moment, if the daemon has no time for it.
	wait_until 10 have_no_maps "$dotnet" "$jvm"
	wait_until 10 has_notes "$tmp/store/jit" 0
	kill -0 "$dotnet" "$jvm"
}

@test "a daemon that is killed with all that could end it: the next one switches off what is on" {
	start_plain java container
	local jvm=$pid clerk
	TMPDIR=$tmp DOTNET_PerfMapJitDumpPath=$tmp start_plain coreclr
	local dotnet=$pid
	serve_always "$dotnet" "$jvm"
	wait_until 30 have_maps "$dotnet" "$jvm"
	wait_until 10 has_notes "$tmp/store/jit" 2
	clerk=$(clerk_of "$daemon")
	[ -n "$clerk" ]
	kill -KILL "$clerk"
	wait_until 10 says 'the process that turns perf maps on was lost' "$said"
	kill -KILL "$supervisor" "$daemon"
	wait_until 10 are_gone "$clerk" "$daemon"
	have_maps "$dotnet" "$jvm"
	# One of them has ended since; its map lies in a folder of ours.
	kill -KILL "$dotnet"
	wait_until 10 is_gone "$dotnet"
	[ -e "$tmp/perf-$dotnet.map" ]
	serve
	wait_until 20 has_no_map "$jvm"
	wait_until 10 has_notes "$tmp/store/jit" 0
	[ ! -e "$tmp/perf-$dotnet.map" ]
	end_daemon
}

@test "a record that is killed with its clerk: the next one switches off what is on" {
	start_plain coreclr container
	local dotnet=$pid clerk
	start_record -p "$dotnet" --jit -F "$hz" -o "$tmp/f"
	wait_until 20 has_map "$dotnet"
	clerk=$(clerk_of "$agent")
	[ -n "$clerk" ]
	kill -KILL "$clerk" "$recorder" "$agent"
	wait_until 10 are_gone "$clerk" "$agent"
	has_notes /run/stoker/jit 1 "$dotnet"
	start_busy spin 60
	timeout "$(patience 60)" "$stoker" record --jit -p "$pid" -d 0.2 -o "$tmp/g" 2>&1 | tee "$tmp/log"
	wait_until 10 has_no_map "$dotnet"
	wait_until 10 has_notes /run/stoker/jit 0 "$dotnet"
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
	end_daemon
}

@test "never: a capture that asks for it is refused" {
	serve
	[ "$(code '/profile?seconds=1&jit=1')" = 403 ]
	get '/profile?seconds=1&jit=1' | grep -q 'enable.*never'
	end_daemon
}
