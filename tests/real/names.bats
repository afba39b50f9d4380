#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Runtimes whose code is in no ELF file: weighted by samples, what share of their frames has a name.

load real

# What Microsoft ships without symbols: the runtime, and the starter, which our programs are called after.
stripped='lib(coreclr|clrjit|clrgc|hostfxr|hostpolicy|System\.[A-Za-z.]*)\.so|Mill'

# named WHAT [OPTION...]: $pid, recorded; 99 per cent.
named() {
	local what=$1
	shift
	record -p "$pid" -F "$hz" -d "$seconds" -o "$tmp/f" --stats "$tmp/s" "$@"
	[ -z "${REAL_KEEP:-}" ] || cp "$tmp/f" "$REAL_KEEP/$what.folded"
	"$real/named" "$tmp/f" "$stripped" >"$tmp/named"
	echo "$what: $(cat "$tmp/named")" | tee -a "${REAL_LOG:-/dev/null}"
	jq -c .frames "$tmp/s"
	[ "$(jq .frames "$tmp/named")" -ge 3000 ] ||
		skip "$what had $(jq .frames "$tmp/named") frames, the machine is busy with other things"
	between "$(jq .share "$tmp/named")" 99 100 'frames named, %'
}

# both NAME: both programs of tests/runtimes, with the map that the runtime writes.
both() {
	start_jit "$1"
	named "$1"
	kill -KILL "$pid"
	start_jit "$1" market
	named "$1-market"
}

@test "node of the distribution" {
	need node
	cd "$tmp" || return 1
	start node --perf-basic-prof --logfile=/dev/null "$repo/tests/runtimes/market.js" 60
	wait_until 20 says ready "$out"
	named node-system
}

@test "node 24" {
	both node
}

@test "java, told to write its map" {
	start_jit java market
	named java-market --jit
}

@test "CoreCLR 9, with the precompiled code of its framework" {
	both coreclr
	between "$(jq '.frames.by_source.readytorun // 0' "$tmp/s")" 20 10000000 'precompiled methods'
}

@test "CoreCLR 10" {
	both coreclr-10
}

@test "precompiled methods of CoreCLR have the names that the runtime itself gives them" {
	local command
	command=$("$repo/tests/runtimes/setup" coreclr market plain 2>"$tmp/setup") ||
		skip "CoreCLR: $(tail -n 1 "$tmp/setup")"
	mapfile -t command <<<"$command"
	# Never compiled anew, however often they are called.
	start env DOTNET_PerfMapEnabled=2 DOTNET_PerfMapJitDumpPath="$tmp" \
		DOTNET_TC_CallCountThreshold=7fffffff "${command[@]}" 60
	wait_until 20 says ready "$out"
	record -p "$pid" -F "$hz" -d "$seconds" -o "$tmp/f" --stats "$tmp/s"
	"$real/precompiled" "$tmp/f" "$tmp/jit-$pid.dump" >"$tmp/precompiled"
	cat "$tmp/precompiled" | tee -a "${REAL_LOG:-/dev/null}"
	[ "$(jq .samples "$tmp/precompiled")" -ge 100 ] ||
		skip "$(jq .samples "$tmp/precompiled") samples, the machine is busy with other things"
	between "$(jq '.wrong | length' "$tmp/precompiled")" 0 0 'names that the runtime does not know'
	between "$(jq .methods "$tmp/precompiled")" 10 100000 'methods'
}
