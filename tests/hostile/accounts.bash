# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # $python and $repo are of lib.bash
# For tests that read what a store's segments say of themselves.

# accounts STORE: those of its segments, one a line, as they are stored.
accounts() {
	"$python" - "$repo/tools" "$1" <<-'END'
		import json, pathlib, sys
		sys.path.insert(0, sys.argv[1])
		from bench_parts.daemon import segments
		for segment in segments(pathlib.Path(sys.argv[2])):
		    print(json.dumps(segment['account']))
	END
}

# make_container: sets $container to its name, and $cgroup.
