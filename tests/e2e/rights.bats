#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Which user, capabilities and system calls each process of a daemon has, as ARCHITECTURE.md's threat model
# says; what was not switched on at the start cannot be had later.
# seconds: 30

load lib
load http

# caps NAME...: the mask of these, as in /proc/PID/status.
caps() {
	local name number mask=0
	for name; do
		number=$(sed -n "s/^#define CAP_${name^^}[[:space:]]*\([0-9]*\)\$/\1/p" /usr/include/linux/capability.h)
		mask=$((mask | 1 << number))
	done
	printf '%016x\n' "$mask"
}

six=(bpf perfmon sys_ptrace dac_read_search syslog checkpoint_restore)
starting=(sys_admin sys_chroot setuid setgid setpcap kill sys_nice)
opening=(sys_ptrace dac_read_search checkpoint_restore)
# It is kept where the caller has it.
if ((0x$(awk '/^CapEff:/ { print $2 }' /proc/self/status) & 1 << 24)); then
	six+=(sys_resource) opening+=(sys_resource)
fi

# rights_below PID...: NAME UID CAPABILITIES SECCOMP of each process below these; the last digit of our
# own users, of which the first may be taken, is a 0.
rights_below() {
	local one child
	for one; do
		for child in $(children_of "$one" 2>/dev/null); do
			awk '/^Name:/ { name = $2 } /^Uid:/ { uid = $2; sub(/^60(7[6789]|80)[0-9]$/, substr(uid, 1, 4) "0", uid) }
				/^CapEff:/ { caps = $2 } /^Seccomp:/ { print name, uid, caps, $2 }' "/proc/$child/status"
			rights_below "$child"
		done
	done 2>/dev/null | sort
}

# of_daemon KEPT: what is expected below the supervisor; the starter of the HTTP process has KEPT.
of_daemon() {
	sort <<-END
		stoker 0 $(caps "${six[@]}") 2
		stoker-keeper 0 $(caps) 2
		stoker-starter 0 $(caps "${starting[@]}" "${opening[@]}") 2
		stoker-starter 0 $1 2
		stoker-worker 60760 $(caps) 2
		stoker-worker 60760 $(caps) 2
		stoker-http 60770 $(caps) 2
	END
}

# Openers come and go, and so does a third worker, for large files.
has_these() {
	local rights openers
	rights=$(rights_below "$supervisor")
	openers=$(grep '^stoker-opener ' <<<"$rights" | grep -Evx "stoker-opener (60790|60800) $(caps "${opening[@]}") 2")
	rights=$(awk '!/^stoker-opener / && !(/^stoker-worker / && seen[$0]++ == 2)' <<<"$rights")
	[ -z "$openers" ] && [ "$rights" = "$(cat "$tmp/these")" ]
}

as_expected() {
	cat >"$tmp/these"
	wait_until 10 has_these || diff "$tmp/these" <(rights_below "$supervisor")
}

# Returns when there is another one that samples.
lose_agent() {
	kill -KILL "$daemon"
	wait_until 10 is_gone "$daemon"
	wait_until 30 is_ready
	daemon=$(agent_of "$supervisor")
}

# Its workers have no more rights to be shut in by.
of_capture() {
	cat <<-END
		stoker-capture 60790 $(caps "${six[@]}") 2
		stoker-clerk 60790 $(caps) 2
		stoker-starter 60790 $(caps "${opening[@]}") 2
		stoker-worker 60790 $(caps) 2
		stoker-worker 60790 $(caps) 2
	END
}

@test "each process has the user, the capabilities and the system calls of the threat model" {
	[ "$(caps)" = 0000000000000000 ] && [ "$(caps kill)" = 0000000000000020 ]
	state=is_ready serve
	of_daemon "$(caps "${starting[@]}" "${six[@]}")" | as_expected
	get '/profile?seconds=60&hz=19' -o "$tmp/captured" >/dev/null 2>&1 &
	started+=($!)
	{
		of_daemon "$(caps "${starting[@]}" "${six[@]}")"
		of_capture
	} | sort | as_expected
	# Its place is the daemon's: it ends with it.
	kill -KILL "$daemon"
	of_daemon "$(caps "${starting[@]}" "${six[@]}")" | as_expected
	kill "$supervisor" && wait "$supervisor"
}

# all_below PID...: these and what is below them.
all_below() {
	local one
	for one; do
		echo "$one"
		# shellcheck disable=SC2046 # numbers
		all_below $(children_of "$one" 2>/dev/null)
	done
}

has_name() {
	[ "$(cat "/proc/$2/comm" 2>/dev/null)" = "$1" ]
}

starters_of() {
	local one
	for one in $(children_of "$1"); do
		! has_name stoker-starter "$one" || echo "$one"
	done
}

has_all_of_capture() {
	[ "$(all_below "$daemon" | while read -r one; do cat "/proc/$one/comm"; done | grep -c 'stoker-clerk\|stoker-capture')" -ge 2 ]
}

@test "no process that is stopped outlives the agent, a starter or the supervisor" {
	local victim victims all one running
	for victim in agent starter-1 starter-2 supervisor; do
		rm -rf "$tmp/store"
		state=is_ready serve
		get '/profile?seconds=60&hz=19' -o "$tmp/captured" >/dev/null 2>&1 &
		started+=($!)
		wait_until 20 has_all_of_capture
		wait_until 10 eval '[ "$(starters_of "$daemon" | wc -l)" -eq 2 ]'
		mapfile -t all < <(all_below "$daemon")
		running=
		case $victim in
		agent) victims=$daemon ;;
		supervisor) victims=$supervisor ;;
		*) victims=$(starters_of "$daemon" | sed -n "${victim#*-}p") running=$daemon ;;
		esac
		# An agent whose starter was lost ends by itself, and waits until its last interval is written.
		for one in "${all[@]}"; do
			[ "$running" ] && { [ "$one" = "$running" ] || has_name stoker-keeper "$one"; } ||
				kill -STOP "$one" 2>/dev/null || true
		done
		kill -KILL "$victims"
		[ -z "$running" ] || wait_until 30 is_gone "$running"
		wait_until 2 are_gone "${all[@]}" || {
			ps -o pid,ppid,uid,stat,comm -p "$(IFS=,; echo "${all[*]}")"
			echo "when $victim was killed"
			return 1
		}
		kill "$supervisor" 2>/dev/null || true
		wait "$supervisor" || true
	done
}

# What is started has a /run of its own, in which $tmp/run is /run/stoker.
switch_off() {
	need unshare
	mkdir "$tmp/run"
	touch "$tmp/run/off"
	# shellcheck disable=SC2016 # for the inner shell
	inside=(unshare --mount sh -c 'mount -t tmpfs none /run && mkdir /run/stoker &&
		mount --bind "$0" /run/stoker && exec "$@"' "$tmp/run")
}

@test "an idle daemon has no right, answers from an empty root, and samples again with all of them" {
	local lost
	switch_off
	state=is_idle serve
	sort <<-END | as_expected
		stoker 60770 $(caps) 2
		stoker-starter 0 $(caps "${starting[@]}") 2
		stoker-http 60770 $(caps) 2
	END
	all_rights | grep '^stoker;.*;CapPrm: 0*;CapEff: 0*;CapBnd: 0*;CapAmb: 0*;NoNewPrivs: 1;Seccomp: 2;$'
	[ "$(ls "/proc/$daemon/root")" = proc ]
	lost=$(named stoker-http)
	kill -KILL "$lost"
	wait_until 10 is_gone "$lost"
	wait_until 10 eval 'get /metrics | grep -qx "stoker_http_restarts_total 1"'
	[ "$(get /metrics | sed -n 's/^stoker_resident_memory_bytes{process="http"} //p')" -gt 0 ]
	rm "$tmp/run/off"
	wait_until 30 is_ready
	of_daemon "$(caps "${starting[@]}" "${six[@]}")" | as_expected
	kill "$supervisor" && wait "$supervisor"
}

# In a folder of root, too.
@test "a capture has a user of its own where other users may not execute the program" {
	local stoker=$tmp/root/stoker
	install -d -m 700 "$tmp/root"
	install -m 750 "${STOKER:-$repo/stoker}" "$stoker"
	state=is_ready serve
	get '/profile?seconds=60&hz=19' -o "$tmp/captured" >/dev/null 2>&1 &
	started+=($!)
	{
		of_daemon "$(caps "${starting[@]}" "${six[@]}")"
		of_capture
	} | sort | as_expected
	"$stoker" doctor | grep '^ok *captures .*users of their own'
	kill "$supervisor" && wait "$supervisor"
}

@test "captures that are off at the start cannot be had, and a reload can take them away" {
	state=is_ready serve 'captures = off'
	of_daemon "$(caps "${starting[@]}")" | as_expected
	get '/profile?seconds=1' -w '%{http_code}\n' >"$tmp/answer"
	grep -x 403 "$tmp/answer"
	grep -F '`captures` of [http] is off' "$tmp/answer"
	sed -i 's/^captures = off/captures = on/' "$tmp/stoker.ini"
	kill -HUP "$supervisor"
	wait_until 10 says 'need a restart: \[http\] captures$' "$said"
	[ "$(code '/profile?seconds=1')" = 403 ]
	lose_agent
	[ "$(grep -c 'need a restart: \[http\] captures$' "$said")" -eq 2 ]
	of_daemon "$(caps "${starting[@]}")" | as_expected
	[ "$(code '/profile?seconds=1')" = 403 ]
	kill "$supervisor" && wait "$supervisor"

	state=is_ready serve 'captures = on'
	get '/profile?seconds=60&hz=19' -o "$tmp/captured" -w '%{http_code}' >"$tmp/code" &
	local client=$!
	wait_until 20 eval 'get /metrics | grep -qx "stoker_captures_running 1"'
	sed -i 's/^captures = on/captures = off/' "$tmp/stoker.ini"
	kill -HUP "$supervisor"
	wait_until 10 eval 'get /metrics | grep -qx "stoker_captures_running 0"'
	wait "$client" || true
	[ "$(cat "$tmp/code")" = 403 ]
	grep -F '`captures` of [http] is off' "$tmp/captured"
	[ "$(code '/profile?seconds=1')" = 403 ]
	says 'reloaded' "$said"
	! says 'need a restart' "$said" || false
	# They stay away, whatever the file says.
	echo 'captures = perhaps' >>"$tmp/stoker.ini"
	lose_agent
	[ "$(grep -c 'captures = perhaps.*the configuration stays as it was' "$said")" -eq 1 ]
	of_daemon "$(caps "${starting[@]}")" | as_expected
	[ "$(code '/profile?seconds=1')" = 403 ]
	sed -i 's/^captures = .*/captures = on/' "$tmp/stoker.ini"
	lose_agent
	says 'need a restart: \[http\] captures$' "$said"
	[ "$(code '/profile?seconds=1')" = 403 ]
	kill "$supervisor" && wait "$supervisor"
}

# below PID: all processes below this one.
below() {
	local child
	for child in $(children_of "$1" 2>/dev/null); do
		echo "$child"
		below "$child"
	done
}

named() {
	local one
	for one in $(below "$supervisor"); do
		[ "$(cat "/proc/$one/comm" 2>/dev/null)" != "$1" ] || echo "$one"
	done
}

# All that a process below the supervisor begins with, a line each.
all_rights() {
	local one
	for one in $(below "$supervisor"); do
		awk '/^Name:/ { name = $2 }
			/^(Uid|Gid|Groups|CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):/ {
				gsub(/\<60(7[6789]|80)[0-9]\>/, "ours"); gsub(/[[:space:]]+/, " "); line = line $0 ";" }
			END { print name ";" line }' "/proc/$one/status" 2>/dev/null || true
	done | sort -u # an opener and a worker are there only at need
}

has_first_rights() {
	[ "$(all_rights)" = "$(cat "$tmp/first")" ]
}

@test "a process that takes another one's place has exactly the rights of the first" {
	local name victims
	state=is_ready serve
	of_daemon "$(caps "${starting[@]}" "${six[@]}")" | as_expected
	all_rights >"$tmp/first"
	cat "$tmp/first"
	[ "$(grep -c '^stoker.*CapBnd: 0*;' "$tmp/first")" -ge 4 ]
	for name in stoker-keeper stoker-worker stoker-opener stoker-http stoker-starter stoker; do
		echo "another $name"
		mapfile -t victims < <(named "$name")
		[ "${#victims[@]}" -gt 0 ]
		kill -KILL "${victims[@]}"
		wait_until 10 are_gone "${victims[@]}"
		wait_until 30 has_first_rights || diff "$tmp/first" <(all_rights)
	done
	kill "$supervisor" && wait "$supervisor"
}

seccomp_of() {
	sed -n 's/^Seccomp:[[:space:]]*//p' "/proc/$1/status"
}

@test "a recorder and its clerk have limited system calls, and its COMMAND has all" {
	local child
	start_record -a -o "$tmp/f" -- sh -c 'sed -n "s/^Seccomp:.//p" /proc/self/status >"$0"; exec tail -f /dev/null' "$tmp/command"
	[ "$(seccomp_of "$agent")" = 2 ]
	for child in $(children_of "$agent"); do
		case $(cat "/proc/$child/comm") in
		stoker-clerk | stoker-starter) [ "$(seccomp_of "$child")" = 2 ] ;;
		stoker-worker) wait_until 5 is_shut_in "$child" ;;
		esac
	done
	wait_until 5 test -s "$tmp/command"
	[ "$(cat "$tmp/command")" = "$(seccomp_of self)" ]
	stop_record
}

# The last has the rights of a container with the six capabilities.
@test "doctor says which users and which isolation there are" {
	local plus
	need setpriv
	plus=$(printf ',+%s' "${six[@]}")
	"$stoker" doctor | tee "$tmp/doctor" | grep '^ok *workers  *users of their own.*by namespaces'
	grep '^ok *openers  *users of their own.*/proc alone, read-only' "$tmp/doctor"
	grep '^ok *captures  *users of their own' "$tmp/doctor"
	grep '^ok *other processes .*HTTP and an idle daemon have users of their own' "$tmp/doctor"
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="-all$plus" --ambient-caps="-all$plus" \
		--bounding-set="-all$plus" "$stoker" doctor | tee "$tmp/doctor" | grep '^[a-z]* *workers  *this user'
	grep '^less *openers  *this user, .*the mounts of this process' "$tmp/doctor"
	grep '^ok *captures  *this user: ' "$tmp/doctor"
	grep '^ok *other processes .*all have this user' "$tmp/doctor"
	setpriv --inh-caps="-all$plus" --bounding-set="-all$plus" "$stoker" doctor | grep '^[a-z]* *workers  *this user'
}

@test "doctor reads the mark in the store of the configuration, and says what it cannot read" {
	mkdir "$tmp/store"
	printf '[store]\npath = %s\n' "$tmp/store" >"$tmp/ini"
	! "$stoker" doctor -c "$tmp/ini" | grep '^less *host ' || false
	echo none >"$tmp/store/$(sed -n 's/^#define GUARD_FILE "\(.*\)"$/\1/p' "$repo/user/guard/guard.h")"
	"$stoker" doctor -c "$tmp/ini" | grep '^less *host .*is damaged'
	echo wrong >"$tmp/ini"
	"$stoker" doctor -c "$tmp/ini" | grep '^less *host .*expected'
}
