#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Tables of language runtimes that are files: a Python of a version without a built-in table has native frames, and
# with a file it has its own; a wrong file, or one that others may have written, changes nothing.
# seconds: 120

load real

# A Python 3.11 that says it is 3.99, in $unknown, and a table of its structs in $tables.
make_unknown() {
	need "$python"
	unknown=$tmp/python3.99
	"$real/as_version" "$(readlink -f "$(command -v "$python")")" "$unknown" 99
	tables=$tmp/tables
	mkdir -m 755 "$tables"
}

# table_of_311 [VERSION]: the table of 3.11, as one of this version.
table_of_311() {
	sed "s/^version .*/version ${1:-3.99}/" "$BATS_TEST_DIRNAME/../golden/python-3.11.table"
}

# run_unknown: frames.py, whose stacks are known.
run_unknown() {
	start "$unknown" "$real/frames.py" "${1:-100}"
	wait_until 10 says ready "$out"
}

# sees: the profile of what runs, in $tmp/f, its counters in $tmp/s, what is printed in $tmp/said.
sees() {
	record_cpu "${1:-$seconds}" "$pid" -F "$hz" --tables "$tables" -o "$tmp/f" --stats "$tmp/s" 2>"$tmp/said"
	jq -c '.languages, .user_stacks' "$tmp/s"
}

is_native() {
	grep -q '_PyEval_EvalFrameDefault' "$tmp/f"
	! grep -q 'frames:' "$tmp/f"
	between "$(jq '100 * .user_stacks.complete / .user_stacks.total' "$tmp/s")" 99 100 'complete, %'
}

# doctor's lines on tables, and on this process's.
doctor() {
	"$stoker" doctor --tables "$tables" ${pid:+"$pid"} | grep -E 'language tables|CPython 3' >"$tmp/doctor"
	cat "$tmp/doctor"
}

@test "a version without a table has native frames, is counted, and the remedy is said" {
	make_unknown
	run_unknown
	sees
	is_native
	[ "$(jq -c '[.languages | .unknown, .checked, .wrong]' "$tmp/s")" = '[1,0,0]' ]
	grep 'is CPython 3.99, for which there is no table: .*/etc/stoker/tables.d (stoker-tables(5))' "$tmp/said"
	doctor
	grep 'CPython 3.99: this build is not known, so frames of its interpreter are shown; .*stoker-tables(5)' "$tmp/doctor"
}

@test "with a table in the folder each stack is what the program does" {
	make_unknown
	table_of_311 >"$tables/3.99.table"
	run_unknown
	doctor
	grep '^ok .* 3.99.table is used for CPython 3.99$' "$tmp/doctor"
	grep "CPython 3.99: its functions are walked and named by the table $tables/3.99.table, as its memory looks so" "$tmp/doctor"
	sees
	[ "$(jq -c '[.languages | .files_used, .files_refused, .tried, .checked, .unknown, .wrong]' "$tmp/s")" = '[1,0,1,1,0,0]' ]
	"$real/python_stacks" "$real/frames.py" "$tmp/f" | tee "$tmp/judged"
	fits_cpu "$(jq .samples "$tmp/judged")" "$hz" samples
	between "$(jq .right_percent "$tmp/judged")" 99.5 100 'stacks that the program can have, %'
	[ "$(jq .jobs_seen "$tmp/judged")" -eq "$("$python" "$real/frames.py" --jobs | cut -d ' ' -f 1 | uniq | wc -l)" ]
}

@test "and what it says of itself by sys._current_frames, with file and line" {
	make_unknown
	table_of_311 >"$tables/3.99.table"
	start "$unknown" "$real/witness.py" 100
	wait_until 10 says ready "$out"
	record_cpu "$seconds" "$pid" -F "$hz" -f speedscope --inline --tables "$tables" -o "$tmp/f" --stats "$tmp/s"
	"$real/witnessed" "$out" "$tmp/f" | tee "$tmp/judged"
	between "$(jq '100 * .judged / .samples' "$tmp/judged")" 25 100 'judged, %'
	between "$(jq .right_percent "$tmp/judged")" 99.5 100 'stacks that the program says, %'
}

@test "a program that starts while others are sampled is checked when it runs functions" {
	make_unknown
	table_of_311 >"$tables/3.99.table"
	"$stoker" record -F "$hz" --tables "$tables" -o "$tmp/f" --stats "$tmp/s" -- "$unknown" "$real/frames.py" 4 >"$tmp/out"
	jq -c .languages "$tmp/s"
	[ "$(jq .languages.checked "$tmp/s")" -eq 1 ]
	between "$(folded_share "$tmp/f" 'frames:')" 50 100 'with frames of its own, %'
}

# wrong LINE: a table with this line in place of the one of the same key harms nothing.
wrong() {
	rm -f "$tables"/*
	table_of_311 | sed "s/^${1% *} .*/$1/" >"$tables/wrong.table"
	grep -qx "$1" "$tables/wrong.table"
	sees "${2:-1}"
	is_native
	[ "$(jq .languages.checked "$tmp/s")" -eq 0 ]
	adds_up "$tmp/s"
	between "$(lost "$tmp/s")" 0 0 'lost ticks'
}

@test "a table that lies is switched off, and the frames stay native" {
	make_unknown
	run_unknown 600
	local line
	for line in 'runtime.interpreters 24' 'interpreter.threads 24' 'thread.id 8' 'thread.link 40' \
		'link.frame 0' 'frame.code 24' 'frame.previous 24' 'frame.place 0' 'code.file 24' 'code.name 24' \
		'code.first 8192' 'text.ascii 8' 'text.shift 7'; do
		echo "$line"
		wrong "$line"
	done
	# After a while nobody thinks any more that the process is to blame.
	wrong 'frame.code 24' 20
	[ "$(jq .languages.wrong "$tmp/s")" -eq 1 ]
	grep 'runtimes do not look in memory as the table in a file says' "$tmp/said"
	doctor
	grep 'but its memory does not look so: frames of its interpreter are shown' "$tmp/doctor"
}

# refused PATTERN: no file is used, which is said; the frames stay native.
refused() {
	doctor
	grep -E "^less .*$1" "$tmp/doctor"
	sees 0.5
	is_native
	[ "$(jq .languages.files_used "$tmp/s")" -eq 0 ]
}

@test "a folder or file that others can write is refused by name" {
	make_unknown
	run_unknown 600
	table_of_311 >"$tables/a.table"
	chmod 777 "$tables"
	refused "$tables \(of user 0, mode 0777\) can be written by other users"
	grep -F "$tables (of user 0, mode 0777) can be written by other users" "$tmp/said"
	chmod 1777 "$tables" # others could add files
	refused "$tables \(of user 0, mode 1777\) can be written by other users"
	chmod 755 "$tables"
	mkdir "$tmp/others"
	chown nobody "$tmp/others"
	mv "$tables" "$tmp/others/tables"
	tables=$tmp/others/tables
	refused "$tmp/others belongs to user"
	chown root "$tmp/others"
	chmod 664 "$tables/a.table"
	refused 'a.table is not used: others than root can write to it'
	grep "1 files in $tables are not used as tables of language runtimes; .stoker doctor. says why" "$tmp/said"
	chmod 644 "$tables/a.table"
	chown nobody "$tables/a.table"
	refused "a.table is not used: it is not root's"
	chown root "$tables/a.table"
	mv "$tables/a.table" "$tmp/others/a"
	ln -s ../a "$tables/a.table"
	refused 'a.table is not used: it is a symbolic link'
	rm "$tables/a.table"
	mkfifo "$tables/a.table"
	refused 'a.table is not used: it is no regular file'
}

@test "each file that is no table, or is for a version that has one, is listed with the reason" {
	make_unknown
	pid=
	table_of_311 3.11 >"$tables/a.table"
	table_of_311 >"$tables/b.table"
	table_of_311 >"$tables/c.table"
	table_of_311 3.98 | sed 's/^thread.id .*/thread.id x/' >"$tables/d.table"
	table_of_311 3.98 | grep -v '^thread.id' >"$tables/e.table"
	head -c 20000 /dev/zero | tr '\0' '\n' >"$tables/f.table"
	head -c 1000 /dev/urandom >"$tables/g.table"
	: >"$tables/h.table"
	echo hello >"$tables/README"
	: >"$tables/.hidden.table"
	doctor
	grep '^less .* a.table is not used: CPython 3.11 has a built-in table, which no file replaces$' "$tmp/doctor"
	grep '^ok .* b.table is used for CPython 3.99$' "$tmp/doctor"
	grep '^less .* c.table is not used: b.table is for the same builds$' "$tmp/doctor"
	grep '^less .* d.table is not used: line 9: the line.s value is out of range' "$tmp/doctor"
	grep '^less .* e.table is not used: a key is missing that every table has$' "$tmp/doctor"
	grep '^less .* f.table is not used: it is longer than 16 KiB' "$tmp/doctor"
	grep '^less .* g.table is not used: ' "$tmp/doctor"
	grep '^less .* h.table is not used: its first line is not "stoker-table 1"$' "$tmp/doctor"
	grep '^less .* README is not used: its name does not end in .table$' "$tmp/doctor"
	grep '^ok .*built in for CPython 3.8 to 3.14; HotSpot describes itself; 1 file(s) of .* are used$' "$tmp/doctor"
	! grep hidden "$tmp/doctor"
	run_unknown
	sees 0.5
	[ "$(jq -c '[.languages | .files_used, .files_refused, .checked]' "$tmp/s")" = '[1,8,1]' ]
}

@test "files beyond the limit are counted and left out" {
	make_unknown
	pid=
	for ((i = 100; i < 170; i++)); do
		table_of_311 "3.$i" >"$tables/$i.table"
	done
	doctor
	grep '64 file(s) of .* are used' "$tmp/doctor"
	grep '^less .* 6 further file(s) are not used: 64 are read at most$' "$tmp/doctor"
}

@test "a table for a build ID is for this build alone" {
	make_unknown
	local id
	id=$(readelf -n "$unknown" | sed -n 's/.*Build ID: //p')
	table_of_311 | sed "3a build-id ${id/[0-9]/f}" >"$tables/a.table"
	run_unknown
	sees 0.5
	is_native
	[ "$(jq .languages.unknown "$tmp/s")" -eq 1 ]
	table_of_311 | sed "3a build-id $id" >"$tables/a.table"
	doctor
	grep "a.table is used for CPython 3.99, build ID $id alone" "$tmp/doctor"
	sees 0.5
	between "$(folded_share "$tmp/f" 'frames:')" 90 100 'with frames of its own, %'
}

@test "the daemon takes its folder from the configuration" {
	make_unknown
	table_of_311 >"$tables/a.table"
	"$stoker" daemon --help | grep -A 1 '^tables = /etc/stoker/tables.d' || "$stoker" daemon --help | grep -B 2 '^tables = /etc/stoker/tables.d'
	printf '[sample]\ntables = %s\n' "$tables" >"$tmp/ini"
	"$stoker" doctor --config "$tmp/ini" | grep 'a.table is used for CPython 3.99'
}

# each_python FUNCTION: calls it with the library or program of each CPython from 3.8 on that is here, and its headers.
each_python() {
	local file found=0
	for file in /usr/bin/python3.*[0-9] "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/lib/libpython3.*.so.1.0; do
		[ -f "$file" ] && [[ $file =~ python3\.([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge 8 ] || continue
		found=$((found + 1))
		"$1" "$file" 3."${BASH_REMATCH[1]}"
	done
	[ "$found" -gt 0 ] || skip 'no CPython of 3.8 or later here'
}

has_table() {
	local program=$1 lib
	lib=$(dirname "$1")
	[ "${lib##*/}" != lib ] || program=$lib/../bin/python$2
	echo "$program"
	start "$program" -c 'while True: pass'
	wait_until 10 has_run "$pid"
	"$stoker" doctor "$pid" | grep -E "CPython $2: its functions are walked and named by the (built-in table|offsets that it describes itself)"
	kill "$pid"
}

@test "each Python of this machine is of a version that has a table" {
	each_python has_table
}

# What the tool prints, from debugging information and from headers, is what is built in.
is_printed() {
	local include file=$1
	include=$(dirname "$(dirname "$file")")/include/python$2
	for source in "$file" "--headers $include"; do
		[[ $source != --headers* ]] || [ -d "$include/internal" ] || continue
		# shellcheck disable=SC2086
		"$repo/tools/python-table" $source >"$tmp/table" 2>"$tmp/why" || {
			grep 'finds no debugging information' "$tmp/why"
			continue
		}
		echo "$source"
		"${targets%/targets}/tools/table_check" "$file" <"$tmp/table"
		printed=$((printed + 1))
	done
}

@test "the tool prints the tables that are built in" {
	local printed=0 source
	each_python is_printed
	[ "$printed" -gt 0 ] || skip 'no CPython here has debugging information or headers'
}

@test "what the tool prints of a process names the functions of a version without a table" {
	local python37=${PYENV_ROOT:-$HOME/.pyenv}/versions/3.7.16/bin/python3.7
	[ -x "$python37" ] || skip 'no Python 3.7 with debugging information here'
	tables=$tmp/tables
	mkdir -m 755 "$tables"
	start "$python37" "$real/frames.py" 100
	wait_until 10 says ready "$out"
	sees
	is_native
	[ "$(jq .languages.unknown "$tmp/s")" -eq 1 ]
	"$repo/tools/python-table" --exact --pid "$pid" >"$tables/a.table"
	grep '^build-id ' "$tables/a.table"
	sees
	[ "$(jq .languages.checked "$tmp/s")" -eq 1 ]
	"$real/python_stacks" --unqualified "$real/frames.py" "$tmp/f" | tee "$tmp/judged"
	between "$(jq .right_percent "$tmp/judged")" 99.5 100 'stacks that the program can have, %'
}

@test "the tool takes the file of a process that defines the runtime, not an extension that imports it" {
	local extensions=$tmp/lib/python3.11/lib-dynload
	mkdir -p "$extensions"
	gcc -shared -fPIC -x c -o "$tmp/lib/libpython3.11.so.1.0" - <<<'int _PyRuntime;'
	gcc -shared -fPIC -x c -o "$extensions/_json.so" - <<<'extern int _PyRuntime; int *json(void) { return &_PyRuntime; }'
	gcc -x c -o "$tmp/embeds" - <<-'END'
		#include <dlfcn.h>
		#include <stdio.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			for (int i = 1; i < argc; i++)
				if (!dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL))
					return 1;
			puts("ready");
			fflush(stdout);
			pause();
		}
	END
	# The file that is mapped last comes first in the list of mappings.
	start "$tmp/embeds" "$tmp/lib/libpython3.11.so.1.0" "$extensions/_json.so"
	wait_until 10 says ready "$out"
	run "$repo/tools/python-table" --pid "$pid"
	[[ $output == *libpython3.11.so.1.0:* ]]
	run "$repo/tools/python-table" --pid 2147483646
	[ "$status" -eq 1 ]
	[ "$output" = 'python-table: no such process: 2147483646' ]
}
