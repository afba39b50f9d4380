#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Threads that wait are visited, and their memory is read. Some have stacks on a file whose server does
# not answer, or on memory that nobody supplies; others' pages go and come. A visit waits for none of
# them, and reads nothing that is not theirs.
# seconds: 60

load ../e2e/lib

# visits N [VISITS_AGAIN]: all threads of the host, in $tmp/f, and lines in $tmp/visits.
visits() {
	local stoker=${targets%/targets}/tools/stoker-visits
	env VISITS="$1" ${2:+VISITS_AGAIN=1} timeout 120 "$stoker" record -a -d 4 --interval 2 --by comm \
		-o "$tmp/f.%s" --stats "$tmp/s" 2>"$tmp/visits"
	cat "$tmp"/f.* >"$tmp/f"
	rm "$tmp"/f.*
}

# median: of the passes' times a thread, in ns.
median() {
	awk '$1 == "visit" && $6 > 0 { print int($2 / $6) }' "$tmp/visits" | sort -n |
		awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

longest() {
	awk '$1 == "visit" && $2 > most { most = $2 } END { print int(most / 1000000) }' "$tmp/visits"
}

falls_silent() {
	kill -USR1 "$server"
	says silent "$out"
}

is_ready() {
	grep -q '^ready' "$out"
}

# start_absent: its file's server does not answer from then on. $absent: its pid.
start_absent() {
	mkdir -p "$tmp/fuse/lower" "$tmp/fuse/empty" "$tmp/fuse/merged"
	start unshare --mount "$(target hung)" "$tmp/fuse" "$(target absent)" 600 file
	server=$pid
	wait_until 10 is_ready || skip "no such file system here: $(tail -n 1 "$out")"
	read -r _ absent files faults swaps < <(grep '^ready' "$out")
	wait_until 5 falls_silent
	echo "threads on a file: $files, on a userfaultfd: $faults, swapped: $swaps"
	[ "$files" -eq 50 ]
	[ "$swaps" -eq 8 ]
}

@test "stacks that are not there cost a visit no more than others, and hold nobody up" {
	local before after most
	visits 50 again
	before=$(median)
	start_absent
	[ "$faults" -eq 50 ] || echo 'no userfaultfd here'
	visits 50 again
	after=$(median)
	most=$(longest)
	echo "a thread took $before ns before, $after with them; the longest pass took $most ms"
	[ "$after" -le $((before * 3 / 2 + 2000)) ]
	[ "$most" -le 500 ]
	timeout 20 ps -eLo comm,args >"$tmp/ps"
	[ "$(grep -c absent "$tmp/ps")" -gt 50 ]
	# Each is seen, with its kernel half; no frame of their stacks is.
	[ "$(folded_count "$tmp/f" '^absent-file;.*_\[k\]')" -gt 0 ]
	[ "$(folded_count "$tmp/f" '^absent-file;.*absent_wait')" -eq 0 ]
	[ "$(folded_count "$tmp/f" '^absent-(file|fault);')" -eq \
		"$(folded_count "$tmp/f" '^absent-(file|fault);.*\[truncated\]')" ]
}

@test "10,000 visits of pages that go and come read nothing that is another's" {
	local i
	need jq
	for i in 1 2; do
		start "$(target absent)" 600 forge
	done
	start "$(target absent)" 600
	wait_until 10 is_ready
	read -r _ absent files faults swaps < <(grep '^ready' "$out")
	# Of this process alone, so that they are many.
	VISITS_AGAIN=1 VISITS=5000 timeout 300 "${targets%/targets}/tools/stoker-visits" record -p "$absent" \
		-d 2 --interval 1 --by comm -o "$tmp/f.%s" --stats "$tmp/s" 2>"$tmp/visits"
	cat "$tmp"/f.* >"$tmp/f"
	[ "$(grep -c '^visit' "$tmp/visits")" -ge 10000 ]
	awk '{ print $NF, $0 }' "$tmp/f" | sort -rn | cut -d ' ' -f 2- | cut -c 1-300 | head -20
	[ "$(folded_count "$tmp/f" forged_here)" -eq 0 ]
	# Where its pages are, the stack is the whole one, and nothing else is ever there.
	[ "$(folded_count "$tmp/f" '^absent-safe;.*absent_thread;absent_wait;')" -gt 9000 ]
	[ "$(folded_count "$tmp/f" '^absent-swap;.*absent_thread;absent_wait;')" -gt 1000 ]
	[ "$(folded_count "$tmp/f" '^absent-swap;')" -eq \
		"$(folded_count "$tmp/f" '^absent-swap;(.*absent_thread;absent_wait;syscall|[^;]*\[truncated\]|.*absent_wait;syscall)')" ]
}
