#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What tools/hostile judges, with measurements made here: each thing that does not hold is named, and
# nothing else.

bats_require_minimum_version 1.5.0

# shellcheck source=tests/binaries.bash
. "$BATS_TEST_DIRNAME/../binaries.bash"

# judged: standard input is Python that spoils the measurements `m`, of a run in which all held; prints the
# failures, a line each.
judged() {
	"$python" - "$BATS_TEST_DIRNAME/../../tools" <<-PYTHON
		import sys
		sys.path.insert(0, sys.argv[1])
		sys.dont_write_bytecode = True
		from hostile_parts.judge import judge
		def part(since, until):
		    return {'since': since, 'until': until, 'rates': [19], 'cpu_percent': 0.5, 'bpf_percent': 0.4, 'forged': [],
		            'others': {'samples': 1000, 'complete': 999, 'wrong': 0, 'example': '', 'by': {}}}
		m = {'interval_s': 10, 'seconds': 90, 'quiet_seconds': 20, 'quiet': part(0, 20), 'hostile': part(20, 110),
		     'intervals': [(10.0 * i, 10.0 * i + 10) for i in range(11)], 'agents': 1, 'status': 0, 'new_files': 5,
		     'looks': [{'at': i, 'rss_kb': 30000, 'descriptors': 100, 'bpf_bytes': 20 << 20} for i in range(90)],
		     'work': [{'swapped': 5, 'hung': 2}, {'swapped': 4, 'hung': 1}]}
		$(cat)
		print(*judge(m)[1], sep='\n')
	PYTHON
}

# fails WORDS: the one failure, of measurements that standard input spoils.
fails() {
	run -0 judged
	echo "$output"
	[ "${#lines[@]}" -eq 1 ]
	[[ $output == *"$1"* ]]
}

@test "a run in which all holds has no failure" {
	run -0 judged <<<''
	[ -z "$output" ]
	run -0 judged <<<'for l in m["looks"][60:]: l["rss_kb"] = 31400; m["hostile"]["others"]["complete"] = 989'
	[ -z "$output" ]
}

@test "memory, descriptors and BPF memory that grow or shrink are failures" {
	fails 'RSS is not flat: 29.3 MB in the middle third, 31.2 in the last' \
		<<<'for l in m["looks"][60:]: l["rss_kb"] = 32000'
	# A process that comes and goes.
	run -0 judged <<<'for l in m["looks"][60::2]: l["rss_kb"] = 38000'
	[ -z "$output" ]
	fails 'descriptors is not flat' <<<'for l in m["looks"][60:]: l["descriptors"] = 94'
	fails 'descriptors is not flat' <<<'for l in m["looks"][60:]: l["descriptors"] = 116'
	run -0 judged <<<'for l in m["looks"][60:]: l["descriptors"] = 115' # five new programs have two each
	[ -z "$output" ]
	fails 'BPF memory is not flat' <<<'for l in m["looks"][60:]: l["bpf_bytes"] = 22 << 20'
	fails 'RSS is not flat' <<<'for l in m["looks"]: l["rss_kb"] = 0'
}

@test "an interval that ends late, or never, is a failure" {
	fails 'an interval ended 3.0 s late' <<<'m["intervals"][5:] = [(b + 3, e + 3) for b, e in m["intervals"][5:]]'
	fails 'an interval ended 30.0 s late' <<<'del m["intervals"][-3:]; m["hostile"]["until"] = 120'
	fails 'an interval ended inf s late' <<<'m["intervals"] = []'
}

@test "stacks of others that are cut are a failure, and so are none" {
	fails 'complete stacks of the others fell from 99.90 to 98.80 %' <<<'m["hostile"]["others"]["complete"] = 988'
	fails 'no samples of the others in the quiet run' <<<'m["quiet"]["others"]["samples"] = 0'
}

@test "wrong and forged names are failures" {
	fails '2 samples of the others have wrong names in the hostile run' <<<'m["hostile"]["others"]["wrong"] = 2'
	fails 'forged names in the hostile run' <<<'m["hostile"]["forged"] = ["a;jitmap;forged 1"]'
}

@test "CPU time of the daemon and of its ticks is compared with the quiet run" {
	fails 'user CPU rose from 0.50 to 1.60 % of a core' <<<'m["hostile"]["cpu_percent"] = 1.6'
	fails 'BPF CPU rose from 0.40 to 1.50 % of a core' <<<'m["hostile"]["bpf_percent"] = 1.5'
}

@test "an attack that does nothing for a minute is a failure" {
	fails 'minute 2: no work of hung' <<<'m["work"][1]["hung"] = 0'
	fails 'no minute of the attacks was counted' <<<'m["work"] = []'
}

@test "a daemon that was started again, or failed, is a failure" {
	fails '2 processes sampled' <<<'m["agents"] = 2'
	fails 'the daemon ended with 1' <<<'m["status"] = 1'
}

# stacks: of the lines of standard input, in a container with the id `ours`.
stacks() {
	"$python" - "$BATS_TEST_DIRNAME/../../tools" "$(cat)" <<-'PYTHON'
		import sys
		sys.path.insert(0, sys.argv[1])
		sys.dont_write_bytecode = True
		from hostile_parts.judge import stacks_of
		programs = {'deep': '(main )?(descend )*(deep_leaf )?', 'stripped': r'(stripped\+0x[0-9a-f]+ )*'}
		out = stacks_of(sys.argv[2].splitlines(), {'ours'}, programs, {'__libc_start_main'})
		print(out['samples'], out['complete'], out['wrong'])
	PYTHON
}

@test "right names are those of the program, in their order, and of libraries" {
	[ "$(stacks <<<'ours;deep;__libc_start_main;libc.so.6+0x12f0;main;descend;descend;deep_leaf;tick_[k] 7')" = '7 7 0' ]
	[ "$(stacks <<<'ours;stripped;__libc_start_main;stripped+0x1090;stripped+0x1140 3')" = '3 3 0' ]
	[ "$(stacks <<<'ours;deep;[truncated];descend;deep_leaf 5')" = '5 0 0' ]
	[ "$(stacks <<<'ours;deep;main;[guessed];descend;deep_leaf 5')" = '5 0 0' ]
	[ "$(stacks <<<'other;deep;main;forged 5')" = '0 0 0' ]
}

@test "names of others, names in no order, no names and programs of others are wrong" {
	[ "$(stacks <<<'ours;deep;main;descend;forged 2')" = '2 2 2' ]
	[ "$(stacks <<<'ours;deep;main;deep_leaf;descend 2')" = '2 2 2' ]
	[ "$(stacks <<<'ours;deep;main;descend;deep+0x1290 2')" = '2 2 2' ]
	[ "$(stacks <<<'ours;stripped;stripped+0x1090;spin_here 2')" = '2 2 2' ]
	[ "$(stacks <<<'ours;forger;main;spin_here 2')" = '2 2 2' ]
}
