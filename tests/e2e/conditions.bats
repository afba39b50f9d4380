#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# record --when: each kind of condition fires once each time it holds. TRIALS=20 is a campaign.
# alone: its programs want a CPU at once
# seconds: 20

load lib
load when

trials=${TRIALS:-2}

@test "each kind of condition fires once each time it holds" {
	local idle=(cpu_below blocked) busy=(cpu_above runnable wait) one i spins=() name
	make_container
	for i in 1 2; do
		enter "$cgroup" nice -n -20 taskset -c 0 "$(target spin)" 1200
		spins+=("$pid")
	done
	when cpu_below 'cpu < 1% for 1s' --container "$container"
	when blocked 'blocked > 90% for 1s' --container "$container"
	when cpu_above 'cpu > 1.5% for 1s' --container "$container"
	when runnable 'runnable > 5% for 1s' --container "$container"
	when wait 'wait > 5% for 1s' --container "$container"
	if [ -e "$cgroup/cpu.pressure" ]; then
		when pressure 'pressure > 5% for 1s' --container "$container"
		busy+=(pressure)
	fi
	make_container
	if set_quota "${cgroup##*/}" 1000; then
		enter "$cgroup" "$(target spin)" 1200
		spins+=("$pid")
		echo "$pid" >"$cpu_cgroup/cgroup.procs"
		when throttled 'throttled > 20% for 1s' --container "$container"
		busy+=(throttled)
	fi
	for ((i = 1; i <= trials; i++)); do
		wait_until 40 have_bundles "$i" "${busy[@]}"
		kill -STOP "${spins[@]}"
		wait_until 40 have_bundles "$i" "${idle[@]}"
		[ "$i" -eq "$trials" ] || kill -CONT "${spins[@]}"
	done
	for name in "${busy[@]}" "${idle[@]}"; do
		ends "${recorder_of[$name]}"
		echo "$name: $(fired_of "$name") times in $trials"
		[ "$(fired_of "$name")" -eq "$trials" ]
		[ "$(bundles_of "$name" | wc -l)" -eq "$trials" ]
		are_whole "$name"
	done
	[[ ! " ${busy[*]} " == *' throttled '* ]] || bundles_of throttled | xargs -I{} grep -h 'is throttled' {}/first.txt
}
