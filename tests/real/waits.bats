#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Threads of Python and Java that wait: the functions in which they do are those that the runtime says,
# as it is started, with no switch and no map.
# seconds: 25

load real

# judge REGEX SED: each thread of $out has in $tmp/f the functions that its runtime said, where REGEX is of
# the runtime's frames and SED makes both alike.
judge() {
	local name chain
	env VISITS=2 "${targets%/targets}/tools/stoker-visits" record -p "$pid" -d 8 --interval 2 \
		-o "$tmp/f.%s" --stats "$tmp/s" 2>"$tmp/visits" || { cat "$tmp/visits" && false; }
	! grep '^lacks' "$tmp/visits" || skip "$(grep '^lacks' "$tmp/visits")"
	cp "$(find "$tmp" -name 'f.*' -size +0 | sort | tail -n 1)" "$tmp/f"
	jq -c '.user_stacks' "$tmp/s"
	awk -v re="$1" '{ sub(/ [0-9]+$/, ""); n = split($0, f, ";"); line = ""
		for (i = 1; i <= n; i++) if (f[i] ~ re) line = line (line ? ";" : "") f[i]
		print line }' "$tmp/f" | sed -E "$2" >"$tmp/chains"
	while read -r _ name chain; do
		chain=$(sed -E "$2" <<<"$chain")
		grep -qxF "$chain" "$tmp/chains" || {
			echo "$name: not $chain"
			cat "$tmp/chains"
			false
		}
	done < <(grep '^stack' "$out")
	[ "$(grep -c '^stack' "$out")" -ge 4 ]
	[ "$(folded_count "$tmp/f" truncated)" -eq 0 ]
}

@test "threads of Python wait in the functions that sys._current_frames says" {
	need "$python" jq
	start "$python" "$real/waiting.py" 600
	wait_until 20 says ready "$out"
	# Without the module.
	judge '^[a-z_]+:[^:]' 's/(^|;)[a-z_]+:/\1/g'
}

@test "threads of Java wait in the methods that Thread.getStackTrace says" {
	need javac java jq
	javac -d "$tmp" "$real/Waiting.java"
	start java -cp "$tmp" Waiting 600
	wait_until 60 says ready "$out"
	judge '^(Waiting|java\.|jdk\.)' 's/\$\$Lambda[^.]*\.run/$$Lambda.run/g'
	# From the first visit on: the JVM is described before it.
	"$stoker" record -q -p "$pid" -d 1 -e wall -o "$tmp/first"
	grep -q ';Waiting\.' "$tmp/first"
	! grep '\[JIT' "$tmp/first"
}

@test "each kind of wait that a program can ask for has its state, and says what it waits for" {
	need "$python"
	local kind state resource said
	start "$python" "$real/kinds_of_waits.py" "$tmp"
	wait_until 30 says ready "$out"
	"$stoker" record -q -a -d 2 -e wall --by comm -o "$tmp/f"
	[ "$(grep -c '^wait' "$out")" -ge 43 ]
	while read -r _ kind state resource; do
		state=${state//_/ }
		said="^$kind;.*${resource:+;\\[waits for $resource\\]};\\[${state:1:-1}\\] [0-9]+$"
		grep -Eq -- "$said" "$tmp/f" && { [ -n "$resource" ] || ! grep -q "^$kind;.*;\[waits for" "$tmp/f"; } || {
			echo "$kind is not $state${resource:+, for $resource}"
			grep "^$kind;" "$tmp/f" || cat "$out"
			return 1
		}
	done < <(grep '^wait' "$out")
}
