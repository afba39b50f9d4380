#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How tools/check-vm judges a machine (tests/vm/judge.bash, cpus.bash): what did not arrive is a failure.

bats_require_minimum_version 1.5.0

setup() {
	command -v jq >/dev/null || skip 'jq is not installed'
	kernel=made got=$BATS_TEST_TMPDIR/got
	# shellcheck source=tests/vm/judge.bash
	. "$BATS_TEST_DIRNAME/../vm/judge.bash"
	# shellcheck source=tests/vm/guard.bash
	. "$BATS_TEST_DIRNAME/../vm/guard.bash"
	# shellcheck source=tests/vm/cpus.bash
	. "$BATS_TEST_DIRNAME/../vm/cpus.bash"
	mkdir "$got"
}

# judge_all: every check, with what it says in $said.
judge_all() {
	said=$BATS_TEST_TMPDIR/said
	judge >"$said" 2>&1 || :
	cat "$said"
	echo "$passed passed, $failed failed, $skipped skipped"
}

# holds NAME: the check of that name passed.
holds() {
	grep -q "^ *[0-9]*s  ok made $1" "$said"
}

@test "a machine that sent nothing fails every check, and none is skipped" {
	judge_all
	[ "$passed" -eq 0 ]
	[ "$skipped" -eq 0 ]
	[ "$failed" -ge 25 ]
}

@test "files that arrived empty fail every check" {
	local file
	for file in verifier doctor generation locks_mappings record times timed stats folded asking nested part returned online \
		unbound asked daemon captured reported complaints paranoid http; do
		: >"$got/$file"
		: >"$got/$file.status"
		: >"$got/$file.folded"
	done
	judge_all
	[ "$passed" -eq 0 ]
	[ "$skipped" -eq 0 ]
}

@test "a machine with a disk is judged by its mark, its metrics and its clocks" {
	local file
	run ! it_samples 0
	run ! it_is_left_alone
	for file in mark metrics clocks doctor daemon; do
		: >"$got/$file"
	done
	run ! it_samples 0
	run ! it_is_left_alone
	echo '{"running":true,"deaths":1}' >"$got/mark"
	echo 'stoker_sampling 1' >"$got/metrics"
	echo 2 >"$got/clocks"
	it_samples 1
	run ! it_samples 0
	run ! it_is_left_alone
	echo 0 >"$got/clocks"
	run ! it_samples 1
}

@test "a machine with many CPUs that sent nothing, or empty files, fails every check" {
	local file possible=512
	judge_cpus
	[ "$passed" -eq 0 ]
	for file in possible present online record stats folded before after percpu percpu_maps limited returned \
		online_after complaints; do
		: >"$got/$file"
		: >"$got/$file.status"
		: >"$got/$file.folded"
	done
	judge_cpus
	[ "$passed" -eq 0 ]
	[ "$failed" -ge 28 ]
}

@test "a machine with many CPUs is judged by each CPU, by CPU time and by memory" {
	local possible=512
	echo '0-1,4' >"$got/online"
	printf '%s;spin;main;spin_here 20\n' 0 1 4 >"$got/folded"
	cpus_are_sampled folded online
	sed -i 's/^4;\(.*\) 20/4;\1 9/' "$got/folded"
	run ! cpus_are_sampled folded online
	echo '{"hz":50,"ticks":{"skipped":30,"lost":{"ring_full":1}},"bpf":{"memory_bytes":40000000}}' >"$got/stats"
	printf '%s 0\n' 0 1 4 >"$got/before"
	printf '%s 53\n' 0 1 4 >"$got/after"
	samples_fit_cpu_time
	printf '%s 90\n' 0 1 4 >"$got/after"
	run ! samples_fit_cpu_time
	printf '%s 20\n' 0 1 4 >"$got/after"
	run ! samples_fit_cpu_time
	echo 6570000 >"$got/percpu_maps"
	printf '%s\n' 1000 9000 >"$got/percpu"
	memory_is_within_its_budget
	possible=100
	run ! memory_is_within_its_budget
}

@test "a kernel's log without complaints is one that was read" {
	echo 0 >"$got/complaints"
	run ! kernel_did_not_complain
	echo 312 >"$got/complaints"
	kernel_did_not_complain
	echo 'WARNING: CPU: 0' >>"$got/complaints"
	run ! kernel_did_not_complain
}

@test "a program that the kernel's types do not want is not asked for" {
	printf '%s\n' 'sample ok insns=1' 'scan ok insns=1' 'scan_tasks unwanted this kernel has no mmap' >"$got/verifier"
	echo 0 >"$got/verifier.status"
	judge_all
	holds 'verifier accepts sample'
	holds 'verifier accepts scan'
	holds 'mappings can be scanned'
	run ! grep -q 'accepts scan_tasks' "$said"
}

@test "a program that is refused fails, and so does a kernel on which nothing scans" {
	printf '%s\n' 'sample ok insns=1' 'scan refused 13' 'scan_tasks unwanted this kernel has no mmap' >"$got/verifier"
	judge_all
	grep -qF 'not ok made verifier accepts scan' "$said"
	grep -qF 'not ok made mappings can be scanned' "$said"
}

@test "doctor is held against what was seen of mappings" {
	echo 'less  mappings               cannot be cached between samples' >"$got/doctor"
	echo none >"$got/generation"
	doctor_is_right_about_mappings
	echo int >"$got/generation"
	run ! doctor_is_right_about_mappings
	echo 'ok    mappings               scanned, and cached between samples' >"$got/doctor"
	doctor_is_right_about_mappings
	echo none >"$got/generation"
	run ! doctor_is_right_about_mappings
}

@test "a kernel that locks single mappings must number their changes, and no other may" {
	local locks way
	for locks in yes no; do
		for way in none int seqcount; do
			echo "$locks" >"$got/locks_mappings"
			echo "$way" >"$got/generation"
			if [[ $locks-$way == yes-none || ($locks == no && $way != none) ]]; then
				run ! the_way_fits_the_kernel
			else
				the_way_fits_the_kernel
			fi
		done
	done
}

@test "a file whose end did not come over the console did not arrive" {
	printf '%s\n' '@@begin whole' one '@@end whole' '@@begin cut' one '@@begin next' two '@@end next' '@@begin last' three \
		>"$BATS_TEST_TMPDIR/console"
	unpack_console "$BATS_TEST_TMPDIR/console"
	[ "$(ls "$got")" = $'next\nwhole' ]
	[ "$(cat "$got/next")" = two ]
}
