#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Web servers, as they are started: their stacks reach the root, and the functions of Java and Python
# have names.
# seconds: 17

load real

# loaded URL: asks the server for pages until the test ends.
loaded() {
	need wrk
	start wrk -t 1 -c 4 -d 120 "$1"
	wait_until 10 has_run "$pid"
}

# holds NAME PID,... PATTERN...: these processes' stacks while they serve. Those with the first pattern, the
# request's, have the others before it.
holds() {
	local name=$1 pids=$2 pattern requests
	shift 2
	record_while "$seconds" "$pids" -p "$pids" -F "$hz" --inline -o "$tmp/f" --stats "$tmp/s"
	jq -c '.user_stacks, .frames' "$tmp/s" | tee -a "${REAL_LOG:-/dev/null}"
	between "$(jq '100 * .user_stacks.complete / .user_stacks.total' "$tmp/s")" 99 100 "$name: complete, %"
	between "$(jq '100 * (.frames.unnamed.code // 0) / .frames.total' "$tmp/s")" 0 0.1 "$name: code without a name, %"
	requests=$(folded_count "$tmp/f" "$1")
	between "$requests" 200 1000000 "$name: samples in requests"
	for pattern in "${@:2}"; do
		between "$(folded_count "$tmp/f" "$pattern.*$1")" $((requests * 98 / 100)) "$requests" \
			"$name: $1 below $pattern"
	done
}

@test "the JDK's own server" {
	need "$java" "$javac"
	"$javac" -d "$tmp" "$real/Serve.java"
	# Without it each answer waits until the client acknowledges its head.
	start "$java" -Dsun.net.httpserver.nodelay=true -cp "$tmp" Serve
	local server=$pid
	wait_until 30 says 'ready [0-9]' "$out"
	loaded "http://127.0.0.1:$(sed -n 's/^ready //p' "$out")/"
	runs_on "$server" 600 # until what it runs was compiled
	holds 'HttpServer' "$server" 'Serve\.page' 'java\.lang\.Thread\.run' 'Serve\.answer'
	between "$(folded_share "$tmp/f" '\[anon\]')" 0 2 'stacks with code that has no name, %'
}

free_port() {
	"$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

answers() {
	curl -sf -o /dev/null "$1"
}

@test "gunicorn" {
	need gunicorn curl
	local port server
	port=$(free_port)
	start /usr/bin/gunicorn --workers 1 --bind "127.0.0.1:$port" --chdir "$real" --pythonpath "$real" serve
	server=$pid
	wait_until 20 answers "http://127.0.0.1:$port/"
	loaded "http://127.0.0.1:$port/"
	holds gunicorn "$(pgrep -P "$server" | head -n 1)" 'serve:page' 'gunicorn\.workers\.' 'serve:application'
}

@test "uWSGI, with Python inside" {
	need uwsgi_python3 curl
	local port server
	port=$(free_port)
	start uwsgi_python3 --http-socket "127.0.0.1:$port" --chdir "$real" --module serve --master --processes 1 \
		--die-on-term --disable-logging
	server=$pid
	wait_until 20 answers "http://127.0.0.1:$port/"
	loaded "http://127.0.0.1:$port/"
	holds uWSGI "$(pgrep -P "$server" | head -n 1)" 'serve:page' 'serve:application'
}
