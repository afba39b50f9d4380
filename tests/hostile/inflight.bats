#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The kernel counts descriptors in flight by user, so a process of any container can keep so many that
# others of its user, wherever they are, cannot send one. Nothing of ours ends over that, and workers
# send none at all.
# no stoker: workers of other tests have the same users
# seconds: 25

load ../e2e/lib

# flood COUNT UID...: $flooder keeps as many in flight for each of these users.
flood() {
	start "$(target inflight)" "$@"
	flooder=$pid
	wait_until 10 says ready "$out"
}

@test "descriptors in flight of the workers' users cost no stack" {
	local busy
	need jq
	start "$(target deep_nofp)" 120
	busy=$pid
	# shellcheck disable=SC2046 # a list
	flood 1000 $(seq 60760 60769)
	record_cpu 3 "$busy" -F 499 -o "$tmp/f" --stats "$tmp/s"
	kill "$flooder"
	jq -c '.user_stacks, .objects, .tables, .worker' "$tmp/s"
	between "$(whole deep_nofp)" 99 100 'whole stacks, %'
}

# start_limited COMMAND...: with a limit of open files far below what attackers may have, so that other
# programs go on. Also where the caller has CAP_SYS_RESOURCE, it has not.
start_limited() {
	# shellcheck disable=SC2016 # for the inner shell
	start setpriv --bounding-set -sys_resource --inh-caps -sys_resource \
		sh -c 'ulimit -n 4096; exec "$@"' sh "$@"
}

@test "descriptors in flight of our user end no capture, and what waits for them comes afterwards" {
	local busy late status=0
	need jq
	start "$(target deep_nofp)" 120
	busy=$pid
	start_limited "$stoker" record -F 499 --by comm -a -o "$tmp/f" --stats "$tmp/s"
	recorder=$pid said=$out
	wait_until 10 says 'sampling at' "$said"
	flood 8000 0
	start "$(target burn7030_nofp)" 120
	late=$pid
	runs_on "$late" 100
	kill "$flooder"
	runs_on "$late" 200
	flood 8000 0
	kill -INT "$recorder"
	wait "$recorder" || status=$?
	cat "$said"
	jq -c '.user_stacks, .objects, .worker' "$tmp/s"
	[ "$status" -eq 0 ]
	kill -0 "$busy"
	between "$(whole deep_nofp)" 99 100 'whole stacks of a program that was there before, %'
	between "$(whole burn7030_nofp)" 50 100 'whole stacks of one that began meanwhile, %'
	[ "$(stat_of "$tmp/s" .worker.unsent)" -gt 0 ]
	[ "$(grep -c 'descriptors in flight' "$said")" -eq 1 ]
}

has_segments() {
	[ "$(find "$tmp/store" -maxdepth 1 -name '*.folded.zst' 2>/dev/null | wc -l)" -ge "$1" ]
}

# code PATH: the status of the answer; the body goes to $tmp/body.
code() {
	curl -sS -m 60 -H "Authorization: Bearer $(cat "$tmp/store/token")" -o "$tmp/body" -w '%{http_code}' \
		"http://127.0.0.1:$port$1" 3>&-
}

is_ready() {
	[ "$(code /readyz 2>/dev/null)" = 200 ]
}

# captures AGENT: a capture on demand runs.
captures() {
	pgrep -P "$1" -f 'record.*--tick-limit' >/dev/null
}

@test "descriptors in flight of our user cost the daemon no interval, and answers come afterwards" {
	local daemon agent server len asking status=0 port
	need curl zstdcat
	port=$(free_port)
	printf '%s\n' '[http]' "listen = 127.0.0.1:$port" '[sample]' 'interval = 1s' '[store]' "path = $tmp/store" \
		>"$tmp/stoker.ini"
	start "$(target deep_nofp)" 120
	start_limited "$stoker" daemon --config "$tmp/stoker.ini"
	daemon=$pid said=$out
	wait_until 30 has_segments 2
	wait_until 30 is_ready
	agent=$(agent_of "$daemon") server=$(pgrep -x stoker-http -P "$(agent_of "$daemon")")
	curl -sS -m 60 -H "Authorization: Bearer $(cat "$tmp/store/token")" -o "$tmp/asked" \
		"http://127.0.0.1:$port/profile?seconds=2&hz=99" 3>&- &
	asking=$!
	started+=("$asking")
	wait_until 10 captures "$agent"
	flood 8000 0
	len=$(find "$tmp/store" -name '*.folded.zst' | wc -l)
	wait_until 30 has_segments $((len + 4))
	[ "$(code /healthz)" = 200 ]
	[ "$(code /readyz)" = 503 ]
	[ ! -s "$tmp/asked" ]
	kill "$flooder"
	wait_until 30 is_ready
	wait "$asking"
	grep -q deep_nofp "$tmp/asked"
	[ "$(agent_of "$daemon") $(pgrep -x stoker-http -P "$agent")" = "$agent $server" ]
	wait_until 30 has_segments $((len + 6))
	kill -TERM "$daemon"
	wait "$daemon" || status=$?
	cat "$said"
	[ "$status" -eq 0 ]
	[ "$(grep -c 'HTTP: .*descriptors in flight' "$said")" -eq 1 ]
	zstdcat "$tmp"/store/*.folded.zst | grep -q deep_nofp
}
