#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Programs of the distribution: nearly every user stack is whole, and a stack that is said to be
# whole begins where its thread began.
# seconds: 60

load real

@test "redis-server" {
	start_redis
	whole redis-server
}

@test "postgres" {
	start_postgres
	whole postgres
}

@test "nginx" {
	start_nginx
	whole nginx
}

@test "python3" {
	start_program "$python" "$real/busy.py"
	whole python3
}

@test "perl" {
	start_program /usr/bin/perl "$real/busy.pl"
	whole perl
}

@test "openssl" {
	need openssl
	start_program /usr/bin/openssl speed -seconds 20 rsa2048
	whole openssl
}

@test "cc1" {
	start_cc1
	whole cc1
}

@test "ripgrep" {
	need rg
	with_had record -F "$hz" -o "$tmp/f" --stats "$tmp/s" -- \
		bash -c 'for i in 1 2; do /usr/bin/rg -uuu -c -j2 "[a-z]+ing [A-Z][0-9]" /usr/share >/dev/null; done; true'
	held_whole ripgrep 99.5 "/usr/bin/rg" "$(command -v bash)" /lib/x86_64-linux-gnu/libc.so.6
}
