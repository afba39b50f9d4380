#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Weighted by samples, what share of the frames has a name: of servers that are stripped, and of runtimes
# whose code is in no ELF file.
# seconds: 60

load real

# What Microsoft ships without symbols: the runtime, and the starter, which our programs are called after.
stripped='lib(coreclr|clrjit|clrgc|hostfxr|hostpolicy|System\.[A-Za-z.]*)\.so|Mill'

# named WHAT [OPTION...]: $pid, recorded; 99 per cent.
named() {
	local what=$1
	shift
	record_cpu "$seconds" "$pid" -F "$hz" -o "$tmp/f" --stats "$tmp/s" "$@"
	[ -z "${REAL_KEEP:-}" ] || cp "$tmp/f" "$REAL_KEEP/$what.folded"
	"$real/named" "$tmp/f" "$stripped" >"$tmp/named"
	echo "$what: $(cat "$tmp/named")" | tee -a "${REAL_LOG:-/dev/null}"
	jq -c .frames "$tmp/s"
	between "$(jq .frames "$tmp/named")" 3000 100000000 'frames'
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

# named_as_far WHAT [-n]: $pid, of programs that are stripped but for what they export. A frame has no
# name only where no symbol covers it; -n: as debug files are hidden.
named_as_far() {
	local what=$1
	shift
	cat "/proc/${pid%%,*}/maps" >"$tmp/maps"
	record_cpu "$seconds" "$pid" -F "$hz" -o "$tmp/f" --stats "$tmp/s"
	"$real/nameless" "$@" "$tmp/f" "$tmp/maps" >"$tmp/nameless"
	echo "$what: $(cat "$tmp/nameless")" | tee -a "${REAL_LOG:-/dev/null}"
	between "$(jq .named "$tmp/nameless")" 1000 100000000 'named frames'
	between "$(jq .share "$tmp/nameless")" 99 100 'of the frames that a symbol covers those named, %'
}

# The debug file of libc is here, and names it: less than one frame in a hundred is code without a symbol.
has_libc_names() {
	local id
	id=$(readelf -n "$(ldconfig -p | awk '$1 == "libc.so.6" { print $NF; exit }')" | awk '/Build ID/ { print $3 }')
	[ -e "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" ] || skip 'no debug file of libc on this machine'
	between "$(jq '100 * (.truly["libc.so.6"] // 0) / .named' "$tmp/nameless")" 0 1 'nameless in libc, %'
	between "$(jq '.frames.by_source.debug_file // 0' "$tmp/s")" 10 10000000 'named by debug files'
}

@test "redis, with the debug file of libc" {
	start_redis
	named_as_far redis
	has_libc_names
}

@test "redis, without debug files" {
	need redis-server
	hide_debug_files "$(command -v redis-server)"
	start_redis
	named_as_far redis-alone -n
	[ "$(jq .debug_files.used "$tmp/s")" -eq 0 ]
}

@test "postgres, with the debug file of libc" {
	start_postgres
	named_as_far postgres
	has_libc_names
}

@test "postgres, without debug files" {
	[ -n "$(postgres_bin)" ] || skip "no PostgreSQL server on this machine"
	hide_debug_files "$(postgres_bin)/postgres"
	start_postgres
	named_as_far postgres-alone -n
	[ "$(jq .debug_files.used "$tmp/s")" -eq 0 ]
}

@test "node of the distribution" {
	need "$node"
	cd "$tmp" || return 1
	start "$node" --perf-basic-prof --logfile=/dev/null "$repo/tests/runtimes/market.js" 200
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
		DOTNET_TC_CallCountThreshold=7fffffff "${command[@]}" 200
	wait_until 20 says ready "$out"
	# Mangled, native names have no `::`.
	record_cpu "$seconds" "$pid" --no-demangle -F "$hz" -o "$tmp/f" --stats "$tmp/s"
	"$real/precompiled" "$tmp/f" "$tmp/jit-$pid.dump" >"$tmp/precompiled"
	cat "$tmp/precompiled" | tee -a "${REAL_LOG:-/dev/null}"
	# A stack has several such frames: no upper bound.
	fits_cpu "$(jq .frames "$tmp/precompiled")" "$hz" 'frames of precompiled methods' 3 1000000
	between "$(jq '.wrong | length' "$tmp/precompiled")" 0 0 'names that the runtime does not know'
	between "$(jq .methods "$tmp/precompiled")" 10 100000 'methods'
}
