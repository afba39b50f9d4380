#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# No address gets a neighbour's name: over whole files of the distribution, what we call a hundred
# thousand random addresses is what readelf, objdump or addr2line say. The rules: tests/names/agree.
#
#   NAMES_ADDRESSES   how many (100000); a fifth of them in programs without local symbols
#   NAMES_ROOT        where the static libraries are ("": in their packages' places)
# seconds: 20

. "$BATS_TEST_DIRNAME/../binaries.bash"
addresses=${NAMES_ADDRESSES:-100000}

setup() {
	here=$BATS_TEST_DIRNAME
	names=$(dirname "${TARGETS:-$here/../../.build/tests/targets}")/names/names
	[ -x "$names" ] || {
		echo "no program to ask: $names; make targets builds it"
		return 1
	}
	cd "$BATS_TEST_TMPDIR" || return 1
}

need() {
	local tool
	for tool; do
		command -v "$tool" >/dev/null || skip "no $tool on this machine"
	done
}

# agree FILE: what we say of it, with the debug file that the distribution has for it.
agree() {
	local file=$1 id debug=''
	need addr2line readelf objdump "$python"
	[ -e "$file" ] || skip "no $file on this machine"
	id=$(readelf -n "$file" | awk '/Build ID/ { print $3 }')
	[ ! -e "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" ] ||
		debug=/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
	"$here/agree" -g "$addresses" "$file" "$debug" >addresses
	"$names" "$file" <addresses >ours
	# It takes a minute for a hundred thousand addresses of a large program.
	head -n 4000 addresses | addr2line -a -f -e "${debug:-$file}" >theirs
	"$here/agree" "$file" ours "$debug" theirs >&3
}

# neighbours NAME ARCHIVE...: a program of all code of the first archive that exists, before and after
# its local symbols are removed.
neighbours() {
	local name=$1 archive archives=("${@:2}")
	need readelf objcopy gcc "$python"
	for archive in "${archives[@]/#/${NAMES_ROOT:-}}"; do
		[ ! -e "$archive" ] || break
	done
	[ -e "$archive" ] || skip "no static $name on this machine"
	gcc -nostdlib -static -no-pie -o full -Wl,-e,0,-z,muldefs,--unresolved-symbols=ignore-all \
		-Wl,--whole-archive "$archive" -Wl,--no-whole-archive 2>/dev/null
	readelf -sW full | awk '($5 == "GLOBAL" || $5 == "WEAK") && $6 == "DEFAULT" { print $8 }' >keep
	objcopy --strip-all --keep-symbols=keep full bare
	"$here/neighbours" -g $((addresses / 5)) full >addresses
	"$names" -s bare <addresses >ours
	"$here/neighbours" full ours >&3
}

lib() {
	ldconfig -p | awk -v lib="$1" '$1 == lib && /x86-64|AArch64/ { print $NF; exit }'
}

@test "names of libc are no neighbour's" {
	agree "$(lib libc.so.6)"
}

@test "names of libcrypto are no neighbour's" {
	agree "$(lib libcrypto.so.3)"
}

@test "names of libstdc++ are no neighbour's" {
	agree "$(lib libstdc++.so.6)"
}

@test "names of python are no neighbour's" {
	need "$python"
	agree "$(readlink -f "$python")"
}

@test "names of node are no neighbour's" {
	need "$node"
	agree "$(readlink -f "$node")"
}

@test "names of a program that was just built are no neighbour's" {
	agree "${STOKER:-$here/../../stoker}"
}

@test "assembly of x264 without its local symbols is not named after a neighbour" {
	neighbours x264 "/usr/lib/$(uname -m)-linux-gnu/libx264.a"
}

@test "musl without its local symbols is not named after a neighbour" {
	neighbours musl "/usr/lib/$(uname -m)-linux-musl/libc.a"
}

@test "assembly of libjpeg without its local symbols is not named after a neighbour" {
	neighbours libjpeg "/usr/lib/$(uname -m)-linux-gnu/libjpeg.a"
}

@test "each function of a stripped program has one name" {
	need readelf objcopy "$python"
	objcopy --strip-all "${STOKER:-$here/../../stoker}" bare
	"$here/neighbours" -g $((addresses / 5)) "${STOKER:-$here/../../stoker}" >addresses
	"$names" -s bare <addresses >ours
	"$here/neighbours" "${STOKER:-$here/../../stoker}" ours >&3
}
