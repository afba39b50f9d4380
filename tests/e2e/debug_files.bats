#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A stripped program has the names of its separate debug file wherever that may lie; a file of
# another build is refused, and said to be.
# seconds: 45

load lib

# build [OPTION...]: $tmp/prog with all symbols, $tmp/full; $tmp/prog is stripped, $tmp/debug has what was taken.
build() {
	cat >"$tmp/prog.c" <<'C'
#include <stdint.h>

static volatile uint64_t sink;

__attribute__((noinline)) static uint64_t inner(uint64_t x)
{
	for (int i = 0; i < 1000; i++)
		x = x * 6364136223846793005 + 1442695040888963407;
	return x;
}

__attribute__((noinline)) static void outer(uint64_t x)
{
	sink += inner(x) + 1;
}

int main(void)
{
	for (uint64_t i = VERSION;; i++)
		outer(i);
}
C
	"${CC:-cc}" -O2 -g -DVERSION="${version:-1}" -o "$tmp/full" "$@" "$tmp/prog.c"
	objcopy --only-keep-debug "$tmp/full" "$tmp/debug"
	objcopy --strip-all "$tmp/full" "$tmp/prog"
	id=$(readelf -n "$tmp/full" | awk '/Build ID/ { print $3 }')
}

# place FILE: as the path of the debug file, in folders that may have to be made.
place() {
	mkdir -p "$(dirname "$1")"
	cp "$tmp/debug" "$1"
}

# start_prog [DEBUG_PATH]: with a /usr/lib/debug of its own, where the debug file is put. Alone: the
# root that is searched is that of whoever was first seen to run the file.
start_prog() {
	[ -z "${pid:-}" ] || kill -KILL "$pid"
	unshare --mount true 2>/dev/null || skip 'no mount namespaces here'
	# shellcheck disable=SC2016 # for the inner shell
	start unshare --mount sh -c 'set -e
		mount -t tmpfs none /usr/lib/debug
		[ -z "$2" ] || { mkdir -p "$(dirname "$2")"; cp "$3" "$2"; }
		exec "$1"' sh "$tmp/prog" "${1:-}" "$tmp/debug"
	wait_until 10 has_run "$pid"
}

# sample OPTION...: of $pid.
sample() {
	record_cpu 0.5 "$pid" -F 999 --by '' --user -o "$tmp/f" --stats "$tmp/s" "$@"
	hottest "$tmp/f"
	jq -c '[.frames, .debug_files, .unnamed_files]' "$tmp/s"
}

# named WHERE [OPTION...]: all of $tmp/prog has names.
named() {
	local where=$1
	shift
	sample "$@"
	between "$(folded_share "$tmp/f" 'main;outer;inner$')" 95 100 "named, debug file $where, %"
	[ "$(folded_count "$tmp/f" 'prog\+0x')" -eq 0 ]
}

nameless() {
	sample "$@"
	[ "$(folded_count "$tmp/f" 'inner|outer')" -eq 0 ]
	between "$(folded_share "$tmp/f" 'prog\+0x')" 95 100 'without names, %'
	by_starts
}

# by_starts: each function of $tmp/prog is called by its start in the file.
by_starts() {
	local shift at
	shift=$(readelf -SW "$tmp/full" | awk '$2 == ".text" { print "0x" $4 " - 0x" $5 }')
	nm "$tmp/full" | awk '$2 ~ /^[tT]$/ { print $1 }' | while read -r at; do
		printf 'prog+0x%x\n' $((0x$at - (shift)))
	done | sort -u >"$tmp/functions"
	grep -o 'prog+0x[0-9a-f]*' "$tmp/f" | sort -u | comm -23 - "$tmp/functions" >"$tmp/others"
	[ -s "$tmp/functions" ]
	diff /dev/null "$tmp/others"
}

# refused REASON TEXT: the account says so, with both files.
refused() {
	jq -e --arg r "$1" --arg p "$tmp/prog" '.debug_files.refused[$r] >= 1 and
		any(.debug_files.refused_files[]; .reason == $r and .file == $p)' "$tmp/s"
	timeout 60 "$stoker" record -p "$pid" -F 499 -d 1 --by '' -o /dev/null 2>"$tmp/said" </dev/null
	cat "$tmp/said"
	grep "refused .* as debug file of $tmp/prog: .*$2" "$tmp/said"
}

@test "a stripped program has no names, and the account says why and what would help" {
	need cc objcopy
	build
	start_prog
	nameless
	jq -e --arg p "$tmp/prog" --arg id "$id" '.unnamed_files[0] | .file == $p and .reason == "stripped" and
		.build_id == $id and .frames > 100 and (.advice | contains("--debug-dir"))' "$tmp/s"
	timeout 60 "$stoker" record -p "$pid" -F 499 -d 1 --by '' -o /dev/null 2>"$tmp/said" </dev/null
	grep "unnamed .* frames of $tmp/prog: stripped.*prog.dbg beside it.*build ID $id" "$tmp/said"
}

@test "the build-ID tree" {
	need cc objcopy
	build
	start_prog "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
	named 'in the build-ID tree'
	jq -e '.debug_files.used >= 1 and .debug_files.refused == {}' "$tmp/s"
}

@test "where .gnu_debuglink says: beside, in .debug, below /usr/lib/debug; proven by its checksum" {
	local at
	need cc objcopy
	for at in "$tmp" "$tmp/.debug" "/usr/lib/debug$tmp"; do
		build -Wl,--build-id=none
		cp "$tmp/debug" "$tmp/linked.debug"
		objcopy --add-gnu-debuglink="$tmp/linked.debug" "$tmp/prog"
		rm "$tmp/linked.debug"
		case $at in
		/usr/*) start_prog "$at/linked.debug" ;;
		*)
			place "$at/linked.debug"
			start_prog
			;;
		esac
		named "in $at"
		rm -rf "$tmp/linked.debug" "$tmp/.debug"
	done
}

@test "beside the file in a chroot" {
	need cc objcopy chroot
	build -static
	mkdir -p "$tmp/root/bin"
	cp "$tmp/prog" "$tmp/root/bin/prog"
	place "$tmp/root/bin/prog.debug"
	start chroot "$tmp/root" /bin/prog
	wait_until 10 has_run "$pid"
	named 'in a chroot'
}

@test "NAME.dbg and NAME.debug beside the file, and below /usr/lib/debug" {
	local at
	need cc objcopy
	build
	for at in "$tmp/prog.dbg" "$tmp/prog.debug" "/usr/lib/debug$tmp/prog.debug" "/usr/lib/debug$tmp/prog.dbg"; do
		case $at in
		/usr/*) start_prog "$at" ;;
		*)
			place "$at"
			start_prog
			;;
		esac
		named "$at"
		rm -f "$tmp/prog.dbg" "$tmp/prog.debug"
	done
}

@test "a library's NAME.so.dbg beside it" {
	need cc objcopy
	build
	sed 's/int main(void)/int lib_main(void)/' "$tmp/prog.c" >"$tmp/lib.c"
	(cd "$tmp" && "${CC:-cc}" -O2 -g -DVERSION=1 -shared -fPIC -o libhot.so lib.c &&
		echo 'int lib_main(void); int main(void) { return lib_main(); }' >m.c &&
		"${CC:-cc}" -o prog m.c -L. -lhot -Wl,-rpath,"$tmp" &&
		objcopy --only-keep-debug libhot.so libhot.so.dbg && objcopy --strip-all libhot.so)
	start_prog
	sample
	between "$(folded_share "$tmp/f" 'lib_main;outer;inner$')" 95 100 'named by libhot.so.dbg, %'
}

@test "MiniDebugInfo alone" {
	need cc objcopy xz nm
	build
	(cd "$tmp" && nm -D --format=posix --defined-only prog | awk '{ print $1 }' | sort >dynsyms
		nm --format=posix --defined-only full | awk '$2 ~ /^[TtD]$/ { print $1 }' | sort >funcs
		comm -13 dynsyms funcs >keep
		objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=keep debug mini
		xz -k mini
		objcopy --add-section .gnu_debugdata=mini.xz prog)
	rm "$tmp/debug" "$tmp/full"
	start_prog
	named 'in the file itself'
	jq -e '.frames.by_source.debug_data > 0' "$tmp/s"
}

@test "sections compressed with zlib and with zstd" {
	local kind done=0
	need cc objcopy
	for kind in zlib zstd; do
		[ -z "${pid:-}" ] || kill -KILL "$pid"
		pid=
		build
		objcopy --compress-debug-sections=$kind "$tmp/debug" "$tmp/prog.dbg" 2>"$tmp/said" || continue
		readelf -tW "$tmp/prog.dbg" | grep -qi "$kind"
		start_prog
		named "compressed with $kind"
		sample --inline
		between "$(folded_share "$tmp/f" 'main;outer;inner$')" 95 100 "named with $kind, --inline, %"
		done=$((done + 1))
	done
	[ "$done" -eq 2 ] || skip "objcopy knows $done of the two"
}

@test "--debug-dir: as /usr/lib/debug, or by name; the target's root comes first" {
	need cc objcopy
	build
	place "$tmp/dir/.build-id/${id:0:2}/${id:2}.debug"
	place "$tmp/flat/prog.debug"
	start_prog
	named 'in the build-ID tree of DIR' --debug-dir "$tmp/dir"
	exits 1 record -p "$pid" -d 1 --debug-dir "$tmp/none-there" -o /dev/null
	said_clearly "--debug-dir $tmp/none-there: "
	mkdir "$tmp/empty"
	named 'in the second DIR' --debug-dir "$tmp/empty" --debug-dir "$tmp/flat"
	version=2 build
	cp "$tmp/debug" "$tmp/flat/prog.debug"
	kill -KILL "$pid"
	pid=
	build
	start_prog "/usr/lib/debug$tmp/prog.debug"
	named "in the target's root" --debug-dir "$tmp/flat"
	jq -e '.debug_files.refused == {}' "$tmp/s"
}

# sample_with_own PATH: by a stoker that has the debug file at this path, in a root that is its own.
sample_with_own() {
	# shellcheck disable=SC2016 # for the inner shell
	unshare --mount sh -c 'set -e
		mount -t tmpfs none /usr/lib/debug
		mkdir -p "$(dirname "$5")"
		cp "$3" "$5"
		exec timeout 60 "$1" record -q -p "$4" -F 499 -d 1 --by "" --user -o "$2/f"' \
		sh "$stoker" "$tmp" "$tmp/debug" "$pid" "$1" </dev/null
	hottest "$tmp/f"
}

@test "our root is searched by build ID, and by no path that a process of another root gives" {
	need cc objcopy
	build
	start_prog
	sample_with_own "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
	between "$(folded_share "$tmp/f" 'main;outer;inner$')" 95 100 "named from our root, %"
	sample_with_own "/usr/lib/debug$tmp/prog.debug"
	between "$(folded_share "$tmp/f" 'prog\+0x')" 95 100 'named by no path, %'
}

@test "one with another build ID is refused and said" {
	need cc objcopy
	version=2 build
	cp "$tmp/debug" "$tmp/other"
	build
	cp "$tmp/other" "$tmp/prog.debug"
	start_prog
	nameless
	refused build_id 'its build ID differs'
	"$stoker" doctor "$pid" >"$tmp/doctor" 2>&1
	grep -A1 "$tmp/prog$" "$tmp/doctor"
	grep -q "names: none.*; refused .*/prog\.debug: its build ID differs; install its debug package, put prog.dbg" \
		"$tmp/doctor"
	# The right one is still found behind it.
	start_prog "/usr/lib/debug$tmp/prog.debug"
	named 'behind a wrong one'
	jq -e '.debug_files.refused.build_id == 1 and .debug_files.used >= 1' "$tmp/s"
}

@test "one with another checksum is refused and said" {
	need cc objcopy
	build -Wl,--build-id=none
	cp "$tmp/debug" "$tmp/linked.debug"
	objcopy --add-gnu-debuglink="$tmp/linked.debug" "$tmp/prog"
	printf x >>"$tmp/linked.debug"
	start_prog
	nameless
	refused crc 'its checksum differs from .gnu_debuglink'
}

@test "one that proves nothing, and one that is none, are refused and said" {
	need cc objcopy
	build -Wl,--build-id=none
	place "$tmp/prog.debug"
	echo garbage >"$tmp/prog.dbg"
	start_prog
	nameless
	refused unproven 'no build ID'
	refused damaged 'not an ELF file'
}

@test "compiled code of a composite .NET image has no names, and is said to be that" {
	need "$python"
	[ "$(uname -m)" = x86_64 ] || skip 'code for x86-64'
	cat >"$tmp/run.py" <<-'PYTHON'
		import ctypes, os, struct, sys
		# A PE file of one section of code, which jumps to itself, and no header of .NET.
		pe = b'PE\0\0' + struct.pack('<HHIIIHH', 0x8664, 1, 0, 0, 0, 240, 0x2022)
		optional = struct.pack('<H', 0x20b) + bytes(106) + struct.pack('<I', 16) + bytes(128)
		section = struct.pack('<8sIIIIIIHHI', b'.text', 4096, 4096, 4096, 4096, 0, 0, 0, 0, 0x60000020)
		image = b'MZ' + bytes(58) + struct.pack('<I', 64) + pe + optional + section
		with open(sys.argv[1], 'wb') as file:
		    file.write(image.ljust(4096, b'\0') + b'\xeb\xfe'.ljust(4096, b'\xcc'))
		libc = ctypes.CDLL(None)
		libc.mmap.restype = ctypes.c_void_p
		libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
		at = libc.mmap(None, 4096, 5, 2, os.open(sys.argv[1], os.O_RDONLY), 4096)
		ctypes.CFUNCTYPE(None)(at)()
	PYTHON
	start "$python" "$tmp/run.py" "$tmp/framework.r2r.dll"
	wait_until 10 has_run "$pid" 20
	record_cpu 1 "$pid" -F 499 -o "$tmp/f" --stats "$tmp/s"
	jq -c .unnamed_files "$tmp/s"
	[ "$(folded_count "$tmp/f" 'framework\.r2r\.dll\+0x1000$')" -gt 0 ]
	jq -e '.unnamed_files[] | select(.file | endswith("/framework.r2r.dll")) |
		.reason == "composite" and (.advice | contains("DOTNET_ReadyToRun=0"))' "$tmp/s"
}
