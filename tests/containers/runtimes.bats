#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Real container runtimes: the right name on every sample, also of a container that is gone.
# seconds: 60

load lib

setup_file() {
	daemons=$(mktemp -d /var/tmp/stoker-daemons-XXXXXX)
	started=() containerd='' dockerd=''
	export daemons
	start_containerd
	start_docker
	export containerd dockerd
}

teardown_file() {
	local one
	for one in $dockerd $containerd; do
		kill -TERM "$one" 2>/dev/null
		wait_until 20 is_gone "$one"
	done
	rm -rf "$daemons"
	# Folders that the runtimes made above their containers', if nobody is in them.
	find /sys/fs/cgroup -depth -type d -path '*/kubepods.slice*0b7a1f2e_3c4d*' -exec rmdir {} + 2>/dev/null || true
}

# podman_two COMMAND OPTION...: two busy containers of a Podman, web1 and web2 by name and $$.
podman_two() {
	local run=$1 one
	shift
	make_rootfs "$tmp/rootfs" spin
	[[ $* != *--uidmap* ]] || chown -R 100000:100000 "$tmp/rootfs"
	for one in 1 2; do
		remove+=("podman_runc rm -f -t 0 web$one-$$")
		"$run" run -d "${podman_options[@]}" "$@" --name "web$one-$$" \
			--rootfs "$tmp/rootfs" /bin/spin 200
	done
}

# The same of Docker, of an image.
docker_two() {
	local one
	make_rootfs "$tmp/rootfs" spin
	tar -C "$tmp/rootfs" -c . | our_docker import - shop:7
	for one in 1 2; do
		our_docker run -d --network none --name "web$one-$$" --label "app=shop$one" shop:7 \
			/bin/spin 200
		remove+=("our_docker rm -f web$one-$$")
	done
}

podman_pid() {
	podman_runc inspect -f '{{.State.Pid}}' "$1"
}

# each_has_its_own FILE LABEL PID [LABEL PID]...
each_has_its_own() {
	local file=$1
	shift
	while [ $# -gt 0 ]; do
		all_under "$1" "$2" "$file"
		shift 2
	done
}

# A busy process of the host, beside containers: $host.
start_neighbour() {
	start_busy spin 60
	host=$pid
}

host_is_host() {
	local label
	label=$(host_label "$host")
	awk -F ';' -v label="$label" -v pid="$host" '$2 == pid { n = $NF; sub(/.* /, "", n); all += n
		if ($1 == label) good += n }
		END { print label ": " good + 0 " of " all + 0; exit !(all >= 5 && good == all) }' "$1"
}

@test "Podman and runc: each container's samples are under its name" {
	need_podman runc
	podman_two podman_runc
	start_neighbour
	record_while 1 "$host" -a --by container,pid,comm -F 499 -o "$tmp/f" --stats "$tmp/s"
	jq -c .containers "$tmp/s"
	each_has_its_own "$tmp/f" "web1-$$" "$(podman_pid web1-$$)" "web2-$$" "$(podman_pid web2-$$)"
	host_is_host "$tmp/f"
}

@test "Podman and crun, cgroup v2, in user namespaces: each container's samples are under its name" {
	need_podman crun
	podman_two podman_crun --uidmap 0:100000:65536 --gidmap 0:100000:65536
	start_neighbour
	record_while 1 "$host" -a --by container,pid,comm -F 499 -o "$tmp/f"
	[ "$(stat -c %u "/proc/$(podman_pid web1-$$)")" = 100000 ]
	each_has_its_own "$tmp/f" "web1-$$" "$(podman_pid web1-$$)" "web2-$$" "$(podman_pid web2-$$)"
	# And seen from a host that has nothing else.
	in_v2 "$stoker" record -q -a --by container,pid,comm -F 499 -d 1 -o "$tmp/g"
	each_has_its_own "$tmp/g" "web1-$$" "$(podman_pid web1-$$)" "web2-$$" "$(podman_pid web2-$$)"
	host_is_host "$tmp/g"
}

@test "Podman and runc in user namespaces: each container's samples are under its name" {
	need_podman runc
	podman_two podman_runc --uidmap 0:100000:65536 --gidmap 0:100000:65536
	[ "$(stat -c %u "/proc/$(podman_pid web1-$$)")" = 100000 ]
	record -a --by container,pid,comm -F 199 -d 1 -o "$tmp/f"
	each_has_its_own "$tmp/f" "web1-$$" "$(podman_pid web1-$$)" "web2-$$" "$(podman_pid web2-$$)"
}

@test "Docker, wherever its data is: each container's samples are under its name" {
	local one
	[ -n "$dockerd" ] || skip 'no dockerd on this machine'
	docker_two
	start_neighbour
	record_while 1 "$(our_docker inspect -f '{{.State.Pid}}' "web1-$$")" -a --by container,pid,image,comm \
		-F 499 -o "$tmp/f"
	for one in 1 2; do
		all_under "web$one-$$" "$(our_docker inspect -f '{{.State.Pid}}' "web$one-$$")" "$tmp/f"
	done
	fits_cpu "$(folded_count "$tmp/f" "^web1-$$;[^;]*;shop:7;spin;")" 499 'samples under the image'
	host_is_host "$tmp/f"
}

@test "containerd, as kubelet has it: container, pod and namespace" {
	local slice=/kubepods.slice/kubepods-burstable.slice one id
	command -v ctr >/dev/null || skip 'no containerd on this machine'
	slice=$slice/kubepods-burstable-pod0b7a1f2e_3c4d_4e5f_8a9b_0c1d2e3f4a5b.slice
	make_rootfs "$tmp/rootfs" spin
	for one in 1 2; do
		id=$(printf '%s' "$$-$one" | sha256sum | cut -d ' ' -f 1)
		ctr -n k8s.io run -d --rootfs --cgroup "$slice/cri-containerd-$id.scope" \
			--annotation io.kubernetes.cri.container-type=container \
			--annotation "io.kubernetes.cri.container-name=api$one" \
			--annotation io.kubernetes.cri.sandbox-namespace=prod \
			--annotation io.kubernetes.cri.sandbox-name=shop-1 \
			"$tmp/rootfs" "$id" /bin/spin 200 3>&-
		remove+=("ctr -n k8s.io task kill -s KILL $id" "wait_until 5 ctr -n k8s.io c rm $id")
		eval "local pid$one=\$(ctr -n k8s.io task ls | awk -v id=\$id '\$1 == id { print \$2 }')"
	done
	start_neighbour
	record_while 1 "$host" -a --by container,pid,pod,namespace,comm -F 499 -o "$tmp/f"
	# shellcheck disable=SC2154 # by eval
	each_has_its_own "$tmp/f" api1 "$pid1" api2 "$pid2"
	between "$(folded_count "$tmp/f" '^api[12];[^;]*;shop-1;prod;spin;')" \
		"$(folded_count "$tmp/f" '^api')" 100000 'samples with their pod'
	host_is_host "$tmp/f"
	# One of a pod, and all of it.
	record_while 2 "$pid1,$pid2" --pod prod/shop-1 --by container -F 199 -o "$tmp/g"
	had_by "$pid1"
	fits_cpu "$(folded_count "$tmp/g" '^api1;')" 199 'samples of the first' 60 150
	had_by "$pid2"
	fits_cpu "$(folded_count "$tmp/g" '^api2;')" 199 'samples of the second' 60 150
	[ "$(folded_count "$tmp/g")" -eq "$(folded_count "$tmp/g" '^api')" ]
	record_while 1 "$pid1" --container api1 --by container -F 199 -o "$tmp/g"
	fits_cpu "$(folded_count "$tmp/g" '^api1;')" 199 'samples of the one'
	[ "$(folded_count "$tmp/g")" -eq "$(folded_count "$tmp/g" '^api1')" ]
}

@test "a container that lives for 300 ms and is gone has its name on its samples" {
	local count
	need_podman runc
	make_rootfs "$tmp/rootfs" shortlived
	mv "$tmp/rootfs/bin/shortlived" "$tmp/rootfs/bin/moment" # a name that nobody else has
	start_record -a --by container,comm -F 999 -d 60 -o "$tmp/f" --stats "$tmp/s"
	podman_runc run --rm "${podman_options[@]}" --name "brief-$$" --rootfs "$tmp/rootfs:O" \
		/bin/moment 300
	[ -z "$(podman_runc ps -aq --filter "name=brief-$$")" ]
	kill -INT "$recorder"
	wait "$recorder"
	jq -c .containers "$tmp/s"
	count=$(folded_count "$tmp/f" '^[^;]*;moment;')
	had=30 had_most=30 # 300 ms
	fits_cpu "$count" 999 'samples of it'
	[ "$(folded_count "$tmp/f" "^brief-$$;moment;")" -eq "$count" ]
}

@test "one container alone: the ticks of its neighbour never run the program" {
	local before after
	need_podman runc
	podman_two podman_runc
	record_while 1 "$(podman_pid "web1-$$")" --container "web1-$$" --by container -F 999 -o "$tmp/f" --stats "$tmp/s"
	jq -c '.ticks, .bpf' "$tmp/s"
	fits_cpu "$(folded_count "$tmp/f" "^web1-$$;")" 999 samples
	[ "$(folded_count "$tmp/f" "^web1-$$;")" -eq "$(folded_count "$tmp/f")" ]
	# Each run was a sample: none was for somebody else.
	[ "$(stat_of "$tmp/s" .ticks.filtered)" -eq 0 ]
	[ "$(stat_of "$tmp/s" .bpf.runs)" -eq $(($(jq '.ticks.samples + .ticks.idle' "$tmp/s") + $(lost "$tmp/s"))) ]
}

@test "one container alone, beside a capture of the host at another rate" {
	need_podman runc
	podman_two podman_runc
	local first second
	first=$(podman_pid "web1-$$") second=$(podman_pid "web2-$$")
	meter "$first" "$second"
	start_record -a --by container -F 99 -d 60 -o "$tmp/all" --stats "$tmp/s"
	record --container "web1-$$" --by container -F 999 -d 1 -o "$tmp/one"
	runs_on "$first" 60
	runs_on "$second" 60
	stop_record
	[ "$(folded_count "$tmp/one" "^web1-$$;")" -eq "$(folded_count "$tmp/one")" ]
	had_by "$first"
	fits_cpu "$(folded_count "$tmp/all" "^web1-$$;")" 99 'samples of the first'
	had_by "$second"
	fits_cpu "$(folded_count "$tmp/all" "^web2-$$;")" 99 'samples of the second'
	adds_up "$tmp/s"
}

@test "which container is meant: the beginning is enough, several are listed, of none those with a name come first" {
	local one
	need_podman runc
	podman_two podman_runc
	record --container "web2-$$" -F 99 -d 0.5 -o "$tmp/f"
	record --container "$(podman_runc inspect -f '{{.Id}}' "web1-$$" | cut -c 1-10)" -F 99 -d 0.5 -o "$tmp/f"
	exits 4 record --container web -d 1 -o "$tmp/f"
	said_clearly "web1-$$"
	said_clearly "web2-$$"
	# As others leave them behind: more than there is room for in a message.
	for one in 1 2 3 4 5 6 7 8; do
		make_container
	done
	exits 3 record --container nobody -d 1 -o "$tmp/f"
	said_clearly "web2-$$"
}

@test "ps lists containers and pods with their CPU, their stacks, and what runs in them" {
	local one seconds cpu pids=()
	need_podman runc
	podman_two podman_runc
	for one in 1 2; do
		pids[one]=$(podman_pid "web$one-$$")
		wait_until 30 has_run "${pids[one]}" 10
	done
	seconds=2
	meter "${pids[@]}"
	"$stoker" ps -d "$seconds" >"$tmp/ps"
	read_meter
	cat "$tmp/ps"
	for one in 1 2; do
		had_by "${pids[one]}"
		cpu=$(sed -nE "s/^podman +web$one-$$ +- +([0-9.]+) +(100.0|99.[0-9])( +[0-9.]+){5} +native +-$/\1/p" "$tmp/ps")
		# So many per cent for so long: samples as at 100 Hz.
		fits_cpu "$(awk "BEGIN { print $cpu * $seconds }")" 100 "web$one" 40
	done
	grep -qE '^host ' "$tmp/ps"
}

@test "ps --json has of each container its id, image, labels and cgroup" {
	local one
	[ -n "$dockerd" ] || skip 'no dockerd on this machine'
	docker_two
	meter "$(our_docker inspect -f '{{.State.Pid}}' "web1-$$")" "$(our_docker inspect -f '{{.State.Pid}}' "web2-$$")"
	"$stoker" ps -d 2 --json >"$tmp/ps"
	read_meter
	cat "$tmp/ps"
	fits_cpu "$(jq --arg app "web[12]-$$" '[.rows[] | select(.name | test($app)) | .samples] | add' "$tmp/ps")" \
		"$(sed -n 's/^#define HZ //p' "$repo/user/cmd/ps.c")" 'samples of both' 40
	for one in 1 2; do
		jq -e --arg name "web$one-$$" --arg app "shop$one" \
			--arg id "$(our_docker inspect -f '{{.Id}}' "web$one-$$")" \
			'.rows[] | select(.name == $name) | .kind == "docker" and .id == $id
			and .image == "shop:7" and .labels == {app: $app} and .pod == ""
			and .samples > 0 and .complete >= 0.99 * .samples and .runtime == "native"
			and (.cgroup | contains($id))' "$tmp/ps"
	done
	jq -e '[.rows[] | select(.kind == "host")] | length == 1' "$tmp/ps"
}
