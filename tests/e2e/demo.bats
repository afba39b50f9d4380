#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tools/demo, in a copy of the tree: enough samples on any host, and nothing of it stays.
# no stoker: it shows what is hottest on the whole host
# seconds: 25

load lib

# Sets $copy to the tree with what is built of it, so that the demo has nothing to build.
copy_tree() {
	local products=${targets%/tests/targets}
	copy=$tmp/tree
	mkdir -p "$copy/.build" "$tmp/work"
	cp -a "$repo"/{CHANGELOG.md,Makefile,bpf,tests,tools,user,vmlinux} "$copy"
	cp -a "$products"/{http,libstoker.a,sample.bpf.o,sample.skel.h,sink,stoker,user} "$copy/.build"
	demo=(env -u BUILD -u CFLAGS -u SUDO_UID TMPDIR="$tmp/work" "$copy/tools/demo")
}

processes_of_the_copy() {
	find /proc -maxdepth 2 -name cwd -lname "$copy*" 2>/dev/null
}

all_are_gone() {
	[ -z "$(processes_of_the_copy)" ]
}

the_load_runs() {
	grep -lx clang $(processes_of_the_copy | sed 's/cwd$/comm/') 2>/dev/null
}

nothing_is_left() {
	wait_until 5 all_are_gone
	[ -z "$(ls -A "$tmp/work")" ]
}

@test "the demo has 1,000 samples and shows ten functions with names, and nothing of it stays" {
	copy_tree
	"${demo[@]}" >"$tmp/out" 2>&1 || {
		cat "$tmp/out"
		return 1
	}
	cat "$tmp/out"
	between "$(folded_count "$copy/demo.folded")" 1000 1000000 samples
	between "$(folded_count "$copy/demo.folded" '^[^;]*;(clang|gzip|stoker|tar|xargs);')" 1 1000000 'of the load'
	grep -q '^ticks .* samples ' "$tmp/out"
	grep -q '^stacks .* % complete' "$tmp/out"
	grep -q '^frames .* % named' "$tmp/out"
	! grep '^{' "$tmp/out" || return 1 # the account in words, not in JSON
	sed -n '/self   total  function/,/code of files/p' "$tmp/out" | grep -E '^ *[0-9.]+% +[0-9.]+%  ' >"$tmp/hottest"
	[ "$(wc -l <"$tmp/hottest")" -eq 10 ]
	! grep -E '[+]0x[0-9a-f]+$|%  \[' "$tmp/hottest" || return 1
	grep -q '<html' "$copy/demo.html"
	nothing_is_left
}

@test "SIGINT ends the demo with its load and its recorder" {
	copy_tree
	start "${demo[@]}"
	wait_until 30 the_load_runs
	kill -INT "$pid"
	exits 130 wait "$pid"
	nothing_is_left
	[ ! -e "$copy/demo.folded" ]
}
