#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What people expect of any command: units of time, help, the exit status of what it runs.
# seconds: 15

load lib

@test "a time has a unit, or is in seconds" {
	local began
	began=$(date +%s%N)
	exits 0 "$stoker" record -d 1.5s -o "$tmp/f"
	between $((($(date +%s%N) - began) / 1000000)) 1500 15000 milliseconds
	start_record -p $$ -d 2m -o "$tmp/g"
	kill -INT "${started[-1]}"
	wait "${started[-1]}"
	exits 0 "$stoker" ps -d 0.2s
	exits 2 "$stoker" record -d 5x -o "$tmp/f"
	said_clearly '5x is not a time such as 60s'
	exits 2 "$stoker" record -d 0s -o "$tmp/f"
	said_clearly 'more than 0'
	exits 2 "$stoker" record --interval 1d2 -o "$tmp/f-%s"
	said_clearly '1d2'
}

@test "help of a command, and the version, as other commands have them" {
	"$stoker" help record >"$tmp/help"
	"$stoker" record --help | cmp - "$tmp/help"
	"$stoker" help daemon | grep -q '^usage: stoker daemon'
	exits 2 "$stoker" help nothing
	said_clearly 'no such command: nothing'
	[ "$("$stoker" -V)" = "$("$stoker" version)" ]
}

@test "the exit status of a COMMAND is passed on, a failure before it is 125" {
	exits 7 "$stoker" record -o "$tmp/f" -- sh -c 'exit 7'
	[ -e "$tmp/f" ]
	exits 0 "$stoker" record -o "$tmp/f" -- true
	# shellcheck disable=SC2016
	exits 139 "$stoker" record -q -o "$tmp/f" -- sh -c 'kill -SEGV $$'
	said_clearly 'sh was ended by signal 11'
	exits 127 "$stoker" record -q -o "$tmp/f" -- "$tmp/nowhere"
	said_clearly 'cannot run'
	exits 126 "$stoker" record -q -o "$tmp/f" -- "$tmp"
	exits 125 "$stoker" record -F x -- true
	exits 125 "$stoker" record -o "$tmp/nowhere/f" -- true
	# It was ended by the capture: there is nothing to pass on.
	exits 0 "$stoker" record -d 0.5 -o "$tmp/f" -- tail -f /dev/null
}

@test "a configuration is checked without a daemon, and each mistake has its line" {
	printf '[sample]\nhz = 19\n' >"$tmp/c.ini"
	"$stoker" daemon --check-config -c "$tmp/c.ini" | grep -q 'c.ini: nothing is wrong'
	printf '[sample]\nhz = many\n' >"$tmp/c.ini"
	exits 2 "$stoker" daemon --check-config -c "$tmp/c.ini"
	said_clearly 'c.ini:2: hz = many: expected a whole number'
	exits 2 "$stoker" daemon --check-config -c "$tmp/nowhere"
	said_clearly nowhere
	exits 2 "$stoker" daemon --check-config --stopped
	said_clearly 'exclude each other'
}
