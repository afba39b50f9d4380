# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# cpus.bash - machines on which many CPUs are possible and few are online, what becomes of CPUs that
# come and go there, and the memory for each possible one. For tools/check-vm, like judge.bash.

CPU_SAMPLES_MIN=10               # of a CPU, of about 190 ticks of an emulated clock
MAPS_BYTES_MAX=$((32 * 1048576)) # by default, and for each possible CPU:
CPU_BYTES_MAX=$((40 * 1024))

# The machine of a series: CPUs of QEMU, CPUs that are possible then, and words for its kernel. Since 6.9
# possible_cpus= is an upper limit, and CPUs that may be added count only under a hypervisor that the
# kernel knows; QEMU without KVM is none. So there all CPUs are present, and most of them offline.
cpus_of() {
	case $1 in
	5.10 | 6.1) echo '4,maxcpus=5,sockets=5 512 possible_cpus=512' ;;
	*) echo '64,sockets=64 64 maxcpus=4' ;;
	esac
}

# boot_cpus IMAGE SERIES: what the machine sent is in $got. The host adds a CPU when it asks for one.
boot_cpus() {
	local smp words machine
	read -r smp possible words <<<"$(cpus_of "$2")"
	rm -f "$work"/hmp.*
	mkfifo "$work/hmp.in" "$work/hmp.out"
	: >"$work/console"
	qemu "$1" "many_cpus $words" -m 2048 -chardev "pipe,id=hmp,path=$work/hmp" -mon chardev=hmp \
		>"$work/console" &
	machine=$!
	! grep -qm 1 '^@@add' < <(tail -n +1 -f --pid="$machine" "$work/console") ||
		echo "device_add max-x86_64-cpu,id=added,socket-id=${smp%%,*},core-id=0,thread-id=0" 1<>"$work/hmp.in"
	wait "$machine" 2>/dev/null || true
	unpack_console "$work/console"
	grep -q '^@@done' "$work/console" || tail -5 "$work/console"
	[ -z "$verbose" ] || cat "$got"/*
}

# cpus_in FILE: of a list like 0-2,5, a line each.
cpus_in() {
	tr ',' '\n' <"$got/$1" | while IFS=- read -r first last; do
		seq "$first" "${last:-$first}"
	done
}

these_cpus_are_possible() {
	echo "$(cat "$got/possible") possible, $(cat "$got/present") present, $(cat "$got/online") online"
	[ "$(cpus_in possible | wc -l)" -eq "$possible" ] && [ -s "$got/online" ]
}

# cpus_are_sampled FOLDED LIST: each CPU of the list has samples of a program that runs there.
cpus_are_sampled() {
	cpus_in "$2" | awk -v least="$CPU_SAMPLES_MIN" '
		NR == FNR { samples[$1] = 0; wanted++; next }
		/;spin;/ { split($0, keys, ";"); samples[keys[1]] += $NF }
		END {
			for (cpu in samples) {
				shown = shown " " cpu ":" samples[cpu]
				good += samples[cpu] >= least
			}
			print shown
			exit !(wanted > 0 && good == wanted)
		}' - "$got/$1"
}

# Whichever ticks an emulated clock lost were due, too. The first and the last of each CPU may be
# outside of the two looks at its time.
samples_fit_cpu_time() {
	local hz due samples skipped spare
	hz=$(jq .hz "$got/stats") && [ -n "$hz" ] && [ -s "$got/after" ] || return
	due=$(awk -v hz="$hz" 'NR == FNR { sum -= $2; next } { sum += $2 } END { printf "%d", sum * hz / 100 }' \
		"$got/before" "$got/after")
	samples=$(awk '/;spin;/ { sum += $NF } END { print sum + 0 }' "$got/folded")
	skipped=$(jq '.ticks.skipped + ([.ticks.lost[]] | add)' "$got/stats")
	spare=$((due / 10 + 3 * $(cpus_in online | wc -l)))
	echo "$samples samples and $skipped skipped ticks, $due due by CPU time"
	[ "$due" -gt 0 ] && [ "$samples" -le $((due + spare)) ] && [ $((samples + skipped)) -ge $((due - spare)) ]
}

# Deferred samples need room at once, which an emulated agent is late to make: their number is shown.
no_event_is_lost() {
	[ -s "$got/stats" ] && jq -c .events.lost "$got/stats" &&
		jq -e '.events.lost | [del(.deferred, .held)[]] | add // 0 | . == 0' "$got/stats" >/dev/null
}

# The kernel's own count of the maps, and how much more memory it has for values of each CPU: in chunks.
memory() {
	echo "$(jq .bpf.memory_bytes "$got/stats") bytes of BPF maps, $(($(cat "$got/percpu_maps") / possible)) of them" \
		"for each possible CPU; Percpu of /proc/meminfo grew by" \
		"$(awk 'NR == 1 { from = $1 } END { print $1 - from }' "$got/percpu") kB"
}

memory_is_within_its_budget() {
	local all maps
	all=$(jq .bpf.memory_bytes "$got/stats") maps=$(cat "$got/percpu_maps")
	[ -n "$all" ] && [ -n "$maps" ] && [ "$possible" -gt 0 ] || return
	memory
	[ "$maps" -gt 0 ] && [ "$all" -gt "$maps" ] && [ "$all" -le $((MAPS_BYTES_MAX + possible * CPU_BYTES_MAX)) ]
}

# One that was added, where all that were present were online.
more_cpus_are_online() {
	echo "$(cat "$got/online_after") online"
	[ -s "$got/online" ] && [ "$(cpus_in online_after | wc -l)" -gt "$(cpus_in online | wc -l)" ]
}

judge_cpus() {
	check 'many CPUs are possible' these_cpus_are_possible
	check 'record ends well' was record 0
	check 'the account adds up' account_adds_up
	check 'each CPU is sampled' cpus_are_sampled folded online
	check 'samples fit the CPU time' samples_fit_cpu_time
	check 'no id and no event is lost' no_event_is_lost
	check 'root to leaf' spin_in folded
	check 'maps are within their budget' memory_is_within_its_budget
	[ ! -s "$got/percpu_maps" ] || summary+="$kernel $(memory)"$'\n'
	check 'descriptors are needed for the CPUs that are online only' was limited 0
	check 'they give a program root to leaf' spin_in limited.folded
	check 'record ends well where CPUs come and go' was returned 0
	check 'more CPUs come' more_cpus_are_online
	check 'each CPU that came is sampled' cpus_are_sampled returned.folded online_after
	check 'with whole stacks' spin_in returned.folded
	check 'the kernel did not complain' kernel_did_not_complain
}
