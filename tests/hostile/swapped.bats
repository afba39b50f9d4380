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

@test "a file of a subvolume's snapshot that its owner wrote anew does not name the original" {
	local times=20 i one
	need objcopy readelf nm jq mkfs.btrfs btrfs
	make_forged
	truncate -s 256M "$tmp/disk"
	mkfs.btrfs -q "$tmp/disk"
	mkdir "$tmp/disks"
	mount -o loop "$tmp/disk" "$tmp/disks" || skip 'no btrfs can be mounted'
	mounts+=("$tmp/disks")
	btrfs subvolume create "$tmp/disks/one"
	place $times "$tmp/disks/one" "$(target spin)" victim
	btrfs subvolume snapshot "$tmp/disks/one" "$tmp/disks/two"
	chown -R 1234:1234 "$tmp/disks/two"
	for ((i = 1; i <= times; i++)); do
		one=$tmp/disks/one/victim$i
		mv "$tmp/disks/two/victim$i" "$tmp/disks/two/other$i"
		# shellcheck disable=SC2016 # for the inner shell
		setpriv --reuid 1234 --regid 1234 --clear-groups sh -c 'cat "$0" >"$1" && touch -r "$2" "$1"' \
			"$tmp/forged" "$tmp/disks/two/other$i" "$one"
		[ "$(stat -c '%i %Y' "$one")" = "$(stat -c '%i %Y' "$tmp/disks/two/other$i")" ]
	done
	start_record -a -F 499 --by comm -o "$tmp/f" --stats "$tmp/s"
	for ((i = 1; i <= times; i++)); do
		start setpriv --reuid 1234 --regid 1234 --clear-groups "$tmp/disks/two/other$i" 300
		wait_until 60 has_run "$pid" 5
		run_one "$tmp/disks/one/victim$i"
		kill -KILL "$pid"
	done
	stop_record
	none_is_fooled $times
	[ "$(folded_count "$tmp/f" '^other.*forged')" -gt 0 ] # they were mapped first
}

# run_one PROGRAM: long enough to be seen.
run_one() {
	local pid
	start "$1" 300
	wait_until 60 has_run "$pid" 5
	kill -KILL "$pid"
}
