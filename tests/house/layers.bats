#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tools/check-layers: each rule finds its breach, and a tree without one passes.

bats_require_minimum_version 1.5.0

setup() {
	check=$BATS_TEST_DIRNAME/../../tools/check-layers
	tree=$BATS_TEST_TMPDIR/tree build=$BATS_TEST_TMPDIR/build
	mkdir -p "$tree"/user/{base,cgroup,elf,sym,profile,sink,worker,cmd,proc,sampler,unwind} "$tree"/{bpf,tests/unit}
	cd "$tree" || return 1
}

# Writes a file of user/ that is in order but for the lines given.
put() {
	local path=$1
	shift
	printf '/* SPDX-License-Identifier: Apache-2.0 */\n/* What it is for. */\n' >"$path"
	printf '%s\n' "$@" >>"$path"
}

breach() {
	run -1 "$check" --root "$tree"
	[ "${lines[0]}" = "$1" ]
	[ "${#lines[@]}" -eq 1 ]
}

@test "a tree in order passes and prints nothing" {
	put user/elf/a.c '#include "base/buf.h"' '#include "elf/a.h"'
	put user/sink/a.c '#include "profile/profile.h"' '#include "bpf/reasons.h"'
	put user/unwind/a.c '#include "bpf/unwind.bpf.h"' '#include "elf/a.h"'
	put user/sampler/a.c '#include "sample.skel.h"' '#include "bpf/abi.h"'
	put user/cmd/a.c '#include "base/log.h"' 'printf("%d\n", 1);' 'fputs("x", stdout);'
	put tests/unit/a.c '#include "sink/a.h"' '#include "bpf/shim.h"' 'open(p);'
	run -0 "$check" --root "$tree"
	[ -z "$output" ]
}

@test "a layer that includes a higher one is named with its line" {
	put user/elf/a.c '' '#include "sym/a.h"'
	breach 'user/elf/a.c:4: elf/ must not include sym/'
}

@test "layers side by side do not include each other" {
	put user/cgroup/a.c '#include "proc/maps.h"'
	breach 'user/cgroup/a.c:3: cgroup/ must not include proc/'
}

@test "headers that include each other are found, with the circle" {
	put user/elf/a.h '#include "elf/b.h"'
	put user/elf/b.h '#include "elf/c.h"'
	put user/elf/c.h '#include "elf/a.h"'
	breach 'user/elf/a.h:1: includes itself: user/elf/a.h → user/elf/b.h → user/elf/c.h → user/elf/a.h'
}

@test "a folder of too many files or lines is found" {
	local i
	for ((i = 0; i <= 40; i++)); do put "user/elf/a$i.h" ''; done
	breach 'user/elf:1: 41 files: no more than 40 are allowed'
	rm "$tree"/user/elf/*
	put user/elf/a.h "$(seq 5001 | sed 's|.*|//|')"
	breach 'user/elf:1: 5003 lines: no more than 5000 are allowed'
}

@test "the lines of a folder inside another count for both" {
	mkdir user/elf/deep
	put user/elf/a.h "$(seq 2500 | sed 's|.*|//|')"
	put user/elf/deep/a.h "$(seq 2500 | sed 's|.*|//|')"
	breach 'user/elf:1: 5004 lines: no more than 5000 are allowed'
}

@test "bpf has a limit of lines, too" {
	put bpf/a.h "$(seq 9991 | sed 's|.*|//|')"
	sed -i '1s/Apache/GPL-2.0-only OR Apache/' bpf/a.h
	breach 'bpf:1: 9993 lines: no more than 9990 are allowed'
}

@test "an include of ours is found however it is written" {
	local line
	put user/sym/a.h ''
	for line in '#include <sym/a.h>' '#include <sample.skel.h>' '#include <./sym/a.h>' '#include "base/../sym/a.h"' \
		'#include/**/"sym/a.h"' '# include /* a */ "sym/a.h"' '%:include "sym/a.h"' '#include NAME' \
		'#include_next "sym/a.h"' '#import "sym/a.h"' '#include "sym/a.inc"' '#include "sym//a.h"' \
		$'#incl\\\nude "sym/a.h"' $'#include \\\n"sym/a.h"' '#include "sym/a.h" // b' '/* a */ #include "sym/a.h"'; do
		put user/elf/a.c '' "$line"
		echo "$line"
		run -1 "$check" --root "$tree"
		[[ ${lines[0]} == user/elf/a.c:4:\ * ]]
		[ "${#lines[@]}" -eq 1 ]
	done
	put user/elf/a.c '/*' '#include "sym/a.h"' '*/' '// #include "sym/a.h"' 's = "#include \"sym/a.h\"";' \
		'#include <elf.h> /* "sym/a.h" */'
	run -0 "$check" --root "$tree"
}

@test "the line of an include after a joined line is its own" {
	put user/elf/a.c $'#define A \\\n\t1' '#include "sym/a.h"'
	breach 'user/elf/a.c:5: elf/ must not include sym/'
}

# object NAME CODE: an object of this code in the build, and a source of that name.
object() {
	put "user/$1.c" ''
	mkdir -p "$build/user/${1%/*}"
	cc -x c -c -o "$build/user/$1.o" - <<<"$2"
}

@test "a parser's object that reaches a system call is found, also through other layers" {
	object elf/a 'int dprintf(int, const char *, ...); int f(void) { return dprintf(2, ""); }'
	run -1 "$check" --root "$tree" --objects "$build"
	[ "$output" = 'user/elf/a.c:1: elf/ makes no system call: dprintf' ]
	object elf/a 'int g(void); int f(void) { return g(); }'
	object base/b 'int getrandom(void *, int, int); int g(void) { return getrandom(0, 0, 0); }'
	run -1 "$check" --root "$tree" --objects "$build"
	[ "$output" = 'user/elf/a.c:1: elf/ makes no system call: getrandom, by user/base/b.c' ]
}

@test "a parser's object may use memory, other layers and the opener what they like" {
	object elf/a '#include <string.h>
		int f(const char *s) { return strlen(s); }'
	object base/b 'int getrandom(void *, int, int); int g(void) { return getrandom(0, 0, 0); }'
	object proc/opener 'int openat(int, const char *, int, ...); int h(void) { return openat(0, 0, 0); }'
	run -0 "$check" --root "$tree" --objects "$build"
	[ -z "$output" ]
	run -1 "$check" --root "$tree" --objects "$build/nowhere"
}

@test "a sink sees profile and base only" {
	put user/sink/a.c '#include "elf/image.h"'
	breach 'user/sink/a.c:3: a sink sees profile/ and base/ only, not elf/'
}

@test "main.c sees cmd and base only" {
	put user/main.c '#include "sampler/sampler.h"'
	breach 'user/main.c:3: main.c is the table of subcommands: it sees cmd/ and base/, not sampler/'
}

@test "an include without its folder is found" {
	put user/elf/a.c '#include "image.h"'
	breach 'user/elf/a.c:3: "image.h": write it "folder/file.h"'
}

@test "the unwinder's BPF source is for user/unwind alone" {
	put user/sampler/a.c '#include "bpf/unwind.bpf.h"'
	breach 'user/sampler/a.c:3: user/ sees bpf/abi.h, bpf/reasons.h of bpf/ and nothing else'
}

@test "the skeleton is for the sampler alone" {
	put user/cmd/a.c '#include "sample.skel.h"'
	breach 'user/cmd/a.c:3: only sampler/ and waiting/ see a skeleton'
}

@test "bpf knows nothing of user" {
	put bpf/a.bpf.c '#include "base/buf.h"'
	sed -i '1s/Apache/GPL-2.0-only OR Apache/' bpf/a.bpf.c
	breach 'bpf/a.bpf.c:3: bpf/ knows nothing of user/'
}

@test "a struct between kernel and user space whose size nobody asserts is found" {
	put bpf/abi.h 'struct a {' '};' '_Static_assert(sizeof(struct a) == 0, "a");' \
		'_Static_assert(sizeof(struct b) == 0, "b");'
	put bpf/abi_part.h 'struct b {' '};' 'struct c {' '};'
	sed -i '1s/Apache/GPL-2.0-only OR Apache/' bpf/*.h
	breach 'bpf/abi_part.h:5: no _Static_assert on the size of struct c'
}

@test "cmocka is included by the header of unit tests alone" {
	put tests/unit/unit.h '#include <cmocka.h>'
	put tests/unit/a.c '' '#include <cmocka.h>'
	breach 'tests/unit/a.c:4: an include of cmocka; tests include unit.h'
}

@test "a sleep in a test is found in each language, a word or a function of that ending is not" {
	local line
	for line in 'sleep 1' 'sleep "$1"' 'usleep(10);' 'nanosleep(&t, NULL);' 'time.sleep(3)' \
		'time.Sleep(pause)' 'await page.waitForTimeout(9)' 'read -r -t 5 line' 'read -rt 5'; do
		put tests/unit/a.c '' "$line"
		breach 'tests/unit/a.c:4: a sleep: wait for the event, or add it to SLEEPS with its reason'
	done
	put tests/unit/a.c '/* they sleep, then wake */' 'int __wrap_nanosleep(int a);' 'read -r line'
	run -0 "$check" --root "$tree"
}

@test "an excuse for a sleep that is gone is found" {
	mkdir tests/step tests/step/targets
	put tests/step/targets/signals.c 'nanosleep(&t, NULL);'
	run -0 "$check" --root "$tree"
	put tests/step/targets/signals.c 'pause();'
	breach "tests/step/targets/signals.c:1: no line has 'nanosleep(': remove it from SLEEPS"
}

@test "a log in a parser is found" {
	put user/proc/a.c '#include "base/log.h"'
	breach "user/proc/a.c:3: only cmd, daemon, output, traps include base/log.h"
}

@test "printing outside cmd is found, other functions of that ending are not" {
	put user/profile/a.c 'buf_printf(b, "x");' '__attribute__((format(printf, 1, 2)))' 'puts("x");'
	breach 'user/profile/a.c:5: only cmd, output, terminal write to stdout'
}

@test "a system call in a parser is found, a member of that name is not" {
	put user/elf/a.c 'ops->open(x);' 'ops.read(x);' '/* open(x) */ "read(x)"' 'fd = open(x);'
	breach 'user/elf/a.c:6: elf/ makes no system call: open()'
}

@test "the opener may open" {
	put user/proc/opener.c 'fd = openat(dir, path, 0);'
	run -0 "$check" --root "$tree"
}

@test "a file without a licence is found" {
	printf 'int x;\n' >tests/unit/a.c
	breach 'tests/unit/a.c:1: no SPDX-License-Identifier in the first lines'
}

@test "a BPF source under the licence of user space is found" {
	put bpf/a.bpf.c ''
	breach 'bpf/a.bpf.c:1: licence is Apache-2.0, not GPL-2.0-only OR Apache-2.0'
}

@test "a source of user that does not say what it is for is found" {
	printf '/* SPDX-License-Identifier: Apache-2.0 */\nint x;\n' >user/elf/a.c
	breach 'user/elf/a.c:2: no opening comment below the licence line'
}

@test "unfinished places are found in every file, also in documents" {
	for word in TODO FIXME XXX HACK; do
		printf 'a line\nsome %s here\n' "$word" >README.md
		breach 'README.md:2: an unfinished place'
	done
	printf 'HACKING.md is not one\n' >README.md
	run -0 "$check" --root "$tree"
}

@test "a path of one machine is found, a path below another process's root is not" {
	printf '/proc/PID/root/usr\n/home/user/x\nsee /work/x/y\n' >README.md
	breach 'README.md:3: a path of one machine'
}

@test "state at file scope is found, constants and functions are not" {
	put user/elf/a.c 'static const int x[] = { 1 };' 'static int f(void);' 'static int count;'
	breach 'user/elf/a.c:5: mutable state at file scope'
}

@test "a folder at the top level that is not of the tree is found" {
	mkdir docs && printf 'x\n' >docs/a.md
	breach 'docs/a.md:1: the top level is fixed: no folder docs/'
}

@test "a file at the top level that is not of the tree is found" {
	echo x >README.md
	echo x >p.data
	breach 'p.data:1: the top level is fixed: no such file'
}

@test "what the build leaves behind is not looked at" {
	printf '/out.json\n' >.gitignore
	printf 'TODO\n' >out.json
	mkdir .build && printf 'TODO\n' >.build/a.c
	run -0 "$check" --root "$tree"
}

@test "the tree that this test is part of has no breach" {
	run -0 "$check"
}

@test "a wrong option is a usage error" {
	run -2 --separate-stderr "$check" --no-such-option
	[ -z "$output" ]
}
