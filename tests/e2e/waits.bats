#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What threads do: running, waiting for a CPU, blocked. By the counters of the kernel, held against a trace
# of the scheduler, and in `stoker ps` and /metrics.
# alone: where another BPF program runs at the moment of a switch, bpftrace does not see the switch
# seconds: 38

load lib
load http

start_waits() {
	head -c 64M /dev/zero >"$tmp/file"
	start "$(target waits)" "$@" "$tmp/file"
	waits=$pid own=$out
	wait_until 10 says '^pid' "$own"
}

@test "each thread's running, runnable and blocked time is within 1 % of a trace of the scheduler" {
	need bpftrace
	need unshare
	start_waits 120
	# shellcheck disable=SC2016
	start unshare -m sh -c '[ -e /sys/kernel/tracing/events ] || mount -t tracefs trace /sys/kernel/tracing; exec "$@"' - \
		bpftrace "$BATS_TEST_DIRNAME/waits.bt" "$waits"
	wait_until 30 says ready "$out"
	trace=$pid
	"$repo/.build/tests/tools/thread_times" "$waits" 5 >"$tmp/times"
	kill -INT "$trace"
	wait "$trace" || true
	"$BATS_TEST_DIRNAME/waits_truth" "$tmp/times" "$own" "$out"
}

# A cgroup whose burner, pair and sleeper are known; without a container its row is named after its path.
@test "ps and /metrics say what the threads of a cgroup do" {
	local row
	make_cgroup waits
	start_waits 120
	echo "$waits" >"$cgroup/cgroup.procs"
	"$stoker" ps -d 3 --json >"$tmp/ps"
	jq -e --argjson pid "$waits" '.processes[] | select(.pid == $pid)' "$tmp/ps"
	# Ten threads: three never block, one does nothing else.
	jq -e --argjson pid "$waits" '.duration_s as $s | .processes[] | select(.pid == $pid)
		| .comm == "waits" and .threads == 10 and .blocked_s > 2 * $s and .blocked_s < 7.2 * $s
			and .running_s > 0 and .runnable_s > 0
			and (.running_s + .runnable_s + .blocked_s + .other_s - 10 * $s | fabs) < 2 * $s' "$tmp/ps"
	jq -e '[.rows[] | .threads] | add > 10' "$tmp/ps"
	serve
	wait_until 40 has_rows
	row="container=\"[^\"]*${cgroup##*/}\""
	grep -E "^stoker_container_blocked_seconds_total\{$row" "$tmp/metrics"
	grep -E "^stoker_container_threads\{$row.*\} 10$" "$tmp/metrics"
	awk -v row="$row" '$1 ~ "^stoker_container_(cpu|runnable|blocked)_seconds_total" && $1 ~ row && $2 > 0 { n++ }
		END { exit n != 3 }' "$tmp/metrics"
}

has_rows() {
	asked /metrics >"$tmp/metrics" && grep -q "^stoker_container_threads.*${cgroup##*/}" "$tmp/metrics"
}

# throttled: what cpu.stat says, s
throttled() {
	awk '$1 == "throttled_time" { print $2 / 1e9 } $1 == "throttled_usec" { print $2 / 1e6 }' "$cpu_cgroup/cpu.stat"
}

# near_share FIGURE TRUTH WHAT: within 5 per cent of it
near_share() {
	echo "$3: $1, cpu.stat $2"
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(b > 0 && a >= 0.95 * b && a <= 1.05 * b) }'
}

# throttled_while COMMAND...: $rate is the share of the time, by cpu.stat.
throttled_while() {
	local from until began
	read -r from _ </proc/uptime
	began=$(throttled)
	"$@"
	read -r until _ </proc/uptime
	rate=$(awk -v a="$began" -v b="$(throttled)" -v s="$from" -v e="$until" 'BEGIN { print (b - a) / (e - s) }')
}

@test "a thread that a quota holds back is throttled, for the time that cpu.stat says" {
	local rate one
	[ -e /sys/fs/cgroup/cpu/cpu.shares ] || make_cgroup quota
	set_quota "stoker-e2e-$$-quota" 20000 || skip 'no quota of CPU time can be set here'
	start nice -n -20 "$(target spin)" 120
	one=$pid
	echo "$pid" >"$cpu_cgroup/cgroup.procs"
	wait_until 5 is_throttled
	throttled_while "$stoker" ps -d 6 --json >"$tmp/ps"
	near_share "$(jq --argjson pid "$one" '.duration_s as $s | .processes[] | select(.pid == $pid) | .throttled_s / $s' "$tmp/ps")" \
		"$rate" 'of its quota'
	# It may wait for others, too.
	jq -e --argjson pid "$one" '.processes[] | select(.pid == $pid) | .runnable_s >= 0.95 * .throttled_s' "$tmp/ps"
	start_record -p "$pid" -e wall=100 -d 6 --by comm -o "$tmp/f" --stats "$tmp/s"
	throttled_while wait "$recorder"
	near_share "$(awk -v s="$(jq .duration_s "$tmp/s")" '/\[throttled\] / { sum += $NF } END { print sum / s / 1e6 }' "$tmp/f")" \
		"$rate" '[throttled]'
	"$stoker" ps -d 1 | grep 'THROTTLED%'
}

is_throttled() {
	awk -v s="$(throttled)" 'BEGIN { exit !(s > 0.2) }'
}
