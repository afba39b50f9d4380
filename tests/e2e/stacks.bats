#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Whose stacks, how whole, and in what proportion.
# seconds: 60

load lib

# holds_70_30 FILE PARENT: the two functions under PARENT have 70 and 30 per cent.
holds_70_30() {
	hottest "$1"
	between "$(folded_share "$1" "$(chain "$2;seventy")")" 67 73 'share of seventy'
	between "$(folded_share "$1" "$(chain "$2;thirty")")" 27 33 'share of thirty'
}

@test "two functions of 70 and 30 per cent have 70 and 30 per cent, under main" {
	start_busy burn7030 120
	record_cpu 1.5 "$pid" -F 999 -o "$tmp/f" --stats "$tmp/s"
	holds_70_30 "$tmp/f" 'main;parent'
	fits_cpu "$(stat_of "$tmp/s" .ticks.samples)" 999 'samples of one busy thread' 87 113
}

@test "the same in four threads, under thread_main" {
	start_busy burn7030 120 4
	record_cpu 1.5 "$pid" -F 999 -o "$tmp/f"
	holds_70_30 "$tmp/f" 'thread_main;parent'
}

@test "the same in a program without frame pointers" {
	start_busy burn7030_nofp 120
	record_cpu 3 "$pid" -F 499 -o "$tmp/f" --stats "$tmp/s"
	need_tables "$tmp/s"
	holds_70_30 "$tmp/f" 'main;parent'
}

@test "a stack begins at the process's or the thread's entry" {
	start_busy burn7030_nofp 30
	local process=$pid
	start_busy burn7030_nofp 30 2
	record_cpu 2 "$process,$pid" -F 199 -o "$tmp/f" --stats "$tmp/s"
	need_tables "$tmp/s"
	hottest "$tmp/f"
	between "$(folded_share "$tmp/f" '^[^;]+;(_start;.*main|.*;thread_main);parent(;|$)')" \
		98 100 'from the entry'
	between "$(jq '100 * .user_stacks.complete / .user_stacks.total' "$tmp/s")" 99 100 'complete'
}

# whole_recursion: of $pid, recorded to $tmp/f
whole_recursion() {
	hottest "$tmp/f"
	between "$(folded_share "$tmp/f" ";main;$(printf 'descend;%.0s' {1..60})deep_leaf(;|$)")" 97 100 whole
}

@test "a recursion of 60 is whole" {
	start_busy deep 20 60
	record_cpu 0.5 "$pid" -F 499 -o "$tmp/f"
	whole_recursion
}

@test "a recursion of 60 is whole without frame pointers" {
	start_busy deep_nofp 20 60
	record_cpu 1 "$pid" -F 199 -o "$tmp/f" --stats "$tmp/s"
	need_tables "$tmp/s"
	whole_recursion
}

@test "kernel frames follow the user frames that called" {
	local name=calls$$ # nobody else's
	ln -s "$(target syscalls)" "$tmp/$name"
	start "$tmp/$name" 30
	wait_until 10 has_run "$pid"
	record_while 2 "$pid" -a -F 499 -o "$tmp/f"
	hottest "$tmp/f"
	kernel_is_last "$tmp/f"
	fits_cpu "$(folded_count "$tmp/f" "^[^;]+;$name;(.*;)?main;(.*;)?read;.*;vfs_read_\[k\];")" 499 \
		'samples in vfs_read called by read under main' 2
	between "$(folded_count "$tmp/f" "^[^;]+;$name;.*;(\[kernel\]\+)?0x[0-9a-f]+_\[k\]")" 0 0 \
		'nameless kernel frames'
}

@test "the caller of a system call is there though libc has no frame pointers" {
	start_busy syscalls 30
	record_cpu 2 "$pid" -F 499 -o "$tmp/f" --stats "$tmp/s"
	need_tables "$tmp/s"
	hottest "$tmp/f"
	between "$(folded_share "$tmp/f" ';main;in_(read|write|stat|list);')" 95 100 'below the four'
	fits_cpu "$(folded_count "$tmp/f" ';main;in_read;(__)?(libc_)?read;.*;vfs_read_\[k\];')" 499 'in vfs_read' 3
}

@test "--user leaves the kernel half out and --kernel the user half" {
	start_busy syscalls 30
	record_cpu 1 "$pid" --user -F 499 -o "$tmp/u"
	fits_cpu "$(folded_count "$tmp/u" "$(chain main)")" 499 'user frames with --user'
	record_cpu 1 "$pid" --kernel -F 499 -o "$tmp/k"
	fits_cpu "$(folded_count "$tmp/k" '^[^;]+(;[^;]*_\[k\])+$')" 499 'kernel stacks with --kernel' 20
	hottest "$tmp/u"
	hottest "$tmp/k"
	between "$(folded_count "$tmp/u" '_\[k\]')" 0 0 'kernel frames with --user'
	between "$(folded_count "$tmp/k" "$(chain main)")" 0 0 'user frames with --kernel'
}

@test "programs that live 25 ms are named from their first sample" {
	local short=$tmp/brief$$ i # nobody else's
	ln -s "$(target shortlived)" "$short"
	start_record -a -F 499 -o "$tmp/f"
	for i in $(seq 80); do
		"$short"
	done
	kill -INT "$recorder"
	wait "$recorder"
	hottest "$tmp/f"
	had=200 had_most=200 # 80 times 25 ms
	fits_cpu "$(folded_count "$tmp/f" "^[^;]+;brief$$;")" 499 'samples of short lives'
	between "$(folded_count "$tmp/f" "^[^;]+;brief$$;.*;main;brief_work(;|\$)")" \
		"$(($(folded_count "$tmp/f" "^[^;]+;brief$$;(.*;)?main(;|\$)") * 9 / 10))" 100000 'named to the leaf'
	fits_cpu "$(folded_count "$tmp/f" "^[^;]+;brief$$;.*main;brief_work(;|\$)")" 499 'with names' 60
}

# through_unspoken FILE: all of its samples are of `unspoken`, under main, and whole by its way out,
# or by a guess where its leaf runs.
through_unspoken() {
	hottest "$1"
	between "$(folded_share "$1" 'main;spoken;\[guessed\];unspoken;unspoken_leaf$')" 30 70 "guessed in $1"
	between "$(folded_share "$1" '\[guessed\];unspoken$')" 0 1 "guessed where the way out is plain in $1"
	sed -i 's/\[guessed\];//' "$1"
	between "$(folded_share "$1" 'main;spoken;unspoken(;unspoken_leaf)?$')" 95 100 "under main in $1"
	between "$(folded_share "$1" ';unspoken;unspoken_leaf$')" 30 70 "in its leaf in $1"
	between "$(folded_share "$1" truncated)" 0 1 "cut in $1"
}

@test "assembly without CFI has its callers, in the kernel and where a table came late" {
	local i
	[ "$(uname -m)" = x86_64 ] || skip 'x86-64 assembly'
	[ "$(stat -f -c %T "$tmp")" != overlayfs ] || skip 'overlayfs does not read without waiting'
	start "$(target unspoken)" 20000
	record_cpu 2 "$pid" --user -F 199 -o "$tmp/known" --stats "$tmp/s"
	need_tables "$tmp/s"
	through_unspoken "$tmp/known"
	record_unknown 499 unspoken 300
	had=30 had_most=30 # 300 ms
	fits_cpu "$(jq .tables.stacks_deferred "$tmp/s")" 499 'stacks held' 33 600 # and those of bash and ps
	grep ';unspoken' "$tmp/all" >"$tmp/met"
	through_unspoken "$tmp/met"
}

@test "a stack is whole before its file has a table, whatever lies in a frame of 0.75 MB on it" {
	local thread
	for thread in '' thread; do
		# shellcheck disable=SC2086 # none, or one
		record_unknown 149 largeframe 500 $thread
		hottest "$tmp/met"
		jq -c '.user_stacks, .tables' "$tmp/s"
		had=50 had_most=50 # 500 ms
		fits_cpu "$(folded_count "$tmp/met")" 149 samples 33
		between "$(stat_of "$tmp/s" .tables.stacks_deferred)" "$(($(folded_count "$tmp/met") * 9 / 10))" 1000 deferred
		between "$(folded_share "$tmp/met" "^[^[]*;(main|begin);outer;large_frame(;|\$)")" 97 100 whole
		between "$(folded_share "$tmp/met" truncated)" 0 3 cut
	done
}

@test "64 threads share the time of their process" {
	start_busy manythreads 30
	record_cpu 1.5 "$pid" --by comm,tid -F 999 -o "$tmp/f"
	hottest "$tmp/f"
	between "$(folded_share "$tmp/f" "$(chain 'thread_main;thread_work')")" 97 100 named
	between "$(cut -d ';' -f 2 "$tmp/f" | sort -u | wc -l)" 30 64 'threads seen'
}

has_children() {
	[ "$(children_of "$1" | wc -w)" -ge "$2" ]
}

@test "100 processes of one program are one object" {
	# Nice, for the recorder has to come to its turn among them.
	start nice -n 15 "$(target manyprocs)" 120 100
	wait_until 20 has_children "$pid" 100
	record_cpu 2 "$(children_of "$pid" | xargs | tr ' ' ,)" -F 499 -o "$tmp/f" --stats "$tmp/s"
	hottest "$tmp/f"
	fits_cpu "$(folded_count "$tmp/f" '^manyprocs;')" 499 samples
	between "$(folded_share "$tmp/f" "$(chain 'child_main;child_work')")" 97 100 named
	between "$(stat_of "$tmp/s" .objects.symbol_loads)" 1 10 'symbol loads, one for each file'
}

@test "a program mapped by three processes, one by another path, is loaded once" {
	local one two copy
	start_busy spin 60
	one=$pid
	record_cpu 1 "$one" -F 199 -o "$tmp/f1" --stats "$tmp/s1"
	start_busy spin 60
	two=$pid
	copy=$tmp/elsewhere
	touch "$copy"
	mount --bind "$(target spin)" "$copy"
	mounts+=("$copy")
	start_in_container "$copy" 60
	wait_until 5 has_run "$pid"
	record_cpu 2 "$one,$two,$pid" --by pid -F 199 -o "$tmp/f3" --stats "$tmp/s3"
	between "$(cut -d ';' -f 1 "$tmp/f3" | sort -u | wc -l)" 3 3 'processes in the profile'
	between "$(folded_share "$tmp/f3" "$(chain 'main;spin_here')")" 97 100 named
	between "$(stat_of "$tmp/s3" .objects.symbol_loads)" 1 \
		"$(stat_of "$tmp/s1" .objects.symbol_loads)" 'symbol loads'
}

@test "a process is named to the end when it ends in mid-capture" {
	start "$(target burn7030)" 60
	local victim=$pid
	meter "$victim"
	start_record -p "$victim" -F 499 -d 60 -o "$tmp/f"
	runs_on "$victim" 100
	read_meter
	kill -KILL "$victim"
	wait "$recorder"
	hottest "$tmp/f"
	fits_cpu "$(folded_count "$tmp/f")" 499 samples
	between "$(folded_share "$tmp/f" "$(chain 'main;parent')")" 97 100 named
}

@test "among more files than are kept, one that is met later is known and walked" {
	local many fresh=$tmp/fresh
	mkdir "$tmp/files"
	start "$(target manyfiles)" "$tmp/files" 9500 300
	many=$pid
	wait_until 20 grep -q ready "$out"
	start_record -a -F 2999 -d 300 -o "$tmp/f" --stats "$tmp/s"
	# Longer than the six seconds after which a file may be forgotten that nobody uses.
	runs_on "$many" 700
	cp "$(target deep_nofp)" "$fresh"
	start "$fresh" 300
	from_birth "$pid"
	runs_on "$pid" 200
	stop_record
	jq -c '.objects, .user_stacks, .tables' "$tmp/s"
	hottest "$tmp/f"
	between "$(jq .objects.met "$tmp/s")" 7168 10000000 'files met'
	between "$(jq .objects.forgotten "$tmp/s")" 1000 10000000 'files forgotten'
	fits_cpu "$(folded_count "$tmp/f" ';fresh;')" 2999 'samples of the fresh program' 20
	between "$(folded_count "$tmp/f" ';fresh;.*_start.*;main;')" \
		$(($(folded_count "$tmp/f" ';fresh;') * 3 / 4)) 20000 'of them from the root'
}
