#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Debug files that a process has put where its own files are searched: they name its own frames and
# nobody else's, and no link of it is followed into our root.
# seconds: 25

load ../e2e/lib
load attacks

times=20

# make_victims: $tmp/victimN are stripped, and belong to root; $tmp/forged.debug fits them all, and has
# false names.
make_victims() {
	local i
	forge "$(target spin)" spin_here "$tmp/forged.debug" --only-keep-debug
	objcopy --strip-all "$(target spin)" "$tmp/victim"
	for ((i = 1; i <= times; i++)); do
		cp "$tmp/victim" "$tmp/victim$i"
	done
	id=$(build_id "$(target spin)")
}

# attack_by_root SCRIPT [ARG...]: by root in a mount namespace of its own, as in a container; it runs the
# victims first.
attack_by_root() {
	unshare --mount true 2>"$tmp/unshare" || skip 'no mount namespaces here'
	start unshare --mount bash -ec "$@"
	attacker=$pid
	wait_until 30 have_run_below "$attacker" "$times"
}

# attack_by_user SCRIPT [ARG...]: the same by user 1234, who is root in namespaces of its own.
attack_by_user() {
	setpriv --reuid 1234 --regid 1234 --clear-groups unshare --user --map-root-user --mount true \
		2>"$tmp/unshare" || skip "no namespaces of a user's own here: $(tail -n 1 "$tmp/unshare")"
	start setpriv --reuid 1234 --regid 1234 --clear-groups unshare --user --map-root-user --mount \
		sh -ec "$@"
	attacker=$pid
	wait_until 30 have_run_below "$attacker" "$times"
}

# have_run_below PID NUMBER: so many of its children have had CPU time.
have_run_below() {
	local one ran=0
	for one in $(children_of "$1"); do
		! has_run "$one" 4 || ran=$((ran + 1))
	done
	[ "$ran" -ge "$2" ]
}

# run_honest: by root, in the host's namespaces; the pids are in $honest.
run_honest() {
	local i
	honest=''
	for ((i = 1; i <= times; i++)); do
		start "$tmp/victim$i" 300
		honest="$honest $pid"
	done
	for i in $honest; do
		wait_until 60 has_run "$i" 5
		kill -KILL "$i"
	done
}

# none_is_forged: of the honest.
none_is_forged() {
	local one
	jq -c '.frames, .debug_files' "$tmp/s"
	for one in $honest; do
		grep "^$one;" "$tmp/f" >"$tmp/of"
		[ -s "$tmp/of" ]
		[ "$(folded_count "$tmp/of" forged)" -eq 0 ] || {
			cat "$tmp/of"
			return 1
		}
	done
}

@test "a debug file in a mount namespace names only frames in that namespace" {
	need objcopy readelf jq
	make_victims
	start_record -a -F 499 --by pid -o "$tmp/f" --stats "$tmp/s"
	# shellcheck disable=SC2016 # for the inner shell
	attack_by_root '. "$4"
		forge_debug_file "$1/forged.debug" "$3"
		i=1
		while [ $i -le "$2" ]; do "$1/victim$i" 300 & i=$((i + 1)); done
		wait' bash "$tmp" "$times" "$id" "$attacks"
	run_honest
	# shellcheck disable=SC2046 # a list
	kill -KILL $(children_of "$attacker")
	stop_record
	none_is_forged
	# Its own frames are: it did what it is for.
	[ "$(folded_count "$tmp/f" forged)" -gt "$times" ]
}

@test "a path that a user's namespace gives a file leads to no debug file in ours" {
	local i
	need objcopy setpriv jq
	make_victims
	mkdir "$tmp/evil"
	for ((i = 1; i <= times; i++)); do
		: >"$tmp/evil/victim$i"
		cp "$tmp/forged.debug" "$tmp/evil/victim$i.debug"
	done
	chown -R 1234:1234 "$tmp/evil"
	start_record -a -F 499 --by pid -o "$tmp/f" --stats "$tmp/s"
	# shellcheck disable=SC2016 # for the inner shell
	attack_by_user 'i=1
		while [ $i -le "$2" ]; do
			mount --bind "$1/victim$i" "$1/evil/victim$i"
			"$1/evil/victim$i" 300 &
			i=$((i + 1))
		done
		wait' sh "$tmp" "$times"
	run_honest
	# shellcheck disable=SC2046 # a list
	kill -KILL $(children_of "$attacker")
	stop_record
	none_is_forged
	# It was found, in the user's own root, and was not root's, as the file is.
	[ "$(jq .debug_files.unread.denied "$tmp/s")" -ge "$times" ]
}

# was_opened PATH: a worker had it.
was_opened() {
	jq -c .debug_files "$tmp/s"
	jq -e --arg path "$1" 'any(.debug_files.refused_files[]; .debug_file == $path)' "$tmp/s"
}

# link_to NAME: $tmp/linked is a stripped program whose debug file has this name.
link_to() {
	objcopy --strip-all --remove-section .note.gnu.build-id "$(target spin)" "$tmp/linked"
	echo x >"$tmp/$1"
	objcopy --add-gnu-debuglink="$tmp/$1" "$tmp/linked"
	rm "$tmp/$1"
}

@test "no link and no path of a container's file is followed in our root" {
	need objcopy jq
	link_to shadow
	mkdir "$tmp/etc"
	echo secret >"$tmp/etc/shadow"
	chmod 600 "$tmp/etc/shadow"
	unshare --mount true 2>"$tmp/unshare" || skip 'no mount namespaces here'
	# shellcheck disable=SC2016 # for the inner shell
	start unshare --mount sh -ec 'mount -t tmpfs none "$1/etc"
		cp "$1/linked" "$1/etc/linked" && exec "$1/etc/linked" 300' sh "$tmp"
	wait_until 10 has_run "$pid"
	record_cpu 1 "$pid" -F 199 -o "$tmp/f" --stats "$tmp/s"
	[ "$(folded_count "$tmp/f" 'linked\+0x')" -gt 0 ]
	! was_opened "$tmp/etc/shadow"
}

@test "a user's link in our root leads to no file that it may not read" {
	need objcopy setpriv jq
	link_to shadow
	mkdir "$tmp/user"
	cp "$tmp/linked" "$tmp/user/linked"
	echo secret >"$tmp/shadow"
	chmod 600 "$tmp/shadow"
	ln -s "$tmp/shadow" "$tmp/user/shadow"
	chown -R -h 1234:1234 "$tmp/user"
	start setpriv --reuid 1234 --regid 1234 --clear-groups "$tmp/user/linked" 300
	wait_until 10 has_run "$pid"
	record_cpu 1 "$pid" -F 199 -o "$tmp/f" --stats "$tmp/s"
	[ "$(folded_count "$tmp/f" 'linked\+0x')" -gt 0 ]
	! was_opened "$tmp/user/shadow"
	[ "$(jq '.debug_files.unread.denied' "$tmp/s")" -gt 0 ]
	jq -c .unnamed_files "$tmp/s"
	jq -e 'any(.unnamed_files[]; (.file | endswith("/linked")) and
		(.why | endswith("its debug file was not read")) and (.advice | startswith("permission denied")))' "$tmp/s"
}
