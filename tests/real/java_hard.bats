#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Stacks of Java that are hard to walk or name: through C and back, in code of more than 64 KiB, and after
# an exec.
# seconds: 35

load real

# share_of PATTERN PATTERN: per cent of the samples with the first that have the second.
share_of() {
	awk -v all="$(folded_count "$tmp/f" "$1")" -v own="$(folded_count "$tmp/f" "$2")" \
		'BEGIN { printf "%.2f\n", all ? 100 * own / all : 0 }'
}

# recorded: $tmp/f is of the program.
recorded() {
	record_cpu "$seconds" "$pid" -F "$hz" -o "$tmp/f" --stats "$tmp/s"
	kill -KILL "$pid"
	jq -c '.user_stacks, .frames' "$tmp/s" | tee -a "${REAL_LOG:-/dev/null}"
	between "$(jq '100 * .user_stacks.complete / .user_stacks.total' "$tmp/s")" 99 100 'complete, %'
	between "$(jq '.frames.unnamed.code // 0' "$tmp/s")" 0 0 'code without a name'
}

@test "Java that calls C, which calls Java" {
	need "$java" "$javac" gcc
	local way root=';start_thread;.*Native\.main;'
	"$javac" -d "$tmp" "$real/Native.java"
	gcc -O2 -shared -fPIC -I"${jdk%/bin}/include" -I"${jdk%/bin}/include/linux" -o "$tmp/native.so" "$real/native.c"
	for way in -Xint -XX:TieredStopAtLevel=1 -XX:-Inline; do
		start "$java" "$way" -cp "$tmp" Native "$tmp/native.so" 100
		wait_until 30 says ready "$out"
		recorded
		# C itself, below the function that calls it.
		between "$(folded_count "$tmp/f" ';work$')" 100 100000 'samples in C'
		between "$(share_of ';work$' "$root.*Native\.down;Java_Native_down;work\$")" 99 100 "$way: C below Java, %"
		# And Java below that, through the JVM.
		between "$(folded_count "$tmp/f" 'Native\.(up|leaf)$')" 300 100000 'samples in Java below C'
		between "$(share_of 'Native\.(up|leaf)(;|$)' \
			"$root.*Native\.down;Java_Native_down;.*JavaCalls.*;Native\.up(;|\$)")" 99 100 "$way: Java below C, %"
	done
}

# huge STATEMENTS: Huge.java, with a method of so many.
huge() {
	awk -v statements="$1" 'BEGIN {
		print "public class Huge {\n    static volatile long sink;\n    static long big(long a, long b) {"
		for (i = 1; i <= statements; i++)
			print "        a = a * " 2 * i + 1 " + (b ^ a >> " i % 60 + 1 "); b += a % " i + 7 ";"
		print "        return a ^ b;\n    }\n    static long below(long n) {\n        return big(n, n + 1) + 1;\n    }"
		print "    public static void main(String[] args) {"
		print "        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;"
		print "        for (int i = 0; i < 3000; i++)\n            sink += below(i);"
		print "        System.out.println(\"ready\");"
		print "        while (System.nanoTime() < end)\n            sink += below(sink);\n    }\n}" }'
}

# code_bytes METHOD: of its code, as the JVM says.
code_bytes() {
	local first last
	read -r first last < <("$jcmd" "$pid" Compiler.codelist |
		sed -n "s/.* $1(.*\[\(0x[0-9a-f]*\), 0x[0-9a-f]* - \(0x[0-9a-f]*\)\].*/\1 \2/p" | tail -n 1)
	echo $((last - first))
}

has_code() {
	[ "$(code_bytes "$1")" -gt 0 ]
}

@test "a method whose code has more than 64 KiB" {
	need "$java" "$javac" "$jcmd"
	huge 2200 >"$tmp/Huge.java"
	"$javac" -d "$tmp" "$tmp/Huge.java"
	start "$java" -XX:-DontCompileHugeMethods -XX:-TieredCompilation -Xbatch -XX:-Inline -cp "$tmp" Huge 100
	wait_until 60 has_code Huge.big
	between "$(code_bytes Huge.big)" 65537 1000000 'bytes of code'
	recorded
	between "$(folded_count "$tmp/f" 'Huge\.big$')" 300 100000 'samples in it'
	between "$(share_of 'Huge\.big$' ';start_thread;.*Huge\.main;Huge\.below;Huge\.big$')" 99 100 'whole ones, %'
}

has_lines() {
	[ "$(grep -c "$1" "$3")" -ge "$2" ]
}

@test "a JVM that becomes another one by exec has its names" {
	local said program
	need "$java" "$javac" gcc
	cat >"$tmp/Spin.java" <<-'END'
		class Spin {
			static long spin(long n) { long sum = 0; for (long i = 0; i < n; i++) sum += i ^ (sum << 1); return sum; }
			public static void main(String[] args) { System.out.println("ready"); for (long n = 100000;; n++) spin(n); }
		}
	END
	"$javac" -d "$tmp" "$tmp/Spin.java"
	gcc -O1 -shared -fPIC -o "$tmp/again.so" "$real/exec_again.c"
	start env LD_PRELOAD="$tmp/again.so" "$(readlink -f "$java")" -cp "$tmp" Spin
	program=$pid said=$out
	wait_until 30 says ready "$said"
	start_record -p "$program" -F "$hz" --interval 1 --by comm -o "$tmp/part.%s" --stats "$tmp/s"
	runs_on "$program" 100
	kill -URG "$program"
	wait_until 30 has_lines ready 2 "$said"
	rm -f "$tmp"/part.*
	runs_on "$program" 400
	stop_record
	grep -h '^exe;' "$tmp"/part.* >"$tmp/f"
	hottest "$tmp/f"
	between "$(folded_count "$tmp/f" 'Spin\.main(;|$)')" 3000 100000 'samples in its functions'
	# What runs before its library is read has none.
	between "$(folded_share "$tmp/f" '\[JIT')" 0 2 'without a name, %'
}
