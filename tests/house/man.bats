#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The options that --help prints are those of the man page.

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
