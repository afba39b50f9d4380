#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A process runs a file's code, and has another file at that address when stoker opens it: the names
# and rows of the other one must not become those of the file. The recorder is stopped meanwhile, so
# the other file is there each time.
# seconds: 12

load ../e2e/lib
load attacks

# make_forged: $tmp/forged is the program spin, with a false name; $offset is where its function begins.
make_forged() {
	forge "$(target spin)" spin_here "$tmp/forged"
	offset=$(offset_of "$(target spin)" spin_here)
}

# place TIMES FOLDER FILE NAME: copies, all with one time of change.
place() {
	local i
	for ((i = 1; i <= $1; i++)); do
		cp "$3" "$2/$4$i"
		touch -d '2020-01-02 03:04:05' "$2/$4$i"
	done
}

# swap_all TIMES FOLDER OTHER_FOLDER: while the recorder does not look.
swap_all() {
	local i pairs=()
	for ((i = 1; i <= $1; i++)); do
		pairs+=("$2/victim$i" "$3/other$i")
	done
	kill -STOP "$agent"
	start "$(target swap)" 300 "$offset" "${pairs[@]}"
	wait_until 60 says swapped "$out"
	[ "$(grep -c "r-xp .*/other" "/proc/$pid/maps")" -eq "$1" ]
	kill -CONT "$agent"
}

# run_all TIMES FOLDER: those whose names are at stake, each long enough to be seen.
run_all() {
	local i pids=()
	for ((i = 1; i <= $1; i++)); do
		start "$2/victim$i" 300
		pids+=("$pid")
	done
	for i in "${pids[@]}"; do
		wait_until 60 has_run "$i" 5
		kill -KILL "$i"
	done
}

# none_is_fooled TIMES
none_is_fooled() {
	local i
	jq -c '.frames, .objects, .unnamed_files' "$tmp/s"
	# The process that swaps may be told what it has mapped now.
	[ "$(folded_count "$tmp/f" '^victim.*forged')" -eq 0 ] || hottest "$tmp/f"
	[ "$(folded_count "$tmp/f" '^victim.*forged')" -eq 0 ]
	for ((i = 1; i <= $1; i++)); do
		[ "$(folded_count "$tmp/f" "^victim$i;.*main;spin_here\$")" -gt 0 ] || {
			echo "victim$i has no names"
			return 1
		}
	done
}

@test "a file with the same inode number and time, of another file system, does not name the mapped one" {
	local times=20 dir i
	need objcopy readelf nm jq
	for dir in a b; do
		mkdir "$tmp/$dir"
		mount -t tmpfs none "$tmp/$dir" || skip 'no tmpfs can be mounted'
		mounts+=("$tmp/$dir")
	done
	make_forged
	place $times "$tmp/a" "$(target spin)" victim
	place $times "$tmp/b" "$tmp/forged" other
	for ((i = 1; i <= times; i++)); do
		[ "$(stat -c '%i %Y' "$tmp/a/victim$i")" = "$(stat -c '%i %Y' "$tmp/b/other$i")" ]
	done
	start_record -a -F 499 --by comm -o "$tmp/f" --stats "$tmp/s"
	swap_all $times "$tmp/a" "$tmp/b"
	run_all $times "$tmp/a"
	stop_record
	none_is_fooled $times
}

@test "a file of a container's own layer does not name that of the layer below, which others map" {
	local times=20
	need objcopy readelf nm jq
	mkdir "$tmp/layers"
	mount -t tmpfs none "$tmp/layers" || skip 'no tmpfs can be mounted'
	mounts+=("$tmp/layers")
	mkdir "$tmp/layers/"{below,own,work,empty} "$tmp/"{one,two}
	make_forged
	place $times "$tmp/layers/below" "$(target spin)" victim
	place $times "$tmp/layers/own" "$tmp/forged" other
	mount -t overlay -o "lowerdir=$tmp/layers/below,upperdir=$tmp/layers/own,workdir=$tmp/layers/work" \
		none "$tmp/one" || skip 'no overlay can be mounted'
	mounts=("$tmp/one" "${mounts[@]}")
	mount -t overlay -o "lowerdir=$tmp/layers/below:$tmp/layers/empty" none "$tmp/two"
	mounts=("$tmp/two" "${mounts[@]}")
	start_record -a -F 499 --by comm -o "$tmp/f" --stats "$tmp/s"
	swap_all $times "$tmp/one" "$tmp/one"
	run_all $times "$tmp/two"
	stop_record
	none_is_fooled $times
}
