#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Deep stacks, and the time that a tick may take.
# seconds: 35

load lib

slow=100000 # microseconds: no limit for these stacks, also in an emulator

# descends N: so many frames. awk may not know {N}.
descends() {
	local all
	printf -v all '%*s' "$1" ''
	echo "${all// /descend;}"
}

# start_small NAME [ARG...]: start_busy without an environment, which is on the stack above main.
start_small() {
	start env -i "$(target "$1")" "${@:2}"
	wait_until 10 has_run "$pid"
}

# left_out LEAVES ROOTS: the pattern of a stack of `descend` with so many frames on either side.
left_out() {
	echo "^[^;]+;_start;.*;main;$(descends "$2")\\[frames left out\\];$(descends "$1")deep_leaf(;|\$)"
}

# roots: frames of a stack from _start to main, of $tmp/f.
roots() {
	sed -n 's/^[^;]*;\(.*;main;\)descend;.*/\1/p' "$tmp/f" | head -n 1 | tr -cd ';' | wc -c
}

# whole_share: per cent of the stacks that begin at the process's entry.
whole_share() {
	jq '100 * .user_stacks.complete / .user_stacks.total' "$tmp/s"
}

@test "of a stack of 570 frames none is left out" {
	start_busy deep_nofp 60 560
	record_cpu 1 "$pid" -F 199 --tick-limit $slow -o "$tmp/f" --stats "$tmp/s"
	need_tables "$tmp/s"
	between "$(folded_share "$tmp/f" ";main;$(descends 560)deep_leaf(;|\$)")" 90 100 whole
	between "$(whole_share)" 99.5 100 complete
}

@test "stacks of 600 and 1900 frames are whole, but for a mark in place of the middle" {
	local depth
	for depth in 600 1900; do
		start_busy deep_nofp 60 "$depth"
		record_cpu 1 "$pid" -F 199 --tick-limit $slow -o "$tmp/f" --stats "$tmp/s"
		need_tables "$tmp/s"
		between "$(folded_share "$tmp/f" "$(left_out 511 $((64 - $(roots))))")" 90 100 "$depth"
		between "$(whole_share)" 99.5 100 "$depth complete"
		between "$(folded_count "$tmp/f")" "$(stat_of "$tmp/s" .ticks.samples)" \
			"$(stat_of "$tmp/s" .ticks.samples)" 'samples in the profile'
	done
}

@test "each format has the mark, and folded text gives it back" {
	local format
	start_busy deep_nofp 120 600
	for format in speedscope firefox svg perf pprof html; do
		record_cpu 0.5 "$pid" -F 199 --tick-limit $slow -f "$format" -o "$tmp/$format"
	done
	gunzip <"$tmp/pprof" >"$tmp/pprof.raw" 2>/dev/null || cp "$tmp/pprof" "$tmp/pprof.raw"
	sed -n 's|^<script type="[^"]*" id="data">\(.*\)</script>$|\1|p' "$tmp/html" | base64 -d |
		gunzip >"$tmp/html.raw"
	for format in speedscope firefox svg perf pprof.raw html.raw; do
		grep -qa 'frames left out' "$tmp/$format" || {
			echo "$format has no mark"
			return 1
		}
	done
	record_cpu 0.5 "$pid" -F 199 --tick-limit $slow -o "$tmp/f"
	"$stoker" convert "$tmp/f" -f folded -o "$tmp/again"
	[ "$(folded_count "$tmp/f" 'frames left out')" -gt 0 ]
	[ "$(folded_count "$tmp/again" 'frames left out')" -eq "$(folded_count "$tmp/f" 'frames left out')" ]
}

@test "a recursion too deep for a walk is cut with a mark, its leaf kept" {
	start_busy deep_nofp 60 20000
	record_cpu 1 "$pid" -F 199 --tick-limit $slow -o "$tmp/f" --stats "$tmp/s"
	need_tables "$tmp/s"
	between "$(folded_share "$tmp/f" "^[^;]+;\\[truncated\\];$(descends 511)(descend|deep_leaf)")" 75 100 cut
	between "$(stat_of "$tmp/s" '100 * .user_stacks.truncated.depth / .user_stacks.total')" 75 100 depth
	[ "$(stat_of "$tmp/s" '.user_stacks.truncated | keys | join(",")')" = depth ]
}

@test "where a tick takes too long, a stack that fits is walked by user space, and another is cut" {
	start_small deep_nofp 60 100
	record_cpu 1 "$pid" -F 199 --tick-limit 1 -o "$tmp/f" --stats "$tmp/s"
	need_tables "$tmp/s"
	between "$(folded_share "$tmp/f" ";main;$(descends 100)deep_leaf(;|\$)")" 97 100 whole
	between "$(stat_of "$tmp/s" '100 * .tables.stacks_deferred / .user_stacks.total')" 95 100 deferred
	start_busy deep_nofp 60 20000
	record_cpu 1 "$pid" -F 199 --tick-limit 1 -o "$tmp/f" --stats "$tmp/s"
	between "$(stat_of "$tmp/s" '100 * (.user_stacks.truncated.time // 0) / .user_stacks.total')" 75 100 cut
	between "$(folded_share "$tmp/f" "^[^;]+;\\[truncated\\];$(descends 10)(descend|deep_leaf)")" 75 100 leaf
}

@test "a walk that user space finishes above the 512 frames gives the stack that BPF gives" {
	local limit low=1 high=$slow deferred=0 enough tries=0
	start_small deep_nofp 300 900
	# The first samples are deferred for want of a table.
	record_cpu 1 "$pid" --user -F 499 --tick-limit $slow -o "$tmp/f" --stats "$tmp/s"
	enough=$((2 * $(stat_of "$tmp/s" .tables.stacks_deferred) + 100))
	# The rest of the stack has at most 16 KiB in its upper part (64 with a long limit): where walks end is
	# the machine's, and is searched for.
	until [ "$deferred" -ge "$enough" ] || [ $((tries += 1)) -gt 25 ]; do
		limit=$(awk "BEGIN { print int(sqrt($low * $high)) }")
		record_cpu 1 "$pid" --user -F 499 --tick-limit "$limit" -o "$tmp/f" --stats "$tmp/s"
		need_tables "$tmp/s"
		jq -c "[$limit, .user_stacks, .tables.stacks_deferred]" "$tmp/s"
		deferred=$(stat_of "$tmp/s" .tables.stacks_deferred)
		if stat_of "$tmp/s" '2 * (.user_stacks.truncated.time // 0) > .user_stacks.total'; then
			low=$limit
		else
			high=$limit
		fi
		# Another load than before: the search begins anew.
		[ $((high - low)) -gt 2 ] || low=1 high=$slow
	done
	[ "$deferred" -ge "$enough" ]
	# The copy for a table has 64 KiB of a longer stack; the copy for the time has all the rest.
	stat_of "$tmp/s" '2 * (.user_stacks.truncated | del(.time) | add // 0) < .tables.stacks_deferred'
	# comm, 64 frames, the mark, 512 frames
	awk '/frames left out/ {
		n = split($0, frame, ";")
		marked++
		wrong += n != 578 || frame[66] != "[frames left out]" || frame[2] != "_start"
	} END { print marked " marked, " wrong + 0 " wrong"; exit !(marked > 0 && wrong == 0) }' "$tmp/f"
}

@test "a recursion through a thousand functions is cut in time, and no caller is a wrong one" {
	start_busy thousand 60
	record_cpu 2 "$pid" -F 997 -o "$tmp/f" --stats "$tmp/s"
	need_tables "$tmp/s"
	jq -c '.user_stacks, .tick_time, .ticks' "$tmp/s"
	# Each function's caller has 389 times the next depth: 389 * N - 389 * (N + 1) modulo 1000.
	awk '{
		n = split($1, frame, ";")
		for (i = 2; i < n; i++)
			if (frame[i] ~ /^step_/ && frame[i + 1] ~ /^step_/) {
				pairs++
				wrong += (substr(frame[i], 6) - substr(frame[i + 1], 6) + 1000) % 1000 != 389
			}
	} END { print pairs " pairs, " wrong + 0 " wrong"; exit !(pairs > 10000 && wrong == 0) }' "$tmp/f"
	stat_of "$tmp/s" '.user_stacks.truncated | (.depth // 0) + (.time // 0) > 100'
}

@test "the account's times are those that the kernel measures" {
	local saved ns
	saved=$(cat /proc/sys/kernel/bpf_stats_enabled) || skip 'no kernel.bpf_stats_enabled'
	start_busy deep_nofp 60 1900
	echo 1 >/proc/sys/kernel/bpf_stats_enabled || skip 'kernel.bpf_stats_enabled cannot be set'
	record_cpu 2 "$pid" -F 199 --tick-limit $slow -o "$tmp/f" --stats "$tmp/s" || true
	echo "$saved" >/proc/sys/kernel/bpf_stats_enabled
	need_tables "$tmp/s"
	jq -c '.bpf, .ticks, .tick_time' "$tmp/s"
	# Ticks of others take so little that the mean of the samples is known.
	ns=$(stat_of "$tmp/s" '(.bpf.ns_total - 1000 * (.bpf.runs - .ticks.samples)) / .ticks.samples')
	between "$(stat_of "$tmp/s" .tick_time.whole.p999_us)" "$(awk "BEGIN { print 0.8 * $ns / 1000 }")" 1000000 'p999'
	stat_of "$tmp/s" '.tick_time | .whole.longest_us >= .user.longest_us and .whole.longest_us >= .kernel.longest_us and
		([.whole, .user, .kernel] | all(.p999_us <= .longest_us)) and
		.whole.longest_us <= .user.longest_us + .kernel.longest_us + 1'
	stat_of "$tmp/s" ".tick_time.whole.longest_us * .ticks.samples * 1000 >= .bpf.ns_total - 1000 * (.bpf.runs - .ticks.samples) - .ticks.samples * 1000"
}
