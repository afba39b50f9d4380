#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads and writes `.stoker` files by stoker-file(5) alone.

    stoker_by_manual.py read FILE     prints it as JSON: each list of the file is a key, and strings are in
                                      place of their numbers
    stoker_by_manual.py write FILE    a profile of two pieces with two kinds of value, three free labels, ticks
                                      and events with and without a stack
    stoker_by_manual.py stacks FILE   some hundred bytes whose stacks are 770 MB of text
    stoker_by_manual.py ticks FILE    likewise, of ticks with one stack"""
import json
import struct
import subprocess
import sys

MAGIC = 0x184D2A54
WELL_KNOWN = "container pod namespace image unit comm pid tid cpu".split()
NUMBERS = ("pid", "tid", "cpu")


class Piece:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def step(self):
        number = self.number()
        return -((number + 1) // 2) if number % 2 else number // 2

    def bytes(self):
        length = self.number()
        self.at += length
        return self.data[self.at - length:self.at].decode()

    def list(self, item):
        return [item() for _ in range(self.number())]


def frames_of(path):
    """The bodies of skippable frames; there is nothing else in a capture."""
    data, at = open(path, "rb").read(), 0
    while at < len(data):
        magic, length = struct.unpack_from("<II", data, at)
        assert magic == MAGIC, f"{magic:#x} at byte {at}"
        yield data[at + 8:at + 8 + length]
        at += 8 + length


class File:
    def __init__(self):
        self.strings, self.objects, self.frames, self.stacks = [""], [], [], []
        self.keys, self.labels, self.kinds = list(WELL_KNOWN), [], []
        self.samples, self.ticks, self.events, self.about, self.end = [], [], [], [], []
        self.name = self.stack_before = self.time = self.event_time = 0
        self.stack_ids, self.sample_stack = [], 0

    def frame(self, p):
        self.name += p.step()
        frame = {"name": self.strings[self.name], "class": p.number()}
        self.name += 1
        frame["object"] = p.number()
        frame["object"] = self.objects[frame["object"] - 1] if frame["object"] else None
        frame["module"] = self.strings[p.number()]
        frame["address"] = p.number()
        frame["file"] = self.strings[p.number()]
        frame["line"] = p.number()
        self.frames.append(frame)

    def stack(self, p):
        before = self.stack_ids[-1] if self.stack_ids else []
        ids = before[:p.number()]
        ids = ids + p.list(p.number)
        self.stack_ids.append(ids)
        self.stacks.append([self.frames[i]["name"] for i in ids])

    def label_set(self, p):
        labels = {}
        for _ in range(p.number()):
            key, value = self.keys[p.number()], p.number()
            labels[key] = value if key in NUMBERS else self.strings[value]
        self.labels.append(labels)

    def kind(self, p):
        name, unit = self.strings[p.number()] or "cpu", self.strings[p.number()] or "samples"
        self.kinds.append({"name": name, "unit": unit, "scale": p.number(), "period_ns": p.number()})

    def sample(self, p):
        self.sample_stack += p.step()
        stack = self.stacks[self.sample_stack]
        self.sample_stack += 1
        self.samples.append({"stack": stack, "labels": self.labels[p.number()],
            "kind": self.kinds[p.number()]["name"], "value": p.number()})

    def tick(self, p):
        self.time += p.step()
        self.ticks.append([self.time, p.number(), p.number() - 1])

    def event(self, p):
        self.event_time += p.step()
        event = {"time": self.event_time, "duration": p.number(), "text": self.strings[p.number()]}
        stack = p.number()
        event["stack"] = self.stacks[stack - 1] if stack else None
        event["labels"] = self.labels[p.number()]
        self.events.append(event)

    def read(self, data):
        p = Piece(data)
        p.list(lambda: self.strings.append(p.bytes()))
        p.list(lambda: self.objects.append([self.strings[p.number()] for _ in range(2)]))
        for item in (self.frame, self.stack):
            p.list(lambda: item(p))
        p.list(lambda: self.keys.append(self.strings[p.number()]))
        for item in (self.label_set, self.kind, self.sample, self.tick, self.event):
            p.list(lambda: item(p))
        for _ in range(p.number()):
            self.about = {"start_ns": p.number(), "start_tick_ns": p.number(), "duration_ns": p.number(),
                "ticks_without_time": p.number(), "labels_cut": p.number(), "events_dropped": p.number(),
                "events_cut": p.number(), "account": self.strings[p.number()]}
        p.list(lambda: self.end.extend(p.number() for _ in range(3)))
        assert p.at == len(data), f"{len(data) - p.at} bytes are left"


def number(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def step(value):
    return number(-2 * value - 1 if value < 0 else 2 * value)


def text(value):
    return number(len(value.encode())) + value.encode()


def numbers(*values):
    return b"".join(number(value) for value in values)


def piece(*lists):
    assert len(lists) == 12
    return b"".join(number(len(items)) + b"".join(items) for items in lists)


def skippable(data):
    return struct.pack("<II", MAGIC, len(data)) + data


def pack(data):
    return number(len(data)) + subprocess.run(["zstd", "-cq", "--check"], input=data, stdout=subprocess.PIPE, check=True).stdout


def write(path):
    strings = ("main", "serve", "do_futex", "/usr/bin/web", "a0b1", "web", "src/web.c", "route", "/a", "tenant", "blue",
        "trace.id", "77", "wall", "nanoseconds", '{"hz": 99}', "gc pause", "restart", "comm web")
    of = {name: number(i + 1) for i, name in enumerate(strings)}
    native = numbers(0, 1) + of["web"]
    first = piece(
        [text(name) for name in strings], [of["/usr/bin/web"] + of["a0b1"]],
        [step(1) + native + number(0x1000) + of["src/web.c"] + number(40),
         step(0) + native + number(0x2000) + of["src/web.c"] + number(50),
         step(0) + numbers(1, 0, 0, 0xffff, 0, 0)],
        [numbers(0, 2, 0, 1), numbers(2, 1, 2)],
        [of["route"], of["tenant"], of["trace.id"]],
        [number(6) + number(5) + of["comm web"] + numbers(6, 7) + numbers(7, 8) + number(9) + of["/a"] +
         number(10) + of["blue"] + number(11) + of["77"]],
        [numbers(0, 0, 1, 10000000), of["wall"] + of["nanoseconds"] + numbers(1, 0)],
        [step(0) + numbers(0, 0, 3), step(0) + numbers(0, 1, 5000000000)],
        [], [],
        [numbers(1800000000000000000, 5000000000, 10000000000, 0, 0, 0, 0) + of['{"hz": 99}']], [])
    # The second piece refers to lists of the first.
    second = piece([], [], [], [], [], [], [], [],
        [step(5000000100) + numbers(0, 1), step(50) + numbers(0, 2), step(50) + numbers(0, 0)],
        [step(5000000050) + number(0) + of["restart"] + numbers(0, 0),
         step(50) + number(2000) + of["gc pause"] + numbers(2, 0)],
        [], [numbers(2, 3, 2)])
    with open(path, "wb") as out:
        out.write(skippable(b"stoker profile\0") + skippable(pack(first)) + skippable(pack(second)))


def repeat(path, name, depths, ticks):
    """One function of a long name that calls itself: a stack and a sample of each depth."""
    lists = piece(
        [text(name)], [], [step(1) + numbers(0, 0, 0, 0, 0, 0)],
        [numbers(before, depth - before) + numbers(*[0] * (depth - before)) for before, depth in zip([0, *depths], depths)],
        [], [numbers(0)], [numbers(0, 0, 1, 10000000)], [step(0) + numbers(0, 0, 1) for _ in depths],
        [step(1) + numbers(0, 0) for _ in range(ticks)], [], [numbers(0, 0, 0, 0, 0, 0, 0, 0)], [numbers(len(depths), ticks, 0)])
    with open(path, "wb") as out:
        out.write(skippable(b"stoker profile\0") + skippable(pack(lists)))


def read(path):
    head, *pieces = frames_of(path)
    assert head == b"stoker profile\0", head
    file = File()
    for piece in pieces:
        p = Piece(piece)
        size = p.number()
        data = subprocess.run(["zstd", "-dcq"], input=piece[p.at:], stdout=subprocess.PIPE, check=True).stdout
        assert len(data) == size, (len(data), size)
        file.read(data)
    assert file.end == [len(file.samples), len(file.ticks), len(file.events)], file.end
    out = ("kinds", "samples", "ticks", "events", "about", "frames")
    json.dump({name: getattr(file, name) for name in out}, sys.stdout)


if __name__ == "__main__":
    {"read": read, "write": write,
     "stacks": lambda path: repeat(path, "a" * 60000, range(1, 161), 0),
     "ticks": lambda path: repeat(path, "a" * 1000, [100], 100000)}[sys.argv[1]](sys.argv[2])
