#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `stoker top` in a terminal: what it shows, what keys do, and that the terminal is as it was however
# it ends. The terminal is tmux's; what a test saw last is kept beside the build as artefacts/top-*.txt.
# seconds: 60

load ../e2e/lib

artefacts=$(dirname "$targets")/artefacts

setup_file() {
	[ "$(id -u)" -eq 0 ] || skip 'must be root, to load BPF'
	command -v tmux >/dev/null || skip 'no tmux on this machine'
}

teardown() {
	if [ -n "${terminal:-}" ]; then
		mkdir -p "$artefacts"
		screen >"$artefacts/top-$BATS_TEST_NUMBER.txt" 2>/dev/null
		tm kill-server 2>/dev/null
	fi
	for one in "${started[@]}"; do
		kill -KILL "$one" 2>/dev/null && wait "$one" 2>/dev/null
	done
	rm -rf "$tmp"
}

tm() {
	tmux -S "$terminal" "$@" 3>&-
}

screen() {
	tm capture-pane -p -t 0
}

shows() {
	screen | grep -qE -- "$1"
}

shows_not() {
	! shows "$1"
}

# open_terminal COLUMNS ROWS [NAME=VALUE...]: a shell in it, with nothing but a prompt. Each
# has a socket of its own: a server that was told to go may still take the connection of the next.
open_terminal() {
	terminal=$(mktemp -u "$tmp/tmux-XXXXXX")
	tmux -S "$terminal" -f /dev/null new-session -d -x "$1" -y "$2" \
		env LC_ALL=C.UTF-8 PS1='ready> ' "${@:3}" bash --norc 3>&-
	wait_until 5 shows '^ready>'
	tm send-keys -t 0 "stty -g >$tmp/before" Enter
	wait_until 5 test -s "$tmp/before"
}

# open_top OPTION...: returns when it has the terminal.
open_top() {
	tm send-keys -t 0 "clear; '$stoker' top --interval 1 $*" Enter
	wait_until 10 shows '^stoker top'
}

# start_top OPTION...: returns when there are samples to see.
start_top() {
	open_top "$@"
	wait_until 15 shows '[0-9] samples'
}

keys() {
	tm send-keys -t 0 "$@"
}

shell_pid() {
	tm display-message -p -t 0 '#{pane_pid}'
}

# The one that waits, and of its two children that which holds the terminal.
top_pid() {
	children_of "$(shell_pid)" | tr -d ' '
}

view_pid() {
	local child
	for child in $(children_of "$(top_pid)"); do
		[ "$(readlink "/proc/$child/fd/0")" = /dev/null ] || echo "$child"
	done
}

prompt_is_back() {
	screen | grep -v '^$' | tail -n 1 | grep -q '^ready>'
}

table_is_left() {
	[ "$(tm display-message -p -t 0 '#{alternate_on}')" = 0 ]
}

# The shell's screen is there, the cursor too, and the terminal's settings are those of before.
terminal_is_as_before() {
	wait_until 10 prompt_is_back
	shows_not 'CPUs busy'
	[ "$(tm display-message -p -t 0 '#{alternate_on} #{cursor_flag} #{keypad_cursor_flag}')" = '0 1 0' ]
	keys "stty -g >$tmp/after" Enter
	wait_until 5 test -s "$tmp/after"
	diff "$tmp/before" "$tmp/after"
	[ -z "$(children_of "$(shell_pid)")" ]
}

@test "80x24: the hottest function leads, and every line fits" {
	start_busy spin 60
	open_terminal 80 24
	start_top -p "$pid"
	wait_until 15 shows '^ *[0-9.]+% +[0-9.]+%  spin_here'
	screen >"$tmp/screen"
	cat "$tmp/screen"
	[ "$(wc -L <"$tmp/screen")" -le 80 ]
	[ "$(wc -l <"$tmp/screen")" -eq 24 ]
	sed -n 5p "$tmp/screen" | grep -q spin_here
	grep -qE '^stoker top  '"$pid"'  99 Hz  1 s  [0-9]+ samples  [01]\.[0-9]+ of ' "$tmp/screen"
	tail -n 1 "$tmp/screen" | grep -q 'q quit'
}

has_languages() {
	screen >"$tmp/screen"
	[ "$(grep -c "\[JIT node $v8\]" "$tmp/screen")" -eq 1 ] && grep -q 'Market\.' "$tmp/screen" &&
		grep -q 'busy:' "$tmp/screen" && ! grep -qE '\[anon\]|\[unknown\]|\[JIT java|PyEval' "$tmp/screen"
}

@test "Java, Python and Node as they are started: legible names, and what is not named of Node is one row" {
	start_languages
	open_terminal 150 60
	start_top -p "$jvm,$cpython,$v8"
	# The first interval has what was before the JVM is described.
	wait_until 20 has_languages || {
		cat "$tmp/screen"
		return 1
	}
}

@test "--native-frames show: the interpreter's own frames, too" {
	start_cpython
	open_terminal 150 40
	start_top -p "$cpython" --native-frames show
	wait_until 15 shows '_PyEval_EvalFrameDefault'
}

@test "-e wall: what waits, and how many threads do" {
	start "$(target stuck)" 60
	wait_until 10 says ready "$out"
	open_terminal 100 24
	open_top -e wall -p "$pid"
	wait_until 20 shows '^stoker top.* 2[0-9][0-9]\.[0-9] threads wait'
	wait_until 15 shows '[0-9.]+%  \[blocked on signal\]'
	keys s
	wait_until 15 shows '^ *[0-9.]+% +9[0-9]\.[0-9]+%  leaked'
	keys 2
	wait_until 15 shows "^ *2[0-9]{4} +$pid  stuck"
	shows '^ WAIT%     PID  COMMAND          CONTAINER                HOTTEST FUNCTION'
	keys 3
	wait_until 15 shows '^ WAIT%  CONTAINER                                HOTTEST FUNCTION'
	keys h
	wait_until 5 shows "WAIT% +share of one thread's time"
	shows 'TOTAL% +share of all waiting'
	shows_not 'CPU%|samples'
	keys q
	wait_until 10 table_is_left
	exits 2 "$stoker" top -e cpu,wall
	said_clearly 'a table is of one of them'
	exits 2 "$stoker" top -e nothing
	said_clearly 'unknown source: nothing'
}

@test "-e wall: idle threads are no warning" {
	start "$python" -c 'import select, time
print("ready", flush=True)
poll = select.epoll()
while True: poll.poll(0.2)'
	wait_until 10 says ready "$out"
	open_terminal 100 24
	open_top -e wall -p "$pid"
	wait_until 20 shows '\[blocked on epoll\]'
	shows_not 'warning|no place for'
	keys q
	wait_until 10 table_is_left
}

@test "wide: there is room for bars" {
	start_busy spin 60
	open_terminal 150 40
	start_top -p "$pid"
	wait_until 5 shows 'spin_here .*#{15}'
}

@test "a terminal of another size is drawn anew" {
	start_busy spin 60
	open_terminal 80 24
	start_top -p "$pid"
	shows_not '#{15}'
	tm resize-window -t 0 -x 150 -y 30
	wait_until 5 shows 'spin_here .*#{15}'
	tm resize-window -t 0 -x 20 -y 4
	wait_until 5 shows '^stoker top'
	tm resize-window -t 0 -x 80 -y 24
	wait_until 5 shows 'spin_here'
}

@test "keys: views, into and back, order, pause, filter, help" {
	start_busy spin 60
	open_terminal 100 24
	start_top -p "$pid"
	wait_until 5 shows 'spin_here'
	keys 2
	wait_until 5 shows "^ +[0-9.]+ +$pid  spin .* spin_here"
	keys Enter
	wait_until 5 shows "^process $pid"
	wait_until 5 shows 'spin_here'
	keys Enter
	wait_until 5 shows 'callers of spin_here'
	wait_until 5 shows '%  main'
	keys Escape
	wait_until 5 shows_not 'callers of'
	keys Escape
	wait_until 5 shows 'COMMAND'
	keys Tab
	wait_until 5 shows 'CPU%  CONTAINER'
	keys 1 s
	wait_until 5 shows 'by total'
	wait_until 5 eval 'screen | sed -n 5p | grep -qE "100.00%"'
	keys /
	keys -l spin_h
	wait_until 5 shows 'filter: spin_h'
	wait_until 5 shows_not '%  main'
	keys -l é
	wait_until 5 shows 'no name matches the filter'
	keys BSpace
	wait_until 5 shows 'filter: spin_h_'
	wait_until 5 shows '%  spin_here'
	keys Escape
	wait_until 5 shows '%  main'
	keys h
	wait_until 5 shows 'functions, processes, containers'
	keys h
	wait_until 5 shows_not 'functions, processes, containers'
	keys h
	wait_until 5 shows 'functions, processes, containers'
	keys q
	terminal_is_as_before
}

@test "what is paused stays until it goes on" {
	start_busy deep 60
	local deep=$pid
	start_busy spin 60
	open_terminal 80 24
	start_top -p "$deep,$pid"
	wait_until 5 shows 'spin_here'
	keys Space
	wait_until 5 shows PAUSED
	kill -KILL "$pid"
	runs_on "$deep" 250 # two intervals in which nothing may change
	shows 'spin_here'
	keys Space
	wait_until 5 shows_not 'spin_here'
	shows 'deep'
}

@test "however the table ends, the terminal is as before" {
	local signal
	start_busy spin 60
	# Where there is AddressSanitizer, a SIGSEGV is to end it as it does elsewhere.
	open_terminal 80 24 ASAN_OPTIONS=handle_segv=0
	for signal in TERM HUP KILL SEGV; do
		open_top -p "$pid"
		kill -s "$signal" "$(view_pid)"
		echo "after SIG$signal:"
		terminal_is_as_before
		rm "$tmp/after"
	done
	open_top -p "$pid"
	keys C-c
	terminal_is_as_before
	rm "$tmp/after"
	for signal in TERM KILL; do
		open_top -p "$pid"
		kill -s "$signal" "$(top_pid)"
		wait_until 10 table_is_left
		# The shell, which nobody has wait for the table then, may have asked on the table's screen.
		keys Enter
		terminal_is_as_before
		rm "$tmp/after"
	done
}

@test "the table has no capability, the recorder has" {
	start_busy spin 60
	open_terminal 80 24
	start_top -p "$pid"
	local recorder
	recorder=$(children_of "$(top_pid)" | tr ' ' '\n' | grep -vx "$(view_pid)" | grep .)
	grep -q '^CapEff:	0*$' "/proc/$(top_pid)/status"
	grep -q '^CapPrm:	0*$' "/proc/$(view_pid)/status"
	grep -q '^CapPrm:	0*$' "/proc/$recorder/status"
	! grep -q '^CapEff:	0*$' "/proc/$(agent_of "$recorder")/status" || false
	! grep -q ncurses "/proc/$recorder/maps" "/proc/$(agent_of "$recorder")/maps" || false
}

@test "no colour when NO_COLOR is set" {
	start_busy syscalls 60
	open_terminal 80 24 NO_COLOR=1
	start_top -p "$pid"
	wait_until 5 shows '_\[k\]'
	tm capture-pane -p -e -t 0 >"$tmp/plain"
	keys q
	terminal_is_as_before
	tm kill-server
	open_terminal 80 24
	start_top -p "$pid"
	wait_until 5 shows '_\[k\]'
	tm capture-pane -p -e -t 0 >"$tmp/coloured"
	cat -v "$tmp/coloured"
	grep -q $'\e\[[0-9;]*3[0-7]m' "$tmp/coloured"
	! grep -q $'\e\[[0-9;]*[34][0-7]m' "$tmp/plain" || false
}

@test "names with control characters change nothing but their own line" {
	start "$(target comms)" 60
	wait_until 5 has_child "$pid"
	open_terminal 80 40
	start_top -p "$(children_of "$pid" | sed 's/ $//; s/ /,/g')"
	keys 2
	wait_until 5 shows COMMAND
	screen
	shows '^stoker top'
	[ "$(wc -L < <(screen))" -le 80 ]
	[ "$(tm display-message -p -t 0 '#{pane_title}')" = "$(hostname)" ]
}

@test "what the recorder has to say is said when the table is gone" {
	open_terminal 80 24
	keys "'$stoker' top -p 4194300; echo status \$?" Enter
	wait_until 10 shows 'no such process: 4194300'
	wait_until 10 shows 'status 1'
	terminal_is_as_before
}

@test "without a terminal it says so" {
	exits 1 "$stoker" top </dev/null
	said_clearly 'must be a terminal'
	exits 2 "$stoker" top --no-such-option
}

@test "every target of record is one of top's" {
	local target
	for target in --all --pid --tid --cgroup --container --pod --unit; do
		"$stoker" top --help | grep -q -- " $target "
		"$stoker" record --help | grep -q -- " $target "
	done
	! "$stoker" top --container || false
	exits 1 env TERM=xterm script -qec "'$stoker' top --container no-such-container" /dev/null </dev/null >"$tmp/out"
	grep -q 'no-such-container' "$tmp/out"
}

# Keys take a message from the last line, as it was read; not before, and not the error that ends the table.
@test "an error of the recorder is said and ends with 1, whatever keys are pressed" {
	exits 1 env TERM=xterm script -qec "'$stoker' top --container no-such-container" /dev/null \
		< <(for _ in {1..300}; do /bin/echo -n s; done) >"$tmp/out"
	grep -q 'no-such-container: not found' "$tmp/out"
}
