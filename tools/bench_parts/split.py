# SPDX-License-Identifier: Apache-2.0
"""The parts of a tick, by a build of stoker that takes the time of each (bpf/split.bpf.h)."""
import json, signal, subprocess, time

from bench_parts.programs import Skip, run

PARTS = ['other', 'kernel', 'mapping', 'search', 'reads', 'hash', 'ship', 'nothing']


def build(root, to, what='stoker'):
    """A stoker that takes the time of each part of a tick (bpf/split.bpf.h), or a part of that build."""
    out = to / 'split'
    run('make', '-s', '-C', root, f'BUILD={out}', 'BPF_CPPFLAGS=-DSTOKER_SPLIT', out / what)
    return out / what


def maps():
    """The counters of every program of that build that is loaded now."""
    _, text = run('bpftool', '-j', 'map', 'show')
    for entry in json.loads(text):
        if not entry.get('name', '').endswith('.bss'):
            continue
        try:
            _, text = run('bpftool', '-j', 'map', 'dump', 'id', entry['id'])
        except Skip:
            continue  # it ended meanwhile
        for section in json.loads(text)[0].get('formatted', {}).get('value', {}).values():
            for variable in section:
                if 'splits' in variable:
                    yield variable['splits']


def ns(program):
    """(ns, how often the work turned to it) of each part, a tick."""
    sums = [[0, 0] for _ in PARTS]
    ours = subprocess.Popen([program, 'record', '-q', '-a', '-F', '999', '-d', '60', '-o', '/dev/null'],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(2)
        for cpus in maps():
            for cpu in cpus:
                for i, total in enumerate(sums):
                    total[0] += cpu[2 + 2 * i]
                    total[1] += cpu[3 + 2 * i]
    finally:
        ours.send_signal(signal.SIGINT)
        ours.wait()
    ticks = sums[-1][1]
    if ticks < 100:
        raise Skip('the build that takes the time has counted nothing')
    return {name: (total / ticks, turns / ticks) for name, (total, turns) in zip(PARTS, sums)}
