#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The daemon's page in a real browser, with a store that is being written: what daemon.mjs saw. Its
# pictures are kept beside the build, in artefacts/.
# seconds: 30

load ../e2e/lib

PACKAGES='playwright-core@1.65.1 axe-core@4.14.1'

@test "heat, click, drag, flame graph, container and keys; nothing leaves the page, and axe finds nothing" {
	local home seen=$tmp/seen.json artefacts=$targets/../artefacts chromium port
	chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
		skip 'no Chromium on this machine'
	# shellcheck disable=SC2086 # a list of packages
	home=$("$BATS_TEST_DIRNAME/setup" $PACKAGES 2>"$tmp/setup") || skip "$(cat "$tmp/setup")"
	mkdir -p "$artefacts"
	port=$(free_port)
	printf '%s\n' '[sample]' 'interval = 1s' 'hz = 99' 'cpu = 100%' '[store]' "path = $tmp/store" '[http]' \
		"listen = 127.0.0.1:$port" '[labels]' 'by = comm' >"$tmp/stoker.ini"
	start_busy spin 200
	start "$stoker" daemon --config "$tmp/stoker.ini"
	wait_until 60 eval '[ "$(find "$tmp/store" -name "*.zst" 2>/dev/null | wc -l)" -ge 5 ]'
	STOKER=$stoker CONFIG=$tmp/stoker.ini WHO=spin timeout 200 "$node" "$BATS_TEST_DIRNAME/daemon.mjs" "$home" "$chromium" "http://127.0.0.1:$port" \
		"$artefacts" >"$seen"
	jq -c 'del(.clicked.flame.names, .picked.flame.names, .waits.flame.names)' "$seen"
	jq -e '.errors == [] and .foreign == [] and .axe == []' "$seen"
	jq -e '.title == "stoker" and .cells >= 5 and .drawn > 3 and (.rows | index("spin")) != null' "$seen"
	jq -e '.map.width > 1200 and .map.bottom < 500' "$seen"
	jq -e '.clicked | .flame.label | test("^Flame graph of [1-9]")' "$seen"
	jq -e '.clicked.flame.origin == "null" and (.clicked.said | test("^all, "))' "$seen"
	jq -e '.dragged.cells == 3 and .dragged.src != .clicked.src' "$seen"
	jq -e '.picked | .who == "spin" and (.src | contains("comm=spin")) and (.flame.names | index("spin_here")) != null' "$seen"
	jq -e '.waits.flame.names | map(select(test("^\\[(blocked|sleeping)"))) | length > 0' "$seen"
	jq -e '.waits.links | length == 5 and all(contains("e=wall"))' "$seen"
	jq -e '.keyed.cells == 2 and (.keyed.flame | test("^Flame graph of [1-9]")) and .escaped' "$seen"
	jq -e '.overflow <= 0' "$seen"
	[ -s "$artefacts/daemon-clicked.png" ]
}
