#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The walk of bpf/vma.bpf.h against /proc/PID/maps, address by address, while real programs run.
# Two runs of vma_check look at the whole host: one over programs that last, one over 200 that do not.
# What each printed is in $runs; the tests read it.
# seconds: 20

bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/../binaries.bash"

repo=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
runs=$BATS_FILE_TMPDIR
LONG_SECONDS=8
SHORT_SECONDS=5
LOAD_SECONDS=90 # a load ends by itself then, whatever becomes of the test
HZ=999

# build_bpf NAME
build_bpf() {
	clang -g -O2 -mcpu=v3 -target bpf "-D__TARGET_ARCH_$(uname -m | sed 's/x86_64/x86/;s/aarch64/arm64/')" \
		-Wall -Werror -I. -idirafter "/usr/include/$(uname -m)-linux-gnu" \
		-c "tests/vma/$1.bpf.c" -o "$runs/$1.bpf.o"
}

build() {
	local c flags=(-std=gnu11 -D_GNU_SOURCE -O1 -g -I. -Iuser)
	cd "$repo" || return 1
	build_bpf vma_check && build_bpf generation || return 1
	"${CC:-gcc}" "${flags[@]}" tests/vma/vma_check.c user/base/{buf,err,fd,vec}.c user/proc/{maps,status}.c \
		-lbpf -lelf -lz -o "$runs/vma_check" || return 1
	"${CC:-gcc}" "${flags[@]}" -pthread tests/vma/generation.c -lbpf -o "$runs/generation" || return 1
	for c in manymaps churnmaps; do
		"${CC:-gcc}" "${flags[@]}" -pthread "tests/vma/$c.c" -o "$runs/$c" || return 1
	done
	# Under a name of its own in the list of programs.
	cp "$(readlink -f "$(command -v awk)")" "$runs/shortlived-awk"
}

write_programs() {
	cat >"$runs/load.js" <<-'END'
		const end = Date.now() + 1000 * Number(process.argv[2]);
		let kept = 0;
		console.log('ready');
		for (let turn = 0; Date.now() < end; turn++) {
			const table = {};
			for (let i = 0; i < 20000; i++) table['key' + (i % 977)] = [i, String(i + turn)];
			kept += JSON.stringify(table).length;
			if (turn % 16 === 0) kept += new Function('a', 'return a + ' + turn)(1);
		}
	END
	cat >"$runs/load.py" <<-'END'
		import sys, time
		end = time.time() + float(sys.argv[1])
		print('ready', flush=True)
		while time.time() < end:
		    table = {i: str(i) for i in range(20000)}
	END
	cat >"$runs/Load.java" <<-'END'
		class Load {
			public static void main(String[] args) {
				long end = System.currentTimeMillis() + 1000 * Long.parseLong(args[0]), kept = 0;
				System.out.println("ready");
				while (System.currentTimeMillis() < end) {
					var table = new java.util.HashMap<String, Integer>();
					for (int i = 0; i < 20000; i++)
						table.merge("key" + i % 977, i, Integer::sum);
					kept += table.hashCode();
				}
				System.exit((int) (kept & 0));
			}
		}
	END
	[ ! -x "$javac" ] || "$javac" -d "$runs" "$runs/Load.java" || :
}

is_ready_or_gone() {
	grep -q ready "$1" 2>/dev/null || ! kill -0 "$2" 2>/dev/null
}

# is_ready FILE PID: has it said so, within 30 s of an idle machine?
is_ready() {
	wait_until 30 is_ready_or_gone "$1" "$2" && grep -q ready "$1"
}

# started PID: to be ended.
started() {
	echo "$1" >>"$runs/started"
}

# start NAME COMMAND...: a load that says when it is ready.
start() {
	local name=$1
	shift
	"$@" >"$runs/$name.out" 2>&1 3>&- &
	started "$!"
	echo "$name" "$!" >>"$runs/loads"
}

# Until all are. $runs/NAME.comm then has what the kernel calls it; there is none if it does not run.
wait_for_loads() {
	local name pid
	while read -r name pid; do
		if is_ready "$runs/$name.out" "$pid"; then
			cp "/proc/$pid/comm" "$runs/$name.comm"
		else
			echo "$name does not run: $(tail -n 3 "$runs/$name.out")"
		fi
	done <"$runs/loads"
}

end_all() {
	local one
	if [ -e "$runs/started" ]; then
		while read -r one; do
			{ kill -KILL "$one" && wait "$one"; } 2>/dev/null || :
		done <"$runs/started"
		rm "$runs/started"
	fi
}

# check NAME SECONDS: leaves $runs/NAME.txt and $runs/NAME.status.
check() {
	local status=0
	nice -n -10 "$runs/vma_check" "$runs/vma_check.bpf.o" "$HZ" "$2" >"$runs/$1.txt" 2>&1 3>&- || status=$?
	echo "$status" >"$runs/$1.status"
}

start_loads() {
	[ ! -e "$runs/Load.class" ] || start java "$java" -cp "$runs" Load "$LOAD_SECONDS"
	[ ! -x "$node" ] || start node "$node" "$runs/load.js" "$LOAD_SECONDS"
	start python "$python" "$runs/load.py" "$LOAD_SECONDS"
	start manymaps "$runs/manymaps" "$LOAD_SECONDS"
	start churnmaps "$runs/churnmaps" "$LOAD_SECONDS"
}

# 100 processes one after the other, of some 30 ms each.
short_ones() {
	local i
	for ((i = 0; i < 100; i++)); do
		"$runs/shortlived-awk" 'BEGIN { while (i++ < 400000) sum += i }'
	done
}

# What this machine lacks, if anything.
lacking() {
	if [ "$(id -u)" -ne 0 ]; then
		echo "must be root: this loads BPF and reads the maps of every process"
	elif [ ! -r /sys/kernel/btf/vmlinux ]; then
		echo "this kernel has no BTF"
	elif ! command -v clang >/dev/null; then
		echo "clang is not installed"
	fi
}

setup_file() {
	lacking >"$runs/lacking"
	[ ! -s "$runs/lacking" ] || return 0
	build
	write_programs
	start_loads
	wait_for_loads
	check long "$LONG_SECONDS"
	end_all
	short_ones 3>&- &
	started "$!"
	short_ones 3>&- &
	started "$!"
	check short "$SHORT_SECONDS"
	end_all
}

setup() {
	[ ! -s "$runs/lacking" ] || skip "$(cat "$runs/lacking")"
}

# agrees RUN COMM MIN: the walk's answers for this program: how many were compared, how many agree.
agrees() {
	cat "$runs/$1.txt"
	awk -v comm="${2// /_}" -v min="$3" '
		$1 == "load" && $2 == comm { compared = $3; agreed = $4 }
		END {
			printf "%s: %d compared, %d agree\n", comm, compared, agreed
			exit !(compared >= min && agreed >= 0.999 * compared)
		}' "$runs/$1.txt"
}

# load_agrees NAME MIN WHY
load_agrees() {
	[ -e "$runs/$1.comm" ] || skip "$3"
	agrees long "$(cat "$runs/$1.comm")" "$2"
}

@test "the walk agrees with /proc/PID/maps over all that runs on the host" {
	cat "$runs/long.txt"
	[ "$(cat "$runs/long.status")" -eq 0 ]
}

@test "the walk agrees in a tree of 10,000 mappings, of files, shared and private" {
	load_agrees manymaps 200 "it did not start"
}

@test "the walk finds what stays while another thread maps and unmaps beside it" {
	load_agrees churnmaps 200 "it did not start"
}

@test "the walk agrees in python3" {
	load_agrees python 200 "python3 does not run here"
}

@test "the walk agrees in node, whose JIT changes its mappings" {
	load_agrees node 200 "node does not run here"
}

@test "the walk agrees in java, whose JIT changes its mappings" {
	load_agrees java 200 "java and javac do not run here"
}

@test "the walk agrees in processes of a few milliseconds" {
	agrees short shortlived-awk 200
	# 1: fewer were compared than a long run has to; most such processes are gone before.
	[ "$(cat "$runs/short.status")" -lt 2 ]
}

# A kernel that locks single mappings numbers their changes: Linux 6.4 and later, as configured. The
# lock of PREEMPT_RT does not show its writer, which the older of the two ways needs.
kernel_numbers_changes() {
	grep -qw lock_vma_under_rcu /proc/kallsyms && [[ $(uname -v) != *PREEMPT_RT* ]]
}

@test "each change of mappings has a number of its own, where doctor says so" {
	local stoker=${STOKER:-$repo/stoker} said
	run -0 "$runs/generation" "$runs/generation.bpf.o"
	echo "$output"
	said=$("$stoker" doctor | grep ' mappings ')
	echo "$said"
	case $output in
	int | seqcount) [[ $said != *'be cached'* ]] ;;
	none) [[ $said == *'be cached'* ]] && ! kernel_numbers_changes ;;
	*) false ;;
	esac
}
