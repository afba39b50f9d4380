#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Always on: intervals, the store, and what becomes of it when something is wrong.
# seconds: 70

load lib

# configure LINE...: $tmp/stoker.ini with a store in $tmp/store and intervals of a second.
configure() {
	printf '%s\n' '[http]' 'listen = off' '[sample]' 'interval = 1s' '[store]' "path = $tmp/store" "$@" >"$tmp/stoker.ini"
}

segments() {
	find "$tmp/store" -maxdepth 1 -name '*.folded.zst' 2>/dev/null | sort
}

has_segments() {
	[ "$(segments | wc -l)" -ge "$1" ]
}

# start_daemon [N]: returns when N segments are there.
start_daemon() {
	start "$stoker" daemon --config "$tmp/stoker.ini"
	daemon=$pid
	wait_until 30 has_segments "${1:-1}" || {
		cat "$out"
		return 1
	}
}

# ends STATUS: the daemon, on SIGTERM.
ends() {
	local status=0
	kill -TERM "$daemon"
	wait "$daemon" || status=$?
	cat "$out"
	[ "$status" -eq "$1" ]
}

# Every segment is folded text, and what they count is what they say.
all_readable() {
	local file
	while read -r file; do
		zstdcat "$file" >"$tmp/text"
		! grep -qvE '^.+ [1-9][0-9]*$' "$tmp/text" || false
		[ "$(folded_count "$tmp/text")" = "$(jq -s --arg name "${file##*/}" \
			'map(select(.name == $name))[0].samples' "$tmp/store/index")" ]
	done < <(segments)
}

@test "each interval is a file that zstdcat reads, and together they are gapless" {
	configure
	start_busy spin 60
	start_daemon 3
	wait_until 20 have_stacks ';spin;'
	ends 0
	all_readable
	jq -s -e 'sort_by(.start_ns) | [.[:-1], .[1:]] | transpose
		| all((.[1].start_ns - .[0].end_ns) | fabs < 50000000)' "$tmp/store/index"
	jq -s -e 'all(.hz == 19 and .by == "container,pod,comm")' "$tmp/store/index"
	have_stacks ';spin;'
}

@test "SIGTERM writes the open interval and ends within two seconds" {
	printf '%s\n' '[http]' 'listen = off' '[sample]' 'interval = 1h' '[store]' "path = $tmp/store" >"$tmp/stoker.ini"
	start_busy spin 60
	start "$stoker" daemon --config "$tmp/stoker.ini"
	daemon=$pid
	wait_until 20 says 'sampling at' "$out"
	runs_on "${started[0]}" 100
	local begun=$EPOCHREALTIME
	ends 0
	between "$(echo "$EPOCHREALTIME - $begun" | bc)" 0 "$(patience 2)" 'seconds to end'
	has_segments 1
	all_readable
}

# The campaign has 50.
@test "kill -9 of the daemon or its writer, at any moment, loses the open interval and nothing else" {
	need "$python"
	"$BATS_TEST_DIRNAME/kills" "$stoker" "$targets/../bench/week" "$tmp" "${STOKER_KILLS:-5}"
}

has_small_segment() {
	find "$tmp/small/store" -name '*.folded.zst' | grep -q .
}

@test "a full disk costs intervals, is said once, and ends when there is room" {
	mkdir "$tmp/small"
	mount -t tmpfs -o size=64k none "$tmp/small"
	mounts+=("$tmp/small")
	configure
	sed -i "s|^path = .*|path = $tmp/small/store|" "$tmp/stoker.ini"
	mkdir "$tmp/small/store"
	ln -s "$tmp/small/store" "$tmp/store"
	head -c 65536 /dev/zero >"$tmp/small/filler" || true
	start_busy spin 60
	start "$stoker" daemon --config "$tmp/stoker.ini"
	daemon=$pid
	wait_until 30 says 'No space left.*profiles are lost' "$out"
	runs_on "${started[0]}" 250
	rm "$tmp/small/filler"
	wait_until 20 says 'the store can be written again' "$out"
	wait_until 20 has_small_segment
	ends 0
	[ "$(grep -c 'No space left.*profiles are lost' "$out")" -eq 1 ]
}

# The keeper of the process that samples waits for its disk.
keeper_waits() {
	local child
	for child in $(children_of "$1"); do
		[ "$(cat "/proc/$child/comm")" != stoker-keeper ] || grep -q ') D ' "/proc/$child/stat"
	done
}

# ends_on_frozen_disk: the daemon, whose process that samples is stopped meanwhile if $stopped; the disk is
# thawed then.
ends_on_frozen_disk() {
	local agent since status=0
	rm -rf "$tmp/small/store"
	start "$stoker" daemon --config "$tmp/stoker.ini"
	daemon=$pid
	wait_until 30 says 'sampling at' "$out"
	agent=$(agent_of "$daemon")
	runs_on "${started[0]}" 50
	fsfreeze -f "$tmp/small"
	since=$EPOCHREALTIME
	kill -TERM "$daemon"
	if [ "$stopped" ]; then wait_until 1 keeper_waits "$agent" && kill -STOP "$agent"; fi
	wait_until 5 is_gone "$daemon" || status=$?
	since=$(echo "$EPOCHREALTIME - $since" | bc)
	fsfreeze -u "$tmp/small"
	[ "$status" -eq 0 ]
	wait "$daemon" || status=$?
	cat "$out"
	[ "$status" -eq 1 ]
	between "$since" 0 "$(patience 3)" 'seconds to end'
	wait_until 20 has_small_segment
	wait_until 20 eval '[ ! -e "$tmp/small/store/mark" ]'
}

@test "a disk that does not answer keeps no daemon from ending, and has the interval when it does" {
	need mkfs.ext4 fsfreeze
	mkdir "$tmp/small"
	truncate -s 16M "$tmp/disk"
	mkfs.ext4 -q "$tmp/disk"
	mount -o loop "$tmp/disk" "$tmp/small" 2>/dev/null || skip 'no loop device'
	mounts+=("$tmp/small")
	configure
	sed -i "s|^path = .*|path = $tmp/small/store|; s/^interval = .*/interval = 1h/" "$tmp/stoker.ini"
	start_busy spin 600
	stopped='' ends_on_frozen_disk
	says "the last interval is not in $tmp/small/store yet: the process that writes it goes on" "$out"
	stopped=1 ends_on_frozen_disk
	says 'does not end: it is killed' "$out"
	wait_until 20 flock "$tmp/small/store/lock" true
}

@test "a store that is removed underneath is made again" {
	configure
	start_daemon 1
	rm -r "$tmp/store"
	wait_until 20 has_segments 1
	ends 0
	all_readable
}

@test "what is no segment is set aside, said, and harms nothing" {
	configure
	mkdir "$tmp/store"
	head -c 3000 /dev/urandom >"$tmp/store/20200101T000000.000Z-60s.folded.zst"
	echo mine >"$tmp/store/notes"
	start_daemon 1
	wait_until 30 test -e "$tmp/store/damaged/20200101T000000.000Z-60s.folded.zst"
	ends 0
	says 'put into damaged/' "$out"
	[ -e "$tmp/store/damaged/20200101T000000.000Z-60s.folded.zst" ]
	[ -e "$tmp/store/notes" ]
	all_readable
}

# The disk of $tmp/small becomes read-only, or ceases to be.
remount() {
	mount -o "remount,$1" "$tmp/small"
}

small_segments() {
	find "$tmp/small/store" -name '*.folded.zst' | wc -l
}

has_more_small_segments() {
	[ "$(small_segments)" -gt "$had" ]
}

@test "a disk that becomes read-only costs intervals and is said; the rest stays readable" {
	local had
	mkdir "$tmp/small"
	mount -t tmpfs -o size=4m none "$tmp/small"
	mounts+=("$tmp/small")
	ln -s "$tmp/small/store" "$tmp/store"
	start_busy spin 120
	configure
	sed -i "s|^path = .*|path = $tmp/small/store|" "$tmp/stoker.ini"
	start "$stoker" daemon --config "$tmp/stoker.ini"
	daemon=$pid
	wait_until 30 has_small_segment
	wait_until 10 remount ro
	wait_until 20 says 'Read-only file system' "$out"
	"$stoker" report -q --store "$tmp/small/store" -f folded >"$tmp/f"
	[ -s "$tmp/f" ]
	had=$(small_segments)
	remount rw
	wait_until 20 says 'the store can be written again' "$out"
	# The answer that says so may be an instant before the end: then the last interval has no sample.
	wait_until 20 has_more_small_segments
	ends 0
	[ "$(grep -c 'Read-only' "$out")" -eq 1 ]
	[ ! -e "$tmp/small/store/damaged" ]
	"$stoker" report -q --store "$tmp/small/store" -f folded >"$tmp/g"
	[ "$(folded_count "$tmp/g")" -gt "$(folded_count "$tmp/f")" ]
}

# begins_unwritable WHAT: the daemon, into $tmp/small/store, which takes nothing: WHAT is the reason.
begins_unwritable() {
	local port
	need curl
	port=$(free_port)
	configure
	sed -i "s|^path = .*|path = $tmp/small/store|; s|^listen = .*|listen = 127.0.0.1:$port|" "$tmp/stoker.ini"
	start "$stoker" daemon --config "$tmp/stoker.ini"
	daemon=$pid
	wait_until 30 says "$1.*profiles are lost" "$out"
	wait_until 20 says 'sampling at' "$out"
	says "cannot make $tmp/small/store/token: $1; no client has the token" "$out"
	wait_until 20 curl -sSf "http://127.0.0.1:$port/healthz"
	[ ! -e "$tmp/small/store/token" ]
	"$2"
	wait_until 30 has_small_segment
	wait_until 10 test -e "$tmp/small/store/metrics-token"
	curl -sSf -o /dev/null -H "Authorization: Bearer $(cat "$tmp/small/store/token")" \
		"http://127.0.0.1:$port/heat.json"
	ends 0
}

make_room() {
	rm "$tmp/small/filler"
}

make_writable() {
	remount rw
}

@test "a store that takes nothing at the start costs intervals, and the token follows with the first profile" {
	mkdir "$tmp/small"
	mount -t tmpfs -o size=64k none "$tmp/small"
	mounts+=("$tmp/small")
	start_busy spin 120
	mkdir "$tmp/small/store"
	remount ro
	begins_unwritable 'Read-only file system' make_writable
	rm -r "$tmp/small/store"
	mkdir "$tmp/small/store"
	head -c 65536 /dev/zero >"$tmp/small/filler" || true
	begins_unwritable 'No space left on device' make_room
}

@test "a store that cannot be made is no mistake of the configuration" {
	mkdir "$tmp/small"
	mount -t tmpfs -o ro none "$tmp/small"
	mounts+=("$tmp/small")
	configure
	sed -i "s|^path = .*|path = $tmp/small/store|" "$tmp/stoker.ini"
	exits 1 "$stoker" daemon --config "$tmp/stoker.ini"
	said_clearly "cannot make the directory $tmp/small/store: its file system is read-only; choose another place"
	sed -i "s|^listen = .*|listen = 127.0.0.1:$(free_port)|" "$tmp/stoker.ini"
	exits 1 "$stoker" daemon --config "$tmp/stoker.ini"
	said_clearly "cannot make the directory $tmp/small/store: its file system is read-only; choose another place"
}

more_segments_than() {
	[ "$(segments | wc -l)" -gt "$1" ]
}

@test "a wall clock that is set back an hour, and forward again, loses nothing" {
	local skew before n
	echo 0 >"$tmp/skew"
	configure
	start env LD_PRELOAD="$(target skewed_clock)" SKEW="$tmp/skew" ASAN_OPTIONS=verify_asan_link_order=0 \
		"$stoker" daemon --config "$tmp/stoker.ini"
	daemon=$pid
	wait_until 30 has_segments 2
	for skew in -3600 -3603 0; do
		before=$(segments)
		n=$(wc -l <<<"$before")
		echo "$skew" >"$tmp/skew"
		wait_until 30 more_segments_than $((n + 2))
		[ -z "$(comm -23 <(echo "$before") <(segments))" ]
	done
	ends 0
	all_readable
	# Those of an hour ago are there, and each has its own name and time.
	[ "$(jq -s --argjson now "$(date +%s)" \
		'map(select(.start_ns / 1e9 < $now - 3000)) | length' "$tmp/store/index")" -ge 4 ]
	[ "$(jq -s 'map(.name) | unique | length' "$tmp/store/index")" = "$(segments | wc -l)" ]
	jq -s -e 'all((.end_ns - .start_ns) / 1e9 | . > 0 and . < 10)' "$tmp/store/index"
	[ ! -e "$tmp/store/damaged" ]
}

have_stacks() {
	xargs zstdcat < <(segments) | grep "$1" >"$tmp/seen"
}

@test "the daemon can be of one cgroup, and ends when that is gone" {
	local other
	make_cgroup one
	start_busy spin 60
	start_busy burn7030 60
	other=$pid
	echo "$other" >"$cgroup/cgroup.procs"
	configure
	sed -i "s|^interval|target = cgroup $cgroup\ninterval|" "$tmp/stoker.ini"
	start_daemon 3
	wait_until 20 have_stacks ';burn7030;'
	xargs zstdcat < <(segments) >"$tmp/f"
	! grep -q ';spin;' "$tmp/f" || false
	kill -KILL "$other"
	wait "$other" || true
	wait_until 5 rmdir "$cgroup"
	cgroups=()
	wait_until 20 says 'is gone' "$out"
	wait_until 20 is_gone "$daemon"
	all_readable
	exits 1 "$stoker" daemon --config "$tmp/stoker.ini"
	said_clearly "$(basename "$cgroup")"
}

@test "a service manager hears that it is ready, alive, reloading and stopping" {
	need "$python"
	configure
	"$python" -c 'if True:
		import socket, sys
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		s.bind(sys.argv[1])
		while True:
			print(s.recv(999).decode(), flush=True)' "$tmp/notify" >"$tmp/heard" 3>&- &
	started+=("$!")
	wait_until 10 test -S "$tmp/notify"
	start env NOTIFY_SOCKET="$tmp/notify" WATCHDOG_USEC=600000 \
		"$stoker" daemon --config "$tmp/stoker.ini"
	daemon=$pid
	wait_until 20 says READY=1 "$tmp/heard"
	wait_until 20 says WATCHDOG=1 "$tmp/heard"
	kill -HUP "$daemon"
	wait_until 10 says RELOADING=1 "$tmp/heard"
	wait_until 10 says MONOTONIC_USEC "$tmp/heard"
	ends 0
	wait_until 10 says STOPPING=1 "$tmp/heard"
	[ "$(grep -c READY=1 "$tmp/heard")" -eq 2 ]
}

@test "two daemons do not write one store" {
	configure
	start_daemon 1
	exits 1 "$stoker" daemon --config "$tmp/stoker.ini"
	said_clearly 'another process writes there'
}

@test "a wrong configuration is one line with file and line, exit 2, and nothing is started" {
	local line
	for line in 'hz = none' 'hz = 0' 'rate = 5' 'interval = 5 years' 'memory = 1K' 'memory = 15M' 'cpu = 0%' \
		'target = some' 'target = container' $'[nowhere]\nx = 1' $'[store]\nkeep = 1s' \
		$'[store]\npath =' $'[labels]\nby = container,colour' $'[labels]\nby = pid,pid' \
		$'[trap x]\nfor = 2s' nonsense; do
		printf '[sample]\n%s\n[store]\npath = %s\n' "$line" "$tmp/store" >"$tmp/stoker.ini"
		exits 2 "$stoker" daemon --config "$tmp/stoker.ini"
		[ "$(wc -l <"$tmp/said")" -eq 1 ]
		said_clearly "$tmp/stoker.ini:[0-9][0-9]*: "
		[ ! -e "$tmp/store" ]
	done
	exits 2 "$stoker" daemon --config "$tmp/nowhere.ini"
	said_clearly "$tmp/nowhere.ini"
	exits 2 "$stoker" daemon --config "$tmp"
	said_clearly "cannot read $tmp: Is a directory"
}

@test "SIGHUP takes what can be taken and keeps what it has where the file is wrong" {
	configure
	sed -i 's/^interval.*/interval = 1h/' "$tmp/stoker.ini"
	start "$stoker" daemon --config "$tmp/stoker.ini"
	daemon=$pid
	wait_until 20 says 'sampling at' "$out"
	echo 'max = much' >>"$tmp/stoker.ini"
	kill -HUP "$daemon"
	wait_until 10 says 'stays as it was' "$out"
	head -c 512 /dev/zero >"$tmp/stoker.ini"
	kill -HUP "$daemon"
	wait_until 10 says 'stoker.ini:1: a NUL byte.*stays as it was' "$out"
	configure 'keep = 2d'
	kill -HUP "$daemon"
	wait_until 10 says 'reloaded' "$out"
	# It compares with what it runs with, not with what it read last.
	local n
	sed -i 's/^\[sample\]/&\nhz = 29/' "$tmp/stoker.ini"
	for n in 1 2; do
		kill -HUP "$daemon"
		wait_until 10 eval '[ "$(grep -c "need a restart: \[sample\] hz$" "$out")" -eq "$n" ]'
	done
	ends 0
}

@test "a shorter interval ends the open one" {
	configure
	sed -i 's/^interval = .*/interval = 1h/' "$tmp/stoker.ini"
	start "$stoker" daemon --config "$tmp/stoker.ini"
	daemon=$pid
	wait_until 20 says 'sampling at' "$out"
	sed -i 's/^interval = .*/interval = 1s/' "$tmp/stoker.ini"
	kill -HUP "$daemon"
	wait_until 15 has_segments 2
	ends 0
}

@test "report answers by span, label and function what was sampled" {
	local all
	configure
	start_busy spin 60
	start_daemon 3
	ends 0
	all=$(jq -s 'map(.samples) | add' "$tmp/store/index")
	"$stoker" report -q --store "$tmp/store" -f folded -o "$tmp/f"
	[ "$(folded_count "$tmp/f")" = "$all" ]
	"$stoker" report -q --store "$tmp/store" --comm spin -f folded -o "$tmp/f"
	between "$(folded_count "$tmp/f")" 1 "$all" 'samples of spin'
	[ "$(folded_count "$tmp/f" '^[^;]*;[^;]*;spin;')" = "$(folded_count "$tmp/f")" ]
	"$stoker" report -q --store "$tmp/store" --comm spin --top 1 | grep -qE ' (spin|burn|main|work)'
	[ "$("$stoker" report -q --store "$tmp/store" --trend | wc -l)" -eq $(($(segments | wc -l) + 1)) ]
	exits 3 "$stoker" report --store "$tmp/store" --since 2h --until 1h -f folded
	said_clearly 'nothing of that time'
	local how
	for how in '' '-f folded' --trend "-o $tmp/x.folded"; do
		# shellcheck disable=SC2086
		exits 3 "$stoker" report -q --store "$tmp/store" --comm "none$$" $how
		said_clearly 'nothing in the store matches'
	done
	exits 2 "$stoker" report --store "$tmp/store" --since tomorrow
	exits 2 "$stoker" report --store "$tmp/store" --function '('
	local refused
	for refused in '-f perf' '-f firefox' "-o $tmp/x.linux-perf.txt" "-o $tmp/x.trace.zip" "-o $tmp/x.firefox.json"; do
		# shellcheck disable=SC2086
		exits 2 "$stoker" report --store "$tmp/store" $refused
		said_clearly 'has no times'
	done
	exits 2 "$stoker" report --store "$tmp/store" -f bogus
	said_clearly 'unknown format: bogus'
	exits 2 "$stoker" report --store "$tmp/store" -o "$tmp/x.txt"
	said_clearly 'no format has this ending'
	exits 2 "$stoker" report --store "$tmp/store" --top 1 -o "$tmp/x.txt"
	said_clearly 'exclude'
	[ -z "$(ls "$tmp"/x.*)" ]
	"$stoker" report -q --store "$tmp/store" --comm spin --by comm -f folded -o "$tmp/f"
	[ "$(folded_count "$tmp/f" '^spin;')" = "$(folded_count "$tmp/f")" ]
	"$stoker" report -q --store "$tmp/store" -o "$tmp/f.pb.gz"
	zcat "$tmp/f.pb.gz" | grep -aq comm
	exits 1 "$stoker" report --store "$tmp/nowhere"
	said_clearly "$tmp/nowhere"
}

@test "diff compares spans, processes and stores" {
	local middle n
	configure
	start_busy spin 60
	start_daemon 4
	ends 0
	cp -r "$tmp/store" "$tmp/other"
	middle=$(jq -s 'sort_by(.start_ns)[2].start_ns / 1e9 | floor' "$tmp/store/index")
	"$stoker" diff -q --store "$tmp/store" "..@$middle" "@$middle.." --normalise none >"$tmp/d"
	for n in 1 2; do
		[ "$(awk -v n="$n" '{ s += $(NF - 2 + n) } END { print s }' "$tmp/d")" -gt 0 ]
	done
	[ "$(awk '{ s += $(NF - 1) + $NF } END { print s }' "$tmp/d")" = \
		"$(jq -s 'map(.samples) | add' "$tmp/store/index")" ]
	"$stoker" diff -q "store=$tmp/store,.." "store=$tmp/other,.." >"$tmp/d"
	awk '$(NF - 1) != $NF { exit 1 }' "$tmp/d"
	grep -q '^[^;]*;[^;]*;spin;' "$tmp/d"
	"$stoker" diff -q --store "$tmp/store" comm=spin .. -f html -o "$tmp/d.html"
	[ -s "$tmp/d.html" ]
	# with what a report of all of it says: the same lines, each with the same two counts
	"$stoker" report -q --store "$tmp/store" -f folded -o "$tmp/all.folded"
	"$stoker" diff -q --store "$tmp/store" .. "$tmp/all.folded" --normalise none >"$tmp/d"
	[ "$(wc -l <"$tmp/d")" -eq "$(grep -vc "^# stoker: " "$tmp/all.folded")" ] # the line about guesses
	[ -z "$(awk '$NF != $(NF - 1)' "$tmp/d")" ]
	exits 2 "$stoker" diff --store "$tmp/store" soon.. ..
	exits 1 "$stoker" diff "store=$tmp/nowhere,.." ..
	said_clearly "$tmp/nowhere"
}
