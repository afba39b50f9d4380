#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What is at the place of an output: every subcommand that writes, and every kind of thing. Nothing
# makes stoker wait, and whatever makes an output impossible is reported before anything is sampled.
# waits: for readers and captures of seconds
# seconds: 40

load lib

setup_place() {
	as=() more=()
	start_busy spin 120
	echo 'a;b 1' >"$tmp/in.folded"
	place=$tmp/place
	mkdir "$place"
}

# write_to OUTPUT PATH: the command that writes to PATH; $as goes in front, $more behind `record`.
write_to() {
	local run=("${as[@]}" timeout -k 5 "$(patience 60)" "$stoker")
	case $1 in
	record) "${run[@]}" record -p "$pid" -d "${seconds:-30}" -o "$2" ;;
	stats) "${run[@]}" record "${more[@]}" -p "$pid" -d "${seconds:-30}" -o "$tmp/profile" --stats "$2" ;;
	bundle) "${run[@]}" record -p "$pid" -d "${seconds:-30}" --bundle "$2" ;;
	convert) "${run[@]}" convert -q "$tmp/in.folded" -o "$2" ;;
	diff) "${run[@]}" diff -q "$tmp/in.folded" "$tmp/in.folded" -o "$2" ;;
	report) "${run[@]}" report -q --store "$tmp/store" -f folded -o "$2" ;;
	esac </dev/null 3>&-
}

# put KIND: makes $place/f, or what stands in its way.
put() {
	case $1 in
	fifo) mkfifo "$place/f" ;;
	folder) mkdir "$place/f" ;;
	socket) "$python" -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$place/f" ;;
	link-to-link) ln -s g "$place/f" && ln -s h "$place/g" ;;
	link-to-nowhere) ln -s gone/h "$place/f" ;;
	link-to-fifo) mkfifo "$place/h" && ln -s h "$place/f" ;;
	link-in-tmp) chmod 1777 "$place" && ln -s ../in.folded "$place/f" ;;
	foreign-link) chmod 1777 "$place" && ln -s ../in.folded "$place/f" && chown -h 65534 "$place/f" ;;
	foreign-fifo) chmod 1777 "$place" && mkfifo "$place/f" && chown 65534 "$place/f" ;;
	no-folder) rmdir "$place" ;;
	file-for-folder) rmdir "$place" && : >"$place" ;;
	read-only) mount -t tmpfs -o ro none "$place" && mounts+=("$place") ;;
	full)
		mount -t tmpfs -o size=4k none "$place" && mounts+=("$place")
		head -c 4096 /dev/zero >"$place/ballast"
		;;
	esac
}

# $place/s, another user's link to $tmp/other.
put_foreign_folder() {
	chmod 1777 "$place"
	mkdir "$tmp/other"
	ln -s "$tmp/other" "$place/s"
	chown -h 65534 "$place/s"
}

clear_place() {
	local one
	for one in "${mounts[@]}"; do umount "$one"; done
	mounts=()
	rm -rf "$place"
	mkdir "$place"
}

# refused OUTPUT PATH WORDS: with status 1, before sampling, and the message has WORDS.
refused() {
	exits 1 write_to "$1" "$2" || return 1
	said_clearly "$3" || return 1
	if says 'sampling at' "$tmp/said"; then
		echo "$1 to $2: sampled before the output was tried"
		return 1
	fi
	if [ -d "$place" ] && find "$place" -name '*.part' | grep .; then
		echo "$1 to $2: a temporary file is left"
		return 1
	fi
}

places='fifo start the reader first
folder it is a directory
socket it is a socket
link-to-link symbolic link to another one
link-to-nowhere no directory
link-to-fifo start the reader first
link-in-tmp others can write
foreign-link symbolic link of another user
foreign-fifo FIFO of another user
no-folder no directory
file-for-folder Not a directory
read-only read-only
full no space left'

@test "what cannot be written is refused before anything is sampled, by every output" {
	local kind words output cases=0
	setup_place
	need "$python"
	while read -r kind words; do
		for output in record stats convert diff report; do
			echo "$output: $kind"
			put "$kind"
			refused "$output" "$place/f" "$words"
			clear_place
			cases=$((cases + 1))
		done
	done <<<"$places"
	echo 'a;b 1' | cmp - "$tmp/in.folded"
	[ "$cases" -ge 60 ]
	refused record "$place/$(printf 'n%.0s' {1..256})" 'too long'
	refused stats "$place/$(printf 'n%.0s' {1..256})" 'too long'
}

@test "a bundle is refused before anything is sampled" {
	local kind
	setup_place
	for kind in fifo file-for-folder link-to-nowhere link-in-tmp foreign-link read-only full no-folder; do
		echo "bundle: $kind"
		put "$kind"
		refused bundle "$place/f" "$place/f\|$place"
		clear_place
	done
	mkdir "$place/f"
	mkfifo "$place/f/profile.html"
	refused bundle "$place/f" 'profile.html: a FIFO is in the place'
	ln -sf "$tmp/in.folded" "$place/f/profile.html"
	refused bundle "$place/f" 'profile.html: a symbolic link is in the place'
	put_foreign_folder
	refused bundle "$place/s/new" "$place/s goes through a symbolic link of another user"
	[ -z "$(ls "$tmp/other")" ]
	echo 'a;b 1' | cmp - "$tmp/in.folded"
}

@test "a folder that the user may not write to is reported before sampling" {
	local output
	setup_place
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)
	for output in record convert diff report; do
		refused "$output" "$place/f" 'no permission to write'
	done
}

@test "a FIFO in the place of a pattern is refused, at once" {
	setup_place
	mkfifo "$place/f-%" "$place/f-$(date +%Y)"
	refused record "$place/f-%Y" 'a FIFO is in the place'
	refused convert "$place/f-%%" 'a FIFO is in the place'
	ln -s /dev/null "$place/g-%"
	refused record "$place/g-%%" 'a device is in the place'
}

@test "a FIFO that is named exactly gets the output, whichever output it is" {
	local output
	setup_place
	for output in record stats convert diff; do
		read_fifo "$place/f"
		seconds=1 write_to "$output" "$place/f"
		wait "$fifo_reader"
		echo "$output: $(head -c 60 "$tmp/read")"
		[ -s "$tmp/read" ]
		rm "$place/f"
	done
}

# read_fifo PATH: makes a FIFO with a reader, $fifo_reader, who writes what comes to $tmp/read.
read_fifo() {
	local target=$pid
	need "$python"
	mkfifo "$1"
	start "$python" -c 'import os, select, sys
fifo = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
print("ready", flush=True)
poll = select.poll()
poll.register(fifo, select.POLLIN)
poll.poll() # a writer was there
os.set_blocking(fifo, True)
with open(sys.argv[2], "wb") as out, os.fdopen(fifo, "rb") as all:
    out.write(all.read())' "$1" "$tmp/read"
	fifo_reader=$pid pid=$target
	wait_until 10 says ready "$out"
}

@test "descriptors mean themselves: /dev/stdout, /dev/fd/N and the shell's >(...)" {
	local output
	setup_place
	need gzip
	for output in record convert diff; do
		seconds=1 write_to "$output" /dev/stdout >"$tmp/a" 2>"$tmp/said"
		seconds=1 write_to "$output" - >"$tmp/b" 2>"$tmp/said"
		seconds=1 write_to "$output" /dev/fd/7 7>"$tmp/c" 2>"$tmp/said"
		seconds=1 write_to "$output" /proc/self/fd/7 7>>"$tmp/c" 2>"$tmp/said"
		seconds=1 write_to "$output" >(gzip >"$tmp/d.gz") 2>"$tmp/said"
		wait_until 10 gzip -tq "$tmp/d.gz"
		folded_is_valid "$tmp/a"
		folded_is_valid "$tmp/b"
		folded_is_valid "$tmp/c"
		gzip -dc "$tmp/d.gz" >"$tmp/d"
		folded_is_valid "$tmp/d"
		rm "$tmp/d.gz"
	done
	more=(-q)
	seconds=1 write_to stats /dev/stderr 2>"$tmp/s"
	jq -e .ticks.samples "$tmp/s"
	refused record /dev/fd/99 'descriptor 99 is not open'
	seconds=1 exits 1 write_to record /dev/full
	says 'no space left' "$tmp/said"
}

@test "an own link is followed once, and the file is made beside its target" {
	local output
	setup_place
	mkdir "$place/real"
	echo old >"$place/real/target"
	ln -s real/target "$place/f"
	for output in record stats convert diff; do
		seconds=1 write_to "$output" "$place/f"
		[ -L "$place/f" ]
		[ "$(cat "$place/real/target")" != old ]
		echo old >"$place/real/target"
	done
	rm -r "${place:?}/real"
	mkdir "$place/real"
	ln -s real "$place/b"
	seconds=1 write_to bundle "$place/b"
	[ -s "$place/real/prof.tar.gz" ]
}

@test "a folder that its owner replaces by a link while root samples leads no file elsewhere" {
	local output
	setup_place
	mkdir "$place/elsewhere"
	for output in record bundle stats; do
		mkdir -p "$place/of/d"
		chown -R 65534 "$place/of"
		status=0
		seconds=3 write_to "$output" "$place/of/d/f" >"$tmp/said" 2>&1 3>&- &
		recorder=$!
		wait_until 20 grep -q 'sampling at' "$tmp/said"
		mv "$place/of/d" "$place/of/before"
		ln -s "$place/elsewhere" "$place/of/d"
		chown -h 65534 "$place/of/d"
		wait "$recorder" || status=$?
		cat "$tmp/said"
		[ "$status" -ne 0 ]
		grep -q 'a symbolic link of another user' "$tmp/said"
		[ -z "$(ls "$place/elsewhere")" ]
		rm -r "${place:?}/of"
	done
}

@test "a folder of another process in /proc leads no file into another root" {
	setup_place
	write_to convert "/proc/$pid/root$place/f" 2>"$tmp/err" && return 1
	grep -q 'goes through a folder of a process in /proc' "$tmp/err"
	write_to convert "/proc/$pid/cwd/f" 2>"$tmp/err" && return 1
	[ -z "$(ls "$place")" ]
	(cd "$place" && write_to convert /proc/self/fd/1) >"$tmp/out"
	[ "$(cat "$tmp/out")" = 'a;b 1' ]
}

@test "a file that is mounted by itself, as into a container, is written in place" {
	local output inode
	unshare --mount true || skip 'no namespaces of our own here'
	setup_place
	for output in record stats convert; do
		echo 'old, and rather longer than anything else' >"$tmp/outside"
		: >"$place/f"
		inode=$(stat -c %i "$tmp/outside")
		mount --bind "$tmp/outside" "$place/f"
		mounts+=("$place/f")
		seconds=1 write_to "$output" "$place/f"
		umount "$place/f"
		mounts=()
		[ "$(stat -c %i "$tmp/outside")" = "$inode" ]
		[ -s "$tmp/outside" ]
		if says old "$tmp/outside"; then return 1; fi
		[ "$(find "$place" -type f | wc -l)" -eq 1 ]
	done
}

@test "what takes the place while record samples is not followed, and the profile is kept" {
	local kind kept busy
	setup_place
	busy=$pid
	for kind in folder foreign-fifo foreign-link; do
		chmod 1777 "$place"
		start_record -p "$busy" -o "$place/f"
		put "$kind"
		runs_on "$busy" 20
		kill -INT "$recorder"
		exits 1 wait "$recorder"
		cat "$out"
		kept=$(find "$place" -name 'f.*.part')
		grep -qF "what was to be written is in $kept" "$out"
		folded_is_valid "$kept"
		clear_place
	done
	echo 'a;b 1' | cmp - "$tmp/in.folded"
}

@test "two outputs that are one file are refused, whatever paths lead there" {
	setup_place
	ln -s . "$place/self"
	mkdir "$place/b"
	as=(env -C "$place")
	exits 2 "${as[@]}" "$stoker" record -p "$pid" -o f --stats ./f
	said_clearly 'same file'
	exits 2 "${as[@]}" "$stoker" record -p "$pid" -o f --stats self/f
	said_clearly 'same file'
	exits 2 "${as[@]}" "$stoker" record -p "$pid" --bundle b --stats self/b/profile.html
	said_clearly 'same file'
	exits 2 "${as[@]}" "$stoker" record -p "$pid" --check -o f --stats self/f.check
	said_clearly 'same file'
	exits 2 "${as[@]}" "$stoker" record -p "$pid" --check -o /dev/null
	said_clearly 'regular file'
	[ ! -e /dev/null.check ]
}

@test "a FIFO whose reader leaves makes the record fail, not wait" {
	setup_place
	read_fifo "$place/f"
	start_record -p "$pid" -d 60 -o "$place/f"
	kill -KILL "$fifo_reader"
	wait_until 10 is_gone "$fifo_reader"
	kill -INT "$recorder"
	exits 1 wait "$recorder"
	says 'start the reader first\|closed the pipe' "$out"
}

# start_daemon: with a store in $tmp/store and a trap that fires at once.
start_daemon() {
	printf '%s\n' '[sample]' 'interval = 1s' '[store]' "path = $tmp/store" '[http]' 'listen = off' \
		'[trap any]' 'above = 0.1%' 'for = 1s' 'before = 1s' 'capture = 1s' \
		>"$tmp/stoker.ini"
	start "$stoker" daemon --config "$tmp/stoker.ini"
	daemon=$pid said=$out
}

# refused_store PATH [STATUS]: before anything is sampled, in one line that names where.
refused_store() {
	printf '%s\n' '[store]' "path = $1" '[http]' 'listen = off' >"$tmp/stoker.ini"
	exits "${2:-1}" timeout -k 5 "$(patience 60)" "$stoker" daemon --config "$tmp/stoker.ini" 3>&-
	said_clearly "$place"
}

@test "a daemon whose store cannot be a directory ends at once, and says so" {
	local kind
	setup_place
	need "$python"
	for kind in fifo socket link-to-nowhere link-to-fifo read-only no-folder file-for-folder; do
		echo "store: $kind"
		put "$kind"
		refused_store "$place/f"
		clear_place
	done
	put_foreign_folder
	refused_store "$place/s" 2
	refused_store "$place/s/new" 2
	[ -z "$(ls "$tmp/other")" ]
}

# refused_for WHY STORE LISTEN [LINE]: in one line about the last line of the configuration that is below $tmp/way.
refused_for() {
	local key
	printf '%s\n' '[store]' "path = $2" '[http]' "listen = $3" "${@:4}" >"$tmp/stoker.ini"
	key=$(grep -n "$tmp/way" "$tmp/stoker.ini" | sed 's/ = .*//; s/:/: /')
	exits 2 timeout -k 5 "$(patience 60)" "$stoker" daemon --config "$tmp/stoker.ini" 3>&-
	said_clearly "stoker.ini:$key: $tmp/way $1"
	[ "$(wc -l <"$tmp/said")" -eq 1 ]
	[ "$(ls "$tmp/way/in")" = token ]
}

@test "a daemon refuses a store, socket or token below a folder that another user may change, and names it" {
	local why
	mkdir -p "$tmp/way/in"
	echo a-token-of-sixteen-or-more >"$tmp/way/in/token"
	for why in 'belongs to user 65534.*by chown' '(of user 0, mode 0777) can be written.*chmod go-w'; do
		if [[ $why = belongs* ]]; then chown 65534 "$tmp/way"; else chown 0 "$tmp/way" && chmod 777 "$tmp/way"; fi
		refused_for "$why" "$tmp/way/in/store" off
		refused_for "$why" "$tmp/store" "unix:$tmp/way/in/socket"
		refused_for "$why" "$tmp/store" 127.0.0.1:0 "token_file = $tmp/way/in/token"
	done
	chmod 1777 "$tmp/way"
	printf '%s\n' '[store]' "path = $tmp/way/in/store" '[http]' "listen = unix:$tmp/way/in/socket" >"$tmp/stoker.ini"
	start "$stoker" daemon --config "$tmp/stoker.ini"
	wait_until 30 says 'sampling at' "$out"
	[ -S "$tmp/way/in/socket" ]
	kill -TERM "$pid"
	wait "$pid"
}

has_segment() {
	find "$tmp/store" -name '*.folded.zst' | grep -q .
}

@test "FIFOs and links in the daemon's store make nobody wait" {
	setup_place
	mkdir "$tmp/store"
	mkfifo "$tmp/store/index" "$tmp/store/segment.part" "$tmp/store/20200101T000000.000Z-60s.folded.zst"
	ln -s "$tmp/in.folded" "$tmp/store/20200102T000000.000Z-60s.folded.zst"
	mkfifo "$tmp/store/traps"
	start_daemon
	wait_until 30 has_segment
	wait_until 30 says "trap any: .*$tmp/store/traps" "$said"
	rm "$tmp/store/traps"
	kill -TERM "$daemon"
	wait "$daemon"
	echo 'a;b 1' | cmp - "$tmp/in.folded"
	write_to report "$place/f"
	folded_is_valid "$place/f"
	read_fifo "$place/g"
	write_to report "$place/g"
	wait "$fifo_reader"
	cmp "$place/f" "$tmp/read"
}

@test "COMMAND has a standard descriptor closed that the caller closed" {
	# shellcheck disable=SC2016 # for the inner shell
	"$stoker" record -q -o "$tmp/f" -- sh -c 'readlink /proc/self/fd/0 >"$0" || echo closed >"$0"' "$tmp/of" <&-
	cat "$tmp/of"
	[ "$(cat "$tmp/of")" = closed ]
}

# What a descriptor of ours has the number of, lines of the log would be written to.
@test "a recorder whose three standard descriptors are closed writes its profile and account" {
	local closed status
	for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
		rm -f "$tmp/f" "$tmp/s"
		echo "$closed"
		eval '"$stoker" record -a -F 49 -d 1 -o "$tmp/f" --stats "$tmp/s"' "$closed"
		jq -e '.ticks.expected > 0' "$tmp/s"
		[ "$(folded_count "$tmp/f")" -eq "$(stat_of "$tmp/s" .ticks.samples)" ]
	done
	status=0
	"$stoker" record -a -F 49 -d 1 -o - >&- 2>"$tmp/said" || status=$?
	[ "$status" -eq 1 ]
	says 'descriptor 1 is not open' "$tmp/said"
}
