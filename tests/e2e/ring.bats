#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# When the ring buffer is full: each event that is due is sent or counted, and what was lost is made
# good. tests/ring/ring_check.c holds the BPF programs to it with a ring that nobody reads; the rest
# stops a recorder until its ring is full.
# no stoker: it counts the cgroups of the whole host
# seconds: 25

load lib

# build_check NAME: the programs around the product's own, and the one that loads them.
build_check() {
	local machine
	machine=$(uname -m)
	cd "$repo" || return 1
	clang -g -O2 -mcpu=v3 -target bpf "-D__TARGET_ARCH_$(sed 's/x86_64/x86/;s/aarch64/arm64/' <<<"$machine")" \
		-Wall -Werror -I. -idirafter "/usr/include/$machine-linux-gnu" \
		-c tests/ring/ring_check.bpf.c -o "$tmp/ring_check.bpf.o" &&
		bpftool gen skeleton "$tmp/ring_check.bpf.o" name ring_check_bpf >"$tmp/ring_check.skel.h" &&
		"${CC:-gcc}" -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -I. -Iuser "-I$tmp" \
			"tests/ring/$1.c" -lbpf -lelf -lz -o "$tmp/$1"
}

# end_cgroups: also those below it.
end_cgroups() {
	find "$cgroup" -depth -mindepth 1 -type d -exec rmdir {} + 2>/dev/null || :
}

@test "with a ring of one page each event of every kind is sent or counted, and is sent again" {
	local status=0
	need clang bpftool
	make_cgroup ring
	build_check ring_check
	timeout -k 5 120 "$tmp/ring_check" "$cgroup" >"$tmp/checks" 2>&1 || status=$?
	end_cgroups
	cat "$tmp/checks"
	[ "$(grep -c '^ok full: ' "$tmp/checks")" -eq 12 ]
	[ "$status" -eq 0 ]
}

@test "a deferred sample has up to 64 KiB of its stack, of both ends if it is longer, fewer where time or room is short" {
	need clang bpftool
	build_check copy_check
	run timeout -k 5 60 "$tmp/copy_check"
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(grep -c '^ok ' <<<"$output")" -ge 22 ]
}

# each FIRST LAST COMMAND...: with those of the numbered cgroups below $deep.
each() {
	seq -f "$deep/%.0f" "$1" "$2" | xargs "${@:3}"
}

# What the account may know: v2's, and those of the v1 hierarchies.
all_cgroups() {
	find "$(dirname "$(cgroup2_root)")" -name cgroup.procs 2>/dev/null | wc -l
}

@test "a recorder that was stopped says what it lost, knows who is there, and its ticks add up" {
	local name deep ring i known=600 late=200 churned id there witness said
	make_cgroup stopped
	id=$(printf '%064x' $$)
	# An event has its path, so few fill the ring.
	name=$(printf 'a-cgroup-with-a-long-name-%0150d' 0)
	deep=$cgroup/$name/$name/$name/$name
	mkdir -p "$deep"
	ring=$((512 * 1024 * $(nproc)))
	churned=$((ring * 2 / 750))
	for ((i = 0; i < 100; i++)); do
		cp "$(type -P true)" "$tmp/program-$i"
	done
	# Beside it one that nobody stops: it has what others on this host make, too.
	start_record -a -F 1 -o "$tmp/f.witness" --stats "$tmp/s.witness"
	witness=$recorder
	start_record -a -F 997 --by container -o "$tmp/f" --stats "$tmp/s"
	said=$out
	each 1 "$known" mkdir

	kill -STOP "$agent"
	each 10001 $((10000 + churned)) mkdir
	each 1 "$known" rmdir
	each 10001 $((10000 + churned)) rmdir
	each 20001 $((20000 + late)) mkdir
	for ((i = 0; i < 100; i++)); do
		"$tmp/program-$i"
	done
	mkdir "$cgroup/docker-$id.scope"
	# shellcheck disable=SC2016 # for the inner shell
	start sh -c 'echo 0 >"$0/cgroup.procs" && exec "$@"' "$cgroup/docker-$id.scope" "$(target spin)" 120
	wait_until 20 has_run "$pid" 30
	kill -CONT "$agent"

	# It has a moment of its own, too.
	runs_on "$pid" 100
	from_birth "$pid"
	wait_until 60 has_run "$agent" 20
	there=$(all_cgroups)
	kill -INT "$recorder"
	wait_until 60 is_gone "$recorder"
	read_meter
	kill -INT "$witness"
	wait_until 60 is_gone "$witness"
	cat "$said"
	each 20001 $((20000 + late)) rmdir
	kill -KILL "$pid"
	wait_until 5 is_gone "$pid"
	end_cgroups

	jq -c '.events, .ticks, .containers' "$tmp/s" "$tmp/s.witness"
	says '^events .* lost: no room in the ring buffer' "$said"
	jq -e '.events.lost.cgroup == null' "$tmp/s.witness"
	# Each came or is counted, and none is counted twice.
	between "$(jq '.containers | .made + .removed + .renamed' "$tmp/s")" 100 1000000 'cgroup events that came'
	between "$(jq '.events.lost.cgroup' "$tmp/s")" 200 1000000 'cgroup events lost'
	between "$(jq '.events.lost.cgroup + (.containers | .made + .removed + .renamed)' "$tmp/s")" \
		$((2 * known + 2 * churned + late + 1)) \
		"$(jq '.containers | .made + .removed + .renamed' "$tmp/s.witness")" 'cgroup events in all'
	between "$(jq '.events.lost.exec' "$tmp/s")" 50 1000000 'exec events lost'
	between "$(jq '.ticks.lost.ring_full' "$tmp/s")" 1 1000000 'ticks lost'
	adds_up "$tmp/s"
	# All that is there is known, and no more: not those that went unheard.
	jq -e '.containers.rescans >= 1' "$tmp/s"
	between "$(jq '.containers.cgroups' "$tmp/s")" $((there - 100)) $((there + 100)) 'cgroups known'
	fits_cpu "$(folded_count "$tmp/f" "^${id:0:12};.*spin_here")" 997 'samples of the late container' 1 200
}
