# SPDX-License-Identifier: Apache-2.0
"""The daemon at 19 Hz with its defaults, as it is always on: what its processes and its ticks cost, in per cent of
one core, and how often its processes wake up, over an interval after the first one."""
import re, signal, subprocess, time

from bench_parts.processes import cpu_seconds, read, tree
from bench_parts.programs import Skip, perf_event_programs

INTERVAL = 60  # the default, in seconds


def sleeps(pids):
    """How often they went to sleep so far."""
    return sum(int(n) for p in pids for n in re.findall(r'^voluntary_ctxt_switches:\s+(\d+)',
                                                        read(f'/proc/{p}/status'), re.M))


def steady(stoker, tmp):
    """(% of a core of its processes, % of a core of its ticks, wake-ups a second)"""
    (tmp / 'daemon.ini').write_text(f'[store]\npath = {tmp}/store\n[http]\nlisten = unix:{tmp}/http\n')
    others = perf_event_programs()
    with open(tmp / 'said', 'w') as said:
        daemon = subprocess.Popen([str(stoker), 'daemon', '-c', str(tmp / 'daemon.ini')], stdout=said, stderr=said)
    try:
        time.sleep(INTERVAL + 5)
        if daemon.poll() is not None:
            raise Skip(f'the daemon ended: {(tmp / "said").read_text()[-200:]}')
        pids, began, programs = tree(daemon.pid), time.monotonic(), perf_event_programs()
        cpu, slept = cpu_seconds(pids), sleeps(pids)
        time.sleep(INTERVAL)
        seconds, now = time.monotonic() - began, perf_event_programs()
        cpu, slept = cpu_seconds(pids) - cpu, sleeps(pids) - slept
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()
    ns = sum(now[i][0] - programs[i][0] for i in now if i in programs and i not in others)
    return 100 * cpu / seconds, 100 * ns / 1e9 / seconds, slept / seconds
