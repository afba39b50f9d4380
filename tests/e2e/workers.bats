#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The workers of a capture that runs: what they have, and what becomes of it when they are killed.
# seconds: 28

load lib

line_is() {
	grep -E "^$2:" "/proc/$1/status"
	grep -Eq "^$2:[[:space:]]*$3\$" "/proc/$1/status"
}

# Nothing but /dev/null, its socket, and files that its client has open too (or had: a request may
# be under way).
has_only_what_it_was_given() {
	local fd number to
	for fd in "/proc/$1/fd/"*; do
		number=${fd##*/}
		to=$(readlink "$fd") || continue
		echo "$1: $number $to"
		case $number in
		0 | 1 | 2) [ "$to" = /dev/null ] ;;
		3) [[ $to == socket:* ]] ;;
		*) [[ $to == /memfd:* ]] || find "/proc/$agent/fd" -lname "$to" | grep -q . ;;
		esac || return 1
	done
}

has_nothing() {
	local set
	for set in CapInh CapPrm CapEff CapBnd CapAmb; do
		line_is "$1" $set 0000000000000000 || return 1
	done
	line_is "$1" NoNewPrivs 1 && line_is "$1" Seccomp 2 || return 1
	line_is "$1" Uid '(6076[0-9])[[:space:]]\1[[:space:]]\1[[:space:]]\1' || return 1
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ] || return 1
	[ -z "$(ls "/proc/$1/root/")" ] || return 1
	has_only_what_it_was_given "$1"
}

@test "a worker has no capability, no file but what it was given, and no network" {
	local one
	start_busy spin 60
	start_record -a -F 199 -o "$tmp/f"
	for one in $(workers); do
		has_nothing "$one"
	done
}

@test "a worker that replaces another is shut in as well" {
	local one old
	start_busy spin 60
	start_record -a -F 199 --interval 1 -o "$tmp/%s"
	old=$(workers)
	# shellcheck disable=SC2086 # two of them
	kill -KILL $old
	wait_until 10 have_workers
	for one in $(workers); do
		[[ " $old " != *" $one "* ]]
		wait_until 10 is_shut_in "$one"
		has_nothing "$one"
	done
}

@test "a capture outlives 20 kills of its workers, and its account says what they cost" {
	local one
	# Other tests run programs of these names meanwhile.
	cp "$(target spin)" "$tmp/spin_a"
	cp "$(target burn7030_nofp)" "$tmp/burn_b"
	start "$tmp/spin_a" 90
	start "$tmp/burn_b" 90
	start_record -a -F 499 -o "$tmp/f" --stats "$tmp/s"
	kill_workers 20
	wait_until 10 have_workers
	kill -INT "$recorder"
	wait "$recorder"
	hottest "$tmp/f"
	jq -c '.ticks, .user_stacks, .frames, .worker' "$tmp/s"
	# That for large files is started again only at need.
	between "$(jq '.worker.lost | add' "$tmp/s")" "$killed" "$killed" 'lost workers'
	between "$(stat_of "$tmp/s" .worker.restarts)" $((killed / 2)) "$killed" 'restarts'
	between "$(lost "$tmp/s")" 0 0 'lost'
	between "$(folded_count "$tmp/f")" "$(stat_of "$tmp/s" .ticks.samples)" \
		"$(stat_of "$tmp/s" .ticks.samples)" 'samples in the profile'
	for one in spin_a burn_b; do
		folded_count "$tmp/f" "(^|;)$one;"
		grep -E "(^|;)$one;" "$tmp/f" >"$tmp/of.$one"
		between "$(folded_share "$tmp/of.$one" '\[truncated\]')" 0 0.5 "cut stacks of $one, %"
		[ "$(stat_of "$tmp/s" '.frames.unnamed.worker // 0')" -gt 0 ] ||
			between "$(folded_share "$tmp/of.$one" "$(chain main)")" 99 100 "named stacks of $one, %"
	done
}

# Each in a session of its own, as those who log in have it: the kernel shares CPU time between
# sessions first. All programs that begin later are files that nobody has met.
@test "programs that begin on a full host have their tables in time" {
	local i one began=()
	need sqlite3 mawk openssl xz zstd
	seq 4000000 >"$tmp/numbers"
	for i in {1..30}; do
		start setsid "$(target spin)" 90
	done
	start_record -a -F 997 -d 10 -o "$tmp/f" --stats "$tmp/s"
	for i in {1..4}; do
		for one in /usr/bin/python3 /usr/bin/perl sqlite3 mawk openssl xz zstd; do
			cp -L "$(type -P "$one")" "$tmp/${one##*/}_$i"
			began+=("${one##*/}_$i")
		done
		start setsid "$tmp/python3_$i" -c 'while True: sum(range(9999))'
		start setsid "$tmp/perl_$i" -e '$x += $_ * 2 while $_++ < 1e12'
		start setsid "$tmp/sqlite3_$i" :memory: \
			'with recursive c(x) as (values(1) union all select x + 1 from c) select sum(x % 7) from c'
		start setsid "$tmp/mawk_$i" 'BEGIN { while (1) x[i++ % 1000] += length(i "") }'
		start setsid "$tmp/openssl_$i" speed -seconds 60 sha256
		start setsid "$tmp/xz_$i" -9 -c "$tmp/numbers"
		start setsid "$tmp/zstd_$i" -q -19 -c "$tmp/numbers"
	done
	wait "$recorder"
	jq -c '.user_stacks, .ticks, .tables, .agent' "$tmp/s"
	for one in "${began[@]}"; do
		grep -q "$one" "$tmp/f"
	done
	[ "$(lost "$tmp/s")" -eq 0 ]
	jq -e '.user_stacks | (.truncated.no_table // 0) * 50 <= .total and .complete * 100 >= 97 * .total' "$tmp/s"
}

# What could not be written, or would lack its names, is not sampled on.
@test "a recorder whose clerk or starter is lost ends soon, and says so" {
	local one status began
	start_busy spin 600
	for one in clerk starter; do
		start_record -a -F 997 -d 100 -o "$tmp/f.$one"
		began=$SECONDS status=0
		kill -KILL "$(pgrep -P "$agent" -x "stoker-$one")"
		wait "$recorder" || status=$?
		cat "$out"
		[ "$status" -eq 1 ]
		[ $((SECONDS - began)) -lt "$(patience 15)" ]
		says "the process that $([ "$one" = clerk ] && echo 'writes files' || echo 'starts workers') was lost" "$out"
	done
	[ -s "$tmp/f.starter" ]
	[ ! -e "$tmp/f.clerk" ]
}
