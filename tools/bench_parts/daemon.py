# SPDX-License-Identifier: Apache-2.0
"""The daemon from outside: what its processes hold, what is in its store; and at 19 Hz with its defaults, as it is
always on: what its processes and its ticks cost, in per cent of one core, and how often its processes wake up, over
an interval after the first one."""
import glob, json, os, re, signal, subprocess, time

from bench_parts.processes import cpu_seconds, read, tree
from bench_parts.programs import Skip, perf_event_programs

INTERVAL = 60  # the default, in seconds


def sleeps(pid):
    """thread → how often it went to sleep so far, of the daemon's processes."""
    return {thread: int(n) for p in tree(pid) for thread in glob.glob(f'/proc/{p}/task/*/status')
            for n in re.findall(r'^voluntary_ctxt_switches:\s+(\d+)', read(thread), re.M)}


PARTS = {'stoker-worker': 'naming', 'stoker-opener': 'naming', 'stoker-keeper': 'store', 'stoker-http': 'http'}


def parts_ns(pid):
    """part → ns on a CPU so far, of the processes that are there: the agent's, with the one that watches it and those
    that start others, is `agent`."""
    sums = dict.fromkeys(['agent', *PARTS.values()], 0)
    for p in tree(pid):
        part = PARTS.get(read(f'/proc/{p}/comm').strip(), 'agent')
        sums[part] += sum(int(read(path).split()[0] or 0) for path in glob.glob(f'/proc/{p}/task/*/schedstat') if read(path))
    return sums


def steady(stoker, tmp):
    """% of a core of all its processes, of each part of them, and of its ticks; wake-ups a second"""
    (tmp / 'daemon.ini').write_text(f'[store]\npath = {tmp}/store\n[http]\nlisten = unix:{tmp}/http\n')
    others = perf_event_programs()
    with open(tmp / 'said', 'w') as said:
        daemon = subprocess.Popen([str(stoker), 'daemon', '-c', str(tmp / 'daemon.ini')], stdout=said, stderr=said)
    try:
        time.sleep(INTERVAL + 5)
        if daemon.poll() is not None:
            raise Skip(f'the daemon ended: {(tmp / "said").read_text()[-200:]}')
        pids, began, programs = tree(daemon.pid), time.monotonic(), perf_event_programs()
        cpu, parts, slept = cpu_seconds(pids), parts_ns(daemon.pid), sleeps(daemon.pid)
        time.sleep(INTERVAL)
        seconds, now = time.monotonic() - began, perf_event_programs()
        cpu = cpu_seconds(pids) - cpu
        parts = {part: (ns - parts[part]) / 1e7 / seconds for part, ns in parts_ns(daemon.pid).items()}
        resident = resident_kb(pids, 'Pss')
        # A thread that began meanwhile counts from its beginning; the last sleeps of one that ended are not seen.
        slept = sum(n - slept.get(thread, 0) for thread, n in sleeps(daemon.pid).items())
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()
    ns = sum(now[i][0] - programs[i][0] for i in now if i in programs and i not in others)
    return {**parts, 'cpu': 100 * cpu / seconds, 'ticks': 100 * ns / 1e9 / seconds, 'wakeups': slept / seconds,
            'resident_mb': resident / 1e3}


def resident_kb(pids, field):
    return sum(int(n) for p in pids for n in re.findall(rf'^{field}:\s+(\d+)', read(f'/proc/{p}/smaps_rollup'), re.M))


def descriptors(pid):
    try:
        return os.listdir(f'/proc/{pid}/fd')
    except OSError:
        return []


def bpf_numbers(pids, kind, field):
    """id → a field of all maps (kind `map`) or programs (`prog`) that any of them has open, each once."""
    found = {}
    for p in pids:
        for fd in descriptors(p):
            try:
                if os.readlink(f'/proc/{p}/fd/{fd}') != f'anon_inode:bpf-{kind}':
                    continue
            except OSError:
                continue
            text = read(f'/proc/{p}/fdinfo/{fd}')
            number, value = (re.search(rf'^{name}:\s+(\d+)', text, re.M) for name in (f'{kind}_id', field))
            if number and value:
                found[number[1]] = int(value[1])
    return found


def bpf_ns(pids):
    """Of their programs, since kernel.bpf_stats_enabled was set."""
    return sum(bpf_numbers(pids, 'prog', 'run_time_ns').values())


def look(pid):
    pids = tree(pid)
    return {'rss_kb': resident_kb(pids, 'Rss'), 'pss_kb': resident_kb(pids, 'Pss'),
            'descriptors': sum(len(descriptors(p)) for p in pids), 'processes': len(pids),
            'bpf_bytes': sum(bpf_numbers(pids, 'map', 'memlock').values())}


def unpacked(data):
    """Where the store has waits, the account is compressed."""
    if data[:4] != b'\x28\xb5\x2f\xfd':
        return data
    return subprocess.run(['zstd', '-dcq'], input=data, stdout=subprocess.PIPE, check=True).stdout


def segments(store):
    """Heads and accounts, by start: the two skippable frames in front."""
    out = []
    for path in store.glob('*.folded.zst'):
        data, at, parts = path.read_bytes(), 0, []
        for _ in range(2):
            size = int.from_bytes(data[at + 4:at + 8], 'little')
            parts.append(json.loads(unpacked(data[at + 8:at + 8 + size])))
            at += 8 + size
        parts[0]['bytes'], parts[0]['account'] = len(data), parts[1]
        out.append(parts[0])
    return sorted(out, key=lambda s: s['start_ns'])
