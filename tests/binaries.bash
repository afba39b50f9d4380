# SPDX-License-Identifier: Apache-2.0
# binaries.bash - which programs the tests mean: those of the distribution, whatever else PATH has
# first, and how long they wait on a machine that is busy. For tools/check, test files and the scripts
# that they run; sourced, not run.

# /usr/local/sbin has the bpftool that tools/deps puts there on Ubuntu.
export PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin
# What would lead those programs to another toolchain's files.
unset GOROOT GOPATH GOFLAGS JAVA_HOME JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS NODE_OPTIONS NODE_PATH \
	PYTHONHOME PYTHONPATH PERL5LIB PERL5OPT RUSTFLAGS

# first_of FILE...: the first that is there, else the first.
first_of() {
	local one
	for one; do
		[ ! -e "$one" ] || break
		one=
	done
	echo "${one:-$1}"
}

# Those that one machine has in several versions; all others are what PATH says.
go=$(first_of /usr/lib/go-1.19/bin/go /usr/lib/go-1.18/bin/go /usr/lib/go-1.21/bin/go /usr/lib/go/bin/go)
jdk=$(first_of /usr/lib/jvm/java-{17,21}-openjdk-"$(dpkg --print-architecture 2>/dev/null)")/bin
java=$jdk/java javac=$jdk/javac jcmd=$jdk/jcmd
gccgo=$(first_of /usr/bin/gccgo-12 /usr/bin/gccgo-14 /usr/bin/gccgo)
rustc=/usr/bin/rustc
node=/usr/bin/node npm=/usr/bin/npm
python=/usr/bin/python3

# How many processes want each CPU now, in per cent.
wanted_percent() {
	local load running
	read -r load _ _ running _ </proc/loadavg
	load=$((10#${load/./})) running=$((100 * ${running%/*}))
	echo $(((load > running ? load : running) / $(nproc)))
}

# patience SECONDS: how long that may take here and now what takes so long on an idle machine.
patience() {
	echo $(($1 * (100 + $(wanted_percent)) / 100))
}

# wait_until SECONDS COMMAND...: until the command succeeds; SECONDS are those of an idle machine.
# While it waits bats does not follow each command.
wait_until() {
	local - tries
	set +T
	tries=$(($(patience "$1") * 10))
	shift
	until "$@"; do
		if [ $((tries--)) -le 0 ]; then
			echo "waited in vain for: $*"
			return 1
		fi
		sleep 0.1
	done
}
