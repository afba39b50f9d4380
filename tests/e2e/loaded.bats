#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A host that has far more to run than CPUs, and programs that are new to it: their tables come in time, no
# tick is lost, and the end is in time.
# alone: it loads every CPU
# seconds: 77

load lib

crowd=$repo/tests/e2e/crowd
with=()

# loaded_host NUMBER: so many processes that never sleep, beside what the test itself starts.
loaded_host() {
	local i
	for ((i = 0; i < $1; i++)); do
		start "$(target spin)" 600
	done
	wait_until 10 has_run "$pid"
}

# records_crowd SECONDS OPTION...: the account is in $tmp/s. $with: the command that starts stoker.
records_crowd() {
	timeout -k 5 600 "${with[@]}" "$stoker" record -q --stats "$tmp/s" "${@:2}" -- \
		"$crowd" run "$1" "$tmp" >"$tmp/ran" </dev/null 3>&-
	jq -c '.ticks, .user_stacks, .objects' "$tmp/s"
	cat "$tmp/ran"
	grep -Eq '^(2[6-9]|[3-9][0-9]) programs, 0 failed:' "$tmp/ran"
	adds_up "$tmp/s"
	between "$(lost "$tmp/s")" 0 0 'lost ticks'
}

# as_unit: $with is what the systemd unit allows, where it may not raise its own priority either.
as_unit() {
	local caps
	need setpriv
	caps=$(sed -n 's/^CapabilityBoundingSet=//p' "$repo/tools/deploy/stoker.service" | tr ' ' '\n' |
		tr '[:upper:]' '[:lower:]' | sed '/^cap_sys_nice$/d; s/^cap_/+/' | paste -sd,)
	with=(setpriv --bounding-set="-all,$caps" --inh-caps=-all --no-new-privs)
}

share_of() {
	jq "100 * ($1) / .user_stacks.total" "$tmp/s"
}

@test "programs of 20 packages that begin on a loaded host have their tables, and whole stacks" {
	between "$("$crowd" list | cut -d' ' -f1 | sort -u | wc -l)" 20 100 packages
	"$crowd" prepare "$tmp"
	loaded_host 30
	records_crowd 12 -F 997 -o "$tmp/f"
	between "$(jq .user_stacks.total "$tmp/s")" 3000 100000 'user stacks'
	between "$(cut -d';' -f2 "$tmp/f" | sort -u | wc -l)" 26 100 programs
	between "$(share_of '.user_stacks.truncated.no_table // 0')" 0 2 'per cent without a table'
	between "$(share_of '.user_stacks.complete + .user_stacks.guessed')" 97 100 'per cent whole'
	between "$(share_of .user_stacks.guessed)" 0 1 'per cent guessed'
}

@test "the same with no more rights than the systemd unit gives, and no higher priority" {
	"$crowd" prepare "$tmp"
	loaded_host 30
	as_unit
	"${with[@]}" nice -n -5 true 2>&1 | grep 'cannot set niceness'
	records_crowd 10 -F 997 -o "$tmp/f"
	between "$(share_of '.user_stacks.truncated.no_table // 0')" 0 2 'per cent without a table'
	between "$(share_of '.user_stacks.complete + .user_stacks.guessed')" 97 100 'per cent whole'
}

@test "each sample with its time, on a loaded host: no tick is lost" {
	"$crowd" prepare "$tmp"
	loaded_host 30
	records_crowd 10 -F 499 -f perf -o "$tmp/f"
	between "$(share_of '.user_stacks.truncated.no_table // 0')" 0 2 'per cent without a table'
	between "$(share_of '.user_stacks.complete + .user_stacks.guessed')" 97 100 'per cent whole'
}

@test "each sample of the whole host with its time at 9,999 Hz, on a loaded host: no tick is lost" {
	"$crowd" prepare "$tmp"
	loaded_host 30
	start "$crowd" run 10 "$tmp"
	timeout -k 5 600 "$stoker" record -q -a -F 9999 -d 8 -f perf -o "$tmp/f" --stats "$tmp/s"
	jq -c '.ticks, .user_stacks' "$tmp/s"
	adds_up "$tmp/s"
	between "$(jq .ticks.samples "$tmp/s")" 50000 10000000 samples
	between "$(lost "$tmp/s")" 0 0 'lost ticks'
}

@test "the end of ten seconds of a loaded host at 9,999 Hz comes soon" {
	"$crowd" prepare "$tmp"
	loaded_host 30
	start "$crowd" run 15 "$tmp"
	local began=${EPOCHREALTIME/./}
	timeout -k 5 600 "$stoker" record -q -a -F 9999 -d 10 -o "$tmp/f" --stats "$tmp/s"
	took=$(((${EPOCHREALTIME/./} - began) / 100000))
	jq -c '.ticks, .user_stacks' "$tmp/s"
	adds_up "$tmp/s"
	between "$(lost "$tmp/s")" 0 0 'lost ticks'
	echo "$took tenths of a second"
	between "$took" 100 150 'tenths of a second'
}
