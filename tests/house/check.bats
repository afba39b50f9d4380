#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tools/check and tools/run-unit with tests made here: what fails is run again, what runs side by side
# does, and the sums are right.

bats_require_minimum_version 1.5.0

setup() {
	tools=$BATS_TEST_DIRNAME/../../tools
	tree=$BATS_TEST_TMPDIR/tree
	mkdir -p "$tree"/{tools,tests/unit,.build}
	cp "$tools/check" "$tools/run-unit" "$tree/tools"
	cp "$BATS_TEST_DIRNAME/../binaries.bash" "$tree/tests"
	cd "$tree" || return 1
}

# A tree of which nothing is built, for tools/check.
nothing_to_build() {
	[ "$(id -u)" -eq 0 ] || skip 'tools/check is for root'
	printf '#!/bin/sh\n' >tools/deps
	chmod +x tools/deps
	printf '.build/stoker targets:\n\t@mkdir -p .build/tests/targets\n' >Makefile
	unset MAKEFLAGS BUILD
}

# As from a shell: bats runs below bats.
check() {
	local all=("${!BATS_@}")
	env "${all[@]/#/--unset=}" tools/check "$@"
}

# tests_of FILE: the tests of standard input, with TEST for @test, which this file's bats would take.
tests_of() {
	{
		printf '#!/usr/bin/env bats\n'
		sed s/^TEST/@test/
	} >"$1"
}

@test "a test that passes only the second time is named and counted apart" {
	nothing_to_build
	tests_of tests/flaky.bats <<-'END'
		first() { [ ! -e "$BATS_TEST_DIRNAME/$1" ] && touch "$BATS_TEST_DIRNAME/$1"; }
		TEST "passes" { true; }
		TEST "fails [at] first (a+b)" { if first a; then false; fi; }
		TEST "skips after it failed" { if first b; then false; fi; skip 'no reason'; }
		TEST "skips" { skip 'no reason'; }
	END
	run -0 check tests/flaky.bats
	[ "${lines[-1]}" = '1 passed, 0 failed, 2 skipped' ]
	[ "${lines[-2]}" = 'retried: 1 passed only the second time: tests/flaky.bats: fails [at] first (a+b)' ]
	[[ $output == *'tests/flaky.bats: skips after it failed: the second time: no reason'* ]]
}

@test "beside a file that can stand no other stoker run those that need none, and no others" {
	nothing_to_build
	mkdir tests/house
	mkfifo other apart
	tests_of tests/other.bats <<-'END'
		# seconds: 90
		TEST "ends when the one without a stoker has begun" { timeout 30 cat other; }
	END
	tests_of tests/apart.bats <<-'END'
		# no stoker: it counts all of them
		# seconds: 50
		TEST "runs after the other, beside the one without" { timeout 30 cat apart; }
	END
	tests_of tests/house/quiet.bats <<-'END'
		TEST "runs beside both" { timeout 30 sh -c 'echo >other && echo >apart'; }
	END
	LANES=2 run -0 check tests/{apart,other}.bats tests/house/quiet.bats
	[ "${lines[-1]}" = '3 passed, 0 failed, 0 skipped' ]
	[ "${lines[-2]}" = 'retried: 0 passed only the second time' ]
}

@test "one that waits runs beside full lanes, and no second one that computes" {
	nothing_to_build
	mkfifo first
	tests_of tests/first.bats <<-'END'
		# seconds: 90
		TEST "ends when the one that waits is beside it" { timeout 30 cat first && touch over; }
	END
	tests_of tests/second.bats <<-'END'
		# seconds: 80
		TEST "has its lane to itself" { [ -e over ]; }
	END
	tests_of tests/waiter.bats <<-'END'
		# waits: for the first
		# seconds: 70
		TEST "runs beside the first" { timeout 30 sh -c 'echo >first'; }
	END
	LANES=1 run -0 check tests/{first,second,waiter}.bats
	[ "${lines[-1]}" = '3 passed, 0 failed, 0 skipped' ]
	[ "${lines[-2]}" = 'retried: 0 passed only the second time' ]
}

@test "a test that fails twice has failed" {
	nothing_to_build
	tests_of tests/a.bats <<-'END'
		TEST "fails" { false; }
		TEST "fails, and more" { true; }
	END
	run -1 check tests/a.bats
	[ "${lines[-1]}" = '1 passed, 1 failed, 0 skipped' ]
	[ "${lines[-2]}" = 'retried: 0 passed only the second time' ]
	[[ $output == *'FAILED, twice: tests/a.bats: fails'* ]]
}

@test "a file of tests that does not come to its end has failed" {
	nothing_to_build
	tests_of tests/a.bats <<-'END'
		TEST "passes" { true; }
		TEST "ends its file" { kill -KILL "$PPID"; }
		TEST "is not reached" { true; }
	END
	run -1 check tests/a.bats
	[[ ${lines[-1]} == *' passed, '[1-9]*' failed, 0 skipped' ]]
}

@test "unit tests count by their last line, and without it they have failed" {
	nothing_to_build
	printf "unit:\n\t@echo '[  SKIPPED ] its_name'\n\t@echo 'unit: 5 passed, 0 failed, 1 skipped'\n" >>Makefile
	run -0 check unit_tests
	[ "${lines[-1]}" = '5 passed, 0 failed, 1 skipped' ]
	[[ $output == *'unit: its_name: the reason is in its source'* ]]
	sed -i '$d' Makefile
	run -1 check unit_tests
	[ "${lines[-1]}" = '0 passed, 1 failed, 0 skipped' ]
}

# unit NAME LINE...: a program that prints what cmocka does, and its source.
unit() {
	local name=$1
	shift
	printf '#!/bin/sh\n' >".build/$name"
	printf '%s\n' "$@" >>".build/$name"
	chmod +x ".build/$name"
	touch "tests/unit/$name.c"
	programs+=(".build/$name")
}

ok="echo '[       OK ] a'"

@test "unit programs run side by side, and one that is to be alone after the others" {
	mkfifo pipe
	unit test_alone '[ -e one ] && [ -e two ] && [ ! -e running ] || exit 1' "$ok"
	printf '/* alone: it looks for others */\n' >tests/unit/test_alone.c
	unit test_one 'echo here >pipe' 'touch one' "$ok"
	unit test_two 'touch running' 'read -r line <pipe' 'rm running' 'touch two' "$ok"
	JOBS=2 run -0 timeout 60 tools/run-unit "${programs[@]}"
	[ "$output" = 'unit: 3 passed, 0 failed, 0 skipped' ]
}

@test "what a unit program printed is shown whole where it failed, and not elsewhere" {
	unit test_good 'echo good' "$ok"
	unit test_bad 'echo first' 'echo last' "$ok" "echo '[  FAILED  ] 2 test(s), listed below:'" 'exit 2'
	unit test_dies 'kill -SEGV $$'
	unit test_empty 'echo nothing'
	unit test_skips "echo '[  SKIPPED ] 1 test(s), listed below:'" "echo '[  SKIPPED ] its_name'" "$ok"
	run -1 tools/run-unit "${programs[@]}"
	[ "${lines[0]}" = 'test_bad: exit 2' ]
	[ "${lines[1]}" = first ]
	[ "${lines[2]}" = last ]
	[[ $output == *'test_dies: exit 139'*'test_empty: ran no test'*'[  SKIPPED ] its_name'* ]]
	[[ $output != *good* ]]
	[ "${lines[-1]}" = 'unit: 3 passed, 4 failed, 1 skipped' ]
}

@test "every file of tests in the tree is a part of the whole check, or of a campaign" {
	cd "$BATS_TEST_DIRNAME/../.."
	{
		bash -c 'eval "$(sed -n "/^\tset -- lint/,/bats$/p" tools/check)"; printf "%s\n" "$@"' | grep '\.bats$'
		eval "printf '%s\n' $(sed -n 's/^runtimes .* tools\/check \(.*bats\) |.*/\1/p' tools/campaigns)"
	} | sort -u >"$BATS_TEST_TMPDIR/run"
	diff <(find tests -name '*.bats' | sort) "$BATS_TEST_TMPDIR/run"
}
