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
		umount "$one"
	done
	for one in "${cgroups[@]}"; do
		wait_until 5 rmdir "$one" 2>/dev/null
	done
	rm -rf "$tmp"
	return 0
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

cpu_ticks() {
	local stat
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	# shellcheck disable=SC2086 # fields
	set -- ${stat##*) }
	echo $((${12} + ${13}))
}

# has_run PID [TICKS]
has_run() {
	[ "$(cpu_ticks "$1" || echo 0)" -ge "${2:-2}" ]
}

# runs_on PID TICKS: returns when it has had so much more time, however busy the machine is.
runs_on() {
	wait_until 150 has_run "$1" $(($(cpu_ticks "$1") + $2))
}

# start_busy NAME [ARG...]: a target that burns CPU; returns when it does.
start_busy() {
	local name=$1
	shift
	start "$(target "$name")" "$@"
	wait_until 10 has_run "$pid"
}

# have_run TICKS PID...: of CPU time, since they started, together.
have_run() {
	local least=$1 sum=0 one
	shift
	for one; do
		sum=$((sum + $(cpu_ticks "$one" || echo 0)))
	done
	[ "$sum" -ge "$least" ]
}

children_of() {
	cat "/proc/$1/task/$1/children"
}

has_child() {
	[ -n "$(children_of "$1" 2>/dev/null)" ]
}

is_gone() {
	[ ! -e "/proc/$1" ] || grep -q '^State:.*zombie' "/proc/$1/status"
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

cgroup2_root() {
	local dir
	for dir in /sys/fs/cgroup/unified /sys/fs/cgroup; do
		[ "$(stat -f -c %T "$dir" 2>/dev/null)" = cgroup2fs ] && echo "$dir" && return
	done
	return 1
}

# make_cgroup NAME: sets $cgroup to a new cgroup's folder.
make_cgroup() {
	local root
	root=$(cgroup2_root) || skip 'no cgroup v2 hierarchy is mounted'
	cgroup=$root/stoker-e2e-$$-$1
	mkdir "$cgroup" 2>/dev/null || skip "cannot make a cgroup below $root"
	cgroups+=("$cgroup")
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

# record_cpu SECONDS PID,... OPTION...: until these processes have had so many seconds of CPU time,
# however long a busy machine takes to give them; or until they have ended. What it prints is in
# $tmp/said.
record_cpu() {
	local pid out recorder ticks=0 status=0 one seconds=$1 pids=${2//,/ } list=$2
	shift 2
	for one in $pids; do
		ticks=$((ticks + $(cpu_ticks "$one" || echo 0)))
	done
	start_record -p "$list" "$@"
	# shellcheck disable=SC2086 # a list
	wait_until $((seconds * 5 + 30)) eval 'is_gone "$recorder" || have_run $((ticks + seconds * 100)) $pids'
	kill -INT "$recorder" 2>/dev/null || true
	wait "$recorder" || status=$?
	cp "$out" "$tmp/said"
	return "$status"
}

# start_record OPTION...: in the background, as $recorder; returns when it samples. It says so in $out.
start_record() {
	start "$stoker" record "$@"
	recorder=$pid
	wait_until 10 says 'sampling at' "$out"
}

# One line that a person can act on: not empty, no dump.
said_clearly() {
	grep -qi -- "$1" "$tmp/said" || {
		echo "nothing about $1 was said"
		return 1
	}
	[ "$(wc -l <"$tmp/said")" -le 4 ]
}

# Those of $recorder that live: one that was killed is its child until it is replaced.
workers() {
	local child
	for child in $(children_of "$recorder"); do
		[ "$(cat "/proc/$child/comm" 2>/dev/null)" != stoker-worker ] || is_gone "$child" || echo "$child"
	done
}

have_workers() {
	[ "$(workers | wc -l)" -eq 2 ]
}

is_shut_in() {
	grep -q '^Seccomp:.2' "/proc/$1/status" 2>/dev/null
}

# kill_workers AT_LEAST: each of them, again and again, at random moments of its work. Sets $killed.
kill_workers() {
	local one
	killed=0
	while [ "$killed" -lt "$1" ]; do
		for one in $(workers); do
			wait_until 5 is_shut_in "$one" || continue
			kill -KILL "$one" && killed=$((killed + 1))
			wait_until 5 is_gone "$one"
		done
		sleep "0.$((RANDOM % 4))$((RANDOM % 10))"
	done
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
			if (frames[i] ~ /^\[(anon|jit|unknown)/) nameless += n
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
