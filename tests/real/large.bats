#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Files with far more CFI than is hit: the first stacks are whole, and memory follows the pages that
# are hit.
# seconds: 15

load real

# anonymous PID: the most that a worker below this process has, in KB, until it ends.
anonymous() {
	local most=0 now pid
	while kill -0 "$1" 2>/dev/null; do
		for pid in $(pgrep -f '^stoker worker'); do
			now=$(awk '/^RssAnon/ { print $2 }' "/proc/$pid/status" 2>/dev/null) || continue
			[ "${now:-0}" -le "$most" ] || most=$now
		done
	done
	echo "$most"
}

# soon NAME MODULE COMMAND...: the first whole stack of a file is one of the first 50 ms after its first
# tick; $end: ms until no stack is cut. Pages of the file are in memory, unless COLD has a file: its
# pages are not, and the figures are printed alone.
soon() {
	local name=$1 module=$2 figures
	shift 2
	if [ "${COLD:-}" ]; then
		"$python" -c 'import os, sys; f = os.open(sys.argv[1], os.O_RDONLY); os.fsync(f); os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED)' "$COLD"
	fi
	timeout -k 5 60 "$stoker" record -q -F 1999 -d 3 -f perf -o "$tmp/f" --stats "$tmp/s" -- "$@" \
		>"$tmp/said" 2>&1 </dev/null
	adds_up "$tmp/s"
	figures=$("$real/soon" "$tmp/f" "$module")
	echo "$name: samples, cut ones, first whole one and end of the cut ones in ms: $figures" |
		tee -a "${REAL_LOG:-/dev/null}"
	read -r samples cut whole end <<<"$figures"
	between "$samples" 50 30000 'samples in the file'
	[ "${COLD:-}" ] || between "$whole" 0 50 'ms to the first whole stack'
}

# made COPIES: $program, with so many times 1.5 MB of .eh_frame, and in $functions its functions.
made() {
	local i objects=()
	[ "$(uname -m)" = x86_64 ] || skip "large.S is for x86-64"
	gcc -c -DFIRST "$real/large.S" -o "$tmp/first.o"
	gcc -c "$real/large.S" -o "$tmp/part.o"
	for ((i = 1; i < $1; i++)); do
		ln -sf part.o "$tmp/part-$i.o"
		objects+=("$tmp/part-$i.o")
	done
	program=$tmp/large-$1
	gcc -O2 -no-pie -o "$program" "$real/large.c" "$tmp/first.o" "${objects[@]}"
	functions=$((65536 * $1))
}

eh_frame_bytes() {
	printf '%d\n' "0x$(readelf -SW "$1" | sed -n 's/.* \.eh_frame  *[A-Z0-9_]*  *[0-9a-f]* [0-9a-f]* \([0-9a-f]*\) .*/\1/p')"
}

@test "a file with 100 MB of .eh_frame: whole stacks at once, memory of the pages that are hit" {
	local small
	made 2
	soon small "${program##*/}" "$program" "$functions" 200
	small=$(jq .tables.page_bytes "$tmp/s")
	made 67
	between "$(eh_frame_bytes "$program")" 100000000 120000000 'bytes of .eh_frame'
	soon large "${program##*/}" "$program" "$functions" 200
	between "$end" 0 50 'ms until no stack is cut'
	# Eleven pages of 64 KiB of text against the three that a small one has in all.
	between "$(jq .tables.page_bytes "$tmp/s")" 1 $((small + 11 * 40000)) 'bytes of rows'
	COLD=$program soon 'large, cold' "${program##*/}" "$program" "$functions" 200
	"$program" "$functions" 20000 &
	started+=($!)
	timeout -k 5 60 "$stoker" record -q -F 1999 -d 2 -p $! -o "$tmp/f" &
	between "$(anonymous $!)" 1 40000 'KB of its own that a worker had'
}

@test "libLLVM" {
	need clang
	local library
	library=$(ldd "$(readlink -f "$(type -P clang)")" | sed -n 's/.* => \(.*libLLVM[^ ]*\) .*/\1/p')
	[ "$library" ] || skip "clang here is without libLLVM"
	clang -O2 -c "$real/mix.c" -o "$tmp/mix.o"
	soon libLLVM "$(basename "$(readlink -f "$library")")" clang -O2 -c "$real/mix.c" -o "$tmp/mix.o"
	# A compiler runs in new pages to its end, and beside other programs a worker is late.
	between "$cut" 0 $((samples * 3 / 100)) 'cut ones'
	COLD=$(readlink -f "$library") soon 'libLLVM, cold' "$(basename "$(readlink -f "$library")")" clang -O2 -c "$real/mix.c" -o "$tmp/mix.o"
}

@test "chromium" {
	need chromium
	soon chromium chromium chromium --headless --no-sandbox --disable-gpu --user-data-dir="$tmp/profile" \
		--dump-dom 'data:text/html,<script>for (let i = 0; i < 3e7; i++) document.title = i</script>'
	between "$(jq '100 * (.user_stacks.truncated.no_table // 0) / .user_stacks.total' "$tmp/s")" 0 1 \
		'per cent without a table'
}
