#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Code that no file holds: named by perf maps, of a small program with known code and of real runtimes.
# seconds: 95

load lib

# start_jit SECONDS MODE
start_jit() {
	start "$(target jitmap)" "$1" "$2"
	wait_until 5 says ready "$out"
}

# change: the program makes it now, and goes on.
change() {
	kill -USR1 "$1"
	wait_until 10 says half "$2"
}

# record_around_change OPTION...: of $pid, with as much of its time before as after, which is metered.
record_around_change() {
	local program=$pid its=$out
	meter "$program"
	start_record -p "$program" -F 199 "$@"
	runs_on "$program" 100
	change "$program" "$its"
	runs_on "$program" 100
	stop_record
}

# Two that begin in one second are f-120000 and f-120000-2.
intervals() {
	find "$tmp" -name 'f-??????*' ! -name '*.part' | sort
}

has_intervals() {
	[ "$(intervals | wc -l)" -ge "$1" ]
}

# record_both_sides: of $pid in intervals; what is of before the change goes to $first, what is of
# after it to $last. One that ends then may be written late, the next has both.
record_both_sides() {
	local program=$pid its=$out n
	first=$tmp/first last=$tmp/last
	start_record -p "$program" -F 199 --interval 1 -o "$tmp/f-%H%M%S"
	runs_on "$program" 100
	wait_until 20 has_intervals 1
	intervals | xargs cat >"$first"
	change "$program" "$its"
	n=$(($(intervals | wc -l) + 2))
	wait_until 20 has_intervals "$n"
	runs_on "$program" 100
	kill -INT "$recorder"
	wait "$recorder"
	intervals | tail -n "+$((n + 1))" | xargs cat >"$last"
	hottest "$first"
	hottest "$last"
	intervals | xargs rm
	kill -KILL "$program"
}

guess='\[guessed\];' # stoker does not know that this code keeps frame pointers
alpha=";main;run_until;${guess}jit_outer_\[j\];int jit_alpha\(long, char\)_\[j\](;|\$)"
beta=";main;run_until;${guess}jit_outer_\[j\];jit_beta_\[j\](;|\$)"

@test "code in anonymous memory is named by the map, its caller and callee with it" {
	start_jit 300 anon
	record_cpu 1 "$pid" -F 499 -o "$tmp/f" --stats "$tmp/s"
	hottest "$tmp/f"
	between "$(folded_share "$tmp/f" "$alpha")" 62 88 'share of alpha'
	between "$(folded_share "$tmp/f" "$beta")" 15 38 'share of beta'
	fits_cpu "$(stat_of "$tmp/s" .frames.by_source.perfmap)" 499 'frames named by a map, two a sample' 120 260
}

@test "so is code in a memfd" {
	start_jit 300 memfd
	record_cpu 1 "$pid" -F 499 -o "$tmp/f"
	hottest "$tmp/f"
	between "$(folded_share "$tmp/f" "$alpha")" 62 88 'share of alpha'
	between "$(folded_share "$tmp/f" "$beta")" 15 38 'share of beta'
}

@test "the map of a process in a container is found in its own /tmp" {
	start_in_container "$(target jitmap)" 300 anon
	wait_until 5 says ready "$out"
	record_cpu 1 "$pid" -F 499 -o "$tmp/f"
	hottest "$tmp/f"
	between "$(jit_named "$tmp/f" .)" 98 100 'JIT frames named, %'
}

@test "code without a map keeps its place under its caller" {
	start_jit 300 nomap
	record_cpu 0.5 "$pid" -F 499 -o "$tmp/f" --stats "$tmp/s"
	hottest "$tmp/f"
	jq -c .frames "$tmp/s"
	between "$(folded_share "$tmp/f" ";main;run_until;$guess\[JIT jitmap $pid\]_\[j\](;[^;]*_\[k\])*\$")" 97 100 'stacks through it'
	between "$(jit_named "$tmp/f" .)" 0 0 'JIT frames named, %'
	fits_cpu "$(jq '[.frames.unnamed[]] | add // 0' "$tmp/s")" 499 'unnamed in the account, two a sample' 120 260
	# Who judges stacks, or reads addresses, has each frame.
	record_cpu 0.3 "$pid" -F 499 --user --check -o "$tmp/c"
	between "$(folded_share "$tmp/c" "\[JIT jitmap $pid\]_\[j\];\[JIT jitmap $pid\]_\[j\]\$")" 97 100 'both, to be checked'
	record_cpu 0.3 "$pid" -F 499 --user -f perf -o "$tmp/p"
	"$stoker" convert -q "$tmp/p" -o "$tmp/q.folded"
	between "$(folded_share "$tmp/q.folded" ";run_until;$guess\[JIT jitmap $pid\]_\[j\]\$")" 97 100 'by way of perf text'
}

@test "two captures of a service without a map compare, whatever its pid" {
	local one
	for one in before after; do
		start_jit 300 nomap
		record_cpu 0.5 "$pid" --user -F 499 -o "$tmp/$one.folded"
		kill -KILL "$pid"
	done
	"$stoker" diff -q "$tmp/before.folded" "$tmp/after.folded" >"$tmp/diff"
	cat "$tmp/diff"
	grep -qE ";\[JIT jitmap\]_\[j\] [0-9]{2,} [0-9]{2,}\$" "$tmp/diff"
	! grep -qE '\[JIT jitmap [0-9]' "$tmp/diff"
}

@test "a program's own name makes no mark and breaks no format" {
	local name='x];[k y_[j' path
	path=$tmp/$name
	cp "$(target jitmap)" "$path"
	start "$path" 300 nomap
	wait_until 5 says ready "$out"
	record_cpu 0.5 "$pid" --user --by '' -F 499 -o "$tmp/f.folded"
	hottest "$tmp/f.folded"
	folded_is_valid "$tmp/f.folded"
	between "$(folded_share "$tmp/f.folded" ";\[JIT x\):\(k y_\(j $pid\]_\[j\]\$")" 97 100 'under its name'
	"$stoker" diff -q "$tmp/f.folded" "$tmp/f.folded" | grep -F ';[JIT x):(k y_(j]_[j] '
}

@test "a map that comes late still names what was sampled before" {
	start_jit 300 late
	record_around_change -o "$tmp/f"
	hottest "$tmp/f"
	between "$(jit_named "$tmp/f" .)" 98 100 'JIT frames named, %'
}

@test "a map that is truncated and written anew is read anew" {
	start_jit 300 rewrite
	record_around_change -o "$tmp/f"
	hottest "$tmp/f"
	between "$(jit_named "$tmp/f" .)" 98 100 'JIT frames named, %'
	fits_cpu "$(folded_count "$tmp/f" "${guess}jit_outer_\[j\];new_alpha_\[j\]")" 199 'samples of the new alpha' 45 110
	fits_cpu "$(folded_count "$tmp/f" "${guess}jit_outer_\[j\];a_new_beta_with_a_longer_name_\[j\]")" 199 'new beta' 10 50
}

@test "also when the new map has the size of the old" {
	start_jit 300 rewrite-same
	record_both_sides
	between "$(folded_share "$last" "${guess}jit_outer_\[j\];int new_alpha\(long, char\)_\[j\]")" 60 90 'new alpha, last'
	between "$(folded_share "$last" "${guess}jit_outer_\[j\];new_beta_\[j\]")" 10 40 'new beta, last'
}

@test "an address used again has each interval's own name" {
	start_jit 300 reuse
	record_both_sides
	between "$(folded_share "$first" "$alpha")" 60 90 'old alpha, first'
	between "$(folded_share "$first" 'new_alpha')" 0 0 'new alpha, first'
	between "$(folded_share "$last" "${guess}jit_outer_\[j\];new_alpha_\[j\]")" 60 90 'new alpha, last'
	between "$(folded_share "$last" 'jit_alpha')" 0 0 'old alpha, last'
}

@test "a line that is cut in its name gives no name" {
	start_jit 300 cut
	record_cpu 1 "$pid" -F 499 -o "$tmp/f"
	hottest "$tmp/f"
	between "$(folded_share "$tmp/f" "$alpha")" 60 90 alpha
	between "$(folded_count "$tmp/f" 'jit_beta_cut')" 0 0 'samples under half a name'
}

@test "a map of another user, a FIFO or a link in its place is not followed" {
	start_in_container sh -c 'mkfifo /tmp/perf-1.map; exec "$1" 300 nomap' sh "$(target jitmap)"
	wait_until 5 says ready "$out"
	record_cpu 0.5 "$pid" -F 499 -o "$tmp/f"
	fits_cpu "$(folded_count "$tmp/f" "$(chain 'main;run_until')")" 499 'samples with a FIFO'
	start_in_container sh -c 'ln -s /etc/passwd /tmp/perf-1.map; exec "$1" 300 nomap' sh "$(target jitmap)"
	wait_until 5 says ready "$out"
	record_cpu 0.5 "$pid" -F 499 -o "$tmp/f"
	fits_cpu "$(folded_count "$tmp/f" "$(chain 'main;run_until')")" 499 'samples with a link'
	between "$(jit_named "$tmp/f" .)" 0 0 'JIT frames named, %'
}

@test "a map is found where DOTNET_PerfMapJitDumpPath or TMPDIR say" {
	local name
	for name in DOTNET_PerfMapJitDumpPath TMPDIR; do
		mkdir "$tmp/$name"
		start env "$name=$tmp/$name" "$(target jitmap)" 300 anon
		wait_until 5 says ready "$out"
		record_cpu 0.5 "$pid" -F 499 -o "$tmp/f"
		hottest "$tmp/f"
		between "$(jit_named "$tmp/f" .)" 98 100 "JIT frames named by $name, %"
		kill -KILL "$pid"
	done
}

# start_dump SECONDS MODE
start_dump() {
	cd "$tmp" || return 1
	start "$(target jitdump)" "$1" "$2"
	wait_until 5 says ready "$out"
}

dumped=";main;run_until;${guess}dump_outer_\[j\];dump_"

@test "code is named by a jitdump, wherever it lies" {
	start_dump 300 load
	record_cpu 1 "$pid" -F 499 -o "$tmp/f" --stats "$tmp/s"
	hottest "$tmp/f"
	jq -c .frames "$tmp/s"
	between "$(folded_share "$tmp/f" "${dumped}alpha_\[j\](;|\$)")" 62 88 'share of alpha'
	between "$(folded_share "$tmp/f" "${dumped}beta_\[j\](;|\$)")" 15 38 'share of beta'
	fits_cpu "$(stat_of "$tmp/s" .frames.by_source.jitdump)" 499 'frames named by a jitdump, two a sample' 120 260
}

@test "and that of a process in a container" {
	start_in_container "$(target jitdump)" 300 load
	wait_until 5 says ready "$out"
	record_cpu 1 "$pid" -F 499 -o "$tmp/f"
	hottest "$tmp/f"
	between "$(jit_named "$tmp/f" .)" 98 100 'JIT frames named, %'
}

@test "a jitdump and a perf map at once give each function one name" {
	start_dump 300 both
	record_cpu 1 "$pid" -F 499 -o "$tmp/f" --stats "$tmp/s"
	hottest "$tmp/f"
	jq -c .frames "$tmp/s"
	between "$(folded_share "$tmp/f" "${dumped}beta_\[j\](;|\$)")" 15 38 'share of beta'
	between "$(folded_count "$tmp/f" 'jit_beta')" 0 0 'samples by the other name'
	between "$(jq '.frames.by_source.perfmap // 0' "$tmp/s")" 0 0 'frames named by the map'
}

@test "a jitdump that comes late still names what was sampled before" {
	start_dump 300 late
	record_around_change -o "$tmp/f"
	hottest "$tmp/f"
	between "$(jit_named "$tmp/f" .)" 98 100 'JIT frames named, %'
}

# first_and_last MODE: of the intervals of a capture around the change.
first_and_last() {
	start_dump 300 "$1"
	record_both_sides
}

@test "an address that a jitdump names twice has each interval's own name" {
	first_and_last reuse
	between "$(folded_share "$first" "${dumped}alpha_\[j\](;|\$)")" 60 90 'old alpha, first'
	between "$(folded_share "$first" 'new_')" 0 0 'new names, first'
	between "$(folded_share "$last" "${guess}dump_outer_\[j\];new_alpha_\[j\]")" 60 90 'new alpha, last'
	between "$(folded_share "$last" 'dump_alpha|dump_beta')" 0 0 'old names, last'
}

@test "code that is moved keeps its name, and what takes its place has its own" {
	first_and_last move
	between "$(folded_share "$first" "${dumped}alpha_\[j\](;|\$)")" 60 90 'alpha before'
	between "$(folded_share "$last" "${dumped}alpha_\[j\](;|\$)")" 60 90 'alpha behind'
	between "$(folded_count "$last" 'new_|\[JIT')" 0 0 'samples by other names'
}

@test "a jitdump that is written anew is read anew, in its place or under its name" {
	local mode
	for mode in rewrite replace; do
		first_and_last "$mode"
		between "$(folded_share "$first" "${dumped}alpha_\[j\](;|\$)")" 60 90 "$mode: old alpha, first"
		between "$(folded_share "$last" "${guess}dump_outer_\[j\];new_alpha_\[j\]")" 60 90 "$mode: new alpha, last"
		between "$(folded_share "$last" 'dump_alpha|dump_beta')" 0 0 "$mode: old names, last"
	done
}

@test "a jitdump's record that is cut in its name gives no name" {
	start_dump 300 cut
	record_cpu 1 "$pid" -F 499 -o "$tmp/f"
	hottest "$tmp/f"
	between "$(folded_share "$tmp/f" "${dumped}alpha_\[j\](;|\$)")" 60 90 alpha
	between "$(folded_count "$tmp/f" 'dump_b')" 0 0 'samples under half a name'
}

@test "a jitdump of the other byte order is refused, and said to be" {
	start_dump 300 swapped
	record_cpu 0.5 "$pid" -F 499 -o "$tmp/f" --stats "$tmp/s"
	cat "$tmp/said"
	jq -c .frames "$tmp/s"
	grep -q "process $pid: its jitdump .* other byte order" "$tmp/said"
	fits_cpu "$(jq '.frames.unnamed.jitdump // 0' "$tmp/s")" 499 'frames unnamed for it, two a sample' 120 260
	between "$(jit_named "$tmp/f" .)" 0 0 'JIT frames named, %'
}

# holds_runtime SAMPLES: the profile has that many with JIT frames or more, and those are named.
holds_runtime() {
	hottest "$tmp/f"
	jq -c '.user_stacks, .frames, .worker, .unnamed_files[:3]' "$tmp/s"
	between "$(folded_count "$tmp/f" '_\[j\]')" "$1" 1000000 'samples with JIT frames'
	between "$(jit_named "$tmp/f" .)" 98 100 'JIT frames named, %'
}

@test "Node in a container has 98 % of its JIT frames named" {
	start_runtime node 200
	record_cpu 4 "$pid" -F 499 -o "$tmp/f" --stats "$tmp/s"
	holds_runtime 150
	fits_cpu "$(folded_count "$tmp/f" 'JS:[^;]*shaft[^;]*;JS:[^;]*shaft')" 499 'samples below shaft' 1
}

@test "CoreCLR in a container has 98 % of its JIT frames named" {
	start_runtime coreclr 200
	record_cpu 4 "$pid" -F 499 -o "$tmp/f" --stats "$tmp/s"
	holds_runtime 200
	fits_cpu "$(folded_count "$tmp/f" 'Stones::Shaft[^;]*;([^;]*;)?[^;]*Stones::Grind')" 499 \
		'samples of Grind below Shaft' 1
	between "$(folded_share "$tmp/f" 'doublemapper')" 0 0 'frames named after the memfd'
}

@test "stacks through the code of Node and CoreCLR are whole" {
	local runtime
	for runtime in node coreclr; do
		start_runtime "$runtime" 200
		record_cpu 2 "$pid" -F 499 -o "$tmp/f" --stats "$tmp/s"
		need_tables "$tmp/s"
		hottest "$tmp/f"
		jq -c .user_stacks "$tmp/s"
		between "$(jq '100 * .user_stacks.complete / .user_stacks.total' "$tmp/s")" 98 100 "$runtime, %"
		kill -KILL "$pid"
	done
}

# killed NAME: recorded with -a, killed after a second of its own time, while its code is being compiled anew.
killed() {
	start_runtime "$1" 200
	local victim=$pid
	meter "$victim"
	start_record -a --by pid,comm -F 499 -d 60 -o "$tmp/f" --stats "$tmp/s"
	runs_on "$victim" 100
	read_meter
	kill -KILL "$victim"
	start_busy spin 60 # the recording goes on without it
	runs_on "$pid" 100
	kill -INT "$recorder"
	wait "$recorder"
	hottest "$tmp/f"
	jq -c .frames "$tmp/s"
	fits_cpu "$(folded_count "$tmp/f" "^[^;]*${victim}[^;]*;.*_\[j\]")" 499 'samples with JIT frames' 15
	between "$(jit_named "$tmp/f" "^[^;]*${victim}[^;]*;")" 98 100 'JIT frames named, %'
}

@test "Node killed in mid-capture has 98 % of its JIT frames named" {
	killed node
}

@test "CoreCLR killed in mid-capture has 98 % of its JIT frames named" {
	killed coreclr
}

@test "Java in a container is named by itself, and the map that jcmd writes at the end spoils nothing" {
	start_runtime java 200
	local jvm=$pid
	meter "$jvm"
	start_record -p "$jvm" -F 499 -d 300 -o "$tmp/f" --stats "$tmp/s"
	runs_on "$jvm" 200
	"$jcmd" "$jvm" Compiler.perfmap >"$tmp/jcmd" 2>&1 || skip "jcmd: $(tail -n 1 "$tmp/jcmd")"
	runs_on "$jvm" 50
	stop_record
	hottest "$tmp/f"
	jq -c .frames "$tmp/s"
	between "$(jq '100 * .frames.named / .frames.total' "$tmp/s")" 95 100 'frames named, %'
	between "$(jq '.frames.by_source.code' "$tmp/s")" 1000 1000000 'frames that the JVM itself names'
	fits_cpu "$(folded_count "$tmp/f" 'Mill\.shaft[^;]*;[^;]*Mill\.shaft')" 499 'samples below shaft' 1
}
