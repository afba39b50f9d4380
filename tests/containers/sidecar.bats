#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# stoker in a container beside another one, of which it shares the pid namespace and nothing else; and
# what the files of tools/deploy let it do.
# seconds: 25

load lib

# The capabilities of the manual's table, as container runtimes call them.
documented() {
	sed -n '/^\.Sh PRIVILEGES/,/^\.Sh EXIT/s/^\.It Dv CAP_\([A-Z_]*\)$/\1/p' "$repo/user/man/stoker.1" | sort
}

remove=("podman_runc rm -f -t 0 side-$$" "podman_runc rm -f -t 0 app-$$")

# start_app OPTION... -- COMMAND...: the container that is to be profiled, app-$$.
start_app() {
	podman_runc run -d "${podman_options[@]}" --name "app-$$" "$@" >/dev/null
}

# sidecar CAPS OPTION...: record in a container beside it; the profile is its stdout.
sidecar() {
	local caps=$1
	shift
	podman_runc run --rm "${podman_options[@]}" --name "side-$$" "--pid=container:app-$$" \
		--read-only --read-only-tmpfs=false --security-opt seccomp=unconfined --cap-drop=all --cap-add="$caps" \
		--rootfs "$tmp/side" /bin/stoker record -q "$@" 2>"$tmp/said" </dev/null
}

make_side() {
	make_rootfs "$tmp/side"
	cp "$stoker" "$tmp/side/bin/stoker"
	add_libraries "$tmp/side" "$stoker"
}

all_caps() {
	documented | paste -sd ,
}

# A process of another user, with files for itself alone, whose program is gone: each capability has
# something to do.
start_secretive() {
	make_rootfs "$tmp/app" jitmap
	install -d -o 65534 -m 1777 "$tmp/app/tmp"
	# shellcheck disable=SC2016 # for the inner shell
	start_app --user 65534:65534 --rootfs "$tmp/app" /bin/sh -c \
		'umask 077; cp /bin/jitmap /tmp/app; chmod 700 /tmp/app; exec /tmp/app 240 kernel'
	app=$(podman_runc inspect -f '{{.State.Pid}}' "app-$$")
	wait_until 10 has_run "$app"
	wait_until 10 test -s "$tmp/app/tmp/perf-1.map"
	rm "$tmp/app/tmp/app"
}

# whole FILE: JIT names, names of the program's own, names of the kernel's.
whole() {
	[ "$(folded_count "$1" 'jit_alpha[^;]*_\[j\]')" -gt 0 ] && [ "$(folded_count "$1" ';main;')" -gt 0 ] &&
		[ "$(folded_count "$1" ';[a-z][^;]*_\[k\]')" -gt 0 ]
}

@test "the files of tools/deploy give the documented capabilities, no more and no less" {
	diff <(documented) <(grep -o 'cap-add=[A-Z_]*' "$repo/tools/deploy/Dockerfile" | cut -d = -f 2 | sort)
	for file in daemonset ephemeral; do
		diff <(documented) <(sed -n 's/.*add: \[\(.*\)\]/\1/p' "$repo/tools/deploy/$file.yaml" | tr -d ' ' | tr , '\n' | sort)
		"$python" -c 'import sys, yaml; list(yaml.safe_load_all(open(sys.argv[1])))' "$repo/tools/deploy/$file.yaml" ||
			! "$python" -c 'import yaml'
	done
	# There a starter has the rights that give others users of their own.
	diff <({ documented; printf '%s\n' SYS_ADMIN SETUID SETGID SETPCAP KILL SYS_NICE SYS_RESOURCE; } | sort) <(sed -n 's/^CapabilityBoundingSet=//p' "$repo/tools/deploy/stoker.service" | tr ' ' '\n' | sed s/CAP_// | sort)
}

@test "a sidecar has whole stacks of process 1, by its number there, and leaves nothing behind" {
	local before
	need_podman runc
	make_side
	start_secretive
	before=$(find "$tmp/app" -newer "$tmp/side/bin/stoker" | sort)
	sidecar "$(all_caps)" -p 1 --by pid,comm -F 999 -d 2 >"$tmp/f"
	cat "$tmp/said"
	hottest "$tmp/f"
	[ "$(folded_count "$tmp/f" '^1;app;')" -eq "$(folded_count "$tmp/f")" ]
	whole "$tmp/f"
	diff <(echo "$before") <(find "$tmp/app" -newer "$tmp/side/bin/stoker" | sort)
	# All that can be seen from there is that container.
	sidecar "$(all_caps)" -a --by comm -F 499 -d 1 >"$tmp/g"
	[ "$(folded_count "$tmp/g" '^app;')" -gt 0 ]
	between "$(folded_share "$tmp/g" '^(app|stoker[^;]*);')" 100 100 'samples of the pid namespace'
}

@test "a sidecar without any one of its capabilities misses something" {
	local cap
	need_podman runc
	make_side
	start_secretive
	for cap in $(documented); do
		if sidecar "$(documented | grep -vx "$cap" | paste -sd ,)" -p 1 -F 999 -d 1 >"$tmp/f" && whole "$tmp/f"; then
			echo "all is there without $cap"
			return 1
		fi
		grep -o "CAP_$cap[^:]*" "$tmp/said" || {
			cat "$tmp/said"
			return 1
		}
	done
}

@test "a .NET process that is 1 in its container, from a sidecar and from the host by the container's name" {
	local command reason
	need_podman runc
	make_side
	command=$("$repo/tests/runtimes/setup" coreclr 2>"$tmp/setup") || skip "coreclr: $(tail -n 1 "$tmp/setup")"
	mapfile -t command <<<"$command"
	make_rootfs "$tmp/app"
	cp -a "$(dirname "${command[2]}")" "$tmp/app/net"
	find "$tmp/app/net" -type f \( -name '*.so' -o -name "$(basename "${command[2]}")" \) | while read -r reason; do
		add_libraries "$tmp/app" "$reason" 2>/dev/null || true
	done
	start_app -e "${command[1]}" -e DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 --rootfs "$tmp/app" \
		"/net/$(basename "${command[2]}")" 60
	app=$(podman_runc inspect -f '{{.State.Pid}}' "app-$$")
	wait_until 20 test -s "$tmp/app/tmp/perf-1.map"
	runs_on "$app" 200
	sidecar "$(all_caps)" -p 1 -F 499 -d 2 >"$tmp/f"
	hottest "$tmp/f"
	between "$(jit_named "$tmp/f" .)" 95 100 'JIT frames with names, %'
	record_while 1 "$app" --container "app-$$" --by container -F 499 -o "$tmp/g"
	fits_cpu "$(folded_count "$tmp/g" "^app-$$;")" 499 'samples of the container'
	between "$(jit_named "$tmp/g" .)" 95 100 'JIT frames with names, %'
}
