# SPDX-License-Identifier: Apache-2.0
"""busy.py [SECONDS] - a busy Python program: recursion, sorting with a callback, JSON, regular
expressions, hashing, compression, generators, exceptions."""
import hashlib
import json
import re
import sys
import time
import zlib


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def descend(depth):
    return sum(range(3000)) if depth == 0 else 1 + descend(depth - 1)


def words(n):
    for i in range(n):
        yield f"word-{i * 7919 % 1009}"


def day(n):
    text = " ".join(words(2000))
    swapped = re.sub(r"([a-z]+)-(\d+)", lambda m: m[2] + m[1], text)
    known = json.loads(json.dumps({w: [len(w), n] for w in swapped.split()}))
    ranked = sorted(known, key=lambda w: (known[w][0], w))
    try:
        ranked[len(ranked) + 1]
    except IndexError:
        pass
    return len(zlib.compress(text.encode())) + len(hashlib.sha256(text.encode()).digest()) + \
        fib(15) + descend(50)


end = time.monotonic() + (float(sys.argv[1]) if len(sys.argv) > 1 else 60)
turn = 0
while time.monotonic() < end:
    turn += day(turn)
