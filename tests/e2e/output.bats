#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Where the profile goes and what it looks like there.
# waits: for readers and captures of seconds
# seconds: 55

load lib

@test "the profile goes to stdout by default, and nothing else does" {
	start_busy spin 30
	timeout "$(patience 20)" "$stoker" record -p "$pid" -d 1 >"$tmp/f" 2>"$tmp/talk"
	folded_is_valid "$tmp/f"
	between "$(folded_share "$tmp/f" "$(chain 'main;spin_here')")" 97 100 named
	grep -q '^{' "$tmp/f" && false
	true
}

@test "-q says nothing" {
	start_busy spin 30
	record -p "$pid" -d 0.5 >"$tmp/f" 2>"$tmp/talk"
	cat "$tmp/talk"
	[ ! -s "$tmp/talk" ]
}

@test ".gz and .zst compress" {
	start_busy spin 30
	need gzip zstd
	record_cpu 0.5 "$pid" -F 199 -o "$tmp/f.folded.gz"
	record_cpu 0.5 "$pid" -F 199 -o "$tmp/f.folded.zst"
	gzip -dc "$tmp/f.folded.gz" >"$tmp/gz"
	zstd -qdc "$tmp/f.folded.zst" >"$tmp/zst"
	folded_is_valid "$tmp/gz"
	folded_is_valid "$tmp/zst"
	between "$(folded_share "$tmp/gz" "$(chain 'main;spin_here')")" 97 100 '.gz'
	between "$(folded_share "$tmp/zst" "$(chain 'main;spin_here')")" 97 100 '.zst'
}

@test "the name of the file may have the time in it" {
	start_busy spin 30
	record_cpu 0.5 "$pid" -F 199 -o "$tmp/profile-%Y-%m-%d.folded"
	ls "$tmp"
	[ -s "$tmp/profile-$(date +%Y-%m-%d).folded" ]
}

@test "--interval writes file after file that together hold every sample once" {
	local all=0 file files
	start_busy spin 30
	record -a -F 199 -d 7 --interval 2 -o "$tmp/out-%H%M%S.folded" --stats "$tmp/s"
	files=$(find "$tmp" -name 'out-*.folded' | sort)
	ls -l "$tmp"
	between "$(echo "$files" | wc -l)" 3 4 files
	for file in $files; do
		folded_is_valid "$file"
		between "$(folded_count "$file")" 1 $((199 * 3 * $(nproc))) "samples in $file"
		all=$((all + $(folded_count "$file")))
	done
	between "$all" "$(stat_of "$tmp/s" .ticks.samples)" "$(stat_of "$tmp/s" .ticks.samples)" 'all samples'
}

@test "--by puts what it names in front, in that order" {
	start_busy spin 30
	record_cpu 0.5 "$pid" --by pid,tid,cpu,comm,container -F 499 -o "$tmp/f"
	hottest "$tmp/f"
	local keys="[^;]*${pid}[^;]*;[^;]*${pid}[^;]*;[^;]*[0-9][^;]*;spin;[^;]+"
	between "$(folded_share "$tmp/f" "^$keys;${entry}main;spin_here")" 97 100 'stacks with the five in front'
}

@test "--by cpu tells the CPUs apart" {
	[ "$(nproc)" -gt 1 ] || skip 'one CPU only'
	start taskset -c 0 "$(target spin)" 30
	local first=$pid
	start taskset -c 1 "$(target spin)" 30
	wait_until 5 has_run "$first"
	wait_until 5 has_run "$pid"
	record_cpu 0.5 "$first,$pid" --by cpu,pid -F 499 -o "$tmp/f"
	hottest "$tmp/f"
	between "$(cut -d ';' -f 1-2 "$tmp/f" | sort -u | wc -l)" 2 2 'pairs of CPU and process'
}

@test "without -a the command's name leads, with -a the container before it" {
	start_busy spin 30
	record_cpu 0.5 "$pid" -F 499 -o "$tmp/p"
	record_while 0.5 "$pid" -a -F 499 -o "$tmp/a"
	hottest "$tmp/p"
	hottest "$tmp/a"
	between "$(folded_share "$tmp/p" "^spin;${entry}main;spin_here")" 97 100 'by comm'
	fits_cpu "$(folded_count "$tmp/a" "^[^;]+;spin;${entry}main;spin_here")" 499 'by container and comm' 70 1000 # others run it, too
}

# has_children PID NUMBER
has_children() {
	[ "$(children_of "$1" | wc -w)" -eq "$2" ]
}

@test "no name that a process gives itself breaks a line" {
	start "$(target comms)" 30
	wait_until 10 has_children "$pid" 23
	record_cpu 2 "$(children_of "$pid" | sed 's/ $//; s/ /,/g')" --by comm -F 499 -o "$tmp/f"
	cat -v "$tmp/f"
	folded_is_valid "$tmp/f"
	between "$(folded_share "$tmp/f" "^[^;]+;${entry}main;run_child;named_work(;|$)")" 95 100 \
		'stacks with one frame before the first function'
	between "$(cut -d ';' -f 1 "$tmp/f" | sort -u | wc -l)" 22 23 'names kept apart'
}

# Nothing in it moves a cursor, turns text around or begins a line of its own: each line of FILE
# begins as one of ours does.
is_clean_text() {
	"$python" - "$1" <<'PYTHON'
import re, sys, unicodedata
for line in open(sys.argv[1], 'rb').read().decode('utf-8').split('\n'):
    assert not any(unicodedata.category(c) in ('Cc', 'Zl', 'Zp') or '\u202a' <= c <= '\u202e'
                   for c in line), repr(line)
    assert not line.startswith('FORGED'), line
PYTHON
}

@test "no name of a process or file reaches a terminal as it is" {
	local name=$'\e[31mre\x9b2J\xc2\x9b2Jd\nFORGED\r\xe2\x80\xae.so'
	need objcopy "$python"
	objcopy --strip-all "$(target spin)" "$tmp/$name"
	start "$tmp/$name" 60
	wait_until 5 has_run "$pid"
	"$stoker" doctor "$pid" >"$tmp/doctor"
	"$stoker" record -p "$pid" -F 199 -d 1 -o "$tmp/f" --stats "$tmp/s" 2>"$tmp/talk" 3>&-
	cat -v "$tmp/doctor" "$tmp/talk"
	grep -q 'process .*31mre?2J?2Jd)' "$tmp/doctor"
	grep -q '31mre?2J?2Jd.*FORGED.*stripped' "$tmp/talk"
	is_clean_text "$tmp/doctor"
	is_clean_text "$tmp/talk"
	folded_is_valid "$tmp/f"
	jq -e . "$tmp/s" >"$tmp/account"
	is_clean_text "$tmp/account"
}

@test "a reader that goes away is no crash" {
	local codes
	start_busy spin 30
	record -a -F 199 -d 0.5 | head -n 1 >"$tmp/f"
	codes="${PIPESTATUS[*]}"
	echo "exit codes $codes"
	[[ ${codes%% *} =~ ^(0|1|141)$ ]]
	[ "$(wc -l <"$tmp/f")" -eq 1 ]
	record -a -F 199 -d 0.5 | :
	codes="${PIPESTATUS[*]}"
	echo "exit codes $codes"
	[[ ${codes%% *} =~ ^(0|1|141)$ ]]
}

@test "a folder that is missing is said before anything is sampled" {
	local began=$SECONDS
	exits 1 record -a -d 30 -o "$tmp/no/such/folder/f.folded"
	said_clearly "$tmp/no/such/folder"
	[ $((SECONDS - began)) -lt "$(patience 10)" ]
}

@test "a disk that fills while stoker samples is said, and is a failure" {
	mkdir "$tmp/full"
	mount -t tmpfs -o size=64k,mode=755 tmpfs "$tmp/full"
	mounts+=("$tmp/full")
	start_busy spin 60
	local busy=$pid
	start_record -p "$busy" -d 60 -o "$tmp/full/f.folded"
	head -c 65536 /dev/zero >"$tmp/full/ballast" || true
	runs_on "$busy" 20 # a profile without samples needs no room
	kill -INT "$recorder"
	exits 1 wait "$recorder"
	grep -q 'no space' "$out"
	[ "$(ls "$tmp/full")" = ballast ]
}

@test "an account that cannot be written is a failure" {
	start_busy spin 30
	exits 1 record -p "$pid" -d 1 -o "$tmp/f" --stats "$tmp/none/s.json"
	said_clearly "$tmp/none/s.json"
}

@test "a limit of file sizes is an error of the write, not the end by a signal" {
	mkdir "$tmp/place"
	start_busy spin 60
	# shellcheck disable=SC2016 # for the inner shell
	exits 1 bash -c 'ulimit -f 8 && exec "$@"' bash "$stoker" record -q -p "$pid" -d 1 -o "$tmp/place/p.html"
	said_clearly 'file too large.*ulimit -f'
	[ -z "$(ls -A "$tmp/place")" ]
	seq 20000 | sed 's/.*/a;b& 1/' >"$tmp/in.folded"
	# shellcheck disable=SC2016
	exits 1 bash -c 'ulimit -f 100 && exec "$@"' bash "$stoker" convert -q "$tmp/in.folded" -o "$tmp/place/c.folded"
	said_clearly 'c.folded: file too large; raise the limit with ulimit -f'
	[ -z "$(ls -A "$tmp/place")" ]
}

has_files() {
	[ "$(find "$1" -name '*.folded' -type f | wc -l)" -ge "$2" ]
}

@test "an interval that cannot be written costs that interval" {
	local written at
	mkdir "$tmp/full"
	mount -t tmpfs -o size=64k,mode=755 tmpfs "$tmp/full"
	mounts+=("$tmp/full")
	start_busy spin 600
	start_record -p "$pid" --interval 1 -o "$tmp/full/%s.folded"
	wait_until 10 has_files "$tmp/full" 1
	head -c 65536 /dev/zero >"$tmp/full/ballast" || true
	wait_until 10 says 'an interval was not written: .*no space left' "$out"
	rm "$tmp/full/ballast"
	written=$(find "$tmp/full" -name '*.folded' | wc -l)
	wait_until 10 has_files "$tmp/full" $((written + 1))
	for at in {0..60}; do mkdir -p "$tmp/full/$(($(date +%s) + at)).folded" || true; done
	wait_until 10 says 'it is a directory' "$out"
	kill -INT "$recorder"
	exits 1 wait "$recorder"
	cat "$out"
	[ "$(grep -c 'warning: .*no space left' "$out")" -eq 1 ]
	grep -q 'intervals that were not written: [1-9]' "$out"
	find "$tmp/full" -name '*.part' | grep .
}

# start_stuck fifo|pipe|terminal [OPTION...]: record, to a reader that takes nothing. The page is larger
# than a pipe.
start_stuck() {
	local kind=$1 held=$tmp/fifo
	rm -f "$tmp/fifo"
	mkfifo "$tmp/fifo"
	if [ "$kind" = terminal ]; then
		start "$python" -c 'import os, pty, signal
print(os.ttyname(pty.openpty()[1]), "open", flush=True)
signal.pause()'
	else
		# shellcheck disable=SC2016 # for the inner shell
		start sh -c 'exec 9<>"$1"; echo open; exec tail -f /dev/null' sh "$tmp/fifo"
	fi
	wait_until 5 says open "$out"
	[ "$kind" != terminal ] || read -r held _ <"$out"
	if [ "$kind" = fifo ]; then
		start_record "${@:2}" -f html -o "$held"
		return
	fi
	# shellcheck disable=SC2016 # for the inner shell
	start sh -c 'to=$1; shift; exec "$@" >"$to"' sh "$held" "$stoker" record "${@:2}" -f html
	pid_records
}

pipe_is_full() {
	"$python" - "$tmp/fifo" <<'PYTHON'
import array, fcntl, os, sys, termios
size = array.array('i', [0])
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK), termios.FIONREAD, size)
sys.exit(size[0] < 65536)
PYTHON
}

# ends_soon SIGNAL
ends_soon() {
	local began=$SECONDS status=0
	kill "-$1" "$recorder"
	wait "$recorder" || status=$?
	echo "status $status after $((SECONDS - began)) s"
	cat "$out"
	[ "$((SECONDS - began))" -le $(($(patience 2) + 1)) ]
	[ "$status" -eq 1 ]
	grep -q 'cannot write the rest .*: a signal came, and its reader takes nothing' "$out"
}

@test "a reader that takes nothing does not keep record from its end by a signal" {
	local busy kind
	need "$python"
	start_busy spin 600
	busy=$pid
	for kind in fifo pipe; do
		echo "$kind"
		start_stuck "$kind" -p "$busy"
		runs_on "$busy" 20
		ends_soon INT
		start_stuck "$kind" -p "$busy" -d 1
		wait_until 20 pipe_is_full
		ends_soon TERM
	done
	start_stuck terminal -p "$busy"
	runs_on "$busy" 20
	ends_soon INT
}

@test "a clerk whose record was killed does not wait for a reader either" {
	local clerk
	need "$python"
	start_busy spin 600
	start_stuck pipe -p "$pid" -d 1
	wait_until 20 pipe_is_full
	clerk=$(pgrep -x -P "$agent" stoker-clerk)
	kill -KILL "$recorder"
	wait_until 5 is_gone "$clerk"
}

@test "a .stoker file has all of a capture, its account and times too, for other formats later" {
	local part parts=()
	start_busy spin 30
	record -p "$pid" -F 199 -d 2 -o "$tmp/all.stoker"
	"$stoker" convert -q "$tmp/all.stoker" -o "$tmp/f"
	folded_is_valid "$tmp/f"
	between "$(folded_share "$tmp/f" "$(chain 'main;spin_here')")" 97 100 named
	"$stoker" convert -q "$tmp/all.stoker" -f perf >"$tmp/perf"
	[ "$(grep -c 'cpu-clock' "$tmp/perf")" = "$(folded_count "$tmp/f")" ]
	# Its parts are the whole, whenever others let it run.
	for part in '--until 0.5' '--since 0.5 --until 1.5' '--since 1.5'; do
		# shellcheck disable=SC2086 # options
		"$stoker" convert -q "$tmp/all.stoker" $part -f folded >"$tmp/part"
		parts+=("$(folded_count "$tmp/part")")
	done
	echo "${parts[*]} of $(folded_count "$tmp/f")"
	[ "$((parts[0] + parts[1] + parts[2]))" -eq "$(folded_count "$tmp/f")" ]
	between "${parts[1]}" 1 $(($(folded_count "$tmp/f") - 1)) 'in the middle'
	record -p "$pid" -d 1 -f stoker >"$tmp/stdout.stoker"
	"$stoker" convert -q "$tmp/stdout.stoker" | grep -q 'main;spin_here'
	zstd -dc --no-check "$tmp/all.stoker" | wc -c | grep -qx 0
}
