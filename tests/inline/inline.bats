#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Inlined frames and lines of real programs, at ten thousand addresses each, against addr2line's and,
# where it is installed, llvm-addr2line's. How they are compared, tests/inline/agree says.
#
#   INLINE_ADDRESSES   how many (10000)     INLINE_SHOWN   print differences (0)
# seconds: 20

bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../binaries.bash"

addresses=${INLINE_ADDRESSES:-10000}
shown=${INLINE_SHOWN:-0}

setup() {
	here=$BATS_TEST_DIRNAME
	frames=$(dirname "${TARGETS:-$here/../../.build/tests/targets}")/inline/frames
	[ -x "$frames" ] || {
		echo "no program to ask: $frames; make targets builds it"
		return 1
	}
	out=$BATS_TEST_TMPDIR
	cd "$out" || return 1
}

need() {
	command -v "$1" >/dev/null || skip "no $1 on this machine"
}

# build CC CXX OPTION...: ./prog, which later tests with the same options get too.
build() {
	local cc=$1 cxx=$2 file kept="$BATS_FILE_TMPDIR/$*"
	need "$cxx"
	shift 2
	if [ -f "$kept" ]; then
		cp "$kept" prog
		return
	fi
	for file in main words numbers; do
		"$cxx" -std=c++17 "$@" -c "$here/$file.cc" -o $file.o &
	done
	"$cc" "$@" -c "$here/plain.c" -o plain.o
	wait
	"$cxx" "$@" main.o words.o numbers.o plain.o -o prog
	cp prog "$kept"
}

# places FILE: addresses in its .text, always the same ones
places() {
	readelf -SW "$1" | sed -n 's/^ *\[ *[0-9]*\] \.text *PROGBITS *//p' |
		while read -r start _ size _; do
			awk -v from=$((16#$start)) -v len=$((16#$size)) -v n="$addresses" 'BEGIN {
				srand(7)
				for (i = 0; i < n; i++) printf "%x\n", from + int(rand() * len)
			}'
		done | sort -u
}

# check CODE DEBUG OPTION...: our frames of the addresses in CODE agree, from what is in DEBUG.
check() {
	local code=$1 debug=$2 theirs=(addr2line)
	shift 2
	need addr2line
	places "$code" >places
	[ "$(wc -l <places)" -gt $((addresses / 2)) ]
	"$frames" "$@" "$debug" <places >ours
	addr2line -a -i -f -e "${reference:-$debug}" <places >addr2line
	for tool in llvm-addr2line llvm-addr2line-{14,15,16,17,18,19}; do
		command -v $tool >/dev/null || continue
		$tool --no-demangle -a -i -f -e "${reference:-$debug}" <places >$tool
		theirs+=($tool)
		break
	done
	"$here/agree" -v "$shown" ours "${theirs[@]}" >&3
}

# Which tool it takes: addr2line of binutils 2.40 does not read all that clang writes.
need_llvm() {
	compgen -c | grep -q '^llvm-addr2line' || skip 'no llvm-addr2line on this machine'
}

@test "C++ by gcc, unused functions dropped, agrees" {
	build gcc g++ -O2 -g -ffunction-sections -Wl,--gc-sections
	check prog prog
}

@test "C++ by gcc in DWARF 3 agrees" {
	build gcc g++ -O2 -g -gdwarf-3
	check prog prog
}

@test "C++ by gcc, compressed, agrees" {
	build gcc g++ -O2 -g -ffunction-sections -Wl,--gc-sections
	reference=prog
	objcopy --compress-debug-sections=zlib prog packed
	check prog packed
}

@test "C++ by clang agrees" {
	need_llvm
	build clang clang++ -O2 -g
	check prog prog
}

@test "C++ by clang with split files agrees" {
	need_llvm
	build clang clang++ -O2 -g -gsplit-dwarf
	check prog prog -s main.dwo -s words.dwo -s numbers.dwo -s plain.dwo
}

@test "C++ by gcc, shared out by dwz, agrees" {
	need dwz
	build gcc g++ -O2 -g -gdwarf-3
	cp prog one && cp prog two
	dwz -m common one two
	reference=prog
	check prog one -a common
}

@test "Rust agrees" {
	need "$rustc"
	"$rustc" -O -g -o prog "$here/mix.rs"
	check prog prog
}

@test "the C library's debug file agrees" {
	local libc id debug
	libc=$(ldd "$(command -v bash)" | awk '$1 ~ /^libc\.so/ { print $3 }')
	id=$(readelf -n "$libc" | awk '/Build ID/ { print $3 }')
	debug=/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
	[ -f "$debug" ] || skip 'no libc6-dbg on this machine'
	need_llvm
	check "$libc" "$debug"
}
