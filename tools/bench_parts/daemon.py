# SPDX-License-Identifier: Apache-2.0
"""The daemon at 19 Hz with its defaults, as it is always on: what its processes and its ticks cost, in per cent of
one core, and how often its processes wake up, over an interval after the first one."""
import os, pathlib, re, signal, subprocess, time

from bench_parts.programs import Skip, family, perf_event_programs

INTERVAL = 60  # the default, in seconds


def used(pids):
    """(CPU seconds of these, with those that they waited for, how often they went to sleep)"""
    ticks = sleeps = 0
    for pid in pids:
        try:
            fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
            status = pathlib.Path(f'/proc/{pid}/status').read_text()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
        sleeps += int(re.search(r'^voluntary_ctxt_switches:\s+(\d+)', status, re.M)[1])
    return ticks / os.sysconf('SC_CLK_TCK'), sleeps


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
        pids = family(daemon.pid)
        before, programs, began = used(pids), perf_event_programs(), time.monotonic()
        time.sleep(INTERVAL)
        after, now, seconds = used(pids), perf_event_programs(), time.monotonic() - began
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()
    ns = sum(now[i][0] - programs[i][0] for i in now if i in programs and i not in others)
    return (100 * (after[0] - before[0]) / seconds, 100 * ns / 1e9 / seconds, (after[1] - before[1]) / seconds)
