#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A stack that is called complete is possible: real programs, judged by their own code and not by what
# stoker knows of it. And the judge is tried: it has to find stacks that were falsified.
# seconds: 60

load ../real/real
real=$repo/tests/real
truth=$repo/tools/truth
falsify=$BATS_TEST_DIRNAME/falsify

need_judge() {
	[ "$(uname -m)" = x86_64 ] || skip 'it decodes x86-64 only'
	/usr/bin/python3 -c 'import capstone, elftools' 2>/dev/null || skip 'no python3-capstone or python3-pyelftools'
}

# record_programs COMMAND...: tests/truth/programs with these, into $tmp/p.pb.gz.
record_programs() {
	mkdir "$tmp/programs"
	"$stoker" record -F 499 -o "$tmp/p.pb.gz" --stats "$tmp/s" -- \
		"$BATS_TEST_DIRNAME/programs" 12 "$tmp/programs" "$@" 2>"$tmp/said" || { cat "$tmp/said"; return 1; }
	need_tables "$tmp/s"
}

# share WAY: per cent of the stacks falsified in this way (or `true`, or `.*` for all false ones) that
# tools/truth calls impossible, in $tmp/each.
share() {
	awk -F '\t' -v way="falsified=($1)\$" '{ hit = 0; for (i = 2; i <= NF; i++) hit = hit || $i ~ way }
		hit { all++; found += $1 != "OK" }
		END { printf "%.1f\n", all ? 100 * found / all : -1 }' "$tmp/each"
}

@test "the complete stacks of real programs are possible, and false ones made of them are found" {
	local status=0 port programs rust way
	need_judge
	build_rust
	rust=$program
	port=$(free_port)
	set -- "$rust" "redis-server --port $port --bind 127.0.0.1 --save" \
		"redis-benchmark -p $port -q -n 20000 -t set,get,lpush,lrange_100"
	[ ! -x "$go" ] || { build_go go-busy busy.go && set -- "$@" "$program"; }
	record_programs "$@"
	"$truth" --each "$tmp/p.pb.gz" >"$tmp/verdict" || status=$?
	grep -v $'\t' "$tmp/verdict"
	[ "$status" -eq 0 ]
	programs=$(grep 'stack=complete' "$tmp/verdict" | grep -o 'comm=[^	]*' | sort | uniq -c |
		awk '$1 >= 5' | wc -l)
	echo "$programs programs"
	[ "$programs" -ge 12 ]

	# Many, so that one draw is like another. What cannot be found is a dropped caller of a function
	# whose address is taken, where the caller before it calls by a pointer: 14 % of the drops.
	"$falsify" --seed 7 --each 200 "$tmp/f.pb.gz" "$tmp/p.pb.gz"
	"$truth" --each "$tmp/f.pb.gz" >"$tmp/each" || status=$?
	[ "$status" -eq 1 ]
	for way in drop insert neighbour cut; do
		echo "$way: $(share "$way") % found"
		between "$(share "$way")" 70 100 "falsified by $way and found"
	done
	between "$(share 'drop|insert|neighbour|cut')" 94 100 'falsified and found'
	between "$(share true)" 0 0 'true and called impossible'
}

# refused FILE
refused() {
	local status=0
	"$truth" "$1" >"$tmp/said" 2>&1 || status=$?
	cat "$tmp/said"
	grep -q "^truth: $1: not a pprof profile" "$tmp/said"
	[ "$status" -eq 2 ]
}

@test "a file that is no profile is refused" {
	need_judge
	echo 'a;b 1' >"$tmp/no.pb.gz"
	refused "$tmp/no.pb.gz"
	gzip <"$tmp/no.pb.gz" >"$tmp/packed.pb.gz"
	refused "$tmp/packed.pb.gz"
	head -c 20 "$tmp/packed.pb.gz" >"$tmp/cut.pb.gz"
	refused "$tmp/cut.pb.gz"
}

@test "a place in a file that has changed since is not judged" {
	need_judge
	cp /bin/true "$tmp/program"
	/usr/bin/python3 - "$repo/tools" "$tmp/program" "$tmp/c.pb.gz" <<-'PYTHON'
		import sys
		sys.path.insert(0, sys.argv[1])
		sys.dont_write_bytecode = True
		from truth_parts import pprof
		places = tuple(pprof.Place(sys.argv[2], '00' * 20, 0x2000 + i, ('f',)) for i in range(3))
		pprof.write(sys.argv[3], [pprof.Sample(places, 1, {'stack': 'complete'})])
	PYTHON
	"$truth" "$tmp/c.pb.gz" >"$tmp/verdict"
	cat "$tmp/verdict"
	grep -q 'not checked: .*/program: another file than was profiled' "$tmp/verdict"
	grep -q '^1 stacks, 1 complete, 0 impossible callers, 0 false roots, 0 leaves outside$' "$tmp/verdict"
}
