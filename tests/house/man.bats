#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The manual pages: the options that --help prints are there, and nothing in them is lost.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || exit 1
	stoker=${STOKER:-./stoker}
}

@test "every long option of record is in the man page, and no other" {
	"$stoker" record --help | grep -o -- '--[a-z][a-z-]*' | sort -u |
		grep -vxE -- '--(help|all|pid|tid|frequency|duration|output|format|quiet)' >"$BATS_TEST_TMPDIR/help"
	sed '/^\.Ss jit/,/^\.Ss help/d' user/man/stoker.1 | grep -oE '^\.It Fl -[a-z][a-z-]*' | sed 's/^\.It Fl /-/' | sort -u >"$BATS_TEST_TMPDIR/man"
	diff "$BATS_TEST_TMPDIR/help" "$BATS_TEST_TMPDIR/man"
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

@test "the pages are set without a warning: a line that begins with a dot by chance is lost" {
	local page
	command -v groff >/dev/null || skip 'no groff on this machine'
	for page in user/man/*.[1-8]; do
		groff -mdoc -Tutf8 -ww "$page" 2>&1 >"$BATS_TEST_TMPDIR/out" | tee "$BATS_TEST_TMPDIR/said"
		[ ! -s "$BATS_TEST_TMPDIR/said" ]
		[ "$(wc -l <"$BATS_TEST_TMPDIR/out")" -gt 100 ]
	done
}
