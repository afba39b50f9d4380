# SPDX-License-Identifier: Apache-2.0
"""Python code whose stacks are known: each of its jobs runs in turns, for the seconds it is given. `frames.py
--jobs` prints each job, a blank, and what its stacks may be, as functions from the root on."""
import functools
import hashlib
import re
import sys
import threading
import time
import zlib

TURN_S = 0.03
TEXT = b'some text that is not too easy to pack ' * 2000


def spin(until):
    n = 0
    while time.monotonic() < until:
        for i in range(200):
            n += i * i
    return n


class Counter:
    def count(self, until):
        return spin(until)

    @staticmethod
    def still(until):
        return spin(until)

    class Inner:
        def __call__(self, until):
            return spin(until)


def key_of(x):
    return sum(i * x for i in range(50))


def sorting(until):
    while time.monotonic() < until:
        sorted(range(200), key=key_of)


def replace_one(match):
    return str(sum(i for i in range(60)))


def matching(until):
    while time.monotonic() < until:
        re.sub('a', replace_one, 'ab' * 200)


def packing(until):
    while time.monotonic() < until:
        zlib.compress(TEXT, 9)


def hashing(until):
    while time.monotonic() < until:
        hashlib.sha256(TEXT * 10)


def produce(until):
    while time.monotonic() < until:
        yield sum(i * i for i in range(100))


def generating(until):
    for _ in produce(until):
        pass


def recurse(depth, until):
    return spin(until) if depth == 0 else recurse(depth - 1, until)


def deep(until):
    recurse(40, until)


def wrapped(function):
    @functools.wraps(function)
    def inner(until):
        return function(until)
    return inner


@wrapped
def decorated(until):
    spin(until)


# job: what it does, and what its stacks may be below the turn's
JOBS = {
    'method': (lambda until: Counter().count(until), '<lambda> Counter.count spin'),
    'static': (Counter.still, 'Counter.still spin'),
    'called': (lambda until: Counter.Inner()(until), '<lambda> Counter.Inner.__call__ spin'),
    'sorting': (sorting, 'sorting key_of key_of.<locals>.<genexpr>'),
    'matching': (matching, 'matching re:sub replace_one replace_one.<locals>.<genexpr>', 'matching re:sub re:_compile'),
    'packing': (packing, 'packing'),
    'hashing': (hashing, 'hashing'),
    'generating': (generating, 'generating produce produce.<locals>.<genexpr>'),
    'deep': (deep, 'deep' + ' recurse' * 41 + ' spin'),
    'decorated': (decorated, 'wrapped.<locals>.inner decorated spin'),
}


def turn(job):
    JOBS[job][0](time.monotonic() + TURN_S)


def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for job in JOBS:
            turn(job)


def main():
    if sys.argv[1:] == ['--jobs']:
        for job, (_, *stacks) in JOBS.items():
            for stack in stacks:
                print(job, stack)
        return
    seconds = float(sys.argv[1])
    other = threading.Thread(target=work, args=(seconds,))
    other.start()
    print('ready', flush=True)
    work(seconds)
    other.join()


main()
