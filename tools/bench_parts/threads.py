# SPDX-License-Identifier: Apache-2.0
"""threads - what visits to all threads cost. For tools/bench."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import time

from bench_parts.daemon import bpf_ns, parts_ns, segments
from bench_parts.processes import tree
from bench_parts.programs import BpfStats, Skip, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STOKER = os.environ.get('STOKER', str(ROOT / 'stoker'))
BUILD = pathlib.Path(os.environ.get('BUILD', ROOT / '.build')).resolve()


WARM_S = 90  # each stack is walked once, and the average of the visits that pay for it has passed
MEASURED_S = 60
STORED_S = 250
TIMES_EVERY_NS, TIMES_PART = 10e9, 1000  # WAITING_EVERY_NS and WAITING_PART
ROUNDS, TURN = 12, 16
SETTLE_S = 8  # the daemon knows all programs by then; without it the CPUs rest as long
SWITCHES = 200000
REQUESTS = 100000


@contextlib.contextmanager
def sleepers(n, switching=0):
    """So many threads that sleep; some of them wake up between any two visits."""
    with subprocess.Popen([BUILD / 'tests' / 'targets' / 'sleepers', '600', str(n), str(switching)], stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout.readline() != 'ready\n':
                raise Skip(f'no {n} threads can be made')
            yield
        finally:
            process.kill()


@contextlib.contextmanager
def always_on(tmp, *lines):
    """The daemon as it is by default, but for these lines; its pid."""
    (tmp / 'daemon.ini').write_text('\n'.join([f'[store]\npath = {tmp}/store\n[http]\nlisten = off\n[sample]', *lines, '']))
    with open(tmp / 'said', 'w') as said:
        daemon = subprocess.Popen([STOKER, 'daemon', '-c', str(tmp / 'daemon.ini')], stdout=said, stderr=said)
    try:
        yield daemon.pid
        if daemon.poll() is not None:
            raise Skip(f'the daemon ended: {(tmp / "said").read_text()[-200:]}')
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()


def pass_ns():
    """(CPU time of a visit for the times of all threads, threads), the best of some."""
    passes = []
    for _ in range(5):
        _, text = run(BUILD / 'tests' / 'tools' / 'thread_times', 0, 0)
        found = re.search(r'^sum (\d+) .*\npass (\d+)', text.decode(), re.M)
        passes.append((int(found[2]), int(found[1])))
    return min(passes)


def visited(tmp, limit, n, switching=0):
    """(% of a core of both kinds of visits, limit, 1). Their programs run on the CPU time of the agent that reads
    the iterator, so it has them, too. The rest of the agent is ticks and names, which other rows have."""
    with BpfStats(), sleepers(n, switching):
        times = pass_ns()[0]
        with always_on(tmp, 'interval = 10s') as pid:
            time.sleep(WARM_S)
            began, agent, programs = time.monotonic(), parts_ns(pid)['agent'], bpf_ns(tree(pid))
            time.sleep(MEASURED_S)
            seconds = time.monotonic() - began
            agent, programs = ((now - then) / 1e7 / seconds for now, then in ((parts_ns(pid)['agent'], agent), (bpf_ns(tree(pid)), programs)))
    walls = [s['account']['wall'] for s in segments(tmp / 'store')[WARM_S // 10 + 1:-1]]
    visits, ns, threads = (sum(w[key] for w in walls) for key in ('visits', 'cpu_ns', 'threads'))
    stacks = ns / 1e8 / len(walls)
    times = 100 * times / max(TIMES_EVERY_NS, times * TIMES_PART)
    print(f'  for stacks {stacks:.3f} %, {visits / 10 / len(walls):.2f} a second, {ns / visits / 1e6:.2f} ms each, {threads / visits:.0f} threads; '
          f'for times {times:.3f} %; the whole agent {agent:.3f} %, all BPF programs {programs:.3f} %', flush=True)
    if n < 1000 and visits < 10 * len(walls):
        print('  less than one a second: not met', flush=True)
        return limit * 10, limit, 1.0
    return stacks + times, limit, 1.0


def visits_200(tmp):
    """% of a core, visits for times and stacks at their defaults, on a host of 200 threads of which 50 switch; at most 0.15, at no less than a visit a second"""
    return visited(tmp, 0.15, 200, 50)


def visits_10000(tmp):
    """the same with 10,000 threads that sleep; at most 0.5"""
    return visited(tmp, 0.5, 10000)


def store_day(tmp):
    """MB of a day in the store with both kinds of value, on a host of 200 threads of which 50 switch and two burn; at most 25"""
    with sleepers(200, 50), contextlib.ExitStack() as ends:
        for _ in range(2):
            ends.callback(subprocess.Popen([BUILD / 'tests' / 'targets' / 'spin', '600']).kill)
        with always_on(tmp):
            time.sleep(STORED_S)
    whole = segments(tmp / 'store')[1:-1]
    seconds = sum(s['end_ns'] - s['start_ns'] for s in whole) / 1e9
    if not any(k['name'] == 'wall' and k['samples'] for s in whole for k in s.get('kinds', [])):
        raise Skip('the store has no waits')
    return sum(s['bytes'] for s in whole) * 86400 / seconds / 1e6, 25, 1.0


def least(some):
    """The mean of the least quarter: what else the machine does only adds."""
    quarter = max(len(some) // 4, 1)
    return statistics.mean(sorted(some)[:quarter])


def by_turns(tmp, cost):
    """(cost() beside the daemon, that without, text), by turns."""
    plain, beside = [], []
    cost()
    for _ in range(ROUNDS):
        time.sleep(SETTLE_S)
        plain += [cost() for _ in range(TURN)]
        with always_on(tmp):
            time.sleep(SETTLE_S)
            beside += [cost() for _ in range(TURN)]
    spread = [100 * (statistics.quantiles(some)[2] - statistics.quantiles(some)[0]) / statistics.median(some) for some in (plain, beside)]
    return least(beside), least(plain), (
        f'medians {statistics.median(plain):.0f} and {statistics.median(beside):.0f} ns, '
        f'middle half within {spread[0]:.2f} % without and {spread[1]:.2f} % beside; least {min(plain):.1f} and {min(beside):.1f} ns')


def switch_ns():
    _, text = run(BUILD / 'tests' / 'targets' / 'pingpong', SWITCHES, os.cpu_count() - 1)
    cpu, _, wall = text.split()[1:4]
    return int(cpu) / SWITCHES, SWITCHES / int(wall) * 1e9


def switches(tmp):
    """ns of CPU time for a switch between two processes that wait for each other: beside the daemon, and without; runs by turns"""
    rates = []

    def cost():
        ns, rate = switch_ns()
        rates.append(rate)
        return ns

    beside, plain, spread = by_turns(tmp, cost)
    print(f'  {statistics.median(rates):.0f} switches a second; {spread}', flush=True)
    return beside, plain, 1.005


def redis(tmp):
    """ns of CPU time of redis-server for a request of redis-benchmark: beside the daemon, and without; runs by turns"""
    if not (shutil.which('redis-server') and shutil.which('redis-benchmark')):
        raise Skip('no redis-server')
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = str(free.getsockname()[1])
    with subprocess.Popen(['redis-server', '--bind', '127.0.0.1', '--port', port, '--save', '', '--appendonly', 'no', '--dir', tmp], stdout=subprocess.DEVNULL) as server:
        def cost():
            then = parts_ns(server.pid)['agent']
            run('redis-benchmark', '-p', port, '-q', '-c', '20', '-n', REQUESTS, '-t', 'get')
            return (parts_ns(server.pid)['agent'] - then) / REQUESTS

        time.sleep(1)
        try:
            beside, plain, spread = by_turns(tmp, cost)
        finally:
            server.kill()
    print(f'  {spread}', flush=True)
    return beside, plain, 1.005


def thread_pass(n):
    """ns for each thread of a visit to all of the host, n of them asleep. Visits follow at the rate that takes 0.1 %."""
    with sleepers(n):
        ns, threads = pass_ns()
    print(f'  {ns} ns a pass, {threads} threads, {ns / threads:.0f} ns each', flush=True)
    return ns / threads, 1000, 2


def threads_200(tmp):
    """ns for each thread of a visit to all, with 200 asleep, against 1000: its counters, and what is made of them"""
    return thread_pass(200)


def threads_10000(tmp):
    """the same with 10,000 asleep"""
    return thread_pass(10000)
