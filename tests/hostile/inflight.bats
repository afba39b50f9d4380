#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The kernel counts descriptors in flight by user, so a process of any container can keep so many that
# others of its user, wherever they are, cannot send one. Nothing of ours ends over that, and workers
# send none at all.
# alone: workers of other tests have the same users
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
