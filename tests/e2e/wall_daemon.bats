#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Waiting time in the daemon: always on, in the store beside the CPU samples, until somebody switches it off.
# seconds: 15

load lib
load http

# waits OPTION...: from the store, folded.
waits() {
	"$stoker" report --store "$tmp/store" -e wall -f folded "$@" 2>&1
}

has_waits() {
	waits --container "$container" --by comm | grep -q '^waits-never;'
}

@test "the daemon's store has what threads wait for, of a container, and the account adds it up" {
	local visits
	make_container
	interval=2s serve
	start_in "$cgroup" "$(target brief)"
	start_in "$cgroup" "$(target waits)" 60
	wait_until 20 has_waits
	waits --container "$container" --by comm | sed '/^#/d' >"$tmp/wall"
	grep -q '^waits-never;.*;\[blocked on futex\] [0-9]*$' "$tmp/wall"
	grep -q '^waits-sleep;.*;\[sleeping\] [0-9]*$' "$tmp/wall"
	! waits --container nobody-has-this-name | grep -q waits
	# CPU samples are what they were.
	"$stoker" report --store "$tmp/store" -f folded --container "$container" --by comm >"$tmp/cpu"
	! "$stoker" report --store "$tmp/store" -f folded --by label:idle 2>"$tmp/refused" || return 1
	grep 'by label:idle: the store has .*container.*; the daemon keeps others' "$tmp/refused" || { cat "$tmp/refused"; return 1; }
	! grep -q '\[sleeping\]\|\[blocked' "$tmp/cpu"
	# Idle is a label of waits that nobody has to ask the daemon to keep.
	waits --container "$container" --by comm,label:idle >"$tmp/idle"
	grep '^brief;yes;.*;event_loop;.*\[blocked on epoll\] [0-9]*$' "$tmp/idle"
	! grep '^brief;yes;.*brief_sleep' "$tmp/idle"
	grep '^waits-never;?;.*\[blocked on futex\] [0-9]*$' "$tmp/idle"
	! grep '\[idle\]' "$tmp/wall" "$tmp/idle"
	get "/query?e=wall&container=$container&format=folded" | grep -q 'waits-never;'
	# In seconds, in columns; who asks for another kind hears which there are.
	"$stoker" report -q --store "$tmp/store" -e wall --container "$container" >"$tmp/top"
	cat "$tmp/top"
	head -n 1 "$tmp/top" | grep -q 'function, by seconds$'
	! sed 1d "$tmp/top" | grep -vqE '^ *[0-9]+\.[0-9]{3} +[0-9.]+% +[0-9]+\.[0-9]{3} +[0-9.]+%  '
	grep -q '  \[blocked on futex\]$' "$tmp/top"
	exits 3 "$stoker" report --store "$tmp/store" -e walll
	said_clearly 'the store has no values of the kind walll of that time; it has cpu, wall$'
	visits=$(metric stoker_wall_visits_total)
	between "$visits" 2 100000 visits
}

# As tools/soak and tools/hostile read the store.
balances() {
	"$python" - "$repo/tools" "$tmp/store" <<-'END'
		import pathlib, sys
		sys.dont_write_bytecode = True
		sys.path.insert(0, sys.argv[1])
		from bench_parts.daemon import segments
		all_of = segments(pathlib.Path(sys.argv[2]))
		waits = [{k['name']: k['samples'] for k in s.get('kinds', [])}.get('wall', 0) for s in all_of]
		counted = [s['account']['wall']['waiting_ns'] for s in all_of]
		print(waits, counted, [s['account']['wall']['hz'] for s in all_of])
		assert sum(waits) > 0 and waits == counted
		assert all(0 < s['account']['wall']['hz'] < 3 for s in all_of[1:])
	END
}

@test "each interval's waits are those that its account counted, and it has the rate of visits" {
	interval=1s serve
	wait_until 20 has_profiles 4
	kill -TERM "$pid"
	balances
}

has_profiles() {
	[ "$(find "$tmp/store" -name '*.folded.zst' | wc -l)" -ge "$1" ]
}

@test "with wall = 0 there is none, and nothing is visited" {
	interval=1s serve '[sample]' 'wall = 0'
	wait_until 20 has_profiles 3
	[ "$(metric stoker_wall_visits_total)" -eq 0 ]
	! waits | grep -q '\[blocked\|\[sleeping\]'
}
