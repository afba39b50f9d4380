#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The command line: help, wrong use, missing rights, signals.

load lib

@test "stoker alone and --help print help on stdout" {
	"$stoker" >"$tmp/alone"
	"$stoker" --help >"$tmp/help"
	"$stoker" record --help >"$tmp/record"
	grep -q record "$tmp/alone"
	grep -q record "$tmp/help"
	grep -q -- --interval "$tmp/record"
}

@test "what cannot be printed is a failure, and said" {
	local words
	for words in help version 'record --help' doctor 'ps -d 0.2'; do
		# shellcheck disable=SC2016,SC2086
		exits 1 sh -c '"$@" >/dev/full' - "$stoker" $words
		said_clearly 'cannot write to stdout: no space left'
	done
}

@test "wrong use is exit 2 and one clear line" {
	exits 2 "$stoker" record --no-such-option
	said_clearly no-such-option
	exits 2 "$stoker" no-such-command
	said_clearly no-such-command
	exits 2 "$stoker" record -F ten
	said_clearly ten
	exits 2 "$stoker" record -F 0 -d 1
	exits 2 "$stoker" record --check -d 1
	exits 2 "$stoker" record --check -d 1 -o 'a-%H.folded'
	exits 2 "$stoker" record -d -3
	exits 2 "$stoker" record -p 12x -d 1
	said_clearly 12x
	exits 2 "$stoker" record -F
	exits 2 "$stoker" record --by colour -d 1
	said_clearly colour
	exits 2 "$stoker" record -f no-such-format -d 1
	said_clearly no-such-format
	exits 2 "$stoker" record -a -p 1 -d 1
	exits 2 "$stoker" record -F 10001 -d 1
	said_clearly '10000'
	exits 2 "$stoker" record -d 1 -o "$tmp/same" --stats "$tmp/same"
	said_clearly 'same file'
	exits 2 "$stoker" record -d 1 --
	said_clearly 'COMMAND'
	exits 2 "$stoker" record --user --kernel -d 1
	said_clearly 'exclude each other'
	exits 2 "$stoker" top --kernel --user
	said_clearly 'exclude each other'
	exits 2 "$stoker" record --no-period -d 1
	said_clearly 'add -f perf'
	exits 2 "$stoker" record --labels -o "$tmp/f.svg" -d 1
	said_clearly 'format folded, not svg'
	exits 2 "$stoker" convert --no-period "$tmp/nowhere"
	said_clearly 'add -f perf'
	exits 2 "$stoker" report --top 3 --trend
	said_clearly 'exclude each other'
	exits 2 "$stoker" report --by comm
	said_clearly 'needs a format'
}

@test "a rate that the kernel forbids is said, with the limit" {
	need unshare
	echo 4711 >"$tmp/rate" # not the machine's: other tests sample
	# shellcheck disable=SC2016
	exits 1 unshare -m sh -c 'mount --bind "$1" /proc/sys/kernel/perf_event_max_sample_rate && shift && exec "$@"' - \
		"$tmp/rate" "$stoker" record -a -F 4712 -d 1 -o "$tmp/f"
	said_clearly 4711
}

@test "the stacks that were written are counted by address, as one line may be several of them" {
	local stacks
	start_busy spin 30
	exits 0 "$stoker" record -a -F 499 -d 1 --by '' -o "$tmp/f"
	stacks=$(sed -n 's/^wrote .*: [0-9]* samples, \([0-9]*\) stacks by address$/\1/p' "$tmp/said")
	between "$(wc -l <"$tmp/f")" 1 "$stacks" 'lines of so many stacks'
}

@test "an empty list of the kernel's symbols is not called hidden" {
	need unshare
	# shellcheck disable=SC2016
	exits 0 unshare -m sh -c 'mount --bind /dev/null /proc/kallsyms && exec "$@"' - \
		"$stoker" record -a -d 0.2 -o "$tmp/f"
	grep '/proc/kallsyms has no function' "$tmp/said"
	! grep kptr_restrict "$tmp/said" || false
}

@test "without the rights to sample it says which are missing" {
	need setpriv
	cp "$stoker" "$tmp/stoker"
	exits 1 setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
		"$tmp/stoker" record -a -d 1 -o /dev/null
	said_clearly 'CAP_\|root\|privilege\|permi'
}

@test "a COMMAND is not left behind where it cannot be sampled, and has to be there" {
	need setpriv
	cp "$stoker" "$tmp/stoker"
	# Whoever reads the output comes to its end.
	# shellcheck disable=SC2016
	exits 0 timeout 20 bash -c 'setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
		"$0" record -o /dev/null -- tail -f /dev/null | cat' "$tmp/stoker"
	said_clearly 'CAP_'
	! find /proc -maxdepth 2 -name exe -lname "$tmp/stoker" 2>/dev/null | grep . || false
	exits 2 "$stoker" record -o "$tmp/f" --
	said_clearly 'COMMAND is missing'
	exits 2 "$stoker" record --
	[ ! -e "$tmp/f" ]
}

@test "an error says what to do" {
	local rows=(
		"1|--store|report --store $tmp/none"
		"1|start .stoker daemon.*--config|open --config $tmp/none.ini"
		"2|no such key: containr; they are store, .*container|diff containr=web 1h.."
		"1|no such process: 4194300; it has ended|record -p 4194300 -d 1 -o $tmp/f"
		"1|no such process: 4194300; it has ended|doctor 4194300"
		"1|--debug-dir $tmp/none: No such file.*; give a folder|record -d 1 -o $tmp/f --debug-dir $tmp/none"
		"1|--runtime-socket $tmp/none: No such file.*; give the socket|record -d 1 -o $tmp/f --runtime-socket $tmp/none"
	)
	local row status text words
	printf '%s\n' '[store]' "path = $tmp/none" >"$tmp/none.ini"
	for row in "${rows[@]}"; do
		IFS='|' read -r status text words <<<"$row"
		echo "$words"
		# shellcheck disable=SC2086
		exits "$status" "$stoker" $words
		said_clearly "$text"
	done
	[ ! -e "$tmp/f" ]
}

@test "doctor says what it cannot read without /proc, and calls none of it good" {
	unshare --mount sh -c 'umount -l /proc; exec "$0" doctor' "$stoker" >"$tmp/doctor" || true
	cat "$tmp/doctor"
	[ "$(grep -cE '^less .* unknown: cannot read /proc/sys/.*mount proc at /proc' "$tmp/doctor")" -eq 3 ]
	! grep -- '-1' "$tmp/doctor" || false
}

@test "a daemon with another user's store names the store and its line" {
	need setpriv
	cp "$stoker" "$tmp/stoker"
	mkdir -m 700 "$tmp/store"
	chmod 755 "$tmp"
	printf '%s\n' '[store]' "path = $tmp/store" '[http]' 'listen = 127.0.0.1:0' >"$tmp/stoker.ini"
	exits 2 timeout 20 setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
		"$tmp/stoker" daemon --config "$tmp/stoker.ini"
	says "stoker.ini:2: path: cannot open the store $tmp/store: Permission denied; choose a folder" "$tmp/said"
	! says token_file "$tmp/said" || false
}

# blames_users FIRST LAST WHAT: a daemon on a host that has all of these.
blames_users() {
	cp /etc/passwd "$tmp/passwd"
	seq "$1" "$2" | sed 's|.*|u&:x:&:&::/:/bin/false|' >>"$tmp/passwd"
	# shellcheck disable=SC2016 # for the inner shell
	exits 1 timeout 30 unshare --mount sh -c 'mount --bind "$0" /etc/passwd && exec "$@"' "$tmp/passwd" \
		"$stoker" daemon --config "$tmp/stoker.ini"
	said_clearly "$3: /etc/passwd has all of the users $1 to $2"
}

@test "users that are all taken, and a user namespace, are what is to blame" {
	unshare -Ur true 2>"$tmp/unshare" || skip "no user namespaces here: $(tail -n 1 "$tmp/unshare")"
	unshare -Ur "$stoker" doctor >"$tmp/doctor" || true
	grep '^no    kernel .* user namespace, in which no capability counts' "$tmp/doctor"
	! grep CONFIG_BPF_EVENTS "$tmp/doctor" || false
	printf '%s\n' '[store]' "path = $tmp/store" '[http]' 'listen = off' >"$tmp/stoker.ini"
	blames_users 60760 60769 'cannot enter its sandbox'
	blames_users 60800 60809 'no file of a process can be opened'
}

@test "root's daemon refuses a store that it cannot write without capabilities" {
	local mode
	printf '%s\n' '[store]' "path = $tmp/store" '[http]' 'listen = off' >"$tmp/stoker.ini"
	for mode in 750 500; do
		install -d -o 31337 -m "$mode" "$tmp/store"
		exits 2 timeout 20 "$stoker" daemon --config "$tmp/stoker.ini"
		said_clearly "stoker.ini:2: path: $tmp/store belongs to user 31337 (mode 0$mode), .*without capabilities; give it to root"
	done
}

sampled_then() {
	start_busy spin 30
	local busy=$pid
	meter "$busy"
	start_record -p "$busy" -F 199 -o "$tmp/f" --stats "$tmp/s"
	runs_on "$busy" 60
	stop_record "$1"
	hottest "$tmp/f"
	fits_cpu "$(folded_count "$tmp/f" "$(chain 'main;spin_here')")" 199 samples
	stat_of "$tmp/s" .ticks.samples
}

@test "Ctrl-C ends the recording and writes the profile" {
	sampled_then INT
}

@test "SIGTERM does the same" {
	sampled_then TERM
}

@test "doctor says what this machine allows" {
	"$stoker" doctor >"$tmp/doctor" 2>&1
	cat "$tmp/doctor"
	[ "$(wc -l <"$tmp/doctor")" -ge 3 ]
	grep -qE '^(ok|less) +threads that wait ' "$tmp/doctor"
}

# doctor_under COMMAND...: what doctor says behind this, without the name that it gives the kernel.
doctor_under() {
	"$@" "$stoker" doctor >"$tmp/under" 2>&1
	sed -E 's/^([a-z]+ +kernel  +)[^ :]+/\1NAME/' "$tmp/under"
}

@test "doctor says the same of a kernel whatever its version is said to be" {
	local version
	need setarch
	doctor_under env >"$tmp/doctor"
	grep -q 'kernel   *NAME' "$tmp/doctor"
	doctor_under setarch --uname-2.6 | diff "$tmp/doctor" -
	grep -q "kernel   *$(setarch --uname-2.6 uname -r)" "$tmp/under"
	cat >"$tmp/uname.c" <<-'C'
		#include <stdlib.h>
		#include <string.h>
		#include <sys/utsname.h>
		int uname(struct utsname *name)
		{
			memset(name, 0, sizeof(*name));
			strcpy(name->sysname, "Linux");
			strcpy(name->release, getenv("PRETENDED"));
			return 0;
		}
	C
	"${CC:-cc}" -shared -fPIC -o "$tmp/uname.so" "$tmp/uname.c"
	for version in 3.10.0-1 4.18.0-553.el8 5.4.0 5.11.0 5.14.0-570.el9 6.4.0 9.0.0; do
		doctor_under env ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD="$tmp/uname.so" \
			PRETENDED="$version" | diff "$tmp/doctor" -
		grep -q "kernel   *$version" "$tmp/under"
	done
}

@test "doctor looks at a process" {
	start_busy spin 30
	"$stoker" doctor "$pid" >"$tmp/doctor" 2>&1
	cat "$tmp/doctor"
	grep -q "$pid\|spin" "$tmp/doctor"
}

@test "doctor says how to get names of code without a file, and who may look at another's process" {
	need setpriv
	cat >"$tmp/codes.c" <<-'C'
		#include <stdio.h>
		#include <sys/mman.h>
		#include <unistd.h>
		int main(void)
		{
			if (mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
				return 1;
			puts("ready");
			fflush(stdout);
			pause();
		}
	C
	"${CC:-cc}" -o "$tmp/codes" "$tmp/codes.c"
	start "$tmp/codes"
	wait_until 10 says ready "$out"
	"$stoker" doctor "$pid" >"$tmp/doctor"
	grep "names: none, there is no perf map: .stoker record -p $pid --jit. has .NET 8 and HotSpot 17, and later ones" \
		"$tmp/doctor"
	cp "$stoker" "$tmp/stoker"
	exits 1 setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$tmp/stoker" doctor "$pid"
	said_clearly "cannot inspect process $pid: Permission denied; run as root, or grant CAP_SYS_PTRACE"
}

@test "a folder of tables that is missing is a warning that says what is not read" {
	"$stoker" record -d 0.1 -o /dev/null --tables "$tmp/none" 2>"$tmp/said"
	grep "warning: no tables of language runtimes are read: cannot open $tmp/none: No such file" "$tmp/said"
}
