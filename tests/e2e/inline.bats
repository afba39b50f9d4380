#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Inlined frames: where they stand in a profile, and from which files their names are.
# seconds: 30

load lib

# build NAME OPTION...: $tmp/NAME, which burns CPU in kernel() in middle() in outer(), of which only
# the last one is a function of its own when it is run.
build() {
	local name=$1
	shift
	cat >"$tmp/$name.c" <<'C'
#include <stdint.h>

static volatile uint64_t sink;

static inline __attribute__((always_inline)) uint64_t kernel(uint64_t x)
{
	for (int i = 0; i < 1000; i++)
		x = x * 6364136223846793005 + 1442695040888963407;
	return x;
}

static inline __attribute__((always_inline)) uint64_t middle(uint64_t x)
{
	return kernel(x) ^ kernel(x + 1);
}

__attribute__((noinline)) void outer(uint64_t x)
{
	sink += middle(x);
}

int main(void)
{
	for (uint64_t i = 0;; i++)
		outer(i);
}
C
	(cd "$tmp" && "${CC:-cc}" -O2 -g -o "$name" "$@" "$name.c")
}

# sample NAME OPTION...: profile and account of $tmp/NAME are in $tmp/f and $tmp/s.
sample() {
	local name=$1
	shift
	start "$tmp/$name"
	wait_until 10 has_run "$pid"
	record_cpu 0.5 "$pid" -F 999 --by '' --user -o "$tmp/f" --stats "$tmp/s" "$@"
	hottest "$tmp/f"
	jq -c .frames "$tmp/s"
}

all_inlined() {
	between "$(folded_share "$tmp/f" 'main;outer;middle_\[i\];kernel_\[i\]$')" 90 100 \
		"whole chains in $1, %"
}

@test "inlined callees stand above the function they are part of, and are counted apart" {
	need cc
	build prog
	sample prog --inline
	all_inlined prog
	jq -e '.frames.inlined > 0 and .frames.lines_given_up == 0' "$tmp/s"
	jq -e '.frames.total == .frames.named + ([.frames.unnamed[]] | add // 0)' "$tmp/s"
}

@test "without --inline there are none" {
	need cc
	build prog
	sample prog
	between "$(folded_share "$tmp/f" 'main;outer$')" 90 100 'whole stacks, %'
	[ "$(folded_count "$tmp/f" '_\[i\]')" -eq 0 ]
	jq -e '.frames.inlined == 0' "$tmp/s"
}

@test "they come from a separate debug file too, compressed or not" {
	local kind
	need cc objcopy
	for kind in none zlib zstd; do
		build prog
		(cd "$tmp" && objcopy --only-keep-debug --compress-debug-sections=$kind prog prog.dbg 2>"$tmp/said") ||
			{ grep -qi 'zstd' "$tmp/said" && continue; }
		strip "$tmp/prog"
		sample prog --inline
		all_inlined "prog.dbg, $kind"
		jq -e '.frames.by_source.debug_file > 0' "$tmp/s"
	done
}

@test "they come in each interval" {
	need cc
	build prog
	start "$tmp/prog"
	wait_until 10 has_run "$pid"
	record -p "$pid" -F 199 -d 3 --interval 1 --by '' --user --inline -o "$tmp/f.%s"
	[ "$(ls "$tmp"/f.* | wc -l)" -ge 2 ]
	for f in "$tmp"/f.*; do
		[ -s "$f" ] || continue
		cp "$f" "$tmp/f"
		all_inlined "$f"
	done
}

@test "they come from what dwz shared out of two programs" {
	need cc dwz
	build prog -gdwarf-4
	(cd "$tmp" && cp prog other && dwz -m common prog other)
	readelf -SW "$tmp/prog" | grep -q gnu_debugaltlink
	readelf --debug-dump=info "$tmp/prog" 2>/dev/null | grep -q 'alt indirect string\|alt: ' ||
		skip 'dwz found nothing to share'
	sample prog --inline
	all_inlined 'prog and what it shares'
	mv "$tmp/common" "$tmp/gone"
	sample prog --inline
	[ "$(folded_count "$tmp/f" 'kernel_\[i\]')" -eq 0 ]
	# Another file in its place is not taken for it.
	build wrong
	mv "$tmp/wrong" "$tmp/common"
	sample prog --inline
	[ "$(folded_count "$tmp/f" 'kernel_\[i\]')" -eq 0 ]
	between "$(folded_share "$tmp/f" 'main;outer')" 90 100 'names without it, %'
}

# split OPTION: $tmp/prog with a split file, and no trace of it once it is gone.
split() {
	build prog "$1" -gsplit-dwarf
	[ -n "$(find "$tmp" -name '*.dwo')" ]
	sample prog --inline
	all_inlined "prog and its .dwo, $1"
}

without_splits() {
	rm -f "$tmp"/*.dw[op]
	sample prog --inline
	[ "$(folded_count "$tmp/f" '_\[i\]')" -eq 0 ]
	between "$(folded_share "$tmp/f" 'main;outer')" 90 100 'names without them, %'
}

@test "they come from split files and from packages of them" {
	need cc dwp
	split -gdwarf-4
	(cd "$tmp" && timeout 10 dwp -e prog -o prog.dwp && rm ./*.dwo)
	sample prog --inline
	all_inlined 'prog and its .dwp'
	without_splits
}

@test "they come from split files of DWARF 5" {
	need cc
	split -gdwarf-5
	without_splits
}

# The dwp of binutils writes packages of DWARF 4 alone, and LLVM's reads what clang wrote.
@test "they come from packages of DWARF 5" {
	local dwp
	need clang
	dwp=$(command -v llvm-dwp || find /usr/bin -name 'llvm-dwp-*' | sort -V | tail -n 1)
	[ -n "$dwp" ] || skip 'no llvm-dwp on this machine'
	CC=clang split -gdwarf-5
	(cd "$tmp" && timeout 20 "$dwp" -e prog -o prog.dwp && rm ./*.dwo)
	sample prog --inline
	all_inlined 'prog and its .dwp'
	without_splits
}
