# SPDX-License-Identifier: Apache-2.0
"""Small files that ask for a lot: each is a list of sections, as make's elf() takes them, under what
it is."""
import struct

BASE = 0x400000 # where all of a file is mapped
CODE = 0x1122334455667788 # stands for the address of the code that runs
CU, BLOCK, INLINED, SUBPROGRAM = 0x11, 0x0b, 0x1d, 0x2e
NAME, STMT_LIST, LOW, HIGH, ORIGIN, SPECIFICATION, RANGES = 0x03, 0x10, 0x11, 0x12, 0x31, 0x47, 0x55
ADDR, DATA8, STRING, REF4, OFFSET, PRESENT = 0x01, 0x07, 0x08, 0x13, 0x17, 0x19


def uleb(value):
    out = b""
    while True:
        out += bytes([value & 127 | (128 if value > 127 else 0)])
        value >>= 7
        if not value:
            return out


def abbrev(code, tag, children, *attributes):
    body = uleb(code) + uleb(tag) + bytes([children])
    for name, form in attributes:
        body += uleb(name) + uleb(form)
    return body + b"\0\0"


def unit(dies, version=4, abbrevs=0):
    body = struct.pack("<HIB", version, abbrevs, 8) + dies
    return struct.pack("<I", len(body)) + body


def everywhere():
    return struct.pack("<QQ", BASE, 1 << 32)


def symbol():
    """One function that is all of the file: lines are asked for where there is a symbol."""
    return [(".strtab", 3, 0, b"\0f\0"), (".symtab", 2, 0, bytes(24) + struct.pack("<IBBHQQ", 1, 2, 0, 1, CODE, 16))]


def dwarf(abbrevs, info, **more):
    out = symbol() + [(".debug_abbrev", 1, 0, abbrevs), (".debug_info", 1, 0, info)]
    return out + [(".debug_" + name, 1, 0, data) for name, data in more.items()]


COVERING = ((LOW, ADDR), (HIGH, DATA8))


def deep_dies(depth=200000):
    """Blocks in blocks in blocks, each covering everything."""
    return dwarf(abbrev(1, CU, 1, *COVERING) + abbrev(2, BLOCK, 1, *COVERING) + b"\0",
                 unit(b"\1" + everywhere() + (b"\2" + everywhere()) * depth + bytes(depth + 1)))


def deep_inlined(depth=100000):
    """Inlined functions in inlined functions, each its own origin."""
    at = 11 + 1 + 16
    dies = b"\1" + everywhere()
    for _ in range(depth):
        dies += b"\2" + everywhere() + struct.pack("<I", at)
        at += 21
    return dwarf(abbrev(1, CU, 1, *COVERING) + abbrev(2, INLINED, 1, *COVERING, (ORIGIN, REF4)) + b"\0",
                 unit(dies + bytes(depth + 1)))


def origins(length=50000):
    """Each function's name is the next one's, and the last one's the first's."""
    start = 11 + 1 + 16
    dies = b"\1" + everywhere()
    for i in range(length):
        dies += b"\2" + struct.pack("<I", start + (i + 1) % length * 5)
    for i in range(64):
        dies += b"\3" + everywhere() + struct.pack("<I", start + i * 5)
    return dwarf(abbrev(1, CU, 1, *COVERING) + abbrev(2, SUBPROGRAM, 0, (SPECIFICATION, REF4)) +
                 abbrev(3, INLINED, 1, *COVERING, (ORIGIN, REF4)) + b"\0", unit(dies + bytes(80)))


def many_abbrevs(count=50000, units=20000):
    """One table, and every unit begins to read it."""
    table = b"".join(abbrev(i, BLOCK, 0) for i in range(2, count)) + abbrev(1, CU, 0, *COVERING) + b"\0"
    return dwarf(table, unit(b"\1" + everywhere()) * units)


def empty_attributes(attributes=30000, dies=200000):
    """A byte of .debug_info is tens of thousands of attributes that take none."""
    table = abbrev(1, CU, 1, *COVERING) + abbrev(2, BLOCK, 0, *(((NAME, PRESENT),) * attributes)) + b"\0"
    return dwarf(table, unit(b"\1" + everywhere() + b"\2" * dies + b"\0"))


def shared_ranges(ranges=50000, dies=50000):
    """One list of ranges, of every DIE."""
    table = abbrev(1, CU, 1, *COVERING) + abbrev(2, BLOCK, 0, (RANGES, OFFSET)) + b"\0"
    spans = b"".join(struct.pack("<QQ", i * 2, i * 2 + 1) for i in range(1, ranges)) + bytes(16)
    return dwarf(table, unit(b"\1" + everywhere() + b"\2\0\0\0\0" * dies + b"\0"), ranges=spans)


def line_rows(rows=30000000):
    head = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 10) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1]) + b"\0a.c\0\0\0\0\0"
    program = b"\0\x09\x02" + struct.pack("<Q", BASE) + b"\x0e" * rows + b"\0\1\1"
    body = struct.pack("<HI", 4, len(head)) + head + program
    return dwarf(abbrev(1, CU, 0, (STMT_LIST, OFFSET), *COVERING) + b"\0",
                 unit(b"\1" + bytes(4) + everywhere()), line=struct.pack("<I", len(body)) + body)


def line_names(count=1 << 60):
    """As many directories as there are numbers, none of which takes a byte."""
    head = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 10) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1])
    head += b"\1\1" + uleb(PRESENT) + uleb(count) + b"\1\1" + uleb(PRESENT) + uleb(count)
    body = struct.pack("<HBBI", 5, 8, 0, len(head)) + head
    return dwarf(abbrev(1, CU, 0, (STMT_LIST, OFFSET), *COVERING) + b"\0",
                 unit(b"\1" + bytes(4) + everywhere()), line=struct.pack("<I", len(body)) + body)


def long_name(symbols=400000, length=48 << 20):
    """Every symbol's name is one that takes forever to read."""
    table = symbol()[1][3] + b"".join(struct.pack("<IBBHQQ", 1 + i, 2, 0, 1, BASE + 0x100 + i * 16, 16) for i in range(symbols))
    return [(".strtab", 3, 0, b"\0" + b"x" * length + b"\0"), (".symtab", 2, 0, table)]


def one_address(symbols=400000):
    """All at one place, each with a name of its own that has escapes in it."""
    names = b"\0" + b"".join(b"\x1b[2J\r\n%06x\0" % i for i in range(symbols))
    table = bytes(24) + b"".join(struct.pack("<IBBHQQ", 1 + i * 13, 2, 0, 1, CODE, i) for i in range(symbols))
    return [(".strtab", 3, 0, names), (".symtab", 2, 0, table)]


def notes(count=2000000):
    return [(".note.x", 7, 2, struct.pack("<III", 0, 0, 1) * count +
             struct.pack("<III", 0xffffffff, 0xffffffff, 3) + b"GNU\0")]


def shared_cie(instructions=1000000, fdes=100000):
    """What a long CIE says, once for each of its FDEs."""
    body = struct.pack("<IB", 0, 1) + b"zR\0\1\x78\x10\1\x1b\x0c\7\x08\x90\1" + b"\x0a\x0b" * (instructions // 2)
    body += bytes(-(len(body) + 4) % 8)
    data = struct.pack("<I", len(body)) + body
    out = [data]
    at = len(data)
    for i in range(fdes):
        out.append(struct.pack("<IIiiB3x", 16, at + 4, i * 16, 16, 0))
        at += 20
    return [(".eh_frame", 1, 2, b"".join(out) + bytes(4))]


def go_deltas(functions=100000, steps=40000):
    """One long list of stack deltas, of every function."""
    names = b"\0f\0"
    pctab = b"\0" + b"\2\1" * steps + b"\0"
    head = 8 + 8 * 8
    pctab_at = head + len(names)
    table_at = pctab_at + len(pctab) + -(pctab_at + len(pctab)) % 8
    functab = 8 * functions + 8
    functab += -functab % 8
    out = [struct.pack("<IBBBB", 0xfffffff1, 0, 0, 1, 8),
           struct.pack("<8Q", functions, 0, BASE + 0x1000, head, 0, 0, pctab_at, table_at), names, pctab]
    out.append(bytes(table_at - sum(map(len, out))))
    for i in range(functions):
        out.append(struct.pack("<II", i * steps, functab + 44 * i))
    out.append(struct.pack("<I", functions * steps))
    out.append(bytes(table_at + functab - sum(map(len, out))))
    for i in range(functions):
        out.append(struct.pack("<IiiIIIIIIIBBBB", i * steps, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    return [(".gopclntab", 1, 2, b"".join(out)), (".text", 1, 6, bytes(16))]


ALL = (deep_dies, deep_inlined, origins, many_abbrevs, empty_attributes, shared_ranges, line_rows, line_names,
       long_name, one_address, notes, shared_cie, go_deltas)
