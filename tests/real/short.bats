#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Programs that are gone before anybody could look at them: a whole-host recording has their samples
# from the first on, whole and named.
# no stoker: a file that nobody has met is opened in the 25 ms that its program lives
# seconds: 20

load real

# Per cent of the samples of the processes NAME* in $tmp/f that a regular expression matches, of
# those that have a user stack (between two programs and at its end a process has none).
share_of() {
	grep "^$1" "$tmp/f" | LC_ALL=C grep -Ev '^[^;]+;[^;]+_\[k\]' >"$tmp/mine"
	folded_share "$tmp/mine" "$2"
}

start_host_recording() {
	start_record -a --by comm -F 999 -d "$(patience 120)" -o "$tmp/f" --stats "$tmp/s"
}

no_file_waits_for_its_table() {
	"${targets%/targets}/tools/maps_of" "$agent" 0 | jq -e '.waiting == 0' >/dev/null
}

end_recording() {
	wait_until 10 no_file_waits_for_its_table
	kill -INT "$recorder"
	wait "$recorder"
}

@test "two hundred runs of 25 ms of one program" {
	local program=$tmp/brief$$ i # a name that nobody else has
	ln -s "$(target shortlived)" "$program"
	start_host_recording
	for i in $(seq 200); do
		"$program"
	done
	end_recording
	between "$(share_of "${program##*/}" ';')" 100 100 'samples with a user stack'
	echo "$(folded_count "$tmp/mine") samples, $(share_of "${program##*/}" truncated) % cut," \
		"$(share_of "${program##*/}" '(brief[0-9]*|shortlived)\+0x|\[unknown') % nameless" | tee -a "${REAL_LOG:-/dev/null}"
	grep truncated "$tmp/mine" | head
	had=500 had_most=500 # 200 times 25 ms
	fits_cpu "$(folded_count "$tmp/mine")" 999 samples 40 120
	between "$(share_of "${program##*/}" '^brief[0-9]*;(_start|_dl_start_user|ld-linux[^;]*\+0x[0-9a-f]+)(;|$)')" \
		97 100 'from the entry'
	between "$(share_of "${program##*/}" '(brief[0-9]*|shortlived)\+0x|\[unknown')" 0 3 nameless
	between "$(share_of "${program##*/}" ';main;')" 85 100 'in main'
}

# fresh NAME OPTION...: a program that no machine has run before.
fresh() {
	local name=$1
	shift
	gcc -O1 -I"$repo/tests/targets" "$@" "$repo/tests/targets/shortlived.c" -o "$tmp/$name" \
		-Wl,--build-id=0x"$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')"
}

@test "the first run of a program never seen" {
	local i
	need gcc
	for i in 0 1 2 3 4 5 6 7; do
		fresh "newdyn$i"
		fresh "newsta$i" -static
	done
	start_host_recording
	for i in 0 1 2 3 4 5 6 7; do
		"$tmp/newdyn$i"
		"$tmp/newsta$i"
	done
	end_recording
	for i in newdyn newsta; do
		between "$(share_of "$i" ';')" 100 100 'samples with a user stack'
		echo "$i: $(folded_count "$tmp/mine") samples, $(share_of "$i" truncated) % cut" |
			tee -a "${REAL_LOG:-/dev/null}"
		grep truncated "$tmp/mine" | head
		had=20 had_most=20 # eight times 25 ms
		fits_cpu "$(folded_count "$tmp/mine")" 999 samples 40 200
		between "$(share_of "$i" truncated)" 0 10 cut
	done
}
