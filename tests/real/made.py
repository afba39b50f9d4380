# SPDX-License-Identifier: Apache-2.0
"""made.py - functions that are made, run for 50 ms of CPU time and freed, one after the other: each
finds the memory of the one before. Each has a name, or else a file, of its own. For python_hard.bats.
    made.py SECONDS names|files"""
import sys
import time

LENGTH = 0.05
kind = sys.argv[2]
print('ready', flush=True)
until = time.monotonic() + float(sys.argv[1])
i = 0
while time.monotonic() < until:
    space = {}
    if kind == 'names':
        exec(compile('def made_%05d(burn):\n    return burn()\n' % i, '<all>', 'exec'), space)
    else:
        exec(compile('def same(burn):\n    return burn()\n', 'made_%05d' % i, 'exec'), space)
    made = space.popitem()[1]
    end = time.process_time() + LENGTH

    def burn():
        while time.process_time() < end:
            pass

    made(burn)
    del made, space, burn
    i += 1
