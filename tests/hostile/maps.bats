#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Files that are made to spoil the tables of others: their stacks stay whole, and the kernel's maps of
# unwind tables stay consistent. `REWRITES=1000` for longer.
# seconds: 25
# alone: the recorder has room for 1,044 files of the whole host, and other tests map more

load ../e2e/lib

rewrites=${REWRITES:-100}
# So that pages are evicted all the time.
small=(--memory 16)

# is_whole_now NAME: in the last interval that is written.
is_whole_now() {
	local file
	file=$(find "$tmp" -name 'part.*' -size +0 | sort | tail -n 1)
	[ -n "$file" ] && awk -v name="$1" '
		index($0, name ";") == 1 { all += $NF; if (!/\[truncated\]/) whole += $NF }
		END { exit !(all > 20 && whole * 100 >= all * 99) }' "$file"
}

# watch_maps: of the recorder, until it ends.
watch_maps() {
	start "${targets%/targets}/tools/maps_of" "$agent" 600
	watcher=$pid maps=$out
}

# rewrite TIMES KIND MS: returns when it is done.
rewrite() {
	timeout 600 "$(target rewritten)" "$tmp/file" "$@" >"$tmp/rewritten.out"
	grep -q done "$tmp/rewritten.out"
}

end_record() {
	local status=0
	kill -INT "$recorder"
	wait "$recorder" || status=$?
	jq -c '.ticks, .user_stacks, .objects, .tables, .agent' "$tmp/s"
	[ "$status" -eq 0 ]
	wait "$watcher" || status=$?
	cat "$maps"
	[ "$status" -eq 0 ]
	[ "$(jq .looks "$maps")" -gt 10 ]
}

# crowd: maps so many files for a while that those which nobody uses are forgotten. There is room for
# 1,044, as a file takes two descriptors.
few_files=2600
crowd() {
	mkdir -p "$tmp/crowd"
	start_busy manyfiles "$tmp/crowd" 1100 600
	wait_until 30 says ready "$out"
	runs_on "$pid" 300
	kill -KILL "$pid"
}

@test "a file of 8 KB with functions 4 GiB apart takes no table from others, however often it comes" {
	ulimit -n "$few_files"
	start_busy deep_nofp 600
	start_record -a -F 199 --by comm "${small[@]}" --interval 2 -o "$tmp/part.%s" --stats "$tmp/s"
	watch_maps
	rewrite 1 sparse 50
	crowd
	rewrite "$rewrites" sparse 5
	# What comes after it has its table too, if not at once: there are too many files for a while.
	start_busy burn7030_nofp 600
	wait_until 60 is_whole_now burn7030_nofp
	end_record
	cat "$tmp"/part.* >"$tmp/f"
	[ "$(jq .objects.forgotten "$tmp/s")" -gt 0 ]
	between "$(whole deep_nofp)" 99 100
	[ "$(jq .waited_ms "$maps")" -le 5000 ]
}

@test "a file that is rewritten in place while its pages come and go leaves the maps consistent" {
	start_busy deep_nofp 600
	start_record -a -F 1999 --by comm "${small[@]}" -o "$tmp/f" --stats "$tmp/s"
	watch_maps
	rewrite "$rewrites" dense 20
	end_record
	[ "$(jq .tables.pages_evicted "$tmp/s")" -gt 0 ]
	# There is not enough room for all.
	between "$(whole deep_nofp)" 80 100
	# No table is pending for longer, however loaded the machine.
	[ "$(jq .waited_ms "$maps")" -le 5000 ]
}

@test "a file that was met when there were too many is walked when they are gone" {
	local crowd
	ulimit -n "$few_files"
	mkdir "$tmp/crowd"
	start_busy manyfiles "$tmp/crowd" 1100 600
	crowd=$pid
	wait_until 30 says ready "$out"
	start_record -a -F 199 --by comm "${small[@]}" --interval 2 -o "$tmp/part.%s" --stats "$tmp/s"
	runs_on "$crowd" 200
	cp "$(target deep_nofp)" "$tmp/late"
	start "$tmp/late" 600
	runs_on "$pid" 100
	kill -KILL "$crowd"
	wait_until 60 is_whole_now late
	kill -INT "$recorder"
	wait "$recorder"
	jq -c .objects "$tmp/s"
}
