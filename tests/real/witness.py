# SPDX-License-Identifier: Apache-2.0
"""Python code that says itself what its stacks are: `witness.py SECONDS` calls a function of C from many places, and
prints, as JSON, the stack from which it does: for each frame from the root on its file, function and line."""
import asyncio
import contextlib
import functools
import gc
import hashlib
import importlib.abc
import importlib.util
import itertools
import json
import os
import re
import sys
import threading
import time

TURNS = 40000
NAME = 'co_qualname' if sys.version_info >= (3, 11) else 'co_name'
TEXT = b'some text that is not too easy to digest ' * 8000
said = set()


def say(frame):
    """The caller's stack, as it is at its next line."""
    stack, below = [], 1
    while frame:
        stack.append((frame.f_code.co_filename, getattr(frame.f_code, NAME), frame.f_lineno + below))
        frame, below = frame.f_back, 0
    if tuple(stack) not in said:
        said.add(tuple(stack))
        os.write(1, (json.dumps(stack[::-1]) + '\n').encode())


def burn():
    say(sys._getframe())
    sum(itertools.repeat(1, TURNS))


def release():
    say(sys._getframe())
    hashlib.sha256(TEXT)


class Thing:
    def __init__(self):
        burn()

    def __del__(self):
        burn()

    def __getattr__(self, name):
        burn()

    def __lt__(self, other):
        burn()
        return False

    def __iter__(self):
        burn()
        return iter(())

    @property
    def value(self):
        burn()

    @classmethod
    def named(cls):
        burn()


def classes():
    for _ in range(3):
        thing = Thing()
    thing.missing, thing.value, thing.named(), sorted([thing, thing]), list(thing)


def callbacks():
    sorted([1], key=lambda x: burn() or 1)
    list(map(lambda x: burn(), [1]))
    re.sub('a', lambda match: burn() or 'b', 'a')
    functools.partial(burn)()
    functools.lru_cache(maxsize=None)(lambda x: burn())(1)
    json.dumps(object, default=lambda x: burn() or 1)


def comprehensions():
    [burn() for _ in [1]], {burn() for _ in [1]}, {burn(): 1 for _ in [1]}, sum(burn() or 1 for _ in [1])


def outer():
    yield from inner()


def inner():
    burn()
    yield 1


@contextlib.contextmanager
def manager():
    burn()
    yield


def generators():
    list(outer())
    with manager():
        burn()


class Pause:
    def __await__(self):
        yield


async def awaited():
    burn()
    await Pause()
    burn()


async def tasks():
    await asyncio.gather(awaited(), asyncio.ensure_future(awaited()))


def coroutines():
    loop = asyncio.new_event_loop()
    loop.run_until_complete(tasks())
    loop.close()


def made():
    exec('burn()')
    exec(compile('class A:\n def method(self): burn()\n\n\nA().method()', '/opt/\u0444\u0430\u0439\u043b.py', 'exec'))
    eval('(lambda: burn())()')


def größe():
    burn()


def 名前():
    exec('def \U00020000(): burn()\n\U00020000()', globals(), {})


def names():
    größe()
    名前()


def exceptions():
    try:
        try:
            raise ValueError
        finally:
            burn()
    except ValueError:
        burn()


class Loader(importlib.abc.Loader, importlib.abc.MetaPathFinder):
    """Has the modules made_*, in memory."""

    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_loader(name, self) if name.startswith('made_') else None

    def exec_module(self, module):
        burn()


def imports():
    name = 'made_%d' % threading.get_ident()
    sys.modules.pop(name, None)
    importlib.import_module(name)


def traced():
    sys.settrace(lambda *_: None)
    burn()
    sys.settrace(None)
    sys.setprofile(lambda *_: None)
    burn()
    sys.setprofile(None)


def deep(depth=100):
    return burn() if depth == 0 else deep(depth - 1)


def cycles():
    thing = Thing()
    thing.itself = thing
    del thing
    gc.collect()


def forked():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    release()


CASES = (classes, callbacks, comprehensions, generators, coroutines, made, names, exceptions, imports, traced, deep,
         cycles, forked)


def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for case in CASES:
            case()


def main():
    sys.meta_path.insert(0, Loader())
    print('ready', flush=True)
    other = threading.Thread(target=lambda: work(float(sys.argv[1])))
    other.start()
    work(float(sys.argv[1]))
    other.join()


main()
