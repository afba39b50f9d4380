#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Go programs, in the ways to link one: as in whole.bats. Their rows come from the stack deltas that
# Go's runtime keeps.
# seconds: 40

load real

@test "a Go program" {
	build_go go-busy busy.go
	start_program "$program"
	whole go 99.8
}

@test "a stripped Go program" {
	build_go go-busy busy.go
	mkdir "$tmp/stripped"
	strip -o "$tmp/stripped/go-busy" "$program"
	start_program "$tmp/stripped/go-busy"
	whole go-stripped 99.8 "$program"
}

# Goroutines in thousands, stacks that grow, panics, signals, C that calls back.
@test "a crowded Go program with C" {
	need gcc
	build_go go-crowd crowd.go
	start_program "$program"
	whole go-crowd
}

@test "the same, position-independent and without symbols" {
	need gcc
	build_go go-crowd-pie crowd.go -buildmode=pie '-ldflags=-s -w'
	local pie=$program
	build_go go-crowd crowd.go
	start_program "$pie"
	whole go-crowd-pie 99.5 "$program"
}

@test "the same, static" {
	need gcc
	build_go go-crowd-static crowd.go '-ldflags=-linkmode external -extldflags -static'
	start_program "$program"
	whole go-crowd-static
}

@test "a Go program that looks up names by the C library" {
	need gcc
	build_go go-resolve resolve.go
	start_program env GODEBUG=netdns=cgo "$program"
	whole go-resolve
}

# What Go's linker writes of the same functions, for debuggers, is compared place by place; left out
# are those where it does not say that a stack is left.
@test "the rows of a Go program are what .debug_frame says" {
	local at name
	need readelf nm
	build_go go-crowd crowd.go
	readelf -W --debug-dump=frames-interp "$program" 2>/dev/null |
		"${targets%/targets}/tools/rows_check" -g "$program" >"$tmp/sums" 2>"$tmp/said" || true
	cat "$tmp/sums"
	grep readelf "$tmp/said" || true
	read -r _ functions places agree _ marked _ _ differ _ <"$tmp/sums"
	[ "$functions" -gt 1000 ] && [ "$places" -gt 10000 ]
	[ "$differ" -eq 0 ]
	[ "$((agree + marked))" -eq "$places" ]
	sort -u "$tmp/said" >"$tmp/left"
	nm "$program" | while read -r at _ name; do
		grep -qx "$(sed 's/^0*//' <<<"$at")" "$tmp/left" && echo "${name%.abi0}"
	done | sort -u | paste -sd ' ' >"$tmp/names"
	cat "$tmp/names"
	[[ $(<"$tmp/names") == *'runtime.goexit runtime.mcall runtime.morestack runtime.mstart'* ]]
	! grep -Eqv "^((_start|_rt0_amd64(_linux)?|gogo|runtime\.(clone|goexit|mcall|morestack|mstart|rt0_go|sigreturn(__sigaction)?|switchToCrashStack0|systemstack|asmcgocall|cgocallback)) ?)*\$" "$tmp/names"
}
