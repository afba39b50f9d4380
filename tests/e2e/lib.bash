# SPDX-License-Identifier: Apache-2.0
# lib.bash - what the end-to-end tests share: targets in the background, looking into profiles and
# accounts, containers, cgroups. Whatever a test starts it ends, by PID.
# Profiles go to $tmp; `load lib` gives setup and teardown too.
#
#   STOKER   the program under test (./stoker), by its whole path
#   TARGETS  the folder of compiled targets (.build/tests/targets), by its whole path

repo=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
# shellcheck source=tests/binaries.bash
. "$repo/tests/binaries.bash"
# shellcheck source=tests/e2e/cgroups.bash
. "$repo/tests/e2e/cgroups.bash"
stoker=${STOKER:-$repo/stoker}
targets=${TARGETS:-$repo/.build/tests/targets}

setup() {
	started=() cgroups=() mounts=() inside=() offline='' tmp=''
	# Not below /tmp, which tests replace by one of their own.
	tmp=$(mktemp -d /var/tmp/stoker-e2e-XXXXXX)
	chmod 755 "$tmp"
	[ -x "$stoker" ] || {
		echo "no program to test: $stoker"
		return 1
	}
}

teardown() {
	local one
	[ -z "$offline" ] || echo 1 >"$offline"
	for one in "${started[@]}"; do
		kill -KILL "$one" 2>/dev/null && wait "$one" 2>/dev/null
	done
	for one in "${mounts[@]}"; do
		umount -l "$one" # a daemon on this host may have a file of it open
	done
	for one in "${cgroups[@]}"; do
		wait_until 5 remove_cgroup "$one" 2>/dev/null
	done
	rm -rf "$tmp"
	return 0
}

# remove_cgroup FOLDER: with those below it.
remove_cgroup() {
	find "$1" -depth -type d -exec rmdir {} + && [ ! -e "$1" ]
}

# ---- processes -----------------------------------------------------------------------------

# target NAME: the path of a compiled target, where a process with its own /tmp still sees it.
target() {
	case $targets in
	/tmp/*)
		cp -n "$targets/$1" "$tmp/$1"
		echo "$tmp/$1"
		;;
	*) echo "$targets/$1" ;;
	esac
}

# start COMMAND...: in the background. Sets $pid, and $out to the file that has what it prints.
# SIGINT works as from a terminal; a shell without jobs would have it ignored.
start() {
	out=$tmp/out.${#started[@]}
	env --default-signal=INT "${inside[@]}" "$@" </dev/null >"$out" 2>&1 3>&- &
	pid=$!
	started+=("$pid")
}

# hide_debug_files PROGRAM: what is started and recorded from here on has an empty /usr/lib/debug, and
# libraries of its own: who maps those of the host has debug files for all.
hide_debug_files() {
	[ -d /usr/lib/debug ] || return 0
	unshare --mount true 2>"$tmp/unshare" ||
		skip "no namespaces of our own here: $(tail -n 1 "$tmp/unshare")"
	mkdir "$tmp/libs"
	# shellcheck disable=SC2046 # paths
	cp -L $(ldd "$1" | grep -o '/[^ ]*') "$tmp/libs"
	# shellcheck disable=SC2016,SC2046 # for the inner shell; paths
	start unshare --mount sh -c 'mount -t tmpfs none /usr/lib/debug || exit
		for lib; do mount --bind "$0/${lib##*/}" "$(readlink -f "$lib")" || exit; done
		echo hidden && exec sleep 600' "$tmp/libs" $(ldd "$1" | grep -o '/[^ ]*')
	wait_until 5 says hidden "$out"
	inside=(nsenter --mount --target "$pid" --)
}

# cpu_ticks PID: the CPU time of a process in ticks of 10 ms. PID/task/TID is a thread.
cpu_ticks() {
	local state ticks
	read_ticks "$1" && echo "$ticks"
}

# read_ticks PID: the same as $ticks, and $state, without a process of its own.
read_ticks() {
	local stat
	{ read -r -d '' stat <"/proc/$1/stat"; } 2>/dev/null || [ -n "${stat:-}" ] || return 1
	# shellcheck disable=SC2086 # fields
	set -- ${stat##*) }
	state=$1 ticks=$((${12} + ${13}))
}

# has_run PID [TICKS]
has_run() {
	local state ticks
	read_ticks "$1" && [ "$ticks" -ge "${2:-2}" ]
}

# runs_on PID TICKS: returns when it has had so much more time, however busy the machine is. It fails
# when the process ends before.
runs_on() {
	local want
	want=$(($(cpu_ticks "$1") + $2))
	wait_until 150 is_gone_or_has_run "$1" "$want"
	has_run "$1" "$want" || {
		echo "process $1 ended before it had run for $2 ticks more"
		return 1
	}
}

is_gone_or_has_run() {
	is_gone "$1" || has_run "$@"
}

# start_busy NAME [ARG...]: a target that burns CPU; returns when it does.
start_busy() {
	local name=$1
	shift
	start "$(target "$name")" "$@"
	wait_until 10 has_run "$pid"
}

children_of() {
	cat "/proc/$1/task/$1/children"
}

# agent_of PID: the process that samples; PID is that of `stoker daemon`, its supervisor, or of `stoker record`.
# A supervisor has the orphans of the agent before, too, until they have ended: they have names of their own.
agent_of() {
	local child
	for child in $(children_of "$1"); do
		! cmp -s "/proc/$child/comm" "/proc/$1/comm" || echo "$child"
	done
}

has_child() {
	[ -n "$(children_of "$1" 2>/dev/null)" ]
}

is_gone() {
	local state ticks
	! read_ticks "$1" || [ "$state" = Z ]
}

are_gone() {
	local one
	for one; do
		is_gone "$one" || return 1
	done
}

says() {
	grep -q "$1" "$2"
}

# start_in_container COMMAND...: as PID 1 of its own PID and mount namespaces with its own /tmp.
# $pid is what the host calls it.
start_in_container() {
	unshare --mount --pid --fork --mount-proc true 2>"$tmp/unshare" ||
		skip "no namespaces of our own here: $(tail -n 1 "$tmp/unshare")"
	# shellcheck disable=SC2016 # for the inner shell
	start unshare --mount --pid --fork --kill-child --mount-proc \
		sh -c 'mount -t tmpfs tmpfs /tmp && cd /tmp && exec "$@"' sh "$@"
	wait_until 5 has_child "$pid"
	pid=$(children_of "$pid" | tr -d ' ')
}

# start_runtime NAME SECONDS [OPTION...]: a JIT runtime in a container, its program warm; options as
# tests/runtimes/setup has them. Skips where there is none.
start_runtime() {
	local command reason
	if ! command=$("$repo/tests/runtimes/setup" "$1" "${@:3}" 2>"$tmp/setup"); then
		reason=$(tail -n 1 "$tmp/setup")
		skip "$1: ${reason:-setup failed}"
	fi
	mapfile -t command <<<"$command"
	start_in_container "${command[@]}" "$2"
	wait_until 20 says ready "$out"
}

# start_languages: three containers, each with a program that is busy, as they are started: $jvm, $cpython, $v8.
start_languages() {
	start_runtime java 200 market plain
	jvm=$pid
	start_runtime node 200 plain
	v8=$pid
	start_cpython
}

start_cpython() {
	need "$python"
	cp "$repo/tests/real/busy.py" "$tmp"
	start_in_container "$python" "$tmp/busy.py" 200
	cpython=$pid
	wait_until 10 has_run "$cpython"
}

# A port of loopback that nobody listens on.
listens() {
	(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

free_port() {
	local port
	for port in $(shuf -i 20000-32000 -n 20); do
		listens "$port" || {
			echo "$port"
			return
		}
	done
}

# ---- what the machine may lack -----------------------------------------------------------------

need() {
	local tool
	for tool; do
		command -v "$tool" >/dev/null || skip "no $tool on this machine"
	done
}

# ---- stoker --------------------------------------------------------------------------------------

# record OPTION...: bounded, quiet, with no input.
record() {
	timeout -k 5 "$(patience 120)" "${inside[@]}" "$stoker" record -q "$@" </dev/null 3>&-
}

# exits CODE COMMAND...: holds the command to its exit code; what it says on stderr is in $tmp/said.
exits() {
	local want=$1 got=0
	shift
	"$@" 2>"$tmp/said" || got=$?
	sed 's/^/stderr: /' "$tmp/said"
	if [ "$got" -ne "$want" ]; then
		echo "exit $got instead of $want: $*"
		return 1
	fi
}

# record_cpu SECONDS PID,... OPTION...: records these processes as record_while does.
record_cpu() {
	record_while "$1" "$2" -p "$2" "${@:3}"
}

# record_while SECONDS PID,... OPTION...: until these processes have had so many seconds of CPU time (0.5),
# however long a busy machine takes to give them; or until they or the recorder have ended. The output
# is in $tmp/said.
record_while() {
	local pid out recorder status=0 ticks pids=${2//,/ }
	ticks=$(awk -v seconds="$1" 'BEGIN { print 100 * seconds }')
	shift 2
	# shellcheck disable=SC2086 # a list
	meter $pids
	start_record "$@"
	wait_until $((ticks / 20 + 30)) has_metered "$ticks"
	stop_record || status=$?
	cp "$out" "$tmp/said"
	return "$status"
}

# has_metered TICKS: that much, or no more will come.
has_metered() {
	read_meter
	[ "$had" -ge "$1" ] || [ "$living" -eq 0 ] || is_gone "$recorder"
}

# pid_records [SECONDS]: $pid is a recorder: $recorder. Returns when it samples, as $agent; it says so in $out.
pid_records() {
	recorder=$pid
	wait_until "${1:-10}" says 'sampling at' "$out"
	agent=$(agent_of "$recorder")
}

# start_record OPTION...: in the background, as pid_records.
start_record() {
	start "$stoker" record "$@"
	pid_records
	meter_from_here
}

# record_unknown HZ PROGRAM [ARG...]: of a program that nobody has met, while those who make tables
# stand still (not by SIGSTOP, which is undone); to $tmp/all and $tmp/s, and the samples of PROGRAM to
# $tmp/met.
record_unknown() {
	local hz=$1 program=$2 copy=$tmp/$2.1
	shift 2
	[[ ${cgroup:-} == *-still ]] || make_cgroup still
	cp "$(target "$program")" "$copy"
	cat >"$tmp/run" <<-'END'
		of_parent() {
			ps -eo pid=,ppid=,args= | awk -v of="$PPID" '{ parent[$1] = $2; worker[$1] = $3 $4 == "stokerworker" }
				END { for (p in worker) if (worker[p]) {
					for (up = p; up > 1 && up != of; up = parent[up]);
					if (up == of) print p } }'
		}
		workers=$(of_parent)
		still=$1
		shift
		for one in $workers; do echo "$one" >"$still/cgroup.procs"; done
		echo 1 >"$still/cgroup.freeze"
		"$@"
		echo 0 >"$still/cgroup.freeze"
		echo "stood still: $workers"
	END
	record --user -F "$hz" -o "$tmp/all" --stats "$tmp/s" -- bash "$tmp/run" "$cgroup" "$copy" "$@"
	grep "^${program:0:13}" "$tmp/all" >"$tmp/met" # of a comm
}

# stop_record [SIGNAL]: ends $recorder; its status.
stop_record() {
	local status=0
	read_meter
	kill "-${1:-INT}" "$recorder" 2>/dev/null || true
	wait "$recorder" || status=$?
	read_meter most
	return "$status"
}

# How many perf events the recorder has open.
perf_events() {
	find "/proc/$agent/fd" -lname 'anon_inode:*perf_event*' 2>/dev/null | wc -l
}

# has_events -lt|-eq NUMBER
has_events() {
	[ "$(perf_events)" "$1" "$2" ]
}

# ---- CPU time, which counts of samples are held against -----------------------------------------
# Between `meter` and `stop_record` some processes had $had_most ticks of CPU time, and $had of them
# while stoker sampled for certain. So a count of samples lies between what the two are worth.

declare -gA metered=() metered_most=() metered_first=() metered_from=()

# meter PID...: from now on; from_birth PID...: since they were started.
meter() {
	from_birth "$@"
	meter_from_here
	local one
	for one in "${!metered[@]}"; do
		metered_first[$one]=${metered_from[$one]}
	done
}

from_birth() {
	local one
	metered=() metered_most=() metered_first=() metered_from=()
	for one; do
		metered[$one]=0 metered_most[$one]=0 metered_first[$one]=0 metered_from[$one]=0
	done
}

# What was before is not in $had.
meter_from_here() {
	local one state ticks
	for one in "${!metered[@]}"; do
		! read_ticks "$one" || metered_from[$one]=$ticks
	done
}

# read_meter [most]: a process that is gone keeps what was read last; $living have not ended. With
# `most`, $had stays.
read_meter() {
	local one state ticks
	living=0
	for one in "${!metered[@]}"; do
		read_ticks "$one" || continue
		is_gone "${one%%/*}" || living=$((living + 1))
		metered_most[$one]=$((ticks - metered_first[$one]))
		[ -n "${1:-}" ] || metered[$one]=$((ticks - metered_from[$one]))
	done
	had_by "${!metered[@]}"
}

# had_by PID...: $had and $had_most become those of these processes alone.
had_by() {
	local one
	had=0 had_most=0
	for one; do
		had=$((had + metered[$one])) had_most=$((had_most + metered_most[$one]))
	done
}

# with_had COMMAND...: both become its CPU time and that of its children; what it says is in $tmp/said.
with_had() {
	local TIMEFORMAT='%U %S'
	{ time "$@" 2>"$tmp/said" || return; } 2>"$tmp/time"
	had=$(awk '{ printf "%d", 100 * ($1 + $2) }' "$tmp/time") had_most=$had
}

# fits_cpu COUNT HZ WHAT [LOW [HIGH]]: the count is at least LOW (75) per cent of the samples that HZ make
# of $had, and at most HIGH (130) per cent of those of $had_most.
fits_cpu() {
	echo "$3: $1 in $had to $had_most ticks of CPU time"
	[ "$had" -gt 0 ]
	between "$1" $((had * $2 * ${4:-75} / 10000)) $((had_most * $2 * ${5:-130} / 10000 + 1)) "$3" || {
		grep -h '^ticks ' "$tmp"/out.* "$tmp/said" 2>/dev/null || true
		return 1
	}
}

# One line that a person can act on: not empty, no dump.
said_clearly() {
	grep -qi -- "$1" "$tmp/said" || {
		echo "nothing about $1 was said"
		return 1
	}
	[ "$(wc -l <"$tmp/said")" -le 4 ]
}

# Those of $agent that live: one that was killed is its child until it is replaced.
workers() {
	local child
	for child in $(children_of "$agent"); do
		[ "$(cat "/proc/$child/comm" 2>/dev/null)" != stoker-worker ] || is_gone "$child" || echo "$child"
	done
}

# A third one makes the tables of large files while there are any.
have_workers() {
	case $(workers | wc -l) in 2 | 3) ;; *) false ;; esac
}

is_shut_in() {
	grep -q '^Seccomp:.2' "/proc/$1/status" 2>/dev/null
}

# The one of large files ends when there are none.
is_gone_or_shut_in() {
	is_gone "$1" || is_shut_in "$1"
}

# kill_workers AT_LEAST: each of them, again and again, at random moments of its work. Sets $killed.
kill_workers() {
	local one
	killed=0
	while [ "$killed" -lt "$1" ]; do
		for one in $(workers); do
			wait_until 5 is_gone_or_shut_in "$one"
			! is_gone "$one" || continue
			kill -KILL "$one" && killed=$((killed + 1))
			wait_until 5 is_gone "$one"
		done
		sleep "0.$((RANDOM % 4))$((RANDOM % 10))"
	done
}

# ---- accounts ------------------------------------------------------------------------------------

# lost FILE: ticks, for any reason; the deprecated name of one is no reason of its own.
lost() {
	jq '.ticks.lost | add // 0' "$1"
}

# adds_up FILE: the expected ticks are those in a count, and so are the runs of the program. Skipped ticks
# never happened: a virtual CPU that is not run has no clock either.
adds_up() {
	jq -c .ticks,.bpf.runs "$1"
	jq -e --argjson lost "$(lost "$1")" '.bpf.runs as $runs | .ticks
		| .expected == .samples + .idle + .skipped + $lost
			and $runs == .filtered + .samples + .idle + $lost' "$1"
}

# ---- profiles ------------------------------------------------------------------------------------

# folded_count FILE [REGEX]: samples of the stacks that match.
folded_count() {
	LC_ALL=C re=${2:-.} awk '{ n = $NF; sub(/ [0-9]+$/, ""); if ($0 ~ ENVIRON["re"]) hits += n }
		END { print hits + 0 }' "$1"
}

# folded_share FILE REGEX: the same in per cent of all.
folded_share() {
	awk -v hits="$(folded_count "$1" "$2")" -v all="$(folded_count "$1")" \
		'BEGIN { printf "%.2f\n", all ? 100 * hits / all : 0 }'
}

# whole NAME: per cent of a command's stacks in $tmp/f that reach the root.
whole() {
	awk -v name="$1" '$0 ~ "(^|;)" name ";" { all += $NF; if (!/\[truncated\]/) whole += $NF }
		END { printf "%.2f\n", all ? 100 * whole / all : 0; print name, all, whole >"/dev/stderr" }' "$tmp/f"
}

# chain A;B;C: a regular expression for whole frames next to one another.
chain() {
	echo "(^|;)$1(;|\$)"
}

# What may stand between the frames of --by and main: the entry of a process or a thread, in libraries
# whose own symbols are stripped.
entry='(\[truncated\];)?((_start|__libc_start[^;]*|start_thread|clone[^;]*|[^;]+\+0x[0-9a-f]+);)*'

# need_tables ACCOUNT: whole stacks without frame pointers are for versions that unwind by tables.
need_tables() {
	[ "$(jq '.objects.tables' "$1")" -gt 0 ] || skip 'this version of stoker has no unwind tables'
}

# jit_named FILE REGEX: per cent of JIT frames with a name, in the stacks that match.
jit_named() {
	LC_ALL=C re=$2 awk '{
		n = $NF
		sub(/ [0-9]+$/, "")
		if ($0 !~ ENVIRON["re"]) next
		len = split($0, frames, ";")
		for (i = 1; i <= len; i++)
			if (frames[i] ~ /^\[(JIT|unknown)/) nameless += n
			else if (frames[i] ~ /_\[j\]$/) named += n
	}
	END { printf "%.2f\n", named + nameless ? 100 * named / (named + nameless) : 0 }' "$1"
}

# Fails on the first line that is no folded stack of clean text.
folded_is_valid() {
	"$python" - "$1" <<'PYTHON'
import re, sys, unicodedata
for number, raw in enumerate(open(sys.argv[1], 'rb').read().split(b'\n')[:-1], 1):
    line = raw.decode('utf-8')
    if re.fullmatch(r'# stoker: (<0[.]01|>99[.]99|[0-9]+[.][0-9]{2}) % of the samples are guessed 0', line):
        continue
    assert re.fullmatch(r'.+ [1-9][0-9]*', line), (number, line)
    assert not any(unicodedata.category(c) == 'Cc' for c in line), (number, line)
    assert all(line.rsplit(' ', 1)[0].split(';')), (number, line)
data = open(sys.argv[1], 'rb').read()
assert data == b'' or data.endswith(b'\n'), 'the last line is cut'
PYTHON
}

# Kernel frames come after every user frame.
kernel_is_last() {
	awk '{ sub(/ [0-9]+$/, ""); n = split($0, f, ";"); k = 0
		for (i = 1; i <= n; i++)
			if (f[i] ~ /_\[k\]$/) k = 1
			else if (k) { print; exit 1 } }' "$1"
}

# stat_of FILE PATH: a number of the account.
stat_of() {
	jq -er "$2" "$1"
}

# between VALUE LOW HIGH WHAT
between() {
	awk -v v="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(v != "" && v >= low && v <= high) }' || {
		echo "$4: $1, not between $2 and $3"
		return 1
	}
}

has_sanitizer() {
	grep -qa __asan_init "$stoker"
}

# memory_within KB MOST WHAT: what a build with AddressSanitizer takes, which has shadow memory and
# keeps for a while what was freed, is held to ten times as much.
memory_within() {
	local most=$2
	! has_sanitizer || most=$(($2 * 10))
	between "$1" 1000 "$most" "memory of $3, kB"
}

# hottest FILE: its largest stacks, for whoever reads why a test failed.
hottest() {
	awk '{ print $NF, $0 }' "$1" | sort -rn | head -n 8 | cut -c 1-400
}
