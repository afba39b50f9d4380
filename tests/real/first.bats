#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The first half second of programs that nobody has met: loaders, large stacks, mappings that come
# while they are walked, and tables that are not there yet.
# seconds: 10

load real

# first NAME COMMAND...: $tmp/s is of its first half second.
first() {
	local name=$1 stacks
	shift
	timeout -k 5 60 "$stoker" record -q -F 1999 -d 0.5 -o "$tmp/f" --stats "$tmp/s" -- "$@" \
		>"$tmp/said" 2>&1 </dev/null || [ $? -lt 124 ] # the command's own: of git, that files differ
	adds_up "$tmp/s"
	stacks=$(jq .user_stacks.total "$tmp/s")
	echo "$name: $(jq -c .user_stacks "$tmp/s")" | tee -a "${REAL_LOG:-/dev/null}"
	grep '\[truncated\]' "$tmp/f" >"$tmp/cut" || true
	hottest "$tmp/cut"
	between "$stacks" 100 10000 'user stacks'
	between "$(jq '100 * (.user_stacks.complete + .user_stacks.guessed) / .user_stacks.total' "$tmp/s")" \
		95 100 'per cent whole'
}

# command_of RUNTIME: its words in $command.
command_of() {
	command=$("$repo/tests/runtimes/setup" "$@" 2>"$tmp/setup") ||
		skip "$1: $(tail -n 1 "$tmp/setup")"
	mapfile -t command <<<"$command"
}

@test "rustc" {
	need "$rustc"
	first rustc "$rustc" -O "$real/busy.rs" -o "$tmp/busy"
}

@test "R" {
	need R
	first R R --vanilla --no-echo -e 'repeat sum(sapply(1:2000, function(i) sum(rnorm(i %% 50))))'
}

@test "git" {
	"$repo/tests/e2e/crowd" prepare "$tmp"
	first git git diff --no-index --patience --word-diff "$tmp/text" "$tmp/others"
}

@test "sqlite" {
	first sqlite sqlite3 :memory: "with recursive c(x) as (select 1 union all select x + 1 from c where x < 9000000)
		select count(*), sum(length(printf('%d', x))) from c group by x % 7 order by 2"
}

@test "libraries that are loaded and run one after the other" {
	local i
	cat >"$tmp/one.c" <<-'END'
		static volatile long sum;
		static long __attribute__((noinline)) inner(long n) { for (; n > 0; n--) sum += n; return sum; }
		long run(long n) { return inner(n) + 1; }
	END
	cat >"$tmp/all.c" <<-'END'
		#include <dlfcn.h>
		#include <stdlib.h>
		int main(int argc, char **argv)
		{
			long (*run)(long), sum = 0;
			for (int i = 2; i < argc; i++) {
				run = (long (*)(long))dlsym(dlopen(argv[i], RTLD_NOW), "run");
				sum += run(atol(argv[1]));
			}
			return sum == 0;
		}
	END
	gcc -O2 -shared -fPIC -o "$tmp/1.so" "$tmp/one.c"
	gcc -O2 -o "$tmp/all" "$tmp/all.c" -ldl
	for ((i = 2; i <= 200; i++)); do
		cp "$tmp/1.so" "$tmp/$i.so"
	done
	first libraries "$tmp/all" 1000000 "$tmp"/*.so
}

@test "chromium" {
	need chromium
	first chromium chromium --headless --no-sandbox --disable-gpu --user-data-dir="$tmp/profile" \
		--dump-dom 'data:text/html,<script>for (let i = 0; i < 1e9; i++) document.title = i</script>'
}

@test "CoreCLR" {
	command_of coreclr
	first CoreCLR "${command[@]}" 200
}

@test "java" {
	command_of java
	first java "${command[@]}" 200
}

@test "java as it is started" {
	command_of java plain
	first 'java as it is started' "${command[@]}" 200
}
