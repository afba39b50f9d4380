# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# languages.bash - an arm64 machine with Debian's python3 and OpenJDK 17, in which programs run whose
# stacks are known. For tools/check-vm, like judge.bash. The programs, and what judges their stacks,
# are those of tests/real.

LANGUAGE_PACKAGES=(libc6 libgcc-s1 libstdc++6 zlib1g libexpat1 python3.11-minimal libpython3.11-minimal
	libpython3.11-stdlib openjdk-17-jre-headless)
LANGUAGE_SAMPLES_MIN=200 # of about 1,600 ticks of two emulated CPUs
RIGHT_MIN=99             # per cent of the samples whose stack is one that the program has
WHOLE_MIN=95             # per cent that are neither cut nor guessed

# The runtimes and the programs, to be unpacked over the other machines' files.
image_languages() {
	local root=$work/languages folder jvm=usr/lib/jvm/java-17-openjdk-arm64 made busybox
	folder=$(tests/vm/fetch runtimes arm64 "${LANGUAGE_PACKAGES[@]}") &&
		busybox=$(tests/vm/fetch busybox amd64) && made=$(tests/runtimes/setup java-jobs) || return
	mkdir -p "$root/$jvm" "$root/usr/bin" "$root/programs"
	cp -a "$folder/lib" "$folder/etc" "$root"
	cp -a "$folder"/usr/lib/{python3.11,aarch64-linux-gnu} "$root/usr/lib"
	cp -a "$folder/usr/bin/python3.11" "$root/usr/bin"
	cp -a "$folder/$jvm"/{bin,conf,lib} "$root/$jvm"
	cp "$(sed -n 3p <<<"$made")"/*.class tests/real/{frames,witness}.py tests/vm/languages_init "$root/programs"
	(cd "$root" && find . | LC_ALL=C sort | "$busybox" cpio -o -H newc 2>/dev/null) >"$work/languages.cpio" || return
	rm -rf "$root"
}

# boot_languages IMAGE: what the machine sent is in $got.
boot_languages() {
	local initrd=$work/both.cpio
	cat "$work/arm64.cpio" "$work/languages.cpio" >"$initrd"
	BOOT_SECONDS=$((2 * BOOT_SECONDS)) initrd=$initrd qemu "$1" languages -m 2048 >"$work/console"
	unpack_console "$work/console"
	grep -q '^@@done' "$work/console" || tail -5 "$work/console"
}

# figures NAME FILTER...: of what judged this profile; all must hold.
figures() {
	local name=$1 filter
	shift
	cat "$got/$name.judged"
	for filter in ".samples >= $LANGUAGE_SAMPLES_MIN" ".right_percent >= $RIGHT_MIN" "$@"; do
		jq -se "length == 1 and (.[0] | $filter)" "$got/$name.judged" >/dev/null || return
	done
}

stacks_are_whole() {
	[ -s "$got/$1.stats" ] && jq -c .user_stacks "$got/$1.stats" &&
		jq -e ".user_stacks | .total > 0 and .complete * 100 >= .total * $WHOLE_MIN" "$got/$1.stats" >/dev/null
}

judge_python() {
	local jobs
	jobs=$(python3 tests/real/frames.py --jobs | cut -d ' ' -f 1 | uniq | wc -l)
	tests/real/python_stacks tests/real/frames.py "$got/python.profile" >"$got/python.judged"
	check 'CPython: record ends well' was python.record 0
	check 'each stack is what the program does, of all its jobs' figures python ".jobs_seen == $jobs"
	check 'stacks are complete' stacks_are_whole python
	check 'doctor says that it is walked' grep 'CPython 3.11: its functions are walked and named' "$got/python.doctor"
	tests/real/witnessed "$got/witness.said" "$got/witness.profile" >"$got/witness.judged"
	check 'each stack is what the program says, with file and line' figures witness '.stacks_seen >= 40'
}

# judge_java NAME WAY
judge_java() {
	local jobs
	jobs=$(cut -d ' ' -f 1 "$got/jobs" | sort -u | wc -l)
	tests/real/java_stacks "$got/jobs" "$got/$1.profile" >"$got/$1.judged"
	check "HotSpot, $2: record ends well" was "$1.record" 0
	check "HotSpot, $2: each stack is what the program does, of all its jobs" \
		figures "$1" ".jobs_seen == $jobs" '.deepest_percent >= 95'
	check "HotSpot, $2: stacks are complete" stacks_are_whole "$1"
	check "HotSpot, $2: doctor says that it is walked" \
		grep 'HotSpot 17: its functions are walked and named' "$got/$1.doctor"
}

judge_languages() {
	judge_python
	judge_java java 'both compilers'
	judge_java interpreted 'its interpreter'
	judge_java first 'its first compiler'
	check 'the kernel did not complain' kernel_did_not_complain
}
