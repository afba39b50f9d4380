#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Frames of Python, between those of its interpreter, as programs are started: no switch, no map.
# seconds: 75

load real

# judge VERSION [OPTION]: records the running frames.py. Its stacks are those that it can have, of all its jobs.
judge() {
	local version=$1
	shift
	record_cpu "$seconds" "$pid" -F "$hz" -o "$tmp/f" --stats "$tmp/s"
	"$real/python_stacks" "$@" "$real/frames.py" "$tmp/f" | tee "$tmp/judged" | tee -a "${REAL_LOG:-/dev/null}"
	jq -c '.user_stacks, .frames' "$tmp/s"
	fits_cpu "$(jq .samples "$tmp/judged")" "$hz" samples
	between "$(jq .right_percent "$tmp/judged")" 99.5 100 'stacks that the program can have, %'
	[ "$(jq .jobs_seen "$tmp/judged")" -eq "$("$python" "$real/frames.py" --jobs | cut -d ' ' -f 1 | uniq | wc -l)" ]
	between "$(jq '100 * .user_stacks.complete / .user_stacks.total' "$tmp/s")" 99 100 'complete, %'
	"$stoker" doctor "$pid" | grep "CPython $version: its functions are walked and named"
	between "$(jq '.frames.unnamed.code // 0' "$tmp/s")" 0 0 'code without a name'
}

@test "each stack of Debian 12's Python 3.11 is what the program does" {
	need "$python"
	start "$python" "$real/frames.py" 100
	wait_until 10 says ready "$out"
	judge 3.11
}

@test "the same of 3.9, whose functions have no class, in a container of an older Debian" {
	start_runtime python-3.9 100
	judge 3.9 --unqualified
}

@test "the same of 3.13, which describes itself, in a container of a newer one" {
	start_runtime python-3.13 100
	judge 3.13
}

@test "the same of 3.14, whose frames hold references with a tag" {
	start_runtime python-3.14 100
	judge 3.14
}

# witnessed STACKS: records the running witness.py. Its stacks are those that it says, so many at least.
witnessed() {
	record_cpu "$seconds" "$pid" -F "$hz" -f speedscope --inline -o "$tmp/f" --stats "$tmp/s"
	"$real/witnessed" "$out" "$tmp/f" | tee "$tmp/judged" | tee -a "${REAL_LOG:-/dev/null}"
	fits_cpu "$(jq .samples "$tmp/judged")" "$hz" samples
	between "$(jq '100 * .judged / .samples' "$tmp/judged")" 25 100 'judged, %'
	between "$(jq .right_percent "$tmp/judged")" 99.5 100 'stacks that the program says, with file and line, %'
	between "$(jq .stacks_seen "$tmp/judged")" "$1" 1000 'stacks that were seen'
	between "$(jq '100 * .user_stacks.complete / .user_stacks.total' "$tmp/s")" 99 100 'complete, %'
}

@test "what 3.11 says of itself: callbacks, generators, tasks, made code, any script" {
	need "$python"
	start "$python" "$real/witness.py" 100
	wait_until 10 says ready "$out"
	witnessed 60
}

@test "what 3.9 says of itself" {
	start_runtime python-3.9 100 market
	witnessed 60
}

@test "what 3.13 says of itself" {
	start_runtime python-3.13 100 market
	witnessed 60
}

@test "what 3.14 says of itself" {
	start_runtime python-3.14 100 market
	witnessed 60
}
