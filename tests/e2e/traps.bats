#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Traps: what fires them, what is captured, and when they rest; and that the rate steps down where
# sampling takes more than it may.
# alone: one of its programs takes a CPU for itself
# seconds: 35

load lib

# The governor takes its time, in which the other tests run.
setup_file() {
	governed=$(mktemp -d /var/tmp/stoker-e2e-XXXXXX)
	export governed
	printf '%s\n' '[sample]' 'hz = 499' 'interval = 2s' 'cpu = 0.1%' '[store]' \
		"path = $governed/store" '[http]' 'listen = off' >"$governed/stoker.ini"
	"${STOKER:-$BATS_TEST_DIRNAME/../../stoker}" daemon --config "$governed/stoker.ini" \
		>"$governed/out" 2>&1 </dev/null 3>&- &
	echo $! >"$governed/pid"
}

teardown_file() {
	kill -KILL "$(cat "$governed/pid")" 2>/dev/null || true
	rm -rf "$governed"
}

# configure LINE...: $tmp/stoker.ini with one interval for all of the test.
configure() {
	printf '%s\n' '[sample]' 'interval = 1h' '[store]' "path = $tmp/store" '[http]' \
		'listen = off' "$@" >"$tmp/stoker.ini"
}

start_daemon() {
	start "$stoker" daemon --config "$tmp/stoker.ini"
	daemon=$pid said=$out
	wait_until 30 says 'sampling at' "$said"
}

ends_well() {
	local status=0
	kill -TERM "$1"
	wait "$1" || status=$?
	cat "$said"
	[ "$status" -eq 0 ]
}

# spin_in CGROUP: as $pid, on a core of its own, whatever else runs here.
spin_in() {
	local first=(chrt -f 1)
	[ "$(nproc)" -gt 1 ] || first=(nice -n -20)
	# shellcheck disable=SC2016 # for the inner shell
	start sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@" 300' "$1" "${first[@]}" "$(target spin)"
	wait_until 10 has_run "$pid"
}

# bundles NAME: the folders of a trap's bundles.
bundles() {
	find "$tmp/store/traps" -mindepth 1 -maxdepth 1 -name "$1-*" 2>/dev/null | sort
}

has_bundles() {
	[ "$(bundles "$1" | wc -l)" -ge "$2" ]
}

# about NAME FILTER: of the first bundle's trap.json.
about() {
	jq -e "$2" "$(bundles "$1" | head -n 1)/trap.json"
}

# first_before NAME: how long before it fired the first tick of perf_script.out was.
first_before() {
	about "$1" .fired_clock_s >"$tmp/fired"
	grep -m 1 -oE '[0-9]+\.[0-9]+: ' "$(bundles "$1" | head -n 1)/perf_script.out" | tr -d ': ' |
		awk -v fired="$(cat "$tmp/fired")" '{ print fired - $1 }'
}

usage_s() {
	awk '$1 == "usage_usec" { print $2 / 1e6 }' "$1/cpu.stat"
}

@test "one container stalls and one runs hot: each fires once, with the seconds before it" {
	local stalled_cgroup hot_cgroup stalled hot from used dir
	make_container
	stalled_cgroup=$cgroup
	configure '[trap stalled]' "container = $container" 'below = 3%' 'capture = 2s'
	make_container
	hot_cgroup=$cgroup
	printf '%s\n' '[trap hot]' "container = ${container:0:8}" 'above = 80%' 'capture = 2s' \
		'hz = 299' >>"$tmp/stoker.ini"
	spin_in "$stalled_cgroup"
	stalled=$pid
	start_daemon
	from=$(usage_s "$stalled_cgroup")
	runs_on "$stalled" 400
	kill -STOP "$stalled"
	used=$(echo "$(usage_s "$stalled_cgroup") - $from" | bc)
	spin_in "$hot_cgroup"
	hot=$pid
	wait_until 40 has_bundles stalled 1
	wait_until 40 has_bundles hot 1
	# Both go on, and have to rest.
	runs_on "$hot" 400
	ends_well "$daemon"

	[ "$(bundles '*' | wc -l)" -eq 2 ]
	[ "$(grep -c '^trap .*capturing' "$said")" -eq 2 ]
	for dir in stalled hot; do
		about "$dir" '.number == 1 and .begins_s <= -3 and .ends_s == 2 and .left_out == 0'
		about "$dir" '.values | length > 2'
		[ "$(bundles "$dir" | sed 's/.*-0001-//' | grep -cE '^[0-9]{8}T[0-9]{6}Z$')" -eq 1 ]
	done
	about stalled '.rule.below_percent == 3 and .values[-1].percent < 3'
	about hot '.rule.above_percent == 80 and .values[-1].percent > 80'
	about hot '[.rates[].hz] | .[0] == 19 and .[-1] == 299'
	between "$(first_before stalled)" 3 10.1 'seconds from the first tick to the firing'
	between "$(first_before hot)" 1.5 10.1 'seconds from the first tick to the firing'

	# A tick at a low rate weighs what it stood for.
	dir=$(bundles stalled)
	between "$(jq -n "$(folded_count "$dir/folded_stacks.out") / 199 / $used")" 0.6 1.4 \
		'of the CPU time in samples'
	grep -q ';spin;.*spin_here' "$dir/folded_stacks.out"
	[ "$(folded_count "$dir/folded_stacks.out")" -eq "$(about stalled .samples)" ]
	jq -e '.profiles | length > 0' "$dir/profile.speedscope.json"
	"$stoker" convert -q "$dir/perf_script.out" -f folded -o "$tmp/f"
	[ "$(folded_count "$tmp/f")" -eq "$(about stalled .samples)" ]
	# The hot one was sampled at its own rate from when it fired, and the intervals say so.
	[ "$(about hot .ticks)" -gt $((2 * 19 * 13)) ] # more than 19 Hz could ever give
	jq -s -e '[.[].hz] | unique | contains([19, 299])' "$tmp/store/index"
}

one_bundle_is_left() {
	[ "$(bundles any | wc -l)" -eq 1 ] &&
		[ "$(find "$tmp/store/traps" -name '.*' -mindepth 1 | wc -l)" -eq 0 ]
}

@test "a trap for the host fires again after its cool-down, and the last bundles stay" {
	configure '[trap any]' 'above = 0.1%' 'for = 1s' 'before = 1s' 'capture = 1s' \
		'cooldown = 1s' 'most = 1'
	start_busy spin 60
	start_daemon
	wait_until 40 says 'any-0002' "$said"
	ends_well "$daemon"
	# A bundle that is being written then is written to its end.
	wait_until 30 one_bundle_is_left
	about any '.container == null and .number >= 2'
	says ';spin' "$(bundles any)/folded_stacks.out"
}

@test "a disk that is full costs the bundle, which is said, and not the daemon" {
	mkdir "$tmp/store"
	mount -t tmpfs -o size=48k none "$tmp/store"
	mounts+=("$tmp/store")
	configure '[trap any]' 'above = 0.1%' 'for = 1s' 'before = 1s' 'capture = 1s'
	start_busy spin 60
	start_daemon
	wait_until 40 says 'this bundle is lost' "$said"
	kill -0 "$daemon"
	[ -z "$(find "$tmp/store/traps" -mindepth 1)" ]
	kill -KILL "$daemon"
}

@test "a folder that no bundle can go into is said when the daemon starts" {
	mkdir "$tmp/store"
	mkfifo "$tmp/store/traps"
	configure '[trap any]' 'above = 99%'
	start_daemon
	wait_until 10 says "traps: cannot write to $tmp/store/traps: it is no directory" "$said"
	ends_well "$daemon"
	rm "$tmp/store/traps"
	ln -s nowhere "$tmp/store/traps"
	start_daemon
	wait_until 10 says 'traps: cannot write .*traps is a symbolic link to .*nowhere' "$said"
	ends_well "$daemon"
}

@test "what a trap cannot be is refused with its line" {
	local line
	for line in 'above = 0%' 'above = 5%
below = 1%' 'metric = throttled
above = 5%' 'metric = noise
above = 5%' 'above = 5%
before = 2m'; do
		configure '[trap one]' "$line"
		exits 2 "$stoker" daemon --config "$tmp/stoker.ini"
		said_clearly "$tmp/stoker.ini:"
	done
	configure '[trap ../one]' 'above = 5%'
	exits 2 "$stoker" daemon --config "$tmp/stoker.ini"
	said_clearly 'letters'
	[ ! -e "$tmp/store" ]
}

stepped_down() {
	jq -s -e 'map(select(.hz < 499)) | length >= 1' "$governed/store/index" >/dev/null
}

@test "where sampling takes more than it may the rate steps down, and intervals say so" {
	wait_until 60 says 'more than the 0.1 % allowed' "$governed/out"
	wait_until 20 stepped_down
	said=$governed/out
	kill -TERM "$(cat "$governed/pid")"
	wait_until 5 is_gone "$(cat "$governed/pid")"
	cat "$said"
	[ "$(grep -c 'allowed' "$said")" -eq 1 ]
	# No more than their rate gives, on all CPUs, but for where exactly an interval was cut.
	jq -s -e --argjson cpus "$(nproc)" 'group_by(.hz) | all((map(.samples) | add) <=
		.[0].hz * $cpus * ((map(.end_ns - .start_ns) | add) / 1e9 * 1.1 + 0.3))' \
		"$governed/store/index"
	jq -s -e '[.[].hz] | (.[0] == 499) and (unique | contains([249]))' "$governed/store/index"
}

@test "a command that stalls in one container is seen beside a busy one of its name in another" {
	local name=work$$ busy stalled waits
	cp "$(target spin)" "$tmp/$name"
	configure '[trap idle]' "comm = $name" 'below = 2%' 'capture = 1s' 'before = 1s'
	make_container
	start_in "$cgroup" "$tmp/$name" 300
	busy=$pid
	make_container
	stalled=$container
	start_in "$cgroup" "$tmp/$name" 300
	waits=$pid
	wait_until 10 has_run "$busy"
	wait_until 10 has_run "$waits"
	start_daemon
	kill -STOP "$waits"
	wait_until 40 has_bundles idle 1
	ends_well "$daemon"
	grep "trap idle: cpu of processes $name in $stalled is 0.0 %" "$said"
	[ "$(grep -c 'trap idle: cpu of' "$said")" -eq 1 ]
	about idle ".container == \"$stalled\""
}

@test "a unit is watched by its name, and none fires on a unit that is not there" {
	local root
	root=$(cgroup2_root) || skip 'no cgroup v2 hierarchy is mounted'
	cgroup=$root/stoker$$.service
	mkdir "$cgroup" 2>/dev/null || skip "cannot make a cgroup below $root"
	cgroups+=("$cgroup")
	start_in "$cgroup" "$(target spin)" 300
	wait_until 10 has_run "$pid"
	configure '[trap unit]' "unit = stoker$$" 'above = 5%' 'capture = 1s' 'before = 1s' \
		'[trap none]' "unit = stoker$$-not" 'below = 50%'
	start_daemon
	wait_until 40 has_bundles unit 1
	ends_well "$daemon"
	grep "trap unit: cpu of stoker$$.service is" "$said"
	[ "$(grep -c 'trap none: cpu' "$said")" -eq 0 ]
	about unit '.samples > 0'
}
