#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Pythons that are started in other ways: worker processes, interpreters in one process, and a file
# that is replaced while it runs; and functions that begin where others were freed.
# seconds: 30

load real

# script: $tmp/script.py, from standard input.
script() {
	cat >"$tmp/script.py"
}

# judge LEAF...: the running script's functions are named, one after the other from the root on.
judge() {
	local root='' leaf=${*: -1} name
	for name; do
		root="$root${root:+(;.*)?};$name"
	done
	jq -c '.user_stacks, .frames' "$tmp/s" | tee -a "${REAL_LOG:-/dev/null}"
	between "$(folded_count "$tmp/f" ";$leaf(;|\$)")" 300 100000 "samples in $leaf"
	between "$(folded_count "$tmp/f" "$root(;|\$)")" \
		$(($(folded_count "$tmp/f" ";$leaf(;|\$)") * 99 / 100)) 100000 "of them with their callers"
	between "$(jq '100 * .user_stacks.complete / .user_stacks.total' "$tmp/s")" 99 100 'complete, %'
}

@test "processes of multiprocessing, forked and started anew" {
	need "$python"
	local way
	script <<-'END'
		import multiprocessing, sys, time

		def burn(seconds):
		    end, n = time.process_time() + seconds, 0
		    while time.process_time() < end:
		        n = sum(range(2000)) + n
		    return n

		def task(seconds):
		    return burn(seconds)

		if __name__ == '__main__':
		    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
		        pool.map(task, [0.4] * 4)
	END
	for way in fork spawn; do
		timeout -k 5 100 "$stoker" record -q -F "$hz" -o "$tmp/f" --stats "$tmp/s" -- \
			"$python" "$tmp/script.py" "$way"
		judge 'multiprocessing\.pool:worker' '(__main__|__mp_main__|script):task' '(__main__|__mp_main__|script):burn'
	done
}

@test "an interpreter inside an interpreter" {
	need "$python"
	script <<-'END'
		import _xxsubinterpreters, sys

		other = _xxsubinterpreters.create()
		_xxsubinterpreters.run_string(other, '''
		import time
		def inner(end):
		    n = 0
		    while time.process_time() < end:
		        n = sum(range(2000)) + n
		def outer():
		    inner(time.process_time() + 100)
		outer()
		''')
	END
	start "$python" "$tmp/script.py"
	wait_until 10 has_run "$pid"
	record_cpu "$seconds" "$pid" -F "$hz" -o "$tmp/f" --stats "$tmp/s"
	judge '[^;]*:outer' '[^;]*:inner'
}

@test "a Python whose file was replaced since it was started" {
	need "$python"
	script <<-'END'
		def inner():
		    return sum(range(2000))
		def outer():
		    while True:
		        inner()
		outer()
	END
	cp "$(readlink -f "$python")" "$tmp/python"
	start "$tmp/python" "$tmp/script.py"
	wait_until 10 has_run "$pid"
	cp "$(type -P true)" "$tmp/next"
	mv "$tmp/next" "$tmp/python"
	record_cpu "$seconds" "$pid" -F "$hz" -o "$tmp/f" --stats "$tmp/s"
	judge '[^;]*:outer' '[^;]*:inner'
}

@test "functions that take each other's place in memory have their own names and files" {
	need "$python"
	local kind most numbers
	hz=999
	for kind in names files; do
		start "$python" "$real/made.py" 100 "$kind"
		wait_until 10 says ready "$out"
		record_cpu 3 "$pid" -F "$hz" -o "$tmp/f" --stats "$tmp/s"
		grep -oE 'made_[0-9]{5}.* [0-9]+$' "$tmp/f" | sed -E 's/^made_([0-9]{5}).* ([0-9]+)$/\1 \2/' |
			awk '{ n[$1] += $2 } END { for (i in n) print n[i], i }' | sort -rn >"$tmp/made"
		read -r most _ <"$tmp/made"
		numbers=$(wc -l <"$tmp/made")
		echo "$kind: $numbers functions, $most samples at most" | tee -a "${REAL_LOG:-/dev/null}"
		# 50 ms of CPU time each.
		between "$most" 20 80 'samples of one function'
		between "$numbers" 50 80 'functions, of 60 in three seconds'
	done
}
