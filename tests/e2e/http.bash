# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # $tmp, $stoker and what lib.bash sets
# A daemon that serves HTTP, and questions to it.

# serve LINE...: a daemon with a store in $tmp/store, a second or $interval an interval, at $url, with ${daemon_options[@]}.
# $listen may be another address than the loopback's. Returns when it is ${state:-is_alive}. $supervisor is the daemon,
# $daemon its process that samples.
serve() {
	need curl jq
	port=$(free_port)
	url=http://127.0.0.1:$port
	printf '%s\n' '[sample]' "interval = ${interval:-1s}" 'cpu = 100%' '[store]' "path = $tmp/store" '[http]' \
		"listen = ${listen:-127.0.0.1}:$port" "$@" >"$tmp/stoker.ini"
	start "$stoker" daemon --config "$tmp/stoker.ini" "${daemon_options[@]}"
	supervisor=$pid said=$out
	wait_until 30 "${state:-is_alive}" || {
		cat "$said"
		return 1
	}
	daemon=$(agent_of "$supervisor")
}

# asked PATH [OPTION...]: by whoever has no token.
asked() {
	curl -sS -g -m 60 "${@:2}" "$url$1" 3>&-
}

# get PATH [OPTION...]: by whoever may read the token.
get() {
	asked "$@" -H "Authorization: Bearer $(cat "$tmp/store/token" 2>/dev/null)"
}

# code PATH [OPTION...]: the status of such an answer; code_of_asked: of the other.
code() {
	get "$@" -o /dev/null -w '%{http_code}'
}

code_of_asked() {
	asked "$@" -o /dev/null -w '%{http_code}'
}

is_alive() {
	[ "$(get /healthz 2>/dev/null)" = alive ]
}

is_ready() {
	get /readyz 2>/dev/null | grep -q '^ok: '
}

# is_idle [WHY]
is_idle() {
	get /readyz 2>/dev/null | grep -q "^idle: .*$1"
}

answers() {
	[ "$(code "$1" 2>/dev/null)" = 200 ]
}

# metric NAME: its value, of all labels together.
metric() {
	get /metrics | awk -v name="$1" '{ sub(/\{.*\}/, "", $1) } $1 == name { sum += $2 }
		END { printf "%.0f\n", sum }'
}

metric_is() {
	[ "$(metric "$1")" -eq "$2" ]
}
