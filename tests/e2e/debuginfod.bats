#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Debug files from a debuginfod server, on loopback: what it has gives names; one that is dead, slow or
# lies costs no sample, little time, and is in the account.
# waits: for servers that are slow
# seconds: 45

load lib

need_server() {
	need cc objcopy "$python"
	ldconfig -p | grep -qE 'libcurl(-gnutls)?\.so\.4' || skip 'no libcurl on this machine'
}

# build: $tmp/prog, stripped, and $tmp/debug; with version=N another build.
build() {
	cat >"$tmp/prog.c" <<'C'
static volatile unsigned long sink;

__attribute__((noinline)) static unsigned long inner(unsigned long x)
{
	for (int i = 0; i < 1000; i++)
		x = x * 6364136223846793005 + 1442695040888963407;
	return x;
}

__attribute__((noinline)) static void outer(unsigned long x)
{
	sink += inner(x) + VERSION;
}

int main(void)
{
	for (unsigned long i = 0;; i++)
		outer(i);
}
C
	"${CC:-cc}" -O2 -g -DVERSION="${version:-1}" -o "$tmp/full" "$tmp/prog.c"
	objcopy --only-keep-debug "$tmp/full" "$tmp/debug"
	objcopy --strip-all "$tmp/full" "$tmp/prog"
}

# serve MODE [FILE]: $url.
serve() {
	start "$BATS_TEST_DIRNAME/debuginfod" "$@"
	server_said=$out
	wait_until 10 test -s "$server_said"
	url=http://127.0.0.1:$(head -n 1 "$server_said")
}

# sample OPTION...: of $tmp/prog, by itself, with nothing lost; how long it took is in $took.
sample() {
	start "$tmp/prog"
	wait_until 10 has_run "$pid"
	local began=$SECONDS
	meter "$pid"
	timeout -k 5 120 "$stoker" record -p "$pid" -F 999 -d 1 --by '' --user -o "$tmp/f" --stats "$tmp/s" \
		"$@" 2>"$tmp/said" </dev/null 3>&-
	took=$((SECONDS - began))
	read_meter
	kill -KILL "$pid"
	hottest "$tmp/f"
	cat "$tmp/said"
	jq -c '[.ticks, .debuginfod, .debug_files]' "$tmp/s"
	[ "$(lost "$tmp/s")" -eq 0 ]
	jq -e '.user_stacks.complete >= .user_stacks.total * 0.99' "$tmp/s"
	fits_cpu "$(stat_of "$tmp/s" .ticks.samples)" 999 samples 0 # for the names come later
	[ "$(stat_of "$tmp/s" .ticks.samples)" -gt 0 ]
}

named() {
	between "$(folded_share "$tmp/f" 'main;outer;inner$')" 95 100 'named, %'
}

nameless() {
	[ "$(folded_count "$tmp/f" 'outer|inner')" -eq 0 ]
	between "$(folded_share "$tmp/f" 'prog\+0x')" 95 100 'without names, %'
}

# failed REASON
failed() {
	jq -e --arg r "$1" '.debuginfod.failed[$r] >= 1 and .debuginfod.fetched == 0' "$tmp/s"
	grep "fetched  0 of .* debug files\? from debuginfod.*$1" "$tmp/said"
}

# has_user PID: it is no longer root's.
has_user() {
	[ "$(awk '/^Uid/ { print $2 }' "/proc/$1/status")" -ne 0 ]
}

@test "a server gives names, asked by an option or by the environment" {
	need_server
	build
	serve serve "$tmp/debug"
	sample --debuginfod "$url"
	named
	jq -e '.debuginfod.fetched >= 1 and .debuginfod.bytes > 1000 and .debug_files.used >= 1' "$tmp/s"
	grep -q "asked /buildid/$(readelf -n "$tmp/full" | awk '/Build ID/ { print $3 }')/debuginfo" "$server_said"
	DEBUGINFOD_URLS="$url/" sample
	named
	DEBUGINFOD_URLS=$url sample --debuginfod ''
	nameless
}

@test "nobody is asked unless told to, nor for what is here" {
	need_server
	build
	serve serve "$tmp/debug"
	cp "$tmp/debug" "$tmp/prog.debug"
	sample --debuginfod "$url"
	named
	[ "$(grep -c "$(readelf -n "$tmp/full" | awk '/Build ID/ { print $3 }')" "$server_said")" -eq 0 ]
	rm "$tmp/prog.debug"
	sample
	nameless
	jq -e '.debuginfod.asked == 0' "$tmp/s"
}

@test "inlined frames come from a server too" {
	need_server
	build
	serve serve "$tmp/debug"
	sample --debuginfod "$url" --inline
	named
}

@test "a server that has nothing is passed over for one that has" {
	local none
	need_server
	build
	serve none
	none=$url
	sample --debuginfod "$none"
	nameless
	failed not_found
	serve serve "$tmp/debug"
	sample --debuginfod "http://127.0.0.1:1 $none $url"
	named
}

@test "a dead server costs no sample and is said" {
	need_server
	build
	sample --debuginfod http://127.0.0.1:1
	nameless
	failed unreachable
	[ "$took" -le "$(patience 10)" ]
}

@test "slow servers cost no sample and are said" {
	local mode
	need_server
	build
	for mode in slow stall; do
		serve "$mode"
		sample --debuginfod "$url"
		nameless
		failed timeout
		[ "$took" -le "$(patience 20)" ]
	done
}

@test "a server that sends another build's file, or no ELF file, is not believed and is said" {
	need_server
	version=2 build
	mv "$tmp/debug" "$tmp/other"
	build
	serve serve "$tmp/other"
	sample --debuginfod "$url"
	nameless
	jq -e '.debug_files.refused.build_id >= 1' "$tmp/s"
	grep "refused  $url/buildid/.* as debug file of $tmp/prog: its build ID differs" "$tmp/said"
	serve garbage
	sample --debuginfod "$url"
	nameless
	jq -e '.debug_files.refused.damaged >= 1' "$tmp/s"
	grep "refused  $url/buildid/.* as debug file of $tmp/prog: not an ELF file" "$tmp/said"
}

@test "an endless file is cut off and is said" {
	need_server
	build
	serve endless
	sample --debuginfod "$url"
	nameless
	jq -e '(.debuginfod.failed.too_large // 0) + (.debuginfod.failed.timeout // 0) >= 1' "$tmp/s"
	[ "$took" -le "$(patience 20)" ]
}

@test "what fetches has no capability, another user, and does not outlive the capture" {
	local fetcher
	need_server
	build
	serve stall
	start "$tmp/prog"
	wait_until 10 has_run "$pid"
	start_record -p "$pid" -d 30 -o "$tmp/f" --debuginfod "$url"
	wait_until 10 pgrep -P "$agent" -f 'stoker fetcher'
	fetcher=$(pgrep -P "$agent" -f 'stoker fetcher')
	wait_until 10 has_user "$fetcher"
	cat "/proc/$fetcher/status"
	[ "$(awk '/^Cap(Prm|Eff|Bnd)/ { print $2 }' "/proc/$fetcher/status" | sort -u)" = 0000000000000000 ]
	[ "$(awk '/^Uid/ { print $2 }' "/proc/$fetcher/status")" -ne 0 ]
	[ "$(awk '/^NoNewPrivs/ { print $2 }' "/proc/$fetcher/status")" -eq 1 ]
	[ "$(awk '/^Seccomp:/ { print $2 }' "/proc/$fetcher/status")" -eq 2 ]
	kill -KILL "$recorder"
	wait_until 5 is_gone "$fetcher"
}

@test "what fetches is stopped by others, and goes on" {
	local fetcher
	need_server
	build
	serve late "$tmp/debug"
	start "$tmp/prog"
	wait_until 10 has_run "$pid"
	start_record -p "$pid" -F 499 -d 10 --by '' --user -o "$tmp/f" --stats "$tmp/s" --debuginfod "$url"
	wait_until 10 pgrep -P "$agent" -f 'stoker fetcher'
	fetcher=$(pgrep -P "$agent" -f 'stoker fetcher')
	wait_until 10 has_user "$fetcher"
	kill -STOP "$fetcher"
	wait "$recorder"
	jq -e '.debuginfod.fetched >= 1 and .worker.stopped >= 1' "$tmp/s"
	named
}

@test "what fetches lives with lower limits than its own" {
	need_server
	build
	serve serve "$tmp/debug"
	(
		# Shadow memory of a sanitizer counts, terabytes of it.
		has_sanitizer || ulimit -d 200000
		ulimit -f 100000
		sample --debuginfod "$url"
	)
	jq -e '.debuginfod.fetched >= 1' "$tmp/s"
}

@test "what is no URL is refused" {
	exits 1 record -a -d 1 -o "$tmp/f" --debuginfod ftp://example.org
	said_clearly 'no http:// or https:// URL'
	DEBUGINFOD_URLS=file:///nowhere record -a -d 1 -o "$tmp/f"
}
