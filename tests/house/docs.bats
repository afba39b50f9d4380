#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# HACKING.md and ARCHITECTURE.md: the reading list is short, and the files that they name exist.

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
}

# section FILE HEADING: with its heading, to the next one of that rank.
section() {
	awk -v heading="## $2" '/^## / { on = $0 == heading } on' "$1"
}

# rows HEADING FILE: the rows of the section's tables that begin with a file, with tabs between cells.
rows() {
	section "$2" "$1" | sed -n 's/^| `\([^`]*\)` | \(.*\) | \([0-9]*\) |$/\1\t\2\t\3/p'
}

# part_lines FILE PART: how many lines that is; nothing if there is no such part.
part_lines() {
	case $2 in
	all) wc -l <"$1" ;;
	[0-9]*-[0-9]*) sed -n "${2%-*},${2#*-}p" "$1" | wc -l ;;
	*) section "$1" "$2" | wc -l ;;
	esac
}

# list_fits: each row of the reading list in $1 has its file, its part and no more lines than it says.
list_fits() {
	local file part most lines sum=0 wrong=0
	while IFS=$'\t' read -r file part most; do
		lines=$([ ! -f "$file" ] || part_lines "$file" "$part")
		if [ "${lines:-0}" -eq 0 ] || [ "$lines" -gt "$most" ]; then
			echo "$file, $part: ${lines:-no} lines, not 1 to $most"
			wrong=1
		fi
		if [[ $part == [0-9]*-* ]] && sed -n "${part%-*}p;${part#*-}p" "$file" | grep -q '^[[:space:]]'; then
			echo "$file, $part: begins or ends within a block"
			wrong=1
		fi
		sum=$((sum + most))
	done < <(rows 'Read first' "$1")
	echo "$sum lines"
	[ "$wrong" -eq 0 ] && [ "$sum" -gt 0 ] && [ "$sum" -le 1000 ]
}

@test "the reading list of HACKING.md has its files and at most 1,000 lines" {
	list_fits HACKING.md
}

@test "a reading list with a missing file, a missing section, a long part or a long sum is refused" {
	local row
	for row in '`no/such/file.h` | all | 10' '`HACKING.md` | No such section | 10' '`HACKING.md` | all | 3' \
		'`HACKING.md` | 100000-100001 | 10' '`HACKING.md` | 1-5 | 1001' \
		'`bpf/abi.h` | 1-107 | 110'; do
		printf '## Read first\n\n| %s |\n\n## Next\n' "$row" >"$BATS_TEST_TMPDIR/list.md"
		if list_fits "$BATS_TEST_TMPDIR/list.md"; then
			echo "taken: $row"
			return 1
		fi
	done
	printf '## Read first\n\n| `HACKING.md` | 1-5 | 5 |\n' >"$BATS_TEST_TMPDIR/list.md"
	list_fits "$BATS_TEST_TMPDIR/list.md"
}

# named_files FILE...: paths between backquotes, but those of a pattern such as NAME.c.
named_files() {
	grep -oh '`[^`]*`' "$@" | tr -d '`' | sed 's/ .*//' |
		grep -E '^(bpf|user|tests|tools|vmlinux)/[a-z]' | grep -vE 'NAME|ARCH|FOLDER' | sort -u
}

@test "every file that ARCHITECTURE.md and HACKING.md name exists" {
	local one missing=0
	[ "$(named_files ARCHITECTURE.md HACKING.md | wc -l)" -gt 0 ]
	while read -r one; do
		compgen -G "$one" >/dev/null || {
			echo "no $one"
			missing=1
		}
	done < <(named_files ARCHITECTURE.md HACKING.md)
	[ "$missing" -eq 0 ]
}

@test "the glossary explains fifteen terms, each in one sentence" {
	section ARCHITECTURE.md Glossary | grep '^| [^-]' | tail -n +2 >"$BATS_TEST_TMPDIR/terms"
	cat "$BATS_TEST_TMPDIR/terms"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/terms")" -eq 15 ]
	run -1 grep '[.] ' "$BATS_TEST_TMPDIR/terms"
}
