#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tools/campaigns and tools/check-long, in made-up repositories: what changed since a campaign ran is
# counted, and rows are true.

bats_require_minimum_version 1.5.0

setup() {
	tools=$BATS_TEST_DIRNAME/../../tools
	# shellcheck source=tests/binaries.bash
	. "$BATS_TEST_DIRNAME/../binaries.bash"
	tree=$BATS_TEST_TMPDIR/tree
	export GIT_CONFIG_GLOBAL=$BATS_TEST_TMPDIR/gitconfig GIT_CONFIG_NOSYSTEM=1 LC_ALL=C.UTF-8
	export BUILD=$BATS_TEST_TMPDIR/build
	unset IN_CAMPAIGN MAKEFLAGS
	git config --global user.name somebody
	git config --global user.email somebody@example.org
	export CAMPAIGNS_TABLE='
soak | echo 5 passed, 0 failed | lib/*.c src'
	mkdir -p "$tree"/{lib,other,src,tests,tools}
	cd "$tree" || return 1
	cp "$tools"/{campaigns,check-long} tools
	ledger
	seq 100 >src/a.c
	seq 200 >lib/b.c
	seq 300 >lib/b.h
	git init -q -b main .
	commit
}

# An empty ledger.
ledger() {
	cat >tests/CAMPAIGNS.md <<-'END'
		# Campaigns

		Words.

		| campaign | commit | date | machine | duration | result | paths |
		| --- | --- | --- | --- | --- | --- | --- |
	END
}

commit() {
	git add -A
	git commit -q -m "${1:-a change}"
}

# The campaign ran HEAD; its row is committed.
ran() {
	tools/campaigns record "${1:-soak}" 7 '5 passed, 0 failed'
	ran=$(git rev-parse HEAD)
	commit row
}

short() {
	echo "${ran:0:12} of $(date -u +%F)"
}

@test "an unchanged tree says nothing" {
	ran
	run -0 tools/campaigns check
	[ -z "$output" ]
}

@test "what changed is reported by campaign, committed or not, and other paths are not" {
	ran
	echo more >>src/a.c
	sed -i 1d lib/b.c
	echo more >>lib/b.h
	echo new >other/c
	run -0 tools/campaigns check
	[ "$output" = "campaigns: soak: 2 lines of its 300 changed since $(short)" ]
	commit
	run -0 tools/campaigns check
	[ "$output" = "campaigns: soak: 2 lines of its 300 changed since $(short)" ]
}

@test "a pattern is not a beginning, and a folder is not the beginning of another" {
	ran
	mkdir srcs
	seq 10 | tee srcs/a.c >lib/b.cc
	commit
	run -0 tools/campaigns check
	[ -z "$output" ]
}

@test "more than 3,000 lines are too many" {
	ran
	seq 3000 >>src/a.c
	run -0 tools/campaigns check
	echo one more >>src/a.c
	run -1 tools/campaigns check
	[ "$output" = "campaigns: soak: 3001 lines of its 3301 changed since $(short), more than 3000: run it again: tools/check-long soak" ]
}

@test "of many lines a fifth may change" {
	seq 19700 >src/big.c
	commit
	ran
	sed -i '1,2000s/^/x/' src/big.c
	run -0 tools/campaigns check
	[[ $output == *': 4000 lines of its 20000 changed'* ]]
	sed -i '2001s/^/x/' src/big.c
	run -1 tools/campaigns check
	[[ $output == *': 4002 lines of its 20000 changed'*'more than 4000'* ]]
}

@test "a file that only moved counts nothing, within the paths, into them or out of them" {
	seq 5000 >other/c
	commit
	ran
	git mv src/a.c src/d.c
	git mv other/c src/c.c
	git mv lib/b.c other/b.c
	echo >lib/new.c
	git add lib/new.c
	run -0 tools/campaigns check
	[[ $output == 'campaigns: soak: 1 lines of '* ]]
}

@test "a path from which all has moved is named" {
	ran
	git mv src elsewhere
	run -0 tools/campaigns check
	[[ $output == 'campaigns: soak: there is nothing at src: '* ]]
}

@test "a file that moved and was edited counts the edit, under its old path or its new one" {
	ran
	git mv src/a.c other/d.c
	echo >src/new.c
	git mv lib/b.h lib/e.c
	echo more | tee -a other/d.c >>lib/e.c
	git add -A
	run -0 tools/campaigns check
	[[ $output == 'campaigns: soak: 3 lines of '* ]]
}

@test "file names with spaces, tabs and newlines are counted" {
	ran
	seq 3 >$'src/a b'
	seq 4 >$'src/a\tb'
	seq 5 >$'src/a\nb'
	git add -A
	run -0 tools/campaigns check
	[[ $output == 'campaigns: soak: 12 lines of '* ]]
}

@test "each campaign has its own paths and its own commit" {
	CAMPAIGNS_TABLE+='
fuzz | true | other'
	ran soak
	echo c >other/c
	commit
	ran fuzz
	echo a >>src/a.c
	run -0 tools/campaigns check
	[[ $output == 'campaigns: soak: 1 lines of '* ]]
	[ "${#lines[@]}" -eq 1 ]
}

@test "a shallow clone fetches the row's commit" {
	ran
	echo more >>src/a.c
	commit
	git clone -q --depth 1 "file://$tree" ../shallow
	cd ../shallow
	run -1 git cat-file -e "$ran"
	run -0 tools/campaigns check
	[ "$output" = "campaigns: soak: 1 lines of its 301 changed since $(short)" ]
}

@test "a shallow clone that cannot fetch the commit says so and passes" {
	ran
	git clone -q --depth 1 "file://$tree" ../shallow
	mv "$tree" "$tree.gone"
	cd ../shallow
	run -0 tools/campaigns check
	[[ $output == "campaigns: soak: not compared: this clone is shallow, and commit $ran cannot be fetched: "?* ]]
}

@test "in a whole clone a commit that does not exist is a failure of its row" {
	ran
	sed -i "s/$ran/0123456789012345678901234567890123456789/" tests/CAMPAIGNS.md
	run -1 tools/campaigns check
	[ "$output" = "campaigns: soak: its row's commit 0123456789012345678901234567890123456789 is not in this repository: run it again: tools/check-long soak" ]
}

@test "a tree without .git says so and passes, in another repository's folder too" {
	ran
	mkdir other/copy
	cp -r tools tests src lib other/copy
	echo more >>other/copy/src/a.c
	cd other/copy
	run -0 tools/campaigns check
	[[ $output == *'no git clone or git is not installed' ]]
	[ "${#lines[@]}" -eq 1 ]
}

@test "a machine without git says so and passes" {
	local tool
	ran
	mkdir ../bin
	for tool in awk bash cat cut dirname grep mktemp rm sed; do
		ln -s "$(command -v $tool)" ../bin
	done
	run -0 env PATH="$PWD/../bin" tools/campaigns check
	[[ $output == *'no git clone or git is not installed' ]]
	[ "${#lines[@]}" -eq 1 ]
}

@test "a malformed row is a failure" {
	local edit
	ran
	for edit in 's/| 7 s |/| long |/' 's/| [0-9a-f]\{40\} |/| HEAD |/' 's/20..-..-../today/' \
		's/`//g' 's/ |$//' 's/5 passed/5 | passed/' 's/^| soak/soak/'; do
		git checkout -q tests/CAMPAIGNS.md
		sed -i "/^| soak/$edit" tests/CAMPAIGNS.md
		run -1 git diff --quiet
		run -1 tools/campaigns check
		[[ ${lines[0]} == 'campaigns: tests/CAMPAIGNS.md: a malformed row: '*soak* ]]
	done
}

@test "a campaign without a row is a failure" {
	run -1 tools/campaigns check
	[ "$output" = 'campaigns: soak has no row in tests/CAMPAIGNS.md: run it: tools/check-long soak' ]
}

@test "a row without a campaign, and a second row, are failures" {
	ran
	sed -n '/^| soak/s/soak/siesta/p' tests/CAMPAIGNS.md >>tests/CAMPAIGNS.md.new
	cat tests/CAMPAIGNS.md.new >>tests/CAMPAIGNS.md
	run -1 tools/campaigns check
	[ "$output" = 'campaigns: tests/CAMPAIGNS.md: siesta has a row, but is no campaign' ]
	sed -i s/siesta/soak/ tests/CAMPAIGNS.md
	run -1 tools/campaigns check
	[ "$output" = 'campaigns: tests/CAMPAIGNS.md: soak has two rows' ]
}

@test "no row is written for a path that nothing is at" {
	CAMPAIGNS_TABLE+=' gone/*.c'
	run -1 tools/campaigns record soak 7 well
	[[ $output == *': soak: there is nothing at gone/*.c: correct its paths in tools/campaigns' ]]
}

@test "a row stands for the paths that were run, and is said to where the campaign has others" {
	ran
	CAMPAIGNS_TABLE='soak | true | other'
	echo a | tee -a other/c >>src/a.c
	git add -A
	run -0 tools/campaigns check
	[ "${lines[0]}" = 'campaigns: soak: its row is for other paths than it has now: lib/*.c src' ]
	[[ ${lines[1]} == 'campaigns: soak: 1 lines of its 301 changed'* ]]
}

@test "a row is put into the table, and replaced where it stands" {
	CAMPAIGNS_TABLE+='
fuzz | true | src'
	ran soak
	ran fuzz
	tools/campaigns record soak 8 'a | b
c'
	[ "$(grep -c '^| ' tests/CAMPAIGNS.md)" -eq 4 ]
	[[ $(sed -n 7p tests/CAMPAIGNS.md) == "| soak | $(git rev-parse HEAD) | $(date -u +%F) | "*", Linux $(uname -r) | 8 s | a b c | \`lib/*.c src\` |" ]]
	[[ $(sed -n 8p tests/CAMPAIGNS.md) == "| fuzz | $ran | "* ]]
	run -0 tools/campaigns check
	[ "$(ls tests)" = CAMPAIGNS.md ]
}

@test "no row is written where the working tree differs in the campaign's paths, and elsewhere it may" {
	echo more >>other/c
	tools/campaigns record soak 7 well
	ledger
	echo more >>src/a.c
	run -1 tools/campaigns record soak 7 well
	[[ $output == *'the working tree differs from commit '*'src/a.c' ]]
	git checkout -q src
	echo new >src/new.c
	run -1 tools/campaigns record soak 7 well
	[[ $output == *'src/new.c' ]]
	run -1 grep soak tests/CAMPAIGNS.md
	run -1 tools/campaigns record siesta 7 well
	[[ $output == *'there is no campaign siesta; there are: soak' ]]
}

# ---- tools/check-long ------------------------------------------------------------------------------

need_root() {
	[ "$(id -u)" -eq 0 ] || skip 'tools/check-long is for root'
}

result_of() {
	sed -n "s/^| $1 .* s | \(.*\) | .*/\1/p" tests/CAMPAIGNS.md
}

@test "a campaign that passed has a row with its last line, and one that failed keeps its old row" {
	need_root
	ran
	CAMPAIGNS_TABLE='
fuzz | echo first; echo 3 finds; false | src
soak | echo first; echo 6 passed, 0 failed | lib/*.c src
step | echo $((3 + 4)) passed in an empty folder $(ls "$work") | src'
	run -1 tools/check-long
	[[ $output == *'not ok fuzz: exit 1; its old row stays'*'ok soak: 6 passed, 0 failed'*'ok step: 7 passed'* ]]
	[ -z "$(result_of fuzz)" ]
	[ "$(result_of soak)" = '6 passed, 0 failed' ]
	[ "$(result_of step)" = '7 passed in an empty folder' ]
	[ "$(cat "$BUILD/long/fuzz.log")" = $'first\n3 finds' ]
}

@test "campaigns that are named run alone, and a name that is none is an error" {
	need_root
	CAMPAIGNS_TABLE+='
fuzz | touch ran-fuzz; echo well | src'
	run -0 tools/check-long soak
	[ ! -e ran-fuzz ]
	run -2 tools/check-long siesta
	[[ $output == *'there is no campaign siesta; there are: soak fuzz' ]]
}

@test "a campaign that ran no test, or said nothing, has no row" {
	need_root
	CAMPAIGNS_TABLE='
fuzz | true | src
soak | echo 0 passed, 0 failed, 9 skipped | src'
	run -1 tools/check-long
	[[ $output == *'not ok fuzz: it ran nothing'*'not ok soak: it ran nothing'* ]]
	run -1 grep -E '^. (soak|fuzz)' tests/CAMPAIGNS.md
}

@test "the row has the commit that was there when the campaign began" {
	need_root
	CAMPAIGNS_TABLE='
soak | touch other/c; git add -A; git commit -qm later; echo well | src'
	run -0 tools/check-long
	grep -q "^| soak | $(git rev-parse HEAD~) | " tests/CAMPAIGNS.md
}

@test "a campaign whose paths changed before or while it ran has no row" {
	need_root
	CAMPAIGNS_TABLE='
soak | echo more >>src/a.c; git commit -qam later; echo well; touch ran | src'
	run -1 tools/check-long
	[[ $output == *'the working tree differs from commit '*src/a.c ]]
	rm ran
	echo more >>src/a.c
	run -1 tools/check-long
	[ ! -e ran ]
	run -1 grep '^. soak' tests/CAMPAIGNS.md
}

@test "SIGINT ends what runs and leaves the ledger with what had passed" {
	need_root
	ran
	CAMPAIGNS_TABLE='
fuzz | echo well | src
soak | mkfifo pipe; bash -c "echo \$\$ >runs; while :; do read -r line <>pipe; done"; echo 0 | src'
	local status=0
	env --default-signal=INT tools/check-long >said 2>&1 3>&- &
	wait_until 30 test -s runs
	kill -INT $!
	wait $! || status=$?
	cat said
	[ "$status" -eq 130 ]
	run -1 kill -0 "$(cat runs)"
	[ "$(result_of fuzz)" = well ]
	[ "$(result_of soak)" = '5 passed, 0 failed' ]
	[ "$(ls tests)" = CAMPAIGNS.md ]
}
