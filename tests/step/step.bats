#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The stepping test itself: that it can fail.
# seconds: 25

# Sanitized objects are for two tests; the stepper itself is the one that make built.
setup_file() {
	local targets=${TARGETS:-$BATS_TEST_DIRNAME/../../.build/tests/targets}
	[ "$(uname -m)" = x86_64 ] || skip 'the stepper knows x86-64 only'
	cd "$BATS_TEST_DIRNAME/../.." || return
	export BUILD=$BATS_FILE_TMPDIR STEPPER=${targets%/targets}/step/step
	export SANITIZED="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined"
	SANITIZED+=" -std=gnu11 -D_GNU_SOURCE -UNDEBUG -I$PWD/tests -I$PWD/tests/made -I$PWD -I$PWD/user"
	mkdir "$BUILD/objects"
	# shellcheck disable=SC2086 # flags
	printf '%s\0' "$PWD"/user/{unwind,elf,base}/*.c "$PWD/user/proc/maps.c" |
		(cd "$BUILD/objects" && xargs -0 -n 8 -P "$(nproc)" ${CC:-cc} $SANITIZED -c)
}

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
}

@test "a walk that is wrong and is not excepted fails, is named and is shown" {
	export EXCEPTIONS=$BATS_TEST_TMPDIR/exceptions
	grep -v swapcontext tests/step/exceptions >"$EXCEPTIONS"
	run tests/step/run jumps.o2
	echo "$output"
	[ "$status" -eq 1 ]
	grep -q '^  WRONG libc.so.6 __swapcontext chain [1-9]' <<<"$output"
	grep -q '^not ok jumps.o2' <<<"$output"
	grep -q '#0 0x[0-9a-f]* __swapcontext+' <<<"$output"
	[ "${lines[-1]}" = '0 passed, 1 failed, 0 skipped' ]
}

@test "an exception that nothing needs is told" {
	export EXCEPTIONS=$BATS_TEST_TMPDIR/exceptions
	{
		cat tests/step/exceptions
		echo 'no.such.object nothing chain of no use'
	} >"$EXCEPTIONS"
	run tests/step/run --report-stale jumps.o2
	echo "$output"
	[ "$status" -eq 0 ]
	grep -q "^not needed: $EXCEPTIONS:[0-9]*: no.such.object nothing" <<<"$output"
	! grep -q 'not needed:.*__swapcontext' <<<"$output" || false
}

@test "a target that does not say how to build it is an error" {
	local tree=$BATS_TEST_TMPDIR/tree
	mkdir "$tree"
	cp -r --parents tests/step "$tree"
	sed -i 's/ BUILD/ BULD/' "$tree/tests/step/targets/vdso.c"
	run "$tree/tests/step/run" vdso
	echo "$output"
	[ "$status" -eq 2 ]
	grep -q 'vdso.c: it must say how to build it' <<<"$output"
}

@test "the unwinder walks recorded stacks under the sanitizers" {
	local test
	for test in test_walk test_unwind test_unwind_arm64; do
		# shellcheck disable=SC2086
		${CC:-cc} $SANITIZED "tests/unit/$test.c" "$BUILD"/objects/*.o \
			-lz -lzstd -lbpf -lcmocka -o "$BUILD/$test"
		"$BUILD/$test"
	done
}

@test "the unwinder walks running programs under the sanitizers" {
	# shellcheck disable=SC2086
	${CC:-cc} $SANITIZED -Itests/step tests/step/*.c "$BUILD"/objects/*.o -lz -lzstd -lbpf -o "$BUILD/sanitized"
	STEPPER=$BUILD/sanitized run tests/step/run jumps.o2 plt.lazy assembly.o2
	echo "$output"
	[ "$status" -eq 0 ]
	[ "${lines[-1]}" = '3 passed, 0 failed, 0 skipped' ]
}
