#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What can be sampled: processes, threads, cgroups, commands, and what there is when one is not there.
# seconds: 25

load lib

@test "-p takes several processes and leaves the others out" {
	start_busy spin 30
	local one=$pid
	start_busy burn7030 30
	local two=$pid
	start_busy deep 30
	record_cpu 2 "$one,$two" -F 199 -o "$tmp/f"
	hottest "$tmp/f"
	between "$(folded_share "$tmp/f" "$(chain main)")" 97 100 named
	had_by "$one"
	fits_cpu "$(folded_count "$tmp/f" "$(chain spin_here)")" 199 'samples of the first'
	had_by "$two"
	fits_cpu "$(folded_count "$tmp/f" "$(chain parent)")" 199 'samples of the second'
	between "$(folded_count "$tmp/f" "$(chain descend)")" 0 0 'samples of a third'
}

@test "-t takes one thread of many" {
	local tid
	start_busy burn7030 30 2
	tid=$(find "/proc/$pid/task" -maxdepth 1 -name '[0-9]*' -printf '%f\n' | grep -v "^$pid$" | tail -n 1)
	record_while 1 "$pid/task/$tid" -t "$tid" --by tid -F 499 -o "$tmp/f"
	hottest "$tmp/f"
	between "$(cut -d ';' -f 1 "$tmp/f" | sort -u | wc -l)" 1 1 threads
	between "$(folded_share "$tmp/f" "^[^;]*${tid}[^;]*;.*;thread_main;parent;")" 97 100 'share of the thread'
	fits_cpu "$(folded_count "$tmp/f")" 499 'samples of the thread'
}

# in_cgroup COMMAND...: started in $cgroup from its first instruction.
in_cgroup() {
	# shellcheck disable=SC2016 # for the inner shell
	start sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$cgroup" "$@"
	wait_until 5 has_run "$pid"
}

@test "--cgroup takes a cgroup by its path and by its number, and nothing outside it" {
	local way
	make_cgroup one
	in_cgroup "$(target spin)" 60
	local contained=$pid
	start_busy burn7030 60
	for way in "$cgroup" "$(stat -c %i "$cgroup")" "/${cgroup##*/}"; do
		record_while 1 "$contained" --cgroup "$way" -F 199 -o "$tmp/f" --stats "$tmp/s"
		echo "--cgroup $way"
		hottest "$tmp/f"
		jq -c .ticks "$tmp/s"
		between "$(folded_share "$tmp/f" "$(chain 'main;spin_here')")" 97 100 'share of what is inside'
		fits_cpu "$(folded_count "$tmp/f")" 199 samples
	done
}

@test "--cgroup takes the cgroups below with it" {
	make_cgroup above
	mkdir "$cgroup/below"
	cgroups=("$cgroup/below" "${cgroups[@]}")
	local above=$cgroup
	cgroup=$above/below
	in_cgroup "$(target spin)" 60
	record_while 1 "$pid" --cgroup "$above" -F 199 -o "$tmp/f"
	hottest "$tmp/f"
	fits_cpu "$(folded_count "$tmp/f" "$(chain 'main;spin_here')")" 199 samples
}

@test "a cgroup that is not there is said" {
	exits 3 record --cgroup 99999999 -d 1 -o "$tmp/f"
	exits 3 record --cgroup /no/such/group -d 1 -o "$tmp/f"
	said_clearly /no/such/group
}

@test "a command is sampled from start to end" {
	local began=$SECONDS lasts
	lasts=2
	with_had record -F 499 -o "$tmp/f" --stats "$tmp/s" -- "$(target burn7030)" "$lasts"
	[ $((SECONDS - began)) -lt "$(patience $((lasts + 6)))" ]
	hottest "$tmp/f"
	fits_cpu "$(folded_count "$tmp/f" "$(chain 'main;parent')")" 499 'samples, without the time of stoker itself' 5 110
	between "$(stat_of "$tmp/s" .duration_s)" "$lasts" "$(patience $((lasts + 2)))" duration
}

@test "the children of a command are sampled too" {
	local each
	each=1
	with_had record -F 499 -o "$tmp/f" -- sh -c '"$1" "$3"; "$2" "$3"' sh "$(target spin)" "$(target burn7030)" "$each"
	hottest "$tmp/f"
	fits_cpu "$(folded_count "$tmp/f" "$(chain 'main;(spin_here|parent)')")" 499 'samples of both' 5 110
	[ "$(folded_count "$tmp/f" "$(chain 'main;spin_here')")" -gt 0 ]
	[ "$(folded_count "$tmp/f" "$(chain 'main;parent')")" -gt 0 ]
}

@test "a command that cannot be run is said" {
	exits 127 record -o "$tmp/f" -- /no/such/program
	said_clearly /no/such/program
}

@test "a command that outlasts the duration is ended, at once or by force" {
	# shellcheck disable=SC2016
	local command='echo $$ >"$0"; exec "$@"'
	local words=("$tmp/pid" "$(target spin)" 60)
	exits 0 "$stoker" record -d 0.3 -o "$tmp/f" -- sh -c "$command" "${words[@]}"
	grep -q 'sent SIGTERM to it' "$tmp/said"
	is_gone "$(<"$tmp/pid")"
	start_record -d 0.3 -o "$tmp/f" -- sh -c "trap '' TERM; $command" "${words[@]}"
	wait_until 10 says 'waiting for sh' "$out"
	stop_record
	grep -q 'sh did not end at SIGTERM: killed it' "$out"
	is_gone "$(<"$tmp/pid")"
}

@test "when every process asked for has ended the recording ends" {
	start_busy spin 60
	local last=$pid
	meter "$last"
	start_record -p "$last" -F 199 -d 300 -o "$tmp/f"
	runs_on "$last" 50
	read_meter
	kill -KILL "$last"
	wait_until 20 is_gone "$recorder"
	wait "$recorder"
	fits_cpu "$(folded_count "$tmp/f")" 199 samples
}

@test "a process that is not there is said" {
	start true
	wait_until 5 is_gone "$pid"
	wait "$pid" || true
	exits 1 record -p "$pid" -d 1 -o "$tmp/f"
	said_clearly "$pid"
}

@test "a process that ends by force in mid-capture is no trouble" {
	start_busy spin 30
	local victim=$pid
	meter "$victim"
	start_record -a -F 199 -d 60 --by pid,comm -o "$tmp/f"
	runs_on "$victim" 100
	read_meter
	kill -KILL "$victim"
	wait_until 5 is_gone "$victim"
	kill -INT "$recorder"
	wait "$recorder"
	fits_cpu "$(folded_count "$tmp/f" "^$victim;spin;")" 199 samples
}

@test "in a PID namespace the whole host is not sampled, and that is said" {
	unshare --pid --fork --mount-proc true 2>/dev/null || skip 'no namespaces of our own here'
	start_busy spin 60
	exits 0 unshare --pid --fork --mount-proc "$stoker" record -a -F 99 -d 1 -o "$tmp/f"
	says 'only the processes of this PID namespace are sampled' "$tmp/said"
	between "$(folded_count "$tmp/f" 'spin_here')" 0 0 'samples of others'
	exits 0 record -a -F 99 -d 1 -o "$tmp/f"
	! says 'PID namespace' "$tmp/said"
}

# meets_few OPTION...: none of the files of those who are not sampled, which run before and begin meanwhile.
meets_few() {
	local i new
	start_record "$@" -F 199 -o "$tmp/f" --stats "$tmp/s"
	for i in 1 2 3; do
		new=$tmp/begins$i$1
		cp "$(target burn7030)" "$new"
		start "$new" 60
		wait_until 10 has_run "$pid"
	done
	stop_record
	jq -c .objects "$tmp/s"
	# The program, two libraries and the vDSO; three have begun.
	between "$(jq .objects.met "$tmp/s")" 1 5 'files met'
}

@test "files of processes that are not sampled are not met" {
	start_busy manyfiles "$tmp" 100 600
	make_cgroup one
	in_cgroup "$(target spin)" 60
	local contained=$pid
	meets_few -p "$contained"
	meets_few --cgroup "$cgroup"
	record -F 199 -o "$tmp/f" --stats "$tmp/s" -- "$(target spin)" 1
	between "$(jq .objects.met "$tmp/s")" 1 20 'files met'
	record -F 199 -d 1 -a -o "$tmp/f" --stats "$tmp/s"
	between "$(jq .objects.met "$tmp/s")" 100 100000 'files met of the whole host'
}

# begins TIMES PROGRAM: in $cgroup. $took: the agent's CPU time meanwhile, in microseconds.
begins() {
	local before after rest
	read -r before rest <"/proc/$agent/schedstat"
	# shellcheck disable=SC2016 # for the inner shell
	sh -c 'echo 0 >"$1/cgroup.procs"; i=0; while [ $i -lt "$2" ]; do "$3" 0; i=$((i + 1)); done' sh "$cgroup" "$@"
	read -r after rest <"/proc/$agent/schedstat"
	took=$(((after - before) / 1000))
}

@test "a program of an overlay that is known is not looked at again when it begins" {
	local plain
	mkdir "$tmp"/{below,empty,merged}
	mount -t overlay -o "lowerdir=$tmp/below:$tmp/empty" none "$tmp/merged" || skip 'no overlay can be mounted'
	mounts+=("$tmp/merged")
	cp "$(target shortlived)" "$tmp/below/known"
	cp "$(target shortlived)" "$tmp/plain"
	make_cgroup one
	start_record --cgroup "$cgroup" -F 199 -o "$tmp/f" --stats "$tmp/s"
	in_cgroup "$tmp/merged/known" 500
	in_cgroup "$tmp/plain" 500
	begins 1000 "$tmp/plain"
	plain=$took
	begins 1000 "$tmp/merged/known"
	echo "agent's CPU time: $plain us for the one, $took for the other"
	stop_record
	[ "$(folded_count "$tmp/f" '^known;.*brief_work')" -gt 20 ]
	[ "$took" -lt $((2 * plain + 50000)) ]
}
