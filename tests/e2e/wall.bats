#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What threads wait for: -e wall, held against the program's own clocks.
# alone: shares of time are judged
# seconds: 60

load lib

# wall OPTION...: $tmp/wall has the waits, folded, in microseconds.
wall() {
	"$stoker" record "$@" --by comm -o "$tmp/w.stoker" --stats "$tmp/s" 2>"$tmp/said" ||
		{ cat "$tmp/said" && return 1; }
	waits_of
}

# waits_of: $tmp/wall, of $tmp/w.stoker.
waits_of() {
	"$stoker" convert "$tmp/w.stoker" -e wall --by comm -o "$tmp/wall" 2>>"$tmp/said"
	sed -i '/^#/d' "$tmp/wall"
	adds_up "$tmp/s"
	jq -c .wall "$tmp/s"
}

# own_clocks FILE: the program's, now.
own_clocks() {
	local dots
	dots=$(grep -c '^\.$' "$out" || true)
	kill -USR1 "$pid"
	wait_until 10 has_dots $((dots + 1))
	grep '^own' "$out" | tail -n 9 >"$1"
}

has_dots() {
	[ "$(grep -c '^\.$' "$out")" -ge "$1" ]
}

# share REGEX: of the recording's time, per cent of a thread's.
share() {
	awk -v regex="$1" -v seconds="$(jq .duration_s "$tmp/s")" \
		'{ n = $NF; sub(/ [0-9]+$/, "") } $0 ~ regex { sum += n }
		END { printf "%.1f\n", sum / seconds / 1e4 }' "$tmp/wall"
}

@test "each thread's waiting time is that of its own clocks, and each state has its share" {
	local name mono cpu truth program said
	head -c 64M /dev/zero >"$tmp/file"
	start "$(target waits)" 120 "$tmp/file"
	wait_until 10 says '^pid' "$out"
	program=$pid said=$out
	start_record -p "$program" --by comm -e cpu,wall=100 -o "$tmp/w.stoker" --stats "$tmp/s"
	# The program's clocks and the recording are of the same time: its threads wait more while stoker starts.
	pid=$program out=$said
	own_clocks "$tmp/before"
	runs_on "$program" 3000
	own_clocks "$tmp/after"
	stop_record
	waits_of
	while read -r _ name _ mono cpu; do
		read -r _ _ _ mono_before cpu_before < <(grep "^own $name " "$tmp/before")
		truth=$(awk -v wall=$((mono - mono_before)) -v cpu=$((cpu - cpu_before)) \
			'BEGIN { printf "%.1f", 100 * (wall - cpu) / wall }')
		echo "$name waits $truth %, seen $(share "^$name;")"
		near "$(share "^$name;")" "$truth" 3
	done <"$tmp/after"
	# Who works all the time waits for nothing but a CPU.
	near "$(share '^waits-pair[01];.*\[runnable\]$')" "$(share '^waits-pair[01];')" 1
	near "$(share '^waits-never;.*\[blocked on futex\]$')" 100 1
	near "$(share '^waits-sleep;.*;sleep_often;.*\[sleeping\]$')" "$(share '^waits-sleep;.*\[sleeping\]$')" 1
	# One of three holds the lock, asleep; the others wait for it.
	near "$(share '^waits-lock[0-9];.*\[blocked on futex\]$')" \
		"$(awk -v all="$(share '^waits-lock[0-9];')" -v asleep="$(share '^waits-lock[0-9];.*\[sleeping\]$')" \
			-v runnable="$(share '^waits-lock[0-9];.*\[runnable\]$')" 'BEGIN { print all - asleep - runnable }')" 1
	# And it wants a CPU when it wakes, to give the lock on.
	between "$(share '^waits-lock[0-9];.*\[(sleeping|runnable)\]$')" 80 120 'one holds the lock, %'
	between "$(jq '100 * .wall.complete / .wall.stacks' "$tmp/s")" 99 100 'complete, %'
	between "$(jq '100 * .wall.lost_ns / (.wall.waiting_ns + .wall.lost_ns)' "$tmp/s")" 0 2 'without a stack, %'
	# What the account has is what the profile has.
	local profile account
	profile=$(awk '{ sum += $NF } END { printf "%.0f", sum }' "$tmp/wall")
	account=$(jq '.wall.waiting_ns / 1000 | floor' "$tmp/s")
	between "$profile" "$account" "$account" 'us of waiting in the profile'
}

# near FIGURE TRUTH POINTS
near() {
	awk -v a="$1" -v b="$2" -v most="$3" 'BEGIN { exit !(a - b <= most && b - a <= most) }' || {
		echo "$1 is not $2 +- $3"
		return 1
	}
}

@test "threads that never wake are named, with their stacks and how long" {
	start "$(target stuck)" 60
	wait_until 10 says ready "$out"
	wall -p "$pid" -d 5 -e wall
	cut -c 1-200 "$tmp/wall"
	near "$(share ';first;take_b;.*\[blocked on futex\]$')" 100 2
	near "$(share ';second;take_a;.*\[blocked on futex\]$')" 100 2
	near "$(share ';leak;leaked;.*\[blocked on signal\]$')" 20000 400
	[ "$(grep -c ';leak;leaked;' "$tmp/wall")" -eq 1 ]
}

@test "a profile of waits alone has no CPU samples, one of both has two kinds" {
	start "$(target spin)" 60
	"$stoker" record -q -a -d 1 -e wall -f speedscope -o "$tmp/f"
	[ "$(jq -c '[.profiles[].unit] | unique' "$tmp/f")" = '["nanoseconds"]' ]
	"$stoker" record -q -a -d 1 -e cpu -e wall=5 -f speedscope -o "$tmp/f"
	[ "$(jq '[.profiles[].name] | length' "$tmp/f")" -ge 2 ]
	"$stoker" record -q -a -d 1 -o "$tmp/f" --stats "$tmp/s"
	[ "$(jq .wall.visits "$tmp/s")" -eq 0 ]
}

@test "event loops are labelled idle" {
	start "$(target brief)"
	wait_until 10 says ready "$out"
	"$stoker" record -q -p "$pid" -d 2 -e wall --by comm,label:idle -o "$tmp/f"
	grep '^brief;yes;.*event_loop;.*\[blocked on epoll\] [0-9]*$' "$tmp/f"
	! grep '^brief;yes;.*brief_sleep' "$tmp/f"
}

@test "many threads that live shorter than the time between visits have the time that they waited together" {
	start "$(target brief)"
	wait_until 10 says ready "$out"
	wall -p "$pid" -d 6 -e wall
	near "$(share ';brief_sleep;.*\[sleeping\]$')" 398 15
	near "$(share ';start_briefs;.*\[blocked on futex\]$')" 398 15
}

@test "threads that a freezer holds are stopped" {
	make_cgroup frozen
	[ -e "$cgroup/cgroup.freeze" ] || skip 'no freezer in the v2 hierarchy'
	start_in "$cgroup" "$(target stuck)" 60
	wait_until 10 says ready "$out"
	echo 1 >"$cgroup/cgroup.freeze"
	wait_until 10 grep -q '^frozen 1' "$cgroup/cgroup.events"
	wall -p "$pid" -d 2 -e wall
	echo 0 >"$cgroup/cgroup.freeze"
	[ "$(wc -l <"$tmp/wall")" -ge 3 ]
	! grep -v '\[stopped\] [0-9]*$' "$tmp/wall"
}

@test "a source that there is not, and a value that it cannot have, are said" {
	local row
	while IFS='|' read -r words said; do
		row="record -d 1 $words"
		# shellcheck disable=SC2086 # words
		if "$stoker" $row -o "$tmp/f" 2>"$tmp/said"; then false; fi
		echo "$row: $(cat "$tmp/said")"
		grep -q -e "$said" "$tmp/said"
	done <<-'END'
		-e off|unknown source: off; there are cpu, and wall or wall=HZ
		-e CPU|unknown source: CPU; there are
		-e wallet=3|unknown source: wallet=3; there are
		-e cpu,|a source is missing; there are cpu, and wall or wall=HZ
		-e ,cpu|a source is missing; there are
		-e cpu,,wall|a source is missing; there are
		-e wall=|wall:  is not a whole number from 1 to 100
		-e wall=0|wall: 0 is not a whole number from 1 to 100
		-e wall=101|wall: 101 is not a whole number from 1 to 100
		-e wall=2=3|wall: 2=3 is not a whole number from 1 to 100
		-e wall=1.5,cpu|wall: 1.5 is not a whole number from 1 to 100
		-e cpu=3|cpu takes no value: its rate is that of -F
		-e cpu,cpu|cpu is named twice
		-e wall -e wall=3|wall is named twice
		-e wall,hz=3|hz is no key of wall, and no source; there are cpu, and wall or wall=HZ
		-e cpu,wall=3,max=9|max is no key of wall, and no source; there are
		-e cpu,every=3|every is no key of cpu, and no source; there are
	END
}

@test "a format that holds times of CPU samples alone is refused before anything is recorded" {
	local file
	for file in x.linux-perf.txt x.trace.zip; do
		exits 2 "$stoker" record -d 60 -e wall -o "$tmp/$file"
		said_clearly 'waits have no times, which the format perf.* needs; choose one of: folded pprof speedscope firefox html svg stoker;'
		[ ! -e "$tmp/$file" ]
	done
	exits 2 "$stoker" record -d 60 -e wall=5 -f perf -o "$tmp/x"
	said_clearly 'the format perf needs'
}

@test "a bundle of waits alone says that its perf text is empty" {
	"$stoker" record -p $$ -d 0.5 -e wall --bundle "$tmp/bundle" 2>"$tmp/said"
	grep -q 'perf_script.out is empty: waits have no times, which the format perf needs$' "$tmp/said"
	[ "$(grep -c '^wrote .*s of waiting' "$tmp/said")" -eq 5 ]
}

@test "with CPU samples beside them, waits that a format has no place for are warned of" {
	start "$(target spin)" 60
	"$stoker" record -p "$pid,$$" -d 0.5 -e cpu,wall -o "$tmp/x.linux-perf.txt" 2>"$tmp/said"
	grep -q 'perf has one kind of value: left out wall ([0-9.]* s); -e chooses a kind' "$tmp/said"
	grep -q cpu-clock "$tmp/x.linux-perf.txt"
}

@test "a part by time has no waits, and it is said how much that leaves out" {
	start "$(target spin)" 60
	"$stoker" record -q -p "$pid,$$" -d 2 -e cpu,wall -o "$tmp/x.stoker"
	"$stoker" convert "$tmp/x.stoker" --since 0.5 --until 1.5 -o "$tmp/y.pb.gz" 2>"$tmp/said"
	said_clearly 'y.pb.gz: wall has no times, which --since and --until need: left out [0-9.]* s$'
	"$stoker" convert "$tmp/x.stoker" -e cpu --since 0.5 --until 1.5 -o "$tmp/y.pb.gz" 2>"$tmp/said"
	[ "$(cat "$tmp/said")" = "wrote $tmp/y.pb.gz" ]
}

@test "the label idle alone is no reason for a warning" {
	start "$(target brief)"
	wait_until 10 says ready "$out"
	"$stoker" record -p "$pid" -d 1 -e wall -o "$tmp/x.stoker" --stats "$tmp/s" 2>"$tmp/said"
	"$stoker" record -p "$pid" -d 1 -e wall -o "$tmp/x.folded" 2>>"$tmp/said"
	"$stoker" record -p "$pid" -d 1 -e wall -f intervals -o "$tmp/x" 2>>"$tmp/said"
	"$stoker" convert "$tmp/x.stoker" -o "$tmp/y.folded" 2>>"$tmp/said"
	cat "$tmp/said"
	! grep -q warning "$tmp/said"
}

@test "a comma begins another source, in any order" {
	local words kinds
	start "$(target spin)" 60
	while read -r words kinds; do
		echo "$words"
		"$stoker" record -q -p "$pid" -d 0.3 -F 499 -e "$words" -f stoker -o "$tmp/f"
		[ "$("$BATS_TEST_DIRNAME/../views/stoker_by_manual.py" read "$tmp/f" | jq -r '[.kinds[].name] | join(",")')" = "$kinds" ]
	done <<-'END'
		cpu cpu
		wall=100 wall
		wall=100,cpu cpu,wall
		cpu,wall=100 cpu,wall
	END
}
