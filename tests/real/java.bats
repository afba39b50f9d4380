#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Functions of Java, as JVMs are started: no switch, no map, no frame pointers. Jobs.java has two threads whose stacks
# are known; the compilers, garbage collectors and versions that run it are several.
# seconds: 150

load real

# Each function is a stack's frame: none becomes a part of another. Some are never compiled.
apart=(-XX:CompileCommand=quiet '-XX:CompileCommand=dontinline,Jobs*::*' '-XX:CompileCommand=exclude,Jobs::cold*')

# command_of RUNTIME: its command.
command_of() {
	local reason runtime=$1
	command=$("$repo/tests/runtimes/setup" "$runtime" 2>"$tmp/setup") || {
		reason=$(tail -n 1 "$tmp/setup")
		skip "$runtime: ${reason:-setup failed}"
	}
	mapfile -t command <<<"$command"
}

# start_jobs RUNTIME OPTION...: Jobs, warm.
start_jobs() {
	local command
	command_of "$1"
	shift
	"${command[@]:0:${#command[@]}-1}" "${command[-1]}" --jobs >"$tmp/jobs"
	start "${command[@]:0:${#command[@]}-1}" "$@" "${command[-1]}" 200
	wait_until 60 says ready "$out"
}

# judge [--inlined]: records them. Their stacks are those that they can have, of all jobs.
judge() {
	record_cpu "$seconds" "$pid" -F "$hz" -o "$tmp/f" --stats "$tmp/s"
	[ -z "${REAL_KEEP:-}" ] || cp "$tmp/f" "$REAL_KEEP/$BATS_TEST_NUMBER.folded"
	"$real/java_stacks" "$@" "$tmp/jobs" "$tmp/f" | tee "$tmp/judged" | tee -a "${REAL_LOG:-/dev/null}"
	jq -c '.user_stacks, .frames' "$tmp/s" | tee -a "${REAL_LOG:-/dev/null}"
	fits_cpu "$(jq .samples "$tmp/judged")" "$hz" samples
	between "$(jq .right_percent "$tmp/judged")" 99.5 100 'stacks that the program can have, %'
	[ "$(jq .jobs_seen "$tmp/judged")" -eq "$(cut -d ' ' -f 1 "$tmp/jobs" | sort -u | wc -l)" ]
	[ "${1:-}" = --inlined ] || between "$(jq .deepest_percent "$tmp/judged")" 95 100 'all frames of a recursion, %'
	described
	between "$(folded_share "$tmp/d" '\[(truncated|guessed)\]')" 0 1 'not complete, %'
	between "$(jq '.frames.unnamed.code // 0' "$tmp/s")" 0 0 'code without a name'
}

@test "each stack of OpenJDK 17 is what the program does" {
	start_jobs java-jobs "${apart[@]}"
	judge
	"$stoker" doctor "$pid" | grep 'HotSpot 17: its functions are walked and named'
}

@test "the same where functions become a part of others, as without any switch" {
	start_jobs java-jobs
	judge --inlined
}

@test "the same of interpreted code" {
	start_jobs java-jobs -Xint
	judge
}

@test "the same of the first compiler's code alone" {
	start_jobs java-jobs -XX:TieredStopAtLevel=1 "${apart[@]}"
	judge
}

@test "the same with other garbage collectors" {
	local collector
	for collector in Parallel Z; do
		start_jobs java-jobs "-XX:+Use${collector}GC" "${apart[@]}"
		judge
		kill -KILL "$pid"
	done
}

@test "the same of OpenJDK 21, with its virtual threads, in a container of a newer Debian" {
	start_jobs java-21 "${apart[@]}"
	judge
}

@test "the same of OpenJDK 11 and 8" {
	start_jobs java-11 "${apart[@]}"
	judge
	kill -KILL "$pid"
	start_jobs java-8 -Xint
	judge
}

@test "the same of OpenJDK 25" {
	start_jobs java-25 "${apart[@]}"
	judge
	kill -KILL "$pid"
	start_jobs java-25 -Xint
	judge
}

# printed THREAD: the functions of this thread, as the JVM prints them, from its first on.
printed() {
	"$jcmd" "$pid" Thread.print | awk -v thread="\"$1\"" '
		index($0, thread) == 1 { its = 1; next }
		its && /^$/ { exit }
		its && $1 == "at" { sub(/\(.*/, "", $2); sub(/[+\/]0x[0-9a-f]+/, "", $2)
			sub(/Lambda[$][0-9]+/, "Lambda", $2); print $2 }' | tac
}

@test "a thread that stays in one place has the stack that the JVM prints" {
	local way jobs
	jobs=$("$repo/tests/runtimes/setup" java-jobs | sed -n 3p)
	for way in -Xint -XX:TieredStopAtLevel=1; do
		start "$java" "$way" "${apart[@]}" -cp "$jobs" Jobs known 100
		wait_until 20 says ready "$out"
		record_cpu 1 "$pid" -F "$hz" -o "$tmp/f"
		printed known >"$tmp/printed"
		grep -c 'Jobs.recurse' "$tmp/printed" | grep -x 41
		grep '^known;' "$tmp/f" | awk '{ print $NF, $0 }' | sort -n | tail -n 1 | tr ';' '\n' | sed 's/ [0-9]*$//' |
			grep -E '^(java\.|Jobs)' >"$tmp/sampled"
		diff "$tmp/printed" "$tmp/sampled"
		kill -KILL "$pid"
	done
}

# witness RUNTIME OPTION...: records Witness, whose stacks are those that it says, with files and lines.
witness() {
	local command
	command_of "$1"
	shift
	start "${command[@]:0:${#command[@]}-1}" "$@" Witness 100
	wait_until 60 says ready "$out"
	record_cpu "$seconds" "$pid" -F "$hz" -f speedscope --inline -o "$tmp/f" --stats "$tmp/s"
	kill -KILL "$pid"
	"$real/java_witnessed" "$out" "$tmp/f" | tee "$tmp/judged" | tee -a "${REAL_LOG:-/dev/null}"
	jq -c '.java, .frames' "$tmp/s" | tee -a "${REAL_LOG:-/dev/null}"
	between "$(jq '100 * .judged / .samples' "$tmp/judged")" 60 100 'judged, %'
	between "$(jq .leaf_percent "$tmp/judged")" 95 100 'of the innermost method those at its line, %'
	between "$(jq .right_percent "$tmp/judged")" 99.5 100 'stacks that the program says, with file and line, %'
	between "$(jq .stacks_seen "$tmp/judged")" 40 1000 'stacks that were seen'
	between "$(jq '.java.refused + .java.failed' "$tmp/s")" 0 0 'codes that were not read'
}

@test "inlined methods, files and lines are those that the program says" {
	witness java-jobs
	jq -e '.frames.inlined > 100' "$tmp/s"
	witness java-jobs -XX:TieredStopAtLevel=1
	witness java-21
	witness java-25
	jq -e '.frames.inlined > 100' "$tmp/s"
}

@test "the same of interpreted code, and without --inline nothing is read" {
	witness java-jobs -Xint
	start_jobs java-jobs
	record_cpu 1 "$pid" -F "$hz" -o "$tmp/f" --stats "$tmp/s"
	jq -e '.java.read == 0 and .frames.inlined == 0' "$tmp/s"
}

@test "classes that are unloaded, and code that is freed, give no names to what takes their place" {
	local command runtime
	for runtime in java-jobs java-25; do
		command_of "$runtime"
		start "${command[@]:0:${#command[@]}-1}" -XX:+UseSerialGC -XX:ReservedCodeCacheSize=4m -Xmx64m Churn
		wait_until 60 says ready "$out"
		record_cpu 4 "$pid" -F "$hz" --inline -o "$tmp/f" --stats "$tmp/s"
		kill -KILL "$pid"
		"$real/churned" "$tmp/f" | tee "$tmp/judged" | tee -a "${REAL_LOG:-/dev/null}"
		between "$(jq .wrong "$tmp/judged")" 0 0 'samples with a name of another class'
		between "$(jq .classes "$tmp/judged")" 30 10000 'classes that were seen'
		between "$(jq .whole_percent "$tmp/judged")" 10 100 'all functions of a class, %'
	done
}
