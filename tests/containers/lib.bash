# SPDX-License-Identifier: Apache-2.0
# lib.bash - what the tests with real container runtimes share. Containers have a root file system
# that is made here, of our own targets and what they link; nothing is fetched. Whatever is started
# is removed: containers by name, daemons by pid.

load ../e2e/lib

# ---- an end -----------------------------------------------------------------------------------

# Commands that remove what a test started. They come first: e2e's teardown removes what containers
# stand on.
remove=()

eval "end_to_end_$(declare -f teardown)"
teardown() {
	local one
	for one in "${remove[@]}"; do
		$one >/dev/null 2>&1 || true
	done
	end_to_end_teardown
}

# ---- images ----------------------------------------------------------------------------------

# make_rootfs DIR TARGET...: a tree with busybox and these targets in /bin.
make_rootfs() {
	local dir=$1 file one
	shift
	mkdir -p "$dir"/{bin,tmp,etc,proc,sys,dev,run}
	chmod 1777 "$dir/tmp"
	cp "$(command -v busybox)" "$dir/bin/busybox"
	ln -sf busybox "$dir/bin/sh"
	ln -sf busybox "$dir/bin/sleep"
	for one; do
		cp "$targets/$one" "$dir/bin/$one"
		add_libraries "$dir" "$targets/$one"
	done
}

# add_libraries DIR PROGRAM: what it links, at the same places.
add_libraries() {
	local library
	while read -r library; do
		mkdir -p "$1$(dirname "$library")"
		cp -Ln "$library" "$1$library"
	done < <(ldd "$2" | grep -o '/[^ ]*' | sort -u)
}

# ---- Podman -----------------------------------------------------------------------------------

# Its own limits are more than a process without CAP_SYS_RESOURCE may have.
podman_options=(--network=none --pids-limit=-1 --ulimit nofile=1024:1024 --ulimit nproc=1024:1024)

need_podman() {
	need podman "$1" busybox jq
}

# A view of the host's cgroups as one without v1 has it.
in_v2() {
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m --propagation private sh -c 'umount -R /sys/fs/cgroup && mount -t cgroup2 none \
		/sys/fs/cgroup && exec "$@"' v2 "$@"
}

podman_runc() {
	podman --cgroup-manager=cgroupfs --runtime runc "$@" 3>&-
}

podman_crun() {
	in_v2 podman --cgroup-manager=cgroupfs --runtime crun "$@" 3>&-
}

# ---- containerd and Docker --------------------------------------------------------------------

# For all tests of a file: $containerd and $dockerd, pids, below $daemons.
start_containerd() {
	command -v containerd ctr >/dev/null || return 0
	# A socket is no sign of a daemon: one that was killed leaves its own.
	if ! ctr --connect-timeout 2s version >/dev/null 2>&1; then
		containerd >"$daemons/containerd.log" 2>&1 </dev/null 3>&- &
		containerd=$!
	fi
	wait_until 20 ctr --connect-timeout 2s version >/dev/null 2>&1 ||
		{ tail -n 20 "$daemons/containerd.log" && return 1; }
}

start_docker() {
	command -v dockerd docker >/dev/null || return 0
	dockerd --iptables=false --bridge=none --containerd /run/containerd/containerd.sock \
		--exec-opt native.cgroupdriver=cgroupfs --data-root "$daemons/docker" \
		--exec-root "$daemons/exec" --storage-driver overlay2 -H "unix://$daemons/docker.sock" \
		-p "$daemons/docker.pid" >"$daemons/dockerd.log" 2>&1 </dev/null 3>&- &
	dockerd=$!
	wait_until 30 docker -H "unix://$daemons/docker.sock" info >/dev/null 2>&1 ||
		{ tail -n 20 "$daemons/dockerd.log" && return 1; }
}

our_docker() {
	docker -H "unix://$daemons/docker.sock" "$@" 3>&-
}

# ---- profiles ---------------------------------------------------------------------------------

# Of a profile `--by container,pid,...`: all samples of the process have the label, and nobody
# else's have it. all_under LABEL PID FILE
all_under() {
	awk -F ';' -v label="$1" -v pid="$2" '{
		n = $NF; sub(/.* /, "", n)
		if ($2 == pid) all += n
		if ($1 == label) under += n
		if ($1 == label && $2 == pid) both += n
	} END {
		print label ": " all + 0 " samples of process " pid ", " under + 0 " under the label, both " both + 0
		exit !(all > 0 && all == both && under == both)
	}' "$3"
}

# What a process of the host is called: by its unit, if it has one.
host_label() {
	local path
	path=$(sed -n 's/^0:://p' "/proc/$1/cgroup")
	path=$(grep -o '[^/]*\.\(service\|scope\|slice\)' <<<"$path" | tail -n 1)
	echo "${path:-host}"
}
