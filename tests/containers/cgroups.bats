#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Cgroups as such: v1, namespaces, many that come and go, and what their names and files may hold.
# seconds: 35

load lib

v1_root() {
	local dir
	for dir in "$@"; do
		[ "$(stat -f -c %T "/sys/fs/cgroup/$dir" 2>/dev/null)" = cgroupfs ] || skip "no v1 hierarchy $dir"
	done
}

# Our own 64 digits, to be taken for an id.
some_id() {
	printf '%s' "$$-$1" | sha256sum | cut -d ' ' -f 1
}

# make_v1 PATH HIERARCHY...: folders, removed in the end; the process goes there by itself.
make_v1() {
	local path=$1 one
	shift
	for one; do
		mkdir -p "/sys/fs/cgroup/$one$path"
		cgroups+=("/sys/fs/cgroup/$one$path")
	done
}

# in_v1 PATH HIERARCHIES COMMAND...: started there.
in_v1() {
	local path=$1 hierarchies=$2
	shift 2
	# shellcheck disable=SC2016 # for the inner shell
	start sh -c 'for h in $1; do echo $$ >/sys/fs/cgroup/$h$2/cgroup.procs; done; shift 2; exec "$@"' \
		sh "$hierarchies" "$path" "$@"
	wait_until 5 has_run "$pid"
}

@test "a process in v1 hierarchies only has its container there" {
	local id contained
	v1_root pids cpu
	id=$(some_id v1)
	mkdir -p /sys/fs/cgroup/{pids,cpu}/docker
	make_v1 "/docker/$id" pids cpu
	in_v1 "/docker/$id" 'pids cpu' "$(target spin)" 60
	contained=$pid
	record_while 0.5 "$contained" -a --by container,pid,comm -F 499 -o "$tmp/f"
	all_under "${id:0:12}" "$pid" "$tmp/f"
	start_busy spin 60
	record_while 1 "$contained" --container "${id:0:20}" --by container -F 199 -o "$tmp/g" --stats "$tmp/s"
	jq -c .ticks "$tmp/s"
	fits_cpu "$(folded_count "$tmp/g" "^${id:0:12};")" 199 'samples of the container'
	[ "$(folded_count "$tmp/g" "^${id:0:12};")" -eq "$(folded_count "$tmp/g")" ]
	rmdir /sys/fs/cgroup/{pids,cpu}/docker 2>/dev/null || true
}

@test "a v1 cgroup that is made while sampling has its container, and one below it too" {
	local id
	v1_root memory
	id=$(some_id late)
	start_record -a --by container,comm -F 499 -d 60 -o "$tmp/f"
	mkdir -p "/sys/fs/cgroup/memory/lxc"
	make_v1 "/lxc/late-$$" memory
	make_v1 "/lxc/late-$$/below" memory
	cgroups=("/sys/fs/cgroup/memory/lxc/late-$$/below" "/sys/fs/cgroup/memory/lxc/late-$$")
	in_v1 "/lxc/late-$$/below" memory "$(target shortlived)" 500
	wait "$pid"
	kill -INT "$recorder"
	wait "$recorder"
	hottest "$tmp/f"
	had=50 had_most=50 # 500 ms
	fits_cpu "$(folded_count "$tmp/f" "^late-$$;shortlived;")" 499 'samples of the container'
	rmdir /sys/fs/cgroup/memory/lxc 2>/dev/null || true
}

@test "cgroup and user namespaces change no name" {
	local id
	id=$(some_id ns)
	make_cgroup "docker-$id.scope"
	# shellcheck disable=SC2016 # for the inner shell
	start sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec unshare -C -U -r "$@"' sh "$cgroup" "$(target spin)" 60
	wait_until 5 has_run "$pid"
	[ "$(readlink "/proc/$pid/ns/cgroup")" != "$(readlink /proc/self/ns/cgroup)" ]
	record -a --by container,pid,unit -F 199 -d 1 -o "$tmp/f"
	hottest "$tmp/f"
	all_under "stoker-e2e-$$-docker-$id.scope" "$pid" "$tmp/f"
}

@test "a cgroup that is renamed has its new name" {
	v1_root pids
	make_v1 "/lxc-$$" pids
	start_record -a --by container,comm -F 199 -d 60 -o "$tmp/f"
	in_v1 "/lxc-$$" pids "$(target spin)" 60
	mv "/sys/fs/cgroup/pids/lxc-$$" "/sys/fs/cgroup/pids/renamed-$$"
	cgroups=("/sys/fs/cgroup/pids/renamed-$$")
	from_birth "$pid"
	runs_on "$pid" 40
	stop_record
	grep spin "$tmp/f"
	fits_cpu "$(folded_count "$tmp/f" "^/renamed-$$;spin;")" 199 'samples under the new name'
	[ "$(folded_count "$tmp/f" "^/lxc-$$;")" -eq 0 ]
}

# churn ROOT FIRST LAST COMMAND...: as many cgroups, each with two short processes, which COMMAND starts.
# Each tenth runs a program with a name of its own for long enough to be sampled. One program does it all:
# a shell would take most of the time for itself.
churn() {
	"${@:4}" "$python" - "${@:1:3}" "$tmp/bin" "$(target shortlived)" <<-'PYTHON'
		import os, sys
		root, first, last, folder, target = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]
		for i in range(first, last):
		    cgroup = f"{root}/docker-{i:012x}{0:052x}.scope"
		    program, budget = f"{folder}/plain", "1"
		    if i % 10 == 0:
		        program, budget = f"{folder}/m{i}", "12"
		        os.symlink(target, program)
		    os.mkdir(cgroup)
		    child = os.fork()
		    if child == 0:
		        with open(f"{cgroup}/cgroup.procs", "w") as procs:
		            procs.write("0")
		        os.fork() # nobody waits for the second one
		        os.execl(program, program, budget)
		    os.waitpid(child, 0)
		    while os.path.exists(cgroup):
		        try:
		            os.rmdir(cgroup)
		        except OSError:
		            os.sched_yield()
	PYTHON
}

# Each marked program under the name of its own cgroup: FILE.
marked_are_right() {
	awk -F ';' '$2 ~ /^m[0-9]+$/ {
		n = $NF; sub(/.* /, "", n)
		all += n; seen[$2] = 1
		if ($1 != sprintf("%012x", substr($2, 2))) { wrong += n; print "under " $1 ": " $2 }
	} END {
		for (one in seen) programs++
		print all + 0 " samples of " programs + 0 " marked programs, " wrong + 0 " under another name"
		exit !(all >= 200 && programs >= 95 && wrong == 0)
	}' "$1"
}

# have_intervals NUMBER: of the recorder of all.
have_intervals() {
	[ "$(find "$tmp" -name 'f-*' | wc -l)" -ge "$1" ]
}

@test "1000 cgroups and 2000 processes come and go: nothing is lost, memory is flat, names are right" {
	local before after alone
	make_cgroup churn
	mkdir "$tmp/bin"
	ln -s "$(target shortlived)" "$tmp/bin/plain"
	# Beside it one of these cgroups alone, in a PID namespace that they are in: all files that programs of
	# the host begin with take memory, whatever the target is.
	unshare --pid --fork --mount-proc true || skip 'no PID namespace of our own here'
	start unshare --pid --fork --kill-child --mount-proc "$stoker" record --cgroup "$cgroup" \
		--by container,comm -F 99 --interval 1 -o "$tmp/alone-%s" --stats "$tmp/alone"
	wait_until 10 says 'sampling at' "$out"
	alone=$(children_of "$pid" | tr -d ' ')
	start_record -a --by container,comm -F 999 --interval 1 -o "$tmp/f-%s" --stats "$tmp/s"
	churn "$cgroup" 0 400 nsenter --pid --target "$alone"
	before=$(awk '/^RssAnon/ { print $2 }' "/proc/$alone/status")
	churn "$cgroup" 400 1000 nsenter --pid --target "$alone"
	after=$(awk '/^RssAnon/ { print $2 }' "/proc/$alone/status")
	# Those of the last intervals are known for some more.
	wait_until 20 have_intervals $(($(find "$tmp" -name 'f-*' | wc -l) + 4))
	kill -INT "$recorder" "$alone"
	wait "$recorder"
	jq -c '.ticks, .containers' "$tmp/s"
	wait_until 10 test -s "$tmp/alone"
	jq -c '.ticks.samples, .objects.known, .tables.stacks_deferred' "$tmp/alone"
	cat "$tmp"/f-* >"$tmp/all"
	jq -e '.containers | .made >= 1000 and .removed >= 1000 and .refused == 0 and .cgroups < 700' "$tmp/s"
	[ "$(lost "$tmp/s")" -eq 0 ]
	echo "memory: $before kB, then $after kB"
	# A sanitizer keeps what was freed for a while.
	has_sanitizer || between "$after" 0 $((before + before / 5)) 'kB at the end'
	[ "$(stat_of "$tmp/alone" .ticks.samples)" -gt 100 ]
	marked_are_right "$tmp/all"
	grep '^\[unknown\];' "$tmp/all" | head -n 5 || true
	[ "$(folded_count "$tmp/all" '^\[unknown\];')" -eq 0 ]
}

# An API of Docker's that knows one container, and never answers about another: SOCKET ID ID.
serve_api() {
	cat >"$tmp/api.py" <<'PYTHON'
import http.server, json, os, socketserver, sys, threading

class Api(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        open(sys.argv[1] + ".asked", "a").write(self.path + "\n")
        known = self.path == f"/containers/{sys.argv[2]}/json"
        if self.path == f"/containers/{sys.argv[3]}/json":
            threading.Event().wait()
        body = json.dumps({"Id": sys.argv[2], "Name": "/asked;for", "Config": {"Image": "img:1"}}).encode()
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def address_string(self):
        return "local"

class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

Server(sys.argv[1], Api).serve_forever()
PYTHON
	start "$python" "$tmp/api.py" "$@"
	wait_until 10 test -S "$1"
}

# busy_in CGROUP: a busy process in a new cgroup of this name; $root is where.
busy_in() {
	mkdir "$root/$1"
	cgroups+=("$root/$1")
	# shellcheck disable=SC2016 # for the inner shell
	start sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$root/$1" "$(target spin)" 60
	wait_until 5 has_run "$pid"
}

@test "a name that no file has comes from the runtime's socket; one that does not answer holds up nothing" {
	local root known silent
	need "$python"
	root=$(cgroup2_root) || skip 'no cgroup v2 hierarchy is mounted'
	known=$(some_id known) silent=$(some_id silent)
	serve_api "$tmp/api.sock" "$known" "$silent"
	busy_in "docker-$known.scope"
	record_while 1 "$pid" -a --by container,image,comm --runtime-socket "$tmp/api.sock" -F 199 -o "$tmp/f"
	cat "$tmp/api.sock.asked"
	fits_cpu "$(folded_count "$tmp/f" '^asked:for;img:1;spin;')" 199 'samples of the named container'
	[ "$(folded_count "$tmp/f" "^${known:0:12};")" -eq 0 ]
	busy_in "docker-$silent.scope"
	local began=$SECONDS
	record_while 1 "$pid" -a --by container,comm --runtime-socket "$tmp/api.sock" -F 199 -o "$tmp/f"
	[ $((SECONDS - began)) -lt "$(patience 12)" ]
	fits_cpu "$(folded_count "$tmp/f" "^${silent:0:12};spin;")" 199 'samples of the nameless container'
	exits 1 record -a --runtime-socket "$tmp/none.sock" -d 1 -o "$tmp/f"
	said_clearly none.sock
}

bundles=/run/containerd/io.containerd.runtime.v2.task

# with_state ID: a containerd bundle's file, from stdin, in a namespace of our own.
with_state() {
	mkdir -p "$bundles/stoker-$$/$1"
	cat >"$bundles/stoker-$$/$1/config.json"
}

named() {
	printf '{"ociVersion":"1.0.2","annotations":{"nerdctl/name":"%s"}}' "$1"
}

@test "damaged, huge and hostile files of runtimes: counted, and no line is broken" {
	local i root ids=() pids=()
	root=$(cgroup2_root) || skip 'no cgroup v2 hierarchy is mounted'
	for i in 0 1 2 3 4 5 6 7; do
		ids[i]=$(some_id "hostile$i")
		mkdir "$root/cri-containerd-${ids[i]}.scope"
		cgroups+=("$root/cri-containerd-${ids[i]}.scope")
	done
	named 'a;b' | with_state "${ids[0]}"
	named 'line\nbreak\u001b[31mred' | with_state "${ids[1]}"
	named $'\xff\xfe' | with_state "${ids[2]}"
	"$python" -c 'print("[" * 400000)' | with_state "${ids[3]}"
	named cut | head -c 50 | with_state "${ids[4]}"
	named big | with_state "${ids[5]}"
	truncate -s 1G "$bundles/stoker-$$/${ids[5]}/config.json"
	mkdir -p "$bundles/stoker-$$/${ids[6]}"
	mkfifo "$bundles/stoker-$$/${ids[6]}/config.json"
	named theirs | with_state "${ids[7]}"
	chown 65534 "$bundles/stoker-$$/${ids[7]}/config.json"
	for i in 0 1 2 3 4 5 6 7; do
		cgroup=$root/cri-containerd-${ids[i]}.scope
		# shellcheck disable=SC2016 # for the inner shell
		start sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$cgroup" "$(target spin)" 60
		pids[i]=$pid
	done
	for i in "${pids[@]}"; do wait_until 10 has_run "$i"; done
	record_while 4 "$(IFS=,; echo "${pids[*]}")" -a --by container,comm -F 499 -o "$tmp/f" --stats "$tmp/s"
	rm -rf "$bundles/stoker-$$"
	jq -c '.containers, .worker, .agent' "$tmp/s"
	cut -d ';' -f 1,2 "$tmp/f" | sort | uniq -c | sort -rn | head -n 12
	folded_is_valid "$tmp/f"
	ids[0]=a:b ids[1]='line\?break\?\[31mred'
	for i in 0 1 2 3 4 5 6 7; do
		[ "$i" -lt 2 ] || ids[i]=${ids[i]:0:12}
		had_by "${pids[i]}"
		fits_cpu "$(folded_count "$tmp/f" "^${ids[i]};spin;")" 499 "samples under ${ids[i]}" 60 150
	done
	jq -e '.containers.files | .damaged > 2 and .unread.too_large > 0 and .unread.not_regular > 0 and .unread.owner > 0' "$tmp/s"
	jq -e '.worker.restarts == 0' "$tmp/s"
	between "$(stat_of "$tmp/s" .worker.rss_max_kb)" 1000 400000 'memory of the workers, kB'
}

# With a delegated cgroup a user can name others below it as he likes.
@test "a user's cgroup with the id of root's container does not take its name" {
	local root id at
	root=$(cgroup2_root) || skip 'no cgroup v2 hierarchy is mounted'
	id=$(some_id payroll)
	named payroll | with_state "$id"
	at=$root/user.slice/user-65534.slice/user@65534.service
	cgroup=$at/cri-containerd-$id.scope
	mkdir -p "$cgroup"
	cgroups+=("$cgroup" "$at" "${at%/*}")
	# shellcheck disable=SC2016 # for the inner shell
	start sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$cgroup" "$(target spin)" 60
	wait_until 10 has_run "$pid"
	record_while 1 "$pid" -a --by container,comm -F 199 -o "$tmp/f" --stats "$tmp/s"
	rm -rf "$bundles/stoker-$$"
	fits_cpu "$(folded_count "$tmp/f" "^user@65534.service/${id:0:12};spin;")" 199 'samples under its id'
	jq -e '.containers.files.unread.owner > 0' "$tmp/s"
}
