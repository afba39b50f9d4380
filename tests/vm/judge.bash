# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# judge.bash - holds what a test machine sent against what must be true. For tools/check-vm, which
# sets $kernel, the name that is shown, and $got, the folder of what arrived: a file for each that the
# machine made. Which programs and features the kernel should have, the machine reads in its BTF.
# Invariant: a file that did not arrive fails every check that reads it.

SAMPLES_MIN=60 # of 396 ticks: an emulated clock on a busy host loses many
SHARE_MIN=90   # per cent of a program's samples with the stack that it must have

passed=0 failed=0 skipped=0 summary=''

say() {
	printf '%5ds  %s\n' "$SECONDS" "$*"
}

skip() {
	skipped=$((skipped + 1))
	say "SKIPPED $*"
}

# check NAME COMMAND...: one test of the kernel at hand.
check() {
	local name=$1 shown
	shift
	if shown=$("$@" 2>&1); then
		passed=$((passed + 1))
		say "ok $kernel $name${shown:+: $shown}"
	else
		failed=$((failed + 1))
		say "not ok $kernel $name${shown:+: $shown}"
	fi
}

# unpack_console CONSOLE: what it brought, as files again. One whose end did not come did not arrive.
unpack_console() {
	rm -rf "$got"
	mkdir "$got"
	awk -v dir="$got/" '
		function lose() { if (file) { close(file); system("rm -f \047" file "\047"); file = "" } }
		/^@@end / { if (file) close(file); file = ""; next }
		/^@@begin / { lose(); file = dir $2; printf "" > file; next }
		file && length($0) { print > file }
		END { lose() }' "$1"
}

# ---- what must be true ----------------------------------------------------------------------

was() { # was FILE STATUS
	[ "$(cat "$got/$1.status" 2>/dev/null)" = "$2" ] && return
	tail -3 "$got/$1" 2>/dev/null
	return 1
}

program_is_accepted() {
	sed -n "s/^$1 //p" "$got/verifier"
	grep -q "^$1 ok " "$got/verifier"
}

# Of nothing, `jq -e` says nothing and succeeds: hence the -s in those that ask the account.
enough_samples() {
	[ -s "$got/stats" ] && jq -r '"\(.ticks.samples) of \(.ticks.expected) ticks"' "$got/stats" &&
		jq -e ".ticks.samples >= $SAMPLES_MIN" "$got/stats" >/dev/null
}

# By wall time within one per cent, and a tick at each end of each CPU's clock: it runs for two seconds only.
account_adds_up() {
	[ -s "$got/stats" ] && jq -c '.ticks' "$got/stats" &&
		jq -e '. as $all | .ticks
			| (.lost | add // 0) as $lost
			| (.expected + .filtered - $all.hz * $all.cpus * $all.duration_s) as $off
			| .expected == .samples + .idle + .skipped + $lost
				and $all.bpf.runs == .filtered + .samples + .idle + $lost
				and ($off | fabs) <= .expected / 100 + 2 * $all.cpus' \
			"$got/stats" >/dev/null
}

user_stacks_are_complete() {
	[ -s "$got/stats" ] && jq -c '.user_stacks' "$got/stats" &&
		jq -e ".user_stacks | .total > 0 and .complete * 100 >= .total * $SHARE_MIN" \
			"$got/stats" >/dev/null
}

# threads_are_split: nine threads, each by its name; a CPU that is emulated gives at least a tenth.
threads_are_split() {
	awk '$1 == "thread" {
		n++
		if ($5 + $6 + $7 + $8 != $4) bad = bad " " $3 ": not the whole"
		if (($3 == "waits-burn" || $3 ~ /pair/) && ($7 > 0 || $5 * 10 < $4)) bad = bad " " $3
		if ($3 == "waits-never" && $7 != $4) bad = bad " " $3
		if ($3 ~ /pair/ && $6 * 10 < $4) bad = bad " " $3 ": not runnable"
		if ($3 ~ /(sleep|lock.)$/ && $7 * 2 < $4) bad = bad " " $3 ": not blocked"
	}
	END { printf "%d threads%s", n, bad; exit !(n == 9 && !bad) }' "$got/waiting"
}

# The address of a futex is an argument as it is, that of the socket is behind a descriptor in the thread's memory.
has_waits() {
	grep -q ';\[waits for futex 0x[0-9a-f]*\];\[blocked on futex\] [0-9]*$' "$got/wall.folded" &&
		grep -q ';\[waits for unix @stoker-blocked-[0-9]*\];\[blocked on poll\] [0-9]*$' "$got/wall.folded" &&
		grep -q ';\[blocked on pipe\] [0-9]*$' "$got/wall.folded" &&
		! grep -q 'waits for.*;\[blocked on pipe\]' "$got/wall.folded"
}

judge_visits() {
	summary+="$kernel $(grep '^visit ' "$got/visit_verifier")"$'\n'
	check 'verifier accepts visits' was visit_verifier 0
	check 'threads that wait are visited' was visits 0
	check 'doctor says that their stacks are walked' grep -q '^ok  *threads that wait ' "$got/doctor"
	check 'record -e wall has what they wait for' was wall 0
	check 'they wait for a futex, a socket by its name, and a pipe' has_waits
	check 'each waits where it does' waits_are_right
}

# On arm64 the walk does not pass the frame of a signal that a thread waits in.
waits_are_right() {
	local name chain
	while read -r _ name chain; do
		case $kernel:$name in
		arm64*:blocked-signal) continue ;;
		esac
		grep -q "^$name;.*;wait_for_ever;$chain;.*_\[k\] [0-9]*$" "$got/visits.folded" || {
			echo "$name: not $chain"
			grep "^$name;" "$got/visits.folded"
			return 1
		}
	done <"$got/chains"
	[ "$(wc -l <"$got/chains")" -eq 6 ] && cat "$got/visits"
}

# Of 198 ticks.
enough_times() {
	cat "$got/timed"
	[ "$(cat "$got/timed")" -ge $((SAMPLES_MIN / 2)) ]
}

# stacks_of COMM REGEX [OF]: share of the program's samples (of those like OF) that match.
stacks_of() {
	awk -v comm="$1" -v want="$2" -v of="${3:-.}" -v least="$SHARE_MIN" '
		index($0, comm ";") == 1 && $0 ~ of { all += $NF; if ($0 ~ want) good += $NF }
		END {
			printf "%d of %d samples", good, all
			exit !(all > 5 && good * 100 >= all * least)
		}' "$got/folded"
}

kernel_frames_are_named() {
	awk '
		/_\[k\]/ { all += $NF; if ($0 ~ /(0x[0-9a-f]+|\[unknown\])_\[k\]/) bare += $NF }
		END {
			printf "%d of %d samples with kernel frames", all - bare, all
			exit !(all > 5 && bare == 0)
		}' "$got/folded"
}

# The second process of its namespace, or the third.
pids_are_of_the_namespace() {
	awk '/;main;spin_here/ { all += $NF; if ($0 ~ /^[2-9];/) good += $NF }
		END { printf "%d of %d samples", good, all; exit !(all > 5 && good == all) }' "$got/nested.folded"
}

# spin_in FILE: root to leaf.
spin_in() {
	awk '/(^|;)spin;/ { all += $NF; if (/;main;spin_here/) good += $NF }
		END { printf "%d of %d samples", good, all; exit !(all > 5 && good * 100 >= all * '"$SHARE_MIN"') }' "$got/$1"
}

# A second before, and three or four behind.
the_cpu_that_came_back_is_sampled() {
	[ "$(cat "$got/online")" = 0-1 ] || return
	awk '{ all[$1 ~ /^1;/] += $NF } END {
		printf "%d samples of the other, %d of it", all[0], all[1]
		exit !(all[1] * 3 > all[0])
	}' "$got/returned.folded"
}

# What doctor says of the kernel, held against what was seen of it.
doctor_is_right_about_mappings() {
	cat "$got/generation" && grep ' mappings ' "$got/doctor" || return
	case $(cat "$got/generation") in
	int | seqcount) ! grep -q ' mappings .*be cached' "$got/doctor" ;;
	none) grep -q ' mappings .*be cached' "$got/doctor" ;;
	*) false ;;
	esac
}

# A kernel that locks single mappings (Linux 6.4 and later) numbers their changes, an older one does
# not.
the_way_fits_the_kernel() {
	echo "lock_vma_under_rcu: $(cat "$got/locks_mappings"), numbers: $(cat "$got/generation")"
	case $(cat "$got/locks_mappings") in
	yes) [ "$(cat "$got/generation")" != none ] ;;
	no) [ "$(cat "$got/generation")" = none ] ;;
	*) false ;;
	esac
}

# Told that 64 KiB may be locked: a kernel that counts BPF maps says no, any other has no such line.
limit_of_locked_memory_is_told() {
	grep '^no  *locked memory .*ulimit -l' "$got/locked" && was locked 1 && return
	was locked 0 && ! grep -q 'locked memory' "$got/locked"
}

judge_programs() {
	local program
	check 'the verifier was asked' was verifier 0
	check 'verifier accepts sample' program_is_accepted sample
	while read -r program; do
		[ "$program" != sample ] || continue
		check "verifier accepts $program" program_is_accepted "$program"
		summary+="$kernel $(grep "^$program " "$got/verifier")"$'\n'
	done < <(sed -nE 's/^([a-z][a-z0-9_]*) (ok|refused).*/\1/p' "$got/verifier")
	check 'mappings can be scanned' grep -E '^scan(_tasks)? ok ' "$got/verifier"
}

judge_daemon() {
	if [ "$(cat "$got/http" 2>/dev/null)" = no ]; then
		skip "$kernel: six checks of a cgroup and the daemon: no libmicrohttpd for it"
		return
	fi
	check 'the daemon ends well' was daemon 0
	check 'a cgroup that no clock can be bound to' was unbound 0
	check 'is sampled all the same' spin_in unbound.folded
	check 'a capture of a cgroup on demand is answered' was asked 0
	check "it has a program root to leaf, with perf_event_paranoid $(cat "$got/paranoid")" spin_in captured
	check 'the store has the same' spin_in reported
}

# The first line is of how many lines the kernel's log is.
kernel_did_not_complain() {
	cat "$got/complaints" || return
	[ "$(head -1 "$got/complaints")" -gt 0 ] && [ "$(wc -l <"$got/complaints")" -eq 1 ]
}

judge() {
	judge_programs
	check 'verifier accepts threads' was threads_verifier 0
	summary+="$kernel $(grep '^threads ' "$got/threads_verifier")"$'\n'
	check 'threads are visited' was waiting 0
	judge_visits
	check 'running, runnable and blocked are told apart' threads_are_split
	check 'doctor has no "no"' was doctor 0
	check 'each change of mappings has a number of its own, or none has' was generation 0
	check 'changes are numbered where the kernel locks single mappings' the_way_fits_the_kernel
	check 'doctor says whether mappings are remembered' doctor_is_right_about_mappings
	check 'record ends well' was record 0
	check 'times can be kept' was times 0
	check 'there are samples with times' enough_times
	check 'there are samples' enough_samples
	check 'the account adds up' account_adds_up
	check 'user stacks are complete' user_stacks_are_complete
	check 'frame pointers: root to leaf' stacks_of spin ';main;spin_here[; ]'
	check 'no frame pointers: root to leaf' stacks_of deep_nofp ';main;descend;.*deep_leaf'
	check 'system calls: the user half under the kernel half' stacks_of syscalls ';main;in_' '_[[]k[]]'
	check 'kernel frames have names' kernel_frames_are_named
	check "the agent's capabilities are enough, also for a type that no kernel has" was asking 0
	check 'doctor tells of a limit of locked memory where maps count' limit_of_locked_memory_is_told
	check 'they give a program root to leaf' spin_in asking.folded
	check 'in a pid namespace of its own pids are those there' pids_are_of_the_namespace
	check 'a cgroup that is not mounted here, but where process 1 is' spin_in part.folded
	check "a CPU that goes and comes back, with perf_event_paranoid $(cat "$got/paranoid")" \
		the_cpu_that_came_back_is_sampled
	judge_daemon
	check 'the kernel did not complain' kernel_did_not_complain
}
