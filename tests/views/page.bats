#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The html page and the svg picture in a real browser, with a profile of 100,000 stacks: what page.mjs
# saw. Its pictures are kept beside the build, in artefacts/.
# alone: it holds a page to be quick
# seconds: 25

# shellcheck source=tests/binaries.bash
. "$BATS_TEST_DIRNAME/../binaries.bash"
PACKAGES='playwright-core@1.65.1 axe-core@4.14.1'
FROM=2.34 UNTIL=5.02

setup_file() {
	local here=$BATS_TEST_DIRNAME targets
	targets=${TARGETS:-$here/../../.build/tests/targets}
	chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
		echo 'no Chromium on this machine' >"$BATS_FILE_TMPDIR/missing"
		return
	}
	# shellcheck disable=SC2086 # a list of packages
	home=$("$here/setup" $PACKAGES 2>"$BATS_FILE_TMPDIR/missing") || return 0
	rm "$BATS_FILE_TMPDIR/missing"
	export seen=$BATS_FILE_TMPDIR/seen.json FROM UNTIL home chromium
	local artefacts=$targets/../artefacts
	mkdir -p "$artefacts"
	"$targets/../views/made" 100000 20 "$FROM" "$UNTIL" "$BATS_FILE_TMPDIR"
	mkdir "$BATS_FILE_TMPDIR/small"
	"$targets/../views/made" 300 20 "$FROM" "$UNTIL" "$BATS_FILE_TMPDIR/small"
	timeout 300 "$node" "$here/page.mjs" "$home" "$chromium" "$BATS_FILE_TMPDIR" "$artefacts" >"$seen"
	jq 'del(.keyboard.roles)' "$seen"
}

# Not in setup_file, where bats takes a skip for a failure.
setup() {
	[ ! -e "$BATS_FILE_TMPDIR/missing" ] || skip "$(cat "$BATS_FILE_TMPDIR/missing")"
}

# is FILTER: it is true of what was seen.
is() {
	jq -e "$1" "$seen" >/dev/null || {
		jq 'del(.keyboard.roles)' "$seen"
		return 1
	}
}

@test "a profile of 100,000 stacks opens in less than two seconds" {
	is '.open_ms < 2000 and .shapes.whole > 100000'
}

@test "zoom, back and search answer in less than a tenth of a second" {
	is '.took_ms.zoom < 100 and .took_ms.search < 100 and .took_ms.back < 100'
}

@test "a range that is dragged on the heat map has the ticks of that range, stack for stack" {
	is ".range == [$FROM * 1e9, $UNTIL * 1e9] and .range_lines > 1000 and .range_is_folded"
}

@test "the page holds the whole profile, stack for stack" {
	is '.whole_is_folded'
}

@test "self and total of each function are those of the folded text" {
	is '.table.functions > 1000 and .table.wrong == 0'
}

@test "what is looked at in another way adds up to the same" {
	is '.shapes | .callers_first == .whole and .ungrouped == .whole and (.containers | add) == .whole'
}

@test "no request leaves the page, and its policy refuses one" {
	is '.requests == [] and .refused == "connect-src"'
}

@test "no name of a function does anything, and no error is reported" {
	is '.errors == [] and .dialogs == [] and (.title | startswith("CPU profile"))'
}

@test "keys reach everything, and what they reach is said" {
	is '.keyboard | (.first | test("%.*samples.*level 1")) and .moved != .first'
	is '.keyboard | .zoomed > 0 and .back == 0 and .searching == "search" and (.matched | test("^matched [0-9.]+ %$"))'
	is '.keyboard.range == [1.02e9, 1.06e9]'
}

@test "parts of the page have roles and names" {
	local name
	for name in 'tab "Flame graph" \[selected\]' 'tab "Functions"' 'application "Flame graph of [0-9,]+ samples"' \
		'application "Samples over time' 'searchbox "Search functions' 'combobox "Container"' 'button "Callers first"' \
		'button "Light or dark"'; do
		jq -r .keyboard.roles "$seen" | grep -qE -- "- $name" || {
			jq -r .keyboard.roles "$seen"
			echo "no $name"
			return 1
		}
	done
}

@test "a narrow window scrolls in one direction only" {
	is '.overflow <= 0'
}

@test "svg: search marks and sums up, a click zooms, Escape goes back" {
	is '.svg | .boxes > 100 and (.matched | test("^Matched: [0-9.]+%$")) and .width > 1170 and .after < 1170'
}

@test "two profiles: every count of both, red where it grew and blue where it shrank" {
	is '.diff | .is_folded and .none.counts.wrong == 0 and .none.counts.grew > 100 and .none.counts.shrank > 100 and
		.none.counts.same > 100 and .total.counts.wrong == 0 and (.title | startswith("before → <img"))'
}

@test "two profiles: before is scaled to after, and widths are of either or both" {
	is '.diff | .none.before != .none.after and .total.before == .total.after and .total.after == .none.after and
		.none.width == .none.after and .width_before == .total.before and .width_both == 2 * .total.after'
}

@test "a checker of accessibility finds nothing, in light and dark" {
	is '.axe == []'
}

# Ticks of two CPUs for nine seconds, some of them where a cell of the heat map begins.
perf_text() {
	awk 'BEGIN {
		srand(7)
		for (i = 0; i < 9000; i++) {
			at = i % 10 ? i * 1000000 + int(rand() * 900000) : i * 1000000
			n = int(rand() * 40)
			printf "work_%d %d/%d [%03d] %d.%09d:   1001001 cpu-clock: \n", n % 3, 100 + n % 3, 100 + n % 7,
				i % 2, 5000 + int(at / 1e9), at % 1e9
			printf "\tffff%04x leaf_%d+0x4 (/usr/bin/work)\n\t55%04x mid_%d+0x8 (/usr/bin/work)\n", n, n, n % 5, n % 5
			printf "\t5500 main+0x1 (/usr/bin/work)\n\n"
		}
	}'
}

@test "a dragged range has what convert --since --until has of it, stack for stack" {
	local stoker=${STOKER:-$BATS_TEST_DIRNAME/../../stoker}
	cd "$BATS_TEST_TMPDIR"
	perf_text >x.linux-perf.txt
	"$stoker" convert -q x.linux-perf.txt -o x.html
	"$stoker" convert -q x.linux-perf.txt --since "$FROM" --until "$UNTIL" -o x.folded
	"$node" "$BATS_TEST_DIRNAME/page.mjs" "$home" "$chromium" "$PWD/x.html" >dragged.folded
	[ "$(wc -l <x.folded)" -gt 30 ]
	cmp x.folded dragged.folded
}
