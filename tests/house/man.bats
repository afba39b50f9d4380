#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The manual pages: the options that --help prints are there, and nothing in them is lost.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || exit 1
	stoker=${STOKER:-./stoker}
}

@test "every long option of record is in the man page, and no other" {
	"$stoker" record --help | grep -o -- '--[a-z][a-z-]*' | sort -u |
		grep -vxE -- '--(help|all|pid|tid|event|frequency|duration|output|format|quiet)' >"$BATS_TEST_TMPDIR/help"
	sed '/^\.Ss jit/,/^\.Ss help/d' user/man/stoker.1 | grep -oE '^\.It Fl -[a-z][a-z-]*' | sed 's/^\.It Fl /-/' | sort -u >"$BATS_TEST_TMPDIR/man"
	diff "$BATS_TEST_TMPDIR/help" "$BATS_TEST_TMPDIR/man"
}

@test "no help has two blank lines in a row" {
	local name
	for name in $("$stoker" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
		[ "$name" != help ] || continue
		"$stoker" "$name" --help >"$BATS_TEST_TMPDIR/help"
		echo "$name"
		[ "$(cat -s "$BATS_TEST_TMPDIR/help")" = "$(cat "$BATS_TEST_TMPDIR/help")" ]
	done
}

@test "every short option of record is in the man page" {
	"$stoker" record --help | grep -oE '^  -[a-zA-Z]' | tr -d ' -' | grep -v h | sort -u >"$BATS_TEST_TMPDIR/help"
	while read -r letter; do
		grep -qE "^\.It Fl $letter( |\$)" user/man/stoker.1 || {
			echo "-$letter is not in the man page"
			return 1
		}
	done <"$BATS_TEST_TMPDIR/help"
}

@test "every subcommand is in the man page, with its own heading" {
	local name
	"$stoker" help | sed -n 's/^  \([a-z]*\) .*/\1/p' >"$BATS_TEST_TMPDIR/names"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/names")" -gt 8 ]
	while read -r name; do
		echo "$name"
		grep -qE "^\.Ss (.*, )?$name( |\$)" user/man/stoker.1
		sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/p' user/man/stoker.1 | grep -qw "$name"
	done <"$BATS_TEST_TMPDIR/names"
}

@test "every mark in stacks is in the man page, in README.md, in the help of record and of the html page" {
	local mark file
	sed -nE 's/^#define PROFILE_[A-Z_]+ "(\[[a-z ]+\])".*/\1/p' user/profile/marks.h >"$BATS_TEST_TMPDIR/all"
	grep -vE 'runnable|throttled|stopped|sleeping|blocked|idle' "$BATS_TEST_TMPDIR/all" >"$BATS_TEST_TMPDIR/marks"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/marks")" -ge 3 ]
	[ "$(wc -l <"$BATS_TEST_TMPDIR/all")" -ge 18 ]
	while read -r mark; do
		grep -qF -- "$mark" user/man/stoker.1 user/man/stoker-file.5 || {
			echo "$mark is not in the man page"
			return 1
		}
	done <"$BATS_TEST_TMPDIR/all"
	"$stoker" record --help >"$BATS_TEST_TMPDIR/help"
	while read -r mark; do
		for file in user/man/stoker.1 README.md "$BATS_TEST_TMPDIR/help" user/sink/page/page.html; do
			grep -qF -- "$mark" "$file" || {
				echo "no $mark in $file"
				return 1
			}
		done
	done <"$BATS_TEST_TMPDIR/marks"
	grep -q '^\.Dl # stoker: [0-9.]* % of the samples are guessed 0$' user/man/stoker.1
}

@test "every key of the daemon's configuration is in its page, and no other" {
	"$stoker" daemon --help | sed -nE '/^;?\[/{s/^;?(\[.*\]).*/\1/p;d}; s/^;?([a-z_]+) = .*/\1/p' | sort >"$BATS_TEST_TMPDIR/keys"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/keys")" -gt 20 ]
	sed -n '/^\.Sh CONFIGURATION/,/^\.Sh STORE/p' user/man/stoker-daemon.8 |
		sed -nE 's/^\.Ss (\[.*\])$/\1/p; /^\.It Cm /{s/^\.It Cm //;s/ , /\n/g;p}' | sort >"$BATS_TEST_TMPDIR/man"
	diff "$BATS_TEST_TMPDIR/keys" "$BATS_TEST_TMPDIR/man"
}

@test "every option of daemon is in its page" {
	"$stoker" daemon --help | head -n 1 | grep -- --stopped
	"$stoker" daemon --help | sed -nE 's/^  -([a-z]), --([a-z]+).*/.It Fl \1 , -\2/p' >"$BATS_TEST_TMPDIR/help"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/help")" -ge 3 ]
	sed -nE 's/^(\.It Fl [a-z] , -[a-z]+).*/\1/p' user/man/stoker-daemon.8 | diff "$BATS_TEST_TMPDIR/help" -
}

@test "every path that the HTTP process answers is in the page, but for what its own page asks for" {
	sed -nE 's/^\t\{ "(\/[a-z]*)", route_.*/\1/p' user/http/routes.c | sort >"$BATS_TEST_TMPDIR/paths"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/paths")" -ge 5 ]
	sed -nE 's/^\.It Pa (\/[a-z]*)( .*)?$/\1/p' user/man/stoker-daemon.8 | grep -vx /var | sort | diff "$BATS_TEST_TMPDIR/paths" -
}

@test "every metric of the HTTP process is in the page" {
	local name
	grep -oE '"stoker_[a-z_]+' user/http/metrics.c | tr -d '"' | sort -u >"$BATS_TEST_TMPDIR/names"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/names")" -ge 5 ]
	while read -r name; do
		echo "$name"
		grep -qw "$name" user/man/stoker-account.5
	done <"$BATS_TEST_TMPDIR/names"
}

@test "no English word of a heading or an item is taken for a macro" {
	! grep -nE '^\.(It|Ss|Sh|Pq|Dq|Sq)( .*)? (In|At|An|Do|So|Me|Ms) [a-z]' user/man/*.[1-8] || false
}

@test "the pages are set without a warning: a line that begins with a dot by chance is lost" {
	local page
	command -v groff >/dev/null || skip 'no groff on this machine'
	for page in user/man/*.[1-8]; do
		groff -mdoc -Tutf8 -ww "$page" 2>&1 >"$BATS_TEST_TMPDIR/out" | tee "$BATS_TEST_TMPDIR/said"
		[ ! -s "$BATS_TEST_TMPDIR/said" ]
		[ "$(wc -l <"$BATS_TEST_TMPDIR/out")" -gt 100 ]
	done
}
