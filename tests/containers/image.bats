#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The root file system of the image that tools/deploy/Dockerfile makes: the daemon in it, with the
# rights that daemonset.yaml gives, and the unit for systemd.
# seconds: 15

load lib

remove=("podman_runc rm -f -t 0 stoker-$$" "podman_runc rm -f -t 0 app-$$")

given() {
	sed -n 's/.*add: \[\(.*\)\]/\1/p' "$repo/tools/deploy/daemonset.yaml" | tr -d ' '
}

# The configuration of daemonset.yaml, with intervals that a test can wait for.
configure() {
	mkdir -p "$tmp/config"
	sed -n '/^  stoker.ini: |/,/^---/s/^    //p' "$repo/tools/deploy/daemonset.yaml" >"$tmp/config/stoker.ini"
	[ "$(wc -l <"$tmp/config/stoker.ini")" -ge 4 ]
	printf '%s\n' '[sample]' 'interval = 1s' 'cpu = 100%' '[http]' "listen = 127.0.0.1:$port" >>"$tmp/config/stoker.ini"
}

# in_image COMMAND...: as the DaemonSet's container is: the host's processes, its own everything else
# but the network, which is the host's so that the page can be asked.
in_image() {
	podman_runc run --name "stoker-$$" --network=host --pids-limit=-1 --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 \
		--pid=host --read-only --read-only-tmpfs=false --security-opt seccomp=unconfined --user 0 \
		--cap-drop=all --cap-add="$(given)" -v "$tmp/config:/config:ro" -v "$tmp/store:/var/lib/stoker" \
		--rootfs "$tmp/image" "$@"
}

get() {
	curl -sS --max-time 30 -H "Authorization: Bearer $(cat "$tmp/store/token" 2>/dev/null)" "http://127.0.0.1:$port$1"
}

is_served() {
	get /healthz >/dev/null 2>&1
}

has_container() {
	find "$tmp/store" -name '*.folded.zst' -exec zstdcat {} + | grep -q ";$container;"
}

@test "every library that the program loads when it is asked to is in the image, with what it links" {
	local name path loader
	"$repo/tools/deploy/root" "$stoker" "$tmp/image"
	# One of each kind: the other names are of the same library, elsewhere.
	grep -rhoE '"lib(microhttpd|curl|ncursesw)\.so\.[0-9]+"' "$repo/user" | tr -d '"' | sort -u >"$tmp/names"
	[ "$(wc -l <"$tmp/names")" -eq "$(grep -rlE "return library_load\(" "$repo/user" | wc -l)" ]
	loader=$(cd "$tmp/image" && find . -name 'ld-linux-*' | head -n 1)
	while read -r name; do
		path=$(cd "$tmp/image" && find . -name "$name" | head -n 1)
		echo "$name: $path"
		chroot "$tmp/image" "${loader#.}" --list "${path#.}" >"$tmp/list"
		! grep 'not found' "$tmp/list" || false
	done <"$tmp/names"
}

@test "the daemon in a container of the image has profiles, a page, metrics and captures of other containers" {
	need_podman runc
	need curl
	port=$(free_port)
	"$repo/tools/deploy/root" "$stoker" "$tmp/image"
	mkdir "$tmp/store"
	configure
	make_rootfs "$tmp/app" spin
	container=$(podman_runc run -d "${podman_options[@]}" --name "app-$$" --rootfs "$tmp/app" /bin/spin 200)
	container=${container:0:12} id=${container:0:12}
	# Its name is in a file of the host's, and its cgroup among mounts of the host's; both are found
	# by process 1, where that may be looked at (tools/check-vm tries the latter).
	if [ -e /proc/1/root/proc ]; then
		container=app-$$
		target="container=$container&"
	fi
	in_image /bin/stoker daemon --config /config/stoker.ini >"$tmp/said" 2>&1 </dev/null 3>&- &
	started+=($!)
	wait_until 30 is_served || {
		cat "$tmp/said"
		return 1
	}
	wait_until 30 has_container || {
		cat "$tmp/said"
		return 1
	}
	get / | grep -q '<title>'
	get /metrics | grep -q '^stoker_ticks_expected_total '
	meter "$(podman_runc inspect -f '{{.State.Pid}}' "app-$$")"
	get "/profile?${target:-}seconds=1&hz=499&format=folded" >"$tmp/f"
	read_meter
	hottest "$tmp/f"
	fits_cpu "$(folded_count "$tmp/f" "^(app-$$|$id);.*;main;spin_here")" 499 'samples of the container' 5 # for a second of it
	podman_runc exec "stoker-$$" /bin/stoker report --since 10m --container "$container" --top 3 >"$tmp/report"
	grep -q spin "$tmp/report"
	podman_runc stop -t 10 "stoker-$$" >/dev/null
	cat "$tmp/said"
	! grep -iE 'cannot|without' "$tmp/said" || false
}

@test "systemd takes the unit, and it starts the daemon that make install puts there" {
	need systemd-analyze
	make -C "$repo" -s install DESTDIR="$tmp/d" PREFIX=/opt/s
	sed "s|/opt/s/|$tmp/d/opt/s/|" "$tmp/d/opt/s/lib/systemd/system/stoker.service" >"$tmp/stoker.service"
	"$(sed -n 's/^ExecStart=\([^ ]*\) .*/\1/p' "$tmp/stoker.service")" daemon --help | grep -q '^hz = '
	systemd-analyze verify --man=no "$tmp/stoker.service" >"$tmp/said" 2>&1 || true
	cat "$tmp/said"
	! grep -F "$tmp/stoker.service" "$tmp/said" || false
}
