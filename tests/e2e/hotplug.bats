#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# CPUs that go away and come back.
# alone: it switches a CPU off

load lib

# comes_back SECONDS: CPU 1 is away that long while a recording runs, then has a busy program.
comes_back() {
	local switch=/sys/devices/system/cpu/cpu1/online last
	[ -w "$switch" ] || skip "no CPU that can be switched: $switch"
	start_record -a --by cpu,comm -F 199 -d 8 --interval 4 -o "$tmp/f-%H%M%S" --stats "$tmp/s"
	offline=$switch
	echo 0 >"$switch" 2>/dev/null || {
		offline=''
		skip 'this machine does not let a CPU go'
	}
	sleep "$1"
	echo 1 >"$switch"
	start taskset -c 1 "$(target spin)" 30
	wait_until 5 has_run "$pid"
	wait "$recorder"
	last=$(find "$tmp" -name 'f-*' | sort | tail -n 1)
	ls -l "$tmp"
	hottest "$last"
	jq -c .ticks "$tmp/s"
	between "$(folded_count "$last" '^[^;]*1[^;]*;spin;')" 60 820 'samples on the CPU that came back'
}

@test "a CPU that goes and comes back is sampled again" {
	comes_back 1.5
}

@test "also when it is back before anybody looked" {
	comes_back 0.2
}
