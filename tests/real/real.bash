# SPDX-License-Identifier: Apache-2.0
# real.bash - what the tests against real programs share: making and starting each program, with a
# load where it is a server, and holding its profile to be whole. `load real` gives setup and
# teardown too. Servers listen on loopback and end with their test, by pid.
#
#   REAL_HZ, REAL_SECONDS   how each is sampled: for 2 seconds of its CPU time at 1,499 Hz
#   REAL_LOG                a file that gets a line of figures for each program

load ../e2e/lib

real=$BATS_TEST_DIRNAME
hz=${REAL_HZ:-1499}
seconds=${REAL_SECONDS:-2}
kept=${STOKER_TEST_CACHE:-/var/cache/stoker-tests}/real # what takes long to build

# A server is told to go before it is made to, the last one started first. Containers are not: unshare
# takes no SIGTERM while it waits for its child.
teardown() {
	local i comm
	for ((i = ${#started[@]} - 1; i >= 0; i--)); do
		{ read -r comm <"/proc/${started[i]}/comm"; } 2>/dev/null || continue
		[ "$comm" != unshare ] || continue
		kill -TERM "${started[i]}" 2>/dev/null && wait_until 5 is_gone "${started[i]}" 2>/dev/null
	done
	for i in "${started[@]}"; do
		kill -KILL "$i" 2>/dev/null && wait "$i" 2>/dev/null
	done
	rm -rf "$tmp"
	return 0
}

# ---- making programs -------------------------------------------------------------------------

# build NAME COMPILER OPTION... : $program is $tmp/NAME from the source with the compiler's ending.
build() {
	local name=$1 compiler=$2 source=$real/mix.c
	shift 2
	need "$compiler"
	[[ $compiler != *++ ]] || source=$real/throw.cc
	program=$tmp/$name
	"$compiler" "$@" "$source" -o "$program" -lm -lpthread || skip "$compiler $* does not link here"
}

# build_kept VERSION NAME SOURCE COMMAND...: $program, built anew only when the source is newer or
# the compiler another. The file to write is the command's last argument. One at a time: other tests
# may want the same.
build_kept() {
	local dir=$kept/${1//[^a-zA-Z0-9.]/-} source=$3 made
	program=$dir/$2
	shift 3
	mkdir -p "$dir"
	exec 8>"$program.lock"
	flock 8
	if [ ! "$program" -nt "$source" ]; then
		made=$program.$$
		"$@" "$made" || skip "$1 does not build here"
		mv "$made" "$program"
	fi
	exec 8>&-
}

# build_go NAME SOURCE OPTION...: of `go build`.
build_go() {
	local name=$1 source=$real/$2
	shift 2
	need "$go"
	build_kept "$("$go" env GOVERSION)" "$name" "$source" go_build "$source" "$@"
}

# go_build SOURCE OPTION... FILE
go_build() {
	env GOCACHE="$kept/gocache" GO111MODULE=off GOTOOLCHAIN=local CGO_ENABLED=1 \
		"$go" build -o "${*: -1}" "${@:2:$#-2}" "$1"
}

build_rust() {
	need "$rustc"
	build_kept "$("$rustc" --version)" rust-busy "$real/busy.rs" "$rustc" -O "$real/busy.rs" -o
}

# big_c FILE FUNCTIONS: a C file that takes a compiler some seconds.
big_c() {
	awk -v n="$2" 'BEGIN {
		print "extern int sink(const char *, ...); struct s { int a[8]; double d; struct s *next; };"
		for (i = 0; i < n; i++) {
			printf "int f%d(struct s *p, int k) { int t = k; double e = p->d;\n", i
			printf "for (int i = 0; i < k; i++) { for (int j = 0; j < 8; j++) { t += p->a[j] * %d; e *= t + j; }\n", i + 3
			printf "switch (t & 15) { case 1: t ^= %d; break; case 3: t += sink(\"x%d\", t, e); break;\n", i, i
			printf "case 7: p = p->next; e += p->d / (t | 1); break; case 9: t = t * t + %d; break; default: t -= j%d(k); } }\n", i, i
			printf "p->d = e; return t %% %d; }\n", i + 7
		}
	}' | sed 's/- *j\([0-9]*\)(k)/- (k * \1)/; s/-= j\([0-9]*\)(k)/-= k * \1/' >"$1"
}

# ---- starting them ----------------------------------------------------------------------------

# start_server PORT COMMAND...: $pid when it answers.
start_server() {
	local port=$1
	shift
	start "$@"
	wait_until 20 listens "$port" || {
		cat "$out"
		return 1
	}
}

# start_redis [COMMANDS]: under redis-benchmark, which does one kind after another.
start_redis() {
	local port server
	need redis-server redis-benchmark
	port=$(free_port)
	start_server "$port" redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no
	server=$pid
	start timeout 200 redis-benchmark -p "$port" -l -c 20 -n 1000000 -r 10000 \
		-t "${1:-set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100}"
	pid=$server
	wait_until 10 has_run "$pid"
}

as_postgres() {
	setpriv --reuid postgres --regid postgres --clear-groups env HOME="$tmp/pg" LC_ALL=C "$@"
}

postgres_bin() {
	find /usr/lib/postgresql/*/bin -name initdb -printf '%h\n' 2>/dev/null | tail -n 1
}

# $pid: the back ends, with commas between.
start_postgres() {
	local bin port postmaster
	bin=$(postgres_bin)
	[ -n "$bin" ] || skip 'no PostgreSQL server on this machine'
	getent passwd postgres >/dev/null || skip 'no user postgres'
	port=$(free_port)
	mkdir "$tmp/pg"
	chown postgres "$tmp/pg"
	cd "$tmp/pg" || return 1
	as_postgres "$bin/initdb" -D "$tmp/pg/data" -A trust --no-sync >"$tmp/initdb" 2>&1 ||
		{ cat "$tmp/initdb"; return 1; }
	start_server "$port" setpriv --reuid postgres --regid postgres --clear-groups "$bin/postgres" \
		-D "$tmp/pg/data" -p "$port" -c listen_addresses=127.0.0.1 -c fsync=off \
		-c unix_socket_directories=
	postmaster=$pid
	as_postgres "$bin/pgbench" -h 127.0.0.1 -p "$port" -i -s 2 -q postgres >"$tmp/pgbench" 2>&1
	start setpriv --reuid postgres --regid postgres --clear-groups \
		"$bin/pgbench" -h 127.0.0.1 -p "$port" -c 4 -T 200 -n postgres
	wait_until 10 has_backends "$postmaster"
}

has_backends() {
	pid=$(pgrep -P "$1" -f pgbench\|127.0.0.1 | paste -sd ,)
	[[ $pid == *,*,*,* ]]
}

start_nginx() {
	local port dir=$tmp/nginx server
	need nginx wrk
	port=$(free_port)
	mkdir -p "$dir/html"
	head -c 3000 /dev/zero | tr '\0' 'x' >"$dir/html/index.html"
	cat >"$dir/nginx.conf" <<-CONF
		daemon off; master_process off; pid $dir/pid; error_log $dir/error.log;
		events { worker_connections 512; }
		http {
		    access_log $dir/access.log; gzip on; gzip_min_length 100; gzip_types text/html;
		    client_body_temp_path $dir; proxy_temp_path $dir; fastcgi_temp_path $dir;
		    uwsgi_temp_path $dir; scgi_temp_path $dir;
		    server { listen 127.0.0.1:$port; root $dir/html; }
		}
	CONF
	start_server "$port" nginx -p "$dir" -c "$dir/nginx.conf"
	server=$pid
	start wrk -t1 -c10 -d200s -H 'Accept-Encoding: gzip' "http://127.0.0.1:$port/"
	pid=$server
	wait_until 10 has_run "$pid"
}

start_cc1() {
	local cc1
	need gcc
	cc1=$(gcc -print-prog-name=cc1)
	[ -x "$cc1" ] || skip 'no cc1 on this machine'
	big_c "$tmp/big.c" 12000
	start "$cc1" -quiet -O2 "$tmp/big.c" -o /dev/null
	wait_until 10 has_run "$pid"
}

# start_program COMMAND...: returns when it uses CPU time.
start_program() {
	start "$@"
	wait_until 20 has_run "$pid"
}

# start_jit NAME [market] [plain]: of tests/runtimes, warm.
start_jit() {
	local command reason
	command=$("$repo/tests/runtimes/setup" "$@" 2>"$tmp/setup") || {
		reason=$(tail -n 1 "$tmp/setup")
		skip "$1: ${reason:-setup failed}"
	}
	mapfile -t command <<<"$command"
	cd "$tmp" || return 1
	start "${command[@]}" 200
	wait_until 20 says ready "$out"
}

# ---- holding their profiles to be whole ----------------------------------------------------------

# figures NAME: samples, whole, why not, and costs, of $tmp/s and $tmp/roots, on one line.
figures() {
	jq -r --arg name "$1" --slurpfile roots "$tmp/roots" '$roots[0] as $r |
		"\($name): \($r.stacks) stacks, \($r.whole) % whole, \($r.guessed) % guessed, cut \($r.truncated | with_entries(select(.value > 0)) | tojson)," +
		" rootless \($r.rootless), \(.bpf.ns_total / ([.bpf.runs, 1] | max) | floor) ns a run," +
		" \(100 * .frames.named / ([.frames.total, 1] | max) | floor) % named, agent \(.agent.rss_max_kb) kB"' \
		"$tmp/s" | tee -a "${REAL_LOG:-/dev/null}"
}

# whole NAME [MIN [FILE...]]: of $pid, sampled now.
whole() {
	local name=$1 first=${pid%%,*} least=${2:-99.5}
	shift $(($# > 1 ? 2 : 1))
	cat "/proc/$first/maps" >"$tmp/maps"
	record_cpu "$seconds" "$pid" -F "$hz" -o "$tmp/f" --stats "$tmp/s"
	cat "/proc/$first/maps" >"$tmp/maps" 2>/dev/null || true
	held_whole "$name" "$least" "$tmp/maps" "$@"
}

# described: $tmp/d has the stacks of a JVM from when BPF knows how it is walked. On a busy machine that
# takes a while, and before that its code has no names.
described() {
	grep -v '\[JIT ' "$tmp/f" >"$tmp/d"
	between "$(folded_share "$tmp/f" '\[JIT ')" 0 3 'stacks before that, %'
}

# held_whole NAME MIN FILE...: of $tmp/f and $tmp/s, recorded while programs had $had. FILEs as for
# tests/real/roots. None may begin elsewhere. With $guesses=true a stack may be whole by a guess.
held_whole() {
	local name=$1 least=$2
	shift 2
	need_tables "$tmp/s"
	[ -z "${REAL_KEEP:-}" ] || cp "$tmp/f" "$REAL_KEEP/$name.folded"
	[ -z "${REAL_KEEP:-}" ] || cp "$tmp/s" "$REAL_KEEP/$name.json"
	"$real/roots" "$tmp/f" "$tmp/s" "$@" >"$tmp/roots"
	figures "$name"
	grep '\[truncated\]' "$tmp/f" >"$tmp/cut" || true
	hottest "$tmp/cut"
	jq -c . "$tmp/roots"
	fits_cpu "$(jq .stacks "$tmp/roots")" "$hz" 'samples to judge it by' 10
	between "$(jq ".whole + if ${guesses:-false} then .guessed else 0 end" "$tmp/roots")" "$least" \
		100.001 'whole'
	between "$(jq '100 * .rootless / .stacks' "$tmp/roots")" 0 0.2 'whole stacks that begin elsewhere'
	[ "$(jq .agree "$tmp/roots")" = true ]
}
