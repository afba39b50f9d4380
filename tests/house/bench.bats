#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The benchmark is built with the rest, so that it can be run on the day that it is wanted.
# seconds: 12

load ../e2e/lib

@test "all that the rows of tools/bench measure can be built" {
	need bpftool clang "$javac"
	cd "$repo"
	"$repo/tools/bench" --build
}

@test "each row has a name of its own, says what it measures, and has a limit" {
	"$python" - "$repo/tools" <<-'END'
		import importlib.machinery, importlib.util, sys
		sys.dont_write_bytecode = True
		loader = importlib.machinery.SourceFileLoader('bench', sys.argv[1] + '/bench')
		bench = importlib.util.module_from_spec(importlib.util.spec_from_loader('bench', loader))
		loader.exec_module(bench)
		names = [row.__name__ for row in bench.ROWS]
		assert len(names) == len(set(names)) > 30
		assert all((row.__doc__ or '').strip() for row in bench.ROWS)
	END
}
