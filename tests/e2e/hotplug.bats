#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# CPUs that go away and come back.
# alone: it switches a CPU off

load lib

fewer_events() {
	has_events -lt "$open"
}

# comes_back COMMAND...: while a recording runs, CPU 1 goes, the command runs, CPU 1 comes back and has
# a busy program.
comes_back() {
	local switch=/sys/devices/system/cpu/cpu1/online open name=back$$ # nobody else's
	[ -w "$switch" ] || skip "no CPU that can be switched: $switch"
	start_record -a --by cpu,comm -F 199 -d 300 --interval 4 -o "$tmp/f-%H%M%S" --stats "$tmp/s"
	open=$(perf_events)
	offline=$switch
	echo 0 >"$switch" 2>/dev/null || {
		offline=''
		skip 'this machine does not let a CPU go'
	}
	"$@"
	echo 1 >"$switch"
	ln -s "$(target spin)" "$tmp/$name"
	start taskset -c 1 "$tmp/$name" 60
	wait_until 5 has_run "$pid"
	from_birth "$pid"
	# The CPUs are looked at once a second, and it may take as long to begin anew.
	runs_on "$pid" 500
	stop_record
	cat "$tmp"/f-* >"$tmp/all"
	hottest "$tmp/all"
	adds_up "$tmp/s"
	fits_cpu "$(folded_count "$tmp/all" "^[^;]*1[^;]*;$name;")" 199 'samples on the CPU that came back' 40
}

@test "a CPU that goes and comes back is sampled again" {
	comes_back wait_until 5 fewer_events
}

@test "also when it is back before anybody looked" {
	comes_back true
}
