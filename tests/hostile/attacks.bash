#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# attacks.bash - what hostile containers do: pieces that the tests in this folder load, and loops that
# tools/hostile runs for an hour as `attacks.bash NAME [ARG...]`, with the targets in $bin. A loop prints
# `work N` for each N things that it did.

attacks=${BASH_SOURCE[0]}

# ---- pieces -------------------------------------------------------------------------------------

# forge PROGRAM FUNCTION OUT [OPTION...]: the program, with a false name for the function; options of objcopy(1).
forge() {
	objcopy --redefine-sym "$2=forged" "${@:4}" "$1" "$3"
}

build_id() {
	readelf -n "$1" | awk '/Build ID/ { print $3 }'
}

# offset_of PROGRAM FUNCTION: where it begins in the file.
offset_of() {
	local shift
	shift=$(readelf -SW "$1" | awk '$2 == ".text" { print "0x" $4 " - 0x" $5 }')
	echo $((0x$(nm "$1" | awk -v name="$2" '$3 == name { print $1 }') - (shift)))
}

# forge_debug_file DEBUG ID: is the one of that build ID, in this mount namespace.
forge_debug_file() {
	mount -t tmpfs none /usr/lib/debug
	mkdir -p "/usr/lib/debug/.build-id/${2:0:2}"
	cp "$1" "/usr/lib/debug/.build-id/${2:0:2}/${2:2}.debug"
}

# share_tmp FOLDER COMMAND...: process 1 of a container whose /tmp is the folder.
share_tmp() {
	# shellcheck disable=SC2016 # for the inner shell
	exec unshare --mount --pid --fork --kill-child --mount-proc \
		sh -c 'mount --bind "$1" /tmp && shift && exec "$@"' sh "$@"
}

# claim_map COMMAND...: runs as process 1, after it wrote a name for all addresses into that one's map.
claim_map() {
	echo '0 7fffffffffff forged' >>/tmp/perf-1.map
	exec "$@"
}

# users FIRST...: of each range the user that /etc/passwd does not have.
users() {
	local first uid
	for first; do
		for ((uid = first; ; uid++)); do
			getent passwd "$uid" >/dev/null || break
		done
		echo "$uid"
	done
}

# Of workers and openers.
users_of_workers() {
	users 60760 60800
}

# lasts SECONDS: a part of an attack.
lasts() {
	sleep "$1"
}

# ---- loops --------------------------------------------------------------------------------------
# Those of stdin get `FILE OTHER OFFSET ID` for each program that soon runs elsewhere: its file, a forged
# one with the same inode number and time on another file system, where its function begins, and the id of the
# container.

# Again and again, so that a tick hits one.
swapped() {
	local file other offset i pairs
	while read -r file other offset _; do
		[ "$(stat -c '%i %Y' "$file")" = "$(stat -c '%i %Y' "$other")" ] || continue
		pairs=()
		for ((i = 0; i < 15; i++)); do
			pairs+=("$file" "$other")
		done
		timeout 9 "$bin/swap" 60 "$offset" "${pairs[@]}" </dev/null | sed -un 's/^swapped.*/work 1/p' &
	done
}

# debug_files DEBUG ID
debug_files() {
	local file
	forge_debug_file "$1" "$2" || return
	while read -r file _; do
		if [[ $file == */stripped ]]; then
			timeout 4 "$file" 60 </dev/null &
			echo 'work 1'
		fi
	done
}

# annotations FOLDER CGROUP: a container within ours has the id of another one, and a shim whose bundle gives it
# that one's name.
annotations() {
	local id group
	mkdir -p "$1"
	cp "$bin/spin" "$1/forger"
	while read -r _ _ _ id; do
		group=$2/docker-$id.scope
		mkdir -p "$1/$id" "$group"
		echo '{"ociVersion":"1.0.2","annotations":{"nerdctl/name":"'"${id:0:12}"'"}}' >"$1/$id/config.json"
		# shellcheck disable=SC2016 # for the inner shell
		(cd "$1/$id" && exec bash -c 'printf containerd-shim >/proc/$$/comm
			../forger 3 & echo $! >"$1/cgroup.procs"; wait; rmdir "$1"; rm -r "$2"' bash "$group" "$1/$id") </dev/null &
		echo 'work 1'
	done
}

# hung FOLDER: one after the other falls silent for some seconds.
hung() {
	local mode dir server
	for ((;;)); do
		for mode in file overlay map debug; do
			dir=$1/$mode
			mkdir -p "$dir"/{lower,empty,merged}
			unshare --mount "$bin/hung" "$dir" "$bin/$([ $mode = map ] && echo jitmap || echo stripped)" \
				60 "$mode" >"$dir/out" &
			server=$!
			lasts 2
			kill -USR1 "$server"
			lasts 6
			sed -n 's/^silent/work 1/p' "$dir/out"
			kill -KILL "$server"
			wait "$server"
		done
	done
}

# greedy FILES sparse|rules
greedy() {
	while :; do
		"$bin/greedy" /tmp "$1" "$2" 10 | sed -n 's/^[1-9][0-9]*$/work &/p'
	done
}

long_names() {
	while :; do
		"$bin/randomnames" 10 8000 | sed -n 's/^[1-9][0-9]*$/work &/p'
		rm -f /tmp/perf-*.map
	done
}

# new_files FILES
new_files() {
	while :; do
		mkdir /tmp/files
		"$bin/manyfiles" /tmp/files "$1" 10 touch | sed -n 's/^[1-9][0-9]*$/work &/p'
		rm -r /tmp/files
	done
}

# mappings PROCESSES MAPPINGS
mappings() {
	while :; do
		"$bin/manymaps" "$1" "$2" 10 | sed -un "s/^ready/work $1/p"
	done
}

# shared_map FOLDER
shared_map() {
	local turn dir
	for ((turn = 0; ; turn++)); do
		dir=$1/$turn
		mkdir -p -m 1777 "$dir"
		(share_tmp "$dir" "$bin/jitmap" 10) >/dev/null &
		lasts 1
		(share_tmp "$dir" bash "$attacks" claim_map "$bin/jitmap" 8 nomap) >/dev/null &
		wait
		! grep -q forged "$dir/perf-1.map" || echo 'work 1'
		rm -r "$dir"
	done
}

# stops PID: workers and openers of the daemon, every second.
stops() {
	local agent users
	mapfile -t users < <(users_of_workers)
	while :; do
		agent=$(pgrep -P "$1" -x stoker)
		"$bin/stopper" "$agent" 1000 "${users[@]}" | sed -un 's/^stopped \(.*\)/work \1/p'
		lasts 1
	done
}

# execs: a hundred processes of a program that nobody has met, again and again.
execs() {
	local i
	while :; do
		cp "$bin/shortlived" /tmp/brief
		for ((i = 0; i < 100; i++)); do
			/tmp/brief 0 &
		done
		wait
		rm /tmp/brief
		echo 'work 100'
	done
}

# deep_stacks FRAMES: its work is CPU time in ms.
deep_stacks() {
	local TIMEFORMAT=%3U
	while :; do
		{ time "$bin/deep_nofp" 10 "$1"; } 2>&1 | sed -un 's/^\([0-9]*\)\.\([0-9]*\)$/work \1\2/p'
	done
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	"$@"
fi
