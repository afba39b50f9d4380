#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Unwind rows of a file that are compiled page by page, as they are hit, are those of its whole table.
# seconds: 10

load real

@test "pages of each program and library of this host are as in their whole tables" {
	find /usr/bin /usr/lib -type f \( -perm -u+x -o -name '*.so*' \) -print0 |
		xargs -0 -n 100000 -s 2000000 "${targets%/targets}/tools/rows_pages" >"$tmp/said"
	tail -n 3 "$tmp/said"
	between "$(tail -n 1 "$tmp/said" | cut -d ' ' -f 1)" 300 1000000 files
	grep ' 0 files differ$' "$tmp/said"
}
