#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# record --when, and traps of processes: nothing fires on what is absent, and each bundle is whole.
# tests/e2e/conditions.bats has the kinds of conditions.
# waits: for conditions that hold for seconds
# seconds: 85

load lib
load when

@test "nothing fires on a container that is not there, or has no process" {
	local condition n=0 name
	make_container
	for condition in 'cpu < 99%' 'blocked < 99%' 'runnable < 99%' 'wait < 99%'; do
		n=$((n + 1))
		when "empty$n" "$condition for 1s" --container "$container" -d 9
		when "absent$n" "$condition for 1s" --container nobody-has-this-name -d 9
	done
	for name in "${!recorder_of[@]}"; do
		wait "${recorder_of[$name]}" && return 1
		says 'the condition of --when never held: there is no bundle' "${out_of[$name]}"
		[ -z "$(bundles_of "$name")" ]
	done
	says 'what it is of is not there yet' "${out_of[absent1]}"
}

@test "a container that starts later is found, and a bundle has its samples alone" {
	local root id dir other
	root=$(cgroup2_root) || skip 'no cgroup v2 hierarchy is mounted'
	id=$(od -An -tx1 -N32 /dev/urandom | tr -d ' \n')
	start_busy spin 60
	when later 'cpu > 5% for 1s' --container "${id:0:12}" --count 1
	says 'is not there yet' "${out_of[later]}"
	mkdir "$root/docker-$id.scope" 2>/dev/null || skip "cannot make a cgroup below $root"
	cgroups+=("$root/docker-$id.scope")
	enter "$root/docker-$id.scope" nice -n -20 "$(target burn7030)" 60
	wait_until 40 is_gone "${recorder_of[later]}"
	wait "${recorder_of[later]}"
	dir=$(bundles_of later)
	jq -e --arg id "${id:0:12}" '.container == $id and .samples > 0' "$dir/trap.json"
	grep -q '^burn7030;' "$dir/folded_stacks.out"
	! grep -v '^burn7030;' "$dir/folded_stacks.out"
	grep -q '%  burn7030, thread' "$dir/first.txt"
	are_whole later
}

@test "Ctrl-C at any moment leaves whole bundles alone" {
	local i status any=0 pids=()
	start_busy spin 120
	for i in 2 3 4 5 6 7; do
		timeout -s INT "$i.$((RANDOM % 10))" "$stoker" record -q -a \
			--when 'cpu > 1% for 1s' --before 1s --after 1s --bundle "$tmp/b$i" 3>&- &
		pids[i]=$!
	done
	for i in "${!pids[@]}"; do
		status=0
		wait "${pids[i]}" || status=$?
		[ "$status" -eq 124 ]
		are_whole "b$i"
		any=$((any + $(bundles_of "b$i" | wc -l)))
	done
	[ "$any" -gt 0 ]
}

@test "the times of threads after it fired are of all that time" {
	start "$(target pulse)" 5 3.6
	when ended 'cpu < 3% for 2s' -p "$pid" --after 2s --count 1
	wait_until 40 is_gone "${recorder_of[ended]}"
	# In that time it works again, as far as others let it: its samples and its threads' clocks say the same.
	jq -e '.threads_after.running_percent > 5' "$(bundles_of ended)/trap.json"
	between "$(jq '100 * .samples / 99 / 2 - .threads_after.running_percent' "$(bundles_of ended)/trap.json")" -8 8 'points'
}

@test "a process is waited for, in its own PID namespace too" {
	local dir
	unshare --mount --pid --fork --mount-proc true 2>"$tmp/unshare" ||
		skip "no namespaces of our own here: $(tail -n 1 "$tmp/unshare")"
	# shellcheck disable=SC2016 # for the inner shell
	start unshare --mount --pid --fork --kill-child --mount-proc sh -c '"$0" 60 & "$1" record \
		-p $! --when "cpu > 1% for 1s" --before 1s --after 1s --count 1 --bundle "$2"
		echo "status $?"; kill $!' "$(target spin)" "$stoker" "$tmp/inner"
	wait_until 40 says '^status' "$out"
	says '^status 0' "$out"
	dir=$(bundles_of inner)
	jq -e '.rule.pid < 100 and .samples > 0 and .threads_before.threads == 1' "$dir/trap.json"
	grep -q 'cpu of process [0-9]* above 1 % for 1 s' "$dir/first.txt"
}

@test "traps of the daemon are of processes, too, and compare with the store" {
	local dir spin
	# Under a name that no other test's programs have.
	cp "$(target spin)" "$tmp/turns"
	start "$tmp/turns" 120
	spin=$pid
	wait_until 10 has_run "$spin"
	printf '%s\n' '[sample]' 'interval = 2s' '[store]' "path = $tmp/store" '[http]' 'listen = off' \
		'[trap pid]' "pid = $spin" 'above = 1%' 'for = 1s' 'before = 3s' 'capture = 1s' \
		'[trap comm]' 'comm = turns' 'metric = blocked' 'above = 90%' 'for = 1s' \
		'before = 1s' 'capture = 3s' '[trap host]' 'metric = runnable' 'above = 0.1%' \
		'for = 1s' 'before = 3s' 'capture = 1s' >"$tmp/stoker.ini"
	start "$stoker" daemon --config "$tmp/stoker.ini"
	wait_until 30 says 'trap pid: wrote' "$out"
	kill -STOP "$spin"
	wait_until 30 says 'trap comm: wrote' "$out"
	wait_until 60 says 'trap host: wrote' "$out"
	kill -TERM "$pid"
	wait "$pid"
	dir=$(find "$tmp/store/traps" -name 'pid-0001-*')
	! grep -v '^[^;]*;[^;]*;turns;' "$dir/folded_stacks.out"
	jq -e --argjson pid "$spin" '.rule.pid == $pid and .samples > 0' "$dir/trap.json"
	dir=$(find "$tmp/store/traps" -name 'comm-0001-*')
	jq -e '.rule.comm == "turns" and .threads_after.blocked_percent > 90' "$dir/trap.json"
	grep -q '^Its .*\|no sample of its subject' "$dir/first.txt"
	dir=$(find "$tmp/store/traps" -name 'host-0001-*')
	grep -q 'against the ten minutes before' "$dir/first.txt"
}

@test "threads that have not moved for a time are named, and how long, and idle ones are none" {
	local page stuck
	start "$(target stuck)" 100
	stuck=$pid
	make_container
	echo "$stuck" >"$cgroup/cgroup.procs"
	when still 'still > 50% for 6s' -p "$stuck" --count 1
	when inside 'still > 50% for 6s' --container "$container" --count 1
	when host 'still > 1% for 6s' -a --count 1
	when moved 'still > 99% for 6s' -p "$stuck" -d 14
	# Eight workers without work, and one thread that waits for something else.
	start "$python" -c 'import concurrent.futures as f, threading, time
pool = f.ThreadPoolExecutor(8)
f.wait([pool.submit(threading.Barrier(8).wait, .2) for _ in range(8)])
print("ready", flush=True)
threading.Event().wait(100)'
	wait_until 10 says ready "$out"
	when idle 'still > 50% for 6s' -p "$pid" -d 14
	for page in still inside host; do
		wait_until 40 is_gone "${recorder_of[$page]}"
		wait "${recorder_of[$page]}"
	done
	grep -q '\[blocked on signal\] in leaked, 200 threads' "$(bundles_of inside)/first.txt"
	page=$(bundles_of still)/first.txt
	cat "$page"
	grep -E '\[blocked on futex\] in take_a, 1 thread, ([6-9]|[1-9][0-9]) s without a CPU' "$page"
	grep -E '\[blocked on futex\] in take_b, 1 thread, ([6-9]|[1-9][0-9]) s without a CPU' "$page"
	grep -E '\[blocked on signal\] in leaked, 200 threads, ([6-9]|[1-9][0-9]) s without a CPU' "$page"
	! grep -E '\[sleeping\] in often.* without a CPU' "$page"
	for page in moved idle; do
		wait "${recorder_of[$page]}" && return 1
		says 'never held' "${out_of[$page]}"
	done
}

# An attacker that spins, has the comm of the victim's program, and a cgroup below its own with the name
# of the victim's container.
@test "a container does not make the traps of another fire" {
	local victim attacker name
	make_container
	victim=$container
	cp "$(target spin)" "$tmp/served"
	# A shell that waits for its input has a thread and uses no CPU.
	mkfifo "$tmp/fifo"
	# shellcheck disable=SC2016 # for the inner shell
	start sh -c 'echo $$ >"$0/cgroup.procs" && read -r line <"$1"' "$cgroup" "$tmp/fifo"
	make_container
	attacker=$cgroup
	mkdir "$attacker/docker-$victim${container:0:12}$victim${container:0:12}0123456789abcdef.scope"
	when above 'cpu > 1% for 1s' --container "$victim" -d 10
	when ran 'runnable > 1% for 1s' --container "$victim" -d 10
	enter "$attacker" "$tmp/served" 60
	enter "$attacker/docker-$victim${container:0:12}$victim${container:0:12}0123456789abcdef.scope" \
		"$tmp/served" 60
	for name in above ran; do
		wait "${recorder_of[$name]}" && return 1
		says 'never held' "${out_of[$name]}"
	done
}

@test "bundles are limited: of those that are not counted the last 20 stay" {
	local i
	mkdir "$tmp/full"
	for i in {1..20}; do
		mkdir "$tmp/full/cpu-00$(printf %02d "$i")-20260101T000000Z"
	done
	mkdir "$tmp/full/mine" "$tmp/full/.cpu-0007-20260101T000000Z"
	start_busy spin 60
	record -a --when 'cpu > 1% for 1s' --before 1s --after 1s --count 1 --bundle "$tmp/full"
	[ "$(find "$tmp/full" -name 'cpu-*' | wc -l)" -eq 20 ]
	[ ! -e "$tmp/full/cpu-0001-20260101T000000Z" ] && [ -e "$tmp/full/mine" ]
	[ -e "$(find "$tmp/full" -name 'cpu-0021-*')/first.txt" ]
	[ ! -e "$tmp/full/.cpu-0007-20260101T000000Z" ]
}

@test "a condition that cannot be is refused with the word that is wrong" {
	local row
	for row in 'cpux < 3%|cpux: no such metric; there are cpu,' 'cpu = 3%|=: expected < or >' \
		'cpu < 3|3: expected a share' 'cpu < 3% in 2s|in: expected for' \
		'throttled > 3%|throttled needs a container'; do
		exits 2 "$stoker" record -a --when "${row%|*}" --bundle "$tmp/b"
		said_clearly "${row#*|}"
	done
	exits 2 "$stoker" record -a --when 'cpu < 3%'
	said_clearly 'needs --bundle DIR'
	exits 2 "$stoker" record --cgroup x --when 'cpu < 3%' --bundle "$tmp/b"
	said_clearly 'is for --container, --pod, --unit, a process'
	exits 2 "$stoker" record --count 3
	said_clearly 'need --when'
	[ ! -e "$tmp/b" ]
}
