#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Kernel frames: BPF programs that are loaded and gone again during a capture, names without the list of
# all symbols, and hidden addresses.
# alone: it hides the addresses of the kernel from all, and switches a CPU off

load lib

# Loads a program three times over and lets it run, at `sh $tmp/run $tmp $pin`; each is another one, in a place
# that was used before.
make_program() {
	pin=$tmp/bpf/spin
	mkdir "$tmp/bpf"
	mount -t bpf none "$tmp/bpf"
	mounts+=("$tmp/bpf")
	clang -g -O2 -target bpf -mcpu=v3 -idirafter "/usr/include/$(uname -m)-linux-gnu" -x c \
		-c -o "$tmp/spin.o" - <<-'C'
			#include <linux/bpf.h>
			static long (*loop)(unsigned int n, void *fn, void *ctx, unsigned long flags) = (void *)181;
			static long turn(unsigned int i, unsigned long *x)
			{
				*x = *x * 6364136223846793005UL + i;
				return 0;
			}
			__attribute__((section("socket"), used)) int spin_busy(struct __sk_buff *s)
			{
				unsigned long x = s->len;
				loop(100000, turn, &x, 0);
				return x & 1;
			}
			char terms[] __attribute__((section("license"), used)) = "GPL";
		C
	head -c 64 /dev/zero >"$tmp/packet"
	cat >"$tmp/run" <<-'SH'
		for round in 1 2 3; do
			bpftool prog load "$1/spin.o" "$2" || exit
			bpftool prog run pinned "$2" data_in "$1/packet" repeat 2000 >/dev/null
			rm -f "$2"
		done
	SH
	bpftool prog load "$tmp/spin.o" "$pin" 2>"$tmp/load" || skip "this kernel takes no such program: $(tail -n 1 "$tmp/load")"
	rm -f "$pin"
}

# program_is_named FILE LEAST: what a test run calls is this program, a helper or a tick's work, no other program;
# but somebody else's may have been at its address for longer.
program_is_named() {
	local all own
	tr ';' '\n' <"$1" | sed 's/ [0-9]*$//' | grep -A1 '^bpf_test_run_\[k\]' | sort | uniq -c
	fits_cpu "$(folded_count "$1" 'bpf_test_run_\[k\]')" 999 'samples in test runs' 20
	all=$(folded_count "$1" 'bpf_test_run_\[k\];(.*;)?bpf_prog_[0-9a-f]+_')
	own=$(folded_count "$1" 'bpf_test_run_\[k\];(.*;)?bpf_prog_[0-9a-f]+_(spin_busy|turn)')
	fits_cpu "$all" 999 'samples in programs' 5
	between "$((100 * own / all))" "$2" 100 'of them in this one, %'
}

@test "a BPF program that comes and goes during a capture has its own name" {
	local pin
	make_program
	with_had record -F 999 -o "$tmp/f" --stats "$tmp/s" -- sh "$tmp/run" "$tmp" "$pin"
	program_is_named "$tmp/f" 60
}

@test "so has one that is loaded on a CPU that went and came back" {
	local switch=/sys/devices/system/cpu/cpu1/online pin open run
	[ -w "$switch" ] || skip "no CPU that can be switched: $switch"
	make_program
	start_record -a -F 999 -d 300 -o "$tmp/f" --stats "$tmp/s"
	open=$(perf_events)
	offline=$switch
	echo 0 >"$switch" 2>/dev/null || {
		offline=''
		skip 'this machine does not let a CPU go'
	}
	wait_until 5 has_events -lt "$open"
	echo 1 >"$switch"
	wait_until 5 has_events -eq "$open"
	with_had taskset -c 1 sh "$tmp/run" "$tmp" "$pin"
	run=$had
	stop_record
	had=$run had_most=$run
	program_is_named "$tmp/f" 20 # the capture is longer than the program
}

@test "kernel frames have names without a reading of all symbols, where the kernel names an address" {
	grep -qa BPF_FUNC_snprintf /sys/kernel/btf/vmlinux || skip 'this kernel names no address (Linux 5.13)'
	need unshare
	grep -m 3 -E '^[0-9a-f]+ [tT] ' /proc/kallsyms >"$tmp/few"
	start_busy syscalls
	# shellcheck disable=SC2016
	exits 0 unshare -m sh -c 'mount --bind "$1" /proc/kallsyms && shift && exec "$@"' - "$tmp/few" \
		"$stoker" record -F 999 -d 1 -p "$pid" -o "$tmp/f" --stats "$tmp/s"
	[ "$(folded_count "$tmp/f" '_\[k\]')" -gt 0 ]
	[ "$(folded_count "$tmp/f" '\[kernel\]\+0x')" -eq 0 ]
	[ "$(jq '.frames.by_source.kallsyms' "$tmp/s")" -gt 0 ]
}

@test "hidden kernel addresses are said, and no name is made up" {
	local was=/proc/sys/kernel/kptr_restrict kept
	kept=$(cat "$was")
	start_busy syscalls
	[ -w "$was" ] && echo 2 >"$was" 2>/dev/null || skip 'kernel.kptr_restrict cannot be set here'
	timeout -k 5 60 "$stoker" record -F 999 -d 1 -p "$pid" -o "$tmp/f" --stats "$tmp/s" \
		</dev/null >"$tmp/said" 2>&1 3>&- || true
	echo "$kept" >"$was"
	cat "$tmp/said"
	grep -q 'kernel.kptr_restrict' "$tmp/said"
	[ "$(folded_count "$tmp/f" '_\[k\]')" -gt 0 ]
	[ "$(folded_count "$tmp/f" '\[kernel\]\+0xf[0-9a-f]*_\[k\]')" -eq "$(folded_count "$tmp/f" '_\[k\]')" ]
	[ "$(jq '.frames.by_source.kallsyms // 0' "$tmp/s")" -eq 0 ]
}
