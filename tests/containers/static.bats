#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# `make static`: one file that does its work in a root that holds it and nothing else, and says of
# what it lacks that it does.
# seconds: 20

load lib

remove=("podman_runc rm -f -t 0 side-$$" "podman_runc rm -f -t 0 app-$$")

# Of the objects that are there, so that it takes a second. No file with sanitizers is static: then it
# is made of the usual build's.
setup_file() {
	local build=${targets%/tests/targets} plain=()
	! has_sanitizer || build=$repo/.build plain=('CFLAGS=-O2 -g')
	make -C "$repo" -s CI=1 BUILD="$build" "${plain[@]}" "$build/static/stoker" 3>&-
	export STATIC=$build/static/stoker
}

# Where $root is, with the mounts that $with names: proc, sys, cgroup.
eval "end_to_end_$(declare -f setup)"
setup() {
	end_to_end_setup
	root=$tmp/root with='proc sys cgroup'
	mkdir -p "$root/proc" "$root/sys"
	cp "$STATIC" "$root/stoker"
	cat >"$tmp/enter" <<-'SH'
		root=$1 with=$2
		shift 2
		case $with in *proc*) mount -t proc proc "$root/proc" || exit ;; esac
		case $with in *sys*) mount -t sysfs sysfs "$root/sys" || exit ;; esac
		case $with in *cgroup*) mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup" || exit ;; esac
		exec chroot "$root" /stoker "$@"
	SH
}

# alone COMMAND...: in that root.
alone() {
	timeout -k 5 "$(patience 120)" "${beside[@]}" unshare --mount --propagation private \
		sh "$tmp/enter" "$root" "$with" "$@" </dev/null 3>&-
}

# start_alone COMMAND...: the same in the background; $pid is the program itself.
start_alone() {
	start unshare --mount --propagation private sh "$tmp/enter" "$root" "$with" "$@"
}

# refuses STATUS TEXT COMMAND...: with one line, which has the text.
refuses() {
	local status=$1 text=$2
	shift 2
	exits "$status" alone "$@"
	[ "$(wc -l <"$tmp/said")" -eq 1 ]
	said_clearly "$text"
}

# whole FOLDED STATS REGEX HZ: the stacks are complete, named as that, and as many as $had makes them.
whole() {
	hottest "$1"
	fits_cpu "$(folded_count "$1")" "$4" samples 5
	between "$(folded_share "$1" "$3")" 99 100 'named as expected, %'
	jq -c '[.user_stacks, .frames]' "$2"
	jq -e '.user_stacks.complete >= .user_stacks.total * 0.99' "$2"
}

@test "it is one position-independent file that asks for no loader and no library" {
	readelf -hW "$STATIC" >"$tmp/head"
	grep 'Type: *DYN' "$tmp/head"
	readelf -lW "$STATIC" >"$tmp/segments"
	grep -q LOAD "$tmp/segments"
	! grep INTERP "$tmp/segments" || false
	readelf -dW "$STATIC" >"$tmp/dynamic"
	grep 'FLAGS_1.*PIE' "$tmp/dynamic"
	! grep NEEDED "$tmp/dynamic" || false
}

@test "in an empty root beside a container's process 1 it has whole stacks with names" {
	start_in_container "$(target deep_nofp)" 200
	wait_until 10 has_run "$pid"
	beside=(nsenter --target "$pid" --mount --pid --)
	meter "$pid"
	exits 0 alone record -q -p 1 --by pid,comm -F 499 -d 2 --stats /stats >"$tmp/f"
	read_meter
	[ ! -s "$tmp/said" ]
	whole "$tmp/f" "$root/stats" "^1;deep_nofp;${entry}main;descend;descend;descend" 499
	# Not even a mount for cgroups; that costs labels, and is said.
	with='proc sys'
	meter "$pid"
	exits 0 alone record -q -p 1 --by comm -F 499 -d 1 --stats /stats >"$tmp/f"
	read_meter
	said_clearly 'no cgroup hierarchy is mounted'
	whole "$tmp/f" "$root/stats" "^deep_nofp;${entry}main;descend;descend;descend" 499
}

@test "a container from an image that is the file alone has whole stacks of another container" {
	need_podman runc
	make_rootfs "$tmp/app" deep_nofp
	podman_runc run -d "${podman_options[@]}" --name "app-$$" --rootfs "$tmp/app" /bin/deep_nofp 200 >/dev/null
	mkdir "$tmp/side"
	cp "$STATIC" "$tmp/side/stoker"
	meter "$(podman_runc inspect -f '{{.State.Pid}}' "app-$$")"
	podman_runc run --rm "${podman_options[@]}" --name "side-$$" "--pid=container:app-$$" \
		--security-opt seccomp=unconfined --cap-drop=all \
		--cap-add=BPF,PERFMON,SYS_PTRACE,DAC_READ_SEARCH,SYSLOG,CHECKPOINT_RESTORE \
		--rootfs "$tmp/side" /stoker record -q -p 1 --by comm -F 499 -d 2 --stats /stats \
		>"$tmp/f" </dev/null
	read_meter
	whole "$tmp/f" "$tmp/side/stats" "^deep_nofp;${entry}main;descend;descend;descend" 499
}

other_workers() {
	have_workers && [ "$(workers)" != "$1" ]
}

@test "a worker that is killed is replaced out of the file itself" {
	local before
	start_busy spin 100
	local busy=$pid
	meter "$busy"
	start_alone record -p "$busy" -F 199 -o /f --stats /stats
	pid_records 20
	meter_from_here
	wait_until 5 have_workers
	before=$(workers)
	kill -KILL "$(head -n 1 <<<"$before")"
	runs_on "$busy" 100
	wait_until 20 other_workers "$before"
	read_meter
	kill -INT "$recorder"
	wait "$recorder"
	read_meter most
	cat "$out"
	whole "$root/f" "$root/stats" ";${entry}main;spin_here" 199
}

@test "convert, diff and report print what the dynamic program prints" {
	local format
	start_busy spin 100
	alone record -q -p "$pid" -F 499 -d 1 -o /f.linux-perf.txt.zst
	# Of a picture the colours are another run's, so its frames are compared.
	for format in folded perf perfview pprof speedscope firefox html svg; do
		alone convert /f.linux-perf.txt.zst -q -f "$format" -o /converted
		"$stoker" convert "$root/f.linux-perf.txt.zst" -q -f "$format" -o "$tmp/converted"
		[ -s "$root/converted" ]
		[ "$format" != svg ] || sed -i 's/ fill="rgb[^"]*"//' "$root/converted" "$tmp/converted"
		cmp "$root/converted" "$tmp/converted" || {
			echo "not the same: $format"
			return 1
		}
	done
	alone convert /f.linux-perf.txt.zst -q -f folded -o /f.folded
	alone diff -q /f.folded /f.linux-perf.txt.zst >"$tmp/d"
	"$stoker" diff -q "$root/f.folded" "$root/f.linux-perf.txt.zst" | diff - "$tmp/d"
	grep 'spin_here [0-9]* [0-9]*$' "$tmp/d"
}

has_segments() {
	[ "$(find "$root/store" -maxdepth 1 -name '*.folded.zst' 2>/dev/null | wc -l)" -ge "$1" ]
}

@test "the daemon says that it serves no HTTP, fills its store, answers and ends on SIGTERM" {
	local daemon one others status=0
	start_busy spin 100
	printf '%s\n' '[sample]' 'interval = 1s' 'cpu = 100%' 'hz = 99' '[store]' 'path = /store' >"$root/stoker.ini"
	start_alone daemon --config /stoker.ini
	daemon=$pid
	wait_until 30 has_segments 3 || {
		cat "$out"
		return 1
	}
	others=$(children_of "$(agent_of "$daemon")")
	[ "$(wc -w <<<"$others")" -ge 3 ]
	kill -TERM "$daemon"
	wait "$daemon" || status=$?
	cat "$out"
	[ "$status" -eq 0 ]
	for one in $others; do
		wait_until 5 is_gone "$one"
	done
	[ "$(grep -c HTTP "$out")" -eq 1 ]
	says 'warning: cannot serve HTTP: this static build has no libmicrohttpd; .*listen = off' "$out"
	alone report -q --store /store --comm spin -f folded >"$tmp/f"
	hottest "$tmp/f"
	"$stoker" report -q --store "$root/store" --comm spin -f folded | diff - "$tmp/f"
	between "$(folded_share "$tmp/f" ";spin;${entry}main;spin_here")" 99 100 'named as expected, %'
}

@test "its advice names no option that it refuses" {
	cp "$(target spin)" "$tmp/bare"
	strip "$tmp/bare"
	start "$tmp/bare" 100
	wait_until 10 has_run "$pid"
	alone doctor "$pid" >"$tmp/f" || true
	cat "$tmp/f"
	grep -- 'bare.dbg beside it, or use --debug-dir$' "$tmp/f"
}

@test "what needs a library is refused with one line: the thing, the library, what else to do" {
	start_busy spin 100
	printf '%s\n' '[store]' 'path = /store' '[http]' 'listen = 127.0.0.1:0' >"$root/stoker.ini"
	refuses 1 'top: this static build has no ncurses; .* or `stoker record`' top
	refuses 2 'stoker.ini:4: listen: cannot serve HTTP: .* no libmicrohttpd; .*`listen = off`' \
		daemon --config /stoker.ini
	[ ! -e "$root/store" ]
	refuses 1 '--debuginfod: this static build has no libcurl; .*--debug-dir' \
		record -a -d 1 -o /f --debuginfod https://example.org
	[ ! -e "$root/f" ]
	# It is for other programs too.
	export DEBUGINFOD_URLS=https://example.org
	refuses 0 'warning: DEBUGINFOD_URLS: this static build has no libcurl; .*--debug-dir' \
		record -q -a -d 0.2 -o /f
	[ -s "$root/f" ]
	exits 0 alone record -q -a -d 0.2 -o /f --debuginfod ''
	[ ! -s "$tmp/said" ]
}

@test "a mount that is not there is named" {
	with=proc
	refuses 1 'mount sysfs at /sys' record -a -d 1 -o /f
	alone doctor >"$tmp/doctor" && return 1
	grep '^no  *BTF .*mount sysfs at /sys' "$tmp/doctor"
	with=sys
	refuses 1 'mount proc at /proc' record -a -d 1 -o /f
}
