# SPDX-License-Identifier: Apache-2.0
"""Reads and writes profile.proto of github.com/google/pprof, as far as stoker fills it.

A location is a place in a file: the address is the file offset, of a return address minus one, and
the exact pc in the leaf. Its lines are the functions inlined there, innermost first. A location
without a mapping is JIT code or a mark such as [truncated]; kernel addresses have their top bit set.
"""
import gzip
import zlib
from dataclasses import dataclass, field

KERNEL = 1 << 63
LEFT_OUT = '[frames left out]'
MADE_CODE = 'jvm'
PROFILE_BYTES_MAX = 1 << 30  # packed or not


class Damaged(Exception):
    """The file is not a profile."""


@dataclass(frozen=True)
class Place:
    """A location: path "" is code without a file."""
    path: str
    build_id: str
    address: int
    names: tuple

    def is_mark(self):
        """A mark, or a frame of a language, which has a name alone."""
        return self.address == 0

    def is_kernel(self):
        return self.address >= KERNEL

    @property
    def name(self):
        return self.names[-1] if self.names else '?'


@dataclass
class Sample:
    places: tuple  # leaf first
    count: int
    labels: dict = field(default_factory=dict)

    def user(self):
        """The places in user code, leaf first, without marks."""
        return tuple(p for p in self.places if not p.is_kernel() and not p.is_mark())

    def pairs(self):
        """(callee, caller) of the places of user(): those between which frames are left out, or are of a language that
        makes code of its own, are no neighbours. (CPython's functions lie upon the interpreter, which has its place.)"""
        below = None
        for place in self.places:
            if place.is_mark() and (place.name == LEFT_OUT or place.path == MADE_CODE):
                below = None
            elif not place.is_kernel() and not place.is_mark():
                if below:
                    yield below, place
                below = place

    def pid(self):
        label = str(self.labels.get('pid', 0))
        return int(label) if label.isdecimal() else 0

    def is_complete(self):
        """Older files have no label for it: there a mark ends what is not complete."""
        label = self.labels.get('stack')
        return label == 'complete' if label else not any(p.is_mark() for p in self.places)


def varint(data, at):
    shift = value = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise Damaged('a number of more than 64 bits')


def fields(data):
    """(field, number or bytes) of one message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value = data[at:at + size]
            if len(value) != size:
                raise Damaged('cut off')
            at += size
        else:
            raise Damaged(f'wire type {kind}')
        yield key >> 3, value


def numbers(value):
    """Of a repeated number, packed or not."""
    if isinstance(value, int):
        return [value]
    out, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        out.append(number)
    return out


def message(data):
    """field → its last value."""
    return dict(fields(data))


def read(path):
    """The samples of a file. Damaged or OSError."""
    with open(path, 'rb') as file:
        data = file.read(PROFILE_BYTES_MAX)
    try:
        if data[:2] == b'\x1f\x8b':
            data = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, PROFILE_BYTES_MAX)
        return parse(data)
    except (Damaged, IndexError, KeyError, ValueError, TypeError, EOFError, OSError, zlib.error) as error:
        raise Damaged(f'not a pprof profile: {error}') from error


def parse(data):
    samples, mappings, locations, functions, strings = [], {0: ('', '')}, {}, {}, []
    raw = {2: [], 3: [], 4: [], 5: []}
    for number, value in fields(data):
        if number == 6:
            strings.append(value.decode('utf-8', 'replace'))
        elif number in raw:
            raw[number].append(value)
    for value in raw[5]:
        one = message(value)
        functions[one[1]] = strings[one.get(2, 0)]
    for value in raw[3]:
        one = message(value)
        mappings[one[1]] = (strings[one.get(5, 0)], strings[one.get(6, 0)])
    for value in raw[4]:
        one, names = message(value), []
        for number, line in fields(value):
            if number == 4:
                names.append(functions.get(message(line).get(1), '?'))
        path, build_id = mappings[one.get(2, 0)]
        locations[one[1]] = Place(path, build_id, one.get(3, 0), tuple(names))
    for value in raw[2]:
        ids, counts, labels = [], [], {}
        for number, part in fields(value):
            if number == 1:
                ids += numbers(part)
            elif number == 2:
                counts += numbers(part)
            elif number == 3:
                label = message(part)
                labels[strings[label.get(1, 0)]] = strings[label[2]] if 2 in label else str(label.get(3, 0))
        samples.append(Sample(tuple(locations[i] for i in ids), counts[0] if counts else 0, labels))
    return samples


# ---- writing, for what makes profiles by itself ---------------------------------------------------


def put_varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def put(number, value):
    """A field: a number, or bytes."""
    if isinstance(value, int):
        return put_varint(number << 3) + put_varint(value)
    return put_varint(number << 3 | 2) + put_varint(len(value)) + value


class Numbered(dict):
    """key → 1, 2, 3 ... in the order in which they were asked for."""

    def of(self, key):
        return self.setdefault(key, len(self) + 1)


def write(path, samples):
    """Samples → a .pb.gz that read() and pprof understand."""
    strings, places, functions, mappings = {'': 0}, Numbered(), Numbered(), Numbered()

    def text(one):
        return strings.setdefault(one, len(strings))

    out = [put(1, put(1, text('samples')) + put(2, text('count')))]
    for sample in samples:
        body = put(1, b''.join(put_varint(places.of(p)) for p in sample.places))
        body += put(2, put_varint(sample.count))
        for key, value in sample.labels.items():
            body += put(3, put(1, text(key)) + put(2, text(value)))
        out.append(put(2, body))
    for place, number in places.items():
        body = put(1, number)
        if place.path:
            body += put(2, mappings.of((place.path, place.build_id)))
        body += put(3, place.address)
        for name in place.names:
            body += put(4, put(1, functions.of(name)))
        out.append(put(4, body))
    for name, number in functions.items():
        out.append(put(5, put(1, number) + put(2, text(name))))
    for (file, build_id), number in mappings.items():
        out.append(put(3, put(1, number) + put(5, text(file)) + put(6, text(build_id))))
    out += [put(6, one.encode()) for one in strings]
    with gzip.open(path, 'wb') as file:
        file.write(b''.join(out))
