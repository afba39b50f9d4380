# SPDX-License-Identifier: Apache-2.0
"""Processes from outside, by /proc. A process that is gone counts nothing."""
import os, pathlib


def read(path):
    try:
        return pathlib.Path(path).read_text(errors='replace')
    except OSError:
        return ''


def tree(pid):
    """A process and all below it."""
    found = [pid]
    for p in found:
        found += [int(c) for c in read(f'/proc/{p}/task/{p}/children').split()]
    return found


def cpu_seconds(pids):
    """With those that ended, which whoever waited for them has."""
    ticks = 0
    for p in pids:
        fields = read(f'/proc/{p}/stat').rpartition(')')[2].split()
        ticks += sum(int(f) for f in fields[11:15])
    return ticks / os.sysconf('SC_CLK_TCK')


def cgroup_root():
    """Where cgroup v2 is mounted, or None."""
    return next((p for p in map(pathlib.Path, ('/sys/fs/cgroup/unified', '/sys/fs/cgroup'))
                 if (p / 'cgroup.procs').exists() and (p / 'cgroup.controllers').exists()), None)
