#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Threads that wait are visited: their stacks are those in which they wait, and a visit is cheap.
# seconds: 10

load lib

# visits VISITS OPTION...: records the threads that wait; $tmp/f has the latest interval.
visits() {
	local n=$1
	shift
	env VISITS="$n" "${targets%/targets}/tools/stoker-visits" record "$@" --by comm -o "$tmp/f.%s" \
		--stats "$tmp/s" 2>"$tmp/visits" || { cat "$tmp/visits" && return 1; }
	grep -E '^(lacks|visit)' "$tmp/visits" | tail -n 4
	cp "$(find "$tmp" -name 'f.*' -size +0 | sort | tail -n 1)" "$tmp/f"
}

start_blocked() {
	start "$(target blocked)" 600
	wait_until 10 says ready "$out"
}

@test "each thread that waits has the functions in which it does, as gdb has them" {
	local name chain gdbs
	need gdb
	start_blocked
	visits 2 -p "$pid" -d 4 --interval 2
	grep -q '^lacks' "$tmp/visits" && skip "$(grep '^lacks' "$tmp/visits")"
	gdb -q -batch -p "$pid" -ex 'set print frame-arguments none' -ex 'thread apply all bt' >"$tmp/gdb" 2>"$tmp/gdb.err"
	while read -r _ name chain; do
		grep -q "^$name;[^;]*;[^;]*;wait_for_ever;$chain;.*_\[k\] 2\$" "$tmp/f" || {
			echo "$name: not $chain"
			grep "^$name;" "$tmp/f"
			false
		}
		# Outermost first, the functions of the program itself.
		gdbs=$(awk -v name="\"$name\"" '/^Thread/ { on = index($0, name) }
			on && /^#/ { print $3 == "in" ? $4 : $2 }' "$tmp/gdb" |
			grep -E "^${name#blocked-}_([0-9]+|end)$" | tac | paste -sd ';')
		echo "gdb: $gdbs"
		[ "$gdbs" = "$chain" ]
	done < <(grep '^chain' "$out")
	[ "$(wc -l <"$tmp/f")" -eq 7 ]
	[ "$(folded_count "$tmp/f" truncated)" -eq 0 ]
	[ "$(folded_count "$tmp/f" '^blocked-futex;.*futex[a-z_]*_\[k\]$')" -eq 2 ]
	[ "$(folded_count "$tmp/f" '^blocked-epoll;.*epoll[a-z_]*_\[k\]$')" -eq 2 ]
}

@test "a thread that has not switched is not walked again at the next visit" {
	start_blocked
	visits 20 -p "$pid" -d 2 --interval 2
	# After the first one, which may wait for tables; some are walked again after some seconds.
	awk '$1 == "visit" { if (++n > 3) { threads += $6; same += $8 } }
		END { print same " of " threads; exit !(threads > 50 && same * 100 >= threads * 85) }' "$tmp/visits"
}

@test "a visit of 10,000 threads that sleep costs less than a microsecond each" {
	start "$(target sleepers)" 600 10000
	wait_until 60 says ready "$out"
	sysctl -q kernel.bpf_stats_enabled=1 || skip 'the kernel does not measure its programs'
	visits 12 -p "$pid" -d 4 --interval 2
	sysctl -q kernel.bpf_stats_enabled=0
	# The least: what else the machine does only adds.
	awk '$1 == "visit" && $8 > 9500 { if (!passes++ || $4 / $6 < same) same = $4 / $6; wall += $2 }
		$1 == "visit" && $10 > 100 { walk += ($4 - 300 * $8); walked += $10 }
		END {
			printf "%d ns a thread that sleeps, %d passes of %.1f ms; %d ns a walk\n", same, passes,
				wall / passes / 1000000, walked ? walk / walked : 0
			exit !(passes > 5 && same < 1000)
		}' "$tmp/visits"
}
