#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The daemon over HTTP: metrics, captures on demand, questions to the store, and who may ask.
# seconds: 30

load lib
load http

# ticks_add_up METRICS: but for those of half a second on two CPUs, as what is read goes on meanwhile.
ticks_add_up() {
	awk '{ sub(/\{.*\}/, "", $1); sum[$1] += $2 }
		END {
			parts = sum["stoker_samples_total"] + sum["stoker_ticks_idle_total"] + \
				sum["stoker_ticks_lost_total"] + sum["stoker_ticks_skipped_total"]
			print sum["stoker_ticks_expected_total"] " ticks, of which are told " parts
			late = sum["stoker_ticks_expected_total"] - parts
			exit !(parts > 100 && late <= 19 && late >= -19)
		}' "$1"
}

# http_process: of $daemon.
http_process() {
	local child
	for child in $(children_of "$daemon"); do
		[ "$(cat "/proc/$child/comm" 2>/dev/null)" != stoker-http ] || echo "$child"
	done
}

another_than() {
	[ -n "$(http_process)" ] && [ "$(http_process)" != "$1" ]
}

budget_is() {
	get /metrics | grep -qx "stoker_cpu_budget_cores $1"
}

@test "the CPU budget in the metrics is the one that was read again" {
	serve
	budget_is 1
	sed -i 's/^cpu = .*/cpu = 50%/' "$tmp/stoker.ini"
	kill -HUP "$supervisor"
	wait_until 10 budget_is 0.5
}

@test "metrics are what promtool accepts, and ticks add up in them" {
	need promtool
	serve
	start_busy spin 60
	wait_until 20 eval '[ "$(metric stoker_ticks_expected_total)" -ge 200 ]'
	wait_until 20 answers '/query?top=5'
	get /metrics >"$tmp/metrics"
	promtool check metrics <"$tmp/metrics" >"$tmp/said" 2>&1 || {
		cat "$tmp/said"
		return 1
	}
	[ ! -s "$tmp/said" ]
	ticks_add_up "$tmp/metrics"
	for one in agent worker keeper http capture; do
		grep -q "^stoker_cpu_seconds_total{process=\"$one\"}" "$tmp/metrics"
	done
	between "$(metric stoker_bpf_memory_bytes)" 1 "$(metric stoker_bpf_memory_budget_bytes)" 'BPF memory'
	[ "$(metric stoker_store_segments)" -ge 1 ]
	asked /healthz | grep -qx alive
	asked /readyz | grep -q '^ok: '
}

@test "a question to the store has the answer that stoker report gives" {
	serve
	start_busy spin 60
	wait_until 20 eval '[ "$(find "$tmp/store" -name "*.zst" | wc -l)" -ge 4 ]'
	local until span
	until=@$(date +%s)
	span="since=@1000000000&until=$until"
	# Until all of that time is written.
	wait_until 20 eval '[ "$(jq -s "map(.end_ns) | max / 1e9 | floor" "$tmp/store/index")" -gt "${until#@}" ]'
	get "/query?$span&top=5" >"$tmp/top"
	"$stoker" report --store "$tmp/store" --since @1000000000 --until "$until" --top 5 2>/dev/null |
		diff - "$tmp/top"
	grep -q spin_here "$tmp/top"
	get "/query?$span&format=folded&comm=spin" >"$tmp/f"
	folded_is_valid "$tmp/f"
	[ "$(folded_count "$tmp/f" ';spin;')" -eq "$(folded_count "$tmp/f")" ]
	"$stoker" report --store "$tmp/store" --since @1000000000 --until "$until" --comm spin -f folded \
		2>/dev/null | diff - "$tmp/f"
	get "/query?$span&format=pprof" -D "$tmp/head" | gzip -t
	grep -qi '^content-type: application/octet-stream' "$tmp/head"
	grep -qi '^content-disposition: attachment; filename="stoker-.*\.pb\.gz"' "$tmp/head"
	get "/query?$span&function=spin_h.re&trend=1" | grep -q '#'
	get "/heat.json" | jq -e '.key == "container" and (.cells | length) >= 4
		and (.rows | all((.cpus | length) > 0)) and .all.cpu_s > 0'
	[ "$(code "/query?container=no-such-container")" = 404 ]
	# by kind of value: cpu is the default, and others may not be there
	get "/query?$span&format=folded&comm=spin&e=cpu" | cmp - "$tmp/f"
	[ "$(code "/query?e=nothing")" = 404 ]
	get '/query?e=nothing' | grep -q 'no values of the kind nothing'
	get "/query?$span&format=stoker&comm=spin" >"$tmp/f.stoker"
	"$stoker" convert -q "$tmp/f.stoker" --by container,pod,comm | diff - "$tmp/f"
}

@test "one cgroup at 999 Hz for five seconds beside the host at 19 Hz: both are right" {
	local cgroup_pids
	serve
	make_cgroup one
	start sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$cgroup" "$(target spin)" 90
	local watched=$pid
	start_busy deep 90
	wait_until 10 has_run "$watched" 20
	local before after ran expected
	before=$(cpu_ticks "$watched")
	expected=$(metric stoker_samples_total)
	get "/profile?seconds=5&hz=999&cgroup=/${cgroup##*/}&format=folded" >"$tmp/f"
	after=$(cpu_ticks "$watched")
	folded_is_valid "$tmp/f"
	# It runs while the capture loads and writes too, and others want the CPU.
	ran=$(((after - before) * 10))
	echo "$(folded_count "$tmp/f") samples, $ran ms of CPU by then, of others $(folded_count "$tmp/f" deep_leaf)"
	between "$(folded_count "$tmp/f")" $((ran * 3 / 10)) $((ran * 11 / 10)) samples
	[ "$(folded_count "$tmp/f" deep_leaf)" -eq 0 ]
	between "$(folded_share "$tmp/f" spin_here)" 80 100 'spin_here, %'
	# And the daemon went on as if nothing were.
	[ "$(metric stoker_samples_total)" -gt "$expected" ]
	jq -s -e 'all(.hz == 19)' "$tmp/store/index"
	get /metrics >"$tmp/metrics"
	ticks_add_up "$tmp/metrics"
	jq -s -e 'sort_by(.start_ns) | [.[:-1], .[1:]] | transpose
		| all((.[1].start_ns - .[0].end_ns) | fabs < 50000000)' "$tmp/store/index"
}

@test "a hundred clients at once: some are served, the rest refused with when to ask again" {
	serve
	local i clients=() codes
	for i in $(seq 100); do
		get '/profile?seconds=2&hz=99' -o "$tmp/body.$i" -D "$tmp/head.$i" -w '%{http_code}\n' \
			>"$tmp/code.$i" &
		clients+=($!)
	done
	# Meanwhile it answers others.
	asked /healthz | grep -qx alive
	wait "${clients[@]}"
	codes=$(cat "$tmp"/code.* | sort | uniq -c)
	echo "$codes"
	[ "$(cat "$tmp"/code.* | grep -c '^200$')" -ge 2 ]
	[ "$(cat "$tmp"/code.* | grep -cE '^(200|429|503)$')" -eq 100 ]
	for i in $(grep -lE '^(429|503)$' "$tmp"/code.*); do
		grep -qi '^retry-after: [1-9]' "$tmp/head.${i##*.}"
		[ "$(wc -l <"$tmp/body.${i##*.}")" -eq 1 ]
	done
	# What a minute allows is used up, or nearly.
	cat "$tmp"/body.* | grep -a 'capture\|many requests' | sort | uniq -c
	[ "$(($(metric stoker_captures_refused_total) + $(metric stoker_http_requests_limited_total)))" -ge 80 ]
	metric_is stoker_captures_running 0
	metric_is stoker_http_restarts_total 0
}

@test "a client that goes away ends its capture" {
	serve
	curl -sS -g -o /dev/null "$url/profile?seconds=60&hz=19" \
		-H "Authorization: Bearer $(cat "$tmp/store/token")" 3>&- &
	local client=$!
	wait_until 10 metric_is stoker_captures_running 1
	kill "$client"
	wait_until 10 metric_is stoker_captures_running 0
	metric_is stoker_captures_failed_total 1
}

@test "what is asked for is bounded, and nobody else's page may ask" {
	serve
	local path
	for path in '/profile?seconds=61' '/profile?seconds=0' '/profile?hz=1001' '/profile?hz=-1' \
		'/profile?format=exe' '/profile?container=' '/profile?container=a&pod=b' '/profile?pid=1' \
		'/profile?container=a%00b' '/profile?container=a%0ab' '/query?since=later' \
		'/query?since=1h&until=2h' '/query?format=perf' '/query?function=(' '/query?function=a%7B9,1%7D' \
		'/query?top=0' '/query?comm=a&comm=b' "/query?comm=$(printf 'x%.0s' $(seq 300))" '/metrics?a=b'; do
		echo "$path"
		[ "$(code "$path")" = 400 ]
	done
	for path in "/query?$(printf 'a=b&%.0s' {1..400})" "/healthz?$(printf 'a&%.0s' {1..5000})" \
		"/query?comm=$(printf 'x%.0s' $(seq 12000))"; do
		echo "${path:0:24}..."
		[ "$(code "$path" -m 5)" = 414 ]
	done
	# More than the library has memory for.
	for path in "/query?$(printf 'a&%.0s' {1..8000})" "/query?comm=$(printf 'x%.0s' $(seq 16200))"; do
		[[ $(code "$path" -m 5) == 4[0-9][0-9] ]]
	done
	[[ $(code /healthz -m 5 -H "Cookie: $(printf 'a=b;%.0s' {1..2000})") == 4[0-9][0-9] ]]
	[ "$(code "/profile?container=no-such-container&seconds=1")" = 404 ]
	metric_is stoker_captures_not_found_total 1
	metric_is stoker_captures_failed_total 0
	make_cgroup pair
	for path in "$cgroup"/docker-"$(printf 'ab%.0s' {1..31})"0{1,2}.scope; do
		mkdir "$path"
		cgroups=("$path" "${cgroups[@]}")
	done
	get '/profile?container=abab&seconds=1' -w '%{http_code}' >"$tmp/which"
	cat "$tmp/which"
	grep -q 'ambiguous; candidates: .*ab01.*ab02' "$tmp/which"
	grep -q '400$' "$tmp/which"
	[ "$(code /etc/passwd)" = 404 ]
	get /etc/passwd | grep -F '/open'
	[ "$(code /../../etc/passwd --path-as-is)" = 404 ]
	[ "$(code /metrics -X POST -d a=b)" = 405 ]
	[ "$(code /metrics -X DELETE)" = 405 ]
	[ "$(code /metrics -I)" = 200 ]
	[ "$(code /metrics -X GET -d a=b)" = 200 ]
	head -c 2000000 /dev/zero >"$tmp/body"
	[ "$(code /healthz -X GET --data-binary "@$tmp/body")" != 000 ]
	[ "$(code /metrics -H "Cookie: $(head -c 40000 /dev/zero | tr '\0' x)")" != 200 ]
	[ "$(code /metrics -H 'Host: evil.example')" = 403 ]
	[ "$(code /metrics -H 'Host: 127.evil.example')" = 403 ]
	[ "$(code /metrics -H "Host: localhost:$port")" = 200 ]
	[ "$(code /metrics -H 'Host: [::1]:80')" = 200 ]
	[ "$(code /metrics -H 'Sec-Fetch-Site: cross-site')" = 403 ]
	[ "$(code /metrics -H 'Sec-Fetch-Site: same-site')" = 403 ]
	[ "$(code /metrics -H 'Sec-Fetch-Site: same-origin')" = 200 ]
	[ "$(code /metrics -H 'Origin: http://evil.example')" = 403 ]
	[ "$(code /metrics -H "Origin: http://localhost:$port.evil.example")" = 403 ]
	[ "$(code /metrics -H 'Origin: null')" = 403 ]
	[ "$(code /metrics -H "Host: localhost:$port" -H "Origin: http://localhost:$port")" = 200 ]
	get /metrics -D - -o /dev/null | grep -qi '^x-content-type-options: nosniff'
	metric_is stoker_http_restarts_total 0
}

@test "connections that send no whole request keep nobody out" {
	need "$python"
	serve
	"$python" -c 'if True:
		import socket, sys
		address = ("127.0.0.1", int(sys.argv[1]))
		half = []
		for i in range(288):
			one = socket.create_connection(address, 10)
			one.sendall(b"GET /healthz HTTP/1.1\r\n")
			half.append(one)
		for i in range(3):
			whole = socket.create_connection(address, 5)
			whole.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
			assert whole.recv(15) == b"HTTP/1.1 200 OK"
		print("answered beside", len(half))' "$port"
	[ "$(metric stoker_http_connections_displaced_total)" -gt 100 ]
}

@test "the process that serves has no rights, and is replaced when it is lost" {
	serve
	local process
	process=$(http_process)
	grep -E '^(Uid|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' "/proc/$process/status" | tee "$tmp/status"
	grep -qP '^Uid:\t(6077[0-9])\t\1\t\1\t\1' "$tmp/status"
	[ "$(grep -cP '^Cap(Prm|Eff|Bnd|Amb):\t0{16}$' "$tmp/status")" -eq 4 ]
	grep -qP '^NoNewPrivs:\t1' "$tmp/status"
	grep -qP '^Seccomp:\t2' "$tmp/status"
	kill -KILL "$process"
	wait_until 10 another_than "$process"
	wait_until 10 answers /healthz
	metric_is stoker_http_restarts_total 1
	says 'process that serves HTTP was lost' "$said"
}

# http_user: of the process that serves, with its group.
http_user() {
	awk '/^[UG]id:/ { print $2 }' "/proc/$(http_process)/status" | paste -sd:
}

has_answer() {
	[ "$(code '/query?top=1')" = 200 ]
}

@test "the store is its owner's and its group's, whatever the umask is and whoever made it" {
	local made
	for made in no yes; do
		rm -rf "$tmp/store"
		[ "$made" = no ] || install -d -m 755 -g 12345 "$tmp/store"
		umask 077
		serve
		umask 022
		wait_until 30 has_answer
		[[ $(http_user) == 6077?:$(stat -c %g "$tmp/store") ]]
		[ -z "$(find "$tmp/store" -type f ! -name lock \( ! -perm 640 -o ! -group "$(stat -c %g "$tmp/store")" \))" ]
		kill "$supervisor"
		wait "$supervisor"
	done
	[ "$(stat -c %a "$tmp/store")" = 2755 ]
}

@test "a store that the process that serves may not read is named in the log and in the answer" {
	install -d -m 700 "$tmp/store"
	serve
	[[ $(http_user) == 6077?:6077? ]]
	says "its process may not read $tmp/store (mode 0700)" "$said"
	get '/query?top=1' | grep -q 'may not read the store (mode 0700, group 0)'
	[ "$(code '/query?top=1')" = 503 ]
	answers /readyz
	metric_is stoker_http_restarts_total 0
	chmod 750 "$tmp/store"
	kill -KILL "$(http_process)"
	wait_until 20 has_answer
	kill "$supervisor"
	wait "$supervisor"
	find "$tmp/store" -type f -exec chgrp 12345 {} +
	interval=1h serve
	get '/query?top=1' | grep -q 'profiles cannot be read: .*Permission denied'
}

@test "a limit of processes that keeps HTTP from serving is named" {
	need prlimit
	printf '%s\n' '[store]' "path = $tmp/store" '[http]' "listen = 127.0.0.1:$(free_port)" >"$tmp/stoker.ini"
	start prlimit --nproc=1 "$stoker" daemon --config "$tmp/stoker.ini"
	wait_until 20 says 'HTTP was lost: it cannot start a thread: .*LimitNPROC' "$out"
}

@test "a port that is in use, no token file and a wrong address are said with their line, and nothing starts" {
	serve
	local address
	cp "$tmp/stoker.ini" "$tmp/first.ini"
	printf '%s\n' '[store]' "path = $tmp/other" '[http]' "listen = 127.0.0.1:$port" >"$tmp/stoker.ini"
	exits 2 timeout 20 "$stoker" daemon --config "$tmp/stoker.ini"
	said_clearly "stoker.ini:4: listen: .*127.0.0.1:$port.* in use"
	[ "$(wc -l <"$tmp/said")" -eq 1 ]
	[ ! -e "$tmp/other" ]
	for address in nowhere 127.0.0.1 127.0.0.1:99999 ::1:80 unix:relative somewhere.example:80; do
		echo "listen = $address"
		printf '%s\n' '[store]' "path = $tmp/other" '[http]' "listen = $address" >"$tmp/stoker.ini"
		exits 2 timeout 20 "$stoker" daemon --config "$tmp/stoker.ini"
		said_clearly 'stoker.ini:4: listen: '
		[ ! -e "$tmp/other" ]
	done
	printf '%s\n' '[store]' "path = $tmp/other" '[http]' 'listen = 127.0.0.1:0' 'token_file = /no/such' \
		>"$tmp/stoker.ini"
	exits 2 timeout 20 "$stoker" daemon --config "$tmp/stoker.ini"
	said_clearly 'stoker.ini:5: token_file: .*/no/such'
	mkfifo "$tmp/fifo"
	sed -i "s|/no/such|$tmp/fifo|" "$tmp/stoker.ini"
	exits 2 timeout 20 "$stoker" daemon --config "$tmp/stoker.ini"
	said_clearly "stoker.ini:5: token_file: $tmp/fifo is no regular file"
	echo 0123456789abcdef-token >"$tmp/given"
	sed -i "s|$tmp/fifo|$tmp/given|" "$tmp/stoker.ini"
	chmod 666 "$tmp/given"
	exits 2 timeout 20 "$stoker" daemon --config "$tmp/stoker.ini"
	said_clearly "stoker.ini:5: token_file: $tmp/given can be written by other users (mode 0666).*chmod go-w"
	chmod 644 "$tmp/given"
	chown 65534 "$tmp/given"
	exits 2 timeout 20 "$stoker" daemon --config "$tmp/stoker.ini"
	said_clearly "stoker.ini:5: token_file: $tmp/given is another user's (uid 65534).*chown"
}

# answers_of CURL_OPTION...: the statuses of all paths, in one line.
answers_of() {
	local path answers=()
	for path in / /query /heat.json '/profile?seconds=1&hz=19&cgroup=/none' /metrics /open /healthz /readyz /none; do
		answers+=("$(code_of_asked "$path" "$@")")
	done
	echo "${answers[*]}"
}

# A capture of a cgroup that is not there is begun, and found to be 404.
@test "each path of each listener answers whoever shows what it takes, and nobody else" {
	local listen token metrics bearer='Authorization: Bearer'
	local refused='401 401 401 401'
	echo 0123456789abcdef-another >"$tmp/another"
	for listen in 127.0.0.1 0.0.0.0; do
		rm -rf "$tmp/store"
		serve
		wait_until 30 eval '[ "$(code_of_asked /readyz 2>/dev/null)" = 200 ]'
		wait_until 30 answers '/query'
		token=$(cat "$tmp/store/token") metrics=$(cat "$tmp/store/metrics-token")
		[ "$(stat -c %a "$tmp/store/token" "$tmp/store/metrics-token" | tr '\n' ' ')" = '640 640 ' ]
		local open=200
		[ "$listen" = 127.0.0.1 ] || open=401
		[ "$(answers_of)" = "$refused $open 401 200 200 404" ]
		[ "$(answers_of -H "$bearer $token")" = '200 200 200 404 200 401 200 200 404' ]
		[ "$(answers_of -H "$bearer $metrics")" = "$refused 200 401 200 200 404" ]
		[ "$(answers_of -H "$bearer ${token}x")" = "$refused $open 401 200 200 404" ]
		[ "$(answers_of -H "$bearer $(cat "$tmp/another")")" = "$refused $open 401 200 200 404" ]
		[ "$(answers_of -b "stoker-${url##*:}=$token")" = "$refused $open 401 200 200 404" ]
		get / | grep -q '<title>'
		asked /query -D - -o /dev/null | grep -qi '^www-authenticate: Bearer'
		kill "$supervisor"
		wait "$supervisor"
	done
}

@test "a token is kept, or given by a file, and an old one is refused" {
	local old
	serve
	old=$(cat "$tmp/store/token")
	kill "$supervisor" && wait "$supervisor"
	serve
	[ "$(cat "$tmp/store/token")" = "$old" ]
	kill "$supervisor" && wait "$supervisor"
	echo 0123456789abcdef-token >"$tmp/given"
	serve "token_file = $tmp/given"
	[ "$(code_of_asked / -H "Authorization: Bearer $old")" = 401 ]
	[ "$(code_of_asked / -H 'Authorization: Bearer 0123456789abcdef-token')" = 200 ]
	[ "$(code_of_asked / -H 'Authorization: Bearer 0123456789abcdef-toke')" = 401 ]
}

@test "stoker open prints an address that is good once, and the token is nowhere to be seen" {
	local address token cookie
	serve
	token=$(cat "$tmp/store/token")
	address=$("$stoker" open --config "$tmp/stoker.ini")
	[[ $address == "$url/open?ticket="* ]]
	address=${address#"$url"}
	[ "$(code_of_asked "$address" -I)" = 401 ]
	[ "$(code_of_asked "$address" -H 'Sec-Fetch-Site: cross-site')" = 403 ]
	asked "$address" -D "$tmp/head" -o "$tmp/body" -w '%{http_code}' >"$tmp/code"
	cat "$tmp/head"
	[ "$(cat "$tmp/code")" = 303 ]
	grep -qi '^location: /.$' "$tmp/head"
	cookie=$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p' "$tmp/head")
	grep -qE '^Set-Cookie: stoker-[0-9]+=[0-9a-f]{32}; Path=/; Max-Age=[0-9]+; HttpOnly; SameSite=Strict' "$tmp/head"
	[ "$(code_of_asked "$address")" = 401 ]
	[ "$(code_of_asked / -b "$cookie")" = 200 ]
	[ "$(code_of_asked /query -b "${cookie%?}")" = 401 ]
	! asked / -b "$cookie" | grep -F -e "$token" -e "${cookie#*=}" || false
	! grep -F "$token" "$tmp/head" "$tmp/body" "$said" || false
	! cat /proc/"$supervisor"/{cmdline,environ} /proc/"$daemon"/{cmdline,environ} \
		/proc/"$(http_process)"/{cmdline,environ} | grep -aF "$token" || false
	# Nor is it good for the process that replaces this one.
	local process
	process=$(http_process)
	kill -KILL "$process"
	wait_until 10 another_than "$process"
	wait_until 10 answers /healthz
	[ "$(code_of_asked "$address")" = 401 ]
	address=$("$stoker" open --config "$tmp/stoker.ini")
	[ "$(code_of_asked "${address#"$url"}")" = 303 ]
	rm "$tmp/store/token"
	exits 1 "$stoker" open --config "$tmp/stoker.ini"
	said_clearly "$tmp/store/token"
}

@test "health checks are all answered beside 160 connections of others and of the same user" {
	need "$python" setpriv
	serve
	wait_until 30 answers '/query?format=html'
	cat >"$tmp/crowd.py" <<-'PYTHON'
		import socket, sys, time
		address, token, kind = ("127.0.0.1", int(sys.argv[1])), sys.argv[2], sys.argv[3]
		held = []
		for i in range(160):
		    one = socket.socket()
		    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
		    one.connect(address)
		    if kind == "half":
		        one.sendall(b"GET /healthz HTTP/1.1\r\n")
		    else: # large answers that nobody reads
		        one.sendall(f"GET /query?format=html HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
		    held.append(one)
		print("held", flush=True)
		sys.stdin.read()
	PYTHON
	local i
	mkfifo "$tmp/end"
	exec 9<>"$tmp/end"
	"$python" "$tmp/crowd.py" "$port" "$(cat "$tmp/store/token")" busy <"$tmp/end" >"$tmp/busy" 3>&- 9>&- &
	started+=("$!")
	setpriv --reuid=65534 --regid=65534 --clear-groups "$python" "$tmp/crowd.py" "$port" none half \
		<"$tmp/end" >"$tmp/half" 3>&- 9>&- &
	started+=("$!")
	wait_until 30 says held "$tmp/busy"
	wait_until 30 says held "$tmp/half"
	for i in $(seq 14); do
		[ "$(code_of_asked /healthz -m 5)" = 200 ]
	done
	setpriv --reuid=65534 --regid=65534 --clear-groups curl -sS -m 5 "$url/readyz" 3>&- | grep -q '^ok: '
	metric_is stoker_http_restarts_total 0
	exec 9>&-
}

@test "health checks are all answered beside two users that send 100 at a time" {
	need "$python" setpriv
	serve
	cat >"$tmp/crowd.py" <<-'PYTHON'
		import socket, sys, threading
		address = ("127.0.0.1", int(sys.argv[1]))
		def ask():
		    while True:
		        try:
		            one = socket.create_connection(address, 10)
		            one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		            while one.recv(4096):
		                pass
		            one.close()
		        except OSError:
		            pass
		for i in range(100):
		    threading.Thread(target=ask, daemon=True).start()
		print("asking", flush=True)
		threading.Event().wait()
	PYTHON
	local i user refused=0
	for user in 65533 65534; do
		start setpriv --reuid="$user" --regid="$user" --clear-groups "$python" "$tmp/crowd.py" "$port"
		wait_until 30 says asking "$out"
	done
	for i in $(seq 42); do
		[ "$(code_of_asked /healthz -m 10)" = 200 ] || refused=$((refused + 1))
	done
	echo "$refused of 42 health checks had no answer"
	[ "$refused" -eq 0 ]
}

@test "a unix socket is for its owner and group, and goes with the daemon" {
	need curl
	printf '%s\n' '[store]' "path = $tmp/store" '[http]' "listen = unix:$tmp/socket" >"$tmp/stoker.ini"
	url=http://localhost
	local i status
	for i in KILL TERM; do
		start "$stoker" daemon --config "$tmp/stoker.ini"
		wait_until 30 eval '[ "$(code /healthz --unix-socket "$tmp/socket" 2>/dev/null)" = 200 ]'
		[ "$(stat -c %a "$tmp/socket")" = 660 ]
		kill -"$i" "$pid"
		wait "$pid" || true
	done
	[ ! -e "$tmp/socket" ]
}
