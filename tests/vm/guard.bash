# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# guard.bash - machines with a disk that go down under the daemon, or do not, and what the next boot
# makes of it. For tools/check-vm, like judge.bash.

# boot STEP: of tests/vm/guard_init. What it sent is in $got.
boot() {
	local machine
	: >"$work/console"
	qemu "$guard_image" "guard=$1" -drive "file=$work/disk,if=none,id=disk,format=raw" \
		-device nvme,drive=disk,serial=disk -pidfile "$work/pid" >"$work/console" 2>/dev/null &
	machine=$!
	# The power is gone: what the machine had not written is lost.
	[ "$1" != reset ] || ! grep -qm 1 '^@@up' < <(tail -n +1 -f --pid="$machine" "$work/console") ||
		kill -KILL "$(cat "$work/pid")"
	wait "$machine" 2>/dev/null || true
	unpack_console "$work/console"
	grep -q '^@@done' "$work/console" || tail -5 "$work/console"
	[ -z "$verbose" ] || cat "$got"/*
}

new_disk() {
	rm -f "$work/disk"
	truncate -s 64M "$work/disk"
	mkfs.ext4 -q "$work/disk"
}

it_samples() { # it_samples DEATHS
	cat "$got/mark"
	grep -qx 'stoker_sampling 1' "$got/metrics" && [ "$(cat "$got/clocks")" -gt 0 ] &&
		jq -e ".running and .deaths == $1" "$got/mark" >/dev/null
}

it_is_left_alone() {
	cat "$got/mark" "$got/daemon"
	grep -qx 'stoker_sampling 0' "$got/metrics" && [ "$(cat "$got/clocks")" -eq 0 ] &&
		jq -e '(.running | not) and .deaths == 2' "$got/mark" >/dev/null &&
		grep -q 'went down 2 time' "$got/doctor" && grep -q 'idle: this host went down 2 times' "$got/daemon"
}

judge_guard() {
	guard_image=$1
	new_disk
	boot reset
	check 'guard: the daemon samples' it_samples 0
	boot reset
	check 'guard: it samples after one reset' it_samples 1
	boot stop
	check 'guard: after the second it does not, and says why' it_is_left_alone
	boot stop
	check 'guard: nor after another boot' it_is_left_alone
	boot upgrade
	check 'guard: another version samples' it_samples 0
	new_disk
	boot stop
	boot stop
	check 'guard: a clean reboot is no death' it_samples 0
	boot killed
	boot stop
	check 'guard: nor is one after a SIGKILL that systemd saw' it_samples 0
}
