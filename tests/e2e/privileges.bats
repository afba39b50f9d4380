#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What the agent may do once it runs, and what is lost with each capability that it does not get.
# seconds: 20

load lib

# The rows of the table in the manual: a name each.
documented() {
	sed -n '/^\.Sh PRIVILEGES/,/^\.Sh EXIT/s/^\.It Dv \(CAP_[A-Z_]*\)$/\1/p' "$repo/user/man/stoker.1"
}

# The mask, as in /proc/PID/status, of capabilities that are named.
mask_of() {
	local name number mask=0
	for name; do
		number=$(sed -n "s/^#define $name[[:space:]]*\([0-9]*\)\$/\1/p" /usr/include/linux/capability.h)
		mask=$((mask | 1 << number))
	done
	printf '%016x\n' "$mask"
}

status_of() {
	sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"
}

# without CAP COMMAND...: as root with all capabilities but one.
without() {
	local cap=$1
	shift
	# shellcheck disable=SC2016 # for the inner shell
	capsh --drop="${cap,,}" -- -c '"$0" "$@"' "$@" </dev/null 3>&-
}

# record_without CAP OPTION...: what is said goes to $tmp/said.
record_without() {
	local cap=$1
	shift
	without "$cap" timeout -k 5 120 "$stoker" record -q "$@" 2>"$tmp/said"
}

# What the manual's row and doctor say of one that is missing.
missing_is_told() {
	without "$1" "$stoker" doctor >"$tmp/doctor" || true
	grep "$1 .*missing: " "$tmp/doctor" || {
		cat "$tmp/doctor"
		return 1
	}
	grep -q "$1" "$tmp/said" || {
		cat "$tmp/said"
		return 1
	}
}

# start_as_nobody NAME [ARG...]: a busy target of another user.
start_as_nobody() {
	local name=$1
	shift
	start setpriv --reuid=65534 --regid=65534 --clear-groups "$(target "$name")" "$@"
	wait_until 10 has_run "$pid"
}

cannot_gain() {
	[ "$(status_of "$1" NoNewPrivs)" = 1 ]
}

# also: what is kept where the caller has it.
also() {
	(((0x$(status_of self CapEff) & 1 << 24) == 0)) || echo CAP_SYS_RESOURCE
}

@test "the agent has the documented capabilities, no other, and cannot get any" {
	local set
	start_record -a -o "$tmp/f"
	# Its clocks are opened before.
	wait_until 10 cannot_gain "$agent"
	grep -E '^(Cap|NoNew)' "/proc/$agent/status"
	for set in CapPrm CapEff; do
		# shellcheck disable=SC2046 # words
		[ "$(status_of "$agent" $set)" = "$(mask_of $(documented) $(also))" ]
	done
	for set in CapInh CapBnd CapAmb; do
		[ "$(status_of "$agent" $set)" = 0000000000000000 ]
	done
	[ "$(status_of "$agent" NoNewPrivs)" = 1 ]
}

# As `pkill` does, which finds both by their name.
@test "a signal to both processes of a recorder is one, and COMMAND has time to end" {
	# shellcheck disable=SC2016 # for the inner shell
	start_record -a -o "$tmp/f" -- sh -c 'trap "seq 3000000 | wc -l >\"$0\"; exit" TERM; while :; do seq 100000 >/dev/null; done' "$tmp/ended"
	kill -INT "$agent" "$recorder"
	wait "$recorder"
	cat "$out"
	[ -s "$tmp/f" ]
	[ -s "$tmp/ended" ]
	! grep 'killed it' "$out" || false
}

@test "a failure is one where SIGCHLD is ignored" {
	exits 1 sh -c 'trap "" CHLD; exec "$0" record -a -d 1 -o /nowhere/x/y' "$stoker"
}

session_of() {
	ps -o sid= -p "$1" | tr -d ' '
}

@test "a recorder's first process has no right, passes signals on and ends with the one that samples" {
	local one status
	for one in INT TERM HUP; do
		start_record -a -o "$tmp/f.$one"
		[ "$(session_of "$recorder")" = "$(session_of $$)" ]
		[ "$(session_of "$agent")" = "$agent" ]
		[ "$(status_of "$recorder" CapPrm)" = 0000000000000000 ]
		[ "$(status_of "$recorder" CapBnd)" = 0000000000000000 ]
		[ "$(status_of "$recorder" NoNewPrivs) $(status_of "$recorder" Seccomp)" = '1 2' ]
		stop_record "$one"
		[ -s "$tmp/f.$one" ]
	done
	start_record -a -o "$tmp/f"
	status=0
	kill -KILL "$agent"
	wait "$recorder" || status=$?
	[ "$status" -eq 137 ]
	start_record -a -o "$tmp/f"
	kill -KILL "$recorder"
	wait_until 5 is_gone "$agent"
}

@test "the manual and doctor have the same table" {
	diff <(documented) <("$stoker" doctor | sed -n 's/^[a-z]* *\(CAP_[A-Z_]*\) .*/\1/p')
}

@test "without CAP_BPF or CAP_PERFMON nothing is sampled, and it is said why" {
	local cap
	need capsh
	for cap in CAP_BPF CAP_PERFMON; do
		exits 1 record_without $cap -a -d 1 -o "$tmp/f"
		said_clearly $cap
		missing_is_told $cap
		exits 1 without $cap "$stoker" doctor >/dev/null
		[ ! -e "$tmp/f" ]
	done
}

@test "without CAP_SYS_PTRACE files of others have no names, and kernel frames have" {
	need capsh setpriv
	start_as_nobody syscalls 60
	record_cpu 1 "$pid" -F 499 -o "$tmp/f"
	[ "$(folded_count "$tmp/f" "$(chain main)")" -gt 0 ]
	record_without CAP_SYS_PTRACE -p "$pid" -F 499 -d 1 -o "$tmp/f" --stats "$tmp/s"
	hottest "$tmp/f"
	missing_is_told CAP_SYS_PTRACE
	between "$(folded_count "$tmp/f" "$(chain main)")" 0 0 'named frames'
	jq -c .objects.failed "$tmp/s"
	[ "$(jq .objects.failed.denied "$tmp/s")" -gt 0 ]
	[ "$(folded_count "$tmp/f" '[a-z]_\[k\]')" -gt 0 ]
}

@test "without CAP_DAC_READ_SEARCH files that are their owner's alone have no names" {
	need capsh setpriv
	install -o 65534 -m 700 "$(target spin)" "$tmp/private"
	start setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/private" 60
	wait_until 10 has_run "$pid"
	record_cpu 1 "$pid" -F 499 -o "$tmp/f"
	between "$(folded_share "$tmp/f" "$(chain 'main;spin_here')")" 90 100 'named'
	record_without CAP_DAC_READ_SEARCH -p "$pid" --by container,comm -F 499 -d 1 -o "$tmp/f" --stats "$tmp/s"
	hottest "$tmp/f"
	missing_is_told CAP_DAC_READ_SEARCH
	between "$(folded_count "$tmp/f" "$(chain main)")" 0 0 'named frames'
	[ "$(jq .objects.failed.denied "$tmp/s")" -gt 0 ]
	between "$(folded_count "$tmp/f" '^\[unknown\];')" 0 0 'samples of no known cgroup'
}

@test "without CAP_SYSLOG kernel frames have no names, and user frames have" {
	need capsh
	start_busy syscalls 60
	record_cpu 1 "$pid" -F 499 -o "$tmp/f" --stats "$tmp/s"
	between "$(jq '.frames.unnamed.kernel // 0' "$tmp/s")" 0 0 'kernel frames without a name'
	record_without CAP_SYSLOG -p "$pid" -F 499 -d 1 -o "$tmp/f" --stats "$tmp/s"
	hottest "$tmp/f"
	missing_is_told CAP_SYSLOG
	[ "$(jq .frames.unnamed.kernel "$tmp/s")" -gt 0 ]
	between "$(jq '.frames.by_source.kallsyms // 0' "$tmp/s")" 0 0 'kernel frames with a name'
	between "$(folded_share "$tmp/f" "$(chain main)")" 90 100 'named'
}

@test "without CAP_CHECKPOINT_RESTORE deleted files have no names, and others have" {
	local deleted
	need capsh
	cp "$(target spin)" "$tmp/gone"
	start "$tmp/gone" 60
	deleted=$pid
	wait_until 10 has_run "$deleted"
	rm "$tmp/gone"
	start_busy spin 60
	record_cpu 1 "$pid,$deleted" -F 499 -o "$tmp/f"
	between "$(folded_share "$tmp/f" "$(chain 'main;spin_here')")" 95 100 'named of both'
	record_without CAP_CHECKPOINT_RESTORE -p "$pid,$deleted" -F 499 -d 1 -o "$tmp/f"
	hottest "$tmp/f"
	missing_is_told CAP_CHECKPOINT_RESTORE
	[ "$(folded_count "$tmp/f" '^spin;.*main;spin_here')" -gt 0 ]
	between "$(folded_count "$tmp/f" '^gone;.*spin_here')" 0 0 'named of the deleted'
	[ "$(folded_count "$tmp/f" '^gone;')" -gt 0 ]
}

@test "another file under a mapped file's name is not taken for it" {
	need capsh
	cp "$(target spin)" "$tmp/swap"
	start "$tmp/swap" 60
	wait_until 10 has_run "$pid"
	cp "$(target deep)" "$tmp/other"
	mv "$tmp/other" "$tmp/swap"
	record_without CAP_CHECKPOINT_RESTORE -p "$pid" -F 499 -d 1 -o "$tmp/f" --stats "$tmp/s"
	hottest "$tmp/f"
	jq -c .objects.failed "$tmp/s"
	between "$(folded_count "$tmp/f" "$(chain main)")" 0 0 'frames named by the wrong file'
	[ "$(folded_count "$tmp/f" '^swap;')" -gt 0 ]
}

@test "a COMMAND runs with the caller's rights" {
	record -o "$tmp/f" -- sh -c "grep -E '^(Cap|NoNew|Seccomp|Uid)' /proc/self/status >$tmp/status"
	diff "$tmp/status" <(grep -E '^(Cap|NoNew|Seccomp|Uid)' /proc/self/status)
}

@test "a profile is written where the caller may, whoever the folder belongs to" {
	install -d -o 65534 -g 65534 -m 755 "$tmp/theirs"
	start_busy spin 20
	record -a -d 1 -o "$tmp/theirs/f" --stats "$tmp/theirs/s"
	[ -s "$tmp/theirs/f" ]
	[ -s "$tmp/theirs/s" ]
}

# $tmp/stoker is a copy that has the documented file capabilities.
give_file_capabilities() {
	need setcap setpriv
	install -m 755 "$stoker" "$tmp/stoker"
	setcap "$(documented | paste -sd, | tr A-Z a-z)=ep" "$tmp/stoker" ||
		skip 'this file system keeps no capabilities'
}

# Who may execute that copy, and nothing else.
user=(setpriv --reuid=61234 --regid=61234 --clear-groups --inh-caps=-all)

@test "file capabilities are enough, and write nothing that their user may not" {
	start_busy spin 60
	give_file_capabilities
	install -d -o 65534 -g 65534 -m 755 "$tmp/theirs"
	# shellcheck disable=SC2024 # ours
	timeout -k 5 120 setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
		"$tmp/stoker" record -q -p "$pid" --by container,comm -F 499 -d 1 -o "$tmp/theirs/f" \
		--stats "$tmp/theirs/s" -- sh -c "grep ^CapEff /proc/self/status >$tmp/theirs/status; sleep 1"
	hottest "$tmp/theirs/f"
	jq -c '.worker, .objects.failed' "$tmp/theirs/s"
	between "$(folded_share "$tmp/theirs/f" "$(chain 'main;spin_here')")" 90 100 'named'
	between "$(folded_count "$tmp/theirs/f" '^\[unknown\];')" 0 0 'samples of no known cgroup'
	grep 'CapEff:.0000000000000000' "$tmp/theirs/status"
	[ "$(stat -c %u "$tmp/theirs/f")" = 65534 ]
	exits 1 setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
		"$tmp/stoker" record -q -p "$pid" -d 1 -o "$tmp/f"
	said_clearly 'cannot write'
}

@test "a setuid-root program does nothing for another user, and says what to use" {
	local command
	need setpriv findmnt
	! findmnt -no OPTIONS -T "$tmp" | grep -qw nosuid || skip 'this file system takes no setuid programs'
	install -m 4755 "$stoker" "$tmp/stoker"
	for command in doctor 'record -a -d 1 -o /dev/null' "convert /dev/null -o $tmp/f" help; do
		# shellcheck disable=SC2086 # words
		exits 1 "${user[@]}" "$tmp/stoker" $command
		said_clearly "started as root by user 61234: .*file capabilities"
	done
	[ ! -e "$tmp/f" ]
	"$tmp/stoker" version
}

# denied COMMAND...: fails for a lack of rights, and shows no byte of root's file.
denied() {
	local status=0
	timeout -k 5 60 "${user[@]}" "$tmp/stoker" "$@" >"$tmp/said" 2>&1 </dev/null 3>&- || status=$?
	cat "$tmp/said"
	((status == 1 || status == 2)) && said_clearly 'Permission denied' && ! grep -q 'a secret' "$tmp/said"
}

# root_has FOLDER: a store of root alone, with a token.
root_has() {
	install -d -m 700 "$1"
	printf 'a secret of root\n' >"$1/secret"
	printf 'a-secret-token-of-root\n' >"$1/token"
	chmod 600 "$1"/*
}

@test "with file capabilities a command reads for its user what the user may, and no more" {
	give_file_capabilities
	root_has "$tmp/root"
	printf '%s\n' '[http]' "listen = 127.0.0.1:$(free_port)" '[store]' "path = $tmp/root" >"$tmp/stoker.ini"
	denied open -c "$tmp/root/secret"
	denied open -c "$tmp/stoker.ini"
	denied daemon -c "$tmp/root/secret"
	denied daemon --stopped -c "$tmp/root/secret"
	denied daemon -c "$tmp/stoker.ini"
	denied convert "$tmp/root/secret"
	denied report --store "$tmp/root"
	denied record -a -d 1 -o "$tmp/root/f"
	mkdir -m 755 "$tmp/root/debug"
	denied record -a -d 1 -o /dev/null --debug-dir "$tmp/root"
	denied record -a -d 1 -o /dev/null --debug-dir "$tmp/root/debug"
	denied record -d 1 -o /dev/null --cgroup "../../../../../..$tmp/root/secret"
	make_cgroup private
	chmod 700 "$cgroup"
	denied record -d 1 -o /dev/null --cgroup "$cgroup"
	sed -i 's/^listen = .*/listen = off/' "$tmp/stoker.ini"
	denied daemon -c "$tmp/stoker.ini"
	[ "$(ls -A "$tmp/root" | paste -sd,)" = debug,secret,token ]
}

serving_of() {
	local child
	for child in $(children_of "$1"); do
		[ "$(cat "/proc/$child/comm")" != stoker-http ] || echo "$child"
	done
}

serves() {
	[ -n "$(serving_of "$1")" ]
}

# The store is the root folder of what serves it, or where it may have none its working directory.
serves_root() {
	local one
	for one in $(serving_of "$1"); do
		[ "$tmp/root" -ef "/proc/$one/cwd/." ] && return
	done
	return 1
}

@test "with file capabilities a daemon opens its files with its user's rights as long as it runs" {
	local agent supervisor said
	give_file_capabilities
	root_has "$tmp/root"
	install -d -o 61234 -g 61234 "$tmp/theirs"
	printf '%s\n' '[http]' "listen = 127.0.0.1:$(free_port)" '[store]' "path = $tmp/theirs/store" >"$tmp/theirs/ini"
	chown 61234 "$tmp/theirs/ini"
	start "${user[@]}" "$tmp/stoker" daemon -c "$tmp/theirs/ini"
	supervisor=$pid said=$out
	wait_until 30 says 'sampling at' "$said"
	agent=$(agent_of "$supervisor")
	wait_until 10 serves "$agent"
	mv "$tmp/theirs/ini" "$tmp/theirs/before"
	ln -s "$tmp/root/secret" "$tmp/theirs/ini"
	"${user[@]}" kill -HUP "$supervisor"
	wait_until 10 says 'the configuration stays as it was' "$said"
	mv "$tmp/theirs/store" "$tmp/theirs/hidden"
	ln -s "$tmp/root" "$tmp/theirs/store"
	"${user[@]}" kill -KILL "$(serving_of "$agent")"
	for _ in {1..30}; do
		! serves_root "$agent" || false
		sleep 0.1
	done
	rm "$tmp/theirs/store"
	mv "$tmp/theirs/hidden" "$tmp/theirs/store"
	wait_until 20 serves "$agent"
	cat "$said"
	! says 'a secret' "$said" || false
}

# As a service manager gives them: systemd's AmbientCapabilities= and CapabilityBoundingSet=.
@test "ambient capabilities are enough, too, and no worker gets them" {
	local caps one
	need setpriv
	start_busy spin 60
	install -d -o 65534 -g 65534 -m 755 "$tmp/theirs"
	install -m 755 "$stoker" "$tmp/stoker"
	caps=$(documented | sed 's/CAP_/+/' | tr A-Z a-z | paste -sd,)
	start setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="-all,$caps" \
		--ambient-caps="-all,$caps" --bounding-set="-all,$caps" \
		"$tmp/stoker" record -p "$pid" -F 499 -o "$tmp/theirs/f"
	pid_records
	for one in $(workers); do
		wait_until 5 is_shut_in "$one"
		[ "$(status_of "$one" CapEff)" = 0000000000000000 ]
	done
	have_workers
	runs_on "${started[0]}" 50
	kill -INT "$recorder"
	wait "$recorder"
	hottest "$tmp/theirs/f"
	between "$(folded_share "$tmp/theirs/f" "$(chain 'main;spin_here')")" 90 100 'named'
}

# libbpf looks for such a type among those of modules, too, unless it is told not to: that takes
# CAP_SYS_ADMIN. What we ask for are types that only some kernels have; this program asks for one more.
@test "these capabilities are enough where the kernel lacks a type that is asked for" {
	local caps
	need setpriv
	caps=$(documented | sed 's/CAP_/+/' | tr A-Z a-z | paste -sd,)
	start_busy spin 60
	timeout -k 5 120 setpriv --inh-caps=-all --bounding-set="-all,$caps" "$targets/../asking/stoker-asking" \
		record -q -p "$pid" -F 499 -d 1 -o "$tmp/f" </dev/null
	between "$(folded_share "$tmp/f" "$(chain 'main;spin_here')")" 90 100 'named'
}
