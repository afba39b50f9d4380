#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tools/check-words: each rule finds its breach where readers look, and nowhere else.

bats_require_minimum_version 1.5.0

setup() {
	check=$BATS_TEST_DIRNAME/../../tools/check-words
	tree=$BATS_TEST_TMPDIR/tree
	mkdir -p "$tree"/user/{elf,sink} "$tree"/bpf
	cd "$tree" || return 1
}

# one TEXT: a header with this comment.
one() {
	printf '/* SPDX-License-Identifier: Apache-2.0 */\n/* elf/a.h - reads a. */\n/* %s */\n' "$1" >user/elf/a.h
}

breach() {
	run -1 "$check" --root "$tree"
	[[ ${lines[0]} == "$1"* ]]
	[ "${#lines[@]}" -eq 1 ]
}

@test "plain words pass, and nothing is printed" {
	one 'Sends an event after the table is ready. 0 or -errno; what fn returns goes up.'
	run -0 "$check" --root "$tree"
	[ -z "$output" ]
}

@test "each riddle is found with its line" {
	local text
	for text in 'What is read.' 'Of a register.' 'One that ends.' 'It ends. What holds is kept.' 'It was told.' \
		'It tells.' 'A held sample.' 'behind it' 'It stands there.' 'as many as may be'; do
		one "$text"
		echo "$text"
		breach 'user/elf/a.h:3: "'
	done
}

@test "a file that says what it is by a clause is found" {
	printf '/* elf/a.h - what a file has. */\n' >user/elf/a.h
	breach 'user/elf/a.h:1: ".h - what"'
}

@test "the text of a manual page is looked at, its macros are not" {
	mkdir user/man
	printf '.\\" What is here.\n.It Cm behind\nA line.\n' >user/man/a.1
	run -0 "$check" --root "$tree"
	echo 'What is sampled.' >>user/man/a.1
	breach 'user/man/a.1:4: "What i"'
}

@test "comments in a body are looked at as those of headers are" {
	printf '/* elf/a.c - reads a. */\nint f(void)\n{\n\t/* One that ends. */\n}\n' >user/elf/a.c
	breach 'user/elf/a.c:4: "One that e"'
	printf '/* elf/a.c - reads a. */\nint f(void)\n{\n\t/* goes behind it */\n}\n' >user/elf/a.c
	breach 'user/elf/a.c:4: "behind"'
}

@test "the three documents are looked at, without their code" {
	local file
	for file in README.md ARCHITECTURE.md HACKING.md; do
		printf 'Plain.\n\n| a | b |\n| `what is behind` | Free. |\n\n```\nWhat is behind\n```\n\nIt\nwas told.\n' >$file
		breach "$file:11: \"told\""
		printf 'Plain.\n\nFree. What\nis it.\n' >$file
		breach "$file:3: \"What i\""
		rm $file
	done
}

@test "a comment after code that opens with a pronoun is found, one on a line of its own is not" {
	local word
	for word in it its they that those this who which; do
		printf '/* elf/a.h - reads a. */\n/* %s begins */\nint a; /* %s begins */\n' "$word" "$word" >user/elf/a.h
		breach "user/elf/a.h:3: \"$word\": a comment after code"
	done
	printf '/* elf/a.h - reads a. */\nint a; /* item of it */\n' >user/elf/a.h
	run -0 "$check" --root "$tree"
}

@test "ways to say the same with those words pass where they are plain" {
	one 'They are told apart by a stand-in, and this stands for that.'
	run -0 "$check" --root "$tree"
}

@test "a message is looked at whole, over lines and macros" {
	printf '/* elf/a.c - reads a. */\nint f(void)\n{\n\treturn say("it stays "\n\t\t"behind the file");\n}\n' >user/elf/a.c
	breach 'user/elf/a.c:4: "behind"'
	printf '#define LIST(X) \\\n\tX(A, "a", \\\n\t\t"it was told")\n' >bpf/reasons.h
	rm user/elf/a.c
	breach 'bpf/reasons.h:3: "told"'
}

@test "the names in code are not looked at" {
	printf '/* elf/a.c - reads a. */\nint tell(int behind);\n' >user/elf/a.c
	run -0 "$check" --root "$tree"
	printf '/* elf/a.c - reads a.\n * It stands behind. */\n' >user/elf/a.c
	run -1 "$check" --root "$tree"
	[ "${#lines[@]}" -eq 2 ]
}

@test "a wrong argument is a usage error" {
	run -2 "$check" --what
}
