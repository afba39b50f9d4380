# SPDX-License-Identifier: Apache-2.0
"""What `stoker record --check` keeps beside a profile, as agent/evidence.h describes it: the code of
JITs, which is judged like a file's, and the words at the tops of stacks, which prove roots.

A JIT replaces code: a page has all its copies, and a call in any of them is a call. The bounds of its
functions are in the perf map, if it is still there; what they do not cover is not judged.
"""
import bisect
import functools
import os
import stat
from dataclasses import dataclass, field, replace

from . import code, image as images

PAGE = 4096
FILE_BYTES_MAX = 1 << 28
MAP_BYTES_MAX = 1 << 28


class Damaged(Exception):
    """The file is not what --check writes."""


@dataclass
class Process:
    maps: list = field(default_factory=list)   # (start, end, file offset, path)
    tops: dict = field(default_factory=dict)   # end of a stack → {address: word}
    pages: dict = field(default_factory=dict)  # address → copies, oldest first


class JitImage(images.Image):
    """Code without a file, of one process: all addresses are its own."""

    def __init__(self, pid, process, find_file):  # the parts of a file that it does not have are empty
        self.path, self.pid, self.process, self.find_file = f'[jit {pid}]', pid, process, find_file
        self.entry, self.fixed, self.is_jit, self.is_program = 0, False, True, False
        self.symbols, self.by_name, self.exports, self.sections, self.stubs = [], {}, {}, {}, {}
        self.relocations, self.wanted_names, self.tags = {}, set(), []
        self.functions = perf_map(f'/tmp/perf-{pid}.map')
        self.starts = [f[0] for f in self.functions]

    def has(self, address):
        return address & -PAGE in self.process.pages

    def vaddr(self, address):
        return address

    def is_code(self, address):
        return self.has(address)

    def reads(self, address, size):
        """All copies of these bytes, which are in two pages at most."""
        page, found = address & -PAGE, []
        for first in self.process.pages.get(page, ()):
            if address + size <= page + PAGE:
                found.append(first[address - page:address - page + size])
                continue
            for second in self.process.pages.get(page + PAGE, ()):
                found.append((first + second)[address - page:address - page + size])
        return found

    def read(self, address, size):
        """The last copy of each page; it ends before the first page that was not kept."""
        out, at = b'', address
        while at < address + size:
            copies = self.process.pages.get(at & -PAGE)
            if not copies:
                break
            out += copies[-1][at % PAGE:at % PAGE + address + size - at]
            at = (at & -PAGE) + PAGE
        return out

    def function(self, address):
        """Of the perf map, if all of its code was kept and never changed."""
        i = bisect.bisect_right(self.starts, address) - 1
        if i < 0:
            return None
        start, end, _ = self.functions[i]
        pages = range(start & -PAGE, end, PAGE)
        if address >= end or (i + 1 < len(self.starts) and self.starts[i + 1] < end) or \
                (i > 0 and self.functions[i - 1][1] > start) or \
                any(len(self.process.pages.get(p, ())) != 1 for p in pages):
            return None
        return start, end

    def knows(self, address):
        """HotSpot's interpreter pushes the address that it wants to return to. Where there is no perf map,
        all code may be that."""
        names = [name for _, _, name in self.symbols_at(address)]
        return not any(path.endswith('/libjvm.so') for _, _, _, path in self.process.maps) or \
            any(not name.startswith('Interpreter') for name in names)

    def symbols_at(self, address):
        bounds = self.function(address)
        return [self.functions[bisect.bisect_right(self.starts, address) - 1]] if bounds else []

    def section_of(self, _):
        return ''

    def targets(self, address):
        """Where a direct call leads: here, or into a file; [] if that is not known."""
        if self.has(address):
            return [(self, address)]
        found = []
        for start, end, offset, path in self.process.maps:
            file = self.find_file(path) if start <= address < end else None
            vaddr = file.vaddr(address - start + offset) if file else None
            if vaddr is not None:
                found.append((file, vaddr))
        return found

    @functools.cached_property
    def outermost(self):
        """The outermost return address of each stack: above it no word follows a call. Stacks with words
        above it whose code is not known have none."""
        found = set()
        for top in self.process.tops.values():
            for _, word in sorted(top.items(), reverse=True):
                places = self.targets(word)
                if not places:
                    break
                if any(code.calls_before(text, at) for image, at in places
                       for text in image.reads(at - code.CALL_BYTES_MAX, code.CALL_BYTES_MAX)):
                    found.add(word)
                    break
        return found

    @functools.cached_property
    def put_on_top(self):
        """The functions whose first instruction is the first word of a stack that leads to code."""
        found = set()
        for top in self.process.tops.values():
            places = ((word, self.targets(word)) for _, word in sorted(top.items(), reverse=True))
            word, at = next(((word, at) for word, at in places if at), (0, []))
            if any((image.function(there) or (0, 0))[0] == there for image, there in at):
                found.add(word)
        return found

    def addresses(self, place):
        """Where this process has the place."""
        if place.path == self.path:
            return [place.address]
        return [place.address - offset + start for start, end, offset, path in self.process.maps
                if path == place.path and offset <= place.address < offset + end - start]

    def is_outermost(self, place):
        """Does a stack of this process begin with the place?"""
        return any(at + 1 in self.outermost or at in self.put_on_top for at in self.addresses(place))

    def is_put_on_top(self, place):
        """Was the function that begins here put on top of a stack, without a call?"""
        return any(at in self.put_on_top for at in self.addresses(place))

    def neighbours(self, _):
        return set()

    def jumps_to(self, *_):
        return iter(())

    def jumps_over(self, _):
        return []

    def has_text(self, _):
        return False


def perf_map(path):
    """(start, end, name), sorted; of lines with the same start the last one. Anybody may have put another kind
    of file there."""
    found = {}
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, encoding='utf-8', errors='replace') as file:
            about = os.fstat(fd)
            if not stat.S_ISREG(about.st_mode) or about.st_size > MAP_BYTES_MAX:
                return []
            for line in file:
                words = line.split(None, 2)
                try:
                    found[int(words[0], 16)] = int(words[1], 16), words[2].strip()
                except (ValueError, IndexError):
                    continue
    except OSError:
        return []
    return sorted((start, start + size, name) for start, (size, name) in found.items())


def parse(path):
    """PID → Process. Damaged or OSError."""
    found = {}
    if os.path.getsize(path) > FILE_BYTES_MAX:
        raise Damaged('too large')
    with open(path, encoding='utf-8', errors='surrogateescape') as file:
        for line in file:
            try:
                take_line(found, line)
            except (ValueError, IndexError) as error:
                raise Damaged(f'not of record --check: {error}') from error
    return found


def take_line(found, line):
    kind, *words = line.rstrip('\n').split(' ', 5)  # a path may have blanks
    if kind == '#':
        return
    process = found.setdefault(int(words[0]), Process())
    if kind == 'map':
        start, end, offset = (int(w, 16) for w in words[1:4])
        process.maps.append((start, end, offset, words[4]))
    elif kind == 'top':
        end, at, word = (int(w, 16) for w in words[1:4])
        process.tops.setdefault(end, {})[at] = word
    elif kind == 'code':
        page = bytes.fromhex(words[2])
        if len(page) != PAGE:
            raise ValueError('a page of another size')
        process.pages.setdefault(int(words[1], 16), []).append(page)
    else:
        raise ValueError(f'a line of the kind {kind}')


def attach(path, samples, judge):
    """Gives the judge what lies beside a profile; the samples' places in JIT code get their process."""
    processes = parse(path)
    for sample in samples:
        pid = sample.pid()
        if pid not in processes:
            continue
        name = f'[jit {pid}]'
        if (name, '') not in judge.files:
            judge.files[name, ''] = JitImage(pid, processes[pid], judge.find_file)
            judge.jits[pid] = judge.files[name, '']
        sample.places = tuple(replace(p, path=name) if is_jit(p) else p for p in sample.places)


def is_jit(place):
    return not place.path and not place.is_kernel() and not place.is_mark()
