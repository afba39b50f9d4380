# SPDX-License-Identifier: Apache-2.0
"""Programs that tools/bench runs: to their end, in the background as a load, and profilers for as long as their
BPF programs are measured."""
import json, os, pathlib, re, resource, signal, subprocess, time

from bench_parts.processes import read, tree


class Skip(Exception):
    """A row that this machine cannot measure."""


class Load:
    """Programs in the background while something is measured."""

    def __init__(self, *commands, where=None):
        self.commands, self.where = commands, where

    def __enter__(self):
        self.started = [subprocess.Popen(['nice', *(str(a) for a in c)], stdout=subprocess.DEVNULL, cwd=self.where,
                                         stderr=subprocess.DEVNULL, start_new_session=True)
                        for c in self.commands]
        time.sleep(0.5)
        for command, p in zip(self.commands, self.started):
            if p.poll() in (126, 127):  # nice(1) could not execute it
                self.__exit__()
                raise Skip(f'cannot run {command[0]}')
        return self

    def __exit__(self, *_):
        for p in self.started:
            if p.returncode is None:
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()


def run(*command, **options):
    """Runs to the end; (CPU seconds of it and its children, stdout)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(a) for a in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise Skip(f'{command[0]}: {done.stderr.decode(errors="replace").strip()[-200:]}')
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


class BpfStats:
    """kernel.bpf_stats_enabled, set and put back."""
    PATH = pathlib.Path('/proc/sys/kernel/bpf_stats_enabled')

    def __enter__(self):
        self.was = self.PATH.read_text()
        self.PATH.write_text('1\n')

    def __exit__(self, *_):
        self.PATH.write_text(self.was)


class FamilyMemory:
    """The most kB that a process and its children had at once, each shared page in equal parts."""

    def __init__(self, process):
        self.pid, self.process, self.most = process.pid, process, 0

    def look(self):
        total = sum(int(n) for p in tree(self.pid)
                    for n in re.findall(r'^Pss:\s+(\d+)', read(f'/proc/{p}/smaps_rollup'), re.M))
        self.most = max(self.most, total)

    def wait(self):
        """To the end; its CPU seconds, with those of the children that it has waited for."""
        while True:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.process.returncode = status
                return usage.ru_utime + usage.ru_stime
            self.look()
            time.sleep(0.05)


# Programs as a host has them, each started again when it ends: at a tick the caches are full of another.
BUSY = [
    ['/usr/bin/python3', '-c', 'import json, re\nwhile True:\n d = json.dumps([{"a": i, "b": [i] * 9} for i in '
     'range(300)])\n json.loads(d); sorted(range(2000), key=lambda x: -x); re.sub("[0-9]+", lambda m: m[0][::-1], d)'],
    ['/usr/bin/perl', '-e', 'while (1) { my %h; $h{$_ % 977} .= chr($_ % 26 + 65) for 1..20000; '
     'my @k = sort { $h{$a} cmp $h{$b} } keys %h; $k[0] =~ s/(.)/$1$1/g }'],
    ['/bin/sh', '-c', 'while :; do gcc -O2 -Iuser -I. -D_GNU_SOURCE -c -o /dev/null user/base/hash.c; done'],
    ['/bin/sh', '-c', 'while :; do cat user/*/*.c | xz -6 -c >/dev/null; done'],
    ['/bin/sh', '-c', 'while :; do openssl speed -seconds 1 -evp sha256 2>/dev/null; done'],
    ['/bin/sh', '-c', 'while :; do cat user/*/*.[ch] | sort | uniq -c | awk "{ n += length } END { print n }"; done'],
]


def perf_event_programs():
    """id → (ns, runs) of the BPF programs that run at ticks."""
    _, text = run('bpftool', '-j', 'prog', 'show')
    return {p['id']: (p.get('run_time_ns', 0), p.get('run_cnt', 0))
            for p in json.loads(text) if p['type'] == 'perf_event'}


def busy_ns(*command):
    """ns in BPF a tick of a profiler's programs, when it has run for some seconds."""
    others = perf_event_programs()
    ours = subprocess.Popen([str(a) for a in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(6)
        before = perf_event_programs()
        time.sleep(12)
        after = perf_event_programs()
    finally:
        ours.send_signal(signal.SIGINT)
        ours.wait()
    mine = [i for i in after if i in before and i not in others]
    ns, runs = (sum(after[i][part] - before[i][part] for i in mine) for part in (0, 1))
    if runs < 100:
        raise Skip(f'{command[0]} had {runs} ticks')
    return ns / runs
