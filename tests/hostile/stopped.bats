#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A process that has the user of workers and openers, and sees the host's processes, stops them
# (SIGSTOP) again and again: another container with the host's pids, for one. They go on, no file is
# blamed for a silence that is not its own, and the log says what happens.
# seconds: 40

load ../e2e/lib
load ../e2e/http
load attacks

@test "who stops workers and openers every second costs no file its rows or names" {
	local one said
	need jq
	start_record -a -F 199 --by comm --interval 2 -o "$tmp/part.%s" --stats "$tmp/s"
	said=$out
	# shellcheck disable=SC2046 # a list
	start "$(target stopper)" "$agent" 1000 $(users_of_workers)
	wait_until 10 says ready "$out"
	for one in first second third fourth; do
		cp "$(target deep_nofp)" "$tmp/$one"
		start "$tmp/$one" 600
		runs_on "$pid" 200
	done
	stop_record
	cat "$said"
	cat "$tmp"/part.* >"$tmp/f"
	jq -c '.user_stacks, .objects, .worker' "$tmp/s"
	[ "$(jq .worker.stopped "$tmp/s")" -gt 0 ]
	[ "$(jq '.worker.lost.hung // 0' "$tmp/s")" -eq 0 ]
	[ "$(jq .worker.refused "$tmp/s")" -eq 0 ]
	[ "$(jq '.objects.failed.hung // 0' "$tmp/s")" -eq 0 ]
	[ "$(jq .objects.openers_given_up "$tmp/s")" -eq 0 ]
	for one in first second third fourth; do
		between "$(whole "$one")" 97 100 "$one, whole"
		between "$(folded_count "$tmp/f" "^$one;.*main;")" \
			$(($(folded_count "$tmp/f" "^$one;") * 97 / 100)) 100000 "$one, with names"
	done
	[ "$(grep -c 'stopped by a signal' "$said")" -eq 1 ]
}

# An interval of a minute: the daemon has nothing else to wake up for.
@test "who stops the process that serves HTTP every second keeps no answer from coming" {
	local until
	interval=60s serve
	# shellcheck disable=SC2046 # a list
	start "$(target stopper)" "$daemon" 1000 $(users 60770)
	wait_until 10 says ready "$out"
	until=$((SECONDS + 6))
	while [ "$SECONDS" -lt "$until" ]; do
		[ "$(code /healthz -m 2)" = 200 ]
	done
	kill -0 "$daemon"
	metric_is stoker_http_restarts_total 0
}
