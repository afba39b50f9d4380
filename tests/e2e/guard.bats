#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Who decides that nothing is sampled: the kill switch, and a host that went down under the daemon; and
# what becomes of processes that are lost.
# waits: for guards that fall due and processes that end
# seconds: 60

load lib
load http

# serve_apart [OPTION...]: as serve, behind set_apart.
serve_apart() {
	set_apart
	daemon_options=("$@")
	serve
}

# set_apart: a command behind ${inside[@]} has a /run of its own, in which $tmp/run is /run/stoker.
set_apart() {
	need unshare
	mkdir -p "$tmp/run"
	# shellcheck disable=SC2016 # for the inner shell
	inside=(unshare --mount sh -c 'mount -t tmpfs none /run && mkdir /run/stoker &&
		mount --bind "$0" /run/stoker && exec "$@"' "$tmp/run")
}

tree_of() {
	local child
	echo "$1"
	for child in $(children_of "$1" 2>/dev/null); do
		tree_of "$child"
	done
}

# attached PID...: what these processes and those below $supervisor have attached to the kernel.
attached() {
	local one
	for one in "$@" $(tree_of "$supervisor"); do
		find "/proc/$one/fd" -lname 'anon_inode:*perf_event*' -o -lname 'anon_inode:bpf*' 2>/dev/null
	done
}

nothing_attached() {
	[ -z "$(attached "$@")" ]
}

# off_within_two_seconds: switched off, nothing is attached any more, by the clock of an idle machine.
off_within_two_seconds() {
	local all since=$EPOCHREALTIME
	all=$(tree_of "$supervisor")
	[ -n "$(attached)" ]
	touch "$tmp/run/off"
	# shellcheck disable=SC2086 # a list
	wait_until 2 nothing_attached $all
	between "$(echo "$EPOCHREALTIME - $since" | bc)" 0 "$(patience 2)" 'seconds until nothing was attached'
}

@test "while the kill switch is on nothing is attached, captures end, and it goes on by itself" {
	local client
	serve_apart
	wait_until 30 is_ready
	get '/profile?seconds=60&hz=19' -o "$tmp/captured" -w '%{http_code}' >"$tmp/code" &
	client=$!
	wait_until 20 eval 'get /metrics | grep -qx "stoker_captures_running 1"'
	off_within_two_seconds
	wait "$client" || true
	[ "$(cat "$tmp/code")" != 200 ]
	wait_until 20 is_idle '/run/stoker/off'
	is_alive
	get /metrics | grep -qx 'stoker_sampling 0'
	get '/profile?seconds=1' -o /dev/null -w '%{http_code}' | grep -qx 503
	get '/query?top=1' | grep -q .
	says '/run/stoker/off' "$said"
	nothing_attached
	rm "$tmp/run/off"
	wait_until 30 is_ready
	get /metrics | grep -qx 'stoker_sampling 1'
	kill "$supervisor" && wait "$supervisor"
}

@test "a daemon that is stopped ends for the kill switch, and another user's file is none" {
	serve_apart
	wait_until 30 is_ready
	install -o 65534 -m 644 /dev/null "$tmp/theirs"
	mv "$tmp/theirs" "$tmp/run/off"
	"${inside[@]}" "$stoker" doctor >"$tmp/doctor" || true
	grep "^less *kill switch .*/run/stoker/off exists and is not root's" "$tmp/doctor"
	wait_until 20 eval '[ "$(find "$tmp/store" -name "*.zst" | wc -l)" -ge 2 ]'
	is_ready
	rm "$tmp/run/off"
	kill -STOP "$daemon"
	off_within_two_seconds
	wait_until 20 is_idle '/run/stoker/off'
}

@test "where the kill switch is on at the start nothing is loaded, by record, ps and doctor too" {
	mkdir "$tmp/run"
	touch "$tmp/run/off"
	serve_apart
	wait_until 20 is_idle '/run/stoker/off'
	nothing_attached
	exits 1 "${inside[@]}" "$stoker" record -a -d 1 -o "$tmp/f"
	said_clearly '/run/stoker/off exists'
	exits 1 "${inside[@]}" "$stoker" ps
	said_clearly '/run/stoker/off exists'
	exits 1 "${inside[@]}" "$stoker" doctor >"$tmp/doctor"
	grep '^no *kill switch .*/run/stoker/off' "$tmp/doctor"
	rm "$tmp/run/off"
	start "$stoker" record -a -o "$tmp/f"
	wait_until 20 says 'sampling at' "$out"
	touch "$tmp/run/off"
	wait_until 5 is_gone "$pid"
	says '/run/stoker/off exists: sampling ended' "$out"
}

# off_ends_record: nothing of the recording $pid is attached two seconds after the switch.
off_ends_record() {
	local since all
	wait_until 20 says 'sampling at' "$out"
	all=$(tree_of "$pid")
	supervisor=$pid
	[ -n "$(attached)" ]
	since=$EPOCHREALTIME
	touch "$tmp/run/off"
	# shellcheck disable=SC2086 # a list
	wait_until 5 nothing_attached $all
	between "$(echo "$EPOCHREALTIME - $since" | bc)" 0 "$(patience 2)" 'seconds until nothing was attached'
	wait_until 5 is_gone "$pid"
	rm "$tmp/run/off"
}

@test "a recording ends for the kill switch, whatever it waits for" {
	local reader
	set_apart
	start "$stoker" record -a -o "$tmp/f"
	wait_until 20 says 'sampling at' "$out"
	kill -STOP "$(agent_of "$pid")"
	off_ends_record
	says '/run/stoker/off exists: sampling was ended before the profile was written' "$out"

	mkfifo "$tmp/fifo"
	exec {reader}<>"$tmp/fifo"
	dd if=/dev/zero bs=64k count=1 of="$tmp/fifo" status=none
	# shellcheck disable=SC2016 # for the inner shell
	start sh -c 'exec "$0" record -a --interval 1 >"$1"' "$stoker" "$tmp/fifo"
	off_ends_record
	exec {reader}<&-

	# shellcheck disable=SC2016 # for the inner shell
	start "$stoker" record -o "$tmp/f" -- \
		sh -c 'trap "" TERM; echo $$ >"$0"; while :; do :; done' "$tmp/command"
	wait_until 20 test -s "$tmp/command"
	off_ends_record
	says 'goes on: end it yourself' "$out"
	kill -0 "$(cat "$tmp/command")"
	kill -9 "$(cat "$tmp/command")"
}

@test "the kill switch is seen in a folder that replaced another one, and under a mount that hides it" {
	local within
	serve_apart
	within=(nsenter --mount --target "$supervisor" sh -c)
	wait_until 30 is_ready
	"${within[@]}" 'mount -t tmpfs none /run/stoker && touch /run/stoker/off'
	wait_until 10 is_idle '/run/stoker/off'
	"${within[@]}" 'umount /run/stoker'
	wait_until 30 is_ready
	"${within[@]}" 'umount /run/stoker && mv /run/stoker /run/old && mkdir /run/stoker'
	is_ready
	"${within[@]}" 'mv /run/stoker /run/other && mkdir /run/stoker && touch /run/stoker/off'
	wait_until 10 is_idle '/run/stoker/off'
	kill "$supervisor" && wait "$supervisor"
}

# ends STATUS: the supervisor, by SIGTERM, and all below it; by the clock of an idle machine within two
# seconds.
ends() {
	local all status=0 since=$EPOCHREALTIME
	all=$(tree_of "$supervisor")
	kill "$supervisor"
	wait "$supervisor" || status=$?
	between "$(echo "$EPOCHREALTIME - $since" | bc)" 0 "$(patience 3)" 'seconds until it ended'
	[ "$status" -eq "$1" ]
	# shellcheck disable=SC2086 # a list
	wait_until 2 are_gone $all
}

@test "SIGTERM ends a daemon that is stopped, with all that it started, and no mark stays" {
	local one
	serve_apart
	wait_until 30 is_ready
	[ -e "$tmp/store/mark" ]
	for one in "$daemon" $(starters); do
		kill -STOP "$one"
	done
	ends 1
	says 'does not end: it is killed' "$said"
	[ ! -e "$tmp/store/mark" ]
	serve_apart
	wait_until 30 is_ready
	! says 'went down' "$said" || false
	ends 0
	! says 'does not end' "$said" || false
	touch "$tmp/run/off"
	serve_apart
	wait_until 20 is_idle '/run/stoker/off'
	for one in $(children_of "$daemon"); do
		[ "$(cat "/proc/$one/comm")" = stoker-starter ] || kill -STOP "$one"
	done
	ends 0
	serve_apart
	wait_until 20 is_idle '/run/stoker/off'
	kill -STOP "$daemon"
	ends 0
}

answers_here() {
	[ "$(curl -sS -m 5 --unix-socket "$tmp/socket" http://localhost/healthz 2>/dev/null)" = alive ]
}

binds_port() {
	python3 -c 'import socket, sys
one = socket.socket()
one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
one.bind(("127.0.0.1", int(sys.argv[1])))' "$port" 2>/dev/null
}

@test "nobody else gets the port, whatever is lost, and a stopped idle process goes on" {
	serve_apart
	wait_until 30 is_ready
	for _ in 1 2 3; do
		kill -9 "$daemon"
		for _ in $(seq 20); do
			! binds_port || false
		done
		wait_until 30 is_another "$daemon"
		wait_until 30 is_ready
	done
	touch "$tmp/run/off"
	wait_until 20 is_idle '/run/stoker/off'
	kill -STOP "$(agent_of "$supervisor")"
	wait_until 5 curl -sf -m 2 "http://127.0.0.1:$port/healthz"
}

@test "an idle daemon answers on a unix socket without a store, and leaves no socket" {
	need curl unshare
	set_apart
	touch "$tmp/run/off"
	printf '%s\n' '[store]' "path = $tmp/store" '[http]' "listen = unix:$tmp/socket" >"$tmp/stoker.ini"
	start "$stoker" daemon --config "$tmp/stoker.ini"
	wait_until 20 answers_here
	[ "$(stat -c %a "$tmp/store")" = 750 ]
	kill "$pid" && wait "$pid"
	[ ! -e "$tmp/socket" ]
}

# budget_is CORES: what a reload has set.
budget_is() {
	get /metrics | grep -qx "stoker_cpu_budget_cores $1"
}

@test "who takes the place of another has the configuration of the start, and of the file what may change" {
	local one
	serve_apart
	wait_until 30 is_ready
	sed -i "s|^path = .*|path = $tmp/other|; s/^cpu = .*/cpu = 50%/" "$tmp/stoker.ini"
	one=$daemon
	kill -KILL "$daemon"
	wait_until 20 is_another "$one"
	wait_until 30 is_ready
	says 'need a restart: \[store\] path$' "$said"
	budget_is 0.5
	[ -e "$tmp/store/mark" ]
	[ ! -e "$tmp/other" ]
	# A file that is damaged changes nothing, for an idle one either.
	echo 'rate = 9' >>"$tmp/stoker.ini"
	touch "$tmp/run/off"
	wait_until 20 is_idle '/run/stoker/off'
	[ "$(grep -c 'unknown key.*the configuration stays as it was' "$said")" -eq 1 ]
	budget_is 0.5
	sed -i '/^rate/d; s/^cpu = .*/cpu = 25%/' "$tmp/stoker.ini"
	kill -HUP "$supervisor"
	wait_until 10 budget_is 0.25
	rm "$tmp/run/off"
	wait_until 30 is_ready
	budget_is 0.25
	ends 0
	[ ! -e "$tmp/store/mark" ]
	[ ! -e "$tmp/other" ]
}

# reload_with CPU: as many reloads are said by now as $reloads.
reload_with() {
	sed -i "s/^cpu = .*/cpu = $1/" "$tmp/stoker.ini"
	kill -HUP "$supervisor"
	reloads=$((reloads + 1))
	wait_until 10 eval '[ "$(grep -c "reloaded $tmp" "$said")" -eq "$reloads" ]'
}

@test "a process that is stopped has the last of many reloads when it goes on" {
	local reloads=0 percent
	serve_apart
	wait_until 30 is_ready
	kill -STOP "$daemon"
	for percent in {31..60}; do
		reload_with "$percent%"
	done
	[ "$(grep -c 'does not take its configuration now' "$said")" -eq 1 ]
	kill -CONT "$daemon"
	wait_until 10 budget_is 0.6
	reload_with 25%
	wait_until 10 budget_is 0.25
	kill "$supervisor" && wait "$supervisor"
}

# forge JQ: the mark of a daemon that is not there any more.
forge() {
	jq -c "$1" "$tmp/mark" >"$tmp/store/mark"
}

# die: the daemon is killed and the mark stays, as when the host goes down.
die() {
	cp "$tmp/store/mark" "$tmp/mark"
	kill -KILL "$supervisor"
	wait "$supervisor" || true
	wait_until 10 is_gone "$daemon"
}

# is_left_alone: it says why, answers, and loads nothing.
is_left_alone() {
	wait_until 20 is_idle 'went down 2 times'
	is_alive
	nothing_attached
	says 'idle: this host went down 2 times' "$said"
	get /metrics | grep -qx 'stoker_sampling 0'
	kill "$supervisor" && wait "$supervisor"
}

@test "a host that went down twice under one kernel and version is left alone until told otherwise" {
	serve_apart
	wait_until 30 test -e "$tmp/store/mark"
	kill "$supervisor" && wait "$supervisor"
	[ ! -e "$tmp/store/mark" ]
	serve_apart
	wait_until 30 is_ready
	# While it samples nobody takes its mark away, nor starts in its place.
	exits 1 "$stoker" daemon --config "$tmp/stoker.ini" --stopped
	said_clearly 'a daemon samples into'
	exits 2 "${inside[@]}" "$stoker" daemon --config "$tmp/stoker.ini" --after-crash
	exits 2 "$stoker" daemon --config "$tmp/stoker.ini" --after-crash --stopped
	jq -e '.running' "$tmp/store/mark"
	die
	# On the same boot that was no death; nor is what the unit notes one.
	serve_apart
	wait_until 30 is_ready
	jq -e '.deaths == 0 and .running' "$tmp/store/mark"
	die
	"$stoker" daemon --config "$tmp/stoker.ini" --stopped
	[ ! -e "$tmp/store/mark" ]
	forge '.boot = "another"'
	serve_apart
	wait_until 30 is_ready
	says 'went down while stoker sampled, 1 time' "$said"
	die
	forge '.boot = "a third"'
	serve_apart
	is_left_alone
	# Again, also after a clean end; not with another kernel or version, nor when told so.
	serve_apart
	is_left_alone
	cp "$tmp/store/mark" "$tmp/mark"
	forge '.kernel = "another"'
	serve_apart
	wait_until 30 is_ready
	kill "$supervisor" && wait "$supervisor"
	forge .
	serve_apart --after-crash
	wait_until 30 is_ready
	jq -e '.deaths == 0' "$tmp/store/mark"
}

# rights: who runs below $supervisor with which user and capabilities.
rights() {
	local one
	for one in $(tree_of "$supervisor"); do
		awk -v who="$(cat "/proc/$one/comm" 2>/dev/null)" '/^Uid:/ { uid = $2 } /^CapEff:/ { caps = $2 }
			END { if (caps != "") print who, uid, caps }' "/proc/$one/status" 2>/dev/null
	done | sort -u
}

same_rights() {
	[ "$(rights)" = "$(cat "$tmp/rights")" ]
}

starters() {
	local child
	for child in $(children_of "$daemon"); do
		[ "$(cat "/proc/$child/comm" 2>/dev/null)" != stoker-starter ] || echo "$child"
	done
}

is_another() {
	local now
	now=$(agent_of "$supervisor")
	[ -n "$now" ] && [ "$now" != "$1" ] && daemon=$now
}

@test "a lost starter, and whatever else is lost, comes back with the rights that it had" {
	local one before
	serve_apart
	wait_until 30 is_ready
	wait_until 20 eval 'rights >"$tmp/rights" && grep -q ^stoker-http "$tmp/rights"'
	cat "$tmp/rights"
	[ "$(starters | wc -l)" -eq 2 ]
	for one in 1 2; do
		before=$daemon
		kill -KILL "$(starters | tail -n "$one" | head -n 1)"
		wait_until 20 is_another "$before"
		wait_until 30 is_ready
		wait_until 20 same_rights
		# Before, it may have been a child of the old one's that had no name of its own yet.
		daemon=$(agent_of "$supervisor")
	done
	before=$daemon
	kill -KILL "$daemon"
	wait_until 20 is_another "$before"
	wait_until 30 is_ready
	wait_until 20 same_rights
	says 'was killed by signal 9' "$said"
	kill "$supervisor" && wait "$supervisor"
	"$stoker" report -q --store "$tmp/store" -f folded -o "$tmp/f"
	[ "$(folded_count "$tmp/f")" = "$(jq -s 'map(.samples) | add' "$tmp/store/index")" ]
}

# keeper: of $daemon, the process that writes the store.
keeper() {
	local child
	for child in $(children_of "$daemon"); do
		[ "$(cat "/proc/$child/comm" 2>/dev/null)" != stoker-keeper ] || echo "$child"
	done
}

has_another_keeper() {
	[ -n "$(keeper)" ] && [ "$(keeper)" != "$1" ]
}

@test "a keeper that is stopped is killed and replaced, and keeps nothing from ending" {
	local before one stopped
	serve_apart
	wait_until 30 is_ready
	stopped=$(keeper)
	kill -STOP "$stopped"
	wait_until 40 has_another_keeper "$stopped"
	is_alive
	says 'does not answer (state T): it is killed' "$said"
	wait_until 30 is_ready
	for one in starter agent; do
		before=$daemon stopped=$(keeper)
		kill -STOP "$stopped"
		case $one in
		starter) kill -KILL "$(starters | head -n 1)" ;;
		agent) kill -KILL "$daemon" ;;
		esac
		wait_until 20 is_another "$before"
		wait_until 5 is_gone "$stopped"
		wait_until 30 is_ready
		daemon=$(agent_of "$supervisor")
	done
	stopped=$(keeper)
	kill -STOP "$stopped"
	touch "$tmp/run/off"
	wait_until 20 is_idle '/run/stoker/off'
	is_gone "$stopped"
	rm "$tmp/run/off"
	wait_until 30 is_ready
	daemon=$(agent_of "$supervisor")
	! says 'another process writes there' "$said" || false
	before=$EPOCHREALTIME
	kill -STOP "$(keeper)"
	kill "$supervisor"
	wait "$supervisor"
	between "$(echo "$EPOCHREALTIME - $before" | bc)" 0 "$(patience 2)" 'seconds to end'
	"$stoker" report -q --store "$tmp/store" -f folded -o "$tmp/f"
	[ "$(folded_count "$tmp/f")" = "$(jq -s 'map(.samples) | add' "$tmp/store/index")" ]
}

# set_kernel RELEASE: a command behind ${inside[@]} sees it as the kernel's, and $tmp/etc as /etc.
set_kernel() {
	mkdir "$tmp/run" "$tmp/etc"
	cp -a /etc/. "$tmp/etc"
	mkdir -p "$tmp/etc/stoker"
	rm -f "$tmp/etc/stoker/any-kernel"
	echo "$1" >"$tmp/release"
	echo '#1 SMP' >"$tmp/version"
	# shellcheck disable=SC2016 # for the inner shell
	inside=(unshare --mount sh -c 'mount -t tmpfs none /run && mkdir /run/stoker &&
		mount --bind "$0/run" /run/stoker && mount --bind "$0/etc" /etc &&
		mount --bind "$0/release" /proc/sys/kernel/osrelease &&
		mount --bind "$0/version" /proc/sys/kernel/version && exec "$@"' "$tmp")
}

# The program of another kernel runs here: this one does not hang.
@test "a kernel that can hang the host is not sampled until root accepts it" {
	local hangs='this kernel can hang the host: .*touch /etc/stoker/any-kernel'
	bpftool btf dump file /sys/kernel/btf/vmlinux | grep -q "FUNC '__check_object_size'" ||
		skip 'this kernel does not check copies of user memory (CONFIG_HARDENED_USERCOPY)'
	set_kernel 6.1.20
	serve
	wait_until 20 is_idle "$hangs"
	is_alive
	nothing_attached
	get /metrics | grep -qx 'stoker_sampling 0'
	kill "$supervisor" && wait "$supervisor"
	[ ! -e "$tmp/store/mark" ]
	exits 1 "${inside[@]}" "$stoker" record -a -d 1 -o "$tmp/f"
	said_clearly "$hangs"
	[ ! -e "$tmp/f" ]
	exits 1 "${inside[@]}" "$stoker" doctor >"$tmp/doctor"
	grep "^no *kernel .*$hangs" "$tmp/doctor"
	install -o 65534 -m 644 /dev/null "$tmp/etc/stoker/any-kernel"
	exits 1 "${inside[@]}" "$stoker" record -a -d 1 -o "$tmp/f"
	chown 0 "$tmp/etc/stoker/any-kernel"
	"${inside[@]}" "$stoker" record -a -d 1 -o "$tmp/f"
	[ -s "$tmp/f" ]
	serve
	wait_until 30 is_ready
	kill "$supervisor" && wait "$supervisor"
	rm "$tmp/etc/stoker/any-kernel"
	echo 6.1.36 >"$tmp/release"
	"${inside[@]}" "$stoker" record -a -d 1 -o "$tmp/f"
}
