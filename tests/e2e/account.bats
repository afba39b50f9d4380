#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The account: every tick is a sample, idle, or lost for a reason, and the cost is in it.
# seconds: 40

load lib

# is_alive FILE: a clock that died on one of the CPUs, all of them busy, would show as skipped.
is_alive() {
	jq -e '.ticks | .skipped <= .expected * 0.3' "$1"
}

@test "too few open files for anything are one line with the limit and the need, and nothing is started" {
	local most
	printf '%s\n' '[http]' 'listen = off' '[store]' "path = $tmp/store" >"$tmp/stoker.ini"
	for most in 127 64 32 16 10; do
		# shellcheck disable=SC2016
		exits 1 bash -c 'ulimit -n "$0" && exec "$@"' "$most" "$stoker" record -a -d 1 -o "$tmp/f"
		[ "$(wc -l <"$tmp/said")" -eq 1 ]
		said_clearly "at most $most files may be open, and sampling needs [0-9]*: raise .ulimit -n"
		# shellcheck disable=SC2016
		exits 1 bash -c 'ulimit -n "$0" && exec "$@"' "$most" "$stoker" daemon -c "$tmp/stoker.ini"
		[ "$(wc -l <"$tmp/said")" -eq 1 ]
		said_clearly "at most $most files may be open, and sampling needs [0-9]*: raise .ulimit -n"
		[ ! -e "$tmp/f" ] && [ ! -e "$tmp/store" ]
	done
}

@test "too little stack is said, and enough is enough" {
	# shellcheck disable=SC2016
	exits 1 bash -c 'ulimit -s 128 && exec "$@"' sh "$stoker" record -q -a -d 0.2 -o "$tmp/f"
	said_clearly '128 KiB of stack are not enough: raise .ulimit -s. to 256'
	[ ! -e "$tmp/f" ]
	start "$(target spin)" 60
	# shellcheck disable=SC2016
	bash -c 'ulimit -s 256 && exec "$@"' sh "$stoker" record -q -p "$pid" -d 0.2 -o "$tmp/f"
	[ -e "$tmp/f" ] # a busy host may have no CPU for it
}

@test "a limit of open files that leaves files without tables is named once, with its remedy" {
	local most=$((128 + 2 * $(nproc --all)))
	start_busy manyfiles "$tmp" 100 600
	# shellcheck disable=SC2016
	exits 0 bash -c 'ulimit -n "$0" && exec "$@"' "$most" "$stoker" record -a -d 2 \
		-o "$tmp/f" --stats "$tmp/s"
	jq -c '.objects, .user_stacks' "$tmp/s"
	[ "$(grep -c "only $most files may be open at a time; raise .ulimit -n" "$tmp/said")" -eq 1 ]
	[ "$(jq '.objects.failed.open // 0' "$tmp/s")" -eq 0 ]
	[ "$(jq .objects.tables "$tmp/s")" -gt 0 ]
}

@test "ticks add up at 99, 999, 4999 and 9999 Hz" {
	local hz
	start_busy spin 60
	for hz in 99 999 4999 9999; do
		record -a -F "$hz" -d 3 -o "$tmp/f" --stats "$tmp/s"
		adds_up "$tmp/s"
		# A busy machine may be late to stop: what was due is a matter of how long it was.
		between "$(jq .duration_s "$tmp/s")" 2.9 "$(patience 6)" duration
		between "$(jq ".ticks.expected + .ticks.filtered - $hz * $(nproc) * .duration_s" "$tmp/s")" \
			$((-hz * $(nproc) * 3 / 50)) $((hz * $(nproc) * 3 / 50)) "due at $hz Hz, off by"
		between "$(folded_count "$tmp/f")" "$(stat_of "$tmp/s" .ticks.samples)" \
			"$(stat_of "$tmp/s" .ticks.samples)" "samples in the profile at $hz Hz"
	done
}

@test "no tick is lost at 999 Hz with every CPU busy" {
	start_busy burn7030 60 "$(nproc)"
	record -a -F 999 -d 4 -o "$tmp/f" --stats "$tmp/s"
	adds_up "$tmp/s"
	between "$(lost "$tmp/s")" 0 0 lost
	is_alive "$tmp/s"
}

@test "ticks add up under many short processes" {
	[ -x "$(target shortlived)" ]
	# shellcheck disable=SC2016 # for the inner shell
	start sh -c 'while :; do "$1" 2 & "$1" 2 & "$1" 2; wait; done' sh "$(target shortlived)"
	record -a -F 999 -d 3 -o "$tmp/f" --stats "$tmp/s"
	adds_up "$tmp/s"
}

@test "ticks of others do not count as expected when one process is asked for" {
	start_busy spin 60
	record_cpu 1 "$pid" -F 499 -o "$tmp/f" --stats "$tmp/s"
	jq -c .ticks "$tmp/s"
	fits_cpu "$(stat_of "$tmp/s" .ticks.samples)" 499 samples
	between "$(folded_count "$tmp/f")" "$(stat_of "$tmp/s" .ticks.samples)" \
		"$(stat_of "$tmp/s" .ticks.samples)" 'samples in the profile'
	jq -e '.ticks.filtered >= 0' "$tmp/s"
}

@test "the account has every field of the contract, all whole numbers" {
	start_busy spin 60
	record -a -F 199 -d 1 -o "$tmp/f" --stats "$tmp/s"
	cat "$tmp/s"
	jq -e '[.duration_s, .hz, .cpus] | all(type == "number")' "$tmp/s"
	jq -e '[.ticks.expected, .ticks.samples, .ticks.idle, .ticks.filtered,
		.ticks.skipped, .ticks.stolen,
		.user_stacks.total, .user_stacks.complete, .user_stacks.guessed, .frames.total, .frames.named,
		.objects.met, .objects.tables, .objects.table_bytes, .objects.symbol_loads,
		.bpf.runs, .bpf.ns_total, .bpf.bytes_out, .bpf.memory_bytes,
		.agent.rss_max_kb, .agent.start_us, .tables.rows, .tables.page_bytes]
		| all(type == "number" and . == floor and . >= 0)' "$tmp/s"
	jq -e '[.ticks.lost, .events.lost, .targets.lost, .user_stacks.truncated, .frames.by_source, .frames.unnamed, .objects.failed]
		| all(type == "object" and ([.[]] | all(type == "number")))' "$tmp/s"
	jq -e '.agent.cpu_s | type == "number"' "$tmp/s"
	jq -e '.hz == 199 and .duration_s >= 0.9' "$tmp/s"
	jq -e '.frames.total == .frames.named + ([.frames.unnamed[]] | add // 0)' "$tmp/s"
	jq -e '.frames.named == ([.frames.by_source[]] | add // 0)' "$tmp/s"
	jq -e '.user_stacks.total == .user_stacks.complete + .user_stacks.guessed + ([.user_stacks.truncated[]] | add // 0)' "$tmp/s"
	# Each is in its manual page; what is below these is a reason, a source or an item of a list.
	jq -r 'paths | select(all(type == "string")) | select(any(.[:-1][];
		IN("lost", "truncated", "by_source", "unnamed", "failed", "refused", "unread", "maps_refused")) | not)
		| .[-1]' "$tmp/s" | sort -u >"$tmp/fields"
	[ "$(wc -l <"$tmp/fields")" -gt 50 ]
	grep -oE '[a-z_][a-z0-9_]+' "$repo/user/man/stoker-account.5" | sort -u | comm -23 "$tmp/fields" - >"$tmp/undocumented"
	cat "$tmp/undocumented"
	[ ! -s "$tmp/undocumented" ]
}

@test "the line of ticks that is printed adds up, and says what the account says" {
	start_busy spin 60
	timeout 60 "$stoker" record -a -F 199 -d 1 -o "$tmp/f" --stats "$tmp/s" 2>"$tmp/said"
	cat "$tmp/said"
	sed -n 's/^ticks *\([0-9]*\) expected = \([0-9]*\) samples + \([0-9]*\) idle + \([0-9]*\) skipped + \([0-9]*\) lost.*/\1 \2 \3 \4 \5/p' \
		"$tmp/said" >"$tmp/line"
	[ "$(cat "$tmp/line")" = "$(jq -r '.ticks | "\(.expected) \(.samples) \(.idle) \(.skipped)"' "$tmp/s") $(lost "$tmp/s")" ]
	awk '{ off = $1 - $2 - $3 - $4 - $5; exit off > $1 / 100 || -off > $1 / 100 }' "$tmp/line"
}

@test "the kernel says what the program cost when kernel.bpf_stats_enabled is set" {
	local was
	was=$(cat /proc/sys/kernel/bpf_stats_enabled) || skip 'no kernel.bpf_stats_enabled here'
	echo 1 >/proc/sys/kernel/bpf_stats_enabled || skip 'kernel.bpf_stats_enabled cannot be set'
	start_busy spin 60
	record -a -F 499 -d 1 -o "$tmp/f" --stats "$tmp/s" || true
	echo "$was" >/proc/sys/kernel/bpf_stats_enabled
	jq -c .bpf "$tmp/s"
	between "$(jq '.bpf.ns_total / .bpf.runs' "$tmp/s")" 10 50000 'ns a run'
}

ready_redis() {
	redis-cli -p "$1" ping 2>/dev/null | grep -q PONG
}

# A stack is sent once, so a sample costs less the more there are: as many as in a minute at 99 Hz on
# both CPUs.
@test "under a Redis load fewer than 64 bytes a sample leave the kernel" {
	local port most=64
	port=$(free_port)
	need redis-server redis-benchmark redis-cli
	# With sanitizers tables are made so slowly that more samples are sent with their stacks.
	! has_sanitizer || most=512
	start redis-server --bind 127.0.0.1 --port "$port" --save '' --appendonly no --dir "$tmp"
	local server=$pid
	wait_until 10 ready_redis "$port"
	start redis-benchmark -p "$port" -q -l -c 20 -t set,get
	wait_until 10 has_run "$pid"
	record_cpu 6 "$server,$pid" -F 1499 -o "$tmp/f" --stats "$tmp/s"
	hottest "$tmp/f"
	jq -c . "$tmp/s"
	adds_up "$tmp/s"
	between "$(folded_share "$tmp/f" '^redis-server;')" 20 70 'share of the server'
	fits_cpu "$(stat_of "$tmp/s" .ticks.samples)" 1499 samples 90 110
	between "$(jq '.bpf.bytes_out / .ticks.samples' "$tmp/s")" 0.01 $most 'bytes a sample'
}

# Rows are made of pages here and there in a file, and its functions' code is looked at.
@test "a large file's pages do not stay in memory once its rows are made" {
	local library
	library=$(realpath "$(ldd "$(command -v clang)" | awk '/libLLVM/ { print $3 }')")
	echo 'int main(void) { return 0; }' >"$tmp/x.c"
	# Many times: one is over on a busy machine before the table is made.
	record -o "$tmp/f" --stats "$tmp/s" -- \
		bash -c 'for i in {1..20}; do clang -O2 -c "$0" -o "$0.o"; done' "$tmp/x.c"
	jq -e '.tables.rows > 20000' "$tmp/s"
	memory_within "$(jq .worker.rss_max_kb "$tmp/s")" $(($(stat -c %s "$library") / 1024 * 6 / 10)) 'the workers'
}
