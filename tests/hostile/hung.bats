#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A process runs a file of a file system whose server does not answer, as any user can have one by a
# user namespace: an overlay over FUSE. Or its perf map would be there, or its debug files. A call on
# such a file never returns, and SIGKILL does not end it. Sampling, the stacks of others, intervals and
# the end must not wait for it.
# seconds: 25

load ../e2e/lib

falls_silent() {
	kill -USR1 "$server"
	says silent "$out"
}

# hang NUMBER MODE FILE [OPTION...]: what run_there starts falls silent.
hang() {
	run_there "$@"
	wait_until 5 falls_silent
}

# run_there NUMBER MODE FILE [OPTION...]: sets $victim to a process of an unshare(1) with these options,
# which runs. MODE: as tests/targets/hung.c has it.
run_there() {
	local dir=$tmp/hung$1 mode=$2 file=$3
	shift 3
	mkdir -p "$dir/lower" "$dir/empty" "$dir/merged"
	start unshare "$@" --mount "$(target hung)" "$dir" "$file" 600 "$mode"
	server=$pid
	wait_until 5 has_child_or_failed
	has_child "$server" || skip "no such file system here: $(tail -n 1 "$out")"
	victim=$(children_of "$server" | tr -d ' ')
	wait_until 10 is_gone_or_has_run "$victim" 2
	has_run "$victim" || skip "no such file system here: $(tail -n 1 "$out")"
}

has_child_or_failed() {
	has_child "$server" || is_gone "$server"
}

# goes_on: an honest process is sampled whole, with its names, in intervals of two seconds; SIGTERM
# ends it all.
goes_on() {
	local status=0 began ended files most name=honest$$ # nobody else's
	ln -sf "$(target deep_nofp)" "$tmp/$name"
	start "$tmp/$name" 600
	wait_until 10 has_run "$pid"
	honest=$pid
	began=$SECONDS
	start_record -a --by comm -F 199 --interval 2 -o "$tmp/part.%s" --stats "$tmp/s"
	meter "$honest"
	meter_from_here
	runs_on "$honest" 150
	ended=$SECONDS
	stop_record TERM || status=$?
	most=$(patience 2)
	echo "status $status, $((SECONDS - ended)) s to end"
	[ "$((SECONDS - ended))" -le $((most + 1)) ]
	[ "$status" -eq 0 ]
	files=$(find "$tmp" -name 'part.*' -size +0 | wc -l)
	echo "$files intervals in $((ended - began)) s"
	[ "$files" -ge $(((ended - began - 3) / 2)) ]
	cat "$tmp"/part.* >"$tmp/f"
	jq -c '.ticks, .user_stacks, .objects' "$tmp/s"
	fits_cpu "$(folded_count "$tmp/f" "^$name;")" 199 'the honest process'
	[ "$(folded_count "$tmp/f" "^$name;.*main;")" -ge $(($(folded_count "$tmp/f" "^$name;") * 99 / 100)) ]
	echo "given up: $(jq .objects.openers_given_up "$tmp/s")"
}

@test "a mapped file whose file system does not answer costs nobody else anything" {
	need jq unshare
	hang 1 file "$(target spin)"
	goes_on
	[ "$(jq .objects.failed.hung "$tmp/s")" -ge 1 ]
	[ "$(jq .objects.openers_given_up "$tmp/s")" -eq 1 ]
	says 'the file system of device [0-9]*:[0-9]* did not answer when .* was opened' "$out"
}

@test "nor one on an overlay over such a file system, in a user namespace" {
	need jq unshare
	hang 1 overlay "$(target spin)" --user --map-root-user
	goes_on
	[ "$(jq .objects.failed.hung "$tmp/s")" -ge 1 ]
}

@test "nor many: they have one opener stuck at a time" {
	local i
	need jq unshare
	for i in 1 2 3; do
		hang "$i" file "$(target spin)"
	done
	goes_on
	# After a while they are forgotten, and refused again when they are met.
	[ "$(jq '.objects.failed.hung + .objects.forgotten' "$tmp/s")" -ge 3 ]
	[ "$(jq .objects.openers_given_up "$tmp/s")" -eq 1 ]
}

# They are of one account, whatever its cgroups are.
@test "nor many of a container with cgroups of its own" {
	local i scope
	need jq unshare
	make_cgroup many
	scope=$cgroup/docker-$(printf '%064x' "$$").scope
	mkdir "$scope" "$scope"/{1,2,3}
	cgroups=("$scope"/{1,2,3} "$scope" "${cgroups[@]}")
	for i in 1 2 3; do
		run_there "$i" file "$(target spin)"
		echo "$victim" >"$scope/$i/cgroup.procs"
		wait_until 5 falls_silent
	done
	goes_on
	[ "$(jq '.objects.failed.hung + .objects.forgotten' "$tmp/s")" -ge 3 ]
	[ "$(jq .objects.openers_given_up "$tmp/s")" -eq 1 ]
}

@test "nor a perf map, nor debug files" {
	need jq unshare objcopy
	[ -d /usr/lib/debug ] || skip 'no /usr/lib/debug to mount over'
	objcopy --strip-all "$(target spin)" "$tmp/stripped"
	hang 1 map "$(target jitmap)"
	hang 2 debug "$tmp/stripped"
	goes_on
	[ "$(jq .objects.maps_refused.hung "$tmp/s")" -ge 1 ]
	[ "$(jq .debug_files.unread.hung "$tmp/s")" -ge 1 ]
	between "$(jq .objects.openers_given_up "$tmp/s")" 1 2 'openers given up'
}

@test "nor does it hold up ps, which looks for perf maps, too" {
	local scope i
	need jq unshare
	make_cgroup ps
	scope=$cgroup/docker-$(printf '%064x' "$$").scope
	mkdir "$scope"
	cgroups=("$scope" "${cgroups[@]}")
	mkdir "$tmp/as"
	cp "$(target jitmap)" "$tmp/as/node"
	for i in 1 2 3; do
		run_there "$i" map "$tmp/as/node"
		echo "$victim" >"$scope/cgroup.procs"
		wait_until 5 falls_silent
	done
	timeout -k 5 60 "$stoker" ps -d 0.2 --json >"$tmp/ps"
	jq -e --arg id "$(printf '%064x' "$$")" '.rows[] | select(.id == $id)
		| .runtime == "Node" and .runtime_processes == 3 and .with_maps == 0' "$tmp/ps"
}

# A container inside a container is not searched among the host's: the parent of its first process leads
# to its bundle.
@test "nor a container's bundle, where its shim says that it is" {
	local id scope
	need jq unshare nsenter
	id=$(printf '%064x' "$$")
	make_cgroup shim
	scope=$cgroup/docker-$id.scope
	mkdir "$scope"
	cgroups=("$scope" "${cgroups[@]}")
	hang 1 map "$(target spin)"
	ln -s lower "$tmp/hung1/$id"
	# shellcheck disable=SC2016 # for the inner shell
	start nsenter --target "$server" --mount bash -c 'cd "$1" && printf containerd-shim >/proc/$$/comm
		"$2" 600 & echo $! >"$3/cgroup.procs" && echo ready; wait' bash "$tmp/hung1/empty" "$(target spin)" "$scope"
	wait_until 10 says ready "$out"
	started+=("$(cat "$scope/cgroup.procs")") # it would outlive its shell
	goes_on
	jq -c .containers "$tmp/s"
	[ "$(jq .containers.files.unread.hung "$tmp/s")" -ge 1 ]
}

@test "files of such a file system have names while it answers, also below an overlay" {
	need jq unshare
	for mode in file overlay; do
		run_there "$mode" "$mode" "$(target spin)"
		record_cpu 1 "$victim" --by comm -F 499 -o "$tmp/f" --stats "$tmp/s"
		kill -KILL "$server"
		jq -c '.objects' "$tmp/s"
		between "$(folded_share "$tmp/f" "$(chain 'main;spin_here')")" 95 100 "named, $mode"
		[ "$(jq .objects.openers_given_up "$tmp/s")" -eq 0 ]
	done
}
