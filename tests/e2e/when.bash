# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For tests of record --when: recorders that wait, and their bundles.

declare -gA out_of=() recorder_of=()

# when NAME CONDITION OPTION...: a recorder in the background, with bundles in $tmp/NAME.
when() {
	start "$stoker" record --when "$2" --before 1s --after 1s --bundle "$tmp/$1" "${@:3}"
	out_of[$1]=$out recorder_of[$1]=$pid
	wait_until 20 says 'waiting for' "$out" || { cat "$out"; return 1; }
}

# enter CGROUP COMMAND...: as start_in; it has run.
enter() {
	start_in "$@"
	wait_until 10 has_run "$pid"
}

bundles_of() {
	find "$tmp/$1" -mindepth 1 -maxdepth 1 -type d ! -name '.*' | sort
}

has_bundles() {
	[ "$(bundles_of "$1" | wc -l)" -ge "$2" ]
}

have_bundles() {
	local count=$1 name
	shift
	for name; do
		has_bundles "$name" "$count" || return 1
	done
}

# Each folder in $tmp/NAME is a bundle, and each of its files is whole.
are_whole() {
	local dir
	[ -z "$(find "$tmp/$1" -mindepth 1 -maxdepth 1 -name '.*')" ]
	for dir in $(bundles_of "$1"); do
		[ "$(find "$dir" -type f | wc -l)" -eq 8 ]
		jq -e .samples "$dir/trap.json" >/dev/null
		jq -e .profiles "$dir/profile.speedscope.json" >/dev/null
		gzip -t "$dir/profile.pb.gz"
		grep -q '</html>' "$dir/profile.html"
		grep -q '^Trap .* fired at ' "$dir/first.txt"
		grep -q '^Changes after it fired' "$dir/first.txt"
	done
}

ends() {
	local status=0
	kill -INT "$1"
	wait "$1" || status=$?
	[ "$status" -eq "${2:-0}" ]
}

fired_of() {
	grep -c '^trap .*capturing' "${out_of[$1]}" || true
}
