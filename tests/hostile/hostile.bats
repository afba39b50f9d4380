#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Thousands of files that were made to hurt whoever reads them, run by busy processes with perf maps
# and jitdumps of the same kind, in one capture: it ends as any other, what could not be read is
# counted, and the honest processes beside them lose nothing.
# seconds: 35

load ../e2e/lib

files=${HOSTILE_FILES:-3000} # the campaign: 10,000
processes=10

# In one container, with honest ones beside them: hostile NUMBER, then the honest. $pid is its shell.
start_all() {
	local hostile deep burn
	hostile=$(target hostile) deep=$(target deep_nofp) burn=$(target burn7030_nofp)
	# shellcheck disable=SC2016 # for the inner shell
	start_in_container sh -c '
		each=$(($2 / $3)) i=0
		while [ $i -lt $3 ]; do
			"$4" 120 "$1" $((i * each)) $((i * each + each - 1)) $i &
			i=$((i + 1))
		done
		for i in 1 2 3; do "$5" 120 & "$6" 120 & done
		wait' sh "$tmp/files" "$files" "$processes" "$hostile" "$deep" "$burn"
}

all_ready() {
	[ "$(grep -c '^ready' "$out")" -eq "$processes" ]
}

# whole NAME: per cent of a command's stacks that reach the root.
whole() {
	awk -v name="$1" '$0 ~ "(^|;)" name ";" { all += $NF; if (!/\[truncated\]/) whole += $NF }
		END { printf "%.2f\n", all ? 100 * whole / all : 0; print name, all, whole >"/dev/stderr" }' "$tmp/f"
}

@test "one capture over thousands of hostile files ends as any other, and honest stacks stay whole" {
	local one shell honest status=0 whole=99.5 named=99 seed=$RANDOM
	need "$python" jq
	# With sanitizers tables are made so slowly that more samples wait for one than there is room for.
	! has_sanitizer || whole=90 named=90
	mkdir "$tmp/files"
	echo "tests/hostile/make FOLDER $files $seed"
	"$repo/tests/hostile/make" "$tmp/files" "$files" "$seed" >"$tmp/made"
	cat "$tmp/made"
	start_all
	shell=$pid
	wait_until 30 all_ready
	# shellcheck disable=SC2046 # a list
	meter $(pgrep -P "$shell")
	start_record -a -F 499 --inline --interval 5 -o "$tmp/part.%s" --stats "$tmp/s"
	honest=$(pgrep -P "$shell" -x -o deep_nofp)
	runs_on "$honest" 60
	kill_workers 3
	wait_until 10 have_workers
	runs_on "$honest" 30
	stop_record || status=$?
	cat "$tmp"/part.* >"$tmp/f"
	jq -c '.ticks, .user_stacks, .frames, .objects, .tables, .worker, .agent' "$tmp/s"
	grep 'a worker process' "$out" || true # what was wrong with its reply
	[ "$status" -eq 0 ]
	folded_is_valid "$tmp/f"
	# They did what they are for.
	[ "$(jq '.objects.met' "$tmp/s")" -gt $((files * 2 / 5)) ]
	[ "$(jq '.objects.failed.not_elf + .objects.failed.damaged' "$tmp/s")" -gt $((files / 10)) ]
	fits_cpu "$(folded_count "$tmp/f" '(^|;)(hostile|deep_nofp|burn7030_nofp);')" 499 'samples of all'
	[ "$(folded_count "$tmp/f" '(^|;)hostile;')" -gt 0 ]
	for one in deep_nofp burn7030_nofp; do
		between "$(whole $one)" $whole 100 "whole stacks of $one, %"
		grep -E "(^|;)$one;" "$tmp/f" >"$tmp/of.$one"
		between "$(folded_share "$tmp/of.$one" '(^|;)main(_\[i\])?;')" $named 100 "named stacks of $one, %"
	done
	memory_within "$(stat_of "$tmp/s" .agent.rss_max_kb)" 49152 'the agent'
	memory_within "$(stat_of "$tmp/s" .worker.rss_max_kb)" 524288 'the workers'
	# As many as were killed: none of these files costs a worker its life.
	between "$(jq '.worker.lost | add' "$tmp/s")" "$killed" "$killed" 'lost workers'
	[ -z "$(pgrep -f "^$stoker record .*$tmp/part")" ]
}
