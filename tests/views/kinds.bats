#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A profile with two kinds of value and three free labels, in every format and back: each kind has the
# same total everywhere, and a format says what it has no place for.

load ../e2e/lib

PACKAGES='playwright-core@1.65.1 axe-core@4.14.1'
SPEEDSCOPE='speedscope@1.25.0 playwright-core@1.65.1'
FIREFOX=@firefox-devtools/profiler-cli@0.10.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	stoker=${STOKER:-$BATS_TEST_DIRNAME/../../stoker}
	tmp=$BATS_TEST_TMPDIR
	{
		printf '%s\n' '# stoker kind: cpu samples 10000000 0' \
			'# stoker labels: comm,label:route,label:tenant,label:trace.id 0' \
			'web;/a;blue;1;main;serve 3' 'web;/b;blue;2;main;serve 4'
		printf '%s\n' '# stoker kind: wall samples 50000000 0' \
			'# stoker labels: comm,label:route,label:tenant,label:trace.id 0' \
			'web;/a;blue;1;main;wait 5' 'web;/b;red;2;main;serve 6'
	} >two.folded
	{
		printf '%s\n' '# ========' '# clock : wall' '# ========'
		for at in 1 2 3; do printf 'web 7/8 [000] 1.%d00000000:   10000000 cpu-clock: \n\t1 serve (m)\n\n' "$at"; done
		for at in 1 2; do printf 'web 7/8 [000] 2.%d00000000:   50000000 wall: \n\t2 wait (m)\n\n' "$at"; done
	} >two.txt
}

@test "folded stacks of each kind, one file after the other, are the same profile again" {
	local keys='comm,label:route,label:tenant,label:trace.id'
	"$stoker" convert two.folded -e cpu,wall --labels -o cpu.folded 2>said
	grep -q 'folded has one kind of value: left out wall (11 samples); -e chooses a kind' said
	"$stoker" convert two.folded -e wall --labels -o wall.folded 2>said
	[ "$(cat said)" = 'wrote wall.folded' ]
	cat cpu.folded wall.folded | diff two.folded -
	"$stoker" convert two.folded --by comm 2>said | diff - <(printf '%s\n' '# stoker kind: cpu samples 10000000 0' 'web;main;serve 7')
	grep -q 'folded has no place for all labels of 7 samples: left out route, tenant, trace.id; --by label:NAME keeps one' said
	"$stoker" convert two.folded -e wall --by "$keys" 2>said >/dev/null
	[ ! -s said ]
	if "$stoker" convert two.folded -e wall,none 2>said; then return 1; fi
	grep -q 'no events or kinds wall,none; it has cpu, wall' said
}

@test "perf text of each kind, one file after the other, is the same profile again" {
	"$stoker" convert -q two.txt -e cpu -o cpu.linux-perf.txt
	"$stoker" convert two.txt -e wall,cpu -o wall.linux-perf.txt 2>said
	grep -q 'perf has one kind of value: left out cpu (3 samples)' said
	cat cpu.linux-perf.txt wall.linux-perf.txt >both.txt
	"$stoker" convert -q both.txt -e cpu,wall -f pprof >both.pb.gz
	"$stoker" convert -q two.txt -e cpu,wall -f pprof >two.pb.gz
	cmp both.pb.gz two.pb.gz
}

@test "go tool pprof has a sample type of each kind, CPU time is the default, and labels are labels" {
	need "$go"
	local index
	"$stoker" convert -q two.folded -o two.pb.gz
	for index in wall:550ms cpu:70ms; do
		"$go" tool pprof -top "-sample_index=${index%:*}" two.pb.gz 2>&1 | grep -q "of ${index#*:} total"
	done
	"$go" tool pprof -top two.pb.gz 2>&1 | grep -q 'of 70ms total'
	"$go" tool pprof -raw two.pb.gz 2>&1 | grep -q '^samples/count wall/nanoseconds cpu/nanoseconds\[dflt\]'
	"$go" tool pprof -top -sample_index=wall -tagfocus=tenant=red two.pb.gz 2>&1 | grep -q '300ms .*serve'
	"$go" tool pprof -tags two.pb.gz 2>&1 | grep -q trace.id
}

@test "speedscope and the Firefox Profiler have the same totals of each kind" {
	"$stoker" convert -q two.folded -o two.speedscope.json
	jq -e '[.profiles[] | [.name, .unit, .endValue, (.weights | add)]] ==
		[["cpu", "nanoseconds", 70000000, 70000000], ["wall", "nanoseconds", 550000000, 550000000]]' two.speedscope.json
	jq -e '.activeProfileIndex == 0' two.speedscope.json
	"$stoker" convert -q two.txt -e cpu,wall -o two.firefox.json
	jq -e '[.threads[] | [.name, .tid, .samples.weightType, (.samples.weight | add)]] ==
		[["web", "8", "samples", 3], ["web (wall)", "8.wall", "tracing-ms", 100]]' two.firefox.json
	jq -e '.meta.interval == 10' two.firefox.json
	"$BATS_TEST_DIRNAME/read" functions two.firefox.json | diff - <(printf '%s\n' '100 wait' '3 serve')
}

# waits.stoker has 3 samples with times and 2.5 s of waiting without.
waits() {
	{
		printf '%s\n' '# stoker kind: cpu samples 10000000 0' 'web;main;serve 3'
		printf '%s\n' '# stoker kind: wall microseconds 0 0' 'web;main;wait 2500000'
	} >waits.folded
	"$stoker" convert -q waits.folded -o waits.stoker
}

@test "formats that need times are refused for waits, which have none, and others hold them" {
	local format
	waits
	for format in perf perfview; do
		for kinds in wall wall,cpu; do
			if "$stoker" convert waits.stoker -e "$kinds" -f "$format" -o x 2>said; then return 1; fi
			cat said
			grep -q "waits.stoker: waits have no times, which the format $format needs; choose one of: folded pprof speedscope firefox html svg stoker$" said
			[ ! -e x ]
		done
	done
	if "$stoker" convert waits.stoker -e wall --since 1 2>said; then return 1; fi
	grep -q 'waits.stoker: waits have no times, which --since and --until need' said
	"$stoker" convert waits.stoker -e wall -o x.firefox.json
	jq -e '[.threads[] | [.samples.weightType, (.samples.weight | add)]] == [["tracing-ms", 2500]]' x.firefox.json
}

@test "one profile of waits has their name in speedscope" {
	waits
	"$stoker" convert -q waits.stoker -e wall -o x.speedscope.json
	[ "$(jq -c '[.profiles[] | [.name, .unit]]' x.speedscope.json)" = '[["wall","nanoseconds"]]' ]
	"$stoker" convert -q waits.stoker -e wall -f folded >wall.folded
	"$stoker" convert -q wall.folded -o x.speedscope.json
	[ "$(jq -c '[.profiles[] | [.name, .unit]]' x.speedscope.json)" = '[["wall","nanoseconds"]]' ]
	"$stoker" convert -q waits.stoker -e cpu -o x.speedscope.json
	[ "$(jq -c '[.profiles[].name]' x.speedscope.json)" = '["all"]' ]
}

# firefox_totals FILE: the Firefox Profiler's own: us of wall time, and CPU samples.
firefox_totals() {
	local home node24 command thread
	mapfile -t command < <("$BATS_TEST_DIRNAME/../runtimes/setup" node 2>"$tmp/setup")
	node24=${command[0]:-}
	[ -n "$node24" ] || skip "$(cat "$tmp/setup")"
	home=$("$BATS_TEST_DIRNAME/setup" "$FIREFOX" 2>"$tmp/setup") || skip "$(cat "$tmp/setup")"
	export HOME=$tmp/home
	mkdir -p "$HOME"
	command=(timeout 60 "$node24" "$home/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js")
	"${command[@]}" load "$1" >&2
	for thread in $("${command[@]}" thread list --json --limit 1000 | jq -r '.threads[].threadHandle'); do
		"${command[@]}" thread functions --thread "$thread" --include-idle --json
	done >threads
	"${command[@]}" stop --all >&2
	jq -s '[.[] | [.weightType, ([.functions[].selfSamples] | add // 0)]] |
		[([.[] | select(.[0] == "tracing-ms")[1]] | add * 1000 | round), ([.[] | select(.[0] == "samples")[1]] | add)]' threads
}

# equals FILE: so is stdin; a microsecond may be rounded away.
equals() {
	jq -se '(.[0][0] - .[1][0] | fabs) <= 1 and .[0][1] == .[1][1]' "$1" - || {
		cat "$1"
		return 1
	}
}

@test "of a recording with both kinds, speedscope, go tool pprof and the Firefox Profiler have the same totals" {
	need "$go"
	local chromium home waits
	chromium=$(command -v chromium || command -v chromium-browser) || skip 'no Chromium on this machine'
	# shellcheck disable=SC2086 # a list of packages
	home=$("$BATS_TEST_DIRNAME/setup" $SPEEDSCOPE 2>"$tmp/setup") || skip "$(cat "$tmp/setup")"
	head -c 64M /dev/zero >file
	start "$(target waits)" 60 file
	waits=$pid
	wait_until 10 says '^pid' "$out"
	"$stoker" record -q -p "$waits" -d 3 -e cpu,wall -F 100 -o both.stoker
	for kind in cpu wall; do
		"$stoker" convert -q both.stoker -e "$kind" -f folded | awk '!/^#/ { sum += $NF } END { printf "%.0f\n", sum }' >"$kind"
	done
	for kind in pb.gz speedscope.json firefox.json; do
		"$stoker" convert -q both.stoker -o "both.$kind"
	done
	echo "cpu: $(cat cpu) samples, wall: $(cat wall) us"
	between "$(cat wall)" 20000000 40000000 'us of waiting'
	"$go" tool pprof -raw -sample_index=wall both.pb.gz >raw 2>&1
	jq -cn --argjson wall "$(cat wall)" --argjson cpu "$(cat cpu)" '[$wall, $cpu]' >want
	# The columns of -raw: samples, ns of waiting, ns of running.
	head -n 4 raw
	awk '/^samples\/count/ { for (i = 1; i <= NF; i++) { sub(/\/.*/, "", $i); at[$i] = i } on = 1; next } /^Locations/ { on = 0 }
		on && /^ *[0-9]+ +[0-9]+ +[0-9]+:/ { sub(/:.*/, ""); wall += $at["wall"]; cpu += $at["cpu"] }
		END { printf "[%.0f,%.0f]\n", wall / 1000, cpu / 1e7 }' raw | equals want
	timeout 120 "$node" "$BATS_TEST_DIRNAME/speedscope_export.mjs" "$home" "$chromium" "$tmp/both.speedscope.json" >exported.json
	jq -c 'def total(kind): [.profiles[] | select(.name | startswith(kind)) | .endValue - .startValue] | add;
		[(total("wall") / 1000 | round), (total("cpu") / 1e7 | round)]' exported.json | equals want
	firefox_totals both.firefox.json | equals want
}

# look PAGE: seen.json has what kinds.mjs saw of it. No page has an error, or anything that a checker of
# accessibility finds. Pictures are kept beside the build, in artefacts/.
look() {
	local home chromium artefacts=$targets/../artefacts
	chromium=$(command -v chromium || command -v chromium-browser) || skip 'no Chromium on this machine'
	# shellcheck disable=SC2086 # a list of packages
	home=$("$BATS_TEST_DIRNAME/setup" $PACKAGES 2>"$tmp/setup") || skip "$(cat "$tmp/setup")"
	mkdir -p "$artefacts"
	timeout 90 "$node" "$BATS_TEST_DIRNAME/kinds.mjs" "$home" "$chromium" "$tmp/$1" "$artefacts/kinds-${1%.html}" >seen.json
	is '.errors == [] and .axe == [] and .overflow <= 0'
}

# is FILTER: it is true of what was seen.
is() {
	jq -e "$@" seen.json >/dev/null || {
		jq . seen.json
		return 1
	}
}

# A service without CPU time, with 36 s of waiting; most of it is an event loop's. Of folded stacks the
# first kind has a name only if it is not cpu, so another one comes before: -e cpu,wall leaves it out.
stalled() {
	printf '%s\n' '# stoker kind: none samples 0 0' '# stoker kind: cpu samples 10000000 0' '# stoker kind: wall nanoseconds 0 0' \
		'# stoker labels: comm,label:idle 0' 'api;yes;main;loop;epoll_wait;[blocked on epoll] 30000000000' \
		'api;?;main;serve;lock;[blocked on futex] 5900000000' 'log;?;main;flush;[blocked on disk] 13382896'
}

@test "the page shows one kind at a time, and all labels" {
	"$stoker" convert -q two.folded -o two.html
	look two.html
	is '.kinds == ["cpu", "wall"] and .totals == [7, 11, 7] and .hz == ["100 Hz", "20 Hz", "100 Hz"]'
	is '.routes == ["/a", "/b"]'
	is '.opened | .kind == "cpu" and .title == "CPU profile" and (.facts | startswith("7 samples"))'
	"$stoker" convert -q two.folded -e wall -o one.html
	look one.html
	is '.kinds == [] and .totals == [11, 11, 11]'
	is '.opened | .title == "wall profile" and (.page_title | startswith("wall profile"))'
}

@test "the page opens on the first kind that has a value, under its name" {
	stalled >stalled.folded
	"$stoker" convert -q stalled.folded -e cpu,wall -o stalled.html
	look stalled.html
	is '.kinds == ["cpu", "wall"] and .totals == [0, 35913382896, 0]'
	is '.opened | .kind == "wall" and .total == 35913382896 and (.empty | not)'
	is '.opened | .title == "wall profile" and (.page_title | startswith("wall profile"))'
	is '.opened.processes == ["all", "api (100.0 %)", "log (0.0 %)"]'
	# CPU samples come first where there are any.
	sed '2a # stoker labels: comm,label:idle 0\napi;?;main;serve 1' stalled.folded >one.folded
	"$stoker" convert -q one.folded -e cpu,wall -o one.html
	look one.html
	is '.totals == [1, 35913382896, 1]'
	is '.opened | .kind == "cpu" and .total == 1 and .title == "CPU profile" and (.facts | startswith("1 samples · 100 Hz"))'
	is '.opened.legend == ["native", "label"]'
}

@test "the page says nanoseconds as times that people read" {
	local comm
	stalled >stalled.folded
	"$stoker" convert -q stalled.folded -e cpu,wall -o stalled.html
	look stalled.html
	is '.opened.facts | startswith("35.91 s of wall")'
	# What it saves is what convert writes, with the line that names the kind.
	"$stoker" convert -q stalled.folded -e wall -f folded >wall.folded
	grep -qx '# stoker kind: wall microseconds 0 0' wall.folded
	jq -j .saved seen.json | diff wall.folded -
	is '.opened.graph == "Flame graph of 35.91 s"'
	is '.opened.tip[-2:] == ["total 100.0 %, 35.9 s", "self 0.00 %, 0 s"]'
	is '[.opened.table[] | select(.[2] == "[blocked on disk]" or .[2] == "lock")[:2]] ==
		[["0.04 %  13.38 ms", "0.04 %  13.38 ms"], ["0.00 %  0 s", "16.4 %  5.9 s"]]'
	is '[.opened, .idle.hidden | .. | strings | select(test("nanosec|[0-9],[0-9]"))] == []'
	# Two of them beside each other, too.
	for comm in api log; do "$stoker" convert -q stalled.folded -e wall --by comm 2>said | grep -e '^#' -e "^$comm" >$comm.folded; done
	"$stoker" diff api.folded log.folded --normalise none -o sides.html
	look sides.html
	is '.opened | .facts == "35.9 s → 13.38 ms" and ([.. | strings | select(test("nanosec|[0-9],[0-9]"))] == [])'
	is '[.opened.table[] | select(.[4] == "main")[2:4]] == [["−35.89 s, −100 %", "35.9 s → 13.38 ms"]]'
}

@test "the box hides idle threads in graph, table, lists and totals, by mouse and keys" {
	local hidden shown
	stalled >stalled.folded
	"$stoker" convert -q stalled.folded -e cpu,wall -o stalled.html
	look stalled.html
	is '.idle | .boxes == 1 and .on_at_first and .tab == "idle"'
	for hidden in hidden by_key; do
		is --arg it $hidden '.idle[$it] | .on == false and .total == 5913382896 and .sums == 5913382896 and (.facts | startswith("5.913 s of wall"))'
		is --arg it $hidden '.idle[$it] | .said == "Idle threads are hidden" and .graph == "Flame graph of 5.913 s"'
		is --arg it $hidden '.idle[$it] | [.table[][2]] | index("[blocked on epoll]") == null and index("[blocked on disk]") != null'
		is --arg it $hidden '.idle[$it] | .processes == ["all", "api (99.8 %)", "log (0.2 %)"] and (.legend | index("blocked: network") == null)'
	done
	for shown in shown by_space; do
		is --arg it $shown '.idle[$it].said == "Idle threads are shown" and (.opened == (.idle[$it] | del(.on, .said))) and .idle[$it].on'
	done
	# Only they are left out: a page of them alone is empty then.
	grep -e '^#' -e ';yes;' stalled.folded >idle.folded
	"$stoker" convert -q idle.folded -e wall -o idle.html
	look idle.html
	is '.idle.hidden | .total == 0 and .empty and .table == [] and .processes == ["all", "api (0.0 %)"]'
	# No sample says so: no box.
	sed 's/;yes;/;no;/' stalled.folded >busy.folded
	"$stoker" convert -q busy.folded -o busy.html
	look busy.html
	is '.idle.boxes == 0 and .totals[1] == 35913382896'
}

@test "of a recording with both kinds, a range of time is of CPU samples, and the box of threads that wait for work" {
	printf '%s\n' 'import select, socket, threading, time' 'a, b = socket.socketpair()' \
		'poll = select.epoll()' 'poll.register(a, select.EPOLLIN)' 'threading.Thread(target=poll.poll, daemon=True).start()' \
		'threading.Thread(target=time.sleep, args=(300,), daemon=True).start()' 'while True: pass' >busy.py
	start "$python" busy.py
	wait_until 10 runs_on "$pid" 1
	"$stoker" record -q -p "$pid" -d 2 -e cpu,wall -F 100 -o both.stoker
	"$stoker" convert -q both.stoker -o both.html
	look both.html
	is '.kinds == ["cpu", "wall"] and .opened.kind == "cpu" and .opened.heat'
	is '.range | .[0].range == [0, 5e8] and .[0].total > 0 and .[1] == { heat: false, range: null, total: .[1].total } and .[1].total > 1e9'
	is '.range[2] == { heat: true, range: null, total: .totals[0] }'
	"$stoker" convert -q both.stoker -e wall -o wall.html
	look wall.html
	is '.opened.title == "wall profile" and (.opened.heat | not) and .idle.hidden.total < .opened.total and .idle.hidden.total > 0'
	is '.opened.legend | index("blocked: network") != null and index("sleeping") != null'
	is '.idle.hidden.legend | index("blocked: network") == null and index("sleeping") != null'
}

# state_of MARK: the words that the legend has for it; nothing for a note.
state_of() {
	case $1 in
	'[runnable]' | '[throttled]' | '[sleeping]' | '[stopped]') echo "${1:1:-1}" ;;
	'[blocked on futex]') echo 'blocked: futex' ;;
	'[blocked on disk]' | '[blocked on page]' | '[blocked on fuse]' | '[blocked on file lock]') echo 'blocked: I/O' ;;
	'[blocked on socket]' | '[blocked on accept]' | '[blocked on epoll]' | '[blocked on poll]' | '[blocked on pipe]') echo 'blocked: network' ;;
	'[blocked'*) echo 'blocked: other' ;;
	esac
}

# distances COLOUR...: of each two, how different they look (CIE 1976), one a line; with --contrast, of
# each to the first how well one can be read on the other (WCAG 2).
distances() {
	"$python" - "$@" <<-'end'
		import itertools, math, sys
		def linear(text):
		    parts = [int(text[i:i + 2], 16) / 255 for i in (1, 3, 5)]
		    return [c / 12.92 if c <= .04045 else ((c + .055) / 1.055) ** 2.4 for c in parts]
		def luminance(text):
		    return sum(c * part for c, part in zip(linear(text), (.2126, .7152, .0722)))
		def lab(text):
		    r, g, b = linear(text)
		    xyz = ((.4124 * r + .3576 * g + .1805 * b) / .9505, luminance(text), (.0193 * r + .1192 * g + .9505 * b) / 1.089)
		    x, y, z = (t ** (1 / 3) if t > .008856 else 7.787 * t + 16 / 116 for t in xyz)
		    return 116 * y - 16, 500 * (x - y), 200 * (y - z)
		if sys.argv[1] == '--contrast':
		    first, *others = map(luminance, sys.argv[2:])
		    print(*((max(first, c) + .05) / (min(first, c) + .05) for c in others), sep='\n')
		else:
		    print(*itertools.starmap(math.dist, itertools.combinations(map(lab, sys.argv[1:]), 2)), sep='\n')
	end
}

# least NUMBER: all lines of stdin are at least that.
least() {
	sort -g | awk -v least="$1" 'NR == 1 { print "least: " $1; ok = $1 >= least } END { exit !(NR && ok) }'
}

@test "each class of state has a colour of its own in graph, table and legend, in light and dark" {
	local mark theme state states=() notes=0
	{
		printf '# stoker kind: wall nanoseconds 0 0\n'
		grep -o '"\[.*\]"' "$BATS_TEST_DIRNAME/../../user/profile/marks.h" | tr -d '"' >marks
		while read -r mark; do echo "main;wait;$mark 1000000000"; done <marks
	} >states.folded
	[ "$(wc -l <marks)" -ge 21 ]
	"$stoker" convert -q states.folded -o states.html
	look states.html
	for theme in light dark; do
		while read -r mark; do
			state=$(state_of "$mark")
			[ -n "$state" ] || notes=$((notes + 1))
			# On the canvas a colour may be off by what it is blended with, at an edge.
			is --arg theme $theme --arg mark "$mark" --arg state "${state:-mark}" '.colours[$theme] | .marks[$mark] as $its |
				[.legend[] | select(.[0] == $state)] as $legend | ($legend | length) == 1 and $its.canvas == $its.graph and $its.table == $its.graph and
				($state == "mark" or ($its.graph == $legend[0][2] and ($legend[0][1] | contains($mark))))'
		done <marks
		mapfile -t states < <(jq -r --arg theme $theme '.colours[$theme].legend[] | select(.[1] != "")[2]' seen.json)
		[ ${#states[@]} -eq 8 ]
		distances "${states[@]}" | least 30
		# Names are written on frames in this colour.
		distances --contrast '#1c1410' "${states[@]}" | least 4.5
		distances --contrast "$(jq -r ".colours.$theme.card" seen.json)" "${states[@]}" | least 1.3
		# No state looks like a kind of frame.
		for state in "${states[@]}"; do
			while read -r mark; do distances "$state" "$mark"; done < <(jq -r --arg theme $theme '.colours[$theme].legend[] | select(.[1] == "")[2]' seen.json)
		done | least 18
	done
	[ $notes -eq 10 ]
}
