# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Cgroups of a test, for lib.bash, whose teardown removes those in $cgroups.

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

# make_container: sets $container to its name, and $cgroup.
make_container() {
	local root id
	root=$(cgroup2_root) || skip 'no cgroup v2 hierarchy is mounted'
	id=$(od -An -tx1 -N32 /dev/urandom | tr -d ' \n')
	container=${id:0:12} cgroup=$root/docker-$id.scope
	mkdir "$cgroup" 2>/dev/null || skip "cannot make a cgroup below $root"
	cgroups+=("$cgroup")
}

# start_in CGROUP COMMAND...: as start, in that cgroup from its begin.
start_in() {
	# shellcheck disable=SC2016 # for the inner shell
	start sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$@"
}

# set_quota NAME US: sets $cpu_cgroup to a cgroup that may run so long in each 100 ms: a new one of that name
# where v1 has the controller, else $cgroup. Fails where no quota can be set.
set_quota() {
	if [ -e /sys/fs/cgroup/cpu/cpu.cfs_quota_us ] || [ -e /sys/fs/cgroup/cpu/cpu.shares ]; then
		cpu_cgroup=/sys/fs/cgroup/cpu/$1
		mkdir "$cpu_cgroup" && cgroups+=("$cpu_cgroup")
		[ -e "$cpu_cgroup/cpu.cfs_quota_us" ] && echo "$2" >"$cpu_cgroup/cpu.cfs_quota_us"
	else
		cpu_cgroup=$cgroup
		[ -e "$cgroup/cpu.max" ] && echo "$2 100000" >"$cgroup/cpu.max"
	fi
}
