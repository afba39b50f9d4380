#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What processes leave where their files are looked for: nothing of it makes the capture wait, is
# followed out of the container, or goes uncounted. tests/unit/test_opener.c times each alone.
# seconds: 15

load lib

# in_place KIND PATH: makes it, to be run by a shell in the container.
# shellcheck disable=SC2016 # for that shell
in_place='
	case $1 in
	fifo) mkfifo "$2" ;;
	device) mknod "$2" c 5 0 ;;
	socket) /usr/bin/python3 -c "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])" "$2" ;;
	directory) mkdir "$2" ;;
	link) ln -s /etc/shadow "$2" ;;
	loop) ln -s "${2##*/}" "$2" ;;
	sparse) truncate -s 10G "$2" ;;
	esac
	chmod -h 666 "$2" 2>/dev/null || true
	shift 2
	exec "$@"'

kinds='fifo device socket directory link loop sparse'

# Samples through the whole of it: not a tenth of a second was lost.
never_waited() {
	jq -c '.ticks, .objects, .debug_files' "$tmp/s"
	between "$(jq '.duration_s' "$tmp/s")" 1.9 "$(patience 3)" 'seconds of a capture of two'
	between "$(lost "$tmp/s")" 0 0 'ticks lost'
}

# counted KEY REASON AT_LEAST
counted() {
	[ "$(jq ".$1.$2 // 0" "$tmp/s")" -ge "$3" ] || {
		echo "$1.$2: $(jq -c ".$1" "$tmp/s")"
		return 1
	}
}

@test "in place of perf maps: each is counted, none is read, and nobody waits" {
	local kind pids=''
	need "$python"
	for kind in $kinds; do
		start_in_container sh -c "$in_place" sh "$kind" /tmp/perf-1.map "$(target jitmap)" 60 nomap
		wait_until 10 says ready "$out"
		pids=$pids,$pid
	done
	record -p "${pids#,}" -F 199 -d 2 -o "$tmp/f" --stats "$tmp/s"
	never_waited
	counted objects.maps_refused not_regular 4
	counted objects.maps_refused link 2
	counted objects.maps_refused too_large 1
	between "$(jit_named "$tmp/f" .)" 0 0 'JIT frames named, %'
}

@test "in place of debug files: each is counted, none is used, and nobody waits" {
	local kind pids=''
	need "$python" objcopy
	for kind in $kinds; do
		mkdir "$tmp/$kind"
		objcopy --strip-all "$(target spin)" "$tmp/$kind/spin"
		# a file of its own, or all would be one object
		printf '%s' "$kind" >>"$tmp/$kind/spin"
		start_in_container sh -c "$in_place" sh "$kind" "$tmp/$kind/spin.debug" "$tmp/$kind/spin" 60
		wait_until 10 has_run "$pid"
		pids=$pids,$pid
	done
	record -p "${pids#,}" -F 199 -d 2 -o "$tmp/f" --stats "$tmp/s"
	never_waited
	counted debug_files.unread not_regular 4
	counted debug_files.unread link 1
	counted debug_files.unread too_large 1
	between "$(folded_count "$tmp/f" 'spin_here')" 0 0 'names of a stripped file'
	[ "$(folded_count "$tmp/f" 'spin\+0x')" -gt 0 ]
}

# swapped PATH COMMAND...: in a container, with PATH a FIFO and a file by turns, all the time.
swapped() {
	# shellcheck disable=SC2016 # for the inner shell
	start_in_container sh -c 'path=$1; shift; mkfifo "${path%/*}/other"; echo >"$path"; "$@" & exec /usr/bin/python3 -c "
import ctypes, os, sys
libc = ctypes.CDLL(None)
path = os.fsencode(sys.argv[1])
other = os.path.join(os.path.dirname(path), b\"other\")
while True:
    libc.renameat2(-100, other, -100, path, 2)
" "$path"' sh "$@"
}

@test "a map that is swapped for a FIFO and back all the time makes nobody wait" {
	need "$python"
	swapped /tmp/perf-2.map "$(target jitmap)" 60 nomap
	wait_until 10 says ready "$out"
	record -a -F 199 -d 2 --interval 1 -o "$tmp/%s.folded" --stats "$tmp/s"
	never_waited
	[ "$(cat "$tmp"/*.folded | grep -c ';jitmap;')" -gt 0 ]
}

@test "a debug file that is swapped for a FIFO and back all the time makes nobody wait" {
	need "$python" objcopy
	mkdir "$tmp/d"
	objcopy --strip-all "$(target spin)" "$tmp/d/spin"
	swapped "$tmp/d/spin.debug" "$tmp/d/spin" 60
	wait_until 10 has_child "$pid"
	record -a -F 199 -d 2 --interval 1 -o "$tmp/%s.folded" --stats "$tmp/s"
	never_waited
	[ "$(jq '.debug_files.unread.not_regular + ([.debug_files.refused[]] | add // 0)' "$tmp/s")" -gt 0 ]
	[ "$(cat "$tmp"/*.folded | grep -c ';spin+0x')" -gt 0 ]
}

@test "a program whose main thread has ended has whole stacks, and names" {
	start "$(target headless)"
	wait_until 5 says ready "$out"
	record -p "$pid" -F 499 -d 1 -o "$tmp/f" --stats "$tmp/s"
	jq -c '.user_stacks, .objects.failed' "$tmp/s"
	between "$(folded_share "$tmp/f" ';start_thread;.*spin_here')" 90 100 'whole and named'
}

@test "a file that is written in place gives nobody the names of what is in it now" {
	cp "$(target spin)" "$tmp/place"
	record -a -F 499 -o "$tmp/f" --stats "$tmp/s" -- sh -c \
		'"$0" 1; cp "$1" "$0"; "$0" 1' "$tmp/place" "$(target burn7030)"
	grep -E '(^|;)place;' "$tmp/f" >"$tmp/placed"
	hottest "$tmp/placed"
	between "$(folded_share "$tmp/placed" ';place\+0x')" 30 70 'without names: of the first'
	between "$(folded_share "$tmp/placed" ';(seventy|thirty)')" 30 70 'of the second'
	between "$(folded_share "$tmp/placed" ';spin_here')" 0 0 'of the file that was there'
}
