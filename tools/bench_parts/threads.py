# SPDX-License-Identifier: Apache-2.0
"""threads - what a visit to all threads costs. For tools/bench."""
import os
import pathlib
import re
import subprocess

from bench_parts.programs import Skip, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get('BUILD', ROOT / '.build')).resolve()


def thread_pass(n):
    """ns for each thread of a visit to all of the host, n of them asleep. Visits follow at the rate that takes 0.1 %."""
    with subprocess.Popen([BUILD / 'tests' / 'targets' / 'sleepers', '120', str(n)], stdout=subprocess.PIPE, text=True) as sleepers:
        try:
            if sleepers.stdout.readline() != 'ready\n':
                raise Skip(f'no {n} threads can be made')
            passes = []
            for _ in range(5):
                _, text = run(BUILD / 'tests' / 'tools' / 'thread_times', 0, 0)
                found = re.search(r'^sum (\d+) .*\npass (\d+)', text.decode(), re.M)
                passes.append((int(found[2]), int(found[1])))
        finally:
            sleepers.kill()
    ns, threads = min(passes)
    print(f'  {ns} ns a pass, {threads} threads, {ns / threads:.0f} ns each', flush=True)
    return ns / threads, 1000, 2


def threads_200(tmp):
    """ns for each thread of a visit to all, with 200 asleep, against 1000: its counters, and what is made of them"""
    return thread_pass(200)


def threads_10000(tmp):
    """the same with 10,000 asleep"""
    return thread_pass(10000)
