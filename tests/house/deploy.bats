#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What tools/deploy gives to a service manager.
# seconds: 2

repo=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
unit=$repo/tools/deploy/stoker.service

# value KEY: of the unit.
value() {
	sed -n "s/^$1=//p" "$unit"
}

@test "no container has a higher limit of open files, for descriptors in flight are held against it" {
	[ "$(value LimitNOFILE)" = infinity ]
	value CapabilityBoundingSet | tr ' ' '\n' | grep -qx CAP_SYS_RESOURCE
}

@test "systemd waits for longer than a daemon may take to end" {
	[ "$(value TimeoutStopSec)" -gt \
		"$(sed -n 's/^#define DAEMON_END_NS (\([0-9]*\) \* NSEC_PER_SEC)$/\1/p' "$repo/user/daemon/daemon.h")" ]
}

@test "systemd stops starting a daemon that fails each time" {
	local burst pause
	burst=$(value StartLimitBurst) pause=$(value RestartSec)
	# Each try is at least the pause after the one before, and all must fall into the interval.
	[ "$((burst * pause * 10))" -lt "$(value StartLimitIntervalSec)" ]
}

@test "a worker that the kernel ends for lack of memory does not end the service" {
	[ "$(value OOMPolicy)" = continue ]
}
