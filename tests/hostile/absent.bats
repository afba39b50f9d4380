#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Threads that wait are visited, and their memory is read. Some have stacks on a file whose server does
# not answer, or on memory that nobody supplies; others' pages go and come. A visit waits for none of
# them, and reads nothing that is not theirs.
# ABSENT_VISITS: of pages that go and come, 2000 by default.
# seconds: 25

load ../e2e/lib

# visits N [VISITS_AGAIN]: all threads of the host, in $tmp/f, and lines in $tmp/visits.
visits() {
	local stoker=${targets%/targets}/tools/stoker-visits
	env VISITS="$1" ${2:+VISITS_AGAIN=1} timeout 120 "$stoker" record -a -d 2 --interval 1 --by comm \
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

# watch NAME: all of the host by both kinds, while BPF programs that sleep come and go and `ps` reads each
# process. Leaves $tmp/NAME.{json,cpu,wall}, and $had of $spin.
watch() {
	local began
	meter "$spin"
	start_record -a -F 99 -e cpu,wall=5 --by comm -o "$tmp/$1.stoker" --stats "$tmp/$1.json"
	timeout 100 "${targets%/targets}/tools/sleepable" 3 >"$tmp/turns" || {
		[ $? -eq 77 ] && echo 'no BPF programs that sleep here'
	}
	timeout 20 ps -eLo comm,args >"$tmp/ps"
	began=${EPOCHREALTIME/./}
	stop_record TERM
	ended=$(((${EPOCHREALTIME/./} - began) / 1000))
	"$stoker" convert "$tmp/$1.stoker" -f folded --by comm -o "$tmp/$1.cpu"
	"$stoker" convert "$tmp/$1.stoker" -e wall -f folded --by comm -o "$tmp/$1.wall"
	jq -c '.duration_s, .ticks, .wall' "$tmp/$1.json"
	echo "$1: $(cat "$tmp/turns"), ended in $ended ms"
}

# unseen_ms NAME: of the capture, in which no visit saw a thread that never wakes: from the latest one to
# the end.
unseen_ms() {
	jq --argjson us "$(folded_count "$tmp/$1.wall" "^sleep$$;.*;do_nothing;")" \
		'.duration_s * 1000 - $us / 1000 | round' "$tmp/$1.json"
}

@test "others are visited and sampled as they are without, programs that sleep come and go, and it ends in 2 s" {
	local unseen before longest spin
	need jq
	# By names of their own: others on this host may run the same.
	cp "$(target sleepers)" "$tmp/sleep$$"
	cp "$(target spin)" "$tmp/spin$$"
	start "$tmp/sleep$$" 600 1
	start "$tmp/spin$$" 600
	spin=$pid
	watch without
	before=$(unseen_ms without)
	longest=$(awk '{ print $4 }' "$tmp/turns")
	start_absent
	watch with
	[ "$ended" -le 2000 ]
	adds_up "$tmp/with.json"
	fits_cpu "$(folded_count "$tmp/with.cpu" "^spin$$;")" 99 spin
	[ "$(lost "$tmp/with.json")" -le $(($(lost "$tmp/without.json") + 5)) ]
	unseen=$(unseen_ms with)
	echo "others were not seen for $before ms without, for $unseen ms with"
	between "$unseen" -100 $((before + 1000)) unseen
	jq -e --slurpfile without "$tmp/without.json" \
		'.wall.hz >= $without[0].wall.hz / 2 and .wall.refused == 0' "$tmp/with.json"
	[ "$(grep -c absent "$tmp/ps")" -gt 50 ]
	# A loaded host may take long without, too.
	[ ! -s "$tmp/turns" ] || awk -v before="$longest" '{ exit !($4 <= 2000 + 2 * before) }' "$tmp/turns"
	[ "$(folded_count "$tmp/with.wall" '^absent-file;')" -gt 0 ]
	[ "$(folded_count "$tmp/with.wall" '^absent-(file|fault);.*absent_wait')" -eq 0 ]
}

@test "visits of pages that go and come read nothing that is another's" {
	local i visits=${ABSENT_VISITS:-2000}
	need jq
	for i in 1 2; do
		start "$(target absent)" 600 forge
	done
	start "$(target absent)" 600
	wait_until 10 is_ready
	read -r _ absent files faults swaps < <(grep '^ready' "$out")
	# Of this process alone, so that they are many.
	VISITS_AGAIN=1 VISITS=$((visits / 2)) timeout 500 "${targets%/targets}/tools/stoker-visits" record -p "$absent" \
		-d 2 --interval 1 --by comm -o "$tmp/f.%s" --stats "$tmp/s" 2>"$tmp/visits"
	cat "$tmp"/f.* >"$tmp/f"
	[ "$(grep -c '^visit' "$tmp/visits")" -ge "$visits" ]
	awk '{ print $NF, $0 }' "$tmp/f" | sort -rn | cut -d ' ' -f 2- | cut -c 1-300 | head -20
	[ "$(folded_count "$tmp/f" forged_here)" -eq 0 ]
	# Where its pages are, the stack is the whole one, and nothing else is ever there.
	[ "$(folded_count "$tmp/f" '^absent-safe;.*absent_thread;absent_wait;')" -gt $((visits * 9 / 10)) ]
	[ "$(folded_count "$tmp/f" '^absent-swap;.*absent_thread;absent_wait;')" -gt $((visits / 10)) ]
	[ "$(folded_count "$tmp/f" '^absent-swap;')" -eq \
		"$(folded_count "$tmp/f" '^absent-swap;(.*absent_thread;absent_wait;syscall|[^;]*\[truncated\]|.*absent_wait;syscall)')" ]
}

# waited CONTAINER: seconds, of all its threads together.
waited() {
	awk -v of="$1" -F ';' '$1 == of { n = $0; sub(/.* /, "", n); sum += n } END { printf "%.0f\n", sum / 1e6 }' "$tmp/f"
}

@test "threads that are long to walk take no visit's time from other containers" {
	local attacker victim seconds
	make_container
	attacker=$container
	# First, as visits begin with the lowest numbers.
	start_in "$cgroup" "$(target deepsleep)" 100 900 480
	wait_until 10 is_ready
	make_container
	victim=$container
	start_in "$cgroup" "$(target sleepers)" 100 100
	wait_until 10 is_ready
	"$stoker" record -q -a -e wall=10 -d 6 --by container,comm -o "$tmp/f" --stats "$tmp/s"
	seconds=$(jq .duration_s "$tmp/s")
	jq -c .wall "$tmp/s"
	echo "attacker: $(waited "$attacker") s, victim: $(waited "$victim") s in $seconds s"
	jq -e '.wall.unwalked > 0 and .wall.lost_ns > 0' "$tmp/s"
	between "$(waited "$victim")" "$(awk -v s="$seconds" 'BEGIN { printf "%.0f", 90 * s }')" \
		"$(awk -v s="$seconds" 'BEGIN { printf "%.0f", 102 * s + 1 }')" 's of waiting of the victim'
}
