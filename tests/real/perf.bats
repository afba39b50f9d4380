#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Against perf, which copies stacks out and unwinds them later by the same tables with other code:
# both watch one process at the same time, and the same functions call the same functions, as often.
# alone: perf copies 32 KB a sample, of every process
# seconds: 50

load real

# perf takes all processes, as we do, and leaves the others out afterwards: bound to one it would be late
# whenever that one is switched to.
# agrees NAME [STRIPPED...]: of $pid. Shares of stacks may differ by $apart points beyond noise.
apart=2
agrees() {
	local name=$1 watched=$pid enough
	shift
	need perf
	meter "$watched"
	start_record -p "$watched" --user --by comm --no-demangle --native-frames show -F 999 -d 300 -o "$tmp/f" --stats "$tmp/s"
	# perf may take seconds until it samples: they begin to count then.
	{ wait_until 30 test -e "$tmp/perf.samples" && runs_on "$watched" "${REAL_PERF_TICKS:-350}"; } 3>&- &
	enough=$!
	# It writes 16 MB/s a CPU. With events of BPF programs that come and go perf script may fail.
	# shellcheck disable=SC2016 # for the inner shell
	nice -n -10 perf record -q --no-bpf-event -m 64M -F 499 -e cpu-clock --call-graph dwarf,32768 -a -o "$tmp/perf.data" \
		-- sh -c ': >"$0"; exec tail --pid="$1" -f /dev/null' "$tmp/perf.samples" "$enough" \
		>"$tmp/perf.said" 2>&1 || {
		cat "$tmp/perf.said"
		skip 'perf cannot record here'
	}
	stop_record
	perf script -i "$tmp/perf.data" --pid "$watched" --no-inline --no-demangle -F comm,ip,sym,dso \
		>"$tmp/script" 2>"$tmp/perf.said" || {
		cat "$tmp/perf.said"
		return 1
	}
	# perf has no functions of Python.
	[ "$name" != python3 ] || sed -i -E 's/;[^;: ]+:[^;:][^;]*//g' "$tmp/f"
	[ -z "${REAL_KEEP:-}" ] || cp "$tmp/f" "$REAL_KEEP/$name.perf-folded"
	[ -z "${REAL_KEEP:-}" ] || cp "$tmp/script" "$REAL_KEEP/$name.perf-script"
	"$real/compare_perf" "$tmp/f" "$tmp/script" "$@" >"$tmp/compared"
	jq . "$tmp/compared"
	jq -c --arg name "$name" '"\($name) against perf: \(.samples) and \(.perf_samples) samples, of perf whole \(.perf_whole) %, apart \(.apart), agree \(.agree) % (unseen \(.unseen) %), calls \(.agree_calls) %"' \
		"$tmp/compared" >>"${REAL_LOG:-/dev/null}"
	fits_cpu "$(jq .samples "$tmp/compared")" 999 samples 10
	fits_cpu "$(jq '.perf_samples * .perf_whole / 100' "$tmp/compared")" 499 "perf's whole samples" 12
	between "$(jq .apart "$tmp/compared")" 0 "$apart" 'difference of shares'
	between "$(jq '.agree + .unseen' "$tmp/compared")" 98.5 200 'stacks that agree'
	between "$(jq .agree_calls "$tmp/compared")" 99 100 'calls that agree'
}

@test "callbacks, signals, formatting" {
	build mix gcc -O2
	start_program "$program" 200
	agrees mix
}

@test "a static program" {
	build mix-static-pie gcc -O2 -static-pie
	start_program "$program" 200
	agrees static-pie
}

@test "C++ exceptions" {
	build throw g++ -O2
	start_program "$program" 200
	agrees throw
}

@test "python3" {
	start_program "$python" "$real/busy.py" 200
	agrees python3 "$(basename "$(readlink -f "$python")")"
}

# While perf copies a stack, requests of all clients arrive, and the server takes them in one go: what it
# does next, until perf's next tick, is in step with perf.
@test "redis-server" {
	local apart=12
	start_redis set
	agrees redis-server "$(basename "$(readlink -f "$(command -v redis-server)")")"
}

@test "Rust" {
	build_rust
	start_program "$program" 200
	agrees rust
}
